/* SPDX-License-Identifier: Apache-2.0 */
/* kernelblaster: entries of the base, the draw of a technique, ends of rollouts, landscapes */
#include "landscape.h"
#include "search/policy/knowledge.h"
#include "search/policy/memory.h"

#define SEEDS 2000

static struct kl_setup setup_of(const char *preset, const char *rollouts, const char *steps)
{
	struct kl_setup setup;

	kl_setup_init(&setup, kl_policy_find("kernelblaster"));
	assert_ok(kl_setup_preset(&setup, preset));
	assert_ok(kl_setup_set(&setup, "rollouts", rollouts));
	assert_ok(kl_setup_set(&setup, "steps", steps));
	setup.candidates = LANDSCAPE_CANDIDATES;
	kl_draw_key(setup.key, "", "", "", 0);
	return setup;
}

static void test_entry(void **state)
{
	struct kl_knowledge base = { 0 };
	struct kl_knowledge_entry *entry = kl_knowledge_have(&base, "memory", "tile", 20);

	kl_knowledge_learn(entry, 35); /* replaces the prior */
	assert_true(entry->predicted == 35 && entry->confidence == 0.5);
	kl_knowledge_learn(entry, 30);
	assert_true(entry->predicted == 32.5 && entry->confidence == 0.6);
	kl_knowledge_learn(entry, -40);
	assert_true(fabs(entry->predicted - 25.0 / 3) < 1e-12);
	assert_true(fabs(entry->confidence - 0.5) < 1e-12);
	for (int i = 0; i < 9; i++)
		kl_knowledge_learn(entry, -40);
	assert_true(entry->confidence >= 0.1 && entry->confidence <= 1);
	kl_knowledge_release(&base);
}

static void test_inherit(void **state)
{
	struct kl_knowledge base = { 0 };
	const struct kl_knowledge_entry *entry;

	kl_knowledge_have(&base, "memory", "tile", 20);
	kl_knowledge_have(&base, "memory", "prefetch", 60)->confidence = 0.1;
	kl_knowledge_inherit(&base, "latency", "memory");
	entry = kl_knowledge_find(&base, "latency", "tile");
	assert_non_null(entry);
	assert_true(entry->predicted == 16 && entry->confidence == 0.4);
	assert_string_equal(kl_knowledge_best(&base, "memory")->technique, "tile");
	assert_null(kl_knowledge_best(&base, "compute"));
	kl_knowledge_release(&base);
}

static json_t *technique_entry(const char *name, int64_t saved_ppm, int64_t count)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I}", "kind", "technique", "text", "",
			 "from", "kernelblaster", "language", "c", "state", "memory", "technique",
			 name, "saved_ppm", (json_int_t)saved_ppm, "confidence_ppm",
			 (json_int_t)800000, "count", (json_int_t)count);
}

static json_t *memory_of(int first)
{
	json_t *entries = json_object(), *one = technique_entry("tile", 200000, 3);
	json_t *same = technique_entry("tile", 200000, 7);

	kl_json_set_str(same, "retracted", "it is wrong");
	kl_memory_add(entries, first ? same : one);
	kl_memory_add(entries, technique_entry("prefetch", 100000, 0));
	kl_memory_add(entries, first ? one : same);
	return entries;
}

static void test_memory_unites(void **state)
{
	KL_AUTO(json_decrefp) json_t *left = memory_of(0);
	KL_AUTO(json_decrefp) json_t *right = memory_of(1);
	KL_AUTO(json_decrefp) json_t *same = technique_entry("tile", 200000, 1);
	KL_AUTO(kl_freep) char *path = kl_memory_path(same);
	const json_t *entry = json_object_get(left, path);

	assert_true(json_equal(left, right));
	assert_ok(kl_memory_check_all(left));
	assert_int_equal(kl_json_int_or(entry, "count", 0), 7);
	assert_false(kl_memory_is(entry, "technique"));
}

/* A memory is told to the first profiler, and is in the setup that a chain stores. */
static void test_memory_begins(void **state)
{
	KL_AUTO(json_decrefp) json_t *memory = memory_of(0);
	KL_AUTO(json_decrefp) json_t *json = NULL;
	KL_AUTO(kl_intent_release) struct kl_intent intent = { 0 };
	struct kl_setup setup = setup_of("paper", "1", "1"), again;
	struct kl_observation root = landscape_root();
	struct kl_experience seen;
	const json_t *base;

	setup.memory = memory;
	json = kl_setup_write(&setup);
	assert_ok(kl_setup_read(&again, json));
	assert_true(json_equal(again.memory, memory));
	kl_experience_init(&seen, &again);
	kl_experience_add(&seen, &root);
	kl_experience_propose(&intent, &seen, 1);
	base = json_object_get(intent.told, "base");
	assert_int_equal(json_array_size(base), 1);
	assert_string_equal(kl_json_str_or(json_array_get(base, 0), "technique", ""), "prefetch");
	assert_int_equal(kl_json_int_or(json_array_get(base, 0), "saved_ppm", 0), 100000);
	kl_experience_release(&seen);
	json_object_set_new(json, "policy", json_string("climb"));
	json_object_set_new(json, "parameters",
			    json_pack("{s:s,s:i}", "decide", "centre", "repairs", 0));
	assert_error(KL_EINVALID, "not one that the policy can read", kl_setup_read(&again, json));
}

