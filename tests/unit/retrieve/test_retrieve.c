/* SPDX-License-Identifier: Apache-2.0 */
/* Retrieval against figures worked out by hand. */
#include <math.h>

#include "event_lib.h"
#include "skill_lib.h"

static void test_scores(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("scores");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval retrieval = { 0 };
	struct kl_card *far = card("far", "f", ""), *mixed = card("mixed", "m", ""),
		       *twice = card("twice", "t", "");
	const struct kl_retrieved *retrieved;

	lib_add(&lib, at_home("home", "h", ""));
	tried(far, "topk f32 c cpu/x86-64-v3 rows=1024 cols=1024 k=1024", true);
	lib_add(&lib, far);
	/*
	 * the best row counts: the near one, though it was measured elsewhere, too; two of three
	 * passed
	 */
	tried(mixed, "topk f64 cuda cuda/sm_90 rows=2 cols=2 k=2", true);
	tried(mixed, "conv2d f32 c cpu/x86-64-v3 H=1024 C=1024 F=1024", true);
	tried(mixed, HOME_POINT, false);
	lib_add(&lib, mixed);
	/* what failed is no row */
	tried(twice, HOME_POINT, false);
	lib_add(&lib, twice);
	lib_commit(&lib);
	retrieval = ask(&lib, &other);
	assert_ids(&retrieval, "home mixed far");
	retrieved = find(retrieval.v, retrieval.n, "home");
	assert_int_equal(retrieved->axis[KL_AXIS_CASE], 1000000);
	assert_int_equal(retrieved->axis[KL_AXIS_PRIOR], 1000000);
	assert_int_equal(retrieved->score, 666667); /* 1 * (1+1)/(1+2) */
	assert_int_equal(retrieved->top, 15);
	retrieved = find(retrieval.v, retrieval.n, "mixed");
	/*
	 * gemm and conv2d: contraction, 2*2/(4+4); extents and dtype as they are: 0.25 + 0.3 + 0.2
	 */
	assert_int_equal(retrieved->axis[KL_AXIS_CASE], 750000);
	assert_int_equal(retrieved->score, llround(1e6 * pow(0.75, 0.25) * 3 / 5));
	assert_int_equal(retrieved->row, 0);
	retrieved = find(retrieval.v, retrieval.n, "far");
	/*
	 * the root: 2/7; rows 10 and 0, cols 10 and 10, reduction 10 and 10, batch 0 and 10:
	 * exp(-20/4/2)
	 */
	assert_int_equal(retrieved->axis[KL_AXIS_CASE],
			 (5 * 285714 + 3 * llround(1e6 * exp(-2.5)) + 2000000) / 10);
}

static void test_platform_and_language(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("platform");
	KL_AUTO(kl_target_release) struct kl_target other = target("cuda/sm_80");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval retrieval = { 0 };
	struct kl_card *left = card("async", "a", ""), *other_card = card("wgmma", "b", ""),
		       *none = card("unlisted", "c", "");
	const struct kl_retrieved *retrieved;

	tried(left, "gemm f32 cuda cuda/sm_90 M=1024 N=1024 K=1024", true);
	kl_strvec_push(&left->scope.needs, "cp.async");
	tried(other_card, "gemm f32 cuda cuda/sm_90 M=1024 N=1024 K=1024", true);
	kl_strvec_push(&other_card->scope.needs, "wgmma");
	tried(none, "gemm f32 rust cuda/sm_80 M=1024 N=1024 K=1024", true);
	lib_add(&lib, left);
	lib_add(&lib, other_card);
	lib_add(&lib, none);
	lib_commit(&lib);
	retrieval = ask_opts(
		&lib, &other,
		(struct kl_retrieve_opts){ .statuses = ~0u, .per_axis = 8, .explain = true });
	assert_ids(&retrieval, "async");
	assert_int_equal(retrieval.v[0].axis[KL_AXIS_LANGUAGE], 200000); /* c and cuda */
	assert_int_equal(retrieval.v[0].axis[KL_AXIS_PLATFORM],
			 kl_similarity_platform(tax, "cuda/sm_80", "cuda/sm_90"));
	assert_int_equal(retrieval.ndropped, 2);
	retrieved = find(retrieval.dropped, retrieval.ndropped, "wgmma");
	assert_string_equal(retrieved->why, "platform: lacks wgmma");
	retrieved = find(retrieval.dropped, retrieval.ndropped, "unlisted");
	assert_contains(retrieved->why, "language");
}

