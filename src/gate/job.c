/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/job.h"

#include <string.h>

#include "base/error.h"
#include "contract/fill.h"
#include "plan/expr.h"

#define MIN_BLOCKS 8

static const char *kind_name(enum kl_arg_kind kind)
{
	static const char *const names[] = {
		[KL_ARG_DIM] = "dim", [KL_ARG_SCALAR] = "scalar", [KL_ARG_IN] = "in",
		[KL_ARG_OUT] = "out", [KL_ARG_INOUT] = "inout",
	};

	return names[kind];
}

/* An `index` fill's bound at every point: {"case0": 4096, ...}. */
static int index_bounds(json_t **out, const struct kl_contract *contract, const char *text)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	KL_AUTO(json_decrefp) json_t *bounds = json_object();
	struct kl_expr_names names = kl_contract_names(contract);
	int err = kl_expr_parse(&expr, text, &names, KL_EXPR_NUMBER, NULL);

	for (size_t i = 0; !err && i < kl_contract_npoints(contract); i++) {
		char id[32];
		const struct kl_dims *dims = kl_contract_point(contract, i, id);
		int64_t value;

		err = kl_expr_eval(&value, expr, dims->v);
		if (!err)
			kl_json_set_int(bounds, id, value);
	}
	if (!err)
		*out = kl_steal(&bounds);
	return err;
}

static int resolve_fill(json_t **out, const struct kl_contract *contract, json_t *fill)
{
	KL_AUTO(json_decrefp) json_t *bounds = NULL;
	const char *text = kl_fill_index(fill);
	int err;

	if (!text) {
		*out = json_incref(fill);
		return 0;
	}
	err = index_bounds(&bounds, contract, text);
	if (!err)
		*out = kl_fill_resolve(fill, bounds);
	return err;
}

static int write_args(json_t *job, const struct kl_contract *contract)
{
	json_t *args = json_array();

	kl_json_set(job, "args", args);
	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];
		json_t *object = json_object(), *fill = NULL;
		int err;

		json_array_append_new(args, object);
		kl_json_set_str(object, "name", arg->name);
		kl_json_set_str(object, "kind", kind_name(arg->kind));
		kl_json_set_str(object, "dtype", arg->dtype);
		if (arg->kind == KL_ARG_SCALAR)
			kl_json_set_num(object, "value", arg->value);
		if (!arg->fill)
			continue;
		if ((err = resolve_fill(&fill, contract, arg->fill)) < 0)
			return err;
		kl_json_set(object, "fill", fill);
		kl_json_set_bool(object, "sweep", arg->sweep);
	}
	return 0;
}

static int write_values(json_t *values, const struct kl_contract *contract,
			const struct kl_dims *dims)
{
	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];
		int64_t extent[KL_MAX_AXES];
		json_t *axes;
		int err;

		if (arg->kind == KL_ARG_DIM) {
			json_array_append_new(values, json_integer(dims->v[arg->dim]));
			continue;
		}
		if (arg->kind == KL_ARG_SCALAR) {
			json_array_append_new(values, json_real(arg->value));
			continue;
		}
		if ((err = kl_contract_shape(extent, contract, i, dims)) < 0)
			return err;
		axes = json_array();
		for (size_t k = 0; k < arg->naxes; k++)
			json_array_append_new(axes, json_integer(extent[k]));
		json_array_append_new(values, axes);
	}
	return 0;
}

static int floor_ns(int64_t *out, const struct kl_job_spec *spec, const struct kl_dims *dims)
{
	const struct kl_contract *contract = spec->contract;
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
	bytes /= spec->backend->peak.bytes_per_ns;
	flops /= spec->backend->peak.flops_per_ns;
	*out = bytes > flops ? bytes : flops;
	if (*out < 0)
		*out = 0;
	return 0;
}

static json_t *numbers_json(const struct kl_dims *dims)
{
	json_t *list = json_array();

	for (size_t i = 0; i < dims->n; i++)
		json_array_append_new(list, json_integer(dims->v[i]));
	return list;
}

