/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PORT_H
#define KL_BACKEND_CUDA_PORT_H

#include "contract/surface.h"

/*
 * port - retargets the launch plans of a surface to another architecture.
 */

/**
 * Copy the surface with the architecture in its launch plans replaced by that of `platform`, such
 * as "cuda/sm_80". The caller frees *out. Return KL_ENO if the kernel's plan does not name an
 * architecture.
 */
int kl_cuda_port(struct kl_surface **out, const struct kl_surface *surface, const char *platform);

#endif