static void test_update(void **state)
{
	struct kl_knowledge base = { 0 };
	KL_AUTO(json_decrefp) json_t *said = NULL;
	static const char text[] =
		"{\"adjust\":[{\"state\":\"memory\",\"technique\":\"tile\","
		"\"saved_ppm\":300000,\"confidence_ppm\":2000000},"
		"{\"state\":\"memory\"}],"
		"\"deprecate\":[{\"state\":\"memory\",\"technique\":\"unroll\"}]}";

	assert_ok(kl_json_parse(&said, text, strlen(text)));
	kl_knowledge_update(&base, said);
	assert_int_equal(base.n, 2);
	assert_true(base.v[0].predicted == 30 && base.v[0].confidence == 1);
	assert_true(base.v[1].confidence == 0.1);
	kl_knowledge_update(&base, NULL);
	kl_knowledge_release(&base);
}

/* --- tickets: 1 rollout has 6 tickets a step: profile, plan, edit, three notes --------------- */

static void add_came(struct kl_experience *seen, enum kl_ticket_outcome outcome, json_t *note,
		     const char *form, int64_t parent, int64_t ppm)
{
	struct kl_observation came = {
		.ticket = seen->n,
		.parent = parent,
		.outcome = outcome,
		.note = note,
		.form = (char *)form,
		.speed_ppm = ppm,
	};

	kl_experience_add(seen, &came);
	json_decref(note);
}

static json_t *plan_of(int64_t one, int64_t two, int64_t three)
{
	return json_pack("{s:[{s:s,s:I,s:I},{s:s,s:I},{s:s,s:I},{s:s,s:I}]}", "techniques", "name",
			 "tile", "relevance_ppm", (json_int_t)one, "saved_ppm", (json_int_t)200000,
			 "name", "unroll", "relevance_ppm", (json_int_t)two, "name", "fuse",
			 "relevance_ppm", (json_int_t)three, "name", "pad", "relevance_ppm",
			 (json_int_t)0);
}

static void begin_step(struct kl_experience *seen, json_t *plan)
{
	add_came(seen, KL_OUTCOME_NOTE,
		 json_pack("{s:s,s:i}", "state", "memory", "confidence_ppm", 900000), NULL, 0, 0);
	add_came(seen, plan ? KL_OUTCOME_NOTE : KL_OUTCOME_NONE, plan, NULL, 0, 0);
}

static void begin_cell(struct kl_experience *seen, const struct kl_setup *setup)
{
	struct kl_observation root = landscape_root();

	kl_experience_init(seen, setup);
	kl_experience_add(seen, &root);
}

/* relevances .9, .3 and 0 have weights .729, .027 and .001 */
static void test_pick(void **state)
{
	struct kl_setup setup = setup_of("paper", "1", "4");
	int count[3] = { 0 };

	for (int i = 0; i < 4000; i++) {
		struct kl_intent intent = { 0 };
		struct kl_experience seen;

		kl_draw_key(setup.key, "", "", "", i);
		begin_cell(&seen, &setup);
		begin_step(&seen, plan_of(900000, 300000, 0));
		kl_experience_propose(&intent, &seen, 3);
		assert_int_equal(intent.kind, KL_TICKET_EDIT);
		assert_int_equal(intent.tries, 4);
		count[0] += !strcmp(intent.form, "tile");
		count[1] += !strcmp(intent.form, "unroll");
		kl_intent_release(&intent);
		kl_experience_release(&seen);
	}
	assert_in_range(count[0], 3806, 3890); /* .729 / .758 */
	assert_in_range(count[1], 105, 180);   /* .027 / .758 */
}

