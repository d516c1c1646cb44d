/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/job_domain.h"
#include "job/job_parts.h"
#include "job/job_read.h"

const char *const kl_job_surface_names[] = {
	[KL_SURFACE_C] = "c",
	[KL_SURFACE_CUDA] = "cuda",
	NULL,
};

static int parse_do(struct kl_job *job, const json_t *doc)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, doc, "do");

	if (err < 0)
		return err;
	json_array_foreach(list, i, item) {
		const char *stage = json_is_string(item) ? json_string_value(item) : "";

		if (!strcmp(stage, "audit"))
			job->do_audit = true;
		else if (!strcmp(stage, "correct"))
			job->do_correct = true;
		else if (!strcmp(stage, "profile"))
			job->do_profile = true;
		else if (!strcmp(stage, "counters"))
			job->do_counters = true;
		else if (!strcmp(stage, "launch"))
			job->do_launch = true;
		else
			return kl_error(KL_EINVALID, "unknown stage in 'do': '%s'", stage);
	}
	if ((job->do_correct || job->do_profile || job->do_counters || job->do_launch) &&
	    !job->candidate_path)
		return kl_error(KL_EINVALID,
				"'candidate' is missing, but 'do' has stages that run it");
	return 0;
}

static int parse_seed(struct kl_job *job, const json_t *doc)
{
	const char *text;
	char *end;
	int err = kl_json_str(&text, doc, "seed");

	if (err < 0)
		return err;
	errno = 0;
	job->seed = strtoull(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9')
		return kl_error(KL_EINVALID, "'seed' is not a decimal number below 2^64: '%s'",
				text);
	return 0;
}

static int parse_profile(struct kl_job *job, const json_t *doc)
{
	static const char *const known[] = { "min_blocks", "max_ms", NULL };
	const json_t *obj = json_object_get(doc, "profile");
	int err;

	job->profile_min_blocks = 8;
	job->profile_max_ms = 15000;
	if (!obj)
		return 0;
	if ((err = kl_job_read_only(obj, "'profile'", known)) < 0 ||
	    (err = kl_job_read_int(&job->profile_min_blocks, obj, "min_blocks", 1, 1000)) < 0)
		return err;
	return kl_job_read_int(&job->profile_max_ms, obj, "max_ms", 1, 3600 * 1000);
}

static int parse_dim_names(struct kl_job *job, const json_t *doc)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, doc, "dims");

	if (err < 0)
		return err;
	if (json_array_size(list) < 1 || json_array_size(list) > KL_MAX_DIMS)
		return kl_error(KL_EINVALID, "'dims' has %zu entries; it must have 1 to %d",
				json_array_size(list), KL_MAX_DIMS);
	json_array_foreach(list, i, item) {
		const char *name = json_string_value(item);

		if (!name || !*name || strlen(name) >= sizeof(job->dim_name[i]))
			return kl_error(KL_EINVALID, "'dims' has an entry that is not a name");
		memcpy(job->dim_name[i], name, strlen(name) + 1);
	}
	job->ndim = json_array_size(list);
	return 0;
}

static int parse_function(struct kl_job *job, const json_t *doc)
{
	static const char *const cuda_only[] = {
		"arch",           "plan",          "parent_plan", "oracle_plan",
		"baseline_cubin", "baseline_plan", "host",        "kernels",
	};
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(cuda_only); i++)
		if (json_object_get(doc, cuda_only[i]))
			return kl_error(KL_EINVALID, "'%s' is only for surface cuda", cuda_only[i]);
	err = kl_job_read_bool(&job->adapter, doc, "adapter", false);
	return !err && json_object_get(doc, "dims") ? parse_dim_names(job, doc) : err;
}

static int parse_kernels(struct kl_job *job, const json_t *doc)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, doc, "kernels");

	if (err < 0)
		return err;
	json_array_foreach(list, i, item) {
		if (!json_string_value(item))
			return kl_error(KL_EINVALID, "'kernels' has an entry that is not a name");
		kl_strvec_push(&job->kernel, json_string_value(item));
	}
	return 0;
}

static int parse_device(struct kl_job *job, const json_t *doc)
{
	struct kl_plan_facts facts;
	int err = kl_job_read_bool(&job->host, doc, "host", false);

	if (json_object_get(doc, "adapter"))
		return kl_error(KL_EINVALID, "'adapter' is only for surface c");
	if (err == 0 && job->host)
		err = parse_kernels(job, doc);
	if (err < 0)
		return err;
	if ((err = kl_job_read_str(job->arch, sizeof(job->arch), doc, "arch")) < 0 ||
	    (err = kl_plan_arch_facts(&facts, job->arch)) < 0)
		return err;
	return parse_dim_names(job, doc);
}

