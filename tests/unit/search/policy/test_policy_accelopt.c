/* SPDX-License-Identifier: Apache-2.0 */
/* accelopt: beam, pairs and memory of both presets, landscapes */
#include "landscape.h"

#define SEEDS 2000

/* how a test answers the tickets of a search */
struct script {
	const double *ns; /* latencies of the candidates in order, repeated; 0: not correct */
	size_t n, used;
};

static struct kl_setup setup_of(const char *preset)
{
	struct kl_setup setup;

	kl_setup_init(&setup, kl_policy_find("accelopt"));
	assert_ok(kl_setup_preset(&setup, preset));
	setup.candidates = LANDSCAPE_CANDIDATES;
	kl_draw_key(setup.key, "", "", "", 0);
	return setup;
}

static void begin_cell(struct kl_experience *seen, const struct kl_setup *setup)
{
	struct kl_observation root = landscape_root();

	kl_experience_init(seen, setup);
	kl_experience_add(seen, &root);
}

/* do all tickets of the next group, so that the last is `upto`; count intents of each kind */
static void answer_group(struct kl_experience *seen, int64_t upto, struct script *script,
			 int count[4])
{
	struct kl_observation came[400] = { 0 };
	int64_t first = seen->n;

	for (int64_t i = first; i <= upto; i++) {
		struct kl_intent intent = { 0 };
		double ns;

		kl_experience_propose(&intent, seen, i);
		count[intent.kind]++;
		came[i - first] = (struct kl_observation){ .ticket = i, .parent = intent.parent };
		if (intent.kind == KL_TICKET_NOTE) {
			came[i - first].outcome = KL_OUTCOME_NOTE;
			came[i - first].note = json_object();
		} else if (intent.kind == KL_TICKET_EDIT) {
			ns = script->ns[script->used++ % script->n];
			came[i - first].outcome = ns > 0 ? KL_OUTCOME_CORRECT : KL_OUTCOME_WRONG;
			came[i - first].speed_ppm = ns > 0 ? (int64_t)(1e6 / ns + .5) : 0;
		} else {
			came[i - first].parent = -1;
		}
		kl_intent_release(&intent);
	}
	for (int64_t i = first; i <= upto; i++) {
		kl_experience_add(seen, &came[i - first]);
		kl_observation_release(&came[i - first]);
	}
}

static void assert_state(const struct kl_experience *seen, const char *key, const char *want)
{
	KL_AUTO(json_decrefp) json_t *state = seen->setup->policy->write(seen);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_json_canonical(&text, json_object_get(state, key));
	assert_string_equal(text.ptr, want);
}

/* the first round: tickets 1-4 plan, 5-12 are candidates, 13-20 sum up */
static void first_round(struct kl_experience *seen, const struct kl_setup *setup, const double *ns,
			int items)
{
	struct script script = { ns, 8, 0 };
	int count[4] = { 0 };

	begin_cell(seen, setup);
	answer_group(seen, 4, &script, count);
	answer_group(seen, 12, &script, count);
	assert_int_equal(count[KL_TICKET_NOTE], 4);
	assert_int_equal(count[KL_TICKET_EDIT], 8);
	answer_group(seen, 20, &script, count);
	assert_int_equal(count[KL_TICKET_NOTE], 4 + items);
	assert_int_equal(count[KL_TICKET_SKIP], 8 - items);
}

/* all children are slower than the root */
static void test_slower(void **state)
{
	static const double ns[] = { 1.3, 1.1, 1.4, 1.4, 1.2, 1.3, 1.3, 1.4 };
	struct kl_setup setup = setup_of("code");
	struct kl_experience seen;

	/* the released program loses the parent */
	first_round(&seen, &setup, ns, 4);
	assert_state(&seen, "beam", "[6,9]");
	kl_experience_release(&seen);
	/* the paper keeps it */
	setup = setup_of("paper");
	first_round(&seen, &setup, ns, 4);
	assert_state(&seen, "beam", "[0,6]");
	kl_experience_release(&seen);
}

