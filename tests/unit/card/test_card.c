/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/fs.h"
#include "card/card.h"
#include "card/status.h"
#include "card_gen.h"

#define DATA KL_SOURCE "/tests/data/cards/"

static struct kl_buf read_good(void)
{
	struct kl_buf buf = KL_BUF_INIT;

	assert_ok(kl_fs_read(&buf, DATA "good.yaml", KL_CARD_MAX_BYTES));
	return buf;
}

/* the text with the first `from` replaced by `to`; `from` must be there */
static struct kl_buf with(const char *text, const char *from, const char *to)
{
	struct kl_buf buf = KL_BUF_INIT;
	const char *at = strstr(text, from);

	if (!at)
		fail_msg("no '%s' in the good card", from);
	kl_buf_add(&buf, text, at - text);
	kl_buf_adds(&buf, to);
	kl_buf_adds(&buf, at + strlen(from));
	return buf;
}

/* --- the good card --------------------------------------------------------------------- */

static void reads_the_good_card(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = read_good();
	KL_AUTO(kl_buf_release) struct kl_buf again = KL_BUF_INIT;
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec events = KL_STRVEC_INIT;
	int64_t n;

	assert_ok(kl_card_parse(&card, "good.yaml", text.ptr, text.len));
	assert_int_equal(card->status, KL_CARD_ADMITTED);
	assert_int_equal(card->carriers.n, 2);
	assert_int_equal(card->rows.n, 2);
	assert_int_equal(card->rows.v[0].ratio.ppm, 2610000);
	assert_int_equal(card->rows.v[1].ratio.ppm, 1520000);
	assert_true(kl_card_dims_get(&n, &card->rows.v[0].dims, "C"));
	assert_int_equal(n, 64);
	assert_int_equal(card->ver.n, 2);
	assert_int_equal(card->ver.v[1].usd, 610000);
	assert_true(card->ver.v[1].control.there);
	assert_true(kl_card_row_is_verified(card, &card->rows.v[1]));
	assert_true(kl_card_has_state(card, "1c9d000000000000000000000000000000000000"));
	assert_false(kl_card_has_state(card, "b7d4000000000000000000000000000000000000"));
	assert_non_null(kl_card_carrier(card, "triton"));
	kl_card_events(&events, card);
	assert_int_equal(events.n, 10);
	assert_int_equal(kl_card_canonical_line(card, text.ptr, text.len), 0);
	kl_card_write(&again, card);
	assert_string_equal(again.ptr, text.ptr);
}

static void notices_another_form(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = read_good();
	KL_AUTO(kl_buf_release) struct kl_buf other = with(text.ptr, "ratio: 2.61", "ratio: 2.610");
	KL_AUTO(kl_buf_release) struct kl_buf comment = with(text.ptr,
							     "status:", "# mine\nstatus:");
	KL_AUTO(kl_card_freep) struct kl_card *left = NULL, *right = NULL;
	int line = 1;

	assert_ok(kl_card_parse(&left, "x", other.ptr, other.len));
	for (const char *string = other.ptr; string < strstr(other.ptr, "2.610"); string++)
		line += *string == '\n';
	assert_int_equal(kl_card_canonical_line(left, other.ptr, other.len), line);
	assert_ok(kl_card_parse(&right, "x", comment.ptr, comment.len));
	assert_int_equal(kl_card_canonical_line(right, comment.ptr, comment.len), 3);
}

/* --- what is refused --------------------------------------------------------------------- */

#define E1 "4fd2000000000000000000000000000000000000000000000000000000000000"
#define E3 "7c55000000000000000000000000000000000000000000000000000000000000"

