/* SPDX-License-Identifier: Apache-2.0 */
#include "lift_lib.h"

/* --- tests ------------------------------------------------------------------------------- */

static void one_mechanism_is_one_card(void **state)
{
	static const struct made a[] = {
		{ "unblock", "cache-block", "tiled", NULL, "vec.128", 1500000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "vec.128 vec.256", 2500000, 0, false,
		  0 },
	};
	static const struct made b[] = {
		{ "unblock", "cache-block", "tiled", NULL, "vec.128", 1100000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "vec.128 vec.256", 800000, 0, true, 0 },
	};
	const struct kl_card *c;
	struct world w;

	open_world(&w, "group");
	make_lineage(w.r, simple, "one", a, 2);
	make_lineage(w.r, other_op, "two", b, 2);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_int_equal(w.l.n, 2);
	c = card_of(&w.l, "vector-loop");
	assert_int_equal(c->evidence.n, 2);
	assert_int_equal(c->rows.n, 2);
	assert_int_equal(c->rows.v[0].ratio.ppm, 2500000);
	assert_string_equal(c->rows.v[0].case_, "copy");
	assert_int_equal(c->rows.v[0].by, KL_ROW_UNVERIFIED);
	assert_int_equal(c->rows.v[1].by, KL_ROW_REDERIVED);
	assert_string_equal(c->rows.v[1].dtype, "f32");
	assert_string_equal(c->provides.v[0], "vec.256");
	assert_string_equal(c->scope.needs.v[0], "vec.256");
	assert_int_equal(c->scope.cases.n, 2);
	/* both lineages had tiles before */
	assert_true(kl_strvec_has(&c->scope.requires, "trait:tiled"));
	/* faster here, slower there: that is a risk, not another card */
	assert_int_equal(c->risk.n, 1);
	assert_string_equal(c->risk.v[0].class_, "slower");
	assert_int_equal(c->enables.n, 0);
	assert_string_equal(sound(c, "isa-c")->test, "language != 'c' || cap('vec.256')");
	assert_string_equal(sound(c, "domain-scale")->test, "op != 'scale' || (n % 8 == 0)");
	assert_null(sound(c, "domain-copy"));
	/* the one that was derived anew is the carrier */
	assert_int_equal(c->carriers.n, 1);
	assert_contains(c->carriers.v[0].text, "+/* anew */");
	assert_int_equal(c->status, KL_CARD_HYPOTHESIS);
	close_world(&w);
}

static void what_was_slower_enables_what_came_next(void **state)
{
	/* clang-format off */
	static const struct made a[] = {
		{ "allocate-scratch", "static-scratch", NULL, NULL, "static-data", 900000, 0, false, 0 },
		{ "split-fma", "fma", NULL, NULL, "static-data fma.scalar", 1000000, 0, false, 0 },
		{ "sink-invariant", "hoist-invariant", "hoisted", NULL, "static-data fma.scalar", -1200000, 0, false, 0 },
		{ "split-loop", "loop-fusion", "fused", NULL, "static-data fma.scalar", -550000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "static-data fma.scalar vec.256", 3000000, 0, false, 0 },
	};
	/* clang-format on */
	const struct kl_card *c;
	struct world w;

	open_world(&w, "enabler");
	make_lineage(w.r, simple, "one", a, 5);
	lift(&w.l, &w.t, w.r, &w.lib);
	c = card_of(&w.l, "static-scratch");
	assert_int_equal(c->enables.n, 1);
	assert_string_equal(c->enables.v[0], card_of(&w.l, "vector-loop")->id);
	assert_int_equal(c->risk.n, 0);
	assert_int_equal(card_of(&w.l, "fma")->enables.n, 1);
	assert_int_equal(card_of(&w.l, "vector-loop")->enables.n, 0);
	/*
	 * noise hides whether it is a gain: then nobody says that it is none; but where it is none
	 * for sure
	 */
	assert_int_equal(card_of(&w.l, "hoist-invariant")->enables.n, 0);
	assert_int_equal(card_of(&w.l, "loop-fusion")->enables.n, 1);
	close_world(&w);
}

static void each_case_is_a_row(void **state)
{
	static const struct made a[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2000000, 4000000, false, 0 },
	};
	const struct kl_card *c;
	struct world w;

	open_world(&w, "cases");
	make_lineage(w.r, two_cases, "one", a, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	c = card_of(&w.l, "vector-loop");
	assert_int_equal(c->rows.n, 2);
	for (size_t i = 0; i < 2; i++) {
		int64_t n;

		assert_true(kl_card_dims_get(&n, &c->rows.v[i].dims, "n"));
		assert_int_equal(c->rows.v[i].ratio.ppm, n == 64 ? 2000000 : 4000000);
	}
	close_world(&w);
}

static void what_cannot_be_told_is_left_out(void **state)
{
	static const struct made a[] = {
		{ "devectorize", "vector-loop", NULL, "compound", "vec.256", 2000000, 0, false, 0 },
		{ "oddity", "no-such-mechanism", NULL, NULL, "vec.256", 2000000, 0, false, 0 },
		{ "unnamed", NULL, NULL, "unknown", "vec.256", 2000000, 0, false, 0 },
	};
	struct world w;

	open_world(&w, "left-out");
	make_lineage(w.r, simple, "one", a, 3);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_int_equal(w.l.n, 0);
	assert_int_equal(w.l.notes.n, 3);
	assert_string_equal(w.l.notes.v[0],
			    "one/x step 1 (devectorize): more than one mechanism changed");
	assert_string_equal(w.l.notes.v[1], "one/x step 2 (oddity): no known mechanism");
	close_world(&w);
}

