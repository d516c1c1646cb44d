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

static void again(struct world *w)
{
	kl_lift_release(&w->l);
	kl_transitions_release(&w->t);
	kl_library_free(w->lib);
	lift(&w->l, &w->t, w->r, &w->lib);
}

static const struct kl_card_pre *useful(const struct kl_card *c, const char *id)
{
	for (size_t i = 0; i < c->useful.n; i++)
		if (!strcmp(c->useful.v[i].id, id))
			return &c->useful.v[i];
	return NULL;
}

/* the card of a lift of one lineage alone */
static struct kl_card *lift_one(struct world *w, const char *workload, const char *mechanism)
{
	struct kl_transitions t = { 0 };
	struct kl_lift l;
	struct kl_card *c = NULL;

	assert_ok(kl_transitions_load(&t, w->r, workload));
	assert_ok(kl_lift_run(&l, &t, w->lib));
	c = kl_card_copy(card_of(&l, mechanism));
	kl_lift_release(&l);
	kl_transitions_release(&t);
	return c;
}

static void sizes_part(void **state)
{
	const struct kl_card_pre *p;
	struct world w;

	open_world(&w, "sizes");
	make_lineage(w.r, sizes, "one", small_is_slow, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	p = useful(card_of(&w.l, "prefetch"), "sizes-copy");
	assert_non_null(p);
	assert_string_equal(p->test, "op != 'copy' || n > 64");
	assert_string_equal(p->text, "as measured: in copy faster at n >= 4096, not at n <= 64");
	assert_int_equal(p->state, KL_PRE_WITNESSED);
	assert_string_equal(p->class_, "slower");
	assert_string_equal(p->by, card_of(&w.l, "prefetch")->evidence.v[0].event);
	/* and it is a card like any other: it goes into the library, its witness with it */
	assert_ok(kl_lift_put(&w.l, 0, w.lib));
	again(&w);
	assert_int_equal(w.l.n, 0);
	close_world(&w);
}

/* of several sizes that differ together nobody knows which it was: false where all are small */
static void several_sizes_part(void **state)
{
	static const struct made slow[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 900000, 900000, false, 0 },
	};
	const struct kl_card_pre *p;
	struct world w;

	open_world(&w, "several");
	make_lineage(w.r, ROWS("reduce", "512", "4096"), "one", small_is_slow, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	p = useful(card_of(&w.l, "prefetch"), "sizes-reduce");
	assert_non_null(p);
	assert_string_equal(p->test, "op != 'reduce' || rows > 4 || cols > 64");
	assert_string_equal(
		p->text,
		"as measured: in reduce faster at rows >= 512, cols >= 4096, not at rows <= 4, cols <= 64");
	/* where it was slow at such a size too, that size is not what it was */
	make_lineage(w.r, ROWS("reduce", "1024", "64"), "two", slow, 1);
	again(&w);
	p = useful(card_of(&w.l, "prefetch"), "sizes-reduce");
	assert_non_null(p);
	assert_string_equal(p->test, "op != 'reduce' || cols > 64");
	close_world(&w);
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
	struct world w;

	open_world(&w, "no-sizes");
	make_lineage(w.r, sizes, "one", both, 1);
	make_lineage(w.r, simple, "two", unsure, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_int_equal(card_of(&w.l, "prefetch")->useful.n, 0);
	close_world(&w);
}

/* what another lineage contradicts goes again; what a person words stays */
static void contradicted(void **state)
{
	static const struct made small_is_fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1500000, 0, false, 0 },
	};
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL, *alone = NULL, *kept = NULL;
	struct world w;

	open_world(&w, "contradicted");
	make_lineage(w.r, sizes, "one", small_is_slow, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_ok(kl_lift_put(&w.l, 0, w.lib));
	make_lineage(w.r, simple, "two", small_is_fast, 1);
	alone = lift_one(&w, "two", "prefetch"); /* the other lineage is not at hand */
	assert_int_equal(alone->evidence.n, 2);
	assert_int_equal(alone->useful.n, 0);
	again(&w);
	assert_int_equal(w.l.n, 1);
	assert_non_null(w.l.v[0].old);
	assert_int_equal(w.l.v[0].card->useful.n, 0);

	assert_ok(kl_library_card(&c, w.lib, w.l.v[0].card->id));
	free(c->useful.v[0].text);
	c->useful.v[0].text = kl_strdup("small ones fit the cache anyway");
	assert_ok(kl_library_put(w.lib,
				 &(struct kl_library_change){ .card = c, .subject = "reword" }));
	kept = lift_one(&w, "two", "prefetch");
	assert_string_equal(kept->useful.v[0].text, "small ones fit the cache anyway");
	again(&w);
	assert_int_equal(w.l.v[0].card->useful.n, 1);
	assert_string_equal(w.l.v[0].card->useful.v[0].text, "small ones fit the cache anyway");
	close_world(&w);
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
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL, *d = NULL;
	struct world w;

	open_world(&w, "part");
	make_lineage(w.r, sizes, "one", small_is_slow, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_ok(kl_lift_put(&w.l, 0, w.lib));
	make_lineage(w.r, large, "two", large_is_fast, 1);
	make_lineage(w.r, tiny, "three", slow_then_fast, 1);
	c = lift_one(&w, "two", "prefetch");
	assert_int_equal(c->useful.n, 1);
	assert_string_equal(c->useful.v[0].test, "op != 'copy' || n > 64");
	d = lift_one(&w, "three", "prefetch"); /* 16 slow, 32 fast: alone that would part */
	assert_int_equal(d->useful.n, 0);
	close_world(&w);
}

/* the same case, faster once there were vectors, slower before */
static void what_was_there_before(void **state)
{
	/* clang-format off */
	static const struct made a[] = {
		{ "unpack", "pack-panel", "packed", NULL, "alloc", 800000, 0, false, 0 },
		{ "devectorize", "vector-loop", NULL, NULL, "alloc vec.256 avx2.fma", 3000000, 0, false, 0 },
		{ "unpack", "pack-panel", "packed", NULL, "alloc vec.256 avx2.fma shuffle", 1500000, 0, false, 0 },
	};
	/* clang-format on */
	const struct kl_card_pre *p;
	const struct kl_card *c;
	struct world w;

	open_world(&w, "before");
	make_lineage(w.r, simple, "one", a, 3);
	lift(&w.l, &w.t, w.r, &w.lib);
	c = card_of(&w.l, "pack-panel");
	p = useful(c, "after-c");
	assert_non_null(p);
	assert_string_equal(p->test, "has('vec.256')");
	assert_int_equal(p->state, KL_PRE_WITNESSED);
	assert_string_equal(p->by, c->evidence.v[0].event);
	assert_int_equal(c->evidence.v[0].step, 1);
	/* what one lineage alone happened to have is no condition */
	assert_int_equal(card_of(&w.l, "vector-loop")->useful.n, 0);
	close_world(&w);
}

static void what_lineages_agree_on(void **state)
{
	static const struct made a[] = {
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
	const struct kl_card_pre *p;
	struct world w;

	open_world(&w, "agree");
	make_lineage(w.r, simple, "one", a, 2);
	make_lineage(w.r, simple, "two", a, 2);
	lift(&w.l, &w.t, w.r, &w.lib);
	/* all of them had it: the card requires it, and need not say it twice */
	assert_true(kl_strvec_has(&card_of(&w.l, "pack-panel")->scope.requires, "vec.256"));
	assert_int_equal(card_of(&w.l, "pack-panel")->useful.n, 0);
	make_lineage(w.r, other_op, "three", without, 1);
	again(&w);
	p = useful(card_of(&w.l, "pack-panel"), "after-c");
	assert_non_null(p);
	assert_string_equal(p->test, "has('vec.256')");
	assert_int_equal(p->state, KL_PRE_ASSUMED); /* not faster is not slower */
	make_lineage(w.r, other_op, "four", with, 2);
	again(&w);
	assert_null(useful(card_of(&w.l, "pack-panel"), "after-c"));
	close_world(&w);
}

static void what_it_takes_the_place_of(void **state)
{
	/* spills come and go with it as it happens */
	static const struct made a[] = {
		{ "call-library", "fma", NULL, NULL, "fma.scalar div spill", 1500000, 0, false, 0 },
		{ "exact-value", "approximation", NULL, NULL, "fma.scalar approx", 1500000, 0,
		  false, 0 },
	};
	static const struct made b[] = {
		{ "call-library", "fma", NULL, NULL, "fma.scalar div spill", 1500000, 0, false, 0 },
		{ "exact-value", "approximation", NULL, NULL, "fma.scalar approx", 990000, 0, false,
		  0 },
	};
	const struct kl_card_pre *p;
	struct world w;

	open_world(&w, "replaces");
	make_lineage(w.r, simple, "one", a, 2);
	lift(&w.l, &w.t, w.r, &w.lib);
	p = useful(card_of(&w.l, "approximation"), "replaces-c");
	assert_non_null(p);
	assert_string_equal(p->test, "has('div')");
	assert_int_equal(p->state, KL_PRE_ASSUMED);
	/* where it was there, too, and nothing gained, that is not what it is about */
	make_lineage(w.r, other_op, "two", b, 2);
	again(&w);
	assert_int_equal(card_of(&w.l, "approximation")->evidence.n, 2);
	assert_null(useful(card_of(&w.l, "approximation"), "replaces-c"));
	close_world(&w);
}

static void extents_part_operators(void **state)
{
	static const struct made fast[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1500000, 0, false, 0 },
	};
	static const struct made same[] = {
		{ "prefetch-off", "prefetch", NULL, NULL, "prefetch", 1000000, 0, false, 0 },
	};
	const struct kl_card_pre *p;
	struct world w;

	open_world(&w, "extents");
	make_lineage(w.r, OVER("reduce", "65536"), "one", fast, 1);
	make_lineage(w.r, OVER("softmax", "128"), "two", same, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	p = useful(card_of(&w.l, "prefetch"), "extent-c");
	assert_non_null(p);
	assert_string_equal(p->test, "extent(reduction) > 128");
	assert_string_equal(
		p->text,
		"as measured: faster at extent(reduction) >= 65536, not at extent(reduction) <= 128");
	assert_int_equal(p->state, KL_PRE_ASSUMED);
	assert_null(p->by);
	/* sizes that are near tell nothing of kernels that differ in all else */
	make_lineage(w.r, OVER("layer-norm", "40000"), "three", same, 1);
	again(&w);
	assert_int_equal(card_of(&w.l, "prefetch")->evidence.n, 3);
	assert_int_equal(card_of(&w.l, "prefetch")->useful.n, 0);
	close_world(&w);
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
	struct world w;

	open_world(&w, "two-extents");
	make_lineage(w.r, large, "one", fast, 1);
	make_lineage(w.r, ROWS("reduce", "8", "128"), "two", same, 1);
	lift(&w.l, &w.t, w.r, &w.lib);
	assert_int_equal(card_of(&w.l, "prefetch")->evidence.n, 2);
	assert_int_equal(card_of(&w.l, "prefetch")->useful.n, 0);
	close_world(&w);
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
	const struct kl_card_pre *p;
	struct world w;

	open_world(&w, "busy");
	make_lineage(w.r, simple, "one", made[0], 2);
	make_lineage(w.r, simple, "three", made[2], 2);
	lift(&w.l, &w.t, w.r, &w.lib);
	/* two states differ in too much */
	assert_int_equal(card_of(&w.l, "prefetch")->useful.n, 0);
	make_lineage(w.r, simple, "two", made[1], 2);
	again(&w);
	p = useful(card_of(&w.l, "prefetch"), "figure-c");
	assert_non_null(p);
	assert_string_equal(p->test, "sol.dram < 0.8");
	assert_string_equal(p->text,
			    "as measured: faster at sol.dram <= 0.25, not at sol.dram >= 0.8");
	assert_int_equal(p->state, KL_PRE_WITNESSED);
	close_world(&w);
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
	};

	return cmocka_run_group_tests_name("skill_useful", tests, scratch_setup, scratch_teardown);
}
