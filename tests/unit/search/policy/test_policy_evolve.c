/* SPDX-License-Identifier: Apache-2.0 */
/* evolve, shinka and pareto: parents, migration, archive, landscapes */
#include "landscape.h"

#define SEEDS 2000

static struct kl_setup setup_of(const char *policy, const char *preset, int64_t candidates)
{
	struct kl_setup setup;

	kl_setup_init(&setup, kl_policy_find(policy));
	if (preset)
		assert_ok(kl_setup_preset(&setup, preset));
	setup.candidates = candidates;
	kl_draw_key(setup.key, "", "", "", 0);
	return setup;
}

static void add_speed(struct kl_experience *seen, int64_t ppm, int64_t parent)
{
	struct kl_observation came = {
		.ticket = seen->n,
		.parent = parent,
		.outcome = ppm ? KL_OUTCOME_CORRECT : KL_OUTCOME_WRONG,
		.speed_ppm = ppm,
		.bytes = 1000 << (seen->n % 9), /* cells of their own */
		.instructions = 100 << (seen->n / 9 % 9),
	};

	snprintf(came.surface, sizeof(came.surface), "%064d", (int)seen->n);
	kl_experience_add(seen, &came);
}

static void begin_cell(struct kl_experience *seen, const struct kl_setup *setup)
{
	struct kl_observation root = landscape_root();

	kl_experience_init(seen, setup);
	kl_experience_add(seen, &root);
}

static int64_t state_int(const struct kl_experience *seen, const char *key)
{
	KL_AUTO(json_decrefp) json_t *state = seen->setup->policy->write(seen);
	json_t *value = json_object_get(state, key);

	return json_is_array(value) ? (int64_t)json_array_size(value) : json_integer_value(value);
}

/* the defaults of OpenEvolve: no migration within 40 candidates, the first after 250 */
static void test_openevolve(void **state)
{
	struct kl_setup setup = setup_of("evolve", "openevolve", 300);
	struct kl_experience seen;

	begin_cell(&seen, &setup);
	for (int i = 1; i <= 250; i++) {
		if (i == 41) {
			assert_int_equal(state_int(&seen, "migrations"), 0);
			assert_int_equal(state_int(&seen, "archive"), 41);
		}
		if (i == 246) /* the first island has its 50th child here */
			assert_int_equal(state_int(&seen, "migrations"), 0);
		add_speed(&seen, 1000000 + i, 0);
	}
	assert_int_equal(state_int(&seen, "migrations"), 1);
	assert_int_equal(state_int(&seen, "archive"), 100);
	kl_experience_release(&seen);
}

static void test_cannot(void **state)
{
	struct kl_setup setup = setup_of("evolve", "openevolve", 40);
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;

	setup.policy->cannot(&lines, &setup);
	assert_int_equal(lines.n, 2);
	assert_string_equal(lines.v[0],
			    "migration: never within 40 candidates, the first is after 250");
	assert_contains(lines.v[1], "it holds all 40 candidates");
}

