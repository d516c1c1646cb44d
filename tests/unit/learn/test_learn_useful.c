/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a card is worth it, from what was measured: where that shows, where not, and where it is
 * contradicted.
 */
#include "lift_lib.h"

static const char sizes[] = CONTRACT("copy",
				     "cases:\n  - {dims: {n: 64}}\n  - {dims: {n: 4096}}\n");

#define OVER(op, cols)                                           \
	"klineage: 1\n"                                          \
	"workload: %s\n"                                         \
	"case: {op: " op ", dims: {cols: " cols "}}\n"           \
	"surface: {language: c, sources: [k.c], entry: k}\n"     \
	"args:\n"                                                \
	"  - {name: x, kind: in, dtype: f32, shape: [cols]}\n"   \
	"  - {name: y, kind: out, dtype: f32, shape: [cols]}\n"  \
	"oracle: {language: c, sources: [oracle.c], entry: k}\n" \
	"accept: {rule: exact}\n"

#define ROWS(op, rows, cols)                                         \
	"klineage: 1\n"                                              \
	"workload: %s\n"                                             \
	"case: {op: " op ", dims: {rows: 4, cols: 64}}\n"            \
	"surface: {language: c, sources: [k.c], entry: k}\n"         \
	"args:\n"                                                    \
	"  - {name: x, kind: in, dtype: f32, shape: [rows, cols]}\n" \
	"  - {name: y, kind: out, dtype: f32, shape: [rows]}\n"      \
	"oracle: {language: c, sources: [oracle.c], entry: k}\n"     \
	"accept: {rule: exact}\n"                                    \
	"cases:\n  - {dims: {rows: 4, cols: 64}}\n  - {dims: {rows: " rows ", cols: " cols "}}\n"

static const struct made small_is_slow[] = {
	{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 900000, 2000000, false, 0 },
};

/* Make `n` lineages of one step each: "<name>0", "<name>1", ... */
static void make_several(struct world *world, const char *contract, const char *name,
			 const struct made *made, int n, int steps)
{
	for (int i = 0; i < n; i++) {
		KL_AUTO(kl_freep) char *workload = kl_asprintf("%s%d", name, i);

		make_lineage(world->r, contract, workload, made, steps);
	}
}

static void again(struct world *world)
{
	kl_lift_release(&world->l);
	kl_transitions_release(&world->t);
	kl_library_free(world->lib);
	lift(&world->l, &world->t, world->r, &world->lib);
}

static bool is_evidence(const struct kl_card *card, const char *event)
{
	for (size_t i = 0; i < card->evidence.n; i++)
		if (!strcmp(card->evidence.v[i].event, event))
			return true;
	return false;
}

static const struct kl_card_pre *useful(const struct kl_card *card, const char *id)
{
	for (size_t i = 0; i < card->useful.n; i++)
		if (!strcmp(card->useful.v[i].id, id))
			return &card->useful.v[i];
	return NULL;
}

/* the card of a lift of one lineage alone */
static struct kl_card *lift_one(struct world *world, const char *workload, const char *mechanism)
{
	struct kl_transitions transitions = { 0 };
	struct kl_lift lift;
	struct kl_card *card = NULL;

	assert_ok(kl_transitions_load(&transitions, world->r, workload));
	assert_ok(kl_lift_run(&lift, &transitions, world->lib));
	card = kl_card_copy(card_of(&lift, mechanism));
	kl_lift_release(&lift);
	kl_transitions_release(&transitions);
	return card;
}

