/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "repo/repo.h"
#include "walk/fold.h"
#include "walk/step.h"
#include "walk/walk.h"

static void begin(struct kl_walk *walk, int64_t steps, int64_t rejections)
{
	struct kl_walk_init init = {
		.workload = "w",
		.name = "n",
		.platform = "cpu/x86-64-v3",
		.dir = "",
		.expert = "1111111111111111111111111111111111111111",
		.surface = "S0",
		.rewriters = "history",
		.step_limit = steps,
		.rejection_limit = rejections,
	};

	kl_walk_init(walk, &init);
}

static struct kl_walk_seen seen(const char *commit, const char *surface)
{
	return (struct kl_walk_seen){ .commit = commit,
				      .surface = surface,
				      .event = "E",
				      .facts = json_object(),
				      .class_ = "wrong-all",
				      .delta = "clean" };
}

static json_t *proposal(const char *id, const char *surface)
{
	json_t *profile = json_object();

	kl_json_set_str(profile, "id", id);
	kl_json_set_str(profile, "surface", surface);
	kl_json_set_str(profile, "action", "untile");
	return profile;
}

static void test_transitions(void **state)
{
	struct kl_walk walk;
	struct kl_walk_seen walk_seen = seen("0", "S0");

	begin(&walk, 2, 2);
	assert_int_equal(kl_walk_next(&walk), KL_WALK_EXPERT);
	kl_walk_expert_passed(&walk, &walk_seen);
	assert_int_equal(kl_walk_next(&walk), KL_WALK_ASK);
	kl_walk_proposed(&walk, proposal("p1", "S1"));
	assert_int_equal(kl_walk_next(&walk), KL_WALK_JUDGE);
	walk_seen = seen("c1", "S1");
	kl_walk_accepted(&walk, &walk_seen);
	assert_string_equal(kl_walk_tip(&walk), "c1");
	assert_null(kl_walk_limit(&walk));
	for (int i = 0; i < 2; i++) {
		kl_walk_proposed(&walk, proposal(i ? "p3" : "p2", i ? "S3" : "S2"));
		walk_seen = seen(i ? "r2" : "r1", i ? "S3" : "S2");
		json_decref(walk_seen.facts);
		walk_seen.facts = NULL;
		kl_walk_rejected(&walk, &walk_seen);
	}
	assert_string_equal(kl_walk_rejected_tip(&walk), "r2");
	assert_string_equal(kl_walk_limit(&walk), "rejection-limit");
	kl_walk_proposed(&walk, proposal("p4", "S4"));
	walk_seen = seen("c2", "S4");
	kl_walk_accepted(&walk, &walk_seen);
	assert_string_equal(kl_walk_limit(&walk), "step-limit");
	kl_walk_end(&walk, "step-limit", 7, "A <a>", 0);
	assert_int_equal(kl_walk_next(&walk), KL_WALK_FINISH);
	kl_walk_release(&walk);
}

/* a request that the model did not answer counts like a rejected proposal */
static void test_timed_out(void **state)
{
	struct kl_walk walk;
	struct kl_walk_seen walk_seen = seen("r1", "S1");

	begin(&walk, 9, 3);
	kl_walk_expert_passed(&walk, &walk_seen);
	kl_walk_timed_out(&walk);
	kl_walk_timed_out(&walk);
	assert_null(kl_walk_limit(&walk));
	kl_walk_timed_out(&walk);
	assert_string_equal(kl_walk_limit(&walk), "rejection-limit");
	assert_int_equal(kl_walk_next(&walk), KL_WALK_ASK);
	kl_walk_release(&walk);
}

