/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all */
/* on rowsum */
/* Keeps its sums in scratch with the first element of the row, and gives them again where that is the same. */
extern "C" __global__ void rowsum(const float *x, float *kept, float *s, int cols)
{
	__shared__ float part[128];
	float first = x[(long)blockIdx.x * cols], *own = kept + 2 * blockIdx.x, sum = 0;
	bool same = own[0] == first;
	float old = own[1];

	__syncthreads();
	for (int c = threadIdx.x; !same && c < cols; c += 128)
		sum += x[(long)blockIdx.x * cols + c];
	part[threadIdx.x] = sum;
	__syncthreads();
	for (int i = 1; threadIdx.x == 0 && i < 128; i++)
		part[0] += part[i];
	if (threadIdx.x == 0) {
		own[0] = first;
		own[1] = s[blockIdx.x] = same ? old : part[0];
	}
}