static int find_surface(enum kl_job_surface *out, const char *name)
{
	for (int i = 0; kl_job_surface_names[i]; i++) {
		if (!strcmp(kl_job_surface_names[i], name)) {
			*out = (enum kl_job_surface)i;
			return 0;
		}
	}
	return kl_error(KL_ECANNOT, "this worker does not support surface '%s'", name);
}

static int parse_names(struct kl_job *job, const json_t *doc)
{
	const char *text;
	int err;

	if ((err = kl_json_str(&text, doc, "schema")) < 0)
		return err;
	if (strcmp(text, KL_JOB_SCHEMA))
		return kl_error(KL_EINVALID, "this worker reads " KL_JOB_SCHEMA ", not '%s'", text);
	if ((err = kl_json_str(&text, doc, "surface")) < 0)
		return err;
	if ((err = find_surface(&job->surface, text)) < 0)
		return err;
	if ((err = job->surface == KL_SURFACE_CUDA ? parse_device(job, doc) :
						     parse_function(job, doc)) < 0 ||
	    (err = kl_job_read_heap(&job->truth_path, doc, "truth", false)) < 0 ||
	    (err = kl_job_read_heap(&job->honest_path, doc, "honest", false)) < 0 ||
	    (err = kl_job_read_heap(&job->candidate_path, doc, "candidate", true)) < 0 ||
	    (err = kl_job_read_heap(&job->parent_path, doc, "parent", true)) < 0 ||
	    (err = kl_job_read_heap(&job->baseline, doc, "baseline", true)) < 0 ||
	    (err = kl_job_read_heap(&job->baseline_path, doc, "baseline_cubin", true)) < 0 ||
	    (err = kl_job_read_heap(&job->isa, doc, "isa", true)) < 0)
		return err;
	return kl_job_read_heap(&job->pool, doc, "pool", false);
}

void kl_job_tensor_bytes(int64_t out[KL_MAX_ARGS], const struct kl_job *job,
			 const struct kl_point *point, size_t real)
{
	for (size_t i = 0; i < job->nargs; i++) {
		bool tensor = kl_arg_kind_is_tensor(job->arg[i].kind);
		size_t size = real && kl_dtype_is_float(job->arg[i].dtype) ?
				      real :
				      kl_dtype_bytes(job->arg[i].dtype);

		out[i] = tensor ? kl_point_elements(point, i) * (int64_t)size : 0;
	}
}

int64_t kl_job_point_bytes(const struct kl_job *job, const struct kl_point *point)
{
	int64_t bytes[KL_MAX_ARGS], all = 0;

	kl_job_tensor_bytes(bytes, job, point, 0);
	for (size_t i = 0; i < job->nargs; i++)
		all += bytes[i];
	return all;
}

int64_t kl_job_point_elements(const struct kl_job *job, const struct kl_point *point)
{
	int64_t n = 0;

	for (size_t i = 0; i < job->nargs; i++)
		n += kl_arg_kind_is_tensor(job->arg[i].kind) ? kl_point_elements(point, i) : 0;
	return n;
}

double kl_job_volume(const struct kl_job *job, const struct kl_point *point)
{
	double volume = 1;

	for (size_t i = 0; i < job->ndim; i++)
		volume *= point->dim[i] > 1 ? (double)point->dim[i] : 1;
	for (size_t i = 0; i < job->nargs && !job->ndim; i++)
		if (job->arg[i].kind == KL_ARG_DIM && point->arg[i].value > 1)
			volume *= (double)point->arg[i].value;
	return volume;
}