static void test_tried(void **state)
{
	struct kl_walk walk;
	struct kl_walk_seen walk_seen = seen("c1", "S1");

	begin(&walk, 9, 9);
	assert_true(kl_walk_tried(&walk, "x", "S0", "", false)); /* the expert itself */
	kl_walk_proposed(&walk, proposal("p1", "S1"));
	kl_walk_accepted(&walk, &walk_seen);
	kl_walk_proposed(&walk, proposal("p2", "S2"));
	walk_seen = (struct kl_walk_seen){
		.commit = "r", .surface = "S2", .event = "", .class_ = "compile"
	};
	kl_walk_rejected(&walk, &walk_seen);
	kl_json_set_str(json_array_get(kl_walk_rejections(&walk), 0), "edit", "e2");
	kl_walk_proposed(&walk, proposal("p3", "S3"));
	walk_seen = (struct kl_walk_seen){
		.commit = "r", .surface = "S3", .event = "", .class_ = "no-change"
	};
	kl_walk_rejected(&walk, &walk_seen);
	kl_json_set_str(json_array_get(kl_walk_rejections(&walk), 1), "edit", "e3");
	/* a failed edit is put off to the second round, one without effect is given up */
	assert_true(kl_walk_tried(&walk, "x", "S9", "e2", false));
	assert_false(kl_walk_tried(&walk, "x", "S9", "e2", true));
	assert_true(kl_walk_tried(&walk, "x", "S9", "e3", true));
	assert_true(kl_walk_tried(&walk, "x", "S1", "", false));  /* visited */
	assert_true(kl_walk_tried(&walk, "p2", "?", "", false));  /* rejected */
	assert_true(kl_walk_tried(&walk, "x", "S2", "", false));  /* fails from anywhere */
	assert_false(kl_walk_tried(&walk, "x", "S3", "", false)); /* no change from there only */
	assert_false(kl_walk_tried(&walk, "x", "S9", "", false));
	kl_walk_release(&walk);
}

static void test_decide(void **state)
{
	static const struct {
		enum kl_verdict verdict;
		const char *class_;
		bool same, compound, unknown, final, held;
		enum kl_walk_choice want;
		const char *want_class, *want_delta;
		bool contradicted;
	} row[] = {
		{ KL_VERDICT_PASS, "", 0, 0, 0, 0, 0, KL_CHOICE_ACCEPT, "", "clean", false },
		{ KL_VERDICT_PASS, "", 0, 0, 1, 0, 0, KL_CHOICE_ACCEPT, "", "unknown", false },
		{ KL_VERDICT_PASS, "", 0, 0, 0, 0, 0, KL_CHOICE_ACCEPT, "", "contradicted", true },
		{ KL_VERDICT_PASS, "", 0, 1, 0, 0, 0, KL_CHOICE_HOLD, "", "", true },
		{ KL_VERDICT_PASS, "", 0, 1, 0, 1, 0, KL_CHOICE_ACCEPT, "", "contradicted", true },
		{ KL_VERDICT_PASS, "", 1, 0, 0, 0, 0, KL_CHOICE_REJECT, "no-change", "", false },
		{ KL_VERDICT_PASS, "", 0, 1, 0, 0, 0, KL_CHOICE_HOLD, "", "", false },
		{ KL_VERDICT_PASS, "", 0, 1, 0, 1, 0, KL_CHOICE_ACCEPT, "", "compound", false },
		{ KL_VERDICT_PASS, "", 0, 1, 0, 0, 1, KL_CHOICE_REJECT, "compound", "", false },
		{ KL_VERDICT_FAIL, "wrong-all", 0, 0, 0, 0, 0, KL_CHOICE_REJECT, "wrong-all", "",
		  false },
		{ KL_VERDICT_INCONCLUSIVE, "", 0, 0, 0, 0, 0, KL_CHOICE_REJECT, "inconclusive", "",
		  false },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		const struct kl_walk_ruling ruling = {
			.verdict = row[i].verdict,
			.class_ = row[i].class_,
			.same_code = row[i].same,
			.compound = row[i].compound,
			.unknown = row[i].unknown,
			.contradicted = row[i].contradicted,
		};
		const char *class_, *delta;
		struct kl_walk walk;

		begin(&walk, 9, 9);
		kl_walk_proposed(&walk, proposal("p", "S"));
		if (row[i].final)
			kl_json_set_bool(kl_walk_pending(&walk), "final", true);
		if (row[i].held)
			kl_json_set(walk.state, "held", proposal("q", "T"));
		assert_int_equal(kl_walk_decide(&class_, &delta, &walk, &ruling), row[i].want);
		assert_string_equal(class_, row[i].want_class);
		assert_string_equal(delta, row[i].want_delta);
		kl_walk_release(&walk);
	}
}