static void test_sound(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("sound");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval retrieval = { 0 };
	struct kl_card *other_card;
	const struct kl_retrieved *retrieved;
	char id[32];

	/* true at the case, false at one of `also` */
	lib_add(&lib, other_card = at_home("a-edge", "a", ""));
	sound(other_card, "even", "N % 8 == 0");
	lib_add(&lib, other_card = at_home("fits", "b", ""));
	sound(other_card, "one", "M >= 1");
	sound(other_card, "caps", "cap('avx2.fma') && !cap('wgmma')");
	lib_add(&lib, other_card = at_home("maybe", "c", ""));
	sound(other_card, "who-knows", "trait('tiled')");
	sound(other_card, "nobody", "nonsense_fact > 3");
	/* more that are false than an axis takes: the others move up */
	for (int i = 0; i < 200; i++) {
		snprintf(id, sizeof(id), "bad-%03d", i);
		lib_add(&lib, other_card = at_home(id, "d", ""));
		sound(other_card, "no", i % 2 ? "M >= 2" : "M * K > 100000000");
	}
	lib_add(&lib, other_card = card("worse", "e", ""));
	tried(other_card, "topk f64 c cpu/x86-64-v2 rows=2 cols=2 k=2", true);
	lib_commit(&lib);
	retrieval = ask_opts(
		&lib, &other,
		(struct kl_retrieve_opts){ .statuses = ~0u, .per_axis = 3, .explain = true });
	assert_ids(&retrieval, "fits maybe worse");
	retrieved = find(retrieval.v, retrieval.n, "fits");
	assert_int_equal(retrieved->sound.n, 2);
	assert_int_equal(retrieved->sound.v[0].truth, KL_TRUE);
	retrieved = find(retrieval.v, retrieval.n, "maybe");
	assert_int_equal(retrieved->sound.v[0].truth, KL_UNKNOWN);
	assert_true(retrieval.ndropped > 0);
	retrieved = find(retrieval.dropped, retrieval.ndropped, "a-edge");
	assert_string_equal(retrieved->why, "the sound precondition 'even' is false");
	assert_contains(retrieved->sound.v[0].why, "N = 63");
}

static void test_requires(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("requires");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval retrieval = { 0 }, one = { 0 };
	const struct kl_retrieved *retrieved;
	struct kl_card *card;

	lib_add(&lib, at_home("a-first", "fa", "fb"));
	lib_add(&lib, at_home("b-second", "fb", "trait:fc c-third"));
	lib_add(&lib, card = at_home("c-third", "trait:fc", ""));
	learned(card, "w/n", 7);
	lib_add(&lib, card = at_home("d-deep", "fd", "fa")); /* a b c: three */
	learned(card, "w/n", 2);
	learned(card, "v/n", 9);
	lib_add(&lib, at_home("e-deeper", "fe", "fd")); /* four: too many */
	lib_add(&lib, at_home("f-orphan", "ff", "nobody"));
	lib_add(&lib, at_home("g-loop", "fg", "fh")); /* each stands on the other */
	lib_add(&lib, at_home("h-loop", "fh", "fg"));
	lib_commit(&lib);
	retrieval = ask_opts(
		&lib, &other,
		(struct kl_retrieve_opts){ .statuses = ~0u, .per_axis = 8, .explain = true });
	assert_ids(&retrieval, "c-third b-second a-first d-deep");
	assert_contains(find(retrieval.dropped, retrieval.ndropped, "g-loop")->why, "requires fh");
	assert_int_equal(find(retrieval.v, retrieval.n, "c-third")->axis[KL_AXIS_PRIOR], 1000000);
	assert_int_equal(find(retrieval.v, retrieval.n, "b-second")->axis[KL_AXIS_PRIOR], 500000);
	assert_int_equal(find(retrieval.v, retrieval.n, "a-first")->axis[KL_AXIS_PRIOR], 333333);
	retrieved = find(retrieval.v, retrieval.n, "d-deep");
	assert_int_equal(retrieved->axis[KL_AXIS_PRIOR], 250000);
	assert_int_equal(retrieved->needs.n, 3);
	assert_string_equal(retrieved->needs.v[0], "c-third");
	assert_string_equal(retrieved->needs.v[1], "b-second");
	assert_string_equal(retrieved->needs.v[2], "a-first");
	assert_contains(find(retrieval.dropped, retrieval.ndropped, "e-deeper")->why,
			"requires fd, and no set of 3 cards");
	assert_contains(find(retrieval.dropped, retrieval.ndropped, "f-orphan")->why,
			"requires nobody");
	/* asked for the deepest alone, what it stands on comes before it, and says for whom */
	kl_target_add_prior(&other, "c-third");
	one = ask_opts(&lib, &other,
		       (struct kl_retrieve_opts){ .statuses = ~0u, .per_axis = 8, .limit = 1 });
	assert_int_equal(one.n, 2);
	/* lineages and their steps, in order */
	assert_int_equal(retrieval.npath, 2);
	assert_string_equal(retrieval.path[0].lineage, "v/n");
	assert_string_equal(retrieval.path[1].lineage, "w/n");
	assert_int_equal(retrieval.path[1].n, 2);
	assert_int_equal(retrieval.path[1].v[0].step, 2);
	assert_string_equal(retrieval.path[1].v[0].id, "d-deep");
	assert_string_equal(retrieval.path[1].v[1].id, "c-third");
}

