/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kl_compare against mutants: a right answer is altered in one way, and the
 * comparison must find it where it is, or let it pass where the rule says so.
 */
#include "worker_fixture.h"

#include <math.h>

#include "base/clock.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/compare/compare.h"
#include "worker/compare/group.h"
#include "worker/compare/tolerance.h"

#define R 40
#define C 50
#define N (R * C)

/* One float output y[R,C] with known truth, honest error and absolute sums. */
struct one {
	struct fixture *f;
	struct kl_member m;
	double truth[N], absum[N];
	float honest[N], got[N];
	struct kl_rule *rule;
	struct kl_mismatch x;
};

static struct one *one_new(enum kl_rule_kind kind)
{
	struct one *one = kl_calloc(1, sizeof(*one));
	struct kl_rng rng;

	one->f = fx_new();
	fx_arg(one->f, "y", KL_ARG_OUT, KL_F32, NULL);
	one->m.point = fx_point(one->f, "case0", true);
	fx_extent(&one->f->point[0], 0, 2, R, C);
	one->rule = fx_rule(one->f, kind, 0);
	one->m.truth[0] = one->truth;
	one->m.honest[0] = one->honest;
	kl_rng_seed(&rng, 5);
	for (int i = 0; i < N; i++) {
		one->truth[i] = (float)(1 + kl_rng_uniform(&rng));
		/* honest errors of one ulp of [1,2), to either side */
		one->honest[i] = (float)one->truth[i] + (i & 1 ? 0x1p-23f : -0x1p-23f);
		one->got[i] = (float)one->truth[i];
		one->absum[i] = 2 * one->truth[i];
	}
	return one;
}

static void one_free(struct one *one)
{
	fx_free(one->f);
	free(one);
}
KL_DEFINE_CLEANUP(struct one *, one_free)

static int judge(struct one *one)
{
	const void *got[KL_MAX_ARGS] = { one->got };

	return kl_compare(&one->x, &one->f->job, &one->m, got);
}

#define assert_passes(o)                          \
	do {                                      \
		assert_int_equal(judge(o), 0);    \
		assert_int_equal((o)->x.out, -1); \
	} while (0)

#define assert_fails_at(o, i)                                                 \
	do {                                                                  \
		assert_int_equal(judge(o), KL_ENO);                           \
		assert_int_equal((o)->x.out, 0);                              \
		assert_int_equal((o)->x.index[0] * C + (o)->x.index[1], (i)); \
	} while (0)

static void noise_bounds_the_largest_error(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE);

	one->rule->max = 4;
	one->rule->rms = 2;
	assert_passes(one);
	assert_int_equal(one->x.elements, N);
	assert_true(one->x.margin == 0);
	one->truth[777] = one->honest[777] = 1.5;
	one->got[777] = 1.5f + 4 * 0x1p-23f;
	assert_passes(one);
	assert_true(one->x.margin <= 1 && one->x.margin > 0.9);
	one->got[777] = 1.5f + 5 * 0x1p-23f;
	assert_fails_at(one, 777);
	assert_int_equal(one->x.bad, 1);
	assert_true(one->x.margin > 1.1 && one->x.margin < 1.26);
	assert_string_equal(one->x.got, "1.5000006");
	assert_string_equal(one->x.wanted, "1.5");
	assert_contains(one->x.why, "allowed");
}

static void noise_bounds_the_rms(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE);

	/* every element three times the honest error: below max 4, above rms 2 */
	for (int i = 0; i < N; i++)
		one->got[i] += 3 * 0x1p-23f * (i & 1 ? 1 : -1);
	assert_fails_at(one, 0);
	assert_contains(one->x.why, "rms");
	assert_int_equal(one->x.bad, N);
	assert_true(one->x.margin > 1.4 && one->x.margin < 1.6);
	one->rule->rms = 3.01;
	assert_passes(one);
}

/*
 * Few elements need room for luck: an rms of 2.55 times the honest one fails in one group of 2000
 * and passes in groups of 50.
 */
static void noise_leaves_small_groups_room(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE);

	for (int i = 0; i < N; i++)
		one->got[i] += 0x1p-23f * (i & 1 ? 3 : -2);
	assert_fails_at(one, 1); /* the first beyond it */
	assert_contains(one->x.why, "rms");
	one->rule->npaxes = 1;
	one->rule->per[0] = 0;
	assert_passes(one);
}

