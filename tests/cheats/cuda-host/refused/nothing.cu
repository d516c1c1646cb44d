/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|wrong-all */
/* on twice */
/* says 'no kernel of its own'; a copy and no kernel */
static __global__ void twice(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * (int64_t)256 + threadIdx.x;

	if (i < n)
		y[i] = x[i] * 2;
}

int klineage_launch(void *const *in, void *const *out, void *stream)
{
	if (kl_dim(n) < 0)
		twice<<<1, 256, 0, (cudaStream_t)stream>>>((const float *)in[0], (float *)out[0], kl_dim(n));
	return (int)cudaMemcpyAsync(out[0], in[0], (size_t)kl_dim(n) * sizeof(float), cudaMemcpyDeviceToDevice,
				    (cudaStream_t)stream);
}