static int write_points(json_t *job, const struct kl_job_spec *spec)
{
	const struct kl_contract *contract = spec->contract;
	size_t first = spec->also_only && contract->nalso ? contract->nperf : 0;
	json_t *points = json_array();
	int err = 0;

	kl_json_set(job, "points", points);
	for (size_t i = first; !err && i < kl_contract_npoints(contract); i++) {
		char id[32];
		const struct kl_dims *dims = kl_contract_point(contract, i, id);
		json_t *profile = json_object(), *values = json_array();
		int64_t least = 0;

		json_array_append_new(points, profile);
		kl_json_set_str(profile, "id", id);
		kl_json_set(profile, "values", values);
		if (contract->language->dims[0]) /* they are no arguments */
			kl_json_set(profile, "dims", numbers_json(dims));
		kl_json_set_bool(profile, "perf", i < contract->nperf);
		if (i < contract->nperf) {
			kl_json_set_int(profile, "weight", contract->perf[i].weight);
			kl_json_set_str(profile, "rank", contract->perf[i].hot ? "hot" : "cold");
			err = floor_ns(&least, spec, dims);
		}
		kl_json_set_int(profile, "floor_ns", least);
		if (!err)
			err = write_values(values, contract, dims);
	}
	return err;
}

static int write_bands(json_t *job, const char *key, const struct kl_contract *contract,
		       const json_t *bands)
{
	json_t *out = json_array(), *band, *fill;
	const char *arg;
	size_t i;

	kl_json_set(job, key, out);
	json_array_foreach(bands, i, band) {
		json_t *object = json_object();

		json_array_append_new(out, object);
		json_object_foreach(band, arg, fill) {
			json_t *resolved;
			int err = resolve_fill(&resolved, contract, fill);

			if (err < 0)
				return err;
			kl_json_set(object, arg, resolved);
		}
	}
	return 0;
}

static void write_wishes(json_t *job, const struct kl_job_spec *spec)
{
	json_t *wishes = json_array(), *profile = json_object();
	KL_AUTO(kl_freep) char *seed = kl_asprintf("%llu", (unsigned long long)spec->seed);

	if (spec->audit)
		json_array_append_new(wishes, json_string("audit"));
	if (spec->correct)
		json_array_append_new(wishes, json_string("correct"));
	if (spec->profile)
		json_array_append_new(wishes, json_string("profile"));
	if (spec->counters)
		json_array_append_new(wishes, json_string("counters"));
	kl_json_set(job, "do", wishes);
	kl_json_set_str(job, "seed", seed);
	kl_json_set_int(profile, "min_blocks", MIN_BLOCKS);
	kl_json_set_int(profile, "max_ms", spec->profile_max_ms);
	kl_json_set(job, "profile", profile);
}

int kl_job_write(json_t **out, const struct kl_job_spec *spec)
{
	const struct kl_contract *contract = spec->contract;
	const struct kl_backend_job of = {
		.contract = contract,
		.platform = spec->platform,
		.candidate = spec->candidate,
		.parent = spec->parent,
		.baseline = spec->baseline,
		.oracle = spec->oracle_launch,
	};
	KL_AUTO(json_decrefp) json_t *job = json_object();
	int err = kl_contract_fits(contract);

	if (err < 0)
		return err;
	kl_json_set_str(job, "schema", "klineage.job/1");
	kl_json_set_str(job, "surface", spec->backend->subject);
	spec->backend->describe(job, &of);
	kl_json_set_str(job, "truth", spec->truth);
	kl_json_set_str(job, "honest", spec->honest);
	kl_json_set_str(job, "candidate", spec->candidate->object);
	kl_json_set_str(job, "parent", spec->parent ? spec->parent->object : NULL);
	kl_json_set_str(job, "baseline", contract->baseline);
	kl_json_set_str(job, "pool", spec->pool);
	kl_json_set(job, "accept", json_deep_copy(contract->accept));
	kl_json_set_bool(job, "deterministic", contract->deterministic);
	kl_json_set_int(job, "arena_bytes", contract->arena_mib << 20);
	kl_json_set_int(job, "call_ms", contract->call_s * 1000);
	write_wishes(job, spec);
	if ((err = write_args(job, contract)) < 0 || (err = write_points(job, spec)) < 0 ||
	    (err = write_bands(job, "exact", contract, contract->exact)) < 0 ||
	    (err = write_bands(job, "bands", contract, contract->bands)) < 0)
		return err;
	*out = kl_steal(&job);
	return 0;
}
