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

static bool same_text(const char *left, const char *right)
{
	return left && right ? !strcmp(left, right) : left == right;
}

/* --- points ------------------------------------------------------------------- */

static const char *dims_text(struct kl_buf *buf, const struct kl_contract *contract,
			     const struct kl_dims *dims)
{
	kl_buf_clear(buf);
	for (size_t i = 0; i < dims->n; i++)
		kl_buf_addf(buf, "%s%s: %lld", i ? ", " : "", contract->dim_name[i],
			    (long long)dims->v[i]);
	return buf->ptr;
}

/* Dims of both are found by name. */
static bool same_point(const struct pair *pair, const struct kl_dims *left,
		       const struct kl_dims *right)
{
	for (size_t i = 0; i < left->n; i++) {
		bool same = false;

		for (size_t k = 0; k < right->n; k++)
			same |= !strcmp(pair->old->dim_name[i], pair->now->dim_name[k]) &&
				left->v[i] == right->v[k];
		if (!same)
			return false;
	}
	return left->n == right->n;
}

static void diff_case(struct pair *pair)
{
	KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT, right = KL_BUF_INIT;

	if (strcmp(pair->old->op, pair->now->op))
		ANSWER(pair, "op", "the operator is %s, before %s", pair->now->op, pair->old->op);
	if (same_point(pair, &pair->old->dims, &pair->now->dims))
		return;
	dims_text(&left, pair->old, &pair->old->dims);
	dims_text(&right, pair->now, &pair->now->dims);
	for (size_t i = 0; i < pair->old->dims.n; i++) {
		for (size_t k = 0; k < pair->now->dims.n; k++)
			if (!strcmp(pair->old->dim_name[i], pair->now->dim_name[k]) &&
			    pair->now->dims.v[k] < pair->old->dims.v[i]) {
				ANSWER(pair, "dims-narrowed", "the case is smaller: %s, before %s",
				       right.ptr, left.ptr);
				return;
			}
	}
	ANSWER(pair, "dims-changed", "the case is %s, before %s", right.ptr, left.ptr);
}

static const struct kl_perf_case *find_perf(const struct pair *pair,
					    const struct kl_perf_case *perf_case)
{
	for (size_t i = 0; i < pair->now->nperf; i++)
		if (same_point(pair, &perf_case->dims, &pair->now->perf[i].dims))
			return &pair->now->perf[i];
	return NULL;
}

static void diff_cases(struct pair *pair)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < pair->old->nperf; i++) {
		const struct kl_perf_case *perf_case = &pair->old->perf[i],
					  *now = find_perf(pair, perf_case);

		dims_text(&buf, pair->old, &perf_case->dims);
		if (!now) {
			ANSWER(pair, "case-removed", "a case is no longer measured: %s", buf.ptr);
			continue;
		}
		if (perf_case->weight != now->weight)
			ANSWER(pair, "case-weight", "the weight of the case %s is %d, before %d",
			       buf.ptr, now->weight, perf_case->weight);
		if (perf_case->hot != now->hot)
			ANSWER(pair, "case-rank", "the case %s is measured %w, before %w", buf.ptr,
			       now->hot ? "hot" : "cold", perf_case->hot ? "hot" : "cold");
	}
	for (size_t i = 0; i < pair->now->nperf; i++) {
		bool known = false;

		for (size_t k = 0; k < pair->old->nperf; k++)
			known |= same_point(pair, &pair->old->perf[k].dims,
					    &pair->now->perf[i].dims);
		if (!known)
			NOTE(pair, "case-added", "a case more is measured: %s",
			     dims_text(&buf, pair->now, &pair->now->perf[i].dims));
	}
}

static void diff_also(struct pair *pair)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < pair->old->nalso; i++) {
		bool there = false;

		for (size_t k = 0; k < pair->now->nalso; k++)
			there |= same_point(pair, &pair->old->also[i], &pair->now->also[k]);
		if (!there)
			ANSWER(pair, "also-removed", "a shape of 'also' is no longer checked: %s",
			       dims_text(&buf, pair->old, &pair->old->also[i]));
	}
	for (size_t k = 0; k < pair->now->nalso; k++) {
		bool known = false;

		for (size_t i = 0; i < pair->old->nalso; i++)
			known |= same_point(pair, &pair->old->also[i], &pair->now->also[k]);
		if (!known)
			NOTE(pair, "also-added", "a shape more is checked: %s",
			     dims_text(&buf, pair->now, &pair->now->also[k]));
	}
}

