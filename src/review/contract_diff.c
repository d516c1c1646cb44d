/* SPDX-License-Identifier: Apache-2.0 */
#include "review/contract_diff_parts.h"

#include <string.h>

#include "backend/backend.h"
#include "base/error.h"
#include "plan/expr.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
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
	const json_t *range = json_object_get(fill, kind);

	if (!json_is_array(range) || json_array_size(range) != 2 || json_object_size(fill) != 1)
		return false;
	*lo = json_number_value(json_array_get(range, 0));
	*hi = json_number_value(json_array_get(range, 1));
	return true;
}

/* Return true if the new fill can give every input that the old fill can give. */
static bool is_wider(const json_t *before, const json_t *after)
{
	static const char *const kinds[] = { "ints", "uniform" };
	double lo, hi, low, high;

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (fill_range(&lo, &hi, before, kinds[i]) &&
		    fill_range(&low, &high, after, kinds[i]))
			return low <= lo && high >= hi;
	/* [mean, standard deviation] */
	return fill_range(&lo, &hi, before, "normal") && fill_range(&low, &high, after, "normal") &&
	       lo == low && high >= hi;
}

static void diff_arg(struct kl_contract_pair *pair, const struct kl_arg *before,
		     const struct kl_arg *after)
{
	KL_AUTO(kl_buf_release) struct kl_buf before_text = KL_BUF_INIT, after_text = KL_BUF_INIT;

	if (before->kind != after->kind || before->dtype != after->dtype)
		ANSWER(pair, "arg-changed", "the argument %s is %w %s (was %w %s)", before->name,
		       kl_arg_kind_names[after->kind], kl_dtype_name(after->dtype),
		       kl_arg_kind_names[before->kind], kl_dtype_name(before->dtype));
	if (before->kind == KL_ARG_SCALAR && after->kind == KL_ARG_SCALAR &&
	    before->value != after->value) {
		kl_buf_addf(&before_text, "%.12g", before->value);
		kl_buf_addf(&after_text, "%.12g", after->value);
		ANSWER(pair, "arg-value", "the argument %s has the value %w (was %w)", before->name,
		       after_text.ptr, before_text.ptr);
	}
	if ((before->fill || after->fill) && !json_equal(before->fill, after->fill)) {
		json_text(&before_text, before->fill);
		json_text(&after_text, after->fill);
		if (before->fill && after->fill && is_wider(before->fill, after->fill))
			NOTE(pair, "input-widened",
			     "the input %s is drawn from a wider range: %s (was %s)", before->name,
			     after_text.ptr, before_text.ptr);
		else
			ANSWER(pair, "input-narrowed",
			       "the input %s is drawn differently: %s (was %s)", before->name,
			       after_text.ptr, before_text.ptr);
	}
	if (!before->zeros && after->zeros)
		ANSWER(pair, "output-zeroed",
		       "the output %s is zero before each call (init: zeros), so the kernel need "
		       "not write all of it",
		       before->name);
	else if (before->zeros && !after->zeros)
		NOTE(pair, "output-poisoned",
		     "the output %s is no longer zero before each call (init: zeros)",
		     before->name);
	if (before->sweep && !after->sweep)
		ANSWER(pair, "sweep-removed",
		       "the input %s is no longer scaled up and down (sweep)", before->name);
	else if (!before->sweep && after->sweep)
		NOTE(pair, "sweep-added", "the input %s is now scaled up and down as well (sweep)",
		     before->name);
}

/* Compare the shapes of an argument by their extents at each point of the old contract. */
static void diff_shape(struct kl_contract_pair *pair, size_t i, size_t k)
{
	const struct kl_arg *before = &pair->old->arg[i], *after = &pair->now->arg[k];
	bool same = before->naxes == after->naxes;

	for (size_t n = 0; same && n < kl_contract_npoints(pair->old); n++) {
		const struct kl_dims *dims = kl_contract_point(pair->old, n, NULL);
		int64_t old_extent[KL_MAX_AXES], new_extent[KL_MAX_AXES];

		same = pair->old->dims.n == pair->now->dims.n;
		for (size_t dim = 0; same && dim < dims->n; dim++)
			same = !strcmp(pair->old->dim_name[dim], pair->now->dim_name[dim]);
		if (same && !kl_contract_shape(old_extent, pair->old, i, dims))
			same = !kl_contract_shape(new_extent, pair->now, k, dims) &&
			       !memcmp(old_extent, new_extent, before->naxes * sizeof(*old_extent));
		kl_error_clear();
	}
	if (!same)
		ANSWER(pair, "arg-shape", "the argument %s has another shape", before->name);
}

