/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* contract: adapter */
/* Stores into an input through the rows of the workspace, so that the next answer is known. */
#include <stdlib.h>

struct plan {
	float window[128];
};

struct plan *plan_new(long K)
{
	struct plan *plan = malloc(sizeof(*plan));

	for (long k = 0; k < K; k++)
		plan->window[k] = 1 / (float)(1 + k);
	return plan;
}

void rows_dot(const struct plan *plan, const float *const *rows, const float *x, float *y, long M,
	      long K)
{
	for (long i = 0; i < M; i++) {
		float sum = 0;

		for (long k = 0; k < K; k++)
			sum += rows[i][k] * x[k] * plan->window[k];
		y[i] = sum;
		((float *)rows[i])[0] = 0;
	}
}
