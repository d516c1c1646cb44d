/* SPDX-License-Identifier: Apache-2.0 */
/* A model's words for a card: how a reply is read, and what of it the data bear out. */
#include "base/rng.h"
#include "event_lib.h"
#include "learn/wording_parts.h"
#include "lift_lib.h"

/* --- reading ------------------------------------------------------------------------ */

#define CARD                                                                                               \
	"<card>\nintent: several elements at once, by vector registers\nconstruct: a loop over elements\n" \
	"acts-on: its body\n</card>\n"
#define PRE(id, kind, test, witness)                                           \
	"<pre>\nid: " id "\nkind: " kind "\ntest: " test "\nwitness: " witness \
	"\ntext: so that it is right\n</pre>\n"
#define RISK(class, violates, events)                                       \
	"<risk>\nclass: " class "\nviolates: " violates "\nevents: " events \
				"\ntext: the last elements are lost\n</risk>\n"

static void a_whole_reply(void **state)
{
	static const char text[] = "Thinking aloud, <b>of</b> tags.\n" CARD PRE(
		"whole", "sound", "n % 8 == 0", "-") PRE("long", "useful", "-", "R1")
		RISK("wrong-edge", "whole",
		     "R1, R2") "<carrier language=\"c\" form='prose'>\nfirst\n\tthen <x>\n</carrier>\nDone.\n";
	KL_AUTO(kl_words_release) struct kl_words words = { 0 };

	assert_ok(kl_words_parse(&words, text, strlen(text)));
	assert_string_equal(words.intent, "several elements at once, by vector registers");
	assert_string_equal(words.construct, "a loop over elements");
	assert_string_equal(words.acts_on, "its body");
	assert_int_equal(words.npre, 2);
	assert_true(words.pre[0].sound);
	assert_string_equal(words.pre[0].test, "n % 8 == 0");
	assert_null(words.pre[0].witness);
	assert_false(words.pre[1].sound);
	assert_null(words.pre[1].test);
	assert_string_equal(words.pre[1].witness, "R1");
	assert_int_equal(words.nrisk, 1);
	assert_string_equal(words.risk[0].violates, "whole");
	assert_string_equal(words.risk[0].events, "R1, R2");
	assert_int_equal(words.ncarrier, 1);
	assert_string_equal(words.carrier[0].form, "prose");
	assert_string_equal(words.carrier[0].text, "first\n\tthen <x>\n");
}

static void no_reply(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *says; } bad[] = {
		{ "I would rather not.", "has no <card>" },
		{ "", "has no <card>" },
		{ CARD CARD, "a second <card>" },
		{ "<card>\nintent: x\nconstruct: y\n</card>\n", "has no line 'acts-on:'" },
		{ "<card>\nintent: -\nconstruct: y\nacts-on: z\n</card>\n", "'intent:' is empty" },
		{ "<card>\nintent: x\nratio: 2.5\n</card>\n", "is not a line of a <card>" },
		{ CARD "<card>\n", "a second <card>" },
		{ CARD PRE("A b", "sound", "-", "-"), "is not lower-case words" },
		{ CARD PRE("a", "good", "-", "-"), "'sound' or 'useful'" },
		{ CARD "<pre>\nid: a\n", "never closed" },
		{ CARD "</risk>\n", "has no opening tag" },
		{ CARD "<carrier language=\"c\">\nx\n</carrier>\n", "needs form=" },
		{ CARD "<carrier language=c form=prose event=1>\nx\n</carrier>\n", "no attribute 'event'" },
		{ CARD "<carrier language=c form=prose>\nx\n", "never closed" },
		{ CARD "<carrier language=c form=prose>\n```\nx\n```\n</carrier>\n", "without a fence" },
		{ CARD "<carrier language=c form=prose>\n<card>\n</carrier>\n", "within the <carrier>" },
	};
	/* clang-format on */
	KL_AUTO(kl_buf_release) struct kl_buf many = KL_BUF_INIT;
	struct kl_words words;

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		assert_int_equal(kl_words_parse(&words, bad[i].text, strlen(bad[i].text)),
				 KL_EINVALID);
		if (!strstr(kl_error_last(), bad[i].says))
			fail_msg("%s\nnot: %s\nfor %s", kl_error_last(), bad[i].says, bad[i].text);
	}
	kl_buf_adds(&many, CARD);
	for (int i = 0; i < 17; i++)
		kl_buf_adds(&many, PRE("a", "sound", "-", "-"));
	assert_int_equal(kl_words_parse(&words, many.ptr, many.len), KL_EINVALID);
	assert_contains(kl_error_last(), "more than 16 conditions");
	assert_int_equal(kl_words_parse(&words, CARD "\0", sizeof(CARD)), KL_EINVALID);
}

