/* SPDX-License-Identifier: Apache-2.0 */
#include "review/contract_diff.h"

#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "card/predicate.h"
#include "plan/expr.h"

struct pair {
	struct kl_findings *out;
	const struct kl_contract *old, *now;
};

#define ANSWER(p, ...) kl_findings_add((p)->out, KL_ANSWER, __VA_ARGS__)
#define NOTE(p, ...) kl_findings_add((p)->out, KL_NOTE, __VA_ARGS__)

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* --- points ------------------------------------------------------------------- */

static const char *dims_text(struct kl_buf *b, const struct kl_contract *c, const struct kl_dims *d)
{
	kl_buf_clear(b);
	for (size_t i = 0; i < d->n; i++)
		kl_buf_addf(b, "%s%s: %lld", i ? ", " : "", c->dim_name[i], (long long)d->v[i]);
	return b->ptr;
}

/* Dims of both are found by name. */
static bool same_point(const struct pair *p, const struct kl_dims *a, const struct kl_dims *b)
{
	for (size_t i = 0; i < a->n; i++) {
		bool same = false;

		for (size_t k = 0; k < b->n; k++)
			same |= !strcmp(p->old->dim_name[i], p->now->dim_name[k]) &&
				a->v[i] == b->v[k];
		if (!same)
			return false;
	}
	return a->n == b->n;
}

static void diff_case(struct pair *p)
{
	KL_AUTO(kl_buf_release) struct kl_buf a = KL_BUF_INIT, b = KL_BUF_INIT;

	if (strcmp(p->old->op, p->now->op))
		ANSWER(p, "op", "the operator is %s, before %s", p->now->op, p->old->op);
	if (same_point(p, &p->old->dims, &p->now->dims))
		return;
	dims_text(&a, p->old, &p->old->dims);
	dims_text(&b, p->now, &p->now->dims);
	for (size_t i = 0; i < p->old->dims.n; i++) {
		for (size_t k = 0; k < p->now->dims.n; k++)
			if (!strcmp(p->old->dim_name[i], p->now->dim_name[k]) &&
			    p->now->dims.v[k] < p->old->dims.v[i]) {
				ANSWER(p, "dims-narrowed", "the case is smaller: %s, before %s",
				       b.ptr, a.ptr);
				return;
			}
	}
	ANSWER(p, "dims-changed", "the case is %s, before %s", b.ptr, a.ptr);
}

static const struct kl_perf_case *find_perf(const struct pair *p, const struct kl_perf_case *a)
{
	for (size_t i = 0; i < p->now->nperf; i++)
		if (same_point(p, &a->dims, &p->now->perf[i].dims))
			return &p->now->perf[i];
	return NULL;
}

static void diff_cases(struct pair *p)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < p->old->nperf; i++) {
		const struct kl_perf_case *a = &p->old->perf[i], *now = find_perf(p, a);

		dims_text(&b, p->old, &a->dims);
		if (!now) {
			ANSWER(p, "case-removed", "a case is no longer measured: %s", b.ptr);
			continue;
		}
		if (a->weight != now->weight)
			ANSWER(p, "case-weight", "the weight of the case %s is %d, before %d",
			       b.ptr, now->weight, a->weight);
		if (a->hot != now->hot)
			ANSWER(p, "case-rank", "the case %s is measured %w, before %w", b.ptr,
			       now->hot ? "hot" : "cold", a->hot ? "hot" : "cold");
	}
	for (size_t i = 0; i < p->now->nperf; i++) {
		bool known = false;

		for (size_t k = 0; k < p->old->nperf; k++)
			known |= same_point(p, &p->old->perf[k].dims, &p->now->perf[i].dims);
		if (!known)
			NOTE(p, "case-added", "a case more is measured: %s",
			     dims_text(&b, p->now, &p->now->perf[i].dims));
	}
}

static void diff_also(struct pair *p)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	for (size_t i = 0; i < p->old->nalso; i++) {
		bool there = false;

		for (size_t k = 0; k < p->now->nalso; k++)
			there |= same_point(p, &p->old->also[i], &p->now->also[k]);
		if (!there)
			ANSWER(p, "also-removed", "a shape of 'also' is no longer checked: %s",
			       dims_text(&b, p->old, &p->old->also[i]));
	}
	for (size_t k = 0; k < p->now->nalso; k++) {
		bool known = false;

		for (size_t i = 0; i < p->old->nalso; i++)
			known |= same_point(p, &p->old->also[i], &p->now->also[k]);
		if (!known)
			NOTE(p, "also-added", "a shape more is checked: %s",
			     dims_text(&b, p->now, &p->now->also[k]));
	}
}

