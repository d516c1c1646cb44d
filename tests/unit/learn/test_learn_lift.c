/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/carrier.h"
#include "base/utf8.h"
#include "event/label.h"
#include "lift_lib.h"

/* --- tests ------------------------------------------------------------------------------- */

static void one_mechanism_is_one_card(void **state)
{
	static const struct made left[] = {
		{ "unblock", "cache-block", "tiled", NULL, "vec.128", 1500000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "vec.128 vec.256", 2500000, 0, false,
		  0 },
	};
	static const struct made right[] = {
		{ "unblock", "cache-block", "tiled", NULL, "vec.128", 1100000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "vec.128 vec.256", 800000, 0, true, 0 },
	};
	const struct kl_card *card;
	struct world world;

	open_world(&world, "group");
	make_lineage(world.r, simple, "one", left, 2);
	make_lineage(world.r, other_op, "two", right, 2);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_int_equal(world.l.n, 2);
	card = card_of(&world.l, "vector-loop");
	assert_int_equal(card->evidence.n, 2);
	assert_int_equal(card->rows.n, 2);
	assert_int_equal(card->rows.v[0].ratio.ppm, 2500000);
	assert_string_equal(card->rows.v[0].case_, "copy");
	assert_int_equal(card->rows.v[0].by, KL_ROW_UNVERIFIED);
	assert_int_equal(card->rows.v[1].by, KL_ROW_REDERIVED);
	assert_string_equal(card->rows.v[1].dtype, "f32");
	assert_string_equal(card->provides.v[0], "vec.256");
	assert_string_equal(card->scope.needs.v[0], "vec.256");
	assert_int_equal(card->scope.cases.n, 2);
	/* both lineages had tiles before */
	assert_true(kl_strvec_has(&card->scope.requires, "trait:tiled"));
	/* faster here, slower there: that is a risk, not another card */
	assert_int_equal(card->risk.n, 1);
	assert_string_equal(card->risk.v[0].class_, "slower");
	assert_int_equal(card->enables.n, 0);
	assert_string_equal(sound(card, "isa-c")->test, "language != 'c' || cap('vec.256')");
	/* what the contract promises is not tested, and excludes nothing */
	assert_string_equal(sound(card, "domain-scale-c")->test,
			    "language != 'c' || op != 'scale' || (n % 8 == 0)");
	assert_int_equal(sound(card, "domain-scale-c")->state, KL_PRE_NOT_TESTED);
	assert_null(sound(card, "domain-copy-c"));
	/* each step's diff is a carrier; the program can do the like to other code */
	assert_int_equal(card->carriers.n, 3);
	assert_int_equal(card->carriers.v[2].form, KL_CARRIER_TRANSFORM);
	assert_string_equal(card->carriers.v[2].text, "vector-loop vectors=4,2,1\n");
	assert_null(card->carriers.v[2].of);
	assert_int_equal(card->schema, 2);
	for (size_t i = 0; i < 2; i++) {
		bool anew = strstr(card->carriers.v[i].text, "+/* anew */") != NULL;

		assert_int_equal(!strcmp(card->carriers.v[i].of, card->evidence.v[1].event), anew);
	}
	assert_int_equal(card->status, KL_CARD_HYPOTHESIS);
	close_world(&world);
}

static void only_what_moved_is_a_card(void **state)
{
	static const struct made mades[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2000000, 0, false, 0 },
		/* packed multiplication and addition was there before, and is there still */
		{ "split-fma", "fma", NULL, NULL, "vec.256 spill", 1500000, 0, false, 0 },
		{ "untile", "register-tile", NULL, NULL, "vec.256", 1500000, 0, false, 0 },
		{ "unblock", "cache-block", "tiled", "contradicted", "vec.256", 1500000, 0, false,
		  0 },
	};
	struct world world;

	open_world(&world, "moved");
	make_lineage(world.r, simple, "one", mades, 4);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_int_equal(world.l.n, 1);
	assert_int_equal(world.l.used, 1);
	assert_non_null(card_of(&world.l, "vector-loop"));
	assert_int_equal(world.l.notes.n, 3);
	assert_contains(world.l.notes.v[0], "step 2 (split-fma): no primary fact");
	assert_contains(world.l.notes.v[1], "step 3 (untile): no primary fact");
	assert_contains(world.l.notes.v[2], "step 4 (unblock): the step's facts contradict");
	assert_int_equal(world.l.unfit, 0);
	close_world(&world);
}

