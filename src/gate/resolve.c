/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/resolve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/fill.h"
#include "gate/gate.h"
#include "plan/expr.h"

#define MIN_BLOCKS 8

static char *copy_path(const char *path)
{
	return path ? kl_strdup(path) : NULL;
}

/* --- points ---------------------------------------------------------------------------------- */

/* The points of a job: the contract's points, or the points in `dims` of struct kl_resolve_of. */
struct points {
	const struct kl_contract *contract;
	struct kl_dims asked[KL_RESOLVE_DIMS]; /* the points in `dims` */
	size_t nasked;                         /* 0 to use the contract's points */
	bool timed;                            /* the points in `dims` are timed */
};

static int read_points(struct points *out, const struct kl_resolve_of *of)
{
	const char *text = of->dims;
	int err = 0;

	*out = (struct points){ .contract = of->contract, .timed = of->timed };
	while (text && err == 0) {
		size_t len = strcspn(text, "/");

		if (out->nasked == KL_RESOLVE_DIMS)
			return kl_error(KL_EUSAGE, "'%s' names more than %d points", of->dims,
					KL_RESOLVE_DIMS);
		err = kl_contract_read_dims(&out->asked[out->nasked++], of->contract, text, len);
		text = text[len] ? text + len + 1 : NULL;
	}
	return err;
}

static size_t count_points(const struct points *points)
{
	return points->nasked ? points->nasked : kl_contract_npoints(points->contract);
}

static const struct kl_dims *point_at(const struct points *points, size_t i, char id[32])
{
	if (!points->nasked)
		return kl_contract_point(points->contract, i, id);
	snprintf(id, 32, "%s%zu", points->timed ? "case" : "drawn", i);
	return &points->asked[i];
}

/* --- fills ---------------------------------------------------------------------------------- */

/* Evaluate the bound of an `index` fill at every point: {"case0": 4096, ..., "expr": "N"}. */
static int index_bounds(json_t **out, const struct points *points, const char *text)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	KL_AUTO(json_decrefp) json_t *bounds = json_object();
	struct kl_expr_names names = kl_contract_names(points->contract);
	int err = kl_expr_parse(&expr, text, &names, KL_EXPR_NUMBER, NULL);

	for (size_t i = 0; !err && i < count_points(points); i++) {
		char id[32];
		const struct kl_dims *dims = point_at(points, i, id);
		int64_t bound;

		err = kl_expr_eval(&bound, expr, dims->v);
		if (!err)
			kl_json_set_int(bounds, id, bound);
	}
	/* The worker evaluates this expression at the points that it draws. */
	kl_json_set_str(bounds, "expr", text);
	if (!err)
		*out = kl_steal(&bounds);
	return err;
}

static int resolve_fill(json_t **out, const struct points *points, json_t *fill)
{
	KL_AUTO(json_decrefp) json_t *bounds = NULL;
	const char *text = kl_fill_index(fill);
	int err;

	if (!text) {
		*out = json_incref(fill);
		return 0;
	}
	err = index_bounds(&bounds, points, text);
	if (!err)
		*out = kl_fill_resolve(fill, bounds);
	return err;
}

static int resolve_bands(json_t **out, const struct points *points, const json_t *bands)
{
	json_t *band, *fill;
	const char *arg;
	size_t i;

	*out = json_array();
	json_array_foreach(bands, i, band) {
		json_t *copy = json_object();

		json_array_append_new(*out, copy);
		json_object_foreach(band, arg, fill) {
			json_t *resolved;
			int err = resolve_fill(&resolved, points, fill);

			if (err < 0)
				return err;
			kl_json_set(copy, arg, resolved);
		}
	}
	return 0;
}

/* --- arguments and points ------------------------------------------------------------------- */

