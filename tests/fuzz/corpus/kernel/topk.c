/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk - the k largest of each row of x, with their columns, in any order.
 *
 * Values are ordered -inf < ... < -0 < +0 < ... < +inf; there is no NaN.
 * Of equal values any may be taken.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static int above(float a, float b)
{
	return a > b || (a == b && !signbit(a) && signbit(b));
}

static void select_row(int64_t cols, int64_t k, const float *row, float *values, int32_t *indices,
		       char *taken)
{
	for (int64_t j = 0; j < cols; j++)
		taken[j] = 0;
	for (int64_t i = 0; i < k; i++) {
		int64_t best = -1;

		for (int64_t j = 0; j < cols; j++)
			if (!taken[j] && (best < 0 || above(row[j], row[best])))
				best = j;
		taken[best] = 1;
		values[i] = row[best];
		indices[i] = (int32_t)best;
	}
}

void topk(int64_t rows, int64_t cols, int64_t k, const float *x, float *values, int32_t *indices)
{
	char *taken = malloc((size_t)cols);

	if (!taken)
		return;
	for (int64_t r = 0; r < rows; r++)
		select_row(cols, k, x + r * cols, values + r * k, indices + r * k, taken);
	free(taken);
}