/* Note a label of the last state; `mechanism` NULL takes it back. */
static void label_last(struct world *world, const char *workload, const char *mechanism)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf("refs/heads/klineage/lineage/%s/x", workload);
	KL_AUTO(kl_event_freep) struct kl_event *label = NULL;
	git_oid commit;

	assert_ok(kl_refs_get(&commit, world->r, ref));
	assert_ok(kl_label_put(&label, world->r,
			       &(struct kl_label_opts){ .commit = &commit,
							.workload = workload,
							.surface = "",
							.contract = "",
							.mechanism = mechanism }));
}

/* a label names a step that the walk could not name, or named otherwise; the last one holds */
static void a_label_names_a_step(void **state)
{
	static const struct made named[] = {
		{ "untile", "register-tile", NULL, NULL, "broadcast", 1500000, 0, false, 0 },
	};
	static const struct made nothing[] = {
		{ "historical-x", NULL, NULL, NULL, "", 1000000, 0, false, 0 },
	};
	struct world world;

	open_world(&world, "label");
	make_lineage(world.r, simple, "one", named, 1);
	make_lineage(world.r, simple, "two", nothing, 1);
	label_last(&world, "one", "prefetch");
	label_last(&world, "one", NULL);
	label_last(&world, "one", "cache-block");
	label_last(&world, "two", "cache-block");
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_int_equal(world.l.n, 1);
	assert_string_equal(card_of(&world.l, "cache-block")->action, "unblock");
	assert_true(kl_strvec_has(&card_of(&world.l, "cache-block")->provides, "trait:tiled"));
	assert_int_equal(card_of(&world.l, "cache-block")->evidence.n, 1);
	assert_int_equal(world.l.notes.n, 1);
	assert_contains(world.l.notes.v[0], "neither a fact nor its speed changed");
	close_world(&world);
}

static void sources_with_crlf_give_cards(void **state)
{
	static const struct made mades[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2000000, 0, false, 0 },
	};
	const struct kl_card *card;
	struct world world;

	with_crlf = true;
	open_world(&world, "crlf");
	make_lineage(world.r, simple, "one", mades, 1);
	with_crlf = false;
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_int_equal(world.l.n, 1);
	assert_int_equal(world.l.unfit, 0);
	card = card_of(&world.l, "vector-loop");
	assert_contains(card->carriers.v[0].text, "+\tf1(1);\n");
	assert_null(strchr(card->carriers.v[0].text, '\r'));
	/* merged three-way, then as a patch: the result has CR LF again */
	for (int known = 1; known >= 0; known--) {
		const struct kl_carrier_try try = { .repo = world.r,
						    .library = known ? world.r : NULL,
						    .card = card,
						    .state = world.t.v[0].from };
		KL_AUTO(kl_surface_freep) struct kl_surface *made = NULL;
		char how[KL_CARRIER_HOW];

		assert_ok(kl_carrier_apply(&made, how, &try));
		assert_string_equal(how, known ? "merged three-way" : "applied as a patch");
		assert_string_equal(made->digest, world.t.v[0].to->digest);
	}
	assert_ok(kl_lift_put(&world.l, 0, world.lib));
	close_world(&world);
}

static void what_was_slower_enables_what_came_next(void **state)
{
	/* clang-format off */
	static const struct made mades[] = {
		{ "allocate-scratch", "static-scratch", NULL, NULL, "static-data", 900000, 0, false, 0 },
		{ "split-fma", "fma", NULL, NULL, "static-data fma.scalar", 1000000, 0, false, 0 },
		{ "sink-invariant", "hoist-invariant", "hoisted", NULL, "static-data fma.scalar", -1200000, 0, false, 0 },
		{ "split-loop", "loop-fusion", "fused", NULL, "static-data fma.scalar", -550000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "static-data fma.scalar vec.256", 3000000, 0, false, 0 },
	};
	/* clang-format on */
	const struct kl_card *card;
	struct world world;

	open_world(&world, "enabler");
	make_lineage(world.r, simple, "one", mades, 5);
	lift(&world.l, &world.t, world.r, &world.lib);
	card = card_of(&world.l, "static-scratch");
	assert_int_equal(card->enables.n, 1);
	assert_string_equal(card->enables.v[0], card_of(&world.l, "vector-loop")->id);
	assert_int_equal(card->risk.n, 0);
	assert_int_equal(card_of(&world.l, "fma")->enables.n, 1);
	assert_int_equal(card_of(&world.l, "vector-loop")->enables.n, 0);
	/*
	 * noise hides whether it is a gain: then nobody says that it is none; but where it is none
	 * for sure
	 */
	assert_int_equal(card_of(&world.l, "hoist-invariant")->enables.n, 0);
	assert_int_equal(card_of(&world.l, "loop-fusion")->enables.n, 1);
	close_world(&world);
}

