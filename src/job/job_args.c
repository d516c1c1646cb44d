/* SPDX-License-Identifier: Apache-2.0 */
/* job_args - parses a job's arguments, points and bands */
#include "job/job_parts.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "job/job_read.h"

#define MAX_POINTS 256

int64_t kl_point_elements(const struct kl_point *point, size_t arg)
{
	int64_t n = 1;

	for (size_t i = 0; i < point->arg[arg].naxes; i++)
		n *= point->arg[arg].extent[i];
	return n;
}

int kl_job_arg_index(const struct kl_job *job, const char *name)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (!strcmp(job->arg[i].name, name))
			return (int)i;
	return -1;
}

static int parse_dtype(enum kl_dtype *out, const json_t *obj)
{
	const char *text;
	int err = kl_json_str(&text, obj, "dtype");

	if (err < 0)
		return err;
	if (kl_dtype_parse(out, text))
		return 0;
	return kl_error(KL_EINVALID, "unknown dtype '%s'", text);
}

static int parse_kind(enum kl_arg_kind *out, const json_t *obj)
{
	const char *text;
	int err = kl_json_str(&text, obj, "kind");

	if (err < 0)
		return err;
	for (int i = 0; kl_arg_kind_names[i]; i++) {
		if (!strcmp(kl_arg_kind_names[i], text)) {
			*out = (enum kl_arg_kind)i;
			return 0;
		}
	}
	return kl_error(KL_EINVALID, "unknown kind of argument '%s'", text);
}

/*
 * Read a JSON number, or a string that names one of four values that JSON numbers cannot express.
 */
static int read_number(double *out, const json_t *item)
{
	static const struct {
		const char *name;
		double value;
	} special[] = {
		{ "inf", INFINITY },
		{ "-inf", -INFINITY },
		{ "nan", NAN },
		{ "-0", -0.0 },
	};

	if (json_is_number(item)) {
		*out = json_number_value(item);
		return 0;
	}
	for (size_t i = 0; json_is_string(item) && i < KL_ARRAY_SIZE(special); i++) {
		if (!strcmp(special[i].name, json_string_value(item))) {
			*out = special[i].value;
			return 0;
		}
	}
	return kl_error(KL_EINVALID,
			"a value must be a number, \"inf\", \"-inf\", \"nan\" or \"-0\"");
}

/*
 * Check that a fill has exactly one generator and only known modifiers. The values of both are
 * checked by worker/pool/fill.c.
 */
static int check_fill(const json_t *fill, const char *where)
{
	static const char *const known[] = { "normal",  "uniform",  "ints",    "const",
					     "one-hot", "choice",   "cauchy",  "index",
					     "repeat",  "outliers", "map",     "scale",
					     "unit",    "lower",    "running", NULL };
	int generators = 0, err = kl_job_read_only(fill, where, known);

	if (err < 0)
		return err;
	for (size_t i = 0; strcmp(known[i], "map"); i++)
		generators += json_object_get(fill, known[i]) != NULL;
	if (generators != 1)
		return kl_error(KL_EINVALID, "%s has %d generators; it must have one", where,
				generators);
	return 0;
}

static int parse_fill(struct kl_job_arg *arg, const json_t *obj)
{
	json_t *fill = json_object_get(obj, "fill");
	int err;

	if (arg->kind != KL_ARG_IN && arg->kind != KL_ARG_INOUT) {
		if (fill)
			return kl_error(KL_EINVALID, "only an in or inout argument has a fill");
		return 0;
	}
	if (!fill)
		return kl_error(KL_EINVALID, "an in or inout argument needs a fill");
	if ((err = check_fill(fill, "the fill")) < 0)
		return err;
	arg->fill = json_incref(fill);
	return 0;
}

/*
 * Read the initial state of an output before each call: zero with "init": "zeros", otherwise
 * poisoned.
 */
static int parse_init(struct kl_job_arg *arg, const json_t *obj)
{
	const json_t *init = json_object_get(obj, "init");

	if (!init)
		return 0;
	if (!json_is_string(init) || strcmp(json_string_value(init), "zeros"))
		return kl_error(KL_EINVALID, "'init' must be \"zeros\"");
	if (arg->kind != KL_ARG_OUT)
		return kl_error(KL_EINVALID, "only an out argument has 'init'");
	arg->zeros = true;
	return 0;
}