/* a plan without a correct sample stands as the parent, behind all that are correct */
static void test_no_sample(void **state)
{
	static const double one[] = { 0, 0, 0, 0, 1.4, 0, 0, 0 };
	static const double none[] = { 0, 0, 0, 0, 0, 0, 0, 0 };
	struct kl_setup setup = setup_of("code");
	struct kl_experience seen;

	first_round(&seen, &setup, one, 1);
	assert_state(&seen, "beam", "[9,0]");
	kl_experience_release(&seen);
	first_round(&seen, &setup, none, 0);
	assert_state(&seen, "beam", "[0,0]");
	kl_experience_release(&seen);
	setup = setup_of("paper");
	first_round(&seen, &setup, none, 0);
	assert_state(&seen, "beam", "[0]");
	kl_experience_release(&seen);
}

/* 1.03 is too little; 1.1 too little of a slowdown; of a plan with both, the gain counts */
static void test_pairs(void **state)
{
	static const double ns[] = { .5, 2, 1 / 1.03, 1, 1.1, 1.1, 1.25, 2 };
	struct kl_setup setup = setup_of("paper");
	struct kl_intent intent = { 0 };
	struct kl_experience seen;
	struct script script = { ns, 8, 0 };
	int count[4] = { 0 };

	begin_cell(&seen, &setup);
	answer_group(&seen, 4, &script, count);
	answer_group(&seen, 12, &script, count);
	kl_experience_propose(&intent, &seen, 13);
	assert_int_equal(intent.nshown, 2);
	assert_int_equal(intent.shown[0].ticket, 0); /* slow: the root */
	assert_int_equal(intent.shown[1].ticket, 5); /* fast */
	kl_intent_release(&intent);
	kl_experience_propose(&intent, &seen, 14);
	assert_int_equal(intent.shown[0].ticket, 12); /* slow: the worst of its plan */
	assert_int_equal(intent.shown[1].ticket, 0);
	kl_intent_release(&intent);
	kl_experience_propose(&intent, &seen, 15);
	assert_int_equal(intent.kind, KL_TICKET_SKIP);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

/* run three rounds with 4, 8 and 8 new items, and compare what the memory holds */
static void assert_items(const char *preset, const char *most, const char *want)
{
	static const double gains[] = { .5, .6, .4, .6, .3, .6, .2, .6 };
	struct kl_setup setup = setup_of(preset);
	struct kl_experience seen;
	/* each later candidate is twice as fast as the fastest before */
	static const double later[] = { .1, .09, .08, .07, .06, .05, .04, .03 };
	struct script script = { later, 8, 0 };
	int count[4] = { 0 };

	assert_ok(kl_setup_set(&setup, "items", most));
	first_round(&seen, &setup, gains, 4);
	assert_state(&seen, "items", "[13,14,15,16]");
	answer_group(&seen, 28, &script, count);
	answer_group(&seen, 44, &script, count);
	answer_group(&seen, 52, &script, count);
	assert_state(&seen, "items", want);
	kl_experience_release(&seen);
}

static void test_queue(void **state)
{
	/* of a round only half of 8 pairs can be gains: 45 to 48 are new */
	assert_items("paper", "16", "[13,14,15,16,45,46,47,48]");
	/* the oldest leave */
	assert_items("paper", "6", "[15,16,45,46,47,48]");
	assert_items("paper", "4", "[45,46,47,48]");
	/* those that stay are drawn */
	assert_items("code", "6", "[15,13,45,46,47,48]");
}

static json_t *say_plan(const struct landscape_run *run, const struct kl_intent *intent,
			int64_t ticket)
{
	return json_object();
}

static void test_landscapes(void **state)
{
	struct kl_setup setup = setup_of("code");
	struct landscape_mean mean = landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, say_plan);

	landscape_assert("stairs", mean.speed, 2.05);
	mean = landscape_means(&setup, LANDSCAPE_VALLEY, SEEDS, say_plan);
	landscape_assert("valley", mean.speed, 1.51);
	/* about one cell in a hundred: nearly always some child stays on the first peak */
	assert_true(mean.past > .003 && mean.past < .015);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slower),     cmocka_unit_test(test_no_sample),
		cmocka_unit_test(test_pairs),      cmocka_unit_test(test_queue),
		cmocka_unit_test(test_landscapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
