/* SPDX-License-Identifier: Apache-2.0 */
/* best-of-n, climb and refine on landscapes, and at which kernel each goes on */
#include "test.h"

#include "landscape.h"

#define SEEDS 2000

static struct kl_setup setup_of(const char *name)
{
	struct kl_setup setup;

	kl_setup_init(&setup, kl_policy_find(name));
	setup.candidates = LANDSCAPE_CANDIDATES;
	return setup;
}

static void test_best_of_n(void **state)
{
	struct kl_setup setup = setup_of("best-of-n");
	struct landscape_mean stairs = landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL);
	struct landscape_mean valley = landscape_means(&setup, LANDSCAPE_VALLEY, SEEDS, NULL);

	/* one step up is all that it can find */
	assert_true(fabs(stairs.speed - 1.2) < 1e-6);
	assert_true(fabs(valley.speed - 1.5) < 1e-6);
	assert_true(valley.past == 0);
}

static void test_climb(void **state)
{
	struct kl_setup setup = setup_of("climb");
	struct landscape_mean valley = landscape_means(&setup, LANDSCAPE_VALLEY, SEEDS, NULL);

	landscape_assert("stairs", landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL).speed,
			 21.5);
	assert_true(fabs(valley.speed - 1.5) < 1e-6);
	assert_true(valley.past == 0);
}

static void test_climb_width(void **state)
{
	static const double want[] = { 21.1, 9.7, 4.6, 2.6, 1.7 };
	struct kl_setup setup = setup_of("climb");

	for (int i = 0; i < 5; i++) {
		setup.width = 1 << i;
		landscape_assert("width",
				 landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL).speed,
				 want[i]);
	}
}

static void test_refine(void **state)
{
	struct kl_setup setup = setup_of("refine");
	struct landscape_mean valley = landscape_means(&setup, LANDSCAPE_VALLEY, SEEDS, NULL);

	landscape_assert("stairs", landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL).speed,
			 7.48);
	landscape_assert("valley", valley.speed, 5.59);
	landscape_assert("past", valley.past, .997);
}

/* add observations of the given speeds, 0 for a wrong candidate, all made from the root */
static void add_speeds(struct kl_experience *seen, const int64_t *ppm, int n)
{
	struct kl_observation root = landscape_root();

	kl_experience_add(seen, &root);
	for (int i = 0; i < n; i++) {
		struct kl_observation came = {
			.ticket = i + 1,
			.outcome = ppm[i] ? KL_OUTCOME_CORRECT : KL_OUTCOME_WRONG,
			.speed_ppm = ppm[i],
			.low_ppm = ppm[i] - (i == 1 ? 900000 : 0),
		};

		kl_experience_add(seen, &came);
	}
}

static void assert_next(struct kl_setup *setup, int64_t parent, size_t nshown)
{
	static const int64_t ppm[] = { 1500000, 2000000, 2000000, 900000, 0 };
	struct kl_intent intent = { 0 };
	struct kl_experience seen;

	kl_experience_init(&seen, setup);
	add_speeds(&seen, ppm, 5);
	kl_experience_propose(&intent, &seen, 6);
	assert_int_equal(intent.kind, KL_TICKET_EDIT);
	assert_int_equal(intent.parent, parent);
	assert_int_equal(intent.nshown, nshown);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

static void test_parents(void **state)
{
	struct kl_setup setup = setup_of("climb");

	assert_next(&setup, 2, 0); /* the first of equals */
	assert_ok(kl_setup_set(&setup, "decide", "low"));
	assert_next(&setup, 3, 0); /* the lower bound of 2 is 1.1 */
	setup = setup_of("refine");
	assert_next(&setup, 4, 5); /* slower than the root, but correct */
	assert_ok(kl_setup_set(&setup, "k", "2"));
	assert_next(&setup, 4, 2);
}

static void test_settings(void **state)
{
	struct kl_setup setup = setup_of("climb"), again;
	KL_AUTO(json_decrefp) json_t *json = NULL;

	assert_error(KL_EUSAGE, "it has: decide, repairs", kl_setup_set(&setup, "repair", "1"));
	assert_error(KL_EUSAGE, "must be one of centre, low",
		     kl_setup_set(&setup, "decide", "high"));
	assert_error(KL_EUSAGE, "must be from 0 to 10", kl_setup_set(&setup, "repairs", "11"));
	assert_error(KL_EUSAGE, "must be a whole number", kl_setup_set(&setup, "repairs", "1.5"));
	assert_error(KL_EUSAGE, "must be a whole number", kl_setup_set(&setup, "repairs", ""));
	assert_error(KL_EUSAGE, "no preset 'paper'", kl_setup_preset(&setup, "paper"));
	assert_ok(kl_setup_set(&setup, "repairs", "3"));
	kl_draw_key(setup.key, "", "", "", 1);
	json = kl_setup_write(&setup);
	assert_ok(kl_setup_read(&again, json));
	assert_memory_equal(setup.value, again.value, sizeof(setup.value));
	assert_string_equal(setup.key, again.key);
	kl_json_set_str(json, "policy", "nothing");
	assert_error(KL_EINVALID, "no policy 'nothing'", kl_setup_read(&again, json));
}

/* a changed observation, parameter or key gives another digest */
static void test_digest(void **state)
{
	struct kl_setup setup = setup_of("climb");
	struct landscape_run *one = kl_calloc(1, sizeof(*one)), *two = kl_calloc(1, sizeof(*two));

	one->seed = two->seed = 4;
	landscape_search(one, &setup);
	landscape_search(two, &setup);
	assert_string_equal(one->state, two->state);
	assert_ok(kl_setup_set(&setup, "repairs", "1"));
	memset(two, 0, sizeof(*two));
	two->seed = 4;
	landscape_search(two, &setup);
	assert_string_not_equal(one->state, two->state);
	free(one);
	free(two);
}

static void test_observation_json(void **state)
{
	struct kl_observation root = landscape_root(), again;
	KL_AUTO(json_decrefp) json_t *json = NULL;
	int64_t cases[] = { 1, 2 };
	KL_AUTO(json_decrefp) json_t *back = NULL;

	root.case_ppm = cases;
	root.ncase = 2;
	json = kl_observation_write(&root);
	assert_ok(kl_observation_read(&again, json));
	back = kl_observation_write(&again);
	assert_true(json_equal(json, back));
	kl_observation_release(&again);
	kl_json_set_str(json, "outcome", "great");
	assert_error(KL_EINVALID, "'great', which is no outcome",
		     kl_observation_read(&again, json));
	kl_json_set_str(json, "outcome", "correct");
	kl_json_set_int(json, "speed_ppm", -1);
	assert_error(KL_EINVALID, "speed_ppm", kl_observation_read(&again, json));
	kl_json_set_int(json, "speed_ppm", 1);
	kl_json_set_str(json, "surface", "no");
	assert_error(KL_EINVALID, "64 hex digits", kl_observation_read(&again, json));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_best_of_n),   cmocka_unit_test(test_climb),
		cmocka_unit_test(test_climb_width), cmocka_unit_test(test_refine),
		cmocka_unit_test(test_parents),     cmocka_unit_test(test_settings),
		cmocka_unit_test(test_digest),      cmocka_unit_test(test_observation_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
