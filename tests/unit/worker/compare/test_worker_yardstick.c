/* SPDX-License-Identifier: Apache-2.0 */
/* What the honest errors of several executions say about another kernel's. */
#include "worker_fixture.h"

#include <math.h>

#include "base/rng.h"
#include "worker/compare/compare.h"
#include "worker/compare/tolerance.h"
#include "worker/compare/yardstick.h"

#define COLS 256
#define UNIT 0x1p-24

/* `rows` groups of COLS elements, and the answers to them. */
struct table {
	struct fixture *fixture;
	struct kl_member member;
	double *truth;
	float *honest, *got;
	size_t n;
	struct kl_rng rng;
};

static struct table *table_new(int64_t rows)
{
	struct table *table = kl_calloc(1, sizeof(*table));
	struct kl_point *point;
	struct kl_rule *rule;

	table->fixture = fx_new();
	point = fx_point(table->fixture, "case0", true);
	fx_arg(table->fixture, "y", KL_ARG_OUT, KL_F32, NULL);
	fx_extent(point, 0, 2, rows, COLS);
	rule = fx_rule(table->fixture, KL_RULE_NOISE, 0);
	rule->npaxes = 1;
	table->n = (size_t)rows * COLS;
	table->truth = kl_calloc(table->n, sizeof(*table->truth));
	table->honest = kl_calloc(table->n, sizeof(*table->honest));
	table->got = kl_calloc(table->n, sizeof(*table->got));
	table->member.point = point;
	table->member.truth[0] = table->truth;
	table->member.honest[0] = table->honest;
	kl_rng_seed(&table->rng, 5);
	return table;
}

static void table_free(struct table *table)
{
	free(table->truth);
	free(table->honest);
	free(table->got);
	fx_free(table->fixture);
	free(table);
}
KL_DEFINE_CLEANUP(struct table *, table_free)

/*
 * Draw answers whose errors are UNIT in relation to the truth, of magnitude `scale`: those of a row
 * share one factor, or are independent.
 */
static void draw(struct table *table, float *answer, double scale, bool shared)
{
	double factor = 0;

	for (size_t i = 0; i < table->n; i++) {
		double truth = scale * (1 + kl_rng_uniform(&table->rng));

		if (i % COLS == 0 || !shared)
			factor = kl_rng_normal(&table->rng);
		if (answer == table->honest)
			table->truth[i] = (float)truth;
		answer[i] = (float)(table->truth[i] * (1 + 8 * UNIT * factor));
	}
}

static void add_draw(struct kl_yardstick *yardstick, struct table *table, double scale, bool shared)
{
	struct kl_tolerance tolerance;

	draw(table, table->honest, scale, shared);
	assert_ok(kl_tolerance_make(&tolerance, &table->fixture->job, 0, &table->member));
	kl_yardstick_add(yardstick, &tolerance);
	kl_tolerance_release(&tolerance);
}

static struct kl_yardstick yardstick_of(struct table *table, int draws, bool shared)
{
	struct kl_yardstick yardstick;

	kl_yardstick_init(&yardstick, &table->fixture->job, 0, table->member.point);
	for (int i = 0; i < draws; i++)
		add_draw(&yardstick, table, 1, shared);
	kl_yardstick_finish(&yardstick);
	return yardstick;
}

/* Judge draws of another kernel; return how many fail. */
static int count_wrong(struct table *table, const struct kl_yardstick *yardstick, int draws,
		       bool shared)
{
	int wrong = 0;

	for (int i = 0; i < draws; i++) {
		const void *got[KL_MAX_ARGS] = { table->got };
		struct kl_tolerance tolerance;
		struct kl_mismatch at;

		draw(table, table->honest, 1, shared);
		draw(table, table->got, 1, shared);
		assert_ok(kl_tolerance_make(&tolerance, &table->fixture->job, 0, &table->member));
		tolerance.yardstick = yardstick;
		table->member.tolerance = &tolerance;
		wrong += kl_compare(&at, &table->fixture->job, &table->member, got) == KL_ENO;
		table->member.tolerance = NULL;
		kl_tolerance_release(&tolerance);
	}
	return wrong;
}

static void independent_errors_keep_their_limits(void **state)
{
	KL_AUTO(table_freep) struct table *table = table_new(1);
	KL_AUTO(kl_yardstick_release)
	struct kl_yardstick yardstick = yardstick_of(table, 3, false);

	assert_true(yardstick.freedom > 16);
	assert_true(yardstick.room < 1.8);
	assert_int_equal(count_wrong(table, NULL, 200, false), 0);
	assert_int_equal(count_wrong(table, &yardstick, 200, false), 0);
}