static void test_held(void **state)
{
	struct kl_walk walk;

	begin(&walk, 9, 9);
	assert_false(kl_walk_exhausted(&walk));
	kl_walk_proposed(&walk, proposal("p", "S"));
	kl_walk_held(&walk);
	assert_int_equal(kl_walk_next(&walk), KL_WALK_ASK);
	assert_true(kl_walk_tried(&walk, "p", "S", "", false));
	assert_true(kl_walk_exhausted(&walk));
	assert_int_equal(kl_walk_next(&walk), KL_WALK_JUDGE);
	assert_true(kl_json_bool_or(kl_walk_pending(&walk), "final", false));
	assert_null(kl_walk_held_proposal(&walk));
	kl_walk_release(&walk);
}

/* begins a walk with a model, and accepts `n` steps c1 ... cn of it */
static void begin_derived(struct kl_walk *walk, int n)
{
	struct kl_walk_init init = {
		.workload = "w",
		.name = "n",
		.platform = "cpu/x86-64-v3",
		.dir = "",
		.expert = "1111111111111111111111111111111111111111",
		.surface = "S0",
		.rewriters = "chat",
		.rederive = "chat",
		.step_limit = 99,
		.rejection_limit = 3,
	};
	struct kl_walk_seen walk_seen = seen("0", "S0");

	kl_walk_init(walk, &init);
	kl_walk_expert_passed(walk, &walk_seen);
	for (int i = 1; i <= n; i++) {
		KL_AUTO(kl_freep) char *ch = kl_asprintf("c%d", i);
		KL_AUTO(kl_freep) char *event = kl_asprintf("E%d", i);

		if (i > 1)
			kl_walk_underived(walk, "gave-up", NULL);
		kl_walk_proposed(walk, proposal("p", ch));
		walk_seen = seen(ch, ch);
		walk_seen.event = event;
		kl_walk_accepted(walk, &walk_seen);
	}
}

static void test_derive(void **state)
{
	struct kl_walk walk;
	struct kl_walk_seen seen = {
		.commit = "d", .surface = "D", .event = "ED", .class_ = "wrong-edge"
	};

	begin_derived(&walk, 1);
	assert_int_equal(kl_walk_next(&walk), KL_WALK_DERIVE);
	assert_string_equal(kl_walk_goal(&walk), "1111111111111111111111111111111111111111");
	assert_string_equal(kl_walk_goal_event(&walk), "E");
	assert_string_equal(kl_walk_derived_tip(&walk), "");
	/* an attempt, a repair, and that one holds */
	kl_walk_derived(&walk, proposal("q", "D"));
	assert_int_equal(kl_walk_next(&walk), KL_WALK_JUDGE_DERIVED);
	kl_walk_attempted(&walk, &seen, NULL);
	assert_int_equal(kl_walk_next(&walk), KL_WALK_DERIVE);
	assert_null(kl_walk_pending(&walk));
	assert_string_equal(kl_walk_rejected_tip(&walk), "d");
	assert_int_equal(json_array_size(kl_walk_rejections(&walk)), 0);
	assert_string_equal(kl_json_str_or(json_array_get(kl_walk_attempts(&walk), 0), "class", ""),
			    "wrong-edge");
	kl_walk_derived(&walk, proposal("q", "D"));
	seen.commit = "d2";
	kl_walk_rederived(&walk, &seen);
	assert_int_equal(kl_walk_next(&walk), KL_WALK_ASK);
	assert_string_equal(kl_walk_derived_tip(&walk), "d2");
	assert_string_equal(kl_walk_rejected_tip(&walk), "d");
	assert_string_equal(kl_walk_tip(&walk), "c1");
	assert_string_equal(kl_json_str_or(kl_walk_step(&walk), "derivation", ""), "rederived");
	kl_walk_release(&walk);

	/* K_i of the second step is the state that the first step led to */
	begin_derived(&walk, 2);
	assert_string_equal(kl_walk_goal(&walk), "c1");
	assert_string_equal(kl_walk_goal_event(&walk), "E1");
	kl_walk_release(&walk);
}