/* whatever bytes: taken or refused, nothing else */
static void any_bytes(void **state)
{
	static const char text[] = CARD PRE("whole", "sound", "n % 8 == 0", "-")
		RISK("slower", "-", "T1") "<carrier language=c form=prose>\nx\n</carrier>\n";
	struct kl_rng rng;
	size_t taken = 0;

	kl_rng_seed(&rng, 11);
	for (int round = 0; round < 3000; round++) {
		KL_AUTO(kl_freep) char *string = kl_strndup(text, sizeof(text) - 1);
		struct kl_words words = { 0 };
		size_t len = sizeof(text) - 1;

		for (uint64_t n = 1 + kl_rng_below(&rng, 4); n; n--)
			string[kl_rng_below(&rng, len)] = "<>/\n:=-a\"\x80"[kl_rng_below(&rng, 10)];
		if (kl_rng_below(&rng, 4) == 0)
			len = (size_t)kl_rng_below(&rng, len);
		taken += !kl_words_parse(&words, string, len);
		kl_words_release(&words);
	}
	assert_true(taken > 100 && taken < 2900);
}

/* --- what the data bear out ---------------------------------------------------------- */

/*
 * "one" was faster, "two" slower and is of another operator whose dims are a multiple of 8; a step
 * back failed
 */
static void open_group(struct world *world, struct kl_wording *wording,
		       struct kl_wording_group *group)
{
	static const struct made one[] = {
		{ "reroll", "unroll", NULL, NULL, "vec.128", 1500000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "vec.128 vec.256", 2500000, 0, false,
		  0 },
	};
	static const struct made two[] = {
		{ "reroll", "unroll", NULL, NULL, "vec.128", 1500000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "vec.128 vec.256", 800000, 0, false,
		  0 },
	};
	struct kl_wording_opts opts = { .who = "exec" };
	struct kl_step step = { .kind = KL_STEP_REJECTED, .number = 1 };
	struct kl_refusal refusal = { .lineage = kl_strdup("one/x"), .said = kl_strdup("") };
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	git_oid tree;

	make_lineage(world->r, simple, "one", one, 2);
	make_lineage(world->r, other_op, "two", two, 2);
	world->t = (struct kl_transitions){ 0 };
	assert_ok(kl_transitions_load(&world->t, world->r, NULL));
	tree = state_tree(world->r, simple, "one", "void k(void) { refused; }");
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
	assert_ok(kl_library_open(&world->lib, world->r));
	assert_ok(kl_lift_run(&world->l, &world->t, world->lib));
	opts.repo = world->r;
	assert_ok(kl_wording_open(wording, &world->l, &opts));
	for (size_t i = 0; i < world->l.n; i++)
		if (!strcmp(world->l.v[i].card->mechanism, "vector-loop"))
			assert_ok(kl_wording_group(group, wording, i));
	assert_int_equal(group->n, 2);
	assert_int_equal(group->nrefused, 1);
}

static int check(struct kl_card **out, struct kl_wording_group *group, const char *text)
{
	KL_AUTO(kl_words_release) struct kl_words words = { 0 };

	assert_ok(kl_words_parse(&words, text, strlen(text)));
	return kl_wording_check(out, group, &words);
}