static void test_prior(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("prior");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval retrieval = { 0 }, repair = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *event = event_of(
		json_pack("{s:[s,s],s:{s:s,s:s,s:s}}", "features", "fma", "vec.256", "traits",
			  "tiled", "yes", "packed", "no", "fused", "yes unaudited"),
		false);
	struct kl_card *card;

	/* a trailer says so, the second reader does not */
	kl_target_add_prior(&other, "trait:packed");
	kl_target_add_event(&other, event);
	assert_true(other.measured);
	assert_true(kl_target_has(&other, "vec.256") && kl_target_has(&other, "trait:tiled"));
	assert_false(kl_target_has(&other, "trait:packed") || kl_target_has(&other, "trait:fused"));
	assert_int_equal(kl_target_test(&other, "has('fma') && !has('gather') && trait('tiled')",
					true, NULL),
			 KL_TRUE);
	assert_int_equal(kl_target_test(&other, "trait('fused')", true, NULL), KL_UNKNOWN);
	lib_add(&lib, at_home("there", "fma", ""));
	lib_add(&lib, at_home("partly", "fma new", "vec.256"));
	lib_add(&lib, card = at_home("clash", "x", ""));
	kl_strvec_push(&card->scope.conflicts, "trait:tiled");
	lib_add(&lib, at_home("used", "y", ""));
	kl_target_add_prior(&other, "used");
	lib_commit(&lib);
	retrieval = ask_opts(
		&lib, &other,
		(struct kl_retrieve_opts){ .statuses = ~0u, .per_axis = 8, .explain = true });
	assert_ids(&retrieval, "partly");
	assert_string_equal(find(retrieval.dropped, retrieval.ndropped, "there")->why,
			    "prior: the target already has what the card provides");
	assert_string_equal(find(retrieval.dropped, retrieval.ndropped, "used")->why,
			    "prior: the target already has what the card provides");
	assert_string_equal(find(retrieval.dropped, retrieval.ndropped, "clash")->why,
			    "prior: conflicts with trait:tiled");
	repair = ask_opts(
		&lib, &other,
		(struct kl_retrieve_opts){ .statuses = ~0u, .per_axis = 8, .repair = true });
	assert_ids(&repair, "partly there used");
}

/* A card learned from step `step` of `lineage`. */
static struct kl_card *taught(const char *id, const char *mechanism, const char *lineage,
			      int64_t step)
{
	struct kl_card *made = at_home(id, id, "");

	free(made->mechanism);
	made->mechanism = kl_strdup(mechanism);
	learned(made, lineage, step);
	return made;
}

/*
 * By what came next. The target has tile and pack. `unroll` followed both (3 of 4), `fuse` one of
 * them in a lineage that does not know the other (2 of 3), `spread` nothing (1 of 2). No lineage
 * used tile or pack a second time.
 */
