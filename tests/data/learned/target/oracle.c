#include <stdint.h>
#include "kl_oracle.h"

void oracle(int64_t T, int64_t D, const kl_real *x, const kl_real *g, kl_real *y)
{
	for (int64_t t = 0; t < T; t++) {
		for (int64_t d = 0; d < D; d++) {
			kl_real v = x[t * D + d], sum = 1;

			for (int n = 12; n > 0; n--)
				sum = 1 + sum * v / n;
			y[t * D + d] = sum / (1 + kl_exp(-g[t]));
		}
	}
}
