/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/rng.h"
#include "event/fold.h"
#include "event_lib.h"

static json_t *event(const char *verdict, const char *time, const char *surface, int ns)
{
	json_t *entry = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:i,s:s,s:{s:s,s:s}}", "v", 1, "kind",
				  "gate", "time", time, "workload", "w", "surface", surface,
				  "contract", "c", "policy", 1, "verdict", verdict, "platform",
				  "id", "p", "device", "d");

	if (ns)
		kl_json_set(entry, "profile", json_pack("{s:i}", "ns", ns));
	seal_doc(entry);
	return entry;
}

static void add(struct kl_buf *buf, json_t *entry)
{
	kl_json_canonical(buf, entry);
	kl_buf_addch(buf, '\n');
	json_decref(entry);
}

static void fail_outranks_pass_until_retracted(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };
	KL_AUTO(kl_map_release) struct kl_map all = KL_MAP_INIT;
	json_t *bad = event("fail", "2026-01-01", "s", 0), *back;
	struct kl_event *list[8];
	size_t n = 0;
	KL_AUTO(kl_freep) char *bad_id = kl_strdup(kl_json_str_or(bad, "id", ""));

	add(&buf, bad);
	add(&buf, event("pass", "2026-01-02", "s", 0));
	add(&buf, event("pass", "2026-01-02", "s", 0)); /* twice, as a merge may leave it */
	kl_buf_adds(&buf, "\nnonsense\n");
	kl_fold_lines(&fold, buf.ptr, buf.len, "s", "c");
	assert_int_equal(fold.verdicts.n, 1);
	assert_int_equal(fold.verdicts.v[0]->verdict, KL_VERDICT_FAIL);
	assert_int_equal(fold.lines, 4);
	assert_int_equal(fold.skipped, 1);
	kl_fold_release(&fold);
	back = json_pack("{s:i,s:s,s:s}", "v", 1, "kind", "retract", "of", bad_id);
	seal_doc(back);
	add(&buf, back);
	/* nobody knows yet whose word the line is */
	kl_fold_lines(&fold, buf.ptr, buf.len, "s", "c");
	assert_int_equal(fold.verdicts.v[0]->verdict, KL_VERDICT_FAIL);
	kl_fold_release(&fold);
	assert_ok(kl_event_load(&all, "note", buf.ptr, strstr(buf.ptr, "nonsense") - buf.ptr));
	back = json_pack("{s:i,s:s,s:s}", "v", 1, "kind", "retract", "of", bad_id);
	seal_doc(back);
	list[n++] = event_of(back, false);
	for (size_t i = 0; i < all.n; i++)
		list[n++] = all.e[i].value;
	kl_fold_events(&fold, list, n, "s", "c");
	assert_int_equal(fold.verdicts.n, 1);
	assert_int_equal(fold.verdicts.v[0]->verdict, KL_VERDICT_PASS);
	kl_event_free(list[0]);
}

static void stale_is_left_out_and_the_newest_profile_wins(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };

	add(&buf, event("pass", "2026-01-02", "s", 200));
	add(&buf, event("pass", "2026-01-01", "s", 100));
	add(&buf, event("pass", "2026-01-03", "other", 300));
	kl_fold_lines(&fold, buf.ptr, buf.len, "s", "c");
	assert_int_equal(fold.verdicts.n, 1);
	assert_int_equal(fold.profiles.n, 1);
	assert_int_equal(fold.profiles.v[0]->profile.ns, 200);
	kl_fold_release(&fold);
	kl_fold_lines(&fold, buf.ptr, buf.len, NULL, NULL);
	assert_int_equal(fold.verdicts.n, 2);
}

static json_t *classed(json_t *entry, const char *class_)
{
	kl_json_set_str(entry, "class", class_);
	seal_doc(entry);
	return entry;
}

/* Slow, or the same as before, is no fault of the answers: a pass may follow. */
static void only_a_correctness_fail_outranks(void **state)
{
	static const struct {
		const char *class_, *verdict;
	} rows[] = {
		{ "slower", "pass" }, { "no-change", "pass" }, { "wrong-edge", "fail" },
		{ "cheat", "fail" },  { "compile", "fail" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
		KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };

		add(&buf, classed(event("fail", "2026-01-01", "s", 0), rows[i].class_));
		add(&buf, event("pass", "2026-01-02", "s", 0));
		kl_fold_lines(&fold, buf.ptr, buf.len, "s", "c");
		assert_int_equal(fold.verdicts.n, 1);
		assert_string_equal(kl_verdict_name(fold.verdicts.v[0]->verdict), rows[i].verdict);
	}
}

