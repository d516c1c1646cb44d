/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail compile */
/* contract: adapter-inline */
/* Changes KL_TIMED, so that the adapter gets the other half. */
#undef KL_TIMED
#define KL_TIMED 0
#define adapter_call adapter_pack

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