static void sizes_part(void **state)
{
	const struct kl_card_pre *pre;
	struct world world;

	open_world(&world, "sizes");
	make_several(&world, sizes, "one", small_is_slow, 3, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	/* six points are too few, whatever they say */
	assert_int_equal(card_of(&world.l, "prefetch")->useful.n, 0);
	make_several(&world, sizes, "two", small_is_slow, 2, 1);
	again(&world);
	pre = useful(card_of(&world.l, "prefetch"), "sizes-copy");
	assert_non_null(pre);
	assert_string_equal(pre->test, "op != 'copy' || n > 64");
	assert_string_equal(pre->text, "as measured: in copy faster at n >= 4096, not at n <= 64");
	assert_int_equal(pre->state, KL_PRE_WITNESSED);
	assert_string_equal(pre->class_, "slower");
	assert_true(is_evidence(card_of(&world.l, "prefetch"), pre->by));
	/* and it is a card like any other: it goes into the library, its witness with it */
	assert_ok(kl_lift_put(&world.l, 0, world.lib));
	again(&world);
	assert_int_equal(world.l.n, 0);
	close_world(&world);
}

/* of several sizes that differ together nobody knows which it was: false where all are small */
static void several_sizes_part(void **state)
{
	static const struct made slow[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 900000, 900000, false, 0 },
	};
	const struct kl_card_pre *pre;
	struct world world;

	open_world(&world, "several");
	make_several(&world, ROWS("reduce", "512", "4096"), "one", small_is_slow, 5, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	pre = useful(card_of(&world.l, "prefetch"), "sizes-reduce");
	assert_non_null(pre);
	assert_string_equal(pre->test, "op != 'reduce' || rows > 4 || cols > 64");
	assert_string_equal(
		pre->text,
		"as measured: in reduce faster at rows >= 512, cols >= 4096, not at rows <= 4, cols <= 64");
	/* where it was slow at such a size too, that size is not what it was */
	make_lineage(world.r, ROWS("reduce", "1024", "64"), "two", slow, 1);
	again(&world);
	pre = useful(card_of(&world.l, "prefetch"), "sizes-reduce");
	assert_non_null(pre);
	assert_string_equal(pre->test, "op != 'reduce' || cols > 64");
	close_world(&world);
}

static void sizes_do_not_part(void **state)
{
	static const struct made both[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 2000000, 2000000, false, 0 },
	};
	/* noise hides what came of the small one: it speaks neither for nor against */
	static const struct made unsure[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", -1200000, 0, false, 0 },
	};
	struct world world;

	open_world(&world, "no-sizes");
	make_lineage(world.r, sizes, "one", both, 1);
	make_lineage(world.r, simple, "two", unsure, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_int_equal(card_of(&world.l, "prefetch")->useful.n, 0);
	close_world(&world);
}

/* what another lineage contradicts goes again; what a person words stays */
static void contradicted(void **state)
{
	static const struct made small_is_fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1500000, 0, false, 0 },
	};
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL, *alone = NULL, *kept = NULL;
	struct world world;

	open_world(&world, "contradicted");
	make_several(&world, sizes, "one", small_is_slow, 5, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_ok(kl_lift_put(&world.l, 0, world.lib));
	make_lineage(world.r, simple, "two", small_is_fast, 1);
	alone = lift_one(&world, "two", "prefetch"); /* the other lineage is not at hand */
	assert_int_equal(alone->evidence.n, 6);
	assert_int_equal(alone->useful.n, 0);
	again(&world);
	assert_int_equal(world.l.n, 1);
	assert_non_null(world.l.v[0].old);
	assert_int_equal(world.l.v[0].card->useful.n, 0);

	assert_ok(kl_library_card(&card, world.lib, world.l.v[0].card->id));
	free(card->useful.v[0].text);
	card->useful.v[0].text = kl_strdup("small ones fit the cache anyway");
	assert_ok(kl_library_put(world.lib,
				 &(struct kl_library_change){ .card = card, .subject = "reword" }));
	kept = lift_one(&world, "two", "prefetch");
	assert_string_equal(kept->useful.v[0].text, "small ones fit the cache anyway");
	again(&world);
	assert_int_equal(world.l.v[0].card->useful.n, 1);
	assert_string_equal(world.l.v[0].card->useful.v[0].text, "small ones fit the cache anyway");
	close_world(&world);
}

/* of part of its evidence a card learns no condition, and what that does not contradict stays */
static void part_of_the_evidence(void **state)
{
	static const struct made large_is_fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1500000, 1500000, false, 0 },
	};
	static const char large[] = CONTRACT(
		"copy", "cases:\n  - {dims: {n: 8192}}\n  - {dims: {n: 16384}}\n");
	static const char tiny[] = CONTRACT("copy",
					    "cases:\n  - {dims: {n: 16}}\n  - {dims: {n: 32}}\n");
	static const struct made slow_then_fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 900000, 1500000, false, 0 },
	};
	KL_AUTO(kl_card_freep) struct kl_card *other = NULL, *card = NULL;
	struct world world;

	open_world(&world, "part");
	make_several(&world, sizes, "one", small_is_slow, 5, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_ok(kl_lift_put(&world.l, 0, world.lib));
	make_lineage(world.r, large, "two", large_is_fast, 1);
	make_lineage(world.r, tiny, "three", slow_then_fast, 1);
	other = lift_one(&world, "two", "prefetch");
	assert_int_equal(other->useful.n, 1);
	assert_string_equal(other->useful.v[0].test, "op != 'copy' || n > 64");
	card = lift_one(&world, "three", "prefetch"); /* 16 slow, 32 fast: alone that would part */
	assert_int_equal(card->useful.n, 0);
	close_world(&world);
}