/*
 * Read whether the kernel returns this output by value; such an output must be the last argument.
 */
static int parse_returned(struct kl_job_arg *arg, const struct kl_job *job, const json_t *obj)
{
	int err = kl_job_read_bool(&arg->returned, obj, "returned", false);

	if (err < 0 || !arg->returned)
		return err;
	if (job->surface != KL_SURFACE_C)
		return kl_error(KL_EINVALID, "only a kernel of surface c returns a value");
	if (arg->kind != KL_ARG_OUT || arg->zeros)
		return kl_error(KL_EINVALID, "only an out argument without 'init' can be returned");
	if (arg->dtype == KL_F16 || arg->dtype == KL_BF16)
		return kl_error(KL_EINVALID, "a kernel cannot return f16 or bf16 by value");
	return 0;
}

/* Read where the candidate finds the tensor: a power of two that the element type divides. */
static int parse_base(struct kl_job_arg *arg, const struct kl_job *job, const json_t *obj)
{
	int64_t least = (int64_t)kl_dtype_bytes(arg->dtype);
	int err;

	if (!json_object_get(obj, "base"))
		return 0;
	if (job->surface != KL_SURFACE_C)
		return kl_error(KL_ECANNOT, "only the tensors of a kernel of surface c have a "
					    "'base'");
	if (!kl_arg_kind_is_tensor(arg->kind) || arg->returned)
		return kl_error(KL_EINVALID, "only a tensor that is passed as a pointer has a "
					     "'base'");
	if ((err = kl_job_read_int(&arg->base, obj, "base", least, KL_JOB_MAX_BASE)) < 0)
		return err;
	return arg->base & (arg->base - 1) ?
		       kl_error(KL_EINVALID, "'base' is %lld, which is not a power of two",
				(long long)arg->base) :
		       0;
}

static int parse_arg(struct kl_job *job, const json_t *obj)
{
	static const char *const known[] = { "name",  "kind", "dtype",    "value", "fill",
					     "sweep", "init", "returned", "base",  NULL };
	struct kl_job_arg *arg = &job->arg[job->nargs];
	int err;

	if (job->nargs && arg[-1].returned)
		return kl_error(KL_EINVALID, "'%s' is returned, so it must be the last argument",
				arg[-1].name);
	if ((err = kl_job_read_only(obj, "an argument", known)) < 0 ||
	    (err = kl_job_read_str(arg->name, sizeof(arg->name), obj, "name")) < 0)
		return err;
	if (kl_job_arg_index(job, arg->name) >= 0)
		return kl_error(KL_EINVALID, "two arguments have the name '%s'", arg->name);
	if ((err = parse_kind(&arg->kind, obj)) < 0 || (err = parse_dtype(&arg->dtype, obj)) < 0 ||
	    (err = kl_job_read_bool(&arg->sweep, obj, "sweep", false)) < 0 ||
	    (err = parse_fill(arg, obj)) < 0 || (err = parse_init(arg, obj)) < 0 ||
	    (err = parse_returned(arg, job, obj)) < 0 || (err = parse_base(arg, job, obj)) < 0)
		return kl_error_in(err, "argument '%s'", arg->name);
	if (arg->kind == KL_ARG_DIM && kl_dtype_is_float(arg->dtype))
		return kl_error(KL_EINVALID, "dim '%s' is not an integer", arg->name);
	if (arg->kind == KL_ARG_SCALAR && (arg->dtype == KL_F16 || arg->dtype == KL_BF16))
		return kl_error(KL_EINVALID,
				"scalar '%s' cannot be f16 or bf16: these are not passed by value",
				arg->name);
	if (arg->kind == KL_ARG_SCALAR) {
		if ((err = read_number(&arg->value, json_object_get(obj, "value"))) < 0)
			return kl_error_in(err, "scalar '%s'", arg->name);
	} else if (json_object_get(obj, "value")) {
		return kl_error(KL_EINVALID, "argument '%s': only a scalar has a value", arg->name);
	}
	job->nargs++;
	return 0;
}

