/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/plan_text.h"

#include <string.h>

#include "base/error.h"
#include "job/tensor.h"

json_t *kl_gpu_doc_make(const struct kl_job *job, const struct kl_point *pt,
			const struct kl_plan *plan, size_t real)
{
	json_t *doc = json_object(), *dims = json_array(), *at = json_array(), *args = json_array();
	struct kl_job_names n;

	kl_job_names(&n, job);
	for (size_t i = 0; i < job->ndim; i++) {
		json_array_append_new(dims, json_string(job->dim_name[i]));
		json_array_append_new(at, json_integer(pt->dim[i]));
	}
	for (size_t i = 0; i < job->nargs; i++) {
		json_t *a = n.tensor[i] || n.scalar[i].name ? json_object() : json_null();
		int64_t bits;

		if (n.tensor[i]) {
			kl_json_set_str(a, "tensor", n.tensor[i]);
		} else if (n.scalar[i].name) {
			double v = n.scalar[i].value;

			/* the truth, too, is about the number that the kernel gets */
			if (job->arg[i].dtype == KL_F32)
				v = (float)v;
			memcpy(&bits, &v, sizeof(bits));
			kl_json_set_str(a, "scalar", n.scalar[i].name);
			kl_json_set_str(a, "dtype",
					real && kl_dtype_is_float(job->arg[i].dtype) ?
						real == 8 ? "f64" : "f32" :
						n.scalar[i].dtype);
			kl_json_set_int(a, "bits", bits);
		}
		json_array_append_new(args, a);
	}
	/* a reference is counted, nothing is changed */
	kl_json_set(doc, "plan", json_incref((json_t *)(uintptr_t)kl_plan_doc(plan)));
	kl_json_set(doc, "dims", dims);
	kl_json_set(doc, "at", at);
	kl_json_set(doc, "args", args);
	return doc;
}

/* What a plan is parsed against, out of the document of client.h. */
struct names {
	struct kl_plan_names names;
	const char *dim[KL_JOB_MAX_DIMS], *tensor[KL_GPU_MAX_TENSORS];
	struct kl_plan_scalar scalar[KL_GPU_MAX_TENSORS];
	int64_t at[KL_JOB_MAX_DIMS], bytes[KL_GPU_MAX_TENSORS];
};

static int read_arg(struct names *n, size_t i, const json_t *a)
{
	const char *name;
	int64_t bits;
	int err;

	if (json_is_null(a))
		return 0;
	n->tensor[i] = kl_json_str_or(a, "tensor", NULL);
	if (n->tensor[i])
		return 0;
	if ((err = kl_json_str(&name, a, "scalar")) < 0 ||
	    (err = kl_json_str(&n->scalar[i].dtype, a, "dtype")) < 0 ||
	    (err = kl_json_int(&bits, a, "bits")) < 0)
		return err;
	n->scalar[i].name = name;
	memcpy(&n->scalar[i].value, &bits, sizeof(bits));
	return 0;
}

static int read_names(struct names *n, const json_t *doc)
{
	json_t *dims, *at, *args;
	int err;

	if ((err = kl_json_arr(&dims, doc, "dims")) < 0 ||
	    (err = kl_json_arr(&at, doc, "at")) < 0 || (err = kl_json_arr(&args, doc, "args")) < 0)
		return err;
	n->names.ndim = json_array_size(dims);
	n->names.ntensor = json_array_size(args);
	if (n->names.ndim > KL_JOB_MAX_DIMS || json_array_size(at) != n->names.ndim ||
	    n->names.ntensor > KL_GPU_MAX_TENSORS)
		return kl_error(KL_EINVALID, "the binding's dims or arguments are too many");
	for (size_t i = 0; i < n->names.ndim; i++) {
		n->dim[i] = json_string_value(json_array_get(dims, i));
		n->at[i] = json_integer_value(json_array_get(at, i));
		if (!n->dim[i] || !json_is_integer(json_array_get(at, i)))
			return kl_error(KL_EINVALID, "dim %zu of the binding has no name or number",
					i);
	}
	for (size_t i = 0; i < n->names.ntensor; i++)
		if ((err = read_arg(n, i, json_array_get(args, i))) < 0)
			return err;
	n->names.dim = n->dim;
	n->names.tensor = n->tensor;
	n->names.scalar = n->scalar;
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
		return kl_error(KL_EINVALID, "a binding of %zu arguments to a set of %zu",
				names.names.ntensor, set->n);
	for (size_t i = 0; i < set->n; i++)
		names.bytes[i] = set->layout[i].tensor ? (int64_t)set->layout[i].bytes : 0;
	if ((err = kl_plan_parse(plan, json_object_get(doc, "plan"), &names.names, NULL)) < 0)
		return err;
	err = kl_plan_resolve(at, *plan, names.at, names.bytes, &plan_facts);
	return err == KL_ENO ? kl_error_in(KL_EINVALID, "the plan's own condition fails") : err;
}
