/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/job.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "worker/gpu_keep.h"

#define MAX_POINTS 256
#define MAX_BYTES ((int64_t)1 << 40)

static const struct {
	const char *name;
	size_t bytes;
} dtypes[] = {
	[KL_F64] = { "f64", 8 }, [KL_F32] = { "f32", 4 },
	[KL_F16] = { "f16", 2 }, [KL_BF16] = { "bf16", 2 },
	[KL_I64] = { "i64", 8 }, [KL_I32] = { "i32", 4 },
	[KL_I16] = { "i16", 2 }, [KL_I8] = { "i8", 1 },
	[KL_U64] = { "u64", 8 }, [KL_U32] = { "u32", 4 },
	[KL_U16] = { "u16", 2 }, [KL_U8] = { "u8", 1 },
};

size_t kl_dtype_bytes(enum kl_dtype t)
{
	return dtypes[t].bytes;
}

int64_t kl_point_elements(const struct kl_point *p, size_t arg)
{
	int64_t n = 1;

	for (size_t i = 0; i < p->arg[arg].naxes; i++)
		n *= p->arg[arg].extent[i];
	return n;
}

/* Every member of `obj` is one of the NULL-terminated list. */
static int only(const json_t *obj, const char *where, const char *const *known)
{
	const char *key;
	json_t *value;

	if (!json_is_object(obj))
		return kl_error(KL_EINVALID, "%s is not an object", where);
	json_object_foreach((json_t *)(uintptr_t)obj, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return kl_error(KL_EINVALID, "%s has an unknown member '%s'", where, key);
	}
	return 0;
}

static int fixed_str(char *out, size_t size, const json_t *obj, const char *key)
{
	const char *s;
	int err = kl_json_str(&s, obj, key);

	if (err < 0)
		return err;
	if (!*s || strlen(s) >= size)
		return kl_error(KL_EINVALID, "'%s' has %zu characters, 1 to %zu are possible", key,
				strlen(s), size - 1);
	memcpy(out, s, strlen(s) + 1);
	return 0;
}

/* A string, or null where `optional`. Absent counts as null. */
static int heap_str(char **out, const json_t *obj, const char *key, bool optional)
{
	const json_t *v = json_object_get(obj, key);
	const char *s;
	int err;

	if (optional && (!v || json_is_null(v)))
		return 0;
	if ((err = kl_json_str(&s, obj, key)) < 0)
		return err;
	*out = kl_strdup(s);
	return 0;
}

static int ranged_int(int64_t *out, const json_t *obj, const char *key, int64_t min, int64_t max)
{
	int64_t v;
	int err = kl_json_int(&v, obj, key);

	if (err < 0)
		return err;
	if (v < min || v > max)
		return kl_error(KL_EINVALID, "'%s' is %lld, not within %lld to %lld", key,
				(long long)v, (long long)min, (long long)max);
	*out = v;
	return 0;
}

/* A member that may be absent, but not of another type. */
static int optional_num(double *out, const json_t *obj, const char *key, double dflt)
{
	const json_t *v = json_object_get(obj, key);

	if (v && !json_is_number(v))
		return kl_error(KL_EINVALID, "'%s' is not a number", key);
	*out = v ? json_number_value(v) : dflt;
	if (!isfinite(*out) || *out < 0)
		return kl_error(KL_EINVALID, "'%s' is negative or not finite", key);
	return 0;
}

static int optional_bool(bool *out, const json_t *obj, const char *key, bool dflt)
{
	const json_t *v = json_object_get(obj, key);

	if (v && !json_is_boolean(v))
		return kl_error(KL_EINVALID, "'%s' is not true or false", key);
	*out = v ? json_is_true(v) : dflt;
	return 0;
}

static int arg_index(const struct kl_job *j, const char *name)
{
	for (size_t i = 0; i < j->nargs; i++)
		if (!strcmp(j->arg[i].name, name))
			return (int)i;
	return -1;
}

static int parse_dtype(enum kl_dtype *out, const json_t *obj)
{
	const char *s;
	int err = kl_json_str(&s, obj, "dtype");

	if (err < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(dtypes); i++) {
		if (!strcmp(dtypes[i].name, s)) {
			*out = (enum kl_dtype)i;
			return 0;
		}
	}
	return kl_error(KL_EINVALID, "no dtype is called '%s'", s);
}