static void noise_floors_at_half_an_ulp(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE);

	/* honest is exact: only a correctly rounded answer passes */
	for (int i = 0; i < N; i++) {
		one->truth[i] += 0x1p-24;
		one->honest[i] = (float)one->truth[i];
		one->got[i] = (float)one->truth[i];
	}
	assert_passes(one);
	/* nor may a rule ask for more than the dtype can hold */
	one->rule->max = one->rule->rms = 0.5;
	assert_passes(one);
	one->got[3] += 2 * 0x1p-23f;
	assert_fails_at(one, 3);
}

static void noise_groups_are_judged_alone(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE);

	/* the honest error of row 0 is huge; a like error in row 7 is no noise there */
	for (int i = 0; i < C; i++)
		one->honest[i] += 0.25f;
	one->got[7 * C + 3] += 0.25f;
	assert_passes(one);
	one->rule->npaxes = 1;
	assert_fails_at(one, 7 * C + 3);
	one->got[7 * C + 3] -= 0.25f;
	one->got[2] += 0.25f;
	assert_passes(one);
	one->rule->per[0] = 2;
	assert_int_equal(judge(one), KL_EINVALID);
	one->rule->npaxes = 2;
	one->rule->per[0] = one->rule->per[1] = 0;
	assert_int_equal(judge(one), KL_EINVALID);
}

/* Rows taken eight at a time in columns of ten: groups that lie scattered, the last of five. */
static void groups_may_cut_an_axis(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_REL_L2);

	one->rule->tol = 1e-2;
	one->rule->npaxes = 2;
	one->rule->per[1] = 1;
	one->rule->cut[0] = 15;
	one->rule->cut[1] = 20;
	assert_passes(one);
	assert_int_equal(one->x.elements, N);
	/* group 5 of 3 x 3 is rows 15 to 29, columns 40 to 49: 150 elements of 2000 */
	one->got[16 * C + 41] += 1;
	assert_int_equal(judge(one), KL_ENO);
	assert_int_equal(one->x.index[0], 16);
	assert_int_equal(one->x.index[1], 41);
	assert_contains(one->x.why, "over group 5 of 9");
	/* the same error in the whole is within the bound, and in a group of 300, too, is not */
	one->rule->npaxes = 0;
	one->rule->tol = 2e-2;
	assert_passes(one);
	one->rule->npaxes = 1;
	one->rule->cut[0] = 3;
	assert_int_equal(judge(one), KL_ENO);
	/* columns alone, the second axis first: all rows of one column */
	one->rule->per[0] = 1;
	one->rule->cut[0] = 0;
	one->rule->tol = 1e-1;
	assert_int_equal(judge(one), KL_ENO);
	assert_contains(one->x.why, "over group 41 of 50");
	one->rule->tol = 2e-1;
	assert_passes(one);
}

static void zeros_may_have_to_be_zero(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_REL_L2);

	one->rule->tol = 1e-3;
	one->truth[7] = one->honest[7] = 0;
	one->got[7] = 1e-4f;
	assert_passes(one);
	one->rule->zeros = true;
	assert_fails_at(one, 7);
	assert_int_equal(one->x.bad, 1);
	assert_contains(one->x.why, "not zero where the truth is zero");
	one->got[7] = -0.0f;
	assert_passes(one);
	one->got[7] = 1e-6f; /* what is left where a sum cancels */
	assert_passes(one);
}

static void nan_and_infinity(void **state)
{
	static const enum kl_rule_kind kinds[] = {
		KL_RULE_NOISE,
		KL_RULE_EXACT,
		KL_RULE_ELEMENTWISE,
		KL_RULE_REL_L2,
	};

	for (size_t k = 0; k < 4; k++) {
		KL_AUTO(one_freep) struct one *one = one_new(kinds[k]);

		one->rule->ulps = 1;
		one->rule->acc = 32;
		one->rule->tol = 1e-3;
		one->m.absum[0] = one->absum;
		one->got[5] = NAN;
		assert_fails_at(one, 5);
		assert_contains(one->x.got, "(nan)");
		one->got[5] = INFINITY;
		assert_fails_at(one, 5);
		assert_string_equal(one->x.got, "inf");
		/* the truth has them too */
		one->truth[5] = INFINITY;
		one->honest[5] = INFINITY;
		assert_passes(one);
		one->got[5] = -INFINITY;
		assert_fails_at(one, 5);
		one->got[5] = 0x1.fffffep127f;
		assert_fails_at(one, 5);
		one->truth[5] = one->honest[5] = NAN;
		assert_fails_at(one, 5);
		one->got[5] = -NAN;
		assert_passes(one);
		/* beyond the dtype's range is infinity there */
		one->truth[5] = -1e39;
		one->honest[5] = one->got[5] = -INFINITY;
		assert_passes(one);
		/* a NaN in the honest answer must not widen anything */
		one->honest[9] = NAN;
		one->got[8] += 0.5f;
		assert_fails_at(one, 8);
	}
}