/* --- domain ---------------------------------------------------------------------- */

/* All of a domain as one condition; NULL: there is none, so everything is in it. */
static struct kl_predicate *whole_domain(const struct kl_contract *contract)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_predicate *predicate = NULL;

	for (size_t i = 0; i < contract->ndomain; i++)
		kl_buf_addf(&buf, "%s(%s)", i ? " && " : "", contract->domain_text[i]);
	if (buf.len && kl_predicate_parse(&predicate, buf.ptr, NULL) < 0)
		kl_error_clear();
	return predicate;
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

static void diff_domain(struct pair *pair)
{
	KL_AUTO(kl_predicate_freep)
	struct kl_predicate *old = whole_domain(pair->old), *now = whole_domain(pair->now);

	for (size_t i = 0; i < pair->now->ndomain; i++)
		if (!follows_from(pair->old, old, pair->now->domain_text[i]))
			ANSWER(pair, "domain-narrowed", "the domain is narrower: it asks for %s",
			       pair->now->domain_text[i]);
	for (size_t i = 0; i < pair->old->ndomain; i++)
		if (!follows_from(pair->now, now, pair->old->domain_text[i]))
			NOTE(pair, "domain-widened",
			     "the domain is wider: it no longer asks for %s",
			     pair->old->domain_text[i]);
}

/* --- inputs ------------------------------------------------------------------------ */

static const char *json_text(struct kl_buf *buf, const json_t *value)
{
	kl_buf_clear(buf);
	if (value)
		kl_json_decimal(buf, value, false);
	return buf->ptr;
}

static bool fill_range(double *lo, double *hi, const json_t *fill, const char *kind)
{
	const json_t *record = json_object_get(fill, kind);

	if (!json_is_array(record) || json_array_size(record) != 2 || json_object_size(fill) != 1)
		return false;
	*lo = json_number_value(json_array_get(record, 0));
	*hi = json_number_value(json_array_get(record, 1));
	return true;
}

/* Is every input that the old fill gives one that the new one may give, too? */
static bool is_wider(const json_t *left, const json_t *right)
{
	static const char *const kinds[] = { "ints", "uniform" };
	double lo, hi, low, high;

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (fill_range(&lo, &hi, left, kinds[i]) &&
		    fill_range(&low, &high, right, kinds[i]))
			return low <= lo && high >= hi;
	/* mean, sd */
	return fill_range(&lo, &hi, left, "normal") && fill_range(&low, &high, right, "normal") &&
	       lo == low && high >= hi;
}

static void diff_arg(struct pair *pair, const struct kl_arg *left, const struct kl_arg *right)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT, text = KL_BUF_INIT;

	if (left->kind != right->kind || left->dtype != right->dtype)
		ANSWER(pair, "arg-changed", "the argument %s is %w %s, before %w %s", left->name,
		       kl_arg_kind_names[right->kind], kl_dtype_name(right->dtype),
		       kl_arg_kind_names[left->kind], kl_dtype_name(left->dtype));
	if (left->kind == KL_ARG_SCALAR && right->kind == KL_ARG_SCALAR &&
	    left->value != right->value) {
		kl_buf_addf(&buf, "%.12g", left->value);
		kl_buf_addf(&text, "%.12g", right->value);
		ANSWER(pair, "arg-value", "the argument %s has the value %w, before %w", left->name,
		       text.ptr, buf.ptr);
	}
	if ((left->fill || right->fill) && !json_equal(left->fill, right->fill)) {
		json_text(&buf, left->fill);
		json_text(&text, right->fill);
		if (left->fill && right->fill && is_wider(left->fill, right->fill))
			NOTE(pair, "input-widened",
			     "the input %s is drawn more widely: %s, before %s", left->name,
			     text.ptr, buf.ptr);
		else
			ANSWER(pair, "input-narrowed",
			       "the input %s is drawn otherwise: %s, before %s", left->name,
			       text.ptr, buf.ptr);
	}
	if (left->sweep && !right->sweep)
		ANSWER(pair, "sweep-removed",
		       "the input %s is no longer scaled up and down (sweep)", left->name);
	else if (!left->sweep && right->sweep)
		NOTE(pair, "sweep-added", "the input %s is scaled up and down, too (sweep)",
		     left->name);
}

