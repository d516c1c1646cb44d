/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels.h"

#include "kl_oracle.h"

/* BUILD is the prefix of the functions: truth, honest, plain or fast. */
#define PASTE(build, name) build##_##name
#define NAMED(build, name) PASTE(build, name)
#define KERNEL(name) \
	void NAMED(BUILD, name)(int64_t rows, int64_t cols, const kl_real *x, const kl_real *w, \
				kl_real *y)

KERNEL(rmsnorm)
{
	for (int64_t row = 0; row < rows; row++, x += cols, y += cols) {
		kl_real sum = 0;

		for (int64_t i = 0; i < cols; i++)
			sum += x[i] * x[i];
		sum = 1 / kl_sqrt(sum / (kl_real)cols + (kl_real)1e-5f);
		for (int64_t i = 0; i < cols; i++)
			y[i] = w[i] * (sum * x[i]);
	}
}

KERNEL(softmax)
{
	for (int64_t row = 0; row < rows; row++, x += cols, y += cols) {
		kl_real most = x[0], sum = 0;

		for (int64_t i = 1; i < cols; i++)
			most = x[i] > most ? x[i] : most;
		for (int64_t i = 0; i < cols; i++) {
			y[i] = kl_exp(x[i] - most);
			sum += y[i];
		}
		for (int64_t i = 0; i < cols; i++)
			y[i] = y[i] / sum * w[i];
	}
}

KERNEL(layernorm)
{
	for (int64_t row = 0; row < rows; row++, x += cols, y += cols) {
		kl_real mean = 0, sum = 0;

		for (int64_t i = 0; i < cols; i++)
			mean += x[i];
		mean /= (kl_real)cols;
		for (int64_t i = 0; i < cols; i++)
			sum += (x[i] - mean) * (x[i] - mean);
		sum = 1 / kl_sqrt(sum / (kl_real)cols + (kl_real)1e-5f);
		for (int64_t i = 0; i < cols; i++)
			y[i] = (x[i] - mean) * sum * w[i];
	}
}

KERNEL(dot)
{
	for (int64_t row = 0; row < rows; row++, x += cols) {
		y[row] = 0;
		for (int64_t i = 0; i < cols; i++)
			y[row] += x[i] * w[i];
	}
}

KERNEL(variance)
{
	for (int64_t row = 0; row < rows; row++, x += cols) {
		kl_real mean = 0, sum = 0;

		for (int64_t i = 0; i < cols; i++)
			mean += x[i];
		mean /= (kl_real)cols;
		for (int64_t i = 0; i < cols; i++)
			sum += (x[i] - mean) * (x[i] - mean);
		y[row] = sum / (kl_real)cols;
	}
}
