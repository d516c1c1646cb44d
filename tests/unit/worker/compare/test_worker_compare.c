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
#include "worker/compare/yard.h"

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
	struct one *o = kl_calloc(1, sizeof(*o));
	struct kl_rng r;

	o->f = fx_new();
	fx_arg(o->f, "y", KL_ROLE_OUT, KL_F32, NULL);
	o->m.point = fx_point(o->f, "case0", true);
	fx_extent(&o->f->point[0], 0, 2, R, C);
	o->rule = fx_rule(o->f, kind, 0);
	o->m.truth[0] = o->truth;
	o->m.honest[0] = o->honest;
	kl_rng_seed(&r, 5);
	for (int i = 0; i < N; i++) {
		o->truth[i] = (float)(1 + kl_rng_uniform(&r));
		/* honest errors of one ulp of [1,2), to either side */
		o->honest[i] = (float)o->truth[i] + (i & 1 ? 0x1p-23f : -0x1p-23f);
		o->got[i] = (float)o->truth[i];
		o->absum[i] = 2 * o->truth[i];
	}
	return o;
}

static void one_free(struct one *o)
{
	fx_free(o->f);
	free(o);
}
KL_DEFINE_CLEANUP(struct one *, one_free)

static int judge(struct one *o)
{
	const void *got[KL_JOB_MAX_ARGS] = { o->got };

	return kl_compare(&o->x, &o->f->job, &o->m, got);
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
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_NOISE);

	o->rule->max = 4;
	o->rule->rms = 2;
	assert_passes(o);
	assert_int_equal(o->x.elements, N);
	assert_true(o->x.margin == 0);
	o->truth[777] = o->honest[777] = 1.5;
	o->got[777] = 1.5f + 4 * 0x1p-23f;
	assert_passes(o);
	assert_true(o->x.margin <= 1 && o->x.margin > 0.9);
	o->got[777] = 1.5f + 5 * 0x1p-23f;
	assert_fails_at(o, 777);
	assert_int_equal(o->x.bad, 1);
	assert_true(o->x.margin > 1.1 && o->x.margin < 1.26);
	assert_string_equal(o->x.got, "1.5000006");
	assert_string_equal(o->x.wanted, "1.5");
	assert_contains(o->x.why, "allowed");
}

static void noise_bounds_the_rms(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_NOISE);

	/* every element three times the honest error: below max 4, above rms 2 */
	for (int i = 0; i < N; i++)
		o->got[i] += 3 * 0x1p-23f * (i & 1 ? 1 : -1);
	assert_fails_at(o, 0);
	assert_contains(o->x.why, "rms");
	assert_int_equal(o->x.bad, N);
	assert_true(o->x.margin > 1.4 && o->x.margin < 1.6);
	o->rule->rms = 3.01;
	assert_passes(o);
}

/*
 * Few elements need room for luck: an rms of 2.55 times the honest one fails in one group of 2000
 * and passes in groups of 50.
 */
static void noise_leaves_small_groups_room(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_NOISE);

	for (int i = 0; i < N; i++)
		o->got[i] += 0x1p-23f * (i & 1 ? 3 : -2);
	assert_fails_at(o, 1); /* the first beyond it */
	assert_contains(o->x.why, "rms");
	o->rule->npaxes = 1;
	o->rule->per[0] = 0;
	assert_passes(o);
}

static void noise_floors_at_half_an_ulp(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_NOISE);

	/* honest is exact: only a correctly rounded answer passes */
	for (int i = 0; i < N; i++) {
		o->truth[i] += 0x1p-24;
		o->honest[i] = (float)o->truth[i];
		o->got[i] = (float)o->truth[i];
	}
	assert_passes(o);
	/* nor may a rule ask for more than the dtype can hold */
	o->rule->max = o->rule->rms = 0.5;
	assert_passes(o);
	o->got[3] += 2 * 0x1p-23f;
	assert_fails_at(o, 3);
}