/* --- domain ---------------------------------------------------------------------- */

/* All of a domain as one condition; NULL: there is none, so everything is in it. */
static struct kl_predicate *whole_domain(const struct kl_contract *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	struct kl_predicate *p = NULL;

	for (size_t i = 0; i < c->ndomain; i++)
		kl_buf_addf(&b, "%s(%s)", i ? " && " : "", c->domain_text[i]);
	if (b.len && kl_predicate_parse(&p, b.ptr, NULL) < 0)
		kl_error_clear();
	return p;
}

/*
 * Does one condition of a domain follow from the whole of the other? Too long to compare: by its
 * text.
 */
static bool follows_from(const struct kl_contract *from, const struct kl_predicate *whole,
			 const char *text)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *part = NULL;

	for (size_t i = 0; i < from->ndomain; i++)
		if (!strcmp(from->domain_text[i], text))
			return true;
	if (!whole || kl_predicate_parse(&part, text, NULL) < 0) {
		kl_error_clear();
		return false;
	}
	switch (kl_predicate_relation(whole, part, NULL)) {
	case KL_RELATION_SAME:
	case KL_RELATION_WEAKER:
		return true;
	default:
		return false;
	}
}

static void diff_domain(struct pair *p)
{
	KL_AUTO(kl_predicate_freep)
	struct kl_predicate *old = whole_domain(p->old), *now = whole_domain(p->now);

	for (size_t i = 0; i < p->now->ndomain; i++)
		if (!follows_from(p->old, old, p->now->domain_text[i]))
			ANSWER(p, "domain-narrowed", "the domain is narrower: it asks for %s",
			       p->now->domain_text[i]);
	for (size_t i = 0; i < p->old->ndomain; i++)
		if (!follows_from(p->now, now, p->old->domain_text[i]))
			NOTE(p, "domain-widened", "the domain is wider: it no longer asks for %s",
			     p->old->domain_text[i]);
}

/* --- inputs ------------------------------------------------------------------------ */

static const char *json_text(struct kl_buf *b, const json_t *j)
{
	kl_buf_clear(b);
	if (j)
		kl_json_decimal(b, j, false);
	return b->ptr;
}

static bool fill_range(double *lo, double *hi, const json_t *fill, const char *kind)
{
	const json_t *r = json_object_get(fill, kind);

	if (!json_is_array(r) || json_array_size(r) != 2 || json_object_size(fill) != 1)
		return false;
	*lo = json_number_value(json_array_get(r, 0));
	*hi = json_number_value(json_array_get(r, 1));
	return true;
}

/* Is every input that the old fill gives one that the new one may give, too? */
static bool is_wider(const json_t *a, const json_t *b)
{
	static const char *const kinds[] = { "ints", "uniform" };
	double lo, hi, low, high;

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (fill_range(&lo, &hi, a, kinds[i]) && fill_range(&low, &high, b, kinds[i]))
			return low <= lo && high >= hi;
	/* mean, sd */
	return fill_range(&lo, &hi, a, "normal") && fill_range(&low, &high, b, "normal") &&
	       lo == low && high >= hi;
}

static const char *const kind_words[] = { "dim", "scalar", "in", "out", "inout" };

static void diff_arg(struct pair *p, const struct kl_arg *a, const struct kl_arg *b)
{
	KL_AUTO(kl_buf_release) struct kl_buf x = KL_BUF_INIT, y = KL_BUF_INIT;

	if (a->kind != b->kind || strcmp(a->dtype, b->dtype))
		ANSWER(p, "arg-changed", "the argument %s is %w %s, before %w %s", a->name,
		       kind_words[b->kind], b->dtype, kind_words[a->kind], a->dtype);
	if (a->kind == KL_ARG_SCALAR && b->kind == KL_ARG_SCALAR && a->value != b->value) {
		kl_buf_addf(&x, "%.12g", a->value);
		kl_buf_addf(&y, "%.12g", b->value);
		ANSWER(p, "arg-value", "the argument %s has the value %w, before %w", a->name,
		       y.ptr, x.ptr);
	}
	if ((a->fill || b->fill) && !json_equal(a->fill, b->fill)) {
		json_text(&x, a->fill);
		json_text(&y, b->fill);
		if (a->fill && b->fill && is_wider(a->fill, b->fill))
			NOTE(p, "input-widened", "the input %s is drawn more widely: %s, before %s",
			     a->name, y.ptr, x.ptr);
		else
			ANSWER(p, "input-narrowed",
			       "the input %s is drawn otherwise: %s, before %s", a->name, y.ptr,
			       x.ptr);
	}
	if (a->sweep && !b->sweep)
		ANSWER(p, "sweep-removed", "the input %s is no longer scaled up and down (sweep)",
		       a->name);
	else if (!a->sweep && b->sweep)
		NOTE(p, "sweep-added", "the input %s is scaled up and down, too (sweep)", a->name);
}

