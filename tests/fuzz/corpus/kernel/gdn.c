/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gdn - one head of a gated delta net, T tokens of D channels.
 *
 * From S = 0, for each token: S *= e^g; u = beta (v - S^T k); S += k u^T;
 * o = scale S^T q. S is D x D, one row for each channel of k; it is the
 * answer beside o.
 */
#include <math.h>
#include <stdint.h>

void gdn(int64_t T, int64_t D, float scale, const float *q, const float *k, const float *v,
	 const float *g, const float *beta, float *o, float *S)
{
	for (int64_t i = 0; i < D * D; i++)
		S[i] = 0.0f;
	for (int64_t t = 0; t < T; t++) {
		float decay = expf(g[t]);

		for (int64_t j = 0; j < D; j++) {
			float seen = 0.0f, sum = 0.0f, u;

			for (int64_t i = 0; i < D; i++)
				S[i * D + j] *= decay;
			for (int64_t i = 0; i < D; i++)
				seen += S[i * D + j] * k[t * D + i];
			u = beta[t] * (v[t * D + j] - seen);
			for (int64_t i = 0; i < D; i++)
				S[i * D + j] += k[t * D + i] * u;
			for (int64_t i = 0; i < D; i++)
				sum += S[i * D + j] * q[t * D + i];
			o[t * D + j] = scale * sum;
		}
	}
}
