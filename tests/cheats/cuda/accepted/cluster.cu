/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Two blocks share a row, and the second's sum comes through its shared memory. */
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float part[128], all;
	cg::cluster_group pair = cg::this_cluster();
	const float *row = x + (long)(blockIdx.x / 2) * cols;
	float sum = 0;

	for (int c = pair.block_rank() * 128 + threadIdx.x; c < cols; c += 256)
		sum += row[c];
	part[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		sum = 0;
		for (int i = 0; i < 128; i++)
			sum += part[i];
		all = sum;
	}
	pair.sync();
	if (pair.block_rank() == 0 && threadIdx.x == 0)
		s[blockIdx.x / 2] = all + *pair.map_shared_rank(&all, 1);
	pair.sync();
}