/* the same case, faster once there were vectors, slower before */
static void what_was_there_before(void **state)
{
	/* clang-format off */
	static const struct made mades[] = {
		{ "unpack", "pack-panel", "packed", NULL, "alloc", 800000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "alloc vec.256 avx2.fma", 3000000, 0, false, 0 },
		{ "unpack", "pack-panel", "packed", NULL, "alloc vec.256 avx2.fma shuffle", 1500000, 0, false, 0 },
	};
	/* clang-format on */
	const struct kl_card_pre *pre;
	const struct kl_card *card;
	struct world world;

	open_world(&world, "before");
	make_lineage(world.r, simple, "one", mades, 3);
	lift(&world.l, &world.t, world.r, &world.lib);
	card = card_of(&world.l, "pack-panel");
	pre = useful(card, "after-c");
	assert_non_null(pre);
	assert_string_equal(pre->test, "has('vec.256')");
	assert_int_equal(pre->state, KL_PRE_WITNESSED);
	assert_string_equal(pre->by, card->evidence.v[0].event);
	assert_int_equal(card->evidence.v[0].step, 1);
	/* what one lineage alone happened to have is no condition */
	assert_int_equal(card_of(&world.l, "vector-loop")->useful.n, 0);
	close_world(&world);
}

static void what_lineages_agree_on(void **state)
{
	static const struct made mades[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 3000000, 0, false, 0 },
		{ "unpack", "pack-panel", "packed", NULL, "vec.256", 1500000, 0, false, 0 },
	};
	static const struct made without[] = {
		{ "unpack", "pack-panel", "packed", NULL, "alloc", 1000000, 0, false, 0 },
	};
	static const struct made with[] = {
		{ "devectorize", "vector-loop", NULL, NULL, "vec.256", 3000000, 0, false, 0 },
		{ "unpack", "pack-panel", "packed", NULL, "vec.256", 1000000, 0, false, 0 },
	};
	const struct kl_card_pre *pre;
	struct world world;

	open_world(&world, "agree");
	make_lineage(world.r, simple, "one", mades, 2);
	make_lineage(world.r, simple, "two", mades, 2);
	lift(&world.l, &world.t, world.r, &world.lib);
	/* all of them had it: the card requires it, and need not say it twice */
	assert_true(kl_strvec_has(&card_of(&world.l, "pack-panel")->scope.requires, "vec.256"));
	assert_int_equal(card_of(&world.l, "pack-panel")->useful.n, 0);
	make_lineage(world.r, other_op, "three", without, 1);
	again(&world);
	pre = useful(card_of(&world.l, "pack-panel"), "after-c");
	assert_non_null(pre);
	assert_string_equal(pre->test, "has('vec.256')");
	assert_int_equal(pre->state, KL_PRE_ASSUMED); /* not faster is not slower */
	make_lineage(world.r, other_op, "four", with, 2);
	again(&world);
	assert_null(useful(card_of(&world.l, "pack-panel"), "after-c"));
	close_world(&world);
}

static void what_it_takes_the_place_of(void **state)
{
	/* spills come and go with it as it happens */
	static const struct made left[] = {
		{ "call-library", "fma", NULL, NULL, "fma.scalar div spill", 1500000, 0, false, 0 },
		{ "exact-value", "approximation", NULL, NULL, "fma.scalar approx", 1500000, 0,
		  false, 0 },
	};
	static const struct made right[] = {
		{ "call-library", "fma", NULL, NULL, "fma.scalar div spill", 1500000, 0, false, 0 },
		{ "exact-value", "approximation", NULL, NULL, "fma.scalar approx", 990000, 0, false,
		  0 },
	};
	const struct kl_card_pre *pre;
	struct world world;

	open_world(&world, "replaces");
	make_lineage(world.r, simple, "one", left, 2);
	lift(&world.l, &world.t, world.r, &world.lib);
	pre = useful(card_of(&world.l, "approximation"), "replaces-c");
	assert_non_null(pre);
	assert_string_equal(pre->test, "has('div')");
	assert_int_equal(pre->state, KL_PRE_ASSUMED);
	/* where it was there, too, and nothing gained, that is not what it is about */
	make_lineage(world.r, other_op, "two", right, 2);
	again(&world);
	assert_int_equal(card_of(&world.l, "approximation")->evidence.n, 2);
	assert_null(useful(card_of(&world.l, "approximation"), "replaces-c"));
	close_world(&world);
}

