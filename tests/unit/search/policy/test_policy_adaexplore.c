/* SPDX-License-Identifier: Apache-2.0 */
/* adaexplore: traces of the released program, rules, what is shown, landscapes */
#include "search/policy/adaexplore.h"

#include "landscape.h"
#include "test.h"

#define STEPS 24
#define SEEDS 2000

/* outcomes by ticket: a speed, 0 for not compiled, -1 for wrong */
static const double outcome[STEPS] = {
	1, .5, 0, -1, 2, 1.5, -1, 3, 0, 2.5, .8, 4, -1, 1.2, 5, 0, 4.5, 6, -1, 5.5, 3.3, 7, 0, 6.5,
};

static struct kl_setup setup_of(const char *preset)
{
	struct kl_setup setup;

	kl_setup_init(&setup, kl_policy_find("adaexplore"));
	assert_ok(kl_setup_preset(&setup, preset));
	setup.candidates = LANDSCAPE_CANDIDATES;
	kl_draw_key(setup.key, "", "", "", 0);
	return setup;
}

static void add_outcome(struct kl_experience *seen, double result, int64_t parent, const char *form)
{
	struct kl_observation came = {
		.ticket = seen->n,
		.parent = parent,
		.form = (char *)form,
		.outcome = result > 0  ? KL_OUTCOME_CORRECT :
			   result == 0 ? KL_OUTCOME_COMPILE :
					 KL_OUTCOME_WRONG,
		.speed_ppm = result > 0 ? (int64_t)(result * 1e6 + .5) : 0,
	};

	kl_experience_add(seen, &came);
}

static void add_root(struct kl_experience *seen)
{
	struct kl_observation root = landscape_root();

	kl_experience_add(seen, &root);
}

/* make all steps, and write "<parent><l or s>" of each */
static void trace_steps(struct kl_experience *seen, struct kl_buf *out, double third)
{
	add_root(seen);
	for (int64_t i = 1; i <= STEPS; i++) {
		int64_t node = kl_ada_select(seen);
		bool large = kl_ada_is_large(seen, node, i % 3 ? .5 : third);

		kl_buf_addf(out, "%s%d%c", i > 1 ? " " : "", (int)node, large ? 'l' : 's');
		add_outcome(seen, outcome[i - 1], node, large ? "large" : "small");
	}
}

static void test_trace_mean(void **state)
{
	static const int64_t visits[] = { 24, 17, 2, 1, 1, 5, 3, 1, 2, 1, 1, 9, 5,
					  1,  2,  2, 1, 1, 2, 1, 1, 4, 2, 1, 1 };
	struct kl_setup setup = setup_of("paper");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_experience seen;
	const struct kl_ada_tree *tree;

	kl_experience_init(&seen, &setup);
	trace_steps(&seen, &text, .5);
	assert_string_equal(text.ptr,
			    "0l 1s 0l 2s 1s 5s 0l 6s 5s 8s 1l 11s 0l 12s 11s 15s 14s 12s 18s 11l "
			    "0l 21s 22s 21s");
	tree = seen.state;
	for (size_t i = 0; i < KL_ARRAY_SIZE(visits); i++)
		assert_int_equal(tree->node[i].visits, visits[i]);
	kl_experience_release(&seen);
}

static void test_trace_maximum(void **state)
{
	struct kl_setup setup = setup_of("paper");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_experience seen;

	assert_ok(kl_setup_set(&setup, "alpha", "1"));
	kl_experience_init(&seen, &setup);
	trace_steps(&seen, &text, .1);
	assert_string_equal(
		text.ptr, "0l 1s 0l 2s 1s 5l 0l 6s 5l 8s 1l 6l 0l 12s 5l 15s 16s 1l 18s 19s 0l 21s "
			  "22s 21l");
	kl_experience_release(&seen);
}

static void test_reward(void **state)
{
	struct kl_observation came = { .outcome = KL_OUTCOME_CORRECT, .speed_ppm = 1000000 };

	assert_true(kl_ada_reward(&came) == 0.4 + (1.6 - 0.4) * 0.9 / 9.9);
	came.speed_ppm = 50000;
	assert_true(kl_ada_reward(&came) == 0.4);
	came.speed_ppm = 82000000;
	assert_true(kl_ada_reward(&came) == 1.6);
	came.outcome = KL_OUTCOME_WRONG;
	assert_true(kl_ada_reward(&came) == 0.05);
	came.outcome = KL_OUTCOME_NONE;
	assert_true(kl_ada_reward(&came) == 0);
}

static void assert_shown(const struct kl_intent *intent, const char *want)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	for (size_t i = 0; i < intent->nshown; i++)
		kl_buf_addf(&text, "%s%s:%d", i ? " " : "", intent->shown[i].as,
			    (int)intent->shown[i].ticket);
	assert_string_equal(text.ptr, want);
}

/* 1 large, 2 and 3 small on it, 4 large on 3, 5 small on 4 (wrong), 6 large on the root */
static void add_tree(struct kl_experience *seen)
{
	add_root(seen);
	add_outcome(seen, 1.5, 0, "large");
	add_outcome(seen, 2, 1, "small");
	add_outcome(seen, 1.8, 2, "small");
	add_outcome(seen, 1.2, 3, "large");
	add_outcome(seen, -1, 4, "small");
	add_outcome(seen, 3, 0, "large");
}