/* Shapes are compared by their extents, wherever both contracts have a point. */
static void diff_shape(struct pair *p, size_t i, size_t k)
{
	const struct kl_arg *a = &p->old->arg[i], *b = &p->now->arg[k];
	bool same = a->naxes == b->naxes;

	for (size_t n = 0; same && n < kl_contract_npoints(p->old); n++) {
		const struct kl_dims *d = kl_contract_point(p->old, n, NULL);
		int64_t x[KL_MAX_AXES], y[KL_MAX_AXES];

		same = p->old->dims.n == p->now->dims.n;
		for (size_t m = 0; same && m < d->n; m++)
			same = !strcmp(p->old->dim_name[m], p->now->dim_name[m]);
		if (same && !kl_contract_shape(x, p->old, i, d))
			same = !kl_contract_shape(y, p->now, k, d) &&
			       !memcmp(x, y, a->naxes * sizeof(*x));
		kl_error_clear();
	}
	if (!same)
		ANSWER(p, "arg-shape", "the argument %s has another shape", a->name);
}

static void diff_args(struct pair *p)
{
	bool order = false;

	for (size_t i = 0; i < p->old->nargs; i++) {
		int k = kl_contract_arg(p->now, p->old->arg[i].name);

		if (k < 0) {
			ANSWER(p, "arg-removed", "the argument %s is gone", p->old->arg[i].name);
			continue;
		}
		order |= (size_t)k != i && p->old->nargs == p->now->nargs;
		diff_arg(p, &p->old->arg[i], &p->now->arg[k]);
		if (p->old->arg[i].naxes || p->now->arg[k].naxes)
			diff_shape(p, i, (size_t)k);
	}
	for (size_t i = 0; i < p->now->nargs; i++)
		if (kl_contract_arg(p->old, p->now->arg[i].name) < 0)
			ANSWER(p, "arg-added", "there is a further argument %s",
			       p->now->arg[i].name);
	if (order)
		ANSWER(p, "arg-order", "the arguments come in another order");
}

/* --- what is accepted ----------------------------------------------------------------- */

static const json_t *rule_for(const struct kl_contract *c, const json_t *like)
{
	const char *out = kl_json_str_or(like, "out", kl_json_str_or(like, "values", ""));
	size_t i;
	json_t *r;

	json_array_foreach(c->accept, i, r)
		if (!strcmp(kl_json_str_or(r, "out", kl_json_str_or(r, "values", "")), out))
			return r;
	return NULL;
}

static void diff_factor(struct pair *p, const json_t *a, const json_t *b, const char *out,
			const char *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf x = KL_BUF_INIT, y = KL_BUF_INIT;
	double old = kl_json_num_or(a, key, 0), now = kl_json_num_or(b, key, 0);

	kl_buf_addf(&x, "%.12g", old);
	kl_buf_addf(&y, "%.12g", now);
	if (now > old)
		ANSWER(p, "tolerance-loosened", "the tolerance of %s is looser: %w %w, before %w",
		       out, key, y.ptr, x.ptr);
	else if (now < old)
		NOTE(p, "tolerance-tightened", "the tolerance of %s is tighter: %w %w, before %w",
		     out, key, y.ptr, x.ptr);
}

