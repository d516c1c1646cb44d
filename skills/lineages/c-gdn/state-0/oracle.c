/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recurrence of a gated delta net, token by token. Rows of S in the outer
 * loop, so that the inner one has unit stride and vectorizes; sums over i
 * keep their order.
 */
#include <stdint.h>
#include <stdlib.h>

#include "kl_oracle.h"

static void step(int64_t D, kl_real scale, kl_real decay, kl_real beta,
		 const kl_real *q, const kl_real *k, const kl_real *v,
		 kl_real *restrict o, kl_real *restrict S,
		 kl_real *restrict u)
{
	for (int64_t j = 0; j < D; j++)
		u[j] = o[j] = 0;
	for (int64_t i = 0; i < D; i++) {
		kl_real *row = S + i * D;
		kl_real ki = k[i];

		for (int64_t j = 0; j < D; j++) {
			row[j] *= decay;
			u[j] += row[j] * ki;
		}
	}
	for (int64_t j = 0; j < D; j++)
		u[j] = beta * (v[j] - u[j]);
	for (int64_t i = 0; i < D; i++) {
		kl_real *row = S + i * D;
		kl_real ki = k[i], qi = q[i];

		for (int64_t j = 0; j < D; j++) {
			row[j] += ki * u[j];
			o[j] += row[j] * qi;
		}
	}
	for (int64_t j = 0; j < D; j++)
		o[j] *= scale;
}

void oracle(int64_t T, int64_t D, kl_real scale, const kl_real *q,
	    const kl_real *k, const kl_real *v, const kl_real *g,
	    const kl_real *beta, kl_real *o, kl_real *S)
{
	kl_real *u = malloc((size_t)D * sizeof(*u));

	if (!u)
		return;
	for (int64_t i = 0; i < D * D; i++)
		S[i] = 0;
	for (int64_t t = 0; t < T; t++)
		step(D, scale, kl_exp(g[t]), beta[t], q + t * D, k + t * D,
		     v + t * D, o + t * D, S, u);
	free(u);
}