static void exact_wants_the_bits(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_EXACT);

	assert_passes(one);
	one->got[N - 1] = nextafterf(one->got[N - 1], 9);
	assert_fails_at(one, N - 1);
	assert_contains(one->x.why, "bit-equal");
	one->truth[N - 1] = 0;
	one->got[N - 1] = -0.0f;
	assert_fails_at(one, N - 1);
	assert_string_equal(one->x.got, "0x80000000 (-0)");
	assert_string_equal(one->x.wanted, "0");
}

static void exact_bands_let_zeros_tie(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE);

	one->m.exact = true;
	one->truth[4] = 0;
	one->got[4] = -0.0f;
	assert_passes(one);
	one->got[4] = 0x1p-149f;
	assert_fails_at(one, 4);
	one->got[4] = 0;
	one->got[6] = nextafterf(one->got[6], 0);
	assert_fails_at(one, 6);
}

static void elementwise_counts_ulps_and_sums(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_ELEMENTWISE);

	one->m.absum[0] = one->absum;
	one->rule->ulps = 1;
	one->rule->acc = 0;
	one->truth[11] = 1.5;
	one->got[11] = 1.5f + 0x1p-23f;
	assert_passes(one);
	assert_true(one->x.margin == 1);
	one->got[11] = 1.5f + 2 * 0x1p-23f;
	assert_fails_at(one, 11);
	/* one ulp and 16 * 2^-24 * s, s = 0.5: five ulps in all */
	one->rule->acc = 16;
	one->absum[11] = 0.5;
	one->got[11] = 1.5f + 5 * 0x1p-23f;
	assert_passes(one);
	one->got[11] = 1.5f + 6 * 0x1p-23f;
	assert_fails_at(one, 11);
	/* the ulp of a tiny truth is tiny */
	one->truth[12] = 0x1p-100;
	one->absum[12] = 0;
	one->got[12] = 0x1p-100f + 2 * 0x1p-123f;
	one->got[11] = 1.5f;
	assert_fails_at(one, 12);
	one->absum[12] = NAN;
	assert_fails_at(one, 12);
}

static void relative_norm(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_REL_L2);

	one->rule->tol = 1e-3;
	for (int i = 0; i < N; i++)
		one->got[i] = (float)(one->truth[i] * 1.0009);
	assert_passes(one);
	assert_true(one->x.margin > 0.89 && one->x.margin < 0.91);
	for (int i = 0; i < N; i++)
		one->got[i] = (float)(one->truth[i] * 1.0011);
	assert_int_equal(judge(one), KL_ENO);
	assert_contains(one->x.why, "relative l2 error 0.0011");
	/* one row of forty wrong by 0.5 %: lost in the whole, found alone */
	for (int i = 0; i < N; i++)
		one->got[i] = (float)(one->truth[i] * (i / C == 20 ? 1.005 : 1));
	assert_passes(one);
	one->rule->npaxes = 1;
	assert_int_equal(judge(one), KL_ENO);
	assert_int_equal(one->x.index[0], 20);
}