/* a child that failed is no program; islands without one draw from the first */
static void test_empty_island(void **state)
{
	struct kl_setup setup = setup_of("evolve", "openevolve", 40);
	struct kl_intent intent = { 0 };
	struct kl_experience seen;

	begin_cell(&seen, &setup);
	add_speed(&seen, 0, 0);
	add_speed(&seen, 0, 0);
	assert_int_equal(state_int(&seen, "programs"), 1);
	kl_experience_propose(&intent, &seen, 3);
	assert_int_equal(intent.parent, 0);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

/* the fitter of two in one cell stays */
static void test_cell(void **state)
{
	struct kl_setup setup = setup_of("evolve", "scaled", 40);
	struct kl_intent intent = { 0 };
	struct kl_observation came = landscape_root();
	struct kl_experience seen;

	begin_cell(&seen, &setup);
	came.ticket = 1;
	came.parent = 0;
	came.speed_ppm = 2000000;
	came.surface[0] = '1';
	kl_experience_add(&seen, &came);
	for (int i = 0; i < 50; i++) {
		assert_ok(kl_setup_set(&setup, "exploit", "0"));
		kl_draw_key(setup.key, "", "", "", i);
		kl_experience_propose(&intent, &seen, 2);
		assert_int_equal(intent.parent, 1);
		kl_intent_release(&intent);
	}
	kl_experience_release(&seen);
}

/* of two islands, the best of each goes to the other, once */
static void test_migrate(void **state)
{
	struct kl_setup setup = setup_of("evolve", "scaled", 48);
	struct kl_experience seen;

	assert_ok(kl_setup_set(&setup, "islands", "2"));
	assert_ok(kl_setup_set(&setup, "interval", "2"));
	begin_cell(&seen, &setup);
	for (int i = 1; i <= 3; i++)
		add_speed(&seen, 1000000 + i, 0);
	/* the first island has two children: one program of each went over */
	assert_int_equal(state_int(&seen, "migrations"), 1);
	assert_int_equal(state_int(&seen, "programs"), 4 + 2);
	kl_experience_release(&seen);
}

/* --- shinka ---------------------------------------------------------------------------------- */

/* a parent with children is drawn less often, a slow one hardly ever */
static void test_shinka_parents(void **state)
{
	struct kl_setup setup = setup_of("shinka", NULL, 40);
	int count[5] = { 0 };
	struct kl_experience seen;

	assert_ok(kl_setup_set(&setup, "islands", "1"));
	begin_cell(&seen, &setup);
	add_speed(&seen, 1500000, 0);
	add_speed(&seen, 3000000, 1);
	add_speed(&seen, 3100000, 1);
	add_speed(&seen, 3200000, 3);
	for (int i = 0; i < 2000; i++) {
		struct kl_intent intent = { 0 };

		kl_draw_key(setup.key, "", "", "", i);
		kl_experience_propose(&intent, &seen, 5);
		count[intent.parent]++;
		kl_intent_release(&intent);
	}
	assert_in_range(count[4], 940, 1060); /* 1 of 1 + 1/2 (one child) + 1/2 (the median) */
	assert_true(count[0] + count[1] == 0);
	kl_experience_release(&seen);
}

static void test_shinka_forms(void **state)
{
	struct kl_setup setup = setup_of("shinka", NULL, 40);
	int count[3] = { 0 };
	struct kl_experience seen;

	assert_ok(kl_setup_set(&setup, "islands", "1"));
	begin_cell(&seen, &setup);
	add_speed(&seen, 1500000, 0);
	for (int i = 0; i < 4000; i++) {
		struct kl_intent intent = { 0 };

		kl_draw_key(setup.key, "", "", "", i);
		kl_experience_propose(&intent, &seen, 2);
		count[0] += !strcmp(intent.form, "diff");
		count[1] += !strcmp(intent.form, "full");
		if (!strcmp(intent.form, "cross")) {
			count[2]++;
			assert_int_equal(intent.nshown, 1);
			assert_int_not_equal(intent.shown[0].ticket, intent.parent);
		}
		kl_intent_release(&intent);
	}
	assert_in_range(count[0], 2300, 2500);
	assert_in_range(count[1], 1100, 1300);
	assert_in_range(count[2], 340, 460);
	kl_experience_release(&seen);
}

/* --- pareto ---------------------------------------------------------------------------------- */

static void add_cases(struct kl_experience *seen, int64_t one, int64_t two, int64_t three)
{
	int64_t cases[] = { one, two, three };
	struct kl_observation came = {
		.ticket = seen->n,
		.parent = seen->n ? 0 : -1,
		.outcome = KL_OUTCOME_CORRECT,
		.speed_ppm = (one + two + three) / 3,
		.case_ppm = cases,
		.ncase = 3,
	};

	kl_experience_add(seen, &came);
}

/* 1 leads the first case alone, 2 the two others, 3 ties with 2 at one of them and is dominated */
static void test_pareto(void **state)
{
	struct kl_setup setup = setup_of("pareto", NULL, 40);
	int count[4] = { 0 };
	struct kl_experience seen;

	kl_experience_init(&seen, &setup);
	add_cases(&seen, 1000000, 1000000, 1000000);
	add_cases(&seen, 3000000, 900000, 900000);
	add_cases(&seen, 800000, 2000000, 2000000);
	add_cases(&seen, 700000, 2000000, 1000000);
	for (int i = 0; i < 3000; i++) {
		struct kl_intent intent = { 0 };

		kl_draw_key(setup.key, "", "", "", i);
		kl_experience_propose(&intent, &seen, 4);
		count[intent.parent]++;
		kl_intent_release(&intent);
	}
	assert_int_equal(count[0] + count[3], 0);
	assert_in_range(count[1], 920, 1080);
	kl_experience_release(&seen);
}

/* --- landscapes ------------------------------------------------------------------------------ */

static void assert_landscapes(struct kl_setup setup, double stairs, double valley, double past)
{
	struct landscape_mean mean = landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL);

	landscape_assert("stairs", mean.speed, stairs);
	mean = landscape_means(&setup, LANDSCAPE_VALLEY, SEEDS, NULL);
	landscape_assert("valley", mean.speed, valley);
	assert_true(fabs(mean.past - past) < .01);
}

/*
 * A model of the released database gave 1.77, 2.31 and 0.79, with two islands 2.70, 2.27 and 0.56.
 * The rule as it is described gives more. The description leaves open how islands are populated at
 * first, and the figures depend on that more than on anything else (2,000 seeds; as here is first):
 *
 *	the first child is on island 0		1.85  2.45  .87		2.94  2.46  .66
 *	the first child is on island 1		1.80  2.37  .84		2.93  2.42  .64
 *	the root is on every island		1.66  2.09  .63		2.84  2.21  .56
 *	a child is on its parent's island	1.97  2.60  .90		3.29  2.19  .49
 *
 * The cells of features hardly matter: without any displacement the first figure is 1.85 as well.
 */
static void test_evolve_landscapes(void **state)
{
	struct kl_setup setup = setup_of("evolve", "openevolve", LANDSCAPE_CANDIDATES);

	assert_landscapes(setup, 1.85, 2.45, .87);
	assert_ok(kl_setup_set(&setup, "islands", "2"));
	assert_ok(kl_setup_set(&setup, "archive", "6"));
	assert_ok(kl_setup_set(&setup, "interval", "8"));
	assert_landscapes(setup, 2.94, 2.46, .66);
}

static void test_shinka_landscapes(void **state)
{
	struct kl_setup setup = setup_of("shinka", "paper", LANDSCAPE_CANDIDATES);

	assert_landscapes(setup, 3.24, 1.58, .06);
	setup.width = 4;
	landscape_assert("width 4", landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL).speed,
			 2.3);
}

/* with one case, pareto goes on from the best as climb does */
static void test_pareto_landscapes(void **state)
{
	struct kl_setup setup = setup_of("pareto", NULL, LANDSCAPE_CANDIDATES);

	landscape_assert("stairs", landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL).speed,
			 21.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_openevolve),        cmocka_unit_test(test_cannot),
		cmocka_unit_test(test_empty_island),      cmocka_unit_test(test_cell),
		cmocka_unit_test(test_migrate),           cmocka_unit_test(test_shinka_parents),
		cmocka_unit_test(test_shinka_forms),      cmocka_unit_test(test_pareto),
		cmocka_unit_test(test_evolve_landscapes), cmocka_unit_test(test_shinka_landscapes),
		cmocka_unit_test(test_pareto_landscapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
