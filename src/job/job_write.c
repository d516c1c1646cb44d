/* SPDX-License-Identifier: Apache-2.0 */
/* job_write - writes a job as the JSON document that the worker parses */
#include "job/job_domain.h"
#include "job/job_parts.h"

static json_t *write_plan(const struct kl_plan *plan)
{
	return plan ? kl_plan_to_json(plan) : json_null();
}

static void write_function(json_t *doc, const struct kl_job *job)
{
	kl_json_set_str(doc, "isa", job->isa);
	if (job->adapter)
		kl_json_set_bool(doc, "adapter", true);
}

static void write_device(json_t *doc, const struct kl_job *job)
{
	json_t *kernels;

	kl_json_set_str(doc, "arch", job->arch);
	kl_json_set(doc, "plan", write_plan(job->plan));
	kl_json_set(doc, "parent_plan", write_plan(job->parent_plan));
	kl_json_set(doc, "oracle_plan", write_plan(job->oracle_plan));
	if (job->baseline_path) {
		kl_json_set_str(doc, "baseline_cubin", job->baseline_path);
		kl_json_set(doc, "baseline_plan", write_plan(job->baseline_plan));
	}
	if (!job->host)
		return;
	kernels = json_array();
	for (size_t i = 0; i < job->kernel.n; i++)
		json_array_append_new(kernels, json_string(job->kernel.v[i]));
	kl_json_set_bool(doc, "host", true);
	kl_json_set(doc, "kernels", kernels);
}

static json_t *write_dims(const struct kl_job *job)
{
	json_t *dims = json_array();

	for (size_t i = 0; i < job->ndim; i++)
		json_array_append_new(dims, json_string(job->dim_name[i]));
	return dims;
}

static json_t *write_values(const struct kl_job *job)
{
	json_t *values = json_object();

	for (size_t i = 0; i < KL_VALUES; i++)
		kl_json_set_str(values, kl_value_names[i],
				kl_value_policies[job->values.undefined[i]]);
	return values;
}

static json_t *write_args(const struct kl_job *job)
{
	json_t *args = json_array();

	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *arg = &job->arg[i];
		json_t *item = json_object();

		kl_json_set_str(item, "name", arg->name);
		kl_json_set_str(item, "kind", kl_arg_kind_names[arg->kind]);
		kl_json_set_str(item, "dtype", kl_dtype_name(arg->dtype));
		if (arg->kind == KL_ARG_SCALAR)
			kl_json_set_num(item, "value", arg->value);
		if (arg->fill) {
			json_object_set(item, "fill", arg->fill);
			kl_json_set_bool(item, "sweep", arg->sweep);
		}
		if (arg->returned)
			kl_json_set_bool(item, "returned", true);
		if (arg->zeros)
			kl_json_set_str(item, "init", "zeros");
		if (arg->base)
			kl_json_set_int(item, "base", arg->base);
		json_array_append_new(args, item);
	}
	return args;
}

static json_t *write_value(const struct kl_job *job, const struct kl_point *point, size_t arg)
{
	json_t *axes;

	if (job->arg[arg].kind == KL_ARG_DIM)
		return json_integer(point->arg[arg].value);
	if (job->arg[arg].kind == KL_ARG_SCALAR)
		return json_real(job->arg[arg].value);
	axes = json_array();
	for (size_t i = 0; i < point->arg[arg].naxes; i++)
		json_array_append_new(axes, json_integer(point->arg[arg].extent[i]));
	return axes;
}

static json_t *write_point(const struct kl_job *job, const struct kl_point *point)
{
	json_t *item = json_object(), *values = json_array();

	for (size_t i = 0; i < job->nargs; i++)
		json_array_append_new(values, write_value(job, point, i));
	kl_json_set_str(item, "id", point->id);
	kl_json_set(item, "values", values);
	if (job->ndim) {
		json_t *dims = json_array();

		for (size_t i = 0; i < job->ndim; i++)
			json_array_append_new(dims, json_integer(point->dim[i]));
		kl_json_set(item, "dims", dims);
	}
	kl_json_set_bool(item, "perf", point->perf);
	if (point->drawn)
		kl_json_set_bool(item, "drawn", true);
	if (point->perf) {
		kl_json_set_int(item, "weight", point->weight);
		kl_json_set_str(item, "rank", point->hot ? "hot" : "cold");
	}
	kl_json_set_int(item, "floor_ns", point->floor_ns);
	return item;
}

static json_t *write_points(const struct kl_job *job)
{
	json_t *points = json_array();

	for (size_t i = 0; i < job->npoint; i++)
		json_array_append_new(points, write_point(job, &job->point[i]));
	return points;
}

static json_t *write_do(const struct kl_job *job)
{
	json_t *stages = json_array();

	if (job->do_audit)
		json_array_append_new(stages, json_string("audit"));
	if (job->do_correct)
		json_array_append_new(stages, json_string("correct"));
	if (job->do_profile)
		json_array_append_new(stages, json_string("profile"));
	if (job->do_counters)
		json_array_append_new(stages, json_string("counters"));
	if (job->do_launch)
		json_array_append_new(stages, json_string("launch"));
	return stages;
}

static json_t *write_profile(const struct kl_job *job)
{
	json_t *profile = json_object();

	kl_json_set_int(profile, "min_blocks", job->profile_min_blocks);
	kl_json_set_int(profile, "max_ms", job->profile_max_ms);
	return profile;
}

json_t *kl_job_write(const struct kl_job *job)
{
	KL_AUTO(kl_freep) char *seed = kl_asprintf("%llu", (unsigned long long)job->seed);
	json_t *doc = json_object();

	kl_json_set_str(doc, "schema", KL_JOB_SCHEMA);
	kl_json_set_str(doc, "surface", kl_job_surface_names[job->surface]);
	if (job->surface == KL_SURFACE_CUDA)
		write_device(doc, job);
	else
		write_function(doc, job);
	if (job->ndim)
		kl_json_set(doc, "dims", write_dims(job));
	kl_json_set_str(doc, "truth", job->truth_path);
	kl_json_set_str(doc, "honest", job->honest_path);
	kl_json_set_str(doc, "candidate", job->candidate_path);
	kl_json_set_str(doc, "parent", job->parent_path);
	kl_json_set_str(doc, "baseline", job->baseline);
	kl_json_set_str(doc, "pool", job->pool);
	kl_json_set(doc, "args", write_args(job));
	kl_json_set(doc, "points", write_points(job));
	kl_json_set(doc, "accept", kl_job_write_rules(job));
	json_object_set(doc, "exact", job->exact);
	json_object_set(doc, "bands", job->bands);
	if (job->domain)
		kl_json_set(doc, "domain", kl_job_write_domain(job));
	if (job->further)
		kl_json_set(doc, "values", write_values(job));
	kl_json_set_bool(doc, "deterministic", job->deterministic);
	kl_json_set(doc, "do", write_do(job));
	kl_json_set_str(doc, "seed", seed);
	kl_json_set_int(doc, "arena_bytes", job->arena_bytes);
	kl_json_set_int(doc, "call_ms", job->call_ms);
	if (job->threads)
		kl_json_set_int(doc, "threads", job->threads);
	kl_json_set(doc, "profile", write_profile(job));
	return doc;
}
