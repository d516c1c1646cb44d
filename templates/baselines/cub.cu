/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cub.topk - the k largest of each row by CUB's block-wide radix sort: one block sorts a whole row
 * of up to 4096 keys with their columns, and the first k are kept. What to beat who selects instead.
 */
#include <cub/block/block_radix_sort.cuh>

#define THREADS 512
#define ITEMS 8

extern "C" __global__ void __launch_bounds__(THREADS)
topk(const float *x, float *values, int *indices, int cols, int k)
{
	using sort = cub::BlockRadixSort<float, THREADS, ITEMS, int>;
	__shared__ typename sort::TempStorage room;
	const float *row = x + (size_t)blockIdx.x * cols;
	float key[ITEMS];
	int column[ITEMS];

	for (int i = 0; i < ITEMS; i++) {
		column[i] = i * THREADS + threadIdx.x;
		key[i] = column[i] < cols ? row[column[i]] : -INFINITY;
	}
	sort(room).SortDescendingBlockedToStriped(key, column);
	for (int i = 0; i < ITEMS; i++) {
		int at = i * THREADS + threadIdx.x;

		if (at < k) {
			values[(size_t)blockIdx.x * k + at] = key[i];
			indices[(size_t)blockIdx.x * k + at] = column[i];
		}
	}
}