static void test_next(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("next");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval next = { 0 }, paper = { 0 };
	struct kl_retrieve_opts opts = { .statuses = ~0u, .per_axis = 8 };

	lib_add(&lib, taught("tile-a", "tile", "w/one", 1));
	lib_add(&lib, taught("pack-b", "pack", "w/one", 2));
	lib_add(&lib, taught("unroll-c", "unroll", "w/one", 3));
	lib_add(&lib, taught("tile-d", "tile", "w/two", 1));
	lib_add(&lib, taught("fuse-e", "fuse", "w/two", 2));
	lib_add(&lib, taught("spread-f", "spread", "w/three", 1));
	lib_commit(&lib);
	kl_strvec_push(&other.steps, "tile");
	kl_strvec_push(&other.steps, "pack");
	paper = ask_opts(&lib, &other, opts);
	assert_ids(&paper, "fuse-e pack-b spread-f tile-a tile-d unroll-c");
	assert_int_equal(paper.v[0].next, 0);
	opts.order = KL_ORDER_NEXT;
	next = ask_opts(&lib, &other, opts);
	assert_int_equal(next.n, 6);
	assert_string_equal(next.v[0].id, "unroll-c");
	assert_int_equal(next.v[0].next, 750000);
	assert_string_equal(next.v[1].id, "fuse-e");
	assert_int_equal(next.v[1].next, 666666);
	assert_string_equal(next.v[2].id, "spread-f");
	assert_int_equal(next.v[2].next, 500000);
	assert_int_equal(next.v[3].next, 0);
	kl_retrieve_cut(&next, 2);
	assert_ids(&next, "unroll-c fuse-e");
}

/* A mechanism that the target has is listed if a lineage used it once more than the target. */
static void test_next_use(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("use");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval once = { 0 }, twice = { 0 }, all = { 0 };
	struct kl_retrieve_opts opts = { .statuses = ~0u, .per_axis = 8, .order = KL_ORDER_NEXT };
	struct kl_card *pack = taught("pack-a", "pack", "w/one", 1);

	learned(pack, "w/one", 3);
	lib_add(&lib, pack);
	lib_add(&lib, taught("tile-b", "tile", "w/one", 2));
	lib_commit(&lib);
	kl_target_add_prior(&other, "pack-a");
	kl_target_add_prior(&other, "tile-b");
	kl_strvec_push(&other.steps, "pack");
	kl_strvec_push(&other.steps, "tile");
	once = ask_opts(&lib, &other, opts);
	assert_ids(&once, "pack-a");
	assert_int_equal(once.v[0].next, 750000);
	kl_strvec_push(&other.steps, "pack");
	twice = ask_opts(&lib, &other, opts);
	assert_int_equal(twice.n, 0);
	opts.repair = true;
	all = ask_opts(&lib, &other, opts);
	assert_ids(&all, "pack-a tile-b");
}

/*
 * Two lineages of one operator count once. `wide` was the first step for two operators: half the
 * likeness of gemm, and half that of conv2d (0.75, in test_scores).
 */
static void test_next_operators(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("operators");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval next = { 0 };
	struct kl_retrieve_opts opts = { .statuses = ~0u, .per_axis = 8, .order = KL_ORDER_NEXT };
	struct kl_card *again = taught("again-a", "again", "w/one", 1),
		       *conv = card("wide-c", "wide-c", "");

	learned(again, "w/two", 1);
	lib_add(&lib, again);
	lib_add(&lib, taught("wide-b", "wide", "w/three", 1));
	tried(conv, "conv2d f32 c cpu/x86-64-v3 H=1024 C=1024 F=1024", true);
	conv->mechanism = kl_strdup("wide");
	learned(conv, "w/four", 1);
	lib_add(&lib, conv);
	lib_commit(&lib);
	next = ask_opts(&lib, &other, opts);
	assert_ids(&next, "wide-b wide-c again-a");
	assert_int_equal(next.v[0].next, 875000);
	assert_int_equal(next.v[2].next, 500000);
}