static int parse_role(enum kl_role *out, const json_t *obj)
{
	static const char *const names[] = {
		[KL_ROLE_DIM] = "dim", [KL_ROLE_SCALAR] = "scalar", [KL_ROLE_IN] = "in",
		[KL_ROLE_OUT] = "out", [KL_ROLE_INOUT] = "inout",
	};
	const char *s;
	int err = kl_json_str(&s, obj, "kind");

	if (err < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++) {
		if (!strcmp(names[i], s)) {
			*out = (enum kl_role)i;
			return 0;
		}
	}
	return kl_error(KL_EINVALID, "no kind of argument is called '%s'", s);
}

/* A number, or one of the four that JSON has no number for. */
static int number(double *out, const json_t *v)
{
	static const struct { const char *name; double value; } odd[] = {
		{ "inf", INFINITY }, { "-inf", -INFINITY }, { "nan", NAN }, { "-0", -0.0 },
	};

	if (json_is_number(v)) {
		*out = json_number_value(v);
		return 0;
	}
	for (size_t i = 0; json_is_string(v) && i < KL_ARRAY_SIZE(odd); i++) {
		if (!strcmp(odd[i].name, json_string_value(v))) {
			*out = odd[i].value;
			return 0;
		}
	}
	return kl_error(KL_EINVALID,
			"a value is not a number, \"inf\", \"-inf\", \"nan\" or \"-0\"");
}

/* One generator and its modifiers; what each means is fill.c's. */
static int check_fill(const json_t *fill, const char *where)
{
	static const char *const known[] = {
		"normal", "uniform", "ints", "const", "one-hot", "choice", "cauchy", "index",
		"repeat", "outliers", "map", "scale", "unit", "lower", "running", NULL
	};
	int generators = 0, err = only(fill, where, known);

	if (err < 0)
		return err;
	for (size_t i = 0; strcmp(known[i], "map"); i++)
		generators += json_object_get(fill, known[i]) != NULL;
	if (generators != 1)
		return kl_error(KL_EINVALID, "%s names %d generators, not one", where, generators);
	return 0;
}

static int parse_fill(struct kl_job_arg *a, const json_t *obj)
{
	json_t *fill = json_object_get(obj, "fill");
	int err;

	if (a->role != KL_ROLE_IN && a->role != KL_ROLE_INOUT) {
		if (fill)
			return kl_error(KL_EINVALID, "only in and inout have a fill");
		return 0;
	}
	if (!fill)
		return kl_error(KL_EINVALID, "an in or inout needs a fill");
	if ((err = check_fill(fill, "the fill")) < 0)
		return err;
	a->fill = json_incref(fill);
	return 0;
}

static int parse_arg(struct kl_job *j, const json_t *obj)
{
	static const char *const known[] = {
		"name", "kind", "dtype", "value", "fill", "sweep", NULL
	};
	struct kl_job_arg *a = &j->arg[j->nargs];
	int err;

	if ((err = only(obj, "an argument", known)) < 0 ||
	    (err = fixed_str(a->name, sizeof(a->name), obj, "name")) < 0)
		return err;
	if (arg_index(j, a->name) >= 0)
		return kl_error(KL_EINVALID, "two arguments are called '%s'", a->name);
	if ((err = parse_role(&a->role, obj)) < 0 || (err = parse_dtype(&a->dtype, obj)) < 0 ||
	    (err = optional_bool(&a->sweep, obj, "sweep", false)) < 0 ||
	    (err = parse_fill(a, obj)) < 0)
		return kl_error_in(err, "argument '%s'", a->name);
	if (a->role == KL_ROLE_DIM && a->dtype != KL_I64 && a->dtype != KL_I32)
		return kl_error(KL_EINVALID, "dim '%s' is neither i64 nor i32", a->name);
	if (a->role == KL_ROLE_SCALAR && (a->dtype == KL_F16 || a->dtype == KL_BF16))
		return kl_error(KL_EINVALID, "scalar '%s': f16 and bf16 are not passed by value",
				a->name);
	if (a->role == KL_ROLE_SCALAR) {
		if ((err = number(&a->value, json_object_get(obj, "value"))) < 0)
			return kl_error_in(err, "scalar '%s'", a->name);
	} else if (json_object_get(obj, "value")) {
		return kl_error(KL_EINVALID, "argument '%s': only a scalar has a value", a->name);
	}
	j->nargs++;
	return 0;
}