/* Mutants that a whole program might be: all must fail under every rule. */
static void wholesale_mutants(void **state)
{
	static const enum kl_rule_kind kinds[] = {
		KL_RULE_NOISE,
		KL_RULE_EXACT,
		KL_RULE_ELEMENTWISE,
		KL_RULE_REL_L2,
	};

	for (size_t k = 0; k < 4; k++) {
		KL_AUTO(one_freep) struct one *one = one_new(kinds[k]);
		float right[N];

		one->rule->ulps = 1;
		one->rule->acc = 32;
		one->rule->tol = 1e-3;
		one->m.absum[0] = one->absum;
		memcpy(right, one->got, sizeof(right));
		memset(one->got, 0, sizeof(one->got));
		assert_int_equal(judge(one), KL_ENO);
		assert_int_equal(one->x.bad, N);
		assert_false(one->x.edge_only);
		/* two rows swapped */
		memcpy(one->got, right, sizeof(right));
		memcpy(one->got + 3 * C, right + 4 * C, C * sizeof(float));
		memcpy(one->got + 4 * C, right + 3 * C, C * sizeof(float));
		assert_int_equal(judge(one), KL_ENO);
		assert_int_equal(one->x.index[0], 3);
		/* one percent skipped */
		memcpy(one->got, right, sizeof(right));
		memset(one->got + 20 * C, 0, N / 100 * sizeof(float));
		assert_fails_at(one, 20 * C);
		/* shifted by one */
		memcpy(one->got, right + 1, (N - 1) * sizeof(float));
		assert_int_equal(judge(one), KL_ENO);
		assert_int_equal(one->x.index[0], 0);
	}
}

static void edges_are_told_from_all(void **state)
{
	KL_AUTO(one_freep) struct one *one = one_new(KL_RULE_NOISE);

	memset(one->got + (R - 1) * C, 0, C * sizeof(float));
	assert_fails_at(one, (R - 1) * C);
	assert_true(one->x.edge_only);
	for (int i = 0; i < R; i++)
		one->got[i * C + C - 3] = 0;
	assert_fails_at(one, C - 3);
	assert_true(one->x.edge_only);
	one->got[20 * C + 20] = 0;
	assert_fails_at(one, C - 3);
	assert_false(one->x.edge_only);
	/* another point than the case is an edge of the domain */
	one->f->point[0].perf = false;
	assert_fails_at(one, C - 3);
	assert_true(one->x.edge_only);
}

static void halves_and_integers(void **state)
{
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	struct kl_member member = { .point = fx_point(fixture, "case0", true) };
	double truth[8];
	float honest[8];
	uint16_t values[8];
	int64_t n[4] = { 1, -2, INT64_MAX, INT64_MAX - 1 }, right[4];
	const void *got[KL_MAX_ARGS] = { values, right };
	struct kl_mismatch mismatch;

	fx_arg(fixture, "y", KL_ARG_OUT, KL_BF16, NULL);
	fx_arg(fixture, "n", KL_ARG_OUT, KL_I64, NULL);
	fx_extent(&fixture->point[0], 0, 1, 8, 0);
	fx_extent(&fixture->point[0], 1, 1, 4, 0);
	fx_rule(fixture, KL_RULE_NOISE, 0);
	fx_rule(fixture, KL_RULE_NOISE, 1);
	for (int i = 0; i < 8; i++) {
		truth[i] = honest[i] = 1 + i / 300.0f;
		kl_tensor_store(values, KL_BF16, (size_t)i, &truth[i], 1);
	}
	memcpy(right, n, sizeof(n));
	member.truth[0] = truth;
	member.honest[0] = honest;
	member.truth[1] = n;
	assert_int_equal(kl_compare(&mismatch, &fixture->job, &member, got), 0);
	values[6] += 3;
	assert_int_equal(kl_compare(&mismatch, &fixture->job, &member, got), KL_ENO);
	assert_int_equal(mismatch.index[0], 6);
	values[6] -= 3;
	/* a difference that double cannot see */
	right[3] = INT64_MAX;
	assert_int_equal(kl_compare(&mismatch, &fixture->job, &member, got), KL_ENO);
	assert_true(mismatch.out == 1 && mismatch.index[0] == 3);
	assert_string_equal(mismatch.got, "9223372036854775807");
	assert_string_equal(mismatch.wanted, "9223372036854775806");
}

/* -- multiset ------------------------------------------------------------ */

#define K 6

struct select {
	struct fixture *f;
	struct kl_member m;
	double truth[2 * K];
	float x[2 * C], v[2 * K];
	int32_t i[2 * K];
	struct kl_mismatch r;
};

static struct select *select_new(void)
{
	struct select *select = kl_calloc(1, sizeof(*select));
	struct kl_rule *rule;

