/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/job_parts.h"
#include "job/job_read.h"

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
	if ((err = kl_job_read_only(obj, "'profile'", known)) < 0 ||
	    (err = kl_job_read_int(&j->profile_min_blocks, obj, "min_blocks", 1, 1000)) < 0)
		return err;
	return kl_job_read_int(&j->profile_max_ms, obj, "max_ms", 1, 3600 * 1000);
}

static int parse_entries(struct kl_job *j, const json_t *doc)
{
	static const char *const cuda_only[] = {
		"dims",           "arch",          "plan", "parent_plan", "oracle_plan",
		"baseline_cubin", "baseline_plan", "host", "kernels",
	};
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(cuda_only); i++)
		if (json_object_get(doc, cuda_only[i]))
			return kl_error(KL_EINVALID, "'%s' is for surface cuda", cuda_only[i]);
	if ((err = kl_job_read_str(j->entry, sizeof(j->entry), doc, "entry")) < 0)
		return err;
	return kl_job_read_str(j->oracle_entry, sizeof(j->oracle_entry), doc, "oracle_entry");
}

static int parse_dim_names(struct kl_job *j, const json_t *doc)
{
	json_t *list, *v;
	size_t i;
	int err = kl_json_arr(&list, doc, "dims");

	if (err < 0)
		return err;
	if (json_array_size(list) < 1 || json_array_size(list) > KL_JOB_MAX_DIMS)
		return kl_error(KL_EINVALID, "%zu dims, 1 to %d are possible",
				json_array_size(list), KL_JOB_MAX_DIMS);
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
	int err = kl_job_read_bool(&j->host, doc, "host", false);

	if (err == 0 && j->host)
		err = parse_kernels(j, doc);
	if (err < 0)
		return err;

	if (json_object_get(doc, "entry") || json_object_get(doc, "oracle_entry"))
		return kl_error(KL_EINVALID, "surface cuda has no 'entry': its plans name kernels");
	if ((err = kl_job_read_str(j->arch, sizeof(j->arch), doc, "arch")) < 0 ||
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
	if ((err = j->surface == KL_SURFACE_CUDA ? parse_device(j, doc) : parse_entries(j, doc)) <
		    0 ||
	    (err = kl_job_read_heap(&j->truth_so, doc, "truth", false)) < 0 ||
	    (err = kl_job_read_heap(&j->honest_so, doc, "honest", false)) < 0 ||
	    (err = kl_job_read_heap(&j->candidate_so, doc, "candidate", true)) < 0 ||
	    (err = kl_job_read_heap(&j->parent_so, doc, "parent", true)) < 0 ||
	    (err = kl_job_read_heap(&j->baseline, doc, "baseline", true)) < 0 ||
	    (err = kl_job_read_heap(&j->baseline_so, doc, "baseline_cubin", true)) < 0 ||
	    (err = kl_job_read_heap(&j->isa, doc, "isa", true)) < 0)
		return err;
	return kl_job_read_heap(&j->pool, doc, "pool", false);
}

void kl_job_tensor_bytes(int64_t out[KL_JOB_MAX_ARGS], const struct kl_job *j,
			 const struct kl_point *p, size_t real)
{
	for (size_t i = 0; i < j->nargs; i++) {
		bool tensor = j->arg[i].role != KL_ROLE_SCALAR && j->arg[i].role != KL_ROLE_DIM;
		size_t size = real && j->arg[i].dtype <= KL_BF16 ? real :
								   kl_dtype_bytes(j->arg[i].dtype);

		out[i] = tensor ? kl_point_elements(p, i) * (int64_t)size : 0;
	}
}

bool kl_job_is_host(const struct kl_job *j, const char *artefact)
{
	return j->host && ((j->candidate_so && !strcmp(j->candidate_so, artefact)) ||
			   (j->parent_so && !strcmp(j->parent_so, artefact)));
}

static int parse_plan(struct kl_plan **out, const struct kl_job *j, const json_t *doc,
		      const char *key, bool needed)
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
	    (err = parse_plan(&j->parent_plan, j, doc, "parent_plan", j->parent_so && !j->host)) <
		    0 ||
	    (err = parse_plan(&j->baseline_plan, j, doc, "baseline_plan", j->baseline_so != NULL)) <
		    0)
		return err;
	if (j->host && (j->plan || j->parent_plan))
		return kl_error(KL_EINVALID, "host code launches by itself: it has no 'plan'");
	return parse_plan(&j->oracle_plan, j, doc, "oracle_plan", true);
}

static int parse_job(struct kl_job *j, const json_t *doc)
{
	static const char *const known[] = { "schema",        "surface",
					     "entry",         "oracle_entry",
					     "truth",         "honest",
					     "candidate",     "parent",
					     "baseline",      "isa",
					     "pool",          "args",
					     "points",        "accept",
					     "exact",         "bands",
					     "deterministic", "do",
					     "seed",          "arena_bytes",
					     "call_ms",       "profile",
					     "dims",          "arch",
					     "plan",          "parent_plan",
					     "oracle_plan",   "host",
					     "kernels",       "baseline_cubin",
					     "baseline_plan", NULL };
	int err;

	if ((err = kl_job_read_only(doc, "the job", known)) < 0 ||
	    (err = parse_names(j, doc)) < 0 || (err = kl_job_parse_args(j, doc)) < 0 ||
	    (err = parse_plans(j, doc)) < 0 || (err = kl_job_parse_points(j, doc)) < 0 ||
	    (err = kl_job_parse_rules(j, doc)) < 0 ||
	    (err = kl_job_parse_bands(&j->exact, j, doc, "exact")) < 0 ||
	    (err = kl_job_parse_bands(&j->bands, j, doc, "bands")) < 0 ||
	    (err = kl_job_read_bool(&j->deterministic, doc, "deterministic", true)) < 0 ||
	    (err = parse_do(j, doc)) < 0 || (err = parse_seed(j, doc)) < 0 ||
	    (err = kl_job_read_int(&j->arena_bytes, doc, "arena_bytes", 0, KL_JOB_MAX_BYTES)) < 0 ||
	    (err = kl_job_read_int(&j->call_ms, doc, "call_ms", 1, 3600 * 1000)) < 0)
		return err;
	return parse_profile(j, doc);
}

int kl_job_parse(struct kl_job **out, const json_t *doc)
{
	KL_AUTO(kl_job_freep) struct kl_job *j = kl_calloc(1, sizeof(*j));
	int err = parse_job(j, doc);

	if (err < 0)
		return kl_error_in(err, "job");
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
	json_decref(j->exact);
	json_decref(j->bands);
	free(j->point);
	free(j->rule);
	free(j);
}