static void refuses_with_its_line(void **state)
{
	/* clang-format off */
	static const struct { const char *from, *to, *says; } rows[] = {
		{ "status: admitted", "status: admitted\nauthor: me", "card.yaml:4:1: unknown key 'author' in the card" },
		{ "status: admitted", "status: provisional", "card.yaml:3:9: status is provisional, but the trials "
		  "make it admitted" },
		{ "status: admitted", "status: fine", "'status' must be one of hypothesis, provisional" },
		{ "status: admitted", "status: admitted\nstatus: admitted", "card.yaml:4:1: the key 'status' appears twice" },
		{ "schema: 1", "schema: 0", "'schema' is out of its range" },
		{ "schema: 1\n", "", "'schema' is missing in the card" },
		{ "id: cp-async-ring", "id: ../x", "'id' must be a name" },
		{ "- id: align", "- id: isa", "a precondition appears twice" },
		{ "- id: staged", "- id: isa", "'isa' is also in 'sound': list each precondition once" },
		{ "test: cap('cp.async')", "test: cap('cp.async') &&", "valid predicate: byte 19: the expression ends where" },
		{ "test: cap('cp.async')", "test: 4 + 1", "found a number where a condition is expected" },
		{ "of: " E1, "of: " E3, "no evidence has event 7c55" },
		{ "violates: groups", "violates: group", "no such precondition: 'group'" },
		{ "ratio: 2.61", "ratio: 2.6100001", "number with at most six decimal places" },
		{ "ratio: 2.61", "ratio: '2.61'", "number with at most six decimal places" },
		{ "ratio: 2.61", "ratio: 0", "'ratio' is out of its range" },
		{ "ratio: 2.61", "ratio: 99999999999999999999", "must be a number" },
		{ "by: trial", "by: rederived", "was re-derived and confirmed" },
		{ "by: rederived", "by: trial", "no trial in 'ver' passed with event" },
		{ "derivation: rederived", "derivation: inverse", "must be null for an inverse step" },
		{ "rederived: null", "rederived: null\n    confirmed: " E1, "'confirmed' requires 'rederived'" },
		{ "origin: induced", "origin: found", "'origin' must be one of" },
		{ "before: 1c9d", "before: 1C9d", "'before' must be a commit" },
		{ "lineage: cuda-conv2d/im2col", "lineage: cuda-conv2d", "must be <workload>/<name>" },
		{ "lineage: cuda-conv2d/im2col", "lineage: cuda-conv2d/../x", "must be names joined by '/'" },
		{ "step: 5", "step: 0", "'step' is out of its range" },
		{ "state: witnessed", "state: assumed", "is assumed, but has a witness" },
		{ "result: pass", "result: pass\n    class: fault", "a passed trial cannot have a class" },
		{ "level: other-workload", "level: other", "'level' must be one of same-code" },
		{ "form: schedule", "form: program", "'form' must be one of annotated-snippet" },
		{ "provides: [cp.async]", "provides: [cp.async, cp.async]", "appears twice in 'provides'" },
		{ "provides: [cp.async]", "provides: [cp async]", "must be a fact" },
		{ "provides: [cp.async]", "provides: null", "'provides' must not be null" },
		{ "intent: >-", "intent: null\nx: >-", "must not be null" },
		{ "construct: ", "construct: \"\\e[31m\"\n  acts: ", "one line without control characters" },
		{ "construct: ", "construct: \"\\u202e\"\n  acts: ", "one line without control characters" },
		{ "kind: win", "kind: {enabler: []}", "has no entry" },
		{ "kind: win", "kind: [x]", "must be win, or {enabler" },
		{ "dims: {C: 64", "dims: {C-1: 64", "is not a valid dim name" },
		{ "evidence:\n  -", "evidence:\n  - &a", "anchors are not allowed" },
		{ "isolated: true", "isolated: yes", "must be true or false" },
	};
	/* clang-format on */
	KL_AUTO(kl_buf_release) struct kl_buf text = read_good();

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf bad = with(text.ptr, rows[i].from,
								 rows[i].to);
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

		assert_error(KL_EINVALID, rows[i].says,
			     kl_card_parse(&card, "card.yaml", bad.ptr, bad.len));
		assert_contains(kl_error_last(), "card.yaml:");
		assert_null(card);
	}
}