static void extents_part_operators(void **state)
{
	static const struct made fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1500000, 0, false, 0 },
	};
	static const struct made same[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1000000, 0, false, 0 },
	};
	const struct kl_card_pre *pre;
	struct world world;

	open_world(&world, "extents");
	make_several(&world, OVER("reduce", "65536"), "one", fast, 4, 1);
	make_several(&world, OVER("softmax", "128"), "two", same, 4, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	pre = useful(card_of(&world.l, "prefetch"), "extent-c");
	assert_non_null(pre);
	assert_string_equal(pre->test, "extent(reduction) > 128");
	assert_string_equal(
		pre->text,
		"as measured: faster at extent(reduction) >= 65536, not at extent(reduction) <= 128");
	assert_int_equal(pre->state, KL_PRE_ASSUMED);
	assert_null(pre->by);
	/* sizes that are near tell nothing of kernels that differ in all else */
	make_lineage(world.r, OVER("layer-norm", "40000"), "three", same, 1);
	again(&world);
	assert_int_equal(card_of(&world.l, "prefetch")->evidence.n, 9);
	assert_int_equal(card_of(&world.l, "prefetch")->useful.n, 0);
	close_world(&world);
}

/* kernels differ in all else: where two roles part them, it may be either, or neither */
static void two_extents_part(void **state)
{
	static const struct made fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1500000, 1500000, false, 0 },
	};
	static const struct made same[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1000000, 1000000, false, 0 },
	};
	static const char large[] =
		"klineage: 1\nworkload: %s\ncase: {op: softmax, dims: {rows: 4096, cols: 65536}}\n"
		"surface: {language: c, sources: [k.c], entry: k}\nargs:\n"
		"  - {name: x, kind: in, dtype: f32, shape: [rows, cols]}\n"
		"  - {name: y, kind: out, dtype: f32, shape: [rows]}\n"
		"oracle: {language: c, sources: [oracle.c], entry: k}\naccept: {rule: exact}\n"
		"cases:\n  - {dims: {rows: 4096, cols: 65536}}\n  - {dims: {rows: 8192, cols: 65536}}\n";
	struct world world;

	open_world(&world, "two-extents");
	make_several(&world, large, "one", fast, 3, 1);
	make_several(&world, ROWS("reduce", "8", "128"), "two", same, 3, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_int_equal(card_of(&world.l, "prefetch")->evidence.n, 6);
	assert_int_equal(card_of(&world.l, "prefetch")->useful.n, 0);
	close_world(&world);
}

static void how_busy_it_was(void **state)
{
	/* clang-format off */
	static const struct made made[][2] = {
		{ { "split-fma", "fma", NULL, NULL, "fma.scalar", 1500000, 0, false, 200000 },
		  { "prefetch-off", "prefetch", NULL, NULL, "fma.scalar prefetch", 1500000, 0, false, 0 } },
		{ { "split-fma", "fma", NULL, NULL, "fma.scalar", 1500000, 0, false, 250000 },
		  { "prefetch-off", "prefetch", NULL, NULL, "fma.scalar prefetch", 1200000, 0, false, 0 } },
		{ { "split-fma", "fma", NULL, NULL, "fma.scalar", 1500000, 0, false, 800000 },
		  { "prefetch-off", "prefetch", NULL, NULL, "fma.scalar prefetch", 900000, 0, false, 0 } },
	};
	/* clang-format on */
	const struct kl_card_pre *pre;
	struct world world;

	open_world(&world, "busy");
	make_lineage(world.r, simple, "one", made[0], 2);
	make_lineage(world.r, simple, "three", made[2], 2);
	lift(&world.l, &world.t, world.r, &world.lib);
	/* two states differ in too much */
	assert_int_equal(card_of(&world.l, "prefetch")->useful.n, 0);
	make_several(&world, simple, "two", made[1], 3, 2);
	make_several(&world, simple, "four", made[2], 3, 2);
	again(&world);
	pre = useful(card_of(&world.l, "prefetch"), "figure-c");
	assert_non_null(pre);
	assert_string_equal(pre->test, "sol.dram < 0.8");
	assert_string_equal(pre->text,
			    "as measured: faster at sol.dram <= 0.25, not at sol.dram >= 0.8");
	assert_int_equal(pre->state, KL_PRE_WITNESSED);
	close_world(&world);
}

