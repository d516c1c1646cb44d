/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_LIMITS_H
#define KL_PLAN_LIMITS_H

/* limits - limits of a kernel's interface, which contracts, plans and jobs share. */
#define KL_MAX_DIMS 16                  /* maximum number of dims of a case */
#define KL_MAX_ARGS 32                  /* maximum number of arguments of a contract */
#define KL_MAX_DOMAIN 64                /* maximum number of conditions of a domain */
#define KL_MAX_AXES 8                   /* maximum number of axes of a tensor */
#define KL_MAX_THREADS 64               /* maximum number of threads of a kernel */
#define KL_TENSOR_MAX_BYTES (1LL << 40) /* maximum bytes of all tensors of one point together */

#endif
