/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/plan_text.h"

#include <string.h>

#include "base/error.h"
#include "job/tensor.h"

json_t *kl_gpu_doc_make(const struct kl_job *job, const struct kl_point *pt,
			const struct kl_plan *plan)
{
	json_t *doc = json_object(), *dims = json_array(), *at = json_array(), *args = json_array();
	struct kl_job_names names;

	kl_job_names(&names, job);
	for (size_t i = 0; i < job->ndim; i++) {
		json_array_append_new(dims, json_string(job->dim_name[i]));
		json_array_append_new(at, json_integer(pt->dim[i]));
	}
	for (size_t i = 0; i < job->nargs; i++) {
		json_t *arg = names.tensor[i] || names.scalar[i].name ? json_object() : json_null();
		int64_t bits;

		if (names.tensor[i]) {
			kl_json_set_str(arg, "tensor", names.tensor[i]);
		} else if (names.scalar[i].name) {
			memcpy(&bits, &names.scalar[i].value, sizeof(bits));
			kl_json_set_str(arg, "scalar", names.scalar[i].name);
			kl_json_set_str(arg, "dtype", names.scalar[i].dtype);
			kl_json_set_int(arg, "bits", bits);
		}
		json_array_append_new(args, arg);
	}
	kl_json_set(doc, "plan", kl_plan_to_json(plan));
	kl_json_set(doc, "dims", dims);
	kl_json_set(doc, "at", at);
	kl_json_set(doc, "args", args);
	return doc;
}

/* Names, dims and sizes that a plan refers to, as read from the document of plan_text.h. */
struct names {
	struct kl_plan_names names;
	const char *dim[KL_MAX_DIMS], *tensor[KL_GPU_MAX_TENSORS];
	struct kl_plan_scalar scalar[KL_GPU_MAX_TENSORS];
	int64_t at[KL_MAX_DIMS], bytes[KL_GPU_MAX_TENSORS];
};

static int read_arg(struct names *names, size_t i, const json_t *arg)
{
	const char *name;
	int64_t bits;
	int err;

	if (json_is_null(arg))
		return 0;
	names->tensor[i] = kl_json_str_or(arg, "tensor", NULL);
	if (names->tensor[i])
		return 0;
	if ((err = kl_json_str(&name, arg, "scalar")) < 0 ||
	    (err = kl_json_str(&names->scalar[i].dtype, arg, "dtype")) < 0 ||
	    (err = kl_json_int(&bits, arg, "bits")) < 0)
		return err;
	names->scalar[i].name = name;
	memcpy(&names->scalar[i].value, &bits, sizeof(bits));
	return 0;
}

static int read_names(struct names *names, const json_t *doc)
{
	json_t *dims, *at, *args;
	int err;

	if ((err = kl_json_arr(&dims, doc, "dims")) < 0 ||
	    (err = kl_json_arr(&at, doc, "at")) < 0 || (err = kl_json_arr(&args, doc, "args")) < 0)
		return err;
	names->names.ndim = json_array_size(dims);
	names->names.ntensor = json_array_size(args);
	if (names->names.ndim > KL_MAX_DIMS || json_array_size(at) != names->names.ndim ||
	    names->names.ntensor > KL_GPU_MAX_TENSORS)
		return kl_error(
			KL_EINVALID,
			"the binding has too many dims or arguments, or dims without a value");
	for (size_t i = 0; i < names->names.ndim; i++) {
		names->dim[i] = json_string_value(json_array_get(dims, i));
		names->at[i] = json_integer_value(json_array_get(at, i));
		if (!names->dim[i] || !json_is_integer(json_array_get(at, i)))
			return kl_error(KL_EINVALID,
					"dim %zu of the binding has no name or no integer value",
					i);
	}
	for (size_t i = 0; i < names->names.ntensor; i++)
		if ((err = read_arg(names, i, json_array_get(args, i))) < 0)
			return err;
	names->names.dim = names->dim;
	names->names.tensor = names->tensor;
	names->names.scalar = names->scalar;
	return 0;
}

int kl_gpu_doc_resolve(struct kl_plan_at **at, struct kl_plan **plan, const char *text, size_t n,
		       const struct kl_gpu_set *set, const struct kl_gpu_facts *facts)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	struct kl_plan_facts plan_facts = kl_gpu_facts_plan(facts);
	struct names names = { 0 };
	int err;

	if ((err = kl_json_parse(&doc, text, n)) < 0 || (err = read_names(&names, doc)) < 0)
		return err;
	if (names.names.ntensor != set->n)
		return kl_error(KL_EINVALID, "the binding has %zu arguments, but its set has %zu",
				names.names.ntensor, set->n);
	for (size_t i = 0; i < set->n; i++)
		names.bytes[i] = set->layout[i].tensor ? (int64_t)set->layout[i].bytes : 0;
	if ((err = kl_plan_parse_json(plan, json_object_get(doc, "plan"), &names.names)) < 0)
		return err;
	err = kl_plan_resolve(at, *plan, names.at, names.bytes, &plan_facts);
	return err == KL_ENO ? kl_error_in(KL_EINVALID, "a condition of the plan fails") : err;
}