static void noise_groups_are_judged_alone(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_NOISE);

	/* the honest error of row 0 is huge; a like error in row 7 is no noise there */
	for (int i = 0; i < C; i++)
		o->honest[i] += 0.25f;
	o->got[7 * C + 3] += 0.25f;
	assert_passes(o);
	o->rule->npaxes = 1;
	assert_fails_at(o, 7 * C + 3);
	o->got[7 * C + 3] -= 0.25f;
	o->got[2] += 0.25f;
	assert_passes(o);
	o->rule->per[0] = 2;
	assert_int_equal(judge(o), KL_EINVALID);
	o->rule->npaxes = 2;
	o->rule->per[0] = o->rule->per[1] = 0;
	assert_int_equal(judge(o), KL_EINVALID);
}

/* Rows taken eight at a time in columns of ten: groups that lie scattered, the last of five. */
static void groups_may_cut_an_axis(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_REL_L2);

	o->rule->tol = 1e-2;
	o->rule->npaxes = 2;
	o->rule->per[1] = 1;
	o->rule->cut[0] = 15;
	o->rule->cut[1] = 20;
	assert_passes(o);
	assert_int_equal(o->x.elements, N);
	/* group 5 of 3 x 3 is rows 15 to 29, columns 40 to 49: 150 elements of 2000 */
	o->got[16 * C + 41] += 1;
	assert_int_equal(judge(o), KL_ENO);
	assert_int_equal(o->x.index[0], 16);
	assert_int_equal(o->x.index[1], 41);
	assert_contains(o->x.why, "over group 5 of 9");
	/* the same error in the whole is within the bound, and in a group of 300, too, is not */
	o->rule->npaxes = 0;
	o->rule->tol = 2e-2;
	assert_passes(o);
	o->rule->npaxes = 1;
	o->rule->cut[0] = 3;
	assert_int_equal(judge(o), KL_ENO);
	/* columns alone, the second axis first: all rows of one column */
	o->rule->per[0] = 1;
	o->rule->cut[0] = 0;
	o->rule->tol = 1e-1;
	assert_int_equal(judge(o), KL_ENO);
	assert_contains(o->x.why, "over group 41 of 50");
	o->rule->tol = 2e-1;
	assert_passes(o);
}

static void zeros_may_have_to_be_zero(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_REL_L2);

	o->rule->tol = 1e-3;
	o->truth[7] = o->honest[7] = 0;
	o->got[7] = 1e-4f;
	assert_passes(o);
	o->rule->zeros = true;
	assert_fails_at(o, 7);
	assert_int_equal(o->x.bad, 1);
	assert_contains(o->x.why, "not zero where the truth is");
	o->got[7] = -0.0f;
	assert_passes(o);
	o->got[7] = 1e-6f; /* what is left where a sum cancels */
	assert_passes(o);
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
		KL_AUTO(one_freep) struct one *o = one_new(kinds[k]);

		o->rule->ulps = 1;
		o->rule->acc = 32;
		o->rule->tol = 1e-3;
		o->m.absum[0] = o->absum;
		o->got[5] = NAN;
		assert_fails_at(o, 5);
		assert_contains(o->x.got, "(nan)");
		o->got[5] = INFINITY;
		assert_fails_at(o, 5);
		assert_string_equal(o->x.got, "inf");
		/* the truth has them too */
		o->truth[5] = INFINITY;
		o->honest[5] = INFINITY;
		assert_passes(o);
		o->got[5] = -INFINITY;
		assert_fails_at(o, 5);
		o->got[5] = 0x1.fffffep127f;
		assert_fails_at(o, 5);
		o->truth[5] = o->honest[5] = NAN;
		assert_fails_at(o, 5);
		o->got[5] = -NAN;
		assert_passes(o);
		/* beyond the dtype's range is infinity there */
		o->truth[5] = -1e39;
		o->honest[5] = o->got[5] = -INFINITY;
		assert_passes(o);
		/* a NaN in the yardstick must not widen anything */
		o->honest[9] = NAN;
		o->got[8] += 0.5f;
		assert_fails_at(o, 8);
	}
}

static void exact_wants_the_bits(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_EXACT);

	assert_passes(o);
	o->got[N - 1] = nextafterf(o->got[N - 1], 9);
	assert_fails_at(o, N - 1);
	assert_contains(o->x.why, "bit-equal");
	o->truth[N - 1] = 0;
	o->got[N - 1] = -0.0f;
	assert_fails_at(o, N - 1);
	assert_string_equal(o->x.got, "0x80000000 (-0)");
	assert_string_equal(o->x.wanted, "0");
}

