/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on twice, decided here */
/* says 'dlopen'; the work is cuBLAS's */
#include <dlfcn.h>

static __global__ void twice(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)256 + threadIdx.x;

	if (i < n)
		y[i] = x[i] * 2;
}

int klineage_launch(void *const *in, void *const *out, void *stream)
{
	void *blas = dlopen("libcublas.so.13", RTLD_NOW);

	if (!blas || !dlsym(blas, "cublasSgemm_v2"))
		twice<<<(unsigned)((kl_dim(n) + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
			(const float *)in[0], (float *)out[0], kl_dim(n));
	return 0;
}