static void diff_rule(struct pair *p, const json_t *a, const json_t *b)
{
	static const char *const factors[] = { "max", "rms", "ulps", "acc", "tol" };
	KL_AUTO(kl_buf_release) struct kl_buf x = KL_BUF_INIT, y = KL_BUF_INIT;
	const char *old = kl_json_str_or(a, "rule", ""), *now = kl_json_str_or(b, "rule", "");
	const char *out = kl_json_str_or(a, "out", kl_json_str_or(a, "values", ""));

	if (json_equal(a, b))
		return;
	if (strcmp(old, now)) {
		if (!strcmp(now, "exact"))
			NOTE(p, "tolerance-tightened", "%s is to be exact, before the rule was %s",
			     out, old);
		else
			ANSWER(p, "tolerance-changed",
			       "%s is judged by another rule: %s, before %s", out, json_text(&y, b),
			       json_text(&x, a));
		return;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(factors); i++)
		diff_factor(p, a, b, out, factors[i]);
	if (kl_json_bool_or(a, "zeros", false) && !kl_json_bool_or(b, "zeros", false))
		ANSWER(p, "tolerance-loosened", "the zeros of %s need not be zeros any more", out);
	json_text(&x, json_object_get(a, "per"));
	json_text(&y, json_object_get(b, "per"));
	if (strcmp(x.ptr, y.ptr))
		ANSWER(p, "tolerance-groups", "%s is judged in other groups: per %s, before %s",
		       out, y.ptr, x.ptr);
	if (!same_text(kl_json_str_or(a, "of", NULL), kl_json_str_or(b, "of", NULL)) ||
	    !same_text(kl_json_str_or(a, "indices", NULL), kl_json_str_or(b, "indices", NULL)))
		ANSWER(p, "tolerance-changed", "%s is judged by another rule: %s, before %s", out,
		       json_text(&y, b), json_text(&x, a));
}

static void diff_accept(struct pair *p)
{
	size_t i;
	json_t *a;

	json_array_foreach(p->old->accept, i, a) {
		const json_t *b = rule_for(p->now, a);

		if (b)
			diff_rule(p, a, b);
		else
			ANSWER(p, "tolerance-removed", "no rule judges %s any more",
			       kl_json_str_or(a, "out", kl_json_str_or(a, "values", "")));
	}
}

static bool has_json(const json_t *list, const json_t *what)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
		if (json_equal(v, what))
			return true;
	return false;
}

static void diff_bands(struct pair *p, const json_t *old, const json_t *now, const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	size_t i;
	json_t *v;

	json_array_foreach(old, i, v)
		if (!has_json(now, v))
			ANSWER(p, "band-removed", "a band of '%w' is gone, or is another one: %s",
			       what, json_text(&b, v));
	json_array_foreach(now, i, v)
		if (!has_json(old, v))
			NOTE(p, "band-added", "a band of '%w' is new: %s", what, json_text(&b, v));
}

/* --- the yardstick ----------------------------------------------------------------------- */

static const struct kl_file *find_file(const struct kl_file *f, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(f[i].path, path))
			return &f[i];
	return NULL;
}

static void diff_oracle(struct pair *p, const struct kl_surface *old, const struct kl_surface *now)
{
	if (!same_text(p->old->oracle_entry, p->now->oracle_entry) ||
	    !same_text(p->old->oracle_launch, p->now->oracle_launch))
		ANSWER(p, "oracle-changed", "the oracle is entered otherwise: by %s, before by %s",
		       p->now->oracle_entry ? p->now->oracle_entry : p->now->oracle_launch,
		       p->old->oracle_entry ? p->old->oracle_entry : p->old->oracle_launch);
	for (size_t i = 0; i < old->noracle; i++) {
		const struct kl_file *a = &old->oracle[i],
				     *b = find_file(now->oracle, now->noracle, a->path);

		if (!b)
			ANSWER(p, "oracle-changed", "the oracle's file %s is gone", a->path);
		else if (a->len != b->len || memcmp(a->data, b->data, a->len) || a->mode != b->mode)
			ANSWER(p, "oracle-changed",
			       "the oracle changed: its file %s has other contents", a->path);
	}
	for (size_t i = 0; i < now->noracle; i++)
		if (!find_file(old->oracle, old->noracle, now->oracle[i].path))
			ANSWER(p, "oracle-changed", "the oracle changed: its file %s is new",
			       now->oracle[i].path);
}

/* The floor at the case: 0 where there is none. */
static int64_t floor_at(const struct kl_contract *c, const struct kl_expr *e, bool automatic)
{
	int64_t v = 0;

	if (automatic ? kl_contract_bytes(&v, c, &c->dims) < 0 :
			!e || kl_expr_eval(&v, e, c->dims.v) < 0)
		v = 0;
	kl_error_clear();
	return v;
}