	select->f = fx_new();
	select->m.point = fx_point(select->f, "case0", true);
	fx_arg(select->f, "x", KL_ARG_IN, KL_F32, NULL);
	fx_arg(select->f, "v", KL_ARG_OUT, KL_F32, NULL);
	fx_arg(select->f, "i", KL_ARG_OUT, KL_I32, NULL);
	fx_extent(&select->f->point[0], 0, 2, 2, C);
	fx_extent(&select->f->point[0], 1, 2, 2, K);
	fx_extent(&select->f->point[0], 2, 2, 2, K);
	rule = fx_rule(select->f, KL_RULE_MULTISET, 1);
	rule->indices = 2;
	rule->of = 0;
	select->m.input[0] = select->x;
	select->m.truth[1] = select->truth;
	/* x counts up with a tie in the first row, down with negatives in the second */
	for (int ch = 0; ch < C; ch++) {
		select->x[ch] = (float)ch;
		select->x[C + ch] = -0.25f * (float)ch;
	}
	select->x[C - K - 1] = select->x[C - K];
	for (int ch = 0; ch < K; ch++) {
		select->truth[ch] = select->x[C - 1 - ch];
		select->truth[K + ch] = select->x[C + ch];
		select->i[ch] = C - K + ch;
		select->i[K + ch] = K - 1 - ch;
		select->v[ch] = select->x[C - K + ch];
		select->v[K + ch] = select->x[C + K - 1 - ch];
	}
	return select;
}

static void select_free(struct select *select)
{
	fx_free(select->f);
	free(select);
}
KL_DEFINE_CLEANUP(struct select *, select_free)

static int pick(struct select *select)
{
	const void *got[KL_MAX_ARGS] = { NULL, select->v, select->i };

	return kl_compare(&select->r, &select->f->job, &select->m, got);
}

static void multiset_takes_any_order_and_any_tie(void **state)
{
	KL_AUTO(select_freep) struct select *select = select_new();

	assert_int_equal(pick(select), 0);
	assert_int_equal(select->r.elements, 4 * K);
	select->i[0] = C - K - 1; /* the other of two equals */
	assert_int_equal(pick(select), 0);
}

static void multiset_mutants(void **state)
{
	static const struct {
		int at, index;
		float value;
		int out, where;
		const char *why;
	} t[] = {
		{ 2, C, 47, 2, 2, "out of range" },
		{ 2, -1, 47, 2, 2, "out of range" },
		{ 8, INT32_MIN, 0, 2, 8, "out of range" },
		{ 3, C - K + 2, 46, 2, 3, "twice" },              /* duplicate */
		{ 3, C - K + 3, 47.5f, 1, 3, "not the input's" }, /* value of no input */
		{ 3, 5, 47, 1, 3, "not the input's" },            /* right value, wrong index */
		{ 4, 5, 5, 1, 4, "sorted, differ" },              /* true pair, too small */
		{ 11, 20, -5, 1, 11, "sorted, differ" },
	};

	for (size_t k = 0; k < sizeof(t) / sizeof(*t); k++) {
		KL_AUTO(select_freep) struct select *select = select_new();

		select->i[t[k].at] = t[k].index;
		select->v[t[k].at] = t[k].value;
		assert_int_equal(pick(select), KL_ENO);
		assert_int_equal(select->r.out, t[k].out);
		assert_int_equal(select->r.index[0] * K + select->r.index[1], t[k].where);
		assert_contains(select->r.why, t[k].why);
	}
}

static void multiset_names_what_is_missing(void **state)
{
	KL_AUTO(select_freep) struct select *select = select_new();

	select->v[5] = 7; /* instead of the largest, 49 */
	select->i[5] = 7;
	assert_int_equal(pick(select), KL_ENO);
	assert_string_equal(select->r.got, "7");
	assert_string_equal(select->r.wanted, "49");
}

static void multiset_zeros_tie_but_not_in_place(void **state)
{
	KL_AUTO(select_freep) struct select *select = select_new();

	/* row 1: its largest is -0.0f * 0; put a +0 beside it and take that */
	select->x[C] = -0.0f;
	select->x[C + 30] = 0.0f;
	select->truth[K] = -0.0;
	select->v[2 * K - 1] = 0.0f;
	select->i[2 * K - 1] = 30;
	assert_int_equal(pick(select), 0);
	/* but the sign must be that of the input pointed at */
	select->v[2 * K - 1] = -0.0f;
	assert_int_equal(pick(select), KL_ENO);
	assert_contains(select->r.got, "(-0)");
}

