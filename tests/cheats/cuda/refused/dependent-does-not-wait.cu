/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail nondeterministic|wrong-all|wrong-edge|cheat */
/* on rowsum */
/*
 * The second kernel begins while the first still runs, and does not wait for it. If the first has
 * written nothing yet, the answer is that to the input of the call before: class cheat.
 */
extern "C" __global__ void parts(const float *x, float *part, int cols)
{
	float sum = 0;

	asm volatile("griddepcontrol.launch_dependents;");
	for (int c = threadIdx.x; c < cols; c += 64)
		sum += x[(long)blockIdx.x * cols + c];
	part[blockIdx.x * 64 + threadIdx.x] = sum;
}

extern "C" __global__ void rowsum(const float *part, float *s, int rows)
{
	int row = blockIdx.x * 64 + threadIdx.x;
	float sum = 0;

	for (int i = 0; row < rows && i < 64; i++)
		sum += part[row * 64 + i];
	if (row < rows)
		s[row] = sum;
}