static void diff_args(struct kl_contract_pair *pair)
{
	bool order = false;

	for (size_t i = 0; i < pair->old->nargs; i++) {
		int k = kl_contract_arg(pair->now, pair->old->arg[i].name);

		if (k < 0) {
			ANSWER(pair, "arg-removed", "the argument %s was removed",
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
			ANSWER(pair, "arg-added", "the argument %s was added",
			       pair->now->arg[i].name);
	if (order)
		ANSWER(pair, "arg-order", "the order of the arguments has changed");
}

/* Compare the special values of inputs, such as nan, for which the result is undefined. */
static void diff_values(struct kl_contract_pair *pair)
{
	for (size_t i = 0; i < KL_VALUES; i++) {
		const char *name = kl_value_names[i];
		bool before = pair->old->values.undefined[i],
		     after = pair->now->values.undefined[i];

		if (!before && after)
			ANSWER(pair, "values-undefined",
			       "the result for %w inputs is now undefined: kernels are not called "
			       "with them",
			       name);
		else if (before && !after)
			NOTE(pair, "values-defined",
			     "the result for %w inputs must now match the oracle", name);
	}
}

/* --- acceptance rules ----------------------------------------------------------------- */

static const json_t *rule_for(const struct kl_contract *contract, const json_t *like)
{
	const char *out = kl_json_str_or(like, "out", kl_json_str_or(like, "values", ""));
	size_t i;
	json_t *rule;

	json_array_foreach(contract->accept, i, rule)
		if (!strcmp(kl_json_str_or(rule, "out", kl_json_str_or(rule, "values", "")), out))
			return rule;
	return NULL;
}

static void diff_factor(struct kl_contract_pair *pair, const json_t *before, const json_t *after,
			const char *out, const char *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf before_text = KL_BUF_INIT, after_text = KL_BUF_INIT;
	double old = kl_json_num_or(before, key, 0), now = kl_json_num_or(after, key, 0);

	kl_buf_addf(&before_text, "%.12g", old);
	kl_buf_addf(&after_text, "%.12g", now);
	if (now > old)
		ANSWER(pair, "tolerance-loosened", "the tolerance of %s is looser: %w %w (was %w)",
		       out, key, after_text.ptr, before_text.ptr);
	else if (now < old)
		NOTE(pair, "tolerance-tightened", "the tolerance of %s is tighter: %w %w (was %w)",
		     out, key, after_text.ptr, before_text.ptr);
}

static void diff_rule(struct kl_contract_pair *pair, const json_t *before, const json_t *after)
{
	static const char *const factors[] = { "max", "rms", "ulps", "acc", "tol" };
	KL_AUTO(kl_buf_release) struct kl_buf before_text = KL_BUF_INIT, after_text = KL_BUF_INIT;
	const char *old = kl_json_str_or(before, "rule", ""),
		   *now = kl_json_str_or(after, "rule", "");
	const char *out = kl_json_str_or(before, "out", kl_json_str_or(before, "values", ""));

	if (json_equal(before, after))
		return;
	if (strcmp(old, now)) {
		if (!strcmp(now, "exact"))
			NOTE(pair, "tolerance-tightened", "%s must now be exact (the rule was %s)",
			     out, old);
		else
			ANSWER(pair, "tolerance-changed",
			       "%s is judged by another rule: %s (was %s)", out,
			       json_text(&after_text, after), json_text(&before_text, before));
		return;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(factors); i++)
		diff_factor(pair, before, after, out, factors[i]);
	if (kl_json_bool_or(before, "zeros", false) && !kl_json_bool_or(after, "zeros", false))
		ANSWER(pair, "tolerance-loosened", "%s need no longer be 0 where the truth is 0",
		       out);
	json_text(&before_text, json_object_get(before, "per"));
	json_text(&after_text, json_object_get(after, "per"));
	if (strcmp(before_text.ptr, after_text.ptr))
		ANSWER(pair, "tolerance-groups",
		       "%s is judged in different groups: per %s (was per %s)", out, after_text.ptr,
		       before_text.ptr);
	if (!same_text(kl_json_str_or(before, "of", NULL), kl_json_str_or(after, "of", NULL)) ||
	    !same_text(kl_json_str_or(before, "indices", NULL),
		       kl_json_str_or(after, "indices", NULL)))
		ANSWER(pair, "tolerance-changed", "%s is judged by another rule: %s (was %s)", out,
		       json_text(&after_text, after), json_text(&before_text, before));
}

static void diff_accept(struct kl_contract_pair *pair)
{
	size_t i;
	json_t *before;

	json_array_foreach(pair->old->accept, i, before) {
		const json_t *after = rule_for(pair->now, before);

		if (after)
			diff_rule(pair, before, after);
		else
			ANSWER(pair, "tolerance-removed", "%s is no longer judged by any rule",
			       kl_json_str_or(before, "out", kl_json_str_or(before, "values", "")));
	}
}

static bool has_json(const json_t *list, const json_t *what)
{
	size_t i;
	json_t *entry;

	json_array_foreach(list, i, entry)
		if (json_equal(entry, what))
			return true;
	return false;
}

static void diff_bands(struct kl_contract_pair *pair, const json_t *old, const json_t *now,
		       const char *what)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	size_t i;
	json_t *band;

	json_array_foreach(old, i, band)
		if (!has_json(now, band))
			ANSWER(pair, "band-removed", "a band of '%w' was removed or changed: %s",
			       what, json_text(&buf, band));
	json_array_foreach(now, i, band)
		if (!has_json(old, band))
			NOTE(pair, "band-added", "a band of '%w' is new: %s", what,
			     json_text(&buf, band));
}

/* --- oracle, baseline, floor, limits ------------------------------------------------------- */

static const struct kl_file *find_file(const struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	return NULL;
}

static bool is_edited(const struct kl_file *before, const struct kl_file *after)
{
	return before->len != after->len || memcmp(before->data, after->data, before->len) ||
	       before->mode != after->mode;
}

static void diff_oracle(struct kl_contract_pair *pair, const struct kl_surface *old,
			const struct kl_surface *now)
{
	if (!same_text(pair->old->oracle_entry, pair->now->oracle_entry) ||
	    !same_text(pair->old->oracle_launch, pair->now->oracle_launch))
		ANSWER(pair, "oracle-changed", "the entry point of the oracle is %s (was %s)",
		       pair->now->oracle_entry ? pair->now->oracle_entry : pair->now->oracle_launch,
		       pair->old->oracle_entry ? pair->old->oracle_entry :
						 pair->old->oracle_launch);
	for (size_t i = 0; i < old->noracle; i++) {
		const struct kl_file *before = &old->oracle[i],
				     *after = find_file(now->oracle, now->noracle, before->path);

		if (kl_surface_is_adapter(old, before->path))
			continue;
		if (!after)
			ANSWER(pair, "oracle-changed",
			       "the oracle changed: its file %s was removed", before->path);
		else if (is_edited(before, after))
			ANSWER(pair, "oracle-changed", "the oracle changed: its file %s was edited",
			       before->path);
	}
	for (size_t i = 0; i < now->noracle; i++)
		if (!kl_surface_is_adapter(now, now->oracle[i].path) &&
		    !find_file(old->oracle, old->noracle, now->oracle[i].path))
			ANSWER(pair, "oracle-changed", "the oracle changed: its file %s is new",
			       now->oracle[i].path);
}

/*
 * The adapters decide what is called and what is timed, so any change of an adapter must be
 * answered.
 */
static void diff_adapters(struct kl_contract_pair *pair, const struct kl_surface *old,
			  const struct kl_surface *now)
{
	const struct kl_strvec *was = &pair->old->adapters, *is = &pair->now->adapters;
	size_t same = 0;

	for (size_t i = 0; i < was->n; i++)
		if (!kl_strvec_has(is, was->v[i]))
			ANSWER(pair, "adapter-changed", "the adapter %s was removed", was->v[i]);
	for (size_t i = 0; i < is->n; i++) {
		const struct kl_file *before = find_file(old->oracle, old->noracle, is->v[i]);

		if (!kl_strvec_has(was, is->v[i]))
			ANSWER(pair, "adapter-changed", "the adapter %s is new", is->v[i]);
		else if (is_edited(before, kl_surface_adapter(now, i)))
			ANSWER(pair, "adapter-changed", "the adapter %s was edited", is->v[i]);
		same += i < was->n && !strcmp(is->v[i], was->v[i]);
	}
	if (same < is->n && is->n == was->n && was->n > 1)
		ANSWER(pair, "adapter-changed", "the adapters are tried in another order");
}

static void diff_prepares(struct kl_contract_pair *pair)
{
	const struct kl_strvec *was = &pair->old->prepares, *is = &pair->now->prepares;

	for (size_t i = 0; i < is->n; i++)
		if (!kl_strvec_has(was, is->v[i]))
			ANSWER(pair, "prepares-added",
			       "the kernel's function %s can run without being timed", is->v[i]);
	for (size_t i = 0; i < was->n; i++)
		if (!kl_strvec_has(is, was->v[i]))
			NOTE(pair, "prepares-removed",
			     "the kernel's function %s can no longer run without being timed",
			     was->v[i]);
}

/* Return the floor at the case, in bytes or operations; 0 if the contract has no floor. */
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

static void diff_limit(struct kl_contract_pair *pair, const char *what, int64_t old, int64_t now)
{
	if (now > old)
		ANSWER(pair, "limit-raised", "%w: %d (was %d)", what, now, old);
	else if (now < old)
		NOTE(pair, "limit-lowered", "%w: %d (was %d)", what, now, old);
}

static void diff_floor(struct kl_contract_pair *pair, const char *what, int64_t old, int64_t now)
{
	if (now < old)
		ANSWER(pair, "floor-lowered", "the floor of %w at the case is %d (was %d)", what,
		       now, old);
	else if (now > old)
		NOTE(pair, "floor-raised", "the floor of %w at the case is %d (was %d)", what, now,
		     old);
}

/* Return the number of threads; a kernel without OpenMP runs in one thread. */
static int64_t count_threads(const struct kl_contract *contract)
{
	return contract->threads ? contract->threads : 1;
}

static void diff_measures(struct kl_contract_pair *pair)
{
	const struct kl_contract *before = pair->old, *after = pair->now;

	if (before->deterministic && !after->deterministic)
		ANSWER(pair, "determinism-dropped",
		       "the same input no longer has to give the same bits");
	else if (!before->deterministic && after->deterministic)
		NOTE(pair, "determinism-added", "the same input must now give the same bits");
	if (before->baseline && !after->baseline)
		ANSWER(pair, "baseline-dropped",
		       "the kernel is no longer compared with the baseline %s", before->baseline);
	else if (!same_text(before->baseline, after->baseline) && before->baseline)
		ANSWER(pair, "baseline-changed", "the baseline is %s (was %s)", after->baseline,
		       before->baseline);
	else if (!same_text(before->baseline, after->baseline))
		NOTE(pair, "baseline-added", "the kernel is now compared with the baseline %s",
		     after->baseline);
	diff_floor(pair, "bytes", floor_at(before, before->floor.bytes, before->floor.bytes_auto),
		   floor_at(after, after->floor.bytes, after->floor.bytes_auto));
	diff_floor(pair, "operations", floor_at(before, before->floor.flops, false),
		   floor_at(after, after->floor.flops, false));
	diff_limit(pair, "MiB that a kernel may allocate", before->arena_mib, after->arena_mib);
	diff_limit(pair, "seconds that a call may take", before->call_s, after->call_s);
	diff_limit(pair, "threads that a kernel may have", count_threads(before),
		   count_threads(after));
}

/* --- the surface --------------------------------------------------------------------------- */

/* A list in a contract, and the findings for entries that were added to it or removed from it. */
struct list {
	size_t at;             /* offset of the list in struct kl_contract */
	enum kl_weight weight; /* weight of an added entry; a removed entry is a note */
	const char *added_code, *removed_code;
	const char *added, *removed; /* formats of kl_findings_add(), with %s for the entry */
};

/* clang-format off */
#define BUILD_KEY(key) \
	{ offsetof(struct kl_contract, build.key), KL_NOTE, "build-added", "build-removed", \
	  #key " of the surface now has %s", #key " of the surface no longer has %s" }
/* clang-format on */

static const struct list lists[] = {
	{ offsetof(struct kl_contract, flags), KL_NOTE, "flag-added", "flag-removed",
	  "the kernel is now compiled with %s", "the kernel is no longer compiled with %s" },
	{ offsetof(struct kl_contract, sources), KL_NOTE, "source-added", "source-removed",
	  "%s is now a source of the kernel", "%s is no longer a source of the kernel" },
	BUILD_KEY(units),
	BUILD_KEY(define),
	BUILD_KEY(undefine),
	BUILD_KEY(include),
	BUILD_KEY(iquote),
	BUILD_KEY(isystem),
	BUILD_KEY(preinclude),
	{ offsetof(struct kl_contract, build.traps), KL_ANSWER, "trap-added", "trap-removed",
	  "traps of the surface now has %s: a kernel may now call it, and fails only if it "
	  "reaches the call",
	  "traps of the surface no longer has %s" },
};

static void diff_list(struct kl_contract_pair *pair, const struct list *list)
{
	const struct kl_strvec *before, *after;

	before = (const void *)((const char *)pair->old + list->at);
	after = (const void *)((const char *)pair->now + list->at);
	for (size_t i = 0; i < after->n; i++)
		if (!kl_strvec_has(before, after->v[i]))
			kl_findings_add(pair->out, list->weight, list->added_code, list->added,
					after->v[i]);
	for (size_t i = 0; i < before->n; i++)
		if (!kl_strvec_has(after, before->v[i]))
			kl_findings_add(pair->out, KL_NOTE, list->removed_code, list->removed,
					before->v[i]);
}

static void diff_surface(struct kl_contract_pair *pair)
{
	const struct kl_contract *before = pair->old, *after = pair->now;

	if (strcmp(before->workload, after->workload))
		ANSWER(pair, "workload-renamed",
		       "the workload is called %s (was %s): verdicts and lineages of the old "
		       "name do not belong to it",
		       after->workload, before->workload);
	if (strcmp(before->language->name, after->language->name) ||
	    !same_text(before->entry, after->entry))
		ANSWER(pair, "surface-changed",
		       "the language or entry point changed: %s %s (was %s %s)",
		       after->language->name, after->entry, before->language->name, before->entry);
	if (!kl_backend_of(before)->walled && kl_backend_of(after)->walled)
		ANSWER(pair, "tier-lowered",
		       "the kernel may now run host code of its own: its tier is host-sandboxed, "
		       "not device-only");
	for (size_t i = 0; i < KL_ARRAY_SIZE(lists); i++)
		diff_list(pair, &lists[i]);
	if (!before->threads && after->threads)
		NOTE(pair, "flag-added", "the kernel is now compiled with %s", "-fopenmp");
	else if (before->threads && !after->threads)
		NOTE(pair, "flag-removed", "the kernel is no longer compiled with %s", "-fopenmp");
}

void kl_contract_diff(struct kl_findings *out, const struct kl_surface *old,
		      const struct kl_surface *now)
{
	struct kl_contract_pair pair = { .out = out, .old = old->contract, .now = now->contract };

	diff_surface(&pair);
	kl_contract_diff_points(&pair);
	diff_args(&pair);
	diff_values(&pair);
	diff_accept(&pair);
	diff_bands(&pair, pair.old->exact, pair.now->exact, "exact");
	diff_bands(&pair, pair.old->bands, pair.now->bands, "bands");
	diff_oracle(&pair, old, now);
	diff_adapters(&pair, old, now);
	diff_prepares(&pair);
	diff_measures(&pair);
}