int kl_job_parse_args(struct kl_job *job, const json_t *doc)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, doc, "args");

	if (err < 0)
		return err;
	if (json_array_size(list) < 1 || json_array_size(list) > KL_MAX_ARGS)
		return kl_error(KL_EINVALID, "'args' has %zu entries; it must have 1 to %d",
				json_array_size(list), KL_MAX_ARGS);
	json_array_foreach(list, i, item)
		if ((err = parse_arg(job, item)) < 0)
			return err;
	return 0;
}

static int parse_extents(struct kl_point *point, const struct kl_job_arg *arg, size_t index,
			 const json_t *value)
{
	size_t axes = json_array_size(value);
	int64_t bytes = (int64_t)kl_dtype_bytes(arg->dtype);

	if (!json_is_array(value) || axes > KL_MAX_AXES)
		return kl_error(KL_EINVALID, "'%s' needs a list of at most %d extents", arg->name,
				KL_MAX_AXES);
	for (size_t i = 0; i < axes; i++) {
		int64_t extent = json_integer_value(json_array_get(value, i));

		if (!json_is_integer(json_array_get(value, i)) || extent < 0)
			return kl_error(KL_EINVALID,
					"'%s': an extent is not a whole number of at least 0",
					arg->name);
		if (extent && bytes > KL_TENSOR_MAX_BYTES / extent)
			return kl_error(KL_EINVALID, "'%s' has more than 2^40 bytes", arg->name);
		bytes *= extent;
		point->arg[index].extent[i] = extent;
	}
	point->arg[index].naxes = axes;
	if (arg->returned && (axes != 1 || point->arg[index].extent[0] != 1))
		return kl_error(KL_EINVALID, "'%s' is returned, so its extents must be [1]",
				arg->name);
	return 0;
}

static int parse_values(struct kl_point *point, const struct kl_job *job, const json_t *list)
{
	int err;

	if (json_array_size(list) != job->nargs)
		return kl_error(KL_EINVALID, "'values' has %zu entries for %zu arguments",
				json_array_size(list), job->nargs);
	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *arg = &job->arg[i];
		const json_t *value = json_array_get(list, i);

		if (arg->kind == KL_ARG_DIM) {
			if (!json_is_integer(value))
				return kl_error(KL_EINVALID, "dim '%s' needs a whole number",
						arg->name);
			point->arg[i].value = json_integer_value(value);
			if (!kl_dtype_holds(arg->dtype, point->arg[i].value))
				return kl_error(KL_EINVALID, "dim '%s' does not fit in %s",
						arg->name, kl_dtype_name(arg->dtype));
		} else if (arg->kind == KL_ARG_SCALAR) {
			if (!json_is_number(value) && !json_is_string(value))
				return kl_error(KL_EINVALID, "scalar '%s' needs a number",
						arg->name);
		} else if ((err = parse_extents(point, arg, i, value)) < 0) {
			return err;
		}
	}
	return 0;
}

static int parse_dims(struct kl_point *point, const struct kl_job *job, const json_t *obj)
{
	const json_t *list = json_object_get(obj, "dims"), *item;
	size_t i;

	if (json_array_size(list) != job->ndim || (list && !json_is_array(list)))
		return kl_error(KL_EINVALID, "'dims' has %zu entries for %zu dims",
				json_array_size(list), job->ndim);
	json_array_foreach(list, i, item) {
		if (!json_is_integer(item) || json_integer_value(item) < 0)
			return kl_error(
				KL_EINVALID,
				"'dims' has an entry that is not a whole number of at least 0");
		point->dim[i] = json_integer_value(item);
	}
	return 0;
}

static int parse_rank(bool *hot, const json_t *obj)
{
	const char *text = kl_json_str_or(obj, "rank", "cold");

	if (strcmp(text, "cold") && strcmp(text, "hot"))
		return kl_error(KL_EINVALID, "rank must be cold or hot, not '%s'", text);
	*hot = !strcmp(text, "hot");
	return 0;
}