/* One execution says nothing about a factor that all elements share; eighteen do. */
static void shared_errors_are_judged_by_many_draws(void **state)
{
	KL_AUTO(table_freep) struct table *table = table_new(1);
	KL_AUTO(kl_yardstick_release) struct kl_yardstick yardstick = yardstick_of(table, 18, true);

	assert_true(yardstick.freedom < 3);
	assert_true(count_wrong(table, NULL, 2000, true) > 400);
	assert_int_equal(count_wrong(table, &yardstick, 20000, true), 0);
}

/* With many rows, three executions are enough: the rows show how much errors differ. */
static void many_groups_have_one_error(void **state)
{
	KL_AUTO(table_freep) struct table *table = table_new(64);
	KL_AUTO(kl_yardstick_release) struct kl_yardstick yardstick = yardstick_of(table, 3, true);

	assert_true(yardstick.across);
	assert_true(kl_yardstick_is_settled(&yardstick, KL_YARDSTICK_FREE));
	assert_int_equal(count_wrong(table, &yardstick, 500, true), 0);
}

/* Ten times the error of an honest execution is no noise, shared or not. */
static void larger_errors_are_refused(void **state)
{
	KL_AUTO(table_freep) struct table *table = table_new(1);
	KL_AUTO(kl_yardstick_release) struct kl_yardstick yardstick = yardstick_of(table, 18, true);
	const void *got[KL_MAX_ARGS] = { table->got };
	struct kl_tolerance tolerance;
	struct kl_mismatch at;

	draw(table, table->honest, 1, true);
	for (size_t i = 0; i < table->n; i++)
		table->got[i] = (float)(table->truth[i] * (1 + 100 * UNIT));
	assert_ok(kl_tolerance_make(&tolerance, &table->fixture->job, 0, &table->member));
	tolerance.yardstick = &yardstick;
	table->member.tolerance = &tolerance;
	assert_int_equal(kl_compare(&at, &table->fixture->job, &table->member, got), KL_ENO);
	assert_contains(at.why, "rms");
	kl_tolerance_release(&tolerance);
}

/* An ill-conditioned draw does not set the tolerance of the others; scale does not matter. */
static void outliers_count_little(void **state)
{
	KL_AUTO(table_freep) struct table *table = table_new(1);
	KL_AUTO(kl_yardstick_release) struct kl_yardstick plain = yardstick_of(table, 18, true);
	struct kl_yardstick spoilt = yardstick_of(table, 17, true);
	struct kl_tolerance tolerance;

	draw(table, table->honest, 1024, true);
	for (size_t i = 0; i < table->n; i++)
		table->honest[i] = (float)(table->truth[i] * 1.001);
	assert_ok(kl_tolerance_make(&tolerance, &table->fixture->job, 0, &table->member));
	kl_yardstick_add(&spoilt, &tolerance);
	kl_yardstick_finish(&spoilt);
	assert_true(kl_yardstick_error(&spoilt, &tolerance, 0).rms <
		    3 * kl_yardstick_error(&plain, &tolerance, 0).rms);
	assert_true(kl_yardstick_error(&spoilt, &tolerance, 0).max <
		    4 * kl_yardstick_error(&plain, &tolerance, 0).max);
	kl_tolerance_release(&tolerance);
	kl_yardstick_release(&spoilt);
}

/* A rule that many draws of the honest reference would fail. */
static void strict_rules_fail_many_draws(void **state)
{
	KL_AUTO(table_freep) struct table *table = table_new(1);
	KL_AUTO(kl_yardstick_release) struct kl_yardstick yardstick = yardstick_of(table, 18, true);
	struct kl_rule rule = table->fixture->rule[0];

	assert_int_equal(kl_yardstick_outside(&yardstick, &rule), 0);
	rule.rms = 0.25;
	assert_true(kl_yardstick_outside(&yardstick, &rule) >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(independent_errors_keep_their_limits),
		cmocka_unit_test(shared_errors_are_judged_by_many_draws),
		cmocka_unit_test(many_groups_have_one_error),
		cmocka_unit_test(larger_errors_are_refused),
		cmocka_unit_test(outliers_count_little),
		cmocka_unit_test(strict_rules_fail_many_draws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