static int parse_args(struct kl_job *j, const json_t *doc)
{
	json_t *list, *v;
	size_t i;
	int err = kl_json_arr(&list, doc, "args");

	if (err < 0)
		return err;
	if (json_array_size(list) < 1 || json_array_size(list) > KL_JOB_MAX_ARGS)
		return kl_error(KL_EINVALID, "%zu arguments, 1 to %d are possible",
				json_array_size(list), KL_JOB_MAX_ARGS);
	json_array_foreach(list, i, v)
		if ((err = parse_arg(j, v)) < 0)
			return err;
	return 0;
}

static int parse_extents(struct kl_point *p, const struct kl_job_arg *a, size_t at, const json_t *v)
{
	size_t axes = json_array_size(v);
	int64_t bytes = (int64_t)kl_dtype_bytes(a->dtype);

	if (!json_is_array(v) || axes > KL_JOB_MAX_AXES)
		return kl_error(KL_EINVALID, "'%s' needs a list of at most %d extents", a->name,
				KL_JOB_MAX_AXES);
	for (size_t i = 0; i < axes; i++) {
		int64_t n = json_integer_value(json_array_get(v, i));

		if (!json_is_integer(json_array_get(v, i)) || n < 0)
			return kl_error(KL_EINVALID, "'%s': an extent is not a whole number from 0",
					a->name);
		if (n && bytes > MAX_BYTES / n)
			return kl_error(KL_EINVALID, "'%s' has more than 2^40 bytes", a->name);
		bytes *= n;
		p->arg[at].extent[i] = n;
	}
	p->arg[at].naxes = axes;
	return 0;
}

static int parse_values(struct kl_point *p, const struct kl_job *j, const json_t *list)
{
	int err;

	if (json_array_size(list) != j->nargs)
		return kl_error(KL_EINVALID, "%zu values for %zu arguments", json_array_size(list),
				j->nargs);
	for (size_t i = 0; i < j->nargs; i++) {
		const struct kl_job_arg *a = &j->arg[i];
		const json_t *v = json_array_get(list, i);

		if (a->role == KL_ROLE_DIM) {
			if (!json_is_integer(v))
				return kl_error(KL_EINVALID, "dim '%s' needs a whole number",
						a->name);
			p->arg[i].value = json_integer_value(v);
			if (a->dtype == KL_I32 && p->arg[i].value != (int32_t)p->arg[i].value)
				return kl_error(KL_EINVALID, "dim '%s' does not fit in i32",
						a->name);
		} else if (a->role == KL_ROLE_SCALAR) {
			if (!json_is_number(v) && !json_is_string(v))
				return kl_error(KL_EINVALID, "scalar '%s' needs a number", a->name);
		} else if ((err = parse_extents(p, a, i, v)) < 0) {
			return err;
		}
	}
	return 0;
}

static int parse_dims(struct kl_point *p, const struct kl_job *j, const json_t *obj)
{
	const json_t *list = json_object_get(obj, "dims"), *v;
	size_t i;

	if (json_array_size(list) != j->ndim || (list && !json_is_array(list)))
		return kl_error(KL_EINVALID, "%zu values for %zu dims", json_array_size(list), j->ndim);
	json_array_foreach(list, i, v) {
		if (!json_is_integer(v) || json_integer_value(v) < 0)
			return kl_error(KL_EINVALID, "'dims' has an entry that is not a whole number from 0");
		p->dim[i] = json_integer_value(v);
	}
	return 0;
}

static int parse_rank(bool *hot, const json_t *obj)
{
	const char *s = kl_json_str_or(obj, "rank", "cold");

	if (strcmp(s, "cold") && strcmp(s, "hot"))
		return kl_error(KL_EINVALID, "rank is cold or hot, not '%s'", s);
	*hot = !strcmp(s, "hot");
	return 0;
}

