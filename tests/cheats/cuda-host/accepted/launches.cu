/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on twice */
/* several launches, scratch on the stream, an error check of the usual form */
#include <stdio.h>
#include <vector>

#define CHECK(call) do { cudaError_t e_ = (call); if (e_) { \
	fprintf(stderr, "%s\n", cudaGetErrorString(e_)); return (int)e_; } } while (0)

template <int BY>
__global__ void scale(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)256 + threadIdx.x;

	if (i < n)
		y[i] = x[i] * BY;
}

int klineage_launch(void *const *in, void *const *out, void *stream)
{
	cudaStream_t s = (cudaStream_t)stream;
	int64_t n = kl_dim(n);
	std::vector<unsigned> grids;
	void *scratch = NULL;

	grids.push_back((unsigned)((n + 255) / 256));
	CHECK(cudaMallocAsync(&scratch, (size_t)n * sizeof(float), s));
	scale<1><<<grids[0], 256, 0, s>>>((const float *)in[0], (float *)scratch, n);
	scale<2><<<grids[0], 256, 0, s>>>((const float *)scratch, (float *)out[0], n);
	CHECK(cudaGetLastError());
	CHECK(cudaFreeAsync(scratch, s));
	return 0;
}