static void exact_bands_let_zeros_tie(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_NOISE);

	o->m.exact = true;
	o->truth[4] = 0;
	o->got[4] = -0.0f;
	assert_passes(o);
	o->got[4] = 0x1p-149f;
	assert_fails_at(o, 4);
	o->got[4] = 0;
	o->got[6] = nextafterf(o->got[6], 0);
	assert_fails_at(o, 6);
}

static void elementwise_counts_ulps_and_sums(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_ELEMENTWISE);

	o->m.absum[0] = o->absum;
	o->rule->ulps = 1;
	o->rule->acc = 0;
	o->truth[11] = 1.5;
	o->got[11] = 1.5f + 0x1p-23f;
	assert_passes(o);
	assert_true(o->x.margin == 1);
	o->got[11] = 1.5f + 2 * 0x1p-23f;
	assert_fails_at(o, 11);
	/* one ulp and 16 * 2^-24 * s, s = 0.5: five ulps in all */
	o->rule->acc = 16;
	o->absum[11] = 0.5;
	o->got[11] = 1.5f + 5 * 0x1p-23f;
	assert_passes(o);
	o->got[11] = 1.5f + 6 * 0x1p-23f;
	assert_fails_at(o, 11);
	/* the ulp of a tiny truth is tiny */
	o->truth[12] = 0x1p-100;
	o->absum[12] = 0;
	o->got[12] = 0x1p-100f + 2 * 0x1p-123f;
	o->got[11] = 1.5f;
	assert_fails_at(o, 12);
	o->absum[12] = NAN;
	assert_fails_at(o, 12);
}

static void relative_norm(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_REL_L2);

	o->rule->tol = 1e-3;
	for (int i = 0; i < N; i++)
		o->got[i] = (float)(o->truth[i] * 1.0009);
	assert_passes(o);
	assert_true(o->x.margin > 0.89 && o->x.margin < 0.91);
	for (int i = 0; i < N; i++)
		o->got[i] = (float)(o->truth[i] * 1.0011);
	assert_int_equal(judge(o), KL_ENO);
	assert_contains(o->x.why, "relative l2 error 0.0011");
	/* one row of forty wrong by 0.5 %: lost in the whole, found alone */
	for (int i = 0; i < N; i++)
		o->got[i] = (float)(o->truth[i] * (i / C == 20 ? 1.005 : 1));
	assert_passes(o);
	o->rule->npaxes = 1;
	assert_int_equal(judge(o), KL_ENO);
	assert_int_equal(o->x.index[0], 20);
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
		KL_AUTO(one_freep) struct one *o = one_new(kinds[k]);
		float right[N];

		o->rule->ulps = 1;
		o->rule->acc = 32;
		o->rule->tol = 1e-3;
		o->m.absum[0] = o->absum;
		memcpy(right, o->got, sizeof(right));
		memset(o->got, 0, sizeof(o->got));
		assert_int_equal(judge(o), KL_ENO);
		assert_int_equal(o->x.bad, N);
		assert_false(o->x.edge_only);
		/* two rows swapped */
		memcpy(o->got, right, sizeof(right));
		memcpy(o->got + 3 * C, right + 4 * C, C * sizeof(float));
		memcpy(o->got + 4 * C, right + 3 * C, C * sizeof(float));
		assert_int_equal(judge(o), KL_ENO);
		assert_int_equal(o->x.index[0], 3);
		/* one percent skipped */
		memcpy(o->got, right, sizeof(right));
		memset(o->got + 20 * C, 0, N / 100 * sizeof(float));
		assert_fails_at(o, 20 * C);
		/* shifted by one */
		memcpy(o->got, right + 1, (N - 1) * sizeof(float));
		assert_int_equal(judge(o), KL_ENO);
		assert_int_equal(o->x.index[0], 0);
	}
}