static int resolve_args(struct kl_job *job, const struct points *points)
{
	const struct kl_contract *contract = points->contract;
	int err = 0;

	for (size_t i = 0; !err && i < contract->nargs; i++) {
		const struct kl_arg *from = &contract->arg[i];
		struct kl_job_arg *arg = &job->arg[job->nargs++];

		snprintf(arg->name, sizeof(arg->name), "%s", from->name);
		arg->kind = from->kind;
		arg->dtype = from->dtype;
		arg->value = from->value;
		arg->sweep = from->sweep;
		arg->zeros = from->zeros;
		arg->returned = from->returned;
		if (from->fill)
			err = resolve_fill(&arg->fill, points, from->fill);
	}
	return err;
}

/*
 * Set the `base` of each tensor that is passed as a pointer. `text` is "<tensor>=<bytes>" or NULL.
 */
static int resolve_base(struct kl_job *job, const char *text)
{
	size_t name = text ? strcspn(text, "=") : 0;
	bool found = !text;

	for (size_t i = 0; i < job->nargs && text; i++) {
		struct kl_job_arg *arg = &job->arg[i];

		if (!kl_arg_kind_is_tensor(arg->kind) || arg->returned)
			continue;
		arg->base = KL_GATE_BASE;
		if (strlen(arg->name) != name || strncmp(arg->name, text, name) != 0)
			continue;
		arg->base = text[name] ? strtoll(text + name + 1, NULL, 10) : 0;
		if (arg->base < (int64_t)kl_dtype_bytes(arg->dtype) ||
		    arg->base > KL_JOB_MAX_BASE || arg->base & (arg->base - 1))
			return kl_error(KL_EUSAGE,
					"'%s' cannot lie at a multiple of '%s' bytes; give a "
					"power of two from %zu to %d",
					arg->name, text + name + !!text[name],
					kl_dtype_bytes(arg->dtype), KL_JOB_MAX_BASE);
		found = true;
	}
	return found ? 0 : kl_error(KL_EUSAGE, "'%s' names no tensor of the contract", text);
}

/* Compute the least time that a call can take at the backend's peak rates. */
static int floor_ns(int64_t *out, const struct kl_resolve_of *of, const struct kl_dims *dims)
{
	const struct kl_contract *contract = of->contract;
	int64_t bytes = 0, flops = 0;
	int err = 0;

	if (contract->floor.bytes)
		err = kl_expr_eval(&bytes, contract->floor.bytes, dims->v);
	else if (contract->floor.bytes_auto)
		err = kl_contract_bytes(&bytes, contract, dims);
	if (!err && contract->floor.flops)
		err = kl_expr_eval(&flops, contract->floor.flops, dims->v);
	if (err < 0)
		return err;
	bytes /= of->backend->peak.bytes_per_ns;
	flops /= of->backend->peak.flops_per_ns;
	*out = bytes > flops ? bytes : flops;
	if (*out < 0)
		*out = 0;
	return 0;
}

static int resolve_point(struct kl_point *point, const struct kl_resolve_of *of,
			 const struct points *points, size_t i)
{
	const struct kl_contract *contract = of->contract;
	const struct kl_dims *dims = point_at(points, i, point->id);
	int err = 0;

	memcpy(point->dim, dims->v, sizeof(point->dim));
	point->drawn = points->nasked > 0 && !points->timed;
	if (points->nasked ? points->timed : i < contract->nperf) {
		const struct kl_perf_case *perf = &contract->perf[points->nasked ? 0 : i];

		point->perf = true;
		point->weight = perf->weight;
		point->hot = perf->hot;
		err = floor_ns(&point->floor_ns, of, dims);
	}
	for (size_t k = 0; !err && k < contract->nargs; k++) {
		const struct kl_arg *arg = &contract->arg[k];

		if (arg->kind == KL_ARG_DIM)
			point->arg[k].value = dims->v[arg->dim];
		if (!kl_arg_kind_is_tensor(arg->kind))
			continue;
		point->arg[k].naxes = arg->naxes;
		err = kl_contract_shape(point->arg[k].extent, contract, k, dims);
	}
	return err;
}