/* A card that is known to gain nothing here comes last, whatever came next. */
static void test_next_useful(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("useful");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval next = { 0 };
	struct kl_retrieve_opts opts = { .statuses = ~0u, .per_axis = 8, .order = KL_ORDER_NEXT };
	struct kl_card *first = taught("first-a", "first", "w/one", 1),
		       *unknown = taught("third-c", "third", "w/one", 3);

	useful(first, "small", "M < 1024");
	useful(unknown, "who-knows", "trait('tiled')");
	lib_add(&lib, first);
	lib_add(&lib, taught("second-b", "second", "w/one", 2));
	lib_add(&lib, unknown);
	lib_commit(&lib);
	next = ask_opts(&lib, &other, opts);
	assert_ids(&next, "second-b third-c first-a");
	kl_retrieval_release(&next);
	kl_strvec_push(&other.steps, "second");
	next = ask_opts(&lib, &other, opts);
	assert_ids(&next, "third-c second-b first-a");
}

/* What a card requires does not rule it out, and is said; what it conflicts with does. */
static void test_next_requires(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("requires");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval paper = { 0 }, next = { 0 };
	struct kl_retrieve_opts opts = { .statuses = ~0u, .per_axis = 8 };
	struct kl_card *after = taught("after-a", "after", "w/one", 2),
		       *against = taught("against-b", "against", "w/one", 3);

	kl_strvec_push(&after->scope.requires, "trait:nowhere");
	kl_strvec_push(&against->scope.conflicts, "trait:here");
	lib_add(&lib, after);
	lib_add(&lib, against);
	lib_commit(&lib);
	kl_target_add_prior(&other, "trait:here");
	paper = ask_opts(&lib, &other, opts);
	assert_int_equal(paper.n, 0);
	opts.order = KL_ORDER_NEXT;
	next = ask_opts(&lib, &other, opts);
	assert_ids(&next, "after-a");
	assert_int_equal(next.v[0].lacks.n, 1);
	assert_string_equal(next.v[0].lacks.v[0], "trait:nowhere");
	assert_int_equal(next.v[0].score, 0);
}

/* Add evidence of step 1 of a lineage whose event is that of the row of the operator. */
static void learned_at(struct kl_card *made, const char *lineage, const char *op)
{
	learned(made, lineage, 1);
	for (size_t i = 0; i < made->rows.n; i++)
		if (!strcmp(made->rows.v[i].case_, op)) {
			free(made->evidence.v[0].event);
			made->evidence.v[0].event = kl_strdup(made->rows.v[i].event);
		}
}

/* What a launch plan requires rules a card out only for related operators, until it is witnessed. */
static void test_said(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("said");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval found = { 0 };
	struct kl_card *far = card("far", "f", ""), *near = card("near", "n", ""),
		       *seen = card("seen", "s", "");
	struct kl_card *const made[] = { far, near, seen }, *both;

	tried(far, "topk f32 c cpu/x86-64-v3 rows=64 cols=64 k=8", true);
	tried(near, "conv2d f32 c cpu/x86-64-v3 H=64 C=64 F=64", true);
	tried(seen, "topk f32 c cpu/x86-64-v3 rows=64 cols=64 k=8", true);
	for (size_t i = 0; i < 3; i++) {
		sound(made[i], "plan", "extent(reduction) % 1024 == 0");
		made[i]->sound.v[0].source = kl_strdup("launch.yaml of w/one step 1");
	}
	seen->sound.v[0].state = KL_PRE_WITNESSED;
	seen->sound.v[0].by = kl_strdup(seen->ver.v[0].event);
	seen->sound.v[0].class_ = kl_strdup("wrong-all");
	for (size_t i = 0; i < 3; i++)
		lib_add(&lib, made[i]);
	/* the lineage of the plan counts, whatever else the card was learned from */
	both = card("both", "b", "");
	tried(both, "conv2d f32 c cpu/x86-64-v3 H=64 C=64 F=64", true);
	tried(both, "topk f32 c cpu/x86-64-v3 rows=64 cols=64 k=8", true);
	learned_at(both, "w/one", "topk");
	sound(both, "plan", "extent(reduction) % 1024 == 0");
	both->sound.v[0].source = kl_strdup("launch.yaml of w/one step 1");
	lib_add(&lib, both);
	lib_commit(&lib);
	found = ask_opts(
		&lib, &other,
		(struct kl_retrieve_opts){ .statuses = ~0u, .per_axis = 8, .explain = true });
	assert_ids(&found, "both far");
	assert_int_equal(found.v[0].sound.v[0].truth, KL_UNKNOWN);
	assert_string_equal(find(found.dropped, found.ndropped, "near")->why,
			    "the sound precondition 'plan' is false");
	assert_string_equal(find(found.dropped, found.ndropped, "seen")->why,
			    "the sound precondition 'plan' is false");
}