static void edges_are_told_from_all(void **state)
{
	KL_AUTO(one_freep) struct one *o = one_new(KL_RULE_NOISE);

	memset(o->got + (R - 1) * C, 0, C * sizeof(float));
	assert_fails_at(o, (R - 1) * C);
	assert_true(o->x.edge_only);
	for (int i = 0; i < R; i++)
		o->got[i * C + C - 3] = 0;
	assert_fails_at(o, C - 3);
	assert_true(o->x.edge_only);
	o->got[20 * C + 20] = 0;
	assert_fails_at(o, C - 3);
	assert_false(o->x.edge_only);
	/* another point than the case is an edge of the domain */
	o->f->point[0].perf = false;
	assert_fails_at(o, C - 3);
	assert_true(o->x.edge_only);
}

static void halves_and_integers(void **state)
{
	KL_AUTO(fx_freep) struct fixture *f = fx_new();
	struct kl_member m = { .point = fx_point(f, "case0", true) };
	double truth[8];
	float honest[8];
	uint16_t y[8];
	int64_t n[4] = { 1, -2, INT64_MAX, INT64_MAX - 1 }, right[4];
	const void *got[KL_JOB_MAX_ARGS] = { y, right };
	struct kl_mismatch x;

	fx_arg(f, "y", KL_ROLE_OUT, KL_BF16, NULL);
	fx_arg(f, "n", KL_ROLE_OUT, KL_I64, NULL);
	fx_extent(&f->point[0], 0, 1, 8, 0);
	fx_extent(&f->point[0], 1, 1, 4, 0);
	fx_rule(f, KL_RULE_NOISE, 0);
	fx_rule(f, KL_RULE_NOISE, 1);
	for (int i = 0; i < 8; i++) {
		truth[i] = honest[i] = 1 + i / 300.0f;
		kl_tensor_store(y, KL_BF16, (size_t)i, &truth[i], 1);
	}
	memcpy(right, n, sizeof(n));
	m.truth[0] = truth;
	m.honest[0] = honest;
	m.truth[1] = n;
	assert_int_equal(kl_compare(&x, &f->job, &m, got), 0);
	y[6] += 3;
	assert_int_equal(kl_compare(&x, &f->job, &m, got), KL_ENO);
	assert_int_equal(x.index[0], 6);
	y[6] -= 3;
	/* a difference that double cannot see */
	right[3] = INT64_MAX;
	assert_int_equal(kl_compare(&x, &f->job, &m, got), KL_ENO);
	assert_true(x.out == 1 && x.index[0] == 3);
	assert_string_equal(x.got, "9223372036854775807");
	assert_string_equal(x.wanted, "9223372036854775806");
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
	struct select *s = kl_calloc(1, sizeof(*s));
	struct kl_rule *r;

	s->f = fx_new();
	s->m.point = fx_point(s->f, "case0", true);
	fx_arg(s->f, "x", KL_ROLE_IN, KL_F32, NULL);
	fx_arg(s->f, "v", KL_ROLE_OUT, KL_F32, NULL);
	fx_arg(s->f, "i", KL_ROLE_OUT, KL_I32, NULL);
	fx_extent(&s->f->point[0], 0, 2, 2, C);
	fx_extent(&s->f->point[0], 1, 2, 2, K);
	fx_extent(&s->f->point[0], 2, 2, 2, K);
	r = fx_rule(s->f, KL_RULE_MULTISET, 1);
	r->indices = 2;
	r->of = 0;
	s->m.input[0] = s->x;
	s->m.truth[1] = s->truth;
	/* x counts up with a tie in the first row, down with negatives in the second */
	for (int c = 0; c < C; c++) {
		s->x[c] = (float)c;
		s->x[C + c] = -0.25f * (float)c;
	}
	s->x[C - K - 1] = s->x[C - K];
	for (int c = 0; c < K; c++) {
		s->truth[c] = s->x[C - 1 - c];
		s->truth[K + c] = s->x[C + c];
		s->i[c] = C - K + c;
		s->i[K + c] = K - 1 - c;
		s->v[c] = s->x[C - K + c];
		s->v[K + c] = s->x[C + K - 1 - c];
	}
	return s;
}

static void select_free(struct select *s)
{
	fx_free(s->f);
	free(s);
}
KL_DEFINE_CLEANUP(struct select *, select_free)

static int pick(struct select *s)
{
	const void *got[KL_JOB_MAX_ARGS] = { NULL, s->v, s->i };

	return kl_compare(&s->r, &s->f->job, &s->m, got);
}

