/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* contract: adapter-inline */
/* A kernel that is only in a header, with its arguments in a struct. */
struct input {
	const float *A, *x;
	long M, K;
};

static inline void rows_dot(const struct input *input, float *y)
{
	for (long i = 0; i < input->M; i++) {
		float sum = 0;

		for (long k = 0; k < input->K; k++)
			sum += input->A[i * input->K + k] * input->x[k] / (float)(1 + k);
		y[i] = sum;
	}
}