/* Shapes are compared by their extents, wherever both contracts have a point. */
static void diff_shape(struct pair *pair, size_t i, size_t k)
{
	const struct kl_arg *left = &pair->old->arg[i], *right = &pair->now->arg[k];
	bool same = left->naxes == right->naxes;

	for (size_t n = 0; same && n < kl_contract_npoints(pair->old); n++) {
		const struct kl_dims *dims = kl_contract_point(pair->old, n, NULL);
		int64_t values[KL_MAX_AXES], numbers[KL_MAX_AXES];

		same = pair->old->dims.n == pair->now->dims.n;
		for (size_t count = 0; same && count < dims->n; count++)
			same = !strcmp(pair->old->dim_name[count], pair->now->dim_name[count]);
		if (same && !kl_contract_shape(values, pair->old, i, dims))
			same = !kl_contract_shape(numbers, pair->now, k, dims) &&
			       !memcmp(values, numbers, left->naxes * sizeof(*values));
		kl_error_clear();
	}
	if (!same)
		ANSWER(pair, "arg-shape", "the argument %s has another shape", left->name);
}

static void diff_args(struct pair *pair)
{
	bool order = false;

	for (size_t i = 0; i < pair->old->nargs; i++) {
		int k = kl_contract_arg(pair->now, pair->old->arg[i].name);

		if (k < 0) {
			ANSWER(pair, "arg-removed", "the argument %s is gone",
			       pair->old->arg[i].name);
			continue;
		}
		order |= (size_t)k != i && pair->old->nargs == pair->now->nargs;
		diff_arg(pair, &pair->old->arg[i], &pair->now->arg[k]);
		if (pair->old->arg[i].naxes || pair->now->arg[k].naxes)
			diff_shape(pair, i, (size_t)k);
	}
	for (size_t i = 0; i < pair->now->nargs; i++)
		if (kl_contract_arg(pair->old, pair->now->arg[i].name) < 0)
			ANSWER(pair, "arg-added", "there is a further argument %s",
			       pair->now->arg[i].name);
	if (order)
		ANSWER(pair, "arg-order", "the arguments come in another order");
}

/* --- what is accepted ----------------------------------------------------------------- */

static const json_t *rule_for(const struct kl_contract *contract, const json_t *like)
{
	const char *out = kl_json_str_or(like, "out", kl_json_str_or(like, "values", ""));
	size_t i;
	json_t *record;

	json_array_foreach(contract->accept, i, record)
		if (!strcmp(kl_json_str_or(record, "out", kl_json_str_or(record, "values", "")),
			    out))
			return record;
	return NULL;
}

static void diff_factor(struct pair *pair, const json_t *left, const json_t *right, const char *out,
			const char *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, buf = KL_BUF_INIT;
	double old = kl_json_num_or(left, key, 0), now = kl_json_num_or(right, key, 0);

	kl_buf_addf(&text, "%.12g", old);
	kl_buf_addf(&buf, "%.12g", now);
	if (now > old)
		ANSWER(pair, "tolerance-loosened",
		       "the tolerance of %s is looser: %w %w, before %w", out, key, buf.ptr,
		       text.ptr);
	else if (now < old)
		NOTE(pair, "tolerance-tightened",
		     "the tolerance of %s is tighter: %w %w, before %w", out, key, buf.ptr,
		     text.ptr);
}