static void multiset_takes_any_order_and_any_tie(void **state)
{
	KL_AUTO(select_freep) struct select *s = select_new();

	assert_int_equal(pick(s), 0);
	assert_int_equal(s->r.elements, 4 * K);
	s->i[0] = C - K - 1; /* the other of two equals */
	assert_int_equal(pick(s), 0);
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
		{ 4, 5, 5, 1, 4, "in order" },                    /* true pair, too small */
		{ 11, 20, -5, 1, 11, "in order" },
	};

	for (size_t k = 0; k < sizeof(t) / sizeof(*t); k++) {
		KL_AUTO(select_freep) struct select *s = select_new();

		s->i[t[k].at] = t[k].index;
		s->v[t[k].at] = t[k].value;
		assert_int_equal(pick(s), KL_ENO);
		assert_int_equal(s->r.out, t[k].out);
		assert_int_equal(s->r.index[0] * K + s->r.index[1], t[k].where);
		assert_contains(s->r.why, t[k].why);
	}
}

static void multiset_names_what_is_missing(void **state)
{
	KL_AUTO(select_freep) struct select *s = select_new();

	s->v[5] = 7; /* instead of the largest, 49 */
	s->i[5] = 7;
	assert_int_equal(pick(s), KL_ENO);
	assert_string_equal(s->r.got, "7");
	assert_string_equal(s->r.wanted, "49");
}

static void multiset_zeros_tie_but_not_in_place(void **state)
{
	KL_AUTO(select_freep) struct select *s = select_new();

	/* row 1: its largest is -0.0f * 0; put a +0 beside it and take that */
	s->x[C] = -0.0f;
	s->x[C + 30] = 0.0f;
	s->truth[K] = -0.0;
	s->v[2 * K - 1] = 0.0f;
	s->i[2 * K - 1] = 30;
	assert_int_equal(pick(s), 0);
	/* but the sign must be that of the input pointed at */
	s->v[2 * K - 1] = -0.0f;
	assert_int_equal(pick(s), KL_ENO);
	assert_contains(s->r.got, "(-0)");
}

static void multiset_refuses_what_does_not_fit(void **state)
{
	KL_AUTO(select_freep) struct select *s = select_new();

	s->f->job.arg[0].dtype = KL_F64;
	assert_int_equal(pick(s), KL_EINVALID);
}

/* -- speed ---------------------------------------------------------------- */

