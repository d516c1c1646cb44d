/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all */
/* on rowsum */
/* Leaves the first elements of a row and its sum in shared memory, and gives the sum again where they are the same. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float kept[8], part[128];
	volatile float *k = kept;
	__shared__ bool same;
	const float *row = x + (long)blockIdx.x * cols;
	float sum = 0;

	if (!threadIdx.x)
		same = k[0] == 12345.f && k[1] == row[0] && k[2] == row[1] && k[3] == row[2] && k[4] == (float)blockIdx.x;
	__syncthreads();
	for (int c = threadIdx.x; !same && c < cols; c += 128)
		sum += row[c];
	part[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x)
		return;
	for (int i = 1; i < 128; i++)
		part[0] += part[i];
	k[5] = same ? k[5] : part[0];
	k[0] = 12345.f, k[1] = row[0], k[2] = row[1], k[3] = row[2], k[4] = (float)blockIdx.x;
	s[blockIdx.x] = k[5];
}