static void refuses_a_newer_one(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = read_good();
	KL_AUTO(kl_buf_release) struct kl_buf newer = with(text.ptr, "schema: 1",
							   "schema: 3\nfuture: yes");
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

	assert_error(KL_ECANNOT, "card.yaml:1:9: card schema 3",
		     kl_card_parse(&card, "card.yaml", newer.ptr, newer.len));
}

/* --- carriers ------------------------------------------------------------------------------ */

static int parse_carrier(struct kl_card **out, enum kl_carrier_form form, const char *carrier)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = gen_card(3);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	for (size_t i = 0; i < card->carriers.n; i++)
		card->carriers.v[i].form = KL_CARRIER_PROSE;
	KL_GROW(card->carriers.v, card->carriers.n + 1, card->carriers.alloc);
	card->carriers.v[card->carriers.n++] = (struct kl_card_carrier){
		.language = kl_strdup("zz"),
		.form = form,
		.text = kl_strdup(carrier),
	};
	kl_card_write(&text, card);
	return kl_card_parse(out, "x", text.ptr, text.len);
}

#define HEAD "diff --git a/k.c b/k.c\nindex 1..2 100644\n--- a/k.c\n+++ b/k.c\n"

static void takes_carriers_that_are_patches(void **state)
{
	/* clang-format off */
	static const struct { enum kl_carrier_form form; const char *text; } good[] = {
		{ KL_CARRIER_DIFF, HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+c\n" },
		/* a line that was removed may look like a header */
		{ KL_CARRIER_DIFF, HEAD "@@ -1,2 +1 @@\n a\n--- a/../x\n" },
		{ KL_CARRIER_DIFF, HEAD "@@ -1 +1 @@ f(\n-a\n+b\n\\ No newline at end of file\n" },
		{ KL_CARRIER_DIFF, "diff --git a/n.c b/n.c\nnew file mode 100644\n--- /dev/null\n+++ b/n.c\n@@ -0,0 +1 @@\n+x\n" },
		{ KL_CARRIER_COCCI, "@@\nexpression E;\n@@\n- f(E)\n+ g(E)\n" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

		assert_ok(parse_carrier(&card, good[i].form, good[i].text));
	}
}

static void refuses_carriers_that_escape(void **state)
{
	/* clang-format off */
	static const struct { enum kl_carrier_form form; const char *text, *says; } bad[] = {
		{ KL_CARRIER_DIFF, "diff --git a/../k.c b/../k.c\n--- a/../k.c\n+++ b/../k.c\n@@ -1 +1 @@\n-a\n+b\n",
		  "leads out of the contract's directory" },
		{ KL_CARRIER_DIFF, "diff --git a//etc/x b//etc/x\n@@ -1 +1 @@\n-a\n+b\n", "leads out of the contract's directory" },
		{ KL_CARRIER_DIFF, "--- a/k.c\n+++ b/../../k.c\n@@ -1 +1 @@\n-a\n+b\n", "leads out of the contract's directory" },
		{ KL_CARRIER_DIFF, "--- a/k.c\n+++ k.c\n@@ -1 +1 @@\n-a\n+b\n", "must begin with a/ and b/" },
		{ KL_CARRIER_DIFF, HEAD "@@ x +y @@\n-a\n+b\n", "malformed hunk header" },
		{ KL_CARRIER_DIFF, HEAD "@@ -1,x +1 @@\n-a\n+b\n", "malformed hunk header" },
		{ KL_CARRIER_DIFF, HEAD "@@ -1 +1,99999999 @@\n-a\n+b\n", "malformed hunk header" },
		{ KL_CARRIER_DIFF, HEAD "@@ -1 +1 @@\n-a\n+b\n--- a/k.c\n+++ b/.git/config\n@@ -1 +1 @@\n-a\n+b\n",
		  "leads out of the contract's directory" },
		{ KL_CARRIER_DIFF, "diff --git a/k.c b/k.c\nrename to ../x\n", "leads out of the contract's directory" },
		{ KL_CARRIER_DIFF, "diff --git a/k.c b/k.c\nnew file mode 120000\n--- /dev/null\n+++ b/k.c\n@@ -0,0 +1 @@\n+x\n",
		  "only regular files" },
		{ KL_CARRIER_DIFF, "diff --git a/k.c b/j.c\n", "must be the same" },
		{ KL_CARRIER_DIFF, "diff --git a/k.c b/k.c\nGIT binary patch\n", "binary patches" },
		{ KL_CARRIER_DIFF, HEAD, "it has no hunk" },
		{ KL_CARRIER_DIFF, HEAD "@@ -1,5 +1,5 @@\n a\n@@ -9 +9 @@\n", "hunk ends too early" },
		{ KL_CARRIER_COCCI, "@script:python@\n@@\nimport os\n", "must not use 'script'" },
		{ KL_CARRIER_COCCI, "@initialize:python@\n@@\nx\n", "must not use 'initialize'" },
		{ KL_CARRIER_COCCI, "#include \"/etc/passwd\"\n@@\n@@\n- a\n", "must not use '#include" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

		assert_error(KL_EINVALID, bad[i].says,
			     parse_carrier(&card, bad[i].form, bad[i].text));
		assert_null(card);
	}
}

/* --- status ---------------------------------------------------------------------------------- */

static void trial(struct kl_card *card, enum kl_level level, enum kl_result result, bool isolated,
		  bool foreign)
{
	static int n;
	struct kl_card_trial card_trial;

	kl_card_trial_init(&card_trial);
	card_trial.trial = 1;
	card_trial.level = level;
	card_trial.workload = kl_strdup("w");
	card_trial.case_ = kl_strdup("gemm");
	card_trial.dtype = kl_strdup("f32");
	card_trial.language = kl_strdup("c");
	card_trial.platform = kl_strdup("cpu/x86-64-v3");
	card_trial.state = kl_asprintf("%040d", ++n);
	card_trial.event = kl_asprintf("%064d", n);
	card_trial.result = result;
	card_trial.class_ = result == KL_RESULT_FAIL ? kl_strdup("fault") : NULL;
	card_trial.isolated = isolated;
	card_trial.foreign = foreign;
	kl_card_add_trial(card, &card_trial);
}

/* Add a passing trial by the rule of structure; trials with one `where` are of one state. */
static void ruled(struct kl_card *card, enum kl_level level, int where, int64_t tokens)
{
	struct kl_card_trial card_trial;
	static int n = 1000;

	kl_card_trial_init(&card_trial);
	card_trial.trial = ++n;
	card_trial.rule = KL_TRIAL_RULE;
	card_trial.level = level;
	card_trial.workload = kl_strdup("w");
	card_trial.case_ = kl_strdup("gemm");
	card_trial.dtype = kl_strdup("f32");
	card_trial.language = kl_strdup("c");
	card_trial.platform = kl_strdup("cpu/x86-64-v3");
	card_trial.state = kl_asprintf("%040d", where);
	card_trial.event = kl_asprintf("%064d", n);
	card_trial.how = tokens ? KL_HOW_AGENT : KL_HOW_MECHANICAL;
	card_trial.tokens = tokens ? tokens : -1;
	card_trial.result = KL_RESULT_PASS;
	card_trial.isolated = true;
	kl_card_add_trial(card, &card_trial);
}

static void a_trial_on_the_same_code_shows_nothing(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_new();

	ruled(card, KL_LEVEL_SAME_CODE, 1, 0);
	assert_int_equal(card->status, KL_CARD_HYPOTHESIS);
	ruled(card, KL_LEVEL_OTHER_WORKLOAD, 2, -1); /* nobody knows its budget */
	assert_int_equal(card->status, KL_CARD_HYPOTHESIS);
	ruled(card, KL_LEVEL_OTHER_WORKLOAD, 2, 1100);
	assert_int_equal(card->status, KL_CARD_ADMITTED);
}

static void another_lineage_needs_two_states(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_new();

	ruled(card, KL_LEVEL_OTHER_STATE, 1, 0);
	ruled(card, KL_LEVEL_OTHER_STATE, 2, 0);
	ruled(card, KL_LEVEL_OTHER_LINEAGE, 3, 0);
	ruled(card, KL_LEVEL_OTHER_LINEAGE, 3, 0);
	assert_int_equal(card->status, KL_CARD_PROVISIONAL);
	ruled(card, KL_LEVEL_OTHER_LINEAGE, 4, 0);
	assert_int_equal(card->status, KL_CARD_ADMITTED);
}

/* The states of a condition that schema 1 does not have, and the members that each requires. */
static void conditions_have_four_states(void **state)
{
	static const struct {
		const char *more, *error;
	} cases[] = {
		{ "state: not-tested", NULL },
		{ "state: not-tested\n      source: launch.yaml", NULL },
		{ "state: not-needed\n      by: %s", NULL },
		{ "state: witnessed\n      by: %s\n      class: fault\n      pair: %s", NULL },
		{ "state: not-tested\n      by: %s", "is not-tested, but has a witness" },
		{ "state: not-needed", "is not-needed, but 'by' is missing" },
		{ "state: not-needed\n      by: %s\n      class: fault", "the class of a failure" },
		{ "state: assumed\n      pair: %s", "has a 'pair' without 'by'" },
	};
	static const char id[] = "1d6f000000000000000000000000000000000000000000000000000000000000";
	KL_AUTO(kl_buf_release) struct kl_buf text = read_good();

	for (size_t i = 0; i < KL_ARRAY_SIZE(cases); i++) {
		KL_AUTO(kl_freep) char *more = kl_asprintf(cases[i].more, id, id);
		KL_AUTO(kl_freep) char *pre = kl_asprintf("  sound:\n    - id: new\n      text: x\n"
							  "      test: K %% 8 == 0\n      %s\n",
							  more);
		KL_AUTO(kl_buf_release) struct kl_buf one = with(text.ptr, "  sound:\n", pre);
		KL_AUTO(kl_buf_release) struct kl_buf again = KL_BUF_INIT;
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		int err = kl_card_parse(&card, "x", one.ptr, one.len);

		if (cases[i].error) {
			assert_int_equal(err, KL_EINVALID);
			assert_contains(kl_error_last(), cases[i].error);
			continue;
		}
		assert_ok(err);
		assert_int_equal(card->schema, 2);
		assert_int_equal(kl_card_pre_counts(kl_card_find_pre(card, "new", NULL)),
				 !strncmp(cases[i].more, "state: w", 8));
		kl_card_write(&again, card);
		assert_contains(again.ptr, more);
		assert_contains(again.ptr, "schema: 2");
	}
}

/* Several diffs of one language are several carriers, and such a card is of schema 2. */
static void a_card_has_a_diff_for_each_step(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = read_good();
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

	assert_ok(kl_card_parse(&card, "x", text.ptr, text.len));
	assert_int_equal(card->schema, 1);
	KL_GROW(card->carriers.v, card->carriers.n + 2, card->carriers.alloc);
	for (int i = 0; i < 2; i++)
		card->carriers.v[card->carriers.n++] = (struct kl_card_carrier){
			.language = kl_strdup("c"),
			.form = KL_CARRIER_DIFF,
			.of = kl_strdup(card->evidence.v[i % card->evidence.n].event),
			.text = kl_strdup("x"),
		};
	kl_card_normalize(card);
	assert_int_equal(card->carriers.n, card->evidence.n > 1 ? 4 : 3);
	assert_int_equal(card->schema, card->evidence.n > 1 ? 2 : 1);
}

static void status_follows_the_trials(void **state)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_new();
	size_t passed, trials;

	assert_int_equal(kl_status_of(card), KL_CARD_HYPOTHESIS);
	trial(card, KL_LEVEL_OTHER_PLATFORM, KL_RESULT_FAIL, true, false);
	/* saw more than the card */
	trial(card, KL_LEVEL_OTHER_PLATFORM, KL_RESULT_PASS, false, false);
	trial(card, KL_LEVEL_OTHER_PLATFORM, KL_RESULT_PASS, true, true); /* told by others */
	assert_int_equal(card->status, KL_CARD_HYPOTHESIS);
	trial(card, KL_LEVEL_OTHER_STATE, KL_RESULT_PASS, true, false);
	assert_int_equal(card->status, KL_CARD_PROVISIONAL);
	trial(card, KL_LEVEL_OTHER_LINEAGE, KL_RESULT_PASS, true, false);
	assert_int_equal(card->status, KL_CARD_ADMITTED);
	kl_status_count(&passed, &trials, card);
	assert_int_equal(passed, 2);
	assert_int_equal(trials, 4);
	kl_card_retract(card, "wrong on odd sizes", "A <a@b>", "2026-11-20T10:00:00Z");
	assert_int_equal(card->status, KL_CARD_RETRACTED);
	trial(card, KL_LEVEL_OTHER_WORKLOAD, KL_RESULT_PASS, true, false);
	assert_int_equal(card->status, KL_CARD_RETRACTED);
}

/* --- properties ------------------------------------------------------------------------------- */

static void canonical_form_round_trips(void **state)
{
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *other = gen_card(seed), *card = NULL,
						      *copy = kl_card_copy(other);
		KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf right = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf third = KL_BUF_INIT;

		kl_card_write(&left, other);
		if (kl_card_parse(&card, "x", left.ptr, left.len) < 0)
			fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, kl_error_last(),
				 left.ptr);
		assert_string_equal(card->intent, other->intent);
		for (size_t i = 0; i < other->carriers.n; i++)
			assert_string_equal(card->carriers.v[i].text, other->carriers.v[i].text);
		kl_card_write(&right, card);
		assert_string_equal(right.ptr, left.ptr);
		kl_card_write(&third, copy);
		assert_string_equal(third.ptr, left.ptr);
	}
}