static void multiset_refuses_what_does_not_fit(void **state)
{
	KL_AUTO(select_freep) struct select *select = select_new();

	select->f->job.arg[0].dtype = KL_F64;
	assert_int_equal(pick(select), KL_EINVALID);
}

/* -- speed ---------------------------------------------------------------- */

/* Groups of several pieces each, whose elements lie apart. */
static void pieces_are_put_together_in_order(void **state)
{
	enum { X = 500, Y = 3, Z = 300, M = X * Y * Z };
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	struct kl_member member = { .point = fx_point(fixture, "case0", true) };
	KL_AUTO(kl_freep) double *truth = kl_malloc(M * sizeof(*truth));
	KL_AUTO(kl_freep) float *honest = kl_malloc(M * sizeof(*honest));
	KL_AUTO(kl_freep) float *values = kl_malloc(M * sizeof(*values));
	const void *got[KL_MAX_ARGS] = { values };
	const size_t wrong[] = { ((size_t)450 * Y + 1) * Z + 7, ((size_t)20 * Y + 1) * Z + 250,
				 ((size_t)499 * Y + 2) * Z + 9 }; /* the last on a border */
	struct kl_mismatch mismatch;

	fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL);
	fx_extent(&fixture->point[0], 0, 3, X, Y);
	fixture->point[0].arg[0].extent[2] = Z;
	fx_rule(fixture, KL_RULE_NOISE, 0)->tol = 1e-3;
	fixture->rule[0].ulps = 4;
	fixture->rule[0].max = 4;
	fixture->rule[0].rms = 2;
	fixture->rule[0].npaxes = 1;
	fixture->rule[0].per[0] = 1;
	for (int i = 0; i < M; i++) {
		truth[i] = sin(i) + 2;
		values[i] = (float)truth[i];
		honest[i] = values[i] + (i & 1 ? 1e-6f : -1e-6f);
	}
	member.truth[0] = member.absum[0] = truth;
	member.honest[0] = honest;
	for (int kind = KL_RULE_NOISE; kind <= KL_RULE_REL_L2; kind++) {
		fixture->rule[0].kind = (enum kl_rule_kind)kind;
		fixture->rule[0].npaxes = kind == KL_RULE_NOISE || kind == KL_RULE_REL_L2;
		assert_int_equal(kl_compare(&mismatch, &fixture->job, &member, got), 0);
		assert_int_equal(mismatch.elements, M);
		for (size_t i = 0; i < KL_ARRAY_SIZE(wrong); i++)
			values[wrong[i]] = NAN;
		assert_int_equal(kl_compare(&mismatch, &fixture->job, &member, got), KL_ENO);
		assert_int_equal(mismatch.bad, KL_ARRAY_SIZE(wrong));
		assert_false(mismatch.edge_only);
		assert_int_equal((mismatch.index[0] * Y + mismatch.index[1]) * Z +
					 mismatch.index[2],
				 wrong[1]);
		assert_string_equal(mismatch.wanted[0] ? mismatch.why : "",
				    kind == KL_RULE_EXACT ? "must be bit-equal to the truth" :
							    "nan where the truth is a number");
		assert_int_equal(kl_compare_first(&mismatch, &fixture->job, &member, got), KL_ENO);
		assert_int_equal((mismatch.index[0] * Y + mismatch.index[1]) * Z +
					 mismatch.index[2],
				 wrong[1]);
		for (size_t i = 0; i < KL_ARRAY_SIZE(wrong); i++)
			values[wrong[i]] = (float)truth[wrong[i]];
	}
}