static int parse_point(struct kl_job *j, const json_t *obj)
{
	static const char *const known[] = {
		"id", "perf", "rank", "weight", "floor_ns", "values", "dims", NULL
	};
	struct kl_point *p = &j->point[j->npoint];
	json_t *values;
	int err;

	if ((err = only(obj, "a point", known)) < 0 ||
	    (err = fixed_str(p->id, sizeof(p->id), obj, "id")) < 0)
		return err;
	for (size_t i = 0; i < j->npoint; i++)
		if (!strcmp(j->point[i].id, p->id))
			return kl_error(KL_EINVALID, "two points are called '%s'", p->id);
	p->weight = 1;
	if ((err = optional_bool(&p->perf, obj, "perf", false)) < 0 ||
	    (err = parse_rank(&p->hot, obj)) < 0 ||
	    (json_object_get(obj, "weight") &&
	     (err = ranged_int(&p->weight, obj, "weight", 1, (int64_t)1 << 30)) < 0) ||
	    (json_object_get(obj, "floor_ns") &&
	     (err = ranged_int(&p->floor_ns, obj, "floor_ns", 0, (int64_t)1 << 60)) < 0) ||
	    (err = kl_json_arr(&values, obj, "values")) < 0 ||
	    (err = parse_values(p, j, values)) < 0 || (err = parse_dims(p, j, obj)) < 0)
		return kl_error_in(err, "point '%s'", p->id);
	j->npoint++;
	return 0;
}

static int parse_points(struct kl_job *j, const json_t *doc)
{
	json_t *list, *v;
	size_t i;
	int err = kl_json_arr(&list, doc, "points");

	if (err < 0)
		return err;
	if (json_array_size(list) < 1 || json_array_size(list) > MAX_POINTS)
		return kl_error(KL_EINVALID, "%zu points, 1 to %d are possible",
				json_array_size(list), MAX_POINTS);
	j->point = kl_calloc(json_array_size(list), sizeof(*j->point));
	json_array_foreach(list, i, v)
		if ((err = parse_point(j, v)) < 0)
			return err;
	return 0;
}

/* The argument that a rule's member names, which must be a tensor. */
static int rule_arg(int *out, const struct kl_job *j, const json_t *obj, const char *key)
{
	const char *s;
	int err = kl_json_str(&s, obj, key);

	if (err < 0)
		return err;
	*out = arg_index(j, s);
	if (*out < 0 || j->arg[*out].role == KL_ROLE_DIM || j->arg[*out].role == KL_ROLE_SCALAR)
		return kl_error(KL_EINVALID, "'%s' names no tensor: '%s'", key, s);
	return 0;
}

/* An axis, or {"<axis>": n}, which keeps n of its coordinates together. */
static int parse_axis(int *axis, int64_t *cut, const json_t *v)
{
	const char *key = json_object_iter_key(json_object_iter((json_t *)v));
	const json_t *n = key ? json_object_get(v, key) : NULL;

	*cut = 1;
	if (json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < KL_JOB_MAX_AXES) {
		*axis = (int)json_integer_value(v);
		return 0;
	}
	if (json_object_size(v) != 1 || key[0] < '0' || key[0] >= '0' + KL_JOB_MAX_AXES || key[1] ||
	    !json_is_integer(n) || json_integer_value(n) < 1)
		return kl_error(KL_EINVALID, "'per' names no axis");
	*axis = key[0] - '0';
	*cut = json_integer_value(n);
	return 0;
}

static int parse_per(struct kl_rule *r, const json_t *obj)
{
	const json_t *list = json_object_get(obj, "per"), *v;
	size_t i;
	int err;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > KL_JOB_MAX_AXES)
		return kl_error(KL_EINVALID, "'per' is not a list of at most %d axes",
				KL_JOB_MAX_AXES);
	json_array_foreach(list, i, v) {
		if ((err = parse_axis(&r->per[i], &r->cut[i], v)) < 0)
			return err;
		r->npaxes++;
	}
	return 0;
}

static const struct rule_form {
	const char *name;
	enum kl_rule_kind kind;
	const char *known[8];
} rule_forms[] = {
	{ "noise", KL_RULE_NOISE, { "rule", "out", "max", "rms", "per" } },
	{ "exact", KL_RULE_EXACT, { "rule", "out" } },
	{ "elementwise", KL_RULE_ELEMENTWISE, { "rule", "out", "ulps", "acc" } },
	{ "rel-l2", KL_RULE_REL_L2, { "rule", "out", "tol", "per", "zeros" } },
	{ "multiset", KL_RULE_MULTISET, { "rule", "out", "values", "indices", "of" } },
};

static const struct rule_form *rule_form(const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(rule_forms); i++)
		if (!strcmp(rule_forms[i].name, name))
			return &rule_forms[i];
	return NULL;
}

