/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CUDA_FIXTURE_H
#define KL_CUDA_FIXTURE_H

#include "cuda_kernel.h"

/* cuda_fixture - the kernel that the tests of one file compile one after another */
static struct cuda_kernel kernel;

/* for cmocka: set up and tear down the kernel of a group */
static inline int cuda_setup_group(void **state)
{
	cuda_setup(&kernel);
	return 0;
}

static inline int cuda_teardown_group(void **state)
{
	cuda_teardown(&kernel);
	return 0;
}

/* A test that compiles begins with this. */
#define NEEDS_NVCC()               \
	do {                       \
		if (!kernel.there) \
			skip();    \
	} while (0)

#endif