static int parse_point(struct kl_job *job, const json_t *obj)
{
	static const char *const known[] = { "id",     "perf", "rank",  "weight", "floor_ns",
					     "values", "dims", "drawn", NULL };
	struct kl_point *point = &job->point[job->npoint];
	json_t *values;
	int err;

	if ((err = kl_job_read_only(obj, "a point", known)) < 0 ||
	    (err = kl_job_read_str(point->id, sizeof(point->id), obj, "id")) < 0)
		return err;
	for (size_t i = 0; i < job->npoint; i++)
		if (!strcmp(job->point[i].id, point->id))
			return kl_error(KL_EINVALID, "two points have the id '%s'", point->id);
	point->weight = 1;
	if ((err = kl_job_read_bool(&point->perf, obj, "perf", false)) < 0 ||
	    (err = kl_job_read_bool(&point->drawn, obj, "drawn", false)) < 0 ||
	    (err = parse_rank(&point->hot, obj)) < 0 ||
	    (json_object_get(obj, "weight") &&
	     (err = kl_job_read_int(&point->weight, obj, "weight", 1, (int64_t)1 << 30)) < 0) ||
	    (json_object_get(obj, "floor_ns") &&
	     (err = kl_job_read_int(&point->floor_ns, obj, "floor_ns", 0, (int64_t)1 << 60)) < 0) ||
	    (err = kl_json_arr(&values, obj, "values")) < 0 ||
	    (err = parse_values(point, job, values)) < 0 || (err = parse_dims(point, job, obj)) < 0)
		return kl_error_in(err, "point '%s'", point->id);
	if (point->perf && point->drawn)
		return kl_error(KL_EINVALID, "point '%s' cannot be both 'drawn' and 'perf'",
				point->id);
	job->npoint++;
	return 0;
}

int kl_job_parse_points(struct kl_job *job, const json_t *doc)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, doc, "points");

	if (err < 0)
		return err;
	if (json_array_size(list) < 1 || json_array_size(list) > MAX_POINTS)
		return kl_error(KL_EINVALID, "'points' has %zu entries; it must have 1 to %d",
				json_array_size(list), MAX_POINTS);
	job->point = kl_calloc(json_array_size(list), sizeof(*job->point));
	json_array_foreach(list, i, item)
		if ((err = parse_point(job, item)) < 0)
			return err;
	return 0;
}

/*
 * If `key` names an option of a band (`at` or `must_exceed`), set *is_option to true and check its
 * value; otherwise set *is_option to false.
 */
static int check_band_option(bool *is_option, const char *key, const json_t *value)
{
	*is_option = true;
	if (!strcmp(key, "at") && json_is_string(value)) {
		if (strcmp(json_string_value(value), "cases") &&
		    strcmp(json_string_value(value), "also"))
			return kl_error(KL_EINVALID, "a band's 'at' must be cases or also");
		return 0;
	}
	if (!strcmp(key, "must_exceed") && json_is_number(value)) {
		if (!(json_number_value(value) > 0))
			return kl_error(KL_EINVALID, "a band's 'must_exceed' must be above 0");
		return 0;
	}
	*is_option = false;
	return 0;
}

bool kl_job_band_at(const json_t *band, const struct kl_point *point)
{
	const char *at = json_string_value(json_object_get(band, "at"));

	return !at || (strcmp(at, "cases") == 0) == point->perf;
}

int kl_job_parse_bands(json_t **out, const struct kl_job *job, const json_t *doc, const char *key)
{
	json_t *list = json_object_get(doc, key), *band, *fill;
	const char *name;
	size_t i;
	int err, arg;

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
			bool is_option;

			if ((err = check_band_option(&is_option, name, fill)) < 0)
				return err;
			if (is_option)
				continue;
			arg = kl_job_arg_index(job, name);
			if (arg < 0 || !job->arg[arg].fill)
				return kl_error(KL_EINVALID,
						"'%s' names '%s', which is not an input", key,
						name);
			if ((err = check_fill(fill, key)) < 0)
				return err;
		}
	}
	*out = json_incref(list);
	return 0;
}

void kl_job_names(struct kl_job_names *out, const struct kl_job *job)
{
	*out = (struct kl_job_names){ .names = { .ndim = job->ndim, .ntensor = job->nargs } };
	out->names.dim = out->dim;
	out->names.tensor = out->tensor;
	out->names.scalar = out->scalar;
	for (size_t i = 0; i < job->ndim; i++)
		out->dim[i] = job->dim_name[i];
	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *arg = &job->arg[i];

		if (arg->kind == KL_ARG_SCALAR)
			out->scalar[i] = (struct kl_plan_scalar){ arg->name,
								  kl_dtype_name(arg->dtype),
								  arg->value };
		else if (arg->kind != KL_ARG_DIM)
			out->tensor[i] = arg->name;
	}
}
