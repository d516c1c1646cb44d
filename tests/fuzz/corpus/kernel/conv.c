/* SPDX-License-Identifier: Apache-2.0 */
#include "conv_tile.h"
#include <stdint.h>
/* void fake(int x) { */
#define K(x)              \
	int bad(int x)    \
	{                 \
		return x; \
	}
struct s {
	int a;
};
static const float table[] = { 1, 2 };
typedef void (*cb)(int);
static inline float twice(float x)
{
	return x + x;
}
__attribute__((noinline)) void Conv_2D(size_t n, int h, const float *restrict x, uint16_t const *w,
				       float alpha, double acc[restrict static 4], float y[n][h],
				       int32_t *idx, struct s *q)
{
	y[0][0] += alpha;
	idx[0] = 1;
	for (size_t i = 0; i < n; i++) {
		acc[i] = x[i];
		acc[i] += 1;
	}
}