static int parse_multiset(struct kl_rule *r, const struct kl_job *j, const json_t *obj)
{
	const char *out = json_object_get(obj, "values") ? "values" : "out";
	int err;

	r->indices = r->of = -1;
	if ((err = rule_arg(&r->out, j, obj, out)) < 0 ||
	    (err = rule_arg(&r->indices, j, obj, "indices")) < 0 ||
	    (err = rule_arg(&r->of, j, obj, "of")) < 0)
		return err;
	if (j->arg[r->indices].role == KL_ROLE_IN || j->arg[r->of].role != KL_ROLE_IN)
		return kl_error(KL_EINVALID,
				"a multiset's indices are an output and 'of' is an input");
	return 0;
}

static int parse_rule(struct kl_job *j, const json_t *obj)
{
	struct kl_rule *r = &j->rule[j->nrule];
	const struct rule_form *form;
	const char *name;
	int err;

	if ((err = kl_json_str(&name, obj, "rule")) < 0)
		return err;
	form = rule_form(name);
	if (!form)
		return kl_error(KL_EINVALID, "no rule is called '%s'", name);
	r->kind = form->kind;
	if ((err = only(obj, "a rule", form->known)) < 0 || (err = parse_per(r, obj)) < 0 ||
	    (err = optional_num(&r->max, obj, "max", 4)) < 0 ||
	    (err = optional_num(&r->rms, obj, "rms", 2)) < 0 ||
	    (err = optional_num(&r->ulps, obj, "ulps", 0)) < 0 ||
	    (err = optional_num(&r->acc, obj, "acc", 0)) < 0 ||
	    (err = optional_num(&r->tol, obj, "tol", 0)) < 0)
		return kl_error_in(err, "rule '%s'", name);
	if ((err = optional_bool(&r->zeros, obj, "zeros", false)) < 0)
		return kl_error_in(err, "rule '%s'", name);
	err = r->kind == KL_RULE_MULTISET ? parse_multiset(r, j, obj)
					  : rule_arg(&r->out, j, obj, "out");
	if (err < 0)
		return kl_error_in(err, "rule '%s'", name);
	if (j->arg[r->out].role == KL_ROLE_IN)
		return kl_error(KL_EINVALID, "rule '%s' judges '%s', which is an input", name,
				j->arg[r->out].name);
	j->nrule++;
	return 0;
}

/* Is every output judged? Else a kernel could leave it undone. */
static int all_judged(const struct kl_job *j)
{
	for (size_t i = 0; i < j->nargs; i++) {
		bool judged = j->arg[i].role != KL_ROLE_OUT && j->arg[i].role != KL_ROLE_INOUT;

		for (size_t n = 0; n < j->nrule; n++)
			judged |= j->rule[n].out == (int)i ||
				  (j->rule[n].kind == KL_RULE_MULTISET &&
				   j->rule[n].indices == (int)i);
		if (!judged)
			return kl_error(KL_EINVALID, "no rule judges output '%s'", j->arg[i].name);
	}
	return 0;
}

static int parse_rules(struct kl_job *j, const json_t *doc)
{
	json_t *list, *v;
	size_t i;
	int err = kl_json_arr(&list, doc, "accept");

	if (err < 0)
		return err;
	if (json_array_size(list) > KL_JOB_MAX_ARGS)
		return kl_error(KL_EINVALID, "more rules than arguments are possible");
	j->rule = kl_calloc(json_array_size(list) + 1, sizeof(*j->rule));
	json_array_foreach(list, i, v)
		if ((err = parse_rule(j, v)) < 0)
			return err;
	return all_judged(j);
}

/* Which points a band is for, and what its answers must exceed. */
static int check_band_word(bool *word, const char *key, const json_t *v)
{
	*word = true;
	if (!strcmp(key, "at") && json_is_string(v)) {
		if (strcmp(json_string_value(v), "cases") && strcmp(json_string_value(v), "also"))
			return kl_error(KL_EINVALID, "a band's 'at' is neither cases nor also");
		return 0;
	}
	if (!strcmp(key, "must_exceed") && json_is_number(v)) {
		if (!(json_number_value(v) > 0))
			return kl_error(KL_EINVALID, "a band's 'must_exceed' is not above 0");
		return 0;
	}
	*word = false;
	return 0;
}

bool kl_job_band_at(const json_t *band, const struct kl_point *p)
{
	const char *at = json_string_value(json_object_get(band, "at"));

	return !at || (strcmp(at, "cases") == 0) == p->perf;
}

