#include <math.h>
#include <stdint.h>

/* one over the factorials, from the twelfth down */
static const float part[] = {
	2.08767570e-9f, 2.50521084e-8f, 2.75573192e-7f, 2.75573192e-6f, 2.48015873e-5f, 1.98412698e-4f,
	1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f, 1.66666667e-1f, 0.5f, 1.0f, 1.0f,
};

/* the logistic function of a row's gate */
static float open(float g)
{
	return expf(-log1pf(expf(-g)));
}

/* e^v where |v| is small */
static float grow(float v)
{
	float sum = part[0];

	for (int n = 1; n < 13; n++)
		sum = sum * v + part[n];
	return sum;
}

void gated(int64_t T, int64_t D, const float *x, const float *g, float *y)
{
	for (int64_t at = 0; at < T * D; at++)
		y[at] = grow(x[at]) * open(g[at / D]);
}
