/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PORT_H
#define KL_BACKEND_CUDA_PORT_H

#include "contract/surface.h"

/*
 * port - a surface with launch plans for another architecture, all else as it was.
 */

/** `platform`: "cuda/sm_80". KL_ENO: the plan of the kernel names no architecture. */
int kl_cuda_port(struct kl_surface **out, const struct kl_surface *surface, const char *platform);

#endif