/* "exact" and "bands": objects of argument names to fills. */
static int parse_bands(json_t **out, const struct kl_job *j, const json_t *doc, const char *key)
{
	json_t *list = json_object_get(doc, key), *band, *fill;
	const char *name;
	size_t i;
	int err, at;

	if (!list) {
		*out = json_array();
		return 0;
	}
	if (!json_is_array(list))
		return kl_error(KL_EINVALID, "'%s' is not a list", key);
	json_array_foreach(list, i, band) {
		if (!json_is_object(band))
			return kl_error(KL_EINVALID, "'%s' has an entry that is not an object",
					key);
		json_object_foreach(band, name, fill) {
			bool word;

			if ((err = check_band_word(&word, name, fill)) < 0)
				return err;
			if (word)
				continue;
			at = arg_index(j, name);
			if (at < 0 || !j->arg[at].fill)
				return kl_error(KL_EINVALID, "'%s' names '%s', which is no input",
						key, name);
			if ((err = check_fill(fill, key)) < 0)
				return err;
		}
	}
	*out = json_incref(list);
	return 0;
}

static int parse_do(struct kl_job *j, const json_t *doc)
{
	json_t *list, *v;
	size_t i;
	int err = kl_json_arr(&list, doc, "do");

	if (err < 0)
		return err;
	json_array_foreach(list, i, v) {
		const char *s = json_is_string(v) ? json_string_value(v) : "";

		if (!strcmp(s, "audit"))
			j->do_audit = true;
		else if (!strcmp(s, "correct"))
			j->do_correct = true;
		else if (!strcmp(s, "profile"))
			j->do_profile = true;
		else if (!strcmp(s, "counters"))
			j->do_counters = true;
		else if (!strcmp(s, "launch"))
			j->do_launch = true;
		else
			return kl_error(KL_EINVALID, "'do' names no stage: '%s'", s);
	}
	if ((j->do_correct || j->do_profile || j->do_counters || j->do_launch) && !j->candidate_so)
		return kl_error(KL_EINVALID, "no candidate to judge");
	return 0;
}

static int parse_seed(struct kl_job *j, const json_t *doc)
{
	const char *s;
	char *end;
	int err = kl_json_str(&s, doc, "seed");

	if (err < 0)
		return err;
	errno = 0;
	j->seed = strtoull(s, &end, 10);
	if (errno || *end || s[0] < '0' || s[0] > '9')
		return kl_error(KL_EINVALID, "'seed' is not a decimal number below 2^64: '%s'", s);
	return 0;
}

static int parse_profile(struct kl_job *j, const json_t *doc)
{
	static const char *const known[] = { "min_blocks", "max_ms", NULL };
	const json_t *obj = json_object_get(doc, "profile");
	int err;

	j->profile_min_blocks = 8;
	j->profile_max_ms = 15000;
	if (!obj)
		return 0;
	if ((err = only(obj, "'profile'", known)) < 0 ||
	    (err = ranged_int(&j->profile_min_blocks, obj, "min_blocks", 1, 1000)) < 0)
		return err;
	return ranged_int(&j->profile_max_ms, obj, "max_ms", 1, 3600 * 1000);
}

static int parse_entries(struct kl_job *j, const json_t *doc)
{
	static const char *const cuda_only[] = {
		"dims", "arch", "plan", "parent_plan", "oracle_plan", "baseline_cubin", "baseline_plan",
		"host", "kernels",
	};
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(cuda_only); i++)
		if (json_object_get(doc, cuda_only[i]))
			return kl_error(KL_EINVALID, "'%s' is for surface cuda", cuda_only[i]);
	if ((err = fixed_str(j->entry, sizeof(j->entry), doc, "entry")) < 0)
		return err;
	return fixed_str(j->oracle_entry, sizeof(j->oracle_entry), doc, "oracle_entry");
}

static int parse_dim_names(struct kl_job *j, const json_t *doc)
{
	json_t *list, *v;
	size_t i;
	int err = kl_json_arr(&list, doc, "dims");

	if (err < 0)
		return err;
	if (json_array_size(list) < 1 || json_array_size(list) > KL_JOB_MAX_DIMS)
		return kl_error(KL_EINVALID, "%zu dims, 1 to %d are possible", json_array_size(list),
				KL_JOB_MAX_DIMS);
	json_array_foreach(list, i, v) {
		const char *s = json_string_value(v);

		if (!s || !*s || strlen(s) >= sizeof(j->dim_name[i]))
			return kl_error(KL_EINVALID, "'dims' has an entry that is no name");
		memcpy(j->dim_name[i], s, strlen(s) + 1);
	}
	j->ndim = json_array_size(list);
	return 0;
}

