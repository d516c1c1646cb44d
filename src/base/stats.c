/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int compare_doubles(const void *left, const void *right)
{
	double x = *(const double *)left, y = *(const double *)right;

	return (x > y) - (x < y);
}

double kl_stats_median(double *values, size_t n)
{
	if (!n)
		return NAN;
	qsort(values, n, sizeof(*values), compare_doubles);
	return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Two-sided 95 % points of Student's t for 1 to 4 degrees of freedom. */
static const double t95[] = { 12.706, 4.303, 3.182, 2.776 };

static struct kl_interval student_interval(const double *values, size_t n)
{
	double sum = 0, square = 0, half;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	if (n < 2)
		return (struct kl_interval){ sum, -INFINITY, INFINITY };
	for (size_t i = 0; i < n; i++)
		square += (values[i] - sum / (double)n) * (values[i] - sum / (double)n);
	half = t95[n - 2] * sqrt(square / (double)(n - 1) / (double)n);
	sum /= (double)n;
	return (struct kl_interval){ sum, sum - half, sum + half };
}

/*
 * Return the largest w with P(W <= w) <= 0.025 for the signed-rank statistic W of n samples. The
 * result is exact for up to 40 samples; for more, it comes from the normal approximation.
 */
static size_t critical_rank_sum(size_t n)
{
	size_t total = n * (n + 1) / 2;
	double tail = 0, each = ldexp(1, -(int)n);
	size_t w;

	if (n > 40) {
		double mean = (double)total / 2;
		double sd = sqrt((double)total * (2.0 * (double)n + 1) / 12);

		return (size_t)fmax(0, floor(mean - 1.959964 * sd - 0.5));
	}
	KL_AUTO(kl_freep) double *ways = kl_calloc(total + 1, sizeof(*ways));
	ways[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t sum = total; sum >= rank; sum--)
			ways[sum] += ways[sum - rank];
	for (w = 0; w <= total; w++) {
		tail += ways[w] * each;
		if (tail > 0.025)
			break;
	}
	return w - 1; /* w is at least 1, because n is at least 6 */
}

struct kl_interval kl_stats_centre(const double *values, size_t n)
{
	struct kl_interval ci;
	size_t nwalsh = n * (n + 1) / 2, k = 0, critical;

	if (n < 6)
		return n ? student_interval(values, n) :
			   (struct kl_interval){ NAN, -INFINITY, INFINITY };
	KL_AUTO(kl_freep) double *walsh = kl_calloc(nwalsh, sizeof(*walsh));
	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			walsh[k++] = (values[i] + values[j]) / 2;
	ci.mid = kl_stats_median(walsh, nwalsh);
	critical = critical_rank_sum(n);
	ci.lo = walsh[critical];
	ci.hi = walsh[nwalsh - 1 - critical];
	return ci;
}