static void what_took_it_away_conflicts(void **state)
{
	static const struct made a[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1200000, 0, false, 0 },
		{ "plain-store", "nt-store", NULL, NULL, "nt-store", 1300000, 0, false, 0 },
	};
	struct world w;

	open_world(&w, "conflict");
	make_lineage(w.r, simple, "one", a, 2);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_true(kl_strvec_has(&card_of(&w.l, "prefetch")->scope.conflicts, "nt-store"));
	assert_int_equal(card_of(&w.l, "nt-store")->scope.conflicts.n, 0);
	close_world(&w);
}

/* lifted again nothing changes; more lineages give evidence to the cards that are there */
static void cards_gain_evidence_instead_of_twins(void **state)
{
	static const struct made a[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2500000, 0, false, 0 },
	};
	/* its author's own word, which nobody else has, makes no twin either */
	static const struct made b[] = {
		{ "go-scalar", "vector-loop", NULL, NULL, "vec.256", 2500000, 0, false, 0 },
	};
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_freep) char *id = NULL;
	struct world w, again = { 0 };

	open_world(&w, "twins");
	make_lineage(w.r, simple, "one", a, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_ok(kl_lift_put(&w.l, 0, w.lib));
	id = kl_strdup(w.l.v[0].card->id);
	lift(&again.l, &again.t, w.r, &again.lib);
	assert_int_equal(again.l.n, 0);
	kl_lift_release(&again.l);
	kl_transitions_release(&again.t);
	kl_library_free(again.lib);
	/* somebody words it better meanwhile */
	assert_ok(kl_library_card(&c, w.lib, id));
	free(c->intent);
	c->intent = kl_strdup("in better words");
	assert_ok(kl_library_put(w.lib,
				 &(struct kl_library_change){ .card = c, .subject = "reword" }));
	make_lineage(w.r, other_op, "two", b, 1);
	again = (struct world){ 0 };
	lift(&again.l, &again.t, w.r, &again.lib);
	assert_int_equal(again.l.n, 1);
	assert_non_null(again.l.v[0].old);
	assert_int_equal(again.l.v[0].gained, 1);
	assert_string_equal(again.l.v[0].card->id, id);
	assert_string_equal(again.l.v[0].card->intent, "in better words");
	assert_int_equal(again.l.v[0].card->scope.cases.n, 2);
	assert_non_null(sound(again.l.v[0].card, "domain-scale"));
	kl_lift_release(&again.l);
	kl_transitions_release(&again.t);
	kl_library_free(again.lib);
	close_world(&w);
}

/* two who lift the same at once: the second finds it there, and nothing is lost */
static void two_lifters_agree(void **state)
{
	static const struct made a[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2500000, 0, false, 0 },
	};
	struct world w, v;

	open_world(&w, "agree");
	make_lineage(w.r, simple, "one", a, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	v = (struct world){ .dir = kl_strdup(w.dir) };
	assert_ok(kl_repo_open_at(&v.r, v.dir));
	lift(&v.l, &v.t, v.r, &v.lib);
	assert_ok(kl_lift_put(&w.l, 0, w.lib));
	assert_ok(kl_lift_put(&v.l, 0, v.lib));
	assert_int_equal(kl_library_count(v.lib), 1);
	assert_sh("2", w.dir, "git rev-list --count klineage/skills");
	close_world(&v);
	close_world(&w);
}

static void retracted_cards_learn_nothing(void **state)
{
	static const struct made a[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2500000, 0, false, 0 },
	};
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	struct world w, again = { 0 };

	open_world(&w, "retracted");
	make_lineage(w.r, simple, "one", a, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_ok(kl_lift_put(&w.l, 0, w.lib));
	assert_ok(kl_library_card(&c, w.lib, w.l.v[0].card->id));
	kl_card_retract(c, "no", "A <a@b>", "2026-11-20T10:00:00Z");
	assert_ok(kl_library_put(w.lib,
				 &(struct kl_library_change){ .card = c, .subject = "retract" }));
	lift(&again.l, &again.t, w.r, &again.lib);
	assert_int_equal(again.l.n, 0);
	assert_int_equal(again.l.notes.n, 1);
	assert_contains(again.l.notes.v[0], "is retracted: it learns nothing more");
	kl_lift_release(&again.l);
	kl_transitions_release(&again.t);
	kl_library_free(again.lib);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_mechanism_is_one_card),
		cmocka_unit_test(what_was_slower_enables_what_came_next),
		cmocka_unit_test(each_case_is_a_row),
		cmocka_unit_test(what_cannot_be_told_is_left_out),
		cmocka_unit_test(what_took_it_away_conflicts),
		cmocka_unit_test(cards_gain_evidence_instead_of_twins),
		cmocka_unit_test(two_lifters_agree),
		cmocka_unit_test(retracted_cards_learn_nothing),
	};

	return cmocka_run_group_tests_name("skill_lift", tests, scratch_setup, scratch_teardown);
}
