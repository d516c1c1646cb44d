/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PORT_H
#define KL_BACKEND_CUDA_PORT_H

#include "contract/surface.h"

/*
 * port - retargets the launch plans of a surface to another architecture.
 */

/**
 * A copy of the surface for `platform`, such as "cuda/sm_80"; all else is unchanged. KL_ENO: the
 * kernel's plan names no architecture.
 */
int kl_cuda_port(struct kl_surface **out, const struct kl_surface *surface, const char *platform);

#endif