static void diff_rule(struct pair *pair, const json_t *left, const json_t *right)
{
	static const char *const factors[] = { "max", "rms", "ulps", "acc", "tol" };
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT, text = KL_BUF_INIT;
	const char *old = kl_json_str_or(left, "rule", ""),
		   *now = kl_json_str_or(right, "rule", "");
	const char *out = kl_json_str_or(left, "out", kl_json_str_or(left, "values", ""));

	if (json_equal(left, right))
		return;
	if (strcmp(old, now)) {
		if (!strcmp(now, "exact"))
			NOTE(pair, "tolerance-tightened",
			     "%s is to be exact, before the rule was %s", out, old);
		else
			ANSWER(pair, "tolerance-changed",
			       "%s is judged by another rule: %s, before %s", out,
			       json_text(&text, right), json_text(&buf, left));
		return;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(factors); i++)
		diff_factor(pair, left, right, out, factors[i]);
	if (kl_json_bool_or(left, "zeros", false) && !kl_json_bool_or(right, "zeros", false))
		ANSWER(pair, "tolerance-loosened", "the zeros of %s need not be zeros any more",
		       out);
	json_text(&buf, json_object_get(left, "per"));
	json_text(&text, json_object_get(right, "per"));
	if (strcmp(buf.ptr, text.ptr))
		ANSWER(pair, "tolerance-groups", "%s is judged in other groups: per %s, before %s",
		       out, text.ptr, buf.ptr);
	if (!same_text(kl_json_str_or(left, "of", NULL), kl_json_str_or(right, "of", NULL)) ||
	    !same_text(kl_json_str_or(left, "indices", NULL),
		       kl_json_str_or(right, "indices", NULL)))
		ANSWER(pair, "tolerance-changed", "%s is judged by another rule: %s, before %s",
		       out, json_text(&text, right), json_text(&buf, left));
}

static void diff_accept(struct pair *pair)
{
	size_t i;
	json_t *left;

	json_array_foreach(pair->old->accept, i, left) {
		const json_t *right = rule_for(pair->now, left);

		if (right)
			diff_rule(pair, left, right);
		else
			ANSWER(pair, "tolerance-removed", "no rule judges %s any more",
			       kl_json_str_or(left, "out", kl_json_str_or(left, "values", "")));
	}
}

static bool has_json(const json_t *list, const json_t *what)
{
	size_t i;
	json_t *value;

	json_array_foreach(list, i, value)
		if (json_equal(value, what))
			return true;
	return false;
}

static void diff_bands(struct pair *pair, const json_t *old, const json_t *now, const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	size_t i;
	json_t *value;

	json_array_foreach(old, i, value)
		if (!has_json(now, value))
			ANSWER(pair, "band-removed",
			       "a band of '%w' is gone, or is another one: %s", what,
			       json_text(&buf, value));
	json_array_foreach(now, i, value)
		if (!has_json(old, value))
			NOTE(pair, "band-added", "a band of '%w' is new: %s", what,
			     json_text(&buf, value));
}

/* --- the yardstick ----------------------------------------------------------------------- */

static const struct kl_file *find_file(const struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	return NULL;
}

static void diff_oracle(struct pair *pair, const struct kl_surface *old,
			const struct kl_surface *now)
{
	if (!same_text(pair->old->oracle_entry, pair->now->oracle_entry) ||
	    !same_text(pair->old->oracle_launch, pair->now->oracle_launch))
		ANSWER(pair, "oracle-changed",
		       "the oracle is entered otherwise: by %s, before by %s",
		       pair->now->oracle_entry ? pair->now->oracle_entry : pair->now->oracle_launch,
		       pair->old->oracle_entry ? pair->old->oracle_entry :
						 pair->old->oracle_launch);
	for (size_t i = 0; i < old->noracle; i++) {
		const struct kl_file *left = &old->oracle[i],
				     *right = find_file(now->oracle, now->noracle, left->path);

		if (!right)
			ANSWER(pair, "oracle-changed", "the oracle's file %s is gone", left->path);
		else if (left->len != right->len || memcmp(left->data, right->data, left->len) ||
			 left->mode != right->mode)
			ANSWER(pair, "oracle-changed",
			       "the oracle changed: its file %s has other contents", left->path);
	}
	for (size_t i = 0; i < now->noracle; i++)
		if (!find_file(old->oracle, old->noracle, now->oracle[i].path))
			ANSWER(pair, "oracle-changed", "the oracle changed: its file %s is new",
			       now->oracle[i].path);
}

/* The floor at the case: 0 where there is none. */
static int64_t floor_at(const struct kl_contract *contract, const struct kl_expr *expr,
			bool automatic)
{
	int64_t value = 0;

	if (automatic ? kl_contract_bytes(&value, contract, &contract->dims) < 0 :
			!expr || kl_expr_eval(&value, expr, contract->dims.v) < 0)
		value = 0;
	kl_error_clear();
	return value;
}

static void diff_limit(struct pair *pair, const char *what, int64_t old, int64_t now)
{
	if (now > old)
		ANSWER(pair, "limit-raised", "%w: %d, before %d", what, now, old);
	else if (now < old)
		NOTE(pair, "limit-lowered", "%w: %d, before %d", what, now, old);
}

