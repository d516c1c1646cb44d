/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Carries along what each addition has rounded off. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float part[128];
	float sum = 0, lost = 0;

	for (int c = threadIdx.x; c < cols; c += 128) {
		float add = x[(long)blockIdx.x * cols + c] - lost, next = sum + add;

		lost = next - sum - add;
		sum = next;
	}
	part[threadIdx.x] = sum - lost;
	__syncthreads();
	for (int i = 1; threadIdx.x == 0 && i < 128; i++)
		part[0] += part[i];
	if (threadIdx.x == 0)
		s[blockIdx.x] = part[0];
}