/* Whether a card of an unrelated operator has anything in common with the target. */
static void test_fit(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("fit");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval found = { 0 };
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;
	struct kl_card *select = card("select", "s", "");
	struct kl_card_find *find;

	tried(select, "topk f32 c cpu/x86-64-v3 rows=64 cols=64 k=8", true);
	KL_GROW(select->anchor.find.v, 1, select->anchor.find.alloc);
	find = &select->anchor.find.v[select->anchor.find.n++];
	*find = (struct kl_card_find){ .language = kl_strdup("c") };
	kl_strvec_push(&find->facts, "call.memset");
	kl_strvec_push(&find->facts, "!vec.256");
	lib_add(&lib, select);
	lib_commit(&lib);
	assert_ok(kl_index_open(&ix, lib.r, tax));
	found = ask(&lib, &other);
	assert_ids(&found, "select");
	/* without a fact: if it is not known, nothing fits; a kernel that was measured is plain */
	assert_ok(kl_retrieve_mark_fit(&found, ix, lib.r, &other, NULL));
	assert_int_equal(found.fit, 0);
	other.measured = true;
	assert_ok(kl_retrieve_mark_fit(&found, ix, lib.r, &other, NULL));
	assert_int_equal(found.fit, 1);
	kl_target_add_prior(&other, "fma.scalar");
	assert_ok(kl_retrieve_mark_fit(&found, ix, lib.r, &other, NULL));
	assert_int_equal(found.fit, 0);
	kl_target_add_prior(&other, "call.memset");
	assert_ok(kl_retrieve_mark_fit(&found, ix, lib.r, &other, NULL));
	assert_int_equal(found.fit, 1);
	kl_target_add_prior(&other, "vec.256");
	assert_ok(kl_retrieve_mark_fit(&found, ix, lib.r, &other, NULL));
	assert_int_equal(found.fit, 0);
}

static void test_status(void **state)
{
	KL_AUTO(lib_release) struct lib lib = lib_new("status");
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3");
	KL_AUTO(kl_retrieval_release) struct kl_retrieval retrieval = { 0 }, all = { 0 };
	struct kl_card *other_card = card("hypothesis", "h", ""),
		       *dead = at_home("retracted", "d", "");
	struct kl_card_row row = {
		.case_ = kl_strdup("gemm"),
		.dtype = kl_strdup("f32"),
		.language = kl_strdup("c"),
		.platform = kl_strdup("cpu/x86-64-v3"),
		.by = KL_ROW_UNVERIFIED,
		.ratio = { 2000000, 0, 0 },
	};

	learned(other_card, "w/n", 1);
	row.event = kl_strdup(other_card->evidence.v[0].event);
	kl_card_dims_add(&row.dims, "M", 1024);
	kl_card_add_row(other_card, &row);
	lib_add(&lib, other_card);
	kl_card_retract(dead, "it was wrong", "A <a@b>", "2026-01-01T00:00:00Z");
	lib_add(&lib, dead);
	lib_add(&lib, at_home("admitted", "a", ""));
	lib_commit(&lib);
	retrieval = ask(&lib, &other);
	assert_ids(&retrieval, "admitted");
	assert_int_equal(retrieval.cards, 1);
	all = ask_opts(&lib, &other,
		       (struct kl_retrieve_opts){ .statuses = 1u << KL_CARD_HYPOTHESIS,
						  .per_axis = 8 });
	assert_ids(&all, "hypothesis");
	assert_int_equal(all.v[0].passed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scores),      cmocka_unit_test(test_platform_and_language),
		cmocka_unit_test(test_sound),       cmocka_unit_test(test_requires),
		cmocka_unit_test(test_prior),       cmocka_unit_test(test_next),
		cmocka_unit_test(test_next_use),    cmocka_unit_test(test_next_operators),
		cmocka_unit_test(test_next_useful), cmocka_unit_test(test_next_requires),
		cmocka_unit_test(test_fit),         cmocka_unit_test(test_said),
		cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
