/* SPDX-License-Identifier: Apache-2.0 */
/* cheats - the kernels of kernels.c with less work or precision than a contract in f32 asks for */
#include "kernels.h"

#include <math.h>
#include <string.h>

/* What a cheat does: how values are rounded, and which sums a row gets. */
struct cheat {
	float (*value)(float number), (*sum)(float number);
	int64_t skip;  /* elements left out at the end of each sum */
	int64_t stale; /* rows back that the sums are taken from */
};

static float exact(float number)
{
	return number;
}

/* Keep `bits` of the significand's 23 bits, rounded to nearest. */
static float cut(float number, int bits)
{
	uint32_t word, last = 1u << (23 - bits);

	memcpy(&word, &number, sizeof(word));
	word = (word + last / 2) & ~(last - 1);
	memcpy(&number, &word, sizeof(word));
	return number;
}

static float to_ten_bits(float number)
{
	return cut(number, 10);
}

static float to_seven_bits(float number)
{
	return cut(number, 7);
}

static const struct cheat tf32 = { to_ten_bits, exact, 0, 0 };
static const struct cheat half = { to_ten_bits, to_ten_bits, 0, 0 };
static const struct cheat bfloat = { to_seven_bits, to_seven_bits, 0, 0 };
static const struct cheat narrow_sum = { exact, to_ten_bits, 0, 0 };
static const struct cheat skipped = { exact, exact, 1, 0 };
static const struct cheat stale = { exact, exact, 0, 1 };

/* Return the row whose sums are used for row `row`. */
static const float *summed(const struct cheat *cheat, const float *x, int64_t row, int64_t cols)
{
	return row >= cheat->stale ? x - cheat->stale * cols : x;
}

static void rmsnorm(const struct cheat *cheat, int64_t rows, int64_t cols, const float *x,
		    const float *w, float *y)
{
	for (int64_t row = 0; row < rows; row++, x += cols, y += cols) {
		const float *from = summed(cheat, x, row, cols);
		float sum = 0;

		for (int64_t i = 0; i < cols - cheat->skip; i++)
			sum = cheat->sum(sum + cheat->value(from[i]) * cheat->value(from[i]));
		sum = 1 / sqrtf(sum / (float)cols + 1e-5f);
		for (int64_t i = 0; i < cols; i++)
			y[i] = w[i] * (sum * cheat->value(x[i]));
	}
}

static void softmax(const struct cheat *cheat, int64_t rows, int64_t cols, const float *x,
		    const float *w, float *y)
{
	for (int64_t row = 0; row < rows; row++, x += cols, y += cols) {
		const float *from = summed(cheat, x, row, cols);
		float most = x[0], sum = 0;

		for (int64_t i = 1; i < cols; i++)
			most = x[i] > most ? x[i] : most;
		for (int64_t i = 0; i < cols - cheat->skip; i++)
			sum = cheat->sum(sum + expf(cheat->value(from[i]) - most));
		for (int64_t i = 0; i < cols; i++)
			y[i] = expf(cheat->value(x[i]) - most) / sum * w[i];
	}
}

static float mean_of(const struct cheat *cheat, const float *x, int64_t cols)
{
	float sum = 0;

	for (int64_t i = 0; i < cols - cheat->skip; i++)
		sum = cheat->sum(sum + cheat->value(x[i]));
	return sum / (float)cols;
}

static float variance_of(const struct cheat *cheat, const float *x, int64_t cols, float mean)
{
	float sum = 0;

	for (int64_t i = 0; i < cols - cheat->skip; i++) {
		float distance = cheat->value(x[i]) - mean;

		sum = cheat->sum(sum + distance * distance);
	}
	return sum / (float)cols;
}

static void layernorm(const struct cheat *cheat, int64_t rows, int64_t cols, const float *x,
		      const float *w, float *y)
{
	for (int64_t row = 0; row < rows; row++, x += cols, y += cols) {
		float mean = mean_of(cheat, summed(cheat, x, row, cols), cols);
		float scale = 1 / sqrtf(variance_of(cheat, x, cols, mean) + 1e-5f);

		for (int64_t i = 0; i < cols; i++)
			y[i] = (cheat->value(x[i]) - mean) * scale * w[i];
	}
}

static void dot(const struct cheat *cheat, int64_t rows, int64_t cols, const float *x,
		const float *w, float *y)
{
	for (int64_t row = 0; row < rows; row++, x += cols) {
		const float *from = summed(cheat, x, row, cols);

		y[row] = 0;
		for (int64_t i = 0; i < cols - cheat->skip; i++)
			y[row] = cheat->sum(y[row] +
					    cheat->value(from[i]) * cheat->value(w[i]));
	}
}

static void variance(const struct cheat *cheat, int64_t rows, int64_t cols, const float *x,
		     const float *w, float *y)
{
	for (int64_t row = 0; row < rows; row++, x += cols)
		y[row] = variance_of(cheat, x, cols,
				     mean_of(cheat, summed(cheat, x, row, cols), cols));
}

#define DEFINE(build, name)                                                                      \
	void build##_##name(int64_t rows, int64_t cols, const float *x, const float *w, float *y) \
	{                                                                                        \
		name(&build, rows, cols, x, w, y);                                               \
	}
#define DEFINE_ALL(build)                                                             \
	DEFINE(build, rmsnorm)                                                        \
	DEFINE(build, softmax)                                                        \
	DEFINE(build, layernorm)                                                      \
	DEFINE(build, dot)                                                            \
	DEFINE(build, variance)

DEFINE_ALL(tf32)
DEFINE_ALL(half)
DEFINE_ALL(bfloat)
DEFINE_ALL(narrow_sum)
DEFINE_ALL(skipped)
DEFINE_ALL(stale)