static void each_case_is_a_row(void **state)
{
	static const struct made mades[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2000000, 4000000, false, 0 },
	};
	const struct kl_card *card;
	struct world world;

	open_world(&world, "cases");
	make_lineage(world.r, two_cases, "one", mades, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	card = card_of(&world.l, "vector-loop");
	assert_int_equal(card->rows.n, 2);
	for (size_t i = 0; i < 2; i++) {
		int64_t n;

		assert_true(kl_card_dims_get(&n, &card->rows.v[i].dims, "n"));
		assert_int_equal(card->rows.v[i].ratio.ppm, n == 64 ? 2000000 : 4000000);
	}
	close_world(&world);
}

static void what_cannot_be_told_is_left_out(void **state)
{
	static const struct made mades[] = {
		{ "devectorize", "vector-loop", NULL, "compound", "vec.256", 2000000, 0, false, 0 },
		{ "oddity", "no-such-mechanism", NULL, NULL, "vec.256", 2000000, 0, false, 0 },
		{ "unnamed", NULL, NULL, "unknown", "vec.256", 1000000, 0, false, 0 },
	};
	struct world world;

	open_world(&world, "left-out");
	make_lineage(world.r, simple, "one", mades, 3);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_int_equal(world.l.notes.n, 2);
	assert_string_equal(world.l.notes.v[0],
			    "one/x step 1 (devectorize): more than one mechanism changed");
	assert_string_equal(
		world.l.notes.v[1],
		"one/x step 3 (unnamed): no known mechanism, and neither a fact nor its "
		"speed changed");
	/* a name that the list does not have makes a card of its own, marked so */
	assert_int_equal(world.l.n, 1);
	assert_string_equal(world.l.v[0].card->mechanism, "no-such-mechanism");
	assert_true(world.l.v[0].card->unlisted);
	assert_int_equal(world.l.v[0].card->schema, 2);
	close_world(&world);
}

static void what_took_it_away_conflicts(void **state)
{
	static const struct made mades[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1200000, 0, false, 0 },
		{ "plain-store", "nt-store", NULL, NULL, "nt-store", 1300000, 0, false, 0 },
	};
	struct world world;

	open_world(&world, "conflict");
	make_lineage(world.r, simple, "one", mades, 2);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_true(kl_strvec_has(&card_of(&world.l, "prefetch")->scope.conflicts, "nt-store"));
	assert_int_equal(card_of(&world.l, "nt-store")->scope.conflicts.n, 0);
	close_world(&world);
}

/* lifted again nothing changes; more lineages give evidence to the cards that are there */
static void cards_gain_evidence_instead_of_twins(void **state)
{
	static const struct made left[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2500000, 0, false, 0 },
	};
	/* its author's own word, which nobody else has, makes no twin either */
	static const struct made right[] = {
		{ "go-scalar", "vector-loop", NULL, NULL, "vec.256", 2500000, 0, false, 0 },
	};
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_freep) char *id = NULL;
	struct world world, again = { 0 };

	open_world(&world, "twins");
	make_lineage(world.r, simple, "one", left, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_ok(kl_lift_put(&world.l, 0, world.lib));
	id = kl_strdup(world.l.v[0].card->id);
	lift(&again.l, &again.t, world.r, &again.lib);
	assert_int_equal(again.l.n, 0);
	kl_lift_release(&again.l);
	kl_transitions_release(&again.t);
	kl_library_free(again.lib);
	/* somebody words it better meanwhile */
	assert_ok(kl_library_card(&card, world.lib, id));
	free(card->intent);
	card->intent = kl_strdup("in better words");
	assert_ok(kl_library_put(world.lib,
				 &(struct kl_library_change){ .card = card, .subject = "reword" }));
	make_lineage(world.r, other_op, "two", right, 1);
	again = (struct world){ 0 };
	lift(&again.l, &again.t, world.r, &again.lib);
	assert_int_equal(again.l.n, 1);
	assert_non_null(again.l.v[0].old);
	assert_int_equal(again.l.v[0].gained, 1);
	assert_string_equal(again.l.v[0].card->id, id);
	assert_string_equal(again.l.v[0].card->intent, "in better words");
	assert_int_equal(again.l.v[0].card->scope.cases.n, 2);
	assert_non_null(sound(again.l.v[0].card, "domain-scale-c"));
	kl_lift_release(&again.l);
	kl_transitions_release(&again.t);
	kl_library_free(again.lib);
	close_world(&world);
}