/* Groups of several pieces each, whose elements lie apart. */
static void pieces_are_put_together_in_order(void **state)
{
	enum { X = 500, Y = 3, Z = 300, M = X * Y * Z };
	KL_AUTO(fx_freep) struct fixture *f = fx_new();
	struct kl_member m = { .point = fx_point(f, "case0", true) };
	KL_AUTO(kl_freep) double *truth = kl_malloc(M * sizeof(*truth));
	KL_AUTO(kl_freep) float *honest = kl_malloc(M * sizeof(*honest));
	KL_AUTO(kl_freep) float *y = kl_malloc(M * sizeof(*y));
	const void *got[KL_JOB_MAX_ARGS] = { y };
	const size_t wrong[] = { ((size_t)450 * Y + 1) * Z + 7, ((size_t)20 * Y + 1) * Z + 250,
				 ((size_t)499 * Y + 2) * Z + 9 }; /* the last on a border */
	struct kl_mismatch x;

	fx_arg(f, "y", KL_ROLE_OUT, KL_F32, NULL);
	fx_extent(&f->point[0], 0, 3, X, Y);
	f->point[0].arg[0].extent[2] = Z;
	fx_rule(f, KL_RULE_NOISE, 0)->tol = 1e-3;
	f->rule[0].ulps = 4;
	f->rule[0].max = 4;
	f->rule[0].rms = 2;
	f->rule[0].npaxes = 1;
	f->rule[0].per[0] = 1;
	for (int i = 0; i < M; i++) {
		truth[i] = sin(i) + 2;
		y[i] = (float)truth[i];
		honest[i] = y[i] + (i & 1 ? 1e-6f : -1e-6f);
	}
	m.truth[0] = m.absum[0] = truth;
	m.honest[0] = honest;
	for (int kind = KL_RULE_NOISE; kind <= KL_RULE_REL_L2; kind++) {
		f->rule[0].kind = (enum kl_rule_kind)kind;
		f->rule[0].npaxes = kind == KL_RULE_NOISE || kind == KL_RULE_REL_L2;
		assert_int_equal(kl_compare(&x, &f->job, &m, got), 0);
		assert_int_equal(x.elements, M);
		for (size_t i = 0; i < KL_ARRAY_SIZE(wrong); i++)
			y[wrong[i]] = NAN;
		assert_int_equal(kl_compare(&x, &f->job, &m, got), KL_ENO);
		assert_int_equal(x.bad, KL_ARRAY_SIZE(wrong));
		assert_false(x.edge_only);
		assert_int_equal((x.index[0] * Y + x.index[1]) * Z + x.index[2], wrong[1]);
		assert_string_equal(x.wanted[0] ? x.why : "",
				    kind == KL_RULE_EXACT ? "must be bit-equal to the truth" :
							    "nan where the truth is a number");
		assert_int_equal(kl_compare_first(&x, &f->job, &m, got), KL_ENO);
		assert_int_equal((x.index[0] * Y + x.index[1]) * Z + x.index[2], wrong[1]);
		for (size_t i = 0; i < KL_ARRAY_SIZE(wrong); i++)
			y[wrong[i]] = (float)truth[wrong[i]];
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

	for (size_t r = 0; r < KL_ARRAY_SIZE(rules); r++) {
		struct kl_groups g;

		assert_ok(kl_groups_init(&g, &rules[r], extent, 3));
		for (size_t k = 0; k < g.count; k++)
			for (size_t skip = 0; skip <= g.size + 1; skip++) {
				struct kl_group_walk a, b;
				size_t x, y, n;
				bool more = true;

				kl_group_start(&a, &g, k);
				for (size_t i = 0; i < skip; i++)
					kl_group_next(&a, &x, &n, 1);
				kl_group_start(&b, &g, k);
				kl_group_skip(&b, skip);
				while (more) {
					more = kl_group_next(&a, &x, &n, 1);
					assert_int_equal(kl_group_next(&b, &y, &n, 1), more);
					if (more)
						assert_int_equal(x, y);
				}
			}
	}
}

/* Every timed call is checked, so a million floats must not cost more than the call. */
static void a_million_floats(void **state)
{
	enum { M = 1 << 20 };
	KL_AUTO(fx_freep) struct fixture *f = fx_new();
	struct kl_member m = { .point = fx_point(f, "case0", true) };
	KL_AUTO(kl_freep) double *truth = kl_malloc(M * sizeof(*truth));
	KL_AUTO(kl_freep) float *honest = kl_malloc(M * sizeof(*honest));
	KL_AUTO(kl_freep) float *y = kl_malloc(M * sizeof(*y));
	const void *got[KL_JOB_MAX_ARGS] = { y };
	struct kl_yard yard;
	struct kl_mismatch x;

	fx_arg(f, "y", KL_ROLE_OUT, KL_F32, NULL);
	fx_extent(&f->point[0], 0, 1, M, 0);
	fx_rule(f, KL_RULE_NOISE, 0)->tol = 1e-3;
	f->rule[0].ulps = 4;
	for (int i = 0; i < M; i++) {
		truth[i] = sin(i);
		y[i] = (float)truth[i];
		honest[i] = y[i] + 1e-7f;
	}
	m.truth[0] = m.absum[0] = truth;
	m.honest[0] = honest;
	for (int kind = KL_RULE_NOISE; kind <= KL_RULE_REL_L2; kind++) {
		int64_t best = INT64_MAX;

		f->rule[0].kind = (enum kl_rule_kind)kind;
		assert_ok(kl_yard_make(&yard, &f->job, 0, &m));
		m.yard = &yard;
		for (int k = 0; k < 9; k++) {
			int64_t t = kl_clock_ns();

			assert_int_equal(kl_compare(&x, &f->job, &m, got), 0);
			t = kl_clock_ns() - t;
			best = t < best ? t : best;
		}
		kl_yard_release(&yard);
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