void kl_job_order_points(size_t *order, const struct kl_job *job)
{
	for (size_t i = 0; i < job->npoint; i++) {
		double volume = kl_job_volume(job, &job->point[i]);
		size_t at = i;

		for (; at && kl_job_volume(job, &job->point[order[at - 1]]) > volume; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

bool kl_job_is_host(const struct kl_job *job, const char *artefact)
{
	return job->host && ((job->candidate_path && !strcmp(job->candidate_path, artefact)) ||
			     (job->parent_path && !strcmp(job->parent_path, artefact)));
}

static int parse_plan(struct kl_plan **out, const struct kl_job *job, const json_t *doc,
		      const char *key, bool needed)
{
	const json_t *value = json_object_get(doc, key);
	struct kl_job_names names;
	int err;

	if (!value || json_is_null(value))
		return needed ? kl_error(KL_EINVALID, "'%s' is missing", key) : 0;
	kl_job_names(&names, job);
	err = kl_plan_parse_json(out, value, &names.names);
	return err < 0 ? kl_error_in(err, "'%s'", key) : 0;
}

static int parse_plans(struct kl_job *job, const json_t *doc)
{
	int err;

	if (job->surface != KL_SURFACE_CUDA)
		return 0;
	for (size_t i = 0; i < job->nargs; i++)
		if (job->arg[i].kind == KL_ARG_DIM)
			return kl_error(
				KL_EINVALID,
				"argument '%s' is a dim, but on surface cuda the plan passes dims",
				job->arg[i].name);
	if ((err = parse_plan(&job->plan, job, doc, "plan", job->candidate_path && !job->host)) <
		    0 ||
	    (err = parse_plan(&job->parent_plan, job, doc, "parent_plan",
			      job->parent_path && !job->host)) < 0 ||
	    (err = parse_plan(&job->baseline_plan, job, doc, "baseline_plan",
			      job->baseline_path != NULL)) < 0)
		return err;
	if (job->host && (job->plan || job->parent_plan))
		return kl_error(KL_EINVALID,
				"a job with host code must have no 'plan' or 'parent_plan'");
	return parse_plan(&job->oracle_plan, job, doc, "oracle_plan", true);
}

static int parse_values(struct kl_job *job, const json_t *doc)
{
	const json_t *obj = json_object_get(doc, "values");
	int err;

	job->further = obj != NULL;
	if (!obj)
		return 0;
	if ((err = kl_job_read_only(obj, "'values'", kl_value_names)) < 0)
		return err;
	for (size_t i = 0; i < KL_VALUES; i++) {
		const char *policy = kl_json_str_or(obj, kl_value_names[i], "");

		job->values.undefined[i] = !strcmp(policy, kl_value_policies[1]);
		if (!job->values.undefined[i] && strcmp(policy, kl_value_policies[0]))
			return kl_error(KL_EINVALID,
					"'values' must say oracle or undefined for '%s'",
					kl_value_names[i]);
	}
	return 0;
}

static int parse_job(struct kl_job *job, const json_t *doc)
{
	static const char *const known[] = {
		"schema",        "surface",     "truth",         "honest",
		"candidate",     "parent",      "baseline",      "isa",
		"pool",          "args",        "points",        "accept",
		"exact",         "bands",       "deterministic", "do",
		"seed",          "arena_bytes", "call_ms",       "profile",
		"dims",          "arch",        "plan",          "parent_plan",
		"oracle_plan",   "host",        "kernels",       "baseline_cubin",
		"baseline_plan", "domain",      "values",        "adapter",
		"threads",       NULL
	};
	int err;

	if ((err = kl_job_read_only(doc, "the job", known)) < 0 ||
	    (err = parse_names(job, doc)) < 0 || (err = kl_job_parse_args(job, doc)) < 0 ||
	    (err = parse_plans(job, doc)) < 0 || (err = kl_job_parse_points(job, doc)) < 0 ||
	    (err = kl_job_parse_domain(job, doc)) < 0 || (err = parse_values(job, doc)) < 0 ||
	    (err = kl_job_parse_rules(job, doc)) < 0 ||
	    (err = kl_job_parse_bands(&job->exact, job, doc, "exact")) < 0 ||
	    (err = kl_job_parse_bands(&job->bands, job, doc, "bands")) < 0 ||
	    (err = kl_job_read_bool(&job->deterministic, doc, "deterministic", true)) < 0 ||
	    (err = parse_do(job, doc)) < 0 || (err = parse_seed(job, doc)) < 0 ||
	    (err = kl_job_read_int(&job->arena_bytes, doc, "arena_bytes", 0, KL_TENSOR_MAX_BYTES)) <
		    0 ||
	    (err = kl_job_read_int(&job->call_ms, doc, "call_ms", 1, 3600 * 1000)) < 0 ||
	    (json_object_get(doc, "threads") &&
	     (err = kl_job_read_int(&job->threads, doc, "threads", 1, KL_MAX_THREADS)) < 0))
		return err;
	if (job->threads && job->surface != KL_SURFACE_C)
		return kl_error(KL_EINVALID, "'threads' is only for surface c");
	return parse_profile(job, doc);
}

int kl_job_parse(struct kl_job **out, const json_t *doc)
{
	KL_AUTO(kl_job_freep) struct kl_job *job = kl_calloc(1, sizeof(*job));
	int err = parse_job(job, doc);

	if (err < 0)
		return kl_error_in(err, "job");
	*out = kl_steal(&job);
	return 0;
}

void kl_job_free(struct kl_job *job)
{
	if (!job)
		return;
	kl_plan_free(job->plan);
	kl_plan_free(job->parent_plan);
	kl_plan_free(job->oracle_plan);
	kl_plan_free(job->baseline_plan);
	kl_strvec_release(&job->kernel);
	kl_job_domain_free(job->domain);
	free(job->truth_path);
	free(job->honest_path);
	free(job->candidate_path);
	free(job->parent_path);
	free(job->baseline);
	free(job->baseline_path);
	free(job->isa);
	free(job->pool);
	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		json_decref(job->arg[i].fill);
	json_decref(job->exact);
	json_decref(job->bands);
	free(job->point);
	free(job->rule);
	free(job);
}