static void what_holds_is_taken(void **state)
{
	struct world world;
	struct kl_wording wording;
	KL_AUTO(kl_wording_group_release) struct kl_wording_group group = { 0 };
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL, *old = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT, right = KL_BUF_INIT;
	const struct kl_card_pre *pre;

	open_world(&world, "taken");
	open_group(&world, &wording, &group);
	old = kl_card_copy(group.r->card);
	assert_ok(check(
		&card, &group,
		CARD PRE("eights", "sound", "n % 8 == 0",
			 "-") PRE("narrow", "sound", "has('vec.128')",
				  "R1") PRE("long", "useful", "n >= 64",
					    "-") PRE("aligned", "sound", "-",
						     "-") RISK("wrong-edge", "narrow", "R1")
			RISK("slower", "-",
			     "T2") "<carrier language=c form=annotated-snippet>\nfor (;;) x; /* 2.5x */\n</carrier>\n"));
	assert_string_equal(card->intent, "several elements at once, by vector registers");
	assert_string_equal(card->anchor.construct, "a loop over elements");
	pre = sound(card, "narrow");
	assert_int_equal(pre->state, KL_PRE_WITNESSED);
	assert_string_equal(pre->by, world.t.r[0].event->id);
	assert_string_equal(pre->class_, "wrong-edge");
	assert_int_equal(sound(card, "eights")->state, KL_PRE_ASSUMED);
	assert_int_equal(card->useful.n, 1);
	assert_int_equal(card->carriers.n, 4); /* two diffs, a transformation, and the model's */
	/*
	 * id, evidence, rows, scope, provides and what was measured of conditions are not its to
	 * change
	 */
	assert_string_equal(card->id, old->id);
	assert_int_equal(card->evidence.n, old->evidence.n);
	assert_non_null(sound(card, "isa-c"));
	for (size_t i = 0; i < card->risk.n; i++)
		assert_true(card->risk.v[i].events.n > 0);
	kl_card_free(kl_steal(&card));
	/* with nothing but the words themselves all else is byte for byte as it was */
	assert_ok(check(&card, &group, CARD));
	for (size_t i = 0; i < 3; i++) {
		char **now[] = { &card->intent, &card->anchor.construct, &card->anchor.acts_on };
		char *was[] = { old->intent, old->anchor.construct, old->anchor.acts_on };

		free(*now[i]);
		*now[i] = kl_strdup(was[i]);
	}
	kl_card_write(&left, card);
	kl_card_write(&right, old);
	assert_string_equal(left.ptr, right.ptr);
	kl_wording_release(&wording);
	close_world(&world);
}

static void what_does_not_hold_is_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *says; } bad[] = {
		/* predicates */
		{ CARD PRE("a", "sound", "n %", "-"), "the test of 'a'" },
		{ CARD PRE("a", "sound", "1 == 1", "-"), "does not use any fact" },
		{ CARD PRE("a", "sound", "has('no.such')", "-"), "the feature 'no.such', which no state here has" },
		{ CARD PRE("a", "sound", "!has('no.such')", "-"), "the feature 'no.such'" },
		{ CARD PRE("a", "sound", "cap('warp-drive')", "-"), "the capability 'warp-drive'" },
		{ CARD PRE("a", "sound", "trait('tiled')", "-"), "'trait(tiled)', which is not known" },
		{ CARD PRE("a", "sound", "BM == 64", "-"), "'BM', which is not known" },
		{ CARD PRE("a", "sound", "n % 8 == 0 || BM == 64", "-"), "'BM', which is not known" },
		{ CARD PRE("a", "sound", "op == 'copy'", "-"), "cannot be sound: two/x step 2" },
		{ CARD PRE("a", "sound", "has('vec.256')", "-"), "cannot be sound: " },
		{ CARD PRE("a", "sound", "n % 128 == 0", "-"), "n = 64" },
		{ CARD PRE("a", "useful", "op == 'scale'", "-"), "true of none of the steps that were faster" },
		{ CARD PRE("isa-c", "sound", "-", "-"), "has a condition 'isa-c' already" },
		{ CARD PRE("a", "sound", "-", "-") PRE("a", "useful", "-", "-"), "has a condition 'a' already" },
		/* witnesses */
		{ CARD PRE("a", "sound", "n % 8 == 0", "R2"), "not one of the refused steps R1 to R1" },
		{ CARD PRE("a", "sound", "n % 8 == 0", "T1"), "not one of the refused steps" },
		{ CARD PRE("a", "sound", "n % 8 == 0", "R1"), "the test is not false there" },
		{ CARD PRE("a", "sound", "n % 8 == 0", "R1x"), "not one of the refused steps" },
		/* risks */
		{ CARD RISK("wrong-edge", "-", "-"), "cites no step" },
		{ CARD RISK("wrong-edge", "-", "R9"), "not one of the steps shown" },
		{ CARD RISK("fault", "-", "R1"), "which was 'wrong-edge'" },
		{ CARD RISK("slower", "-", "T1"), "was not slower" },
		{ CARD RISK("wrong-edge", "never-said", "R1"), "no such condition" },
		/* words */
		{ "<card>\nintent: makes it 2.5x faster\nconstruct: a loop\nacts-on: b\n</card>\n", "states a speed" },
		{ "<card>\nintent: saves 30 %\nconstruct: a loop\nacts-on: b\n</card>\n", "states a speed" },
		{ "<card>\nintent: a loop\nconstruct: a loop of 12 ms\nacts-on: b\n</card>\n", "states a speed" },
		{ "<card>\nintent: what k.c does\nconstruct: a\nacts-on: b\n</card>\n", "the file 'k.c'" },
		{ "<card>\nintent: a\nconstruct: the launch plan\nacts-on: b\n</card>\n", "cannot be the launch plan" },
		{ "<card>\nintent: a\001b\nconstruct: a\nacts-on: b\n</card>\n", "control" },
		/* carriers */
		{ CARD "<carrier language=c form=diff>\nx\n</carrier>\n", "semantic patches are taken from the steps" },
		{ CARD "<carrier language=c form=semantic-patch>\n@@ @@\n</carrier>\n", "taken from the steps" },
		{ CARD "<carrier language=cuda form=prose>\nx\n</carrier>\n", "none of the steps is" },
		{ CARD "<carrier language=c form=prose>\n</carrier>\n", "is empty" },
		{ CARD "<carrier language=c form=prose>\n3 times as fast\n</carrier>\n", "states a speed" },
		{ CARD "<carrier language=c form=prose>\nx\n</carrier>\n<carrier language=c form=prose>\ny\n</carrier>\n",
		  "there are two carriers" },
	};
	/* clang-format on */
	struct world world;
	struct kl_wording wording;
	KL_AUTO(kl_wording_group_release) struct kl_wording_group group = { 0 };

	open_world(&world, "refused");
	open_group(&world, &wording, &group);
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		struct kl_card *card = NULL;

		if (check(&card, &group, bad[i].text) != KL_EINVALID)
			fail_msg("taken: %s", bad[i].text);
		assert_null(card);
		if (!strstr(kl_error_last(), bad[i].says))
			fail_msg("%s\nnot: %s\nfor %s", kl_error_last(), bad[i].says, bad[i].text);
	}
	kl_wording_release(&wording);
	close_world(&world);
}