static void diff_floor(struct pair *pair, const char *what, int64_t old, int64_t now)
{
	if (now < old)
		ANSWER(pair, "floor-lowered", "the floor of %w at the case is %d, before %d", what,
		       now, old);
	else if (now > old)
		NOTE(pair, "floor-raised", "the floor of %w at the case is %d, before %d", what,
		     now, old);
}

static void diff_yardstick(struct pair *pair)
{
	const struct kl_contract *left = pair->old, *right = pair->now;

	if (left->deterministic && !right->deterministic)
		ANSWER(pair, "determinism-dropped",
		       "the same input need not give the same bits any more");
	else if (!left->deterministic && right->deterministic)
		NOTE(pair, "determinism-added", "the same input must give the same bits");
	if (left->baseline && !right->baseline)
		ANSWER(pair, "baseline-dropped", "it is no longer compared with the baseline %s",
		       left->baseline);
	else if (!same_text(left->baseline, right->baseline) && left->baseline)
		ANSWER(pair, "baseline-changed", "the baseline is %s, before %s", right->baseline,
		       left->baseline);
	else if (!same_text(left->baseline, right->baseline))
		NOTE(pair, "baseline-added", "it is compared with the baseline %s",
		     right->baseline);
	diff_floor(pair, "bytes", floor_at(left, left->floor.bytes, left->floor.bytes_auto),
		   floor_at(right, right->floor.bytes, right->floor.bytes_auto));
	diff_floor(pair, "operations", floor_at(left, left->floor.flops, false),
		   floor_at(right, right->floor.flops, false));
	diff_limit(pair, "MiB that a kernel may allocate", left->arena_mib, right->arena_mib);
	diff_limit(pair, "seconds that a call may take", left->call_s, right->call_s);
}

static void diff_surface(struct pair *pair)
{
	const struct kl_contract *left = pair->old, *right = pair->now;

	if (strcmp(left->workload, right->workload))
		ANSWER(pair, "workload-renamed",
		       "the workload is called %s, before %s: verdicts and lineages of the "
		       "old name are not its own",
		       right->workload, left->workload);
	if (strcmp(left->language->name, right->language->name) ||
	    !same_text(left->entry, right->entry))
		ANSWER(pair, "surface-changed",
		       "what is judged is another thing: %s %s, before %s %s",
		       right->language->name, right->entry, left->language->name, left->entry);
	if (!kl_backend_of(left)->walled && kl_backend_of(right)->walled)
		ANSWER(pair, "tier-lowered",
		       "the kernel may run host code of its own: its tier is host-sandboxed, "
		       "not device-only");
	for (size_t i = 0; i < right->flags.n; i++)
		if (!kl_strvec_has(&left->flags, right->flags.v[i]))
			NOTE(pair, "flag-added", "it is compiled with %s", right->flags.v[i]);
	for (size_t i = 0; i < left->flags.n; i++)
		if (!kl_strvec_has(&right->flags, left->flags.v[i]))
			NOTE(pair, "flag-removed", "it is no longer compiled with %s",
			     left->flags.v[i]);
	for (size_t i = 0; i < left->sources.n; i++)
		if (!kl_strvec_has(&right->sources, left->sources.v[i]))
			NOTE(pair, "source-removed", "%s is no longer one of its sources",
			     left->sources.v[i]);
	for (size_t i = 0; i < right->sources.n; i++)
		if (!kl_strvec_has(&left->sources, right->sources.v[i]))
			NOTE(pair, "source-added", "%s is one of its sources", right->sources.v[i]);
}

void kl_contract_diff(struct kl_findings *out, const struct kl_surface *old,
		      const struct kl_surface *now)
{
	struct pair pair = { .out = out, .old = old->contract, .now = now->contract };

	diff_surface(&pair);
	diff_case(&pair);
	diff_domain(&pair);
	diff_cases(&pair);
	diff_also(&pair);
	diff_args(&pair);
	diff_accept(&pair);
	diff_bands(&pair, pair.old->exact, pair.now->exact, "exact");
	diff_bands(&pair, pair.old->bands, pair.now->bands, "bands");
	diff_oracle(&pair, old, now);
	diff_yardstick(&pair);
}