/* two who lift the same at once: the second finds it there, and nothing is lost */
static void two_lifters_agree(void **state)
{
	static const struct made mades[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2500000, 0, false, 0 },
	};
	struct world world, other;

	open_world(&world, "agree");
	make_lineage(world.r, simple, "one", mades, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	other = (struct world){ .dir = kl_strdup(world.dir) };
	assert_ok(kl_repo_open_at(&other.r, other.dir));
	lift(&other.l, &other.t, other.r, &other.lib);
	assert_ok(kl_lift_put(&world.l, 0, world.lib));
	assert_ok(kl_lift_put(&other.l, 0, other.lib));
	assert_int_equal(kl_library_count(other.lib), 1);
	assert_sh("2", world.dir, "git rev-list --count klineage/skills");
	close_world(&other);
	close_world(&world);
}

static void retracted_cards_learn_nothing(void **state)
{
	static const struct made mades[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 2500000, 0, false, 0 },
	};
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct world world, again = { 0 };

	open_world(&world, "retracted");
	make_lineage(world.r, simple, "one", mades, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_ok(kl_lift_put(&world.l, 0, world.lib));
	assert_ok(kl_library_card(&card, world.lib, world.l.v[0].card->id));
	kl_card_retract(card, "no", "A <a@b>", "2026-11-20T10:00:00Z");
	assert_ok(kl_library_put(world.lib, &(struct kl_library_change){ .card = card,
									 .subject = "retract" }));
	lift(&again.l, &again.t, world.r, &again.lib);
	assert_int_equal(again.l.n, 0);
	assert_int_equal(again.l.notes.n, 1);
	assert_contains(again.l.notes.v[0], "is retracted and is not updated");
	kl_lift_release(&again.l);
	kl_transitions_release(&again.t);
	kl_library_free(again.lib);
	close_world(&world);
}

/* A refused step back, whose reason has a character of two bytes at the end of what is quoted. */
static void add_refusal(struct world *world, const char *said)
{
	struct kl_step step = { .kind = KL_STEP_REJECTED, .number = 1 };
	struct kl_refusal refusal = { .lineage = kl_strdup("one/x"), .said = kl_strdup(said) };
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	git_oid tree = state_tree(world->r, simple, "one", "void k(void) { refused; }");

	assert_ok(kl_surface_from_tree(&surface, world->r, &tree, ""));
	step.action = kl_strdup("devectorize");
	step.mechanism = kl_strdup("vector-loop");
	refusal.commit = commit(world->r, &tree, &world->t.v[0].before, 1, &step);
	refusal.on = world->t.v[0].before;
	refusal.step = step;
	refusal.event = event_of(event(surface, "call.foo", 30), false);
	refusal.event->verdict = KL_VERDICT_FAIL;
	refusal.event->failure = KL_FAILURE_WRONG_EDGE;
	kl_event_seal(refusal.event);
	KL_GROW(world->t.r, world->t.nr + 1, world->t.nr_alloc);
	world->t.r[world->t.nr++] = refusal;
}

static void a_long_reason_is_cut_between_characters(void **state)
{
	static const struct made one[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.128 vec.256", 2500000, 0, false,
		  0 },
	};
	static const size_t kept[] = { 398, 399, 400, 399, 400 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(kept); i++) {
		KL_AUTO(kl_freep)
		char *said = kl_asprintf("%0*d\xc3\xa9\xe2\x82\xac tail", 396 + (int)i, 0);
		struct world world;
		const char *text;

		open_world(&world, "reason");
		make_lineage(world.r, simple, "one", one, 1);
		world.t = (struct kl_transitions){ 0 };
		assert_ok(kl_transitions_load(&world.t, world.r, NULL));
		add_refusal(&world, said);
		assert_ok(kl_library_open(&world.lib, world.r));
		assert_ok(kl_lift_run(&world.l, &world.t, world.lib));
		assert_int_equal(world.l.n, 1);
		assert_int_equal(world.l.v[0].card->risk.n, 1);
		text = world.l.v[0].card->risk.v[0].text;
		assert_int_equal(strlen(text), kept[i]);
		assert_int_equal(kl_utf8_span(text, strlen(text)), kept[i]);
		close_world(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_mechanism_is_one_card),
		cmocka_unit_test(only_what_moved_is_a_card),
		cmocka_unit_test(a_label_names_a_step),
		cmocka_unit_test(sources_with_crlf_give_cards),
		cmocka_unit_test(what_was_slower_enables_what_came_next),
		cmocka_unit_test(each_case_is_a_row),
		cmocka_unit_test(what_cannot_be_told_is_left_out),
		cmocka_unit_test(what_took_it_away_conflicts),
		cmocka_unit_test(cards_gain_evidence_instead_of_twins),
		cmocka_unit_test(two_lifters_agree),
		cmocka_unit_test(retracted_cards_learn_nothing),
		cmocka_unit_test(a_long_reason_is_cut_between_characters),
	};

	return cmocka_run_group_tests_name("skill_lift", tests, scratch_setup, scratch_teardown);
}
