/* SPDX-License-Identifier: Apache-2.0 */
/* the statistics of a study, against cases computed by hand, and with the same digits everywhere */
#include "study/inference.h"

#include <math.h>

#include "base/mem.h"
#include "search/policy/draw.h"
#include "test.h"

#define MOST 64

/* two tasks with cells of one number each */
struct fixture {
	double number[2][MOST];
	const double *cell[2][MOST];
	struct kl_stratum task[2];
	struct kl_strata strata;
};

static const struct kl_strata *fill_tasks(struct fixture *out, const double *one, size_t none,
					  const double *two, size_t ntwo)
{
	const double *from[] = { one, two };
	size_t n[] = { none, ntwo };

	for (int i = 0; i < 2; i++) {
		for (size_t k = 0; k < n[i]; k++) {
			out->number[i][k] = from[i][k];
			out->cell[i][k] = &out->number[i][k];
		}
		out->task[i] = (struct kl_stratum){ out->cell[i], n[i] };
	}
	out->strata = (struct kl_strata){ out->task, 2 };
	return &out->strata;
}

static void make_key(char key[KL_DIGEST_HEX])
{
	kl_draw_key(key, "test", "report", "bootstrap", 0);
}

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 1e-12)
		fail_msg("%.17g instead of %.17g", got, want);
}

static void test_mean(void **state)
{
	struct fixture data;

	/* (2 + 9) / 2, although the second task has one cell only */
	assert_near(kl_inference_mean(fill_tasks(&data, (double[]){ 1, 3 }, 2, (double[]){ 9 }, 1),
				      0),
		    5.5);
	assert_near(kl_inference_mean(fill_tasks(&data, (double[]){ 1, 3 }, 2, NULL, 0), 0), 2);
	assert_near(kl_inference_mean(fill_tasks(&data, NULL, 0, NULL, 0), 0), 0);
}

static void test_band(void **state)
{
	struct kl_band band, again;
	struct fixture data;
	char key[KL_DIGEST_HEX];

	make_key(key);
	/* one cell in each task: nothing to draw */
	fill_tasks(&data, (double[]){ 1 }, 1, (double[]){ 2 }, 1);
	kl_inference_bands(&band, &data.strata, 1, key, "a");
	assert_near(band.lo, 1.5);
	assert_near(band.hi, 1.5);
	/* of two cells, 0 and 1, both ends are drawn in a quarter of the draws each */
	fill_tasks(&data, (double[]){ 0, 1 }, 2, NULL, 0);
	kl_inference_bands(&band, &data.strata, 1, key, "a");
	kl_inference_bands(&again, &data.strata, 1, key, "a");
	assert_near(band.mid, 0.5);
	assert_near(band.lo, 0);
	assert_near(band.hi, 1);
	assert_memory_equal(&band, &again, sizeof(band));
}

/* Cells 0 ... 9: the mean has a standard error of sqrt(8.25 / 10) = 0.908. */
static void test_band_width(void **state)
{
	double number[10];
	struct kl_band band;
	struct fixture data;
	char key[KL_DIGEST_HEX];

	make_key(key);
	for (int i = 0; i < 10; i++)
		number[i] = i;
	fill_tasks(&data, number, 10, NULL, 0);
	kl_inference_bands(&band, &data.strata, 1, key, "width");
	assert_near(band.mid, 4.5);
	assert_true(fabs(band.lo - (4.5 - 1.96 * 0.908)) < 0.11);
	assert_true(fabs(band.hi - (4.5 + 1.96 * 0.908)) < 0.11);
	/* The same digits on every machine. */
	assert_near(band.lo, 2.7);
	assert_near(band.hi, 6.2);
}

static void test_better(void **state)
{
	struct fixture first, second;
	struct kl_better better;
	char key[KL_DIGEST_HEX];

	make_key(key);
	/* {1, 3} against {2, 3}: 3 > 2 and the tie 3 = 3 give 1.5 of 4; {5} against {4} gives 1 */
	fill_tasks(&first, (double[]){ 1, 3 }, 2, (double[]){ 5 }, 1);
	fill_tasks(&second, (double[]){ 2, 3 }, 2, (double[]){ 4 }, 1);
	kl_inference_better(&better, &first.strata, &second.strata, 0, key, "a-b");
	assert_near(better.band.mid, (1.5 / 4 + 1) / 2);
	kl_inference_better(&better, &second.strata, &first.strata, 0, key, "b-a");
	assert_near(better.band.mid, 1 - (1.5 / 4 + 1) / 2);
	/* a clear win, but of one cell on each task: a quarter of the ways to share them out */
	fill_tasks(&first, (double[]){ 2 }, 1, (double[]){ 2 }, 1);
	fill_tasks(&second, (double[]){ 1 }, 1, (double[]){ 1 }, 1);
	kl_inference_better(&better, &first.strata, &second.strata, 0, key, "few");
	assert_near(better.band.mid, 1);
	assert_near(better.p, 0.5);
}

/* Cells that are all the same, as under the null control, are not better. */
static void test_better_same(void **state)
{
	double same[5] = { 1, 1, 1, 1, 1 }, more[5] = { 2, 2, 2, 2, 2 };
	struct fixture first, second;
	struct kl_better better;
	char key[KL_DIGEST_HEX];

	make_key(key);
	fill_tasks(&first, same, 5, same, 5);
	fill_tasks(&second, same, 5, same, 5);
	kl_inference_better(&better, &first.strata, &second.strata, 0, key, "same");
	assert_near(better.band.lo, 0.5);
	assert_near(better.band.hi, 0.5);
	assert_near(better.p, 1);
	fill_tasks(&second, more, 5, more, 5);
	kl_inference_better(&better, &first.strata, &second.strata, 0, key, "more");
	assert_near(better.band.mid, 0);
	/* 252 * 252 ways: the bootstrap's own floor, 2 / 10001, is the larger one */
	assert_near(better.p, 2.0 / 10001);
}

static void test_holm(void **state)
{
	/* 4 * .01, 3 * .02, 2 * .04, then 0.05 is lifted to the one before */
	double p[] = { 0.04, 0.01, 0.05, 0.02 }, large[] = { 0.6, 0.9 };

	kl_inference_holm(p, 4);
	assert_near(p[1], 0.04);
	assert_near(p[3], 0.06);
	assert_near(p[0], 0.08);
	assert_near(p[2], 0.08);
	kl_inference_holm(large, 2);
	assert_near(large[0], 1);
	assert_near(large[1], 1);
}

static void test_power(void **state)
{
	struct fixture data;

	/* with sd 0.5 and 4 tasks, 5 seeds tell 1.56x apart; 10 seeds and 8 tasks 1.25x */
	assert_true(fabs(kl_inference_power(0.5, 20) - 1.56) < 0.005);
	assert_true(fabs(kl_inference_power(0.5, 80) - 1.25) < 0.005);
	/* squares 2 + 8 over 2 degrees of freedom */
	fill_tasks(&data, (double[]){ 1, 3 }, 2, (double[]){ 0, 4 }, 2);
	assert_near(kl_inference_sd(&data.strata, 0), sqrt(5));
	fill_tasks(&data, (double[]){ 1 }, 1, (double[]){ 4 }, 1);
	assert_near(kl_inference_sd(&data.strata, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mean),        cmocka_unit_test(test_band),
		cmocka_unit_test(test_band_width),  cmocka_unit_test(test_better),
		cmocka_unit_test(test_better_same), cmocka_unit_test(test_holm),
		cmocka_unit_test(test_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