static void json_carries_the_same(void **state)
{
	for (uint64_t seed = 1; seed <= 500; seed++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = gen_card(seed), *other = NULL;
		KL_AUTO(json_decrefp) json_t *item = kl_card_to_json(card), *value = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf right = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		kl_json_canonical(&text, item);
		assert_ok(kl_json_parse(&value, text.ptr, text.len));
		assert_ok(kl_card_from_json(&other, "x", value));
		kl_card_write(&left, card);
		kl_card_write(&right, other);
		assert_string_equal(right.ptr, left.ptr);
	}
}

static void errors_of_json_have_no_line(void **state)
{
	KL_AUTO(json_decrefp) json_t *value = json_pack("{s:i,s:s}", "schema", 1, "id",
							"Not a slug");
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

	assert_error(KL_EINVALID, "x: 'id' must be a name", kl_card_from_json(&card, "x", value));
}

static void ids_come_from_intent_and_event(void **state)
{
	KL_AUTO(kl_freep) char *left = kl_card_make_id(
		"Overlap the copy, of the next k-tiles with compute on it", E1);
	KL_AUTO(kl_freep) char *right = kl_card_make_id("\xe2\x86\x92 \xe2\x86\x92", NULL);

	assert_string_equal(left, "overlap-the-copy-of-the-next-k-tiles-4fd2000");
	assert_memory_equal(right, "card-", 5);
	assert_int_equal(strlen(right), 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_good_card),
		cmocka_unit_test(notices_another_form),
		cmocka_unit_test(refuses_with_its_line),
		cmocka_unit_test(refuses_a_newer_one),
		cmocka_unit_test(takes_carriers_that_are_patches),
		cmocka_unit_test(refuses_carriers_that_escape),
		cmocka_unit_test(conditions_have_four_states),
		cmocka_unit_test(a_card_has_a_diff_for_each_step),
		cmocka_unit_test(status_follows_the_trials),
		cmocka_unit_test(a_trial_on_the_same_code_shows_nothing),
		cmocka_unit_test(another_lineage_needs_two_states),
		cmocka_unit_test(canonical_form_round_trips),
		cmocka_unit_test(json_carries_the_same),
		cmocka_unit_test(errors_of_json_have_no_line),
		cmocka_unit_test(ids_come_from_intent_and_event),
	};

	return cmocka_run_group_tests_name("skill_card", tests, NULL, NULL);
}