static int parse_kernels(struct kl_job *j, const json_t *doc)
{
	json_t *list, *v;
	size_t i;
	int err = kl_json_arr(&list, doc, "kernels");

	if (err < 0)
		return err;
	json_array_foreach(list, i, v) {
		if (!json_string_value(v))
			return kl_error(KL_EINVALID, "'kernels' has an entry that is no name");
		kl_strvec_push(&j->kernel, json_string_value(v));
	}
	return 0;
}

static int parse_device(struct kl_job *j, const json_t *doc)
{
	struct kl_plan_facts facts;
	int err = optional_bool(&j->host, doc, "host", false);

	if (err == 0 && j->host)
		err = parse_kernels(j, doc);
	if (err < 0)
		return err;

	if (json_object_get(doc, "entry") || json_object_get(doc, "oracle_entry"))
		return kl_error(KL_EINVALID, "surface cuda has no 'entry': its plans name kernels");
	if ((err = fixed_str(j->arch, sizeof(j->arch), doc, "arch")) < 0 ||
	    (err = kl_plan_arch_facts(&facts, j->arch)) < 0)
		return err;
	return parse_dim_names(j, doc);
}

static int parse_names(struct kl_job *j, const json_t *doc)
{
	const char *s;
	int err;

	if ((err = kl_json_str(&s, doc, "schema")) < 0)
		return err;
	if (strcmp(s, "klineage.job/1"))
		return kl_error(KL_EINVALID, "this worker reads klineage.job/1, not '%s'", s);
	if ((err = kl_json_str(&s, doc, "surface")) < 0)
		return err;
	if (strcmp(s, "c") && strcmp(s, "cuda"))
		return kl_error(KL_ECANNOT, "this worker has no surface '%s'", s);
	j->surface = strcmp(s, "c") ? KL_SURFACE_CUDA : KL_SURFACE_C;
	if ((err = j->surface == KL_SURFACE_CUDA ? parse_device(j, doc) : parse_entries(j, doc)) < 0 ||
	    (err = heap_str(&j->truth_so, doc, "truth", false)) < 0 ||
	    (err = heap_str(&j->honest_so, doc, "honest", false)) < 0 ||
	    (err = heap_str(&j->candidate_so, doc, "candidate", true)) < 0 ||
	    (err = heap_str(&j->parent_so, doc, "parent", true)) < 0 ||
	    (err = heap_str(&j->baseline, doc, "baseline", true)) < 0 ||
	    (err = heap_str(&j->baseline_so, doc, "baseline_cubin", true)) < 0 ||
	    (err = heap_str(&j->isa, doc, "isa", true)) < 0)
		return err;
	return heap_str(&j->pool, doc, "pool", false);
}

void kl_job_names(struct kl_job_names *out, const struct kl_job *j)
{
	*out = (struct kl_job_names){ .names = { .ndim = j->ndim, .ntensor = j->nargs } };
	out->names.dim = out->dim;
	out->names.tensor = out->tensor;
	out->names.scalar = out->scalar;
	for (size_t i = 0; i < j->ndim; i++)
		out->dim[i] = j->dim_name[i];
	for (size_t i = 0; i < j->nargs; i++) {
		const struct kl_job_arg *a = &j->arg[i];

		if (a->role == KL_ROLE_SCALAR)
			out->scalar[i] = (struct kl_plan_scalar){ a->name, dtypes[a->dtype].name, a->value };
		else if (a->role != KL_ROLE_DIM)
			out->tensor[i] = a->name;
	}
}

void kl_job_tensor_bytes(int64_t out[KL_JOB_MAX_ARGS], const struct kl_job *j,
			 const struct kl_point *p, size_t real)
{
	for (size_t i = 0; i < j->nargs; i++) {
		bool tensor = j->arg[i].role != KL_ROLE_SCALAR && j->arg[i].role != KL_ROLE_DIM;
		size_t size = real && j->arg[i].dtype <= KL_BF16 ? real : kl_dtype_bytes(j->arg[i].dtype);

		out[i] = tensor ? kl_point_elements(p, i) * (int64_t)size : 0;
	}
}

bool kl_job_is_host(const struct kl_job *j, const char *artefact)
{
	return j->host && ((j->candidate_so && !strcmp(j->candidate_so, artefact)) ||
			   (j->parent_so && !strcmp(j->parent_so, artefact)));
}