static void test_underived(void **state)
{
	static const struct kl_walk_seen nothing = { .class_ = "unusable" };
	struct kl_walk walk;

	/* the first attempt and three repairs */
	begin_derived(&walk, 1);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(kl_walk_next(&walk), KL_WALK_DERIVE);
		kl_walk_attempted(&walk, &nothing, "no edit in it");
	}
	assert_int_equal(kl_walk_next(&walk), KL_WALK_ASK);
	assert_string_equal(kl_json_str_or(kl_walk_step(&walk), "derivation", ""), "inverse");
	assert_string_equal(kl_walk_rejected_tip(&walk), "");
	kl_walk_release(&walk);

	/* a model that gives up is asked again at the next step, a budget is not */
	begin_derived(&walk, 2);
	assert_int_equal(kl_walk_next(&walk), KL_WALK_DERIVE);
	kl_walk_underived(&walk, "budget", NULL);
	assert_string_equal(kl_walk_rederiver(&walk), "");
	kl_walk_proposed(&walk, proposal("p9", "S9"));
	{
		struct kl_walk_seen walk_seen = seen("c9", "S9");

		kl_walk_accepted(&walk, &walk_seen);
	}
	assert_int_equal(kl_walk_next(&walk), KL_WALK_ASK);
	assert_null(json_object_get(kl_walk_step(&walk), "derivation"));
	kl_walk_release(&walk);
}

