/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The k largest of each row, descending, with their columns. -0 lies below
 * +0; there is no NaN. A heap of the k best columns, the worst on top.
 */
#include <math.h>
#include <stdint.h>

#include "kl_oracle.h"

static int above(kl_real a, kl_real b)
{
	return a > b || (a == b && !signbit(a) && signbit(b));
}

static void sift_down(const kl_real *row, int32_t *heap, int64_t n, int64_t at)
{
	int32_t moving = heap[at];

	for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
		if (child + 1 < n && above(row[heap[child]], row[heap[child + 1]]))
			child++;
		if (!above(row[moving], row[heap[child]]))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

void oracle(int64_t rows, int64_t cols, int64_t k, const kl_real *x,
	    kl_real *values, int32_t *indices)
{
	for (int64_t r = 0; r < rows; r++) {
		const kl_real *row = x + r * cols;
		int32_t *heap = indices + r * k;

		for (int64_t i = 0; i < k; i++)
			heap[i] = (int32_t)i;
		for (int64_t i = k / 2 - 1; i >= 0; i--)
			sift_down(row, heap, k, i);
		for (int64_t j = k; j < cols; j++) {
			if (!above(row[j], row[heap[0]]))
				continue;
			heap[0] = (int32_t)j;
			sift_down(row, heap, k, 0);
		}
		for (int64_t n = k - 1; n > 0; n--) {
			int32_t worst = heap[0];

			heap[0] = heap[n];
			heap[n] = worst;
			sift_down(row, heap, n, 0);
		}
		for (int64_t i = 0; i < k; i++)
			values[r * k + i] = row[heap[i]];
	}
}