/* Of eight points one was slow: a bound that parts them is what one shuffle in four has, too. */
static void chance_parts_as_well(void **state)
{
	static const struct made fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1500000, 1500000, false, 0 },
	};
	static const char large[] = CONTRACT(
		"copy", "cases:\n  - {dims: {n: 8192}}\n  - {dims: {n: 16384}}\n");
	struct world world;

	open_world(&world, "chance");
	make_lineage(world.r, sizes, "one", small_is_slow, 1);
	make_several(&world, large, "two", fast, 3, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_int_equal(card_of(&world.l, "prefetch")->rows.n, 8);
	assert_int_equal(card_of(&world.l, "prefetch")->useful.n, 0);
	close_world(&world);
}

/* A trial that was slower is a point, too: it witnesses a bound, or contradicts it. */
static void failed_trials_are_points(void **state)
{
	static const struct made fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1500000, 1500000, false, 0 },
	};
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct kl_card_trial trial;
	struct world world;

	open_world(&world, "trials");
	make_several(&world, sizes, "one", small_is_slow, 5, 1);
	lift(&world.l, &world.t, world.r, &world.lib);
	assert_non_null(useful(card_of(&world.l, "prefetch"), "sizes-copy"));
	card = kl_card_copy(card_of(&world.l, "prefetch"));
	make_lineage(world.r,
		     CONTRACT("copy", "cases:\n  - {dims: {n: 8192}}\n  - {dims: {n: 4096}}\n"),
		     "far", fast, 1);
	again(&world);
	kl_card_trial_init(&trial);
	trial.trial = 1;
	trial.level = KL_LEVEL_OTHER_WORKLOAD;
	trial.workload = kl_strdup("far");
	trial.case_ = kl_strdup("copy");
	trial.dtype = kl_strdup("f32");
	trial.language = kl_strdup("c");
	trial.platform = kl_strdup("cpu/x86-64-v3");
	for (size_t i = 0; i < world.t.n; i++)
		if (!strcmp(world.t.v[i].lineage, "far/x")) {
			char hex[KL_OID_HEX];

			kl_oid_hex(hex, &world.t.v[i].before);
			trial.state = kl_strdup(hex);
			trial.event = kl_strdup(world.t.v[i].event->id);
		}
	trial.class_ = kl_strdup("not-faster");
	trial.ratio = (struct kl_ratio){ 900000, 890000, 910000 };
	kl_card_add_trial(card, &trial);
	assert_ok(kl_library_put(world.lib, &(struct kl_library_change){ .card = card,
									 .is_new = true,
									 .events = &world.t.events,
									 .subject = "tried" }));
	again(&world); /* slow at 8192, which is beyond every size that was faster but one */
	assert_int_equal(world.l.n, 1);
	assert_null(useful(world.l.v[0].card, "sizes-copy"));
	close_world(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_part),
		cmocka_unit_test(several_sizes_part),
		cmocka_unit_test(sizes_do_not_part),
		cmocka_unit_test(contradicted),
		cmocka_unit_test(part_of_the_evidence),
		cmocka_unit_test(what_was_there_before),
		cmocka_unit_test(what_lineages_agree_on),
		cmocka_unit_test(what_it_takes_the_place_of),
		cmocka_unit_test(extents_part_operators),
		cmocka_unit_test(two_extents_part),
		cmocka_unit_test(how_busy_it_was),
		cmocka_unit_test(chance_parts_as_well),
		cmocka_unit_test(failed_trials_are_points),
	};

	return cmocka_run_group_tests_name("skill_useful", tests, scratch_setup, scratch_teardown);
}