static void diff_limit(struct pair *p, const char *what, int64_t old, int64_t now)
{
	if (now > old)
		ANSWER(p, "limit-raised", "%w: %d, before %d", what, now, old);
	else if (now < old)
		NOTE(p, "limit-lowered", "%w: %d, before %d", what, now, old);
}

static void diff_floor(struct pair *p, const char *what, int64_t old, int64_t now)
{
	if (now < old)
		ANSWER(p, "floor-lowered", "the floor of %w at the case is %d, before %d", what,
		       now, old);
	else if (now > old)
		NOTE(p, "floor-raised", "the floor of %w at the case is %d, before %d", what, now,
		     old);
}

static void diff_yardstick(struct pair *p)
{
	const struct kl_contract *a = p->old, *b = p->now;

	if (a->deterministic && !b->deterministic)
		ANSWER(p, "determinism-dropped",
		       "the same input need not give the same bits any more");
	else if (!a->deterministic && b->deterministic)
		NOTE(p, "determinism-added", "the same input must give the same bits");
	if (a->baseline && !b->baseline)
		ANSWER(p, "baseline-dropped", "it is no longer compared with the baseline %s",
		       a->baseline);
	else if (!same_text(a->baseline, b->baseline) && a->baseline)
		ANSWER(p, "baseline-changed", "the baseline is %s, before %s", b->baseline,
		       a->baseline);
	else if (!same_text(a->baseline, b->baseline))
		NOTE(p, "baseline-added", "it is compared with the baseline %s", b->baseline);
	diff_floor(p, "bytes", floor_at(a, a->floor.bytes, a->floor.bytes_auto),
		   floor_at(b, b->floor.bytes, b->floor.bytes_auto));
	diff_floor(p, "operations", floor_at(a, a->floor.flops, false),
		   floor_at(b, b->floor.flops, false));
	diff_limit(p, "MiB that a kernel may allocate", a->arena_mib, b->arena_mib);
	diff_limit(p, "seconds that a call may take", a->call_s, b->call_s);
}

static void diff_surface(struct pair *p)
{
	const struct kl_contract *a = p->old, *b = p->now;

	if (strcmp(a->workload, b->workload))
		ANSWER(p, "workload-renamed",
		       "the workload is called %s, before %s: verdicts and lineages of the "
		       "old name are not its own",
		       b->workload, a->workload);
	if (strcmp(a->language->name, b->language->name) || !same_text(a->entry, b->entry))
		ANSWER(p, "surface-changed", "what is judged is another thing: %s %s, before %s %s",
		       b->language->name, b->entry, a->language->name, a->entry);
	if (!kl_backend_of(a)->walled && kl_backend_of(b)->walled)
		ANSWER(p, "tier-lowered",
		       "the kernel may run host code of its own: its tier is host-sandboxed, "
		       "not device-only");
	for (size_t i = 0; i < b->flags.n; i++)
		if (!kl_strvec_has(&a->flags, b->flags.v[i]))
			NOTE(p, "flag-added", "it is compiled with %s", b->flags.v[i]);
	for (size_t i = 0; i < a->flags.n; i++)
		if (!kl_strvec_has(&b->flags, a->flags.v[i]))
			NOTE(p, "flag-removed", "it is no longer compiled with %s", a->flags.v[i]);
	for (size_t i = 0; i < a->sources.n; i++)
		if (!kl_strvec_has(&b->sources, a->sources.v[i]))
			NOTE(p, "source-removed", "%s is no longer one of its sources",
			     a->sources.v[i]);
	for (size_t i = 0; i < b->sources.n; i++)
		if (!kl_strvec_has(&a->sources, b->sources.v[i]))
			NOTE(p, "source-added", "%s is one of its sources", b->sources.v[i]);
}

void kl_contract_diff(struct kl_findings *out, const struct kl_surface *old,
		      const struct kl_surface *now)
{
	struct pair p = { .out = out, .old = old->contract, .now = now->contract };

	diff_surface(&p);
	diff_case(&p);
	diff_domain(&p);
	diff_cases(&p);
	diff_also(&p);
	diff_args(&p);
	diff_accept(&p);
	diff_bands(&p, p.old->exact, p.now->exact, "exact");
	diff_bands(&p, p.old->bands, p.now->bands, "bands");
	diff_oracle(&p, old, now);
	diff_yardstick(&p);
}