/* a plan with another number of techniques is void: the base decides */
static void test_void_plan(void **state)
{
	struct kl_setup setup = setup_of("paper", "1", "4");
	struct kl_intent intent = { 0 };
	struct kl_experience seen;

	begin_cell(&seen, &setup);
	begin_step(&seen, plan_of(1000000, 0, 0));
	add_came(&seen, KL_OUTCOME_CORRECT, NULL, "tile", 0, 2000000);
	for (int i = 0; i < 3; i++)
		add_came(&seen, KL_OUTCOME_SKIPPED, NULL, NULL, -1, 0);
	begin_step(&seen, json_pack("{s:[]}", "techniques"));
	kl_experience_propose(&intent, &seen, 9);
	assert_string_equal(intent.form, "tile");
	assert_int_equal(intent.parent, 3);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

/* a name becomes a trailer of a commit: what is no slug makes a plan void */
static void test_bad_name(void **state)
{
	struct kl_setup setup = setup_of("paper", "1", "4");
	json_t *plan = plan_of(1000000, 0, 0);
	struct kl_intent intent = { 0 };
	struct kl_experience seen;

	kl_json_set_str(json_array_get(json_object_get(plan, "techniques"), 0), "name",
			"tile\n\nKlineage-Outcome: best");
	begin_cell(&seen, &setup);
	begin_step(&seen, plan);
	kl_experience_propose(&intent, &seen, 3);
	assert_null(intent.form);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

/* it goes on from a slower kernel, and ends when a step fails */
static void test_rollout(void **state)
{
	struct kl_setup setup = setup_of("paper", "1", "9");
	struct kl_intent intent = { 0 };
	struct kl_experience seen;

	assert_ok(kl_setup_set(&setup, "every", "1"));
	begin_cell(&seen, &setup);
	begin_step(&seen, plan_of(0, 0, 0));
	add_came(&seen, KL_OUTCOME_CORRECT, NULL, "tile", 0, 500000);
	for (int i = 0; i < 3; i++) {
		kl_experience_propose(&intent, &seen, seen.n);
		assert_int_equal(intent.kind, KL_TICKET_SKIP); /* no rollout has ended */
		kl_intent_release(&intent);
		add_came(&seen, KL_OUTCOME_SKIPPED, NULL, NULL, -1, 0);
	}
	kl_experience_propose(&intent, &seen, seen.n);
	assert_int_equal(intent.parent, 3);
	kl_intent_release(&intent);
	begin_step(&seen, plan_of(0, 0, 0));
	add_came(&seen, KL_OUTCOME_WRONG, NULL, "tile", 3, 0);
	kl_experience_propose(&intent, &seen, seen.n);
	assert_int_equal(intent.kind, KL_TICKET_NOTE);
	assert_string_equal(intent.role[0], "evaluator");
	kl_intent_release(&intent);
	for (int i = 0; i < 3; i++)
		add_came(&seen, KL_OUTCOME_NOTE, json_object(), NULL, -1, 0);
	kl_experience_propose(&intent, &seen, seen.n);
	assert_int_equal(intent.kind, KL_TICKET_SKIP);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

/* a step below -500 % ends its rollout, too */
static void test_stop(void **state)
{
	struct kl_setup setup = setup_of("code", "1", "4");
	struct kl_intent intent = { 0 };
	struct kl_experience seen;

	begin_cell(&seen, &setup);
	begin_step(&seen, plan_of(0, 0, 0));
	add_came(&seen, KL_OUTCOME_CORRECT, NULL, "tile", 0, 150000);
	for (int i = 0; i < 3; i++)
		add_came(&seen, KL_OUTCOME_SKIPPED, NULL, NULL, -1, 0);
	kl_experience_propose(&intent, &seen, 7);
	assert_int_equal(intent.kind, KL_TICKET_SKIP);
	kl_intent_release(&intent);
	kl_experience_release(&seen);
}

static json_t *say_nothing(const struct landscape_run *run, const struct kl_intent *intent,
			   int64_t ticket)
{
	return json_object();
}

static void test_landscapes(void **state)
{
	struct kl_setup setup = setup_of("paper", "8", "6");
	struct landscape_mean mean = landscape_means(&setup, LANDSCAPE_STAIRS, SEEDS, say_nothing);

	landscape_assert("stairs", mean.speed, 1.93);
	mean = landscape_means(&setup, LANDSCAPE_VALLEY, SEEDS, say_nothing);
	/* a model in which a failed step costs one candidate and ends nothing gave 2.56 */
	landscape_assert("valley", mean.speed, 2.48);
	landscape_assert("past", mean.past, .92);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry),         cmocka_unit_test(test_inherit),
		cmocka_unit_test(test_update),        cmocka_unit_test(test_memory_unites),
		cmocka_unit_test(test_memory_begins), cmocka_unit_test(test_pick),
		cmocka_unit_test(test_void_plan),     cmocka_unit_test(test_bad_name),
		cmocka_unit_test(test_rollout),       cmocka_unit_test(test_stop),
		cmocka_unit_test(test_landscapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