static int parse_plan(struct kl_plan **out, const struct kl_job *j, const json_t *doc, const char *key,
		      bool needed)
{
	const json_t *v = json_object_get(doc, key);
	struct kl_job_names names;
	int err;

	if (!v || json_is_null(v))
		return needed ? kl_error(KL_EINVALID, "'%s' is missing", key) : 0;
	kl_job_names(&names, j);
	err = kl_plan_parse(out, v, &names.names, NULL);
	return err < 0 ? kl_error_in(err, "'%s'", key) : 0;
}

static int parse_plans(struct kl_job *j, const json_t *doc)
{
	int err;

	if (j->surface != KL_SURFACE_CUDA)
		return 0;
	for (size_t i = 0; i < j->nargs; i++)
		if (j->arg[i].role == KL_ROLE_DIM)
			return kl_error(KL_EINVALID, "argument '%s': dims are passed by the plan",
					j->arg[i].name);
	if ((err = parse_plan(&j->plan, j, doc, "plan", j->candidate_so && !j->host)) < 0 ||
	    (err = parse_plan(&j->parent_plan, j, doc, "parent_plan", j->parent_so && !j->host)) < 0 ||
	    (err = parse_plan(&j->baseline_plan, j, doc, "baseline_plan", j->baseline_so != NULL)) < 0)
		return err;
	if (j->host && (j->plan || j->parent_plan))
		return kl_error(KL_EINVALID, "host code launches by itself: it has no 'plan'");
	return parse_plan(&j->oracle_plan, j, doc, "oracle_plan", true);
}

static int parse(struct kl_job *j, const json_t *doc)
{
	static const char *const known[] = {
		"schema", "surface", "entry", "oracle_entry", "truth", "honest", "candidate",
		"parent", "baseline", "isa", "pool", "args", "points", "accept", "exact", "bands",
		"deterministic", "do", "seed", "arena_bytes", "call_ms", "profile",
		"dims", "arch", "plan", "parent_plan", "oracle_plan", "host", "kernels", "baseline_cubin",
		"baseline_plan", NULL
	};
	int err;

	if ((err = only(doc, "the job", known)) < 0 || (err = parse_names(j, doc)) < 0 ||
	    (err = parse_args(j, doc)) < 0 || (err = parse_plans(j, doc)) < 0 ||
	    (err = parse_points(j, doc)) < 0 ||
	    (err = parse_rules(j, doc)) < 0 ||
	    (err = parse_bands(&j->exact, j, doc, "exact")) < 0 ||
	    (err = parse_bands(&j->bands, j, doc, "bands")) < 0 ||
	    (err = optional_bool(&j->deterministic, doc, "deterministic", true)) < 0 ||
	    (err = parse_do(j, doc)) < 0 || (err = parse_seed(j, doc)) < 0 ||
	    (err = ranged_int(&j->arena_bytes, doc, "arena_bytes", 0, MAX_BYTES)) < 0 ||
	    (err = ranged_int(&j->call_ms, doc, "call_ms", 1, 3600 * 1000)) < 0)
		return err;
	return parse_profile(j, doc);
}

int kl_job_parse(struct kl_job **out, const json_t *doc)
{
	KL_AUTO(kl_job_freep) struct kl_job *j = kl_calloc(1, sizeof(*j));
	int err = parse(j, doc);

	if (err < 0)
		return kl_error_in(err, "job");
	if (j->surface == KL_SURFACE_CUDA)
		j->gpu = kl_gpu_keep_new();
	*out = kl_steal(&j);
	return 0;
}

void kl_job_free(struct kl_job *j)
{
	if (!j)
		return;
	kl_plan_free(j->plan);
	kl_plan_free(j->parent_plan);
	kl_plan_free(j->oracle_plan);
	kl_plan_free(j->baseline_plan);
	kl_strvec_release(&j->kernel);
	free(j->truth_so);
	free(j->honest_so);
	free(j->candidate_so);
	free(j->parent_so);
	free(j->baseline);
	free(j->baseline_so);
	free(j->isa);
	free(j->pool);
	for (size_t i = 0; i < KL_JOB_MAX_ARGS; i++)
		json_decref(j->arg[i].fill);
	kl_gpu_keep_free(j->gpu);
	json_decref(j->exact);
	json_decref(j->bands);
	free(j->point);
	free(j->rule);
	free(j);
}