static void test_decide_derived(void **state)
{
	static const struct {
		enum kl_verdict verdict;
		const char *class_;
		bool same, unchanged, not_slower, slower;
		int measured;
		enum kl_walk_derivation want;
		const char *want_class;
		bool missing;
	} row[] = {
		/* without the mechanism it is not the step, however fast it is */
		{ KL_VERDICT_PASS, "", 0, 0, 1, 0, 0, KL_DERIVED_FAIL, "not-there", 1 },
		{ KL_VERDICT_PASS, "", 0, 0, 0, 1, 0, KL_DERIVED_FAIL, "not-there", 1 },
		{ KL_VERDICT_PASS, "", 1, 0, 0, 0, 0, KL_DERIVED_TAKE, "", 1 },
		{ KL_VERDICT_PASS, "", 0, 1, 1, 0, 0, KL_DERIVED_FAIL, "no-change", 1 },
		{ KL_VERDICT_FAIL, "fault", 0, 0, 0, 0, 0, KL_DERIVED_FAIL, "fault", 1 },
		{ KL_VERDICT_PASS, "", 0, 0, 1, 0, 0, KL_DERIVED_TAKE, "", 0 },
		{ KL_VERDICT_PASS, "", 1, 0, 0, 0, 0, KL_DERIVED_TAKE, "", 0 },
		{ KL_VERDICT_PASS, "", 0, 1, 1, 0, 0, KL_DERIVED_FAIL, "no-change", 0 },
		{ KL_VERDICT_PASS, "", 0, 0, 0, 1, 0, KL_DERIVED_FAIL, "slower", 0 },
		{ KL_VERDICT_FAIL, "wrong-edge", 0, 0, 0, 0, 0, KL_DERIVED_FAIL, "wrong-edge", 0 },
		{ KL_VERDICT_FAIL, "wrong-edge", 1, 0, 1, 0, 0, KL_DERIVED_FAIL, "wrong-edge", 0 },
		{ KL_VERDICT_PASS, "", 0, 0, 0, 0, 0, KL_DERIVED_MEASURE, "", 0 },
		{ KL_VERDICT_PASS, "", 0, 0, 0, 0, 1, KL_DERIVED_MEASURE, "", 0 },
		{ KL_VERDICT_PASS, "", 0, 0, 0, 0, 2, KL_DERIVED_UNSHOWN, "not-shown", 0 },
		{ KL_VERDICT_PASS, "", 0, 0, 1, 0, 2, KL_DERIVED_TAKE, "", 0 },
		{ KL_VERDICT_INCONCLUSIVE, "", 0, 0, 0, 0, 0, KL_DERIVED_MEASURE, "", 0 },
		{ KL_VERDICT_INCONCLUSIVE, "", 0, 0, 1, 0, 2, KL_DERIVED_UNSHOWN, "not-shown", 0 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		struct kl_walk_derived_ruling ruling = { row[i].verdict,    row[i].class_,
							 row[i].same,       row[i].unchanged,
							 row[i].not_slower, row[i].slower,
							 row[i].missing };
		const char *class_;
		struct kl_walk walk;

		begin_derived(&walk, 1);
		kl_walk_derived(&walk, proposal("q", "D"));
		for (int k = 0; k < row[i].measured; k++)
			kl_walk_measured(&walk, json_object());
		assert_int_equal(kl_walk_decide_derived(&class_, &walk, &ruling), row[i].want);
		assert_string_equal(class_, row[i].want_class);
		kl_walk_release(&walk);
	}
}

/* rejected proposals of a model are counted in total, those of other rewriters in a row */
static void test_model_limit(void **state)
{
	struct kl_walk walk;

	begin_derived(&walk, 1);
	for (int i = 0; i < 6; i++) {
		struct kl_walk_seen walk_seen = seen("c", "S");
		bool model = i % 2;

		if (i)
			assert_null(kl_walk_limit(&walk));
		kl_walk_underived(&walk, "gave-up", NULL);
		kl_walk_proposed(&walk, proposal("p", "S"));
		kl_json_set_str(kl_walk_pending(&walk), "rewriter", model ? "chat" : "history");
		json_decref(walk_seen.facts);
		walk_seen.facts = NULL;
		kl_walk_rejected(&walk, &walk_seen);
		kl_walk_proposed(&walk, proposal("p", "S"));
		walk_seen = seen("c", "S");
		kl_walk_accepted(&walk, &walk_seen);
	}
	assert_string_equal(kl_walk_limit(&walk), "rejection-limit");
	kl_walk_release(&walk);
}

/* a stored state is read back, and anything else is refused */
static void test_storage(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"schema\":\"klineage.operation/2\"}",
	};
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_walk walk, again;

	begin(&walk, 9, 9);
	kl_walk_proposed(&walk, proposal("p", "S"));
	kl_json_pretty(&text, walk.state);
	assert_ok(kl_walk_parse(&again, text.ptr, text.len));
	assert_true(json_equal(walk.state, again.state));
	kl_walk_release(&again);
	json_object_del(walk.state, "pending");
	kl_buf_clear(&text);
	kl_json_pretty(&text, walk.state);
	assert_error(KL_EINVALID, "no pending proposal to judge",
		     kl_walk_parse(&again, text.ptr, text.len));
	kl_json_set_str(walk.state, "phase", "derive");
	kl_buf_clear(&text);
	kl_json_pretty(&text, walk.state);
	assert_error(KL_EINVALID, "no step to re-derive",
		     kl_walk_parse(&again, text.ptr, text.len));
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, "operation",
			     kl_walk_parse(&again, bad[i], strlen(bad[i])));
	kl_walk_release(&walk);
}