static void test_pool(void **state)
{
	struct kl_setup setup = setup_of("paper");
	struct kl_draws draws = { .key = setup.key, .ticket = 7 };
	struct kl_intent intent = { 0 };
	struct kl_experience seen;
	int with_extra = 0;

	kl_experience_init(&seen, &setup);
	add_tree(&seen);
	/* the best of each component on the path */
	kl_ada_show_pool(&intent, &seen, 5, &draws);
	assert_shown(&intent, "pool:2 pool:4");
	kl_intent_release(&intent);
	setup.value[KL_ADA_POOL] = 1;
	kl_ada_show_pool(&intent, &seen, 5, &draws);
	assert_int_equal(intent.nshown, 1);
	kl_intent_release(&intent);
	/* with extra ones, 6 is shown too in (1-p) / (1 + (1-p)) of the draws */
	setup.value[KL_ADA_POOL] = 3;
	setup.value[KL_ADA_EXTRA] = 3;
	for (draws.ticket = 0; draws.ticket < 40000; draws.ticket++) {
		kl_ada_show_pool(&intent, &seen, 5, &draws);
		with_extra += intent.nshown == 3;
		kl_intent_release(&intent);
	}
	assert_in_range(with_extra, 11428 - 270, 11428 + 270);
	kl_experience_release(&seen);
}

static void test_small(void **state)
{
	struct kl_setup setup = setup_of("paper");
	struct kl_intent intent = { 0 };
	struct kl_experience seen;

	kl_experience_init(&seen, &setup);
	add_root(&seen);
	add_outcome(&seen, -1, 0, "large");
	kl_experience_propose(&intent, &seen, 2);
	/* the only kernel that is shown is wrong: nothing to revise */
	assert_string_equal(intent.role[0], intent.parent ? "tuner" : "proposer");
	assert_int_equal(intent.nrole, 1);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
	setup.value[KL_ADA_LARGE] = 0;
	kl_experience_init(&seen, &setup);
	add_root(&seen);
	add_outcome(&seen, 1.1, 0, "large");
	kl_experience_propose(&intent, &seen, 2);
	assert_int_equal(intent.parent, 1);
	assert_int_equal(intent.nrole, 2);
	assert_string_equal(intent.role[0], "reviser");
	assert_string_equal(intent.role[1], "tuner");
	assert_shown(&intent, "ancestor:1");
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

static void add_note(struct kl_experience *seen, json_t *note)
{
	struct kl_observation came = {
		.ticket = seen->n,
		.parent = -1,
		.outcome = note ? KL_OUTCOME_NOTE : KL_OUTCOME_SKIPPED,
		.note = note,
	};

	kl_experience_add(seen, &came);
	json_decref(note);
}

static size_t rules_shown(const struct kl_experience *seen)
{
	struct kl_intent intent = { 0 };
	size_t n = 0;

	kl_experience_propose(&intent, seen, seen->n);
	for (size_t i = 0; i < intent.nshown; i++)
		n += !strcmp(intent.shown[i].as, "rule");
	kl_intent_release(&intent);
	return n;
}

/* the third failure of one kind makes its rule appear at the next candidate */
static void test_rules(void **state)
{
	struct kl_setup setup = setup_of("paper");
	struct kl_intent intent = { 0 };
	struct kl_experience seen;

	assert_ok(kl_setup_set(&setup, "learn", "each"));
	kl_experience_init(&seen, &setup);
	add_root(&seen);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(rules_shown(&seen), 0);
		add_outcome(&seen, 0, 0, "large");
		kl_experience_propose(&intent, &seen, seen.n);
		assert_int_equal(intent.kind, KL_TICKET_NOTE);
		assert_string_equal(intent.role[0], "extractor");
		assert_string_equal(intent.role[1], "judge");
		kl_intent_release(&intent);
		add_note(&seen, i ? json_pack("{s:i}", "same", 2) :
				    json_pack("{s:s}", "rule", "You cannot do this."));
	}
	assert_int_equal(rules_shown(&seen), 1);
	/* what is only wrong, or right, gives no rule */
	add_outcome(&seen, -1, 0, "large");
	kl_experience_propose(&intent, &seen, seen.n);
	assert_int_equal(intent.kind, KL_TICKET_SKIP);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

static void assert_landscape(const char *alpha, double stairs, double valley, double past)
{
	struct kl_setup setup = setup_of("paper");
	struct landscape_mean mean;

	assert_ok(kl_setup_set(&setup, "alpha", alpha));
	mean = landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL);
	landscape_assert("stairs", mean.speed, stairs);
	mean = landscape_means(&setup, LANDSCAPE_VALLEY, SEEDS, NULL);
	landscape_assert("valley", mean.speed, valley);
	landscape_assert("past", mean.past, past);
}

static void test_landscapes(void **state)
{
	assert_landscape("0", 1.92, 2.56, .89);
	assert_landscape("1", 2.06, 2.84, .92);
}

static void test_widths(void **state)
{
	static const double want[] = { 1.92, 1.85, 1.68, 1.46, 1.44 };
	struct kl_setup setup = setup_of("paper");

	for (int i = 0; i < 5; i++) {
		setup.width = 1 << i;
		landscape_assert("width",
				 landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, NULL).speed,
				 want[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trace_mean), cmocka_unit_test(test_trace_maximum),
		cmocka_unit_test(test_reward),     cmocka_unit_test(test_pool),
		cmocka_unit_test(test_small),      cmocka_unit_test(test_rules),
		cmocka_unit_test(test_landscapes), cmocka_unit_test(test_widths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
