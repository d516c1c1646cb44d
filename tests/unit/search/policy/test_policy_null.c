/* SPDX-License-Identifier: Apache-2.0 */
/* all policies: equal on a landscape without structure, the same again, and limited by horizons */
#include "landscape.h"

#define SEEDS 50

/* answers every note, so that no policy waits for one */
static json_t *say_all(const struct landscape_run *run, const struct kl_intent *intent,
		       int64_t ticket)
{
	return json_pack("{s:s,s:i,s:[{s:s,s:i},{s:s,s:i},{s:s,s:i},{s:s,s:i}]}", "state", "memory",
			 "confidence_ppm", 900000, "techniques", "name", "tile", "relevance_ppm",
			 900000, "name", "unroll", "relevance_ppm", 500000, "name", "fuse",
			 "relevance_ppm", 100000, "name", "pad", "relevance_ppm", 0);
}

static struct landscape_run *run_cell(const struct kl_policy *policy, const char *preset,
				      enum landscape kind, uint64_t seed)
{
	struct landscape_run *run = kl_calloc(1, sizeof(*run));
	struct kl_setup setup;

	kl_setup_init(&setup, policy);
	if (preset)
		assert_ok(kl_setup_preset(&setup, preset));
	setup.candidates = LANDSCAPE_CANDIDATES;
	run->kind = kind;
	run->seed = seed;
	run->note = say_all;
	landscape_search(run, &setup);
	return run;
}

/* every policy and preset */
static void each_policy(void (*check)(const struct kl_policy *policy, const char *preset))
{
	for (size_t i = 0; kl_policies[i]; i++) {
		check(kl_policies[i], NULL);
		for (const struct kl_policy_preset *row = kl_policies[i]->preset; row->name; row++)
			check(kl_policies[i], row->name);
	}
}

/* anything but equal curves would leak or peek */
static void equal_on_null(const struct kl_policy *policy, const char *preset)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct landscape_run *control = run_cell(kl_policies[0], NULL, LANDSCAPE_NULL,
							 seed);
		struct landscape_run *run = run_cell(policy, preset, LANDSCAPE_NULL, seed);

		assert_memory_equal(run->curve, control->curve,
				    (size_t)run->candidates * sizeof(*run->curve));
		assert_true(run->candidates > LANDSCAPE_CANDIDATES / 2);
		free(control);
		free(run);
	}
}

static void test_null(void **state)
{
	each_policy(equal_on_null);
}

static void same_again(const struct kl_policy *policy, const char *preset)
{
	struct landscape_run *one = run_cell(policy, preset, LANDSCAPE_STAIRS, 7);
	struct landscape_run *two = run_cell(policy, preset, LANDSCAPE_STAIRS, 7);
	struct landscape_run *other = run_cell(policy, preset, LANDSCAPE_STAIRS, 8);

	assert_string_equal(one->state, two->state);
	assert_memory_equal(one->parent, two->parent, sizeof(one->parent));
	assert_string_not_equal(one->state, other->state);
	free(one);
	free(two);
	free(other);
}

static void test_same_again(void **state)
{
	each_policy(same_again);
}

/* a ticket sees only earlier ones, and no less than those before it */
static void rising_horizon(const struct kl_policy *policy, const char *preset)
{
	struct kl_setup setup;
	int64_t before = 0;

	kl_setup_init(&setup, policy);
	if (preset)
		assert_ok(kl_setup_preset(&setup, preset));
	setup.candidates = 100;
	for (setup.width = 1; setup.width <= 4; setup.width += 3, before = 0)
		for (int64_t ticket = 1; ticket < 500; ticket++) {
			int64_t horizon = policy->horizon(&setup, ticket);

			assert_in_range(horizon, before, ticket - 1);
			before = horizon;
		}
}

static void test_horizons(void **state)
{
	each_policy(rising_horizon);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_horizons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