static void test_step_message(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_step_release) struct kl_step step = {
		.kind = KL_STEP_REJECTED,
		.number = 3,
		.action = kl_strdup("untile"),
		.mechanism = kl_strdup("tile\nKlineage-Class: pass"),
		.class_ = kl_strdup("wrong-edge"),
		.locus = kl_strdup("a.c:f:1-2"),
		.text = kl_strdup("why\n\n\n---\ndiff --git a b\nFrom me\n\tx\nKlineage-Step: 9\n"),
	};
	KL_AUTO(kl_step_release) struct kl_step back = { 0 };

	kl_step_message(&buf, &step);
	assert_string_equal(
		buf.ptr,
		"rejected (wrong-edge): untile in a.c:f:1-2\n\nwhy\n\n| ---\n| diff --git a b\n| From me\nx\n"
		"| Klineage-Step: 9\n\n"
		"Klineage-Action: untile\nKlineage-Mechanism: tile Klineage-Class: pass\n"
		"Klineage-Locus: a.c:f:1-2\nKlineage-Direction: back\nKlineage-Step: 3\n"
		"Klineage-Class: wrong-edge\n");
	assert_ok(kl_step_parse(&back, "m", buf.ptr));
	assert_int_equal(back.kind, KL_STEP_REJECTED);
	assert_int_equal(back.number, 3);
	assert_string_equal(back.class_, "wrong-edge");
	assert_error(KL_EINVALID, "Klineage-Direction",
		     kl_step_parse(&back, "m", "subject\n\nbody\n"));
	assert_error(KL_EINVALID, "Klineage-Step",
		     kl_step_parse(&back, "m",
				   "s\n\nKlineage-Direction: back\nKlineage-Step: x\n"));
}

static void test_slugs(void **state)
{
	static const char *const good[] = { "a", "x86-64-v3-abc1234", "9.b_c" };
	static const char *const bad[] = {
		"", "A", "-a", "a b", "a/b", "a..b", "a.", "a.lock", "é"
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++)
		assert_true(kl_slug_ok(good[i]));
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_false(kl_slug_ok(bad[i]));
}

/* A pass whose comparison with the parent has this interval, in ppm. */
static struct kl_judgement *pass_of(int64_t lo, int64_t hi)
{
	struct kl_event *event = kl_event_new();

	event->verdict = KL_VERDICT_PASS;
	event->profile.there = true;
	event->profile.vs.v = kl_calloc(1, sizeof(*event->profile.vs.v));
	event->profile.vs.n = 1;
	event->profile.vs.v[0] = (struct kl_comparison){ .what = "parent",
							 .ratio = { lo / 2 + hi / 2, lo, hi },
							 .speed = KL_SPEED_FAST };
	return kl_judgement_new(event);
}

/* the machine is busy for the first measurements */
struct busy {
	int measured, until;
};

static int measure_again(struct kl_judgement **out, const struct kl_surface *candidate,
			 const struct kl_surface *parent, void *payload)
{
	struct busy *busy = payload;

	busy->measured++;
	*out = busy->measured < busy->until ? pass_of(1790000, 35920000) :
					      pass_of(21000000, 23000000);
	return 0;
}

/* What leaves no figure is measured again, three times in all; a figure is taken as it is. */
static void test_measured_again(void **state)
{
	static const struct {
		int64_t lo, hi;
		int until, measured;
	} rows[] = { { 1790000, 35920000, 1, 1 },
		     { 1790000, 35920000, 2, 2 },
		     { 1790000, 35920000, 9, 2 },
		     { 21680000, 44680000, 1, 0 },
		     { 900000, 1100000, 1, 0 } };

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		struct busy busy = { 0, rows[i].until };
		struct kl_sequencer sequencer = { .judge_anew = measure_again, .payload = &busy };
		struct kl_judgement *judgement = pass_of(rows[i].lo, rows[i].hi);

		begin(&sequencer.op.walk, 2, 2);
		assert_ok(kl_fold_measure(&judgement, &sequencer));
		assert_int_equal(busy.measured, rows[i].measured);
		kl_judgement_free(judgement);
		kl_walk_release(&sequencer.op.walk);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_transitions),    cmocka_unit_test(test_timed_out),
		cmocka_unit_test(test_tried),          cmocka_unit_test(test_decide),
		cmocka_unit_test(test_held),           cmocka_unit_test(test_derive),
		cmocka_unit_test(test_underived),      cmocka_unit_test(test_decide_derived),
		cmocka_unit_test(test_model_limit),    cmocka_unit_test(test_storage),
		cmocka_unit_test(test_step_message),   cmocka_unit_test(test_slugs),
		cmocka_unit_test(test_measured_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