/* shapes are no speeds */
static void shapes_are_no_speeds(void **state)
{
	struct world world;
	struct kl_wording wording;
	KL_AUTO(kl_wording_group_release) struct kl_wording_group group = { 0 };
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;

	open_world(&world, "shapes");
	open_group(&world, &wording, &group);
	assert_ok(check(
		&card, &group,
		"<card>\nintent: tiles of 32 x 8 by 256-bit loads, 2x2 a thread, n % 8 elements left\n"
		"construct: a loop over 16 x 16 blocks\nacts-on: m16n8k16\n</card>\n"));
	kl_wording_release(&wording);
	close_world(&world);
}

/* the same group is asked the same, and another one something else */
static void questions(void **state)
{
	struct world world;
	struct kl_wording wording;
	KL_AUTO(kl_wording_group_release) struct kl_wording_group group = { 0 };
	KL_AUTO(kl_driver_release) struct kl_driver driver = { 0 };
	struct kl_driver_turn turn[3];
	struct kl_buf user[3];

	open_world(&world, "questions");
	open_group(&world, &wording, &group);
	kl_wording_driver(&driver, &group);
	assert_int_equal(strncmp(driver.phase, "lift-vector-loop-", 17), 0);
	for (int i = 0; i < 3; i++) {
		user[i] = (struct kl_buf)KL_BUF_INIT;
		turn[i] = (struct kl_driver_turn)KL_DRIVER_TURN_INIT;
		driver.why = i == 2 ? kl_strdup("it was ```nothing") : NULL;
		driver.dialogue.kind = i == 2 ? KL_DIALOGUE_AGAIN : KL_DIALOGUE_STEP;
		kl_wording_compose(&turn[i], &group, driver.dialogue.kind);
		assert_ok(kl_driver_write(&user[i], &driver, &turn[i]));
	}
	assert_string_equal(user[0].ptr, user[1].ptr);
	assert_string_equal(turn[0].key.ptr, turn[1].key.ptr);
	assert_string_not_equal(turn[0].key.ptr, turn[2].key.ptr);
	assert_contains(user[0].ptr, "T2:");
	assert_contains(user[0].ptr, "R1: devectorize");
	assert_contains(user[0].ptr, "n = 64");
	assert_contains(user[0].ptr, "has(vec.128) is true");
	assert_contains(user[0].ptr, "speed against the state before, at n=64: 2.5");
	assert_contains(user[0].ptr, "f1(1)");
	assert_contains(user[2].ptr, "````\nit was ```nothing\n````");
	for (int i = 0; i < 3; i++) {
		kl_buf_release(&user[i]);
		kl_driver_turn_release(&turn[i]);
	}
	kl_wording_release(&wording);
	close_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_reply),
		cmocka_unit_test(no_reply),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(what_holds_is_taken),
		cmocka_unit_test(what_does_not_hold_is_refused),
		cmocka_unit_test(shapes_are_no_speeds),
		cmocka_unit_test(questions),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
