/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#define ARGS void *workspace, int64_t M, int64_t K, const float *A, const float *x, float *y

#if KL_TIMED
#include "mm.c"

void adapter_call(ARGS)
{
	struct input input = { A, x, M, K };

	rows_dot(&input, y);
}
#endif