static json_t *check(const char *verdict, const char *time)
{
	json_t *entry = event(verdict, time, "s", 0);

	kl_json_set_str(entry, "kind", "check");
	if (!strcmp(verdict, "fail"))
		kl_json_set_str(entry, "class", "fault");
	seal_doc(entry);
	return entry;
}

/* A check by the quick stages is not a pass, but its failure is a failure. */
static void a_check_is_no_verdict_but_its_failure_is(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };

	add(&buf, check("pass", "2026-01-02"));
	add(&buf, check("pass", "2026-01-03"));
	kl_fold_lines(&fold, buf.ptr, buf.len, "s", "c");
	assert_int_equal(fold.verdicts.n, 0);
	assert_int_equal(fold.checks.n, 1);
	assert_string_equal(fold.checks.v[0]->time, "2026-01-03");
	kl_fold_release(&fold);
	add(&buf, event("pass", "2026-01-01", "s", 0));
	kl_fold_lines(&fold, buf.ptr, buf.len, "s", "c");
	assert_int_equal(fold.verdicts.v[0]->kind, KL_KIND_GATE);
	kl_fold_release(&fold);
	add(&buf, check("fail", "2026-01-01"));
	kl_fold_lines(&fold, buf.ptr, buf.len, "s", "c");
	assert_int_equal(fold.verdicts.n, 1);
	assert_int_equal(fold.verdicts.v[0]->verdict, KL_VERDICT_FAIL);
}

static void add_list(struct kl_buf *out, const struct kl_event_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		kl_event_write(out, list->v[i]);
		kl_buf_addch(out, '\n');
	}
	kl_buf_addch(out, '\n');
}

static void assert_lists_equal(const struct kl_event_list *left, const struct kl_event_list *right)
{
	KL_AUTO(kl_buf_release) struct kl_buf text_a = KL_BUF_INIT, text_b = KL_BUF_INIT;

	add_list(&text_a, left);
	add_list(&text_b, right);
	assert_string_equal(text_a.ptr, text_b.ptr);
}

static json_t *profile_on(const char *platform)
{
	json_t *entry = event("pass", "2026-01-01", "s", 5);

	kl_json_set(entry, "platform", json_pack("{s:s,s:s}", "id", platform, "device", "d"));
	seal_doc(entry);
	return entry;
}

static void profiles_come_in_one_order(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT, right = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fa = { 0 }, fb = { 0 };

	add(&left, profile_on("a"));
	add(&left, profile_on("b"));
	add(&right, profile_on("b"));
	add(&right, profile_on("a"));
	kl_fold_lines(&fa, left.ptr, left.len, "s", "c");
	kl_fold_lines(&fb, right.ptr, right.len, "s", "c");
	assert_int_equal(fa.profiles.n, 2);
	assert_lists_equal(&fa.profiles, &fb.profiles);
}

/* A union of notes has no order, so the result must not depend on the order. */
static void order_of_lines_does_not_matter(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT, right = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fa = { 0 }, fb = { 0 };
	json_t *plain = event("pass", "2026-01-01", "s", 5);
	json_t *rival = event("pass", "2026-01-01", "s", 6);
	json_t *sealed = json_deep_copy(plain);

	kl_json_set_str(sealed, "sig", "x");
	add(&left, json_incref(plain));
	add(&left, json_incref(rival));
	add(&left, json_incref(sealed));
	add(&right, sealed);
	add(&right, rival);
	add(&right, plain);
	kl_fold_lines(&fa, left.ptr, left.len, "s", "c");
	kl_fold_lines(&fb, right.ptr, right.len, "s", "c");
	assert_lists_equal(&fa.verdicts, &fb.verdicts);
	assert_lists_equal(&fa.profiles, &fb.profiles);
}

/*
 * one of a few events, so that keys, times and ids meet; on any commit, signed by anybody or nobody
 */