static int resolve_points(struct kl_job *job, const struct kl_resolve_of *of,
			  const struct points *points)
{
	const struct kl_contract *contract = of->contract;
	size_t from = of->also_only && contract->nalso && !points->nasked ? contract->nperf : 0;
	size_t total = count_points(points);
	int err = 0;

	job->point = kl_calloc(total - from, sizeof(*job->point));
	for (size_t i = from; !err && i < total; i++)
		err = resolve_point(&job->point[job->npoint++], of, points, i);
	return err;
}

/* --- the domain ----------------------------------------------------------------------------- */

static void resolve_dims(struct kl_job *job, const struct kl_contract *contract)
{
	job->ndim = contract->dims.n;
	for (size_t i = 0; i < contract->dims.n; i++)
		snprintf(job->dim_name[i], sizeof(job->dim_name[i]), "%s", contract->dim_name[i]);
}

static void resolve_domain(struct kl_job *job, const struct kl_contract *contract, bool timed)
{
	job->further = true;
	job->values = contract->values;
	job->domain = kl_calloc(1, sizeof(*job->domain));
	for (size_t i = 0; i < contract->ndomain && !timed; i++)
		kl_strvec_push(&job->domain->text, contract->domain_text[i]);
	for (size_t i = 0; i < contract->nargs; i++)
		for (size_t axis = 0; axis < contract->arg[i].naxes; axis++)
			kl_strvec_push(&job->domain->shape_text[i],
				       contract->arg[i].shape_text[axis]);
}

/* --- the job -------------------------------------------------------------------------------- */

static void name_objects(struct kl_job *job, const struct kl_resolve_of *of)
{
	job->truth_path = copy_path(of->truth);
	job->honest_path = copy_path(of->honest);
	job->candidate_path = copy_path(of->candidate->object);
	job->parent_path = of->parent ? copy_path(of->parent->object) : NULL;
	job->baseline = copy_path(of->contract->baseline);
	job->pool = copy_path(of->pool);
}

static void choose_stages(struct kl_job *job, const struct kl_resolve_of *of)
{
	job->do_audit = of->audit;
	job->do_correct = of->correct;
	job->do_profile = of->profile;
	job->do_counters = of->counters;
	job->seed = of->seed;
	job->deterministic = of->contract->deterministic;
	job->arena_bytes = of->contract->arena_mib << 20;
	job->call_ms = of->contract->call_s * 1000;
	job->threads = of->contract->threads;
	job->profile_min_blocks = MIN_BLOCKS;
	job->profile_max_ms = of->profile_max_ms;
}

int kl_resolve_job(struct kl_job **out, const struct kl_resolve_of *of)
{
	const struct kl_contract *contract = of->contract;
	const struct kl_backend_job kernels = {
		.contract = contract,
		.platform = of->platform,
		.candidate = of->candidate,
		.parent = of->parent,
		.baseline = of->baseline,
		.oracle = of->oracle_launch,
	};
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;
	struct points points;
	int err = kl_contract_fits(contract);

	if (err < 0 || (err = read_points(&points, of)) < 0)
		return err;
	job = kl_calloc(1, sizeof(*job));
	job->surface = of->backend->surface;
	of->backend->describe(job, &kernels);
	name_objects(job, of);
	choose_stages(job, of);
	resolve_dims(job, contract);
	resolve_domain(job, contract, of->dims && of->timed);
	if ((err = resolve_args(job, &points)) < 0 || (err = resolve_base(job, of->base)) < 0 ||
	    (err = resolve_points(job, of, &points)) < 0 ||
	    (err = kl_job_set_rules(job, contract->accept)) < 0 ||
	    (err = resolve_bands(&job->exact, &points, contract->exact)) < 0 ||
	    (err = resolve_bands(&job->bands, &points, contract->bands)) < 0)
		return err;
	*out = kl_steal(&job);
	return 0;
}