/* What is left out and what comes then is what an element by element walk says. */
static void a_walk_may_begin_anywhere(void **state)
{
	const struct kl_rule rules[] = {
		{ .npaxes = 0 },
		{ .npaxes = 1, .per = { 1 } },
		{ .npaxes = 1, .per = { 1 }, .cut = { 2 } },
		{ .npaxes = 2, .per = { 0, 2 }, .cut = { 2, 3 } },
		{ .npaxes = 3, .per = { 0, 1, 2 } },
	};
	const int64_t extent[] = { 5, 3, 7 };

	for (size_t row = 0; row < KL_ARRAY_SIZE(rules); row++) {
		struct kl_groups groups;

		assert_ok(kl_groups_init(&groups, &rules[row], extent, 3));
		for (size_t k = 0; k < groups.count; k++)
			for (size_t skip = 0; skip <= groups.size + 1; skip++) {
				struct kl_group_walk left, right;
				size_t value, other, n;
				bool more = true;

				kl_group_start(&left, &groups, k);
				for (size_t i = 0; i < skip; i++)
					kl_group_next(&left, &value, &n, 1);
				kl_group_start(&right, &groups, k);
				kl_group_skip(&right, skip);
				while (more) {
					more = kl_group_next(&left, &value, &n, 1);
					assert_int_equal(kl_group_next(&right, &other, &n, 1),
							 more);
					if (more)
						assert_int_equal(value, other);
				}
			}
	}
}

/* Every timed call is checked, so a million floats must not cost more than the call. */
static void a_million_floats(void **state)
{
	enum { M = 1 << 20 };
	KL_AUTO(fx_freep) struct fixture *fixture = fx_new();
	struct kl_member member = { .point = fx_point(fixture, "case0", true) };
	KL_AUTO(kl_freep) double *truth = kl_malloc(M * sizeof(*truth));
	KL_AUTO(kl_freep) float *honest = kl_malloc(M * sizeof(*honest));
	KL_AUTO(kl_freep) float *values = kl_malloc(M * sizeof(*values));
	const void *got[KL_MAX_ARGS] = { values };
	struct kl_tolerance tolerance;
	struct kl_mismatch mismatch;

	fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL);
	fx_extent(&fixture->point[0], 0, 1, M, 0);
	fx_rule(fixture, KL_RULE_NOISE, 0)->tol = 1e-3;
	fixture->rule[0].ulps = 4;
	for (int i = 0; i < M; i++) {
		truth[i] = sin(i);
		values[i] = (float)truth[i];
		honest[i] = values[i] + 1e-7f;
	}
	member.truth[0] = member.absum[0] = truth;
	member.honest[0] = honest;
	for (int kind = KL_RULE_NOISE; kind <= KL_RULE_REL_L2; kind++) {
		int64_t best = INT64_MAX;

		fixture->rule[0].kind = (enum kl_rule_kind)kind;
		assert_ok(kl_tolerance_make(&tolerance, &fixture->job, 0, &member));
		member.tolerance = &tolerance;
		for (int k = 0; k < 9; k++) {
			int64_t turn = kl_clock_ns();

			assert_int_equal(kl_compare(&mismatch, &fixture->job, &member, got), 0);
			turn = kl_clock_ns() - turn;
			best = turn < best ? turn : best;
		}
		kl_tolerance_release(&tolerance);
		print_message("# 2^20 floats, rule %d: %.2f ms\n", kind, (double)best / 1e6);
#ifndef __SANITIZE_ADDRESS__
		/* far above what it takes, so that a busy machine does not fail this */
		assert_true(best < 30000000);
#endif
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_bounds_the_largest_error),
		cmocka_unit_test(noise_bounds_the_rms),
		cmocka_unit_test(noise_leaves_small_groups_room),
		cmocka_unit_test(noise_floors_at_half_an_ulp),
		cmocka_unit_test(noise_groups_are_judged_alone),
		cmocka_unit_test(groups_may_cut_an_axis),
		cmocka_unit_test(zeros_may_have_to_be_zero),
		cmocka_unit_test(nan_and_infinity),
		cmocka_unit_test(exact_wants_the_bits),
		cmocka_unit_test(exact_bands_let_zeros_tie),
		cmocka_unit_test(elementwise_counts_ulps_and_sums),
		cmocka_unit_test(relative_norm),
		cmocka_unit_test(wholesale_mutants),
		cmocka_unit_test(edges_are_told_from_all),
		cmocka_unit_test(halves_and_integers),
		cmocka_unit_test(multiset_takes_any_order_and_any_tie),
		cmocka_unit_test(multiset_mutants),
		cmocka_unit_test(multiset_names_what_is_missing),
		cmocka_unit_test(multiset_zeros_tie_but_not_in_place),
		cmocka_unit_test(multiset_refuses_what_does_not_fit),
		cmocka_unit_test(pieces_are_put_together_in_order),
		cmocka_unit_test(a_walk_may_begin_anywhere),
		cmocka_unit_test(a_million_floats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