static char *any_line(struct kl_rng *rng)
{
	static const char *const verdict[] = { "pass", "pass", "fail", "inconclusive" };
	static const char *const time[] = { "2026-01-01", "2026-01-02" };
	static const char *const surface[] = { "s", "t" };
	struct kl_buf buf = KL_BUF_INIT;
	json_t *entry = event(verdict[kl_rng_below(rng, 4)], time[kl_rng_below(rng, 2)],
			      surface[kl_rng_below(rng, 2)], (int)kl_rng_below(rng, 3));

	if (kl_rng_below(rng, 6) == 0) {
		KL_AUTO(kl_freep) char *of = kl_strdup(kl_json_str_or(entry, "id", ""));

		json_decref(entry);
		entry = json_pack("{s:i,s:s,s:s}", "v", 1, "kind", "retract", "of", of);
		seal_doc(entry);
	} else if (kl_rng_below(rng, 4) == 0) {
		kl_json_set_str(entry, "kind", "check");
		seal_doc(entry);
	}
	if (kl_rng_below(rng, 3) == 0)
		kl_json_set_str(entry, "sig", kl_rng_below(rng, 2) ? "of one" : "of another");
	if (kl_rng_below(rng, 2))
		kl_json_set_str(entry, "commit", kl_rng_below(rng, 2) ? "here" : "there");
	add(&buf, entry);
	return kl_buf_detach(&buf);
}

static char *folded_text(char **line, size_t n, const char *surface)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };
	struct kl_buf out = KL_BUF_INIT;

	for (size_t i = 0; i < n; i++)
		kl_buf_adds(&text, line[i]);
	kl_fold_lines(&fold, text.ptr, text.len, surface, surface ? "c" : NULL);
	add_list(&out, &fold.verdicts);
	add_list(&out, &fold.checks);
	add_list(&out, &fold.profiles);
	kl_buf_addf(&out, " %zu %zu", fold.lines, fold.skipped);
	return kl_buf_detach(&out);
}

static void shuffled_histories_fold_alike(void **state)
{
	size_t verdicts = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		char *line[24];
		size_t n;
		struct kl_rng rng;

		kl_rng_seed(&rng, seed);
		n = 2 + (size_t)kl_rng_below(&rng, 22);
		for (size_t i = 0; i < n; i++)
			line[i] = any_line(&rng);
		for (int k = 0; k < 2; k++) {
			const char *surface = k ? "s" : NULL;
			KL_AUTO(kl_freep) char *first = folded_text(line, n, surface);

			verdicts += strstr(first, "\"gate\"") != NULL;
			for (int round = 0; round < 6; round++) {
				KL_AUTO(kl_freep) char *again = NULL;

				for (size_t i = n; i > 1; i--) {
					size_t j = (size_t)kl_rng_below(&rng, i);
					char *tmp = line[i - 1];

					line[i - 1] = line[j];
					line[j] = tmp;
				}
				again = folded_text(line, n, surface);
				if (strcmp(again, first))
					fail_msg("seed %d:\n%s\n%s", (int)seed, first, again);
			}
		}
		for (size_t i = 0; i < n; i++)
			free(line[i]);
	}
	assert_true(verdicts > 200);
}

static void the_signed_copy_is_kept(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };
	json_t *plain = event("pass", "2026-01-01", "s", 0), *sealed = json_deep_copy(plain);

	kl_json_set_str(sealed, "sig", "x");
	add(&buf, plain);
	add(&buf, sealed);
	kl_fold_lines(&fold, buf.ptr, buf.len, NULL, NULL);
	assert_int_equal(fold.verdicts.n, 1);
	assert_string_equal(fold.verdicts.v[0]->sig, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fail_outranks_pass_until_retracted),
		cmocka_unit_test(only_a_correctness_fail_outranks),
		cmocka_unit_test(a_check_is_no_verdict_but_its_failure_is),
		cmocka_unit_test(order_of_lines_does_not_matter),
		cmocka_unit_test(profiles_come_in_one_order),
		cmocka_unit_test(shuffled_histories_fold_alike),
		cmocka_unit_test(the_signed_copy_is_kept),
		cmocka_unit_test(stale_is_left_out_and_the_newest_profile_wins),
	};

	return cmocka_run_group_tests_name("event/fold", tests, NULL, NULL);
}
