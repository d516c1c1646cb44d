/* SPDX-License-Identifier: Apache-2.0 */
#include "job/job_domain.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "job/job_read.h"
#include "plan/expr.h"

static struct kl_expr_names dim_names(const char *name[KL_MAX_DIMS], const struct kl_job *job)
{
	for (size_t i = 0; i < job->ndim; i++)
		name[i] = job->dim_name[i];
	return (struct kl_expr_names){ .name = name, .n = job->ndim };
}

static int parse_expr(struct kl_expr **out, const struct kl_job *job, const char *text,
		      enum kl_expr_type type)
{
	const char *name[KL_MAX_DIMS];
	struct kl_expr_names names = dim_names(name, job);
	int err = kl_expr_parse(out, text, &names, type, NULL);

	return err < 0 ? kl_error_in(err, "'%.100s'", text) : 0;
}

void kl_job_domain_free(struct kl_job_domain *domain)
{
	if (!domain)
		return;
	for (size_t i = 0; i < domain->n; i++)
		kl_expr_free(domain->condition[i]);
	for (size_t arg = 0; arg < KL_MAX_ARGS; arg++) {
		for (size_t i = 0; i < KL_MAX_AXES; i++)
			kl_expr_free(domain->shape[arg][i]);
		kl_strvec_release(&domain->shape_text[arg]);
	}
	kl_strvec_release(&domain->text);
	free(domain->condition);
	free(domain);
}

/* -- reading ------------------------------------------------------------------ */

static int parse_conditions(struct kl_job_domain *domain, const struct kl_job *job,
			    const json_t *obj)
{
	json_t *list, *item;
	size_t i;
	int err = kl_json_arr(&list, obj, "conditions");

	if (err < 0)
		return err;
	if (json_array_size(list) > KL_MAX_DOMAIN)
		return kl_error(KL_EINVALID, "'conditions' has %zu entries; it can have at most %d",
				json_array_size(list), KL_MAX_DOMAIN);
	domain->condition = kl_calloc(json_array_size(list) + 1, sizeof(*domain->condition));
	json_array_foreach(list, i, item) {
		if (!json_is_string(item))
			return kl_error(KL_EINVALID, "a condition is not a string");
		err = parse_expr(&domain->condition[i], job, json_string_value(item),
				 KL_EXPR_TRUTH);
		if (err < 0)
			return err;
		kl_strvec_push(&domain->text, json_string_value(item));
		domain->n++;
	}
	return 0;
}

static int parse_shape(struct kl_job_domain *domain, const struct kl_job *job, size_t arg,
		       const json_t *shapes)
{
	const json_t *list = json_object_get(shapes, job->arg[arg].name), *item;
	size_t i;

	if (json_array_size(list) != job->point[0].arg[arg].naxes)
		return kl_error(KL_EINVALID, "'%s' has %zu axes in 'shapes', but %zu at point '%s'",
				job->arg[arg].name, json_array_size(list),
				job->point[0].arg[arg].naxes, job->point[0].id);
	json_array_foreach(list, i, item) {
		int err = json_is_string(item) ?
				  parse_expr(&domain->shape[arg][i], job, json_string_value(item),
					     KL_EXPR_NUMBER) :
				  kl_error(KL_EINVALID, "an extent of '%s' is not a string",
					   job->arg[arg].name);

		if (err < 0)
			return err;
		kl_strvec_push(&domain->shape_text[arg], json_string_value(item));
	}
	return 0;
}

static int parse_parts(struct kl_job *job, const json_t *obj)
{
	static const char *const known[] = { "conditions", "shapes", NULL };
	json_t *shapes;
	int err;

	if ((err = kl_job_read_only(obj, "the domain", known)) < 0 ||
	    (err = kl_json_obj(&shapes, obj, "shapes")) < 0)
		return err;
	if (!job->ndim)
		return kl_error(KL_EINVALID, "the job has no 'dims'");
	if ((err = parse_conditions(job->domain, job, obj)) < 0)
		return err;
	for (size_t i = 0; i < job->nargs && err == 0; i++)
		if (kl_arg_kind_is_tensor(job->arg[i].kind))
			err = parse_shape(job->domain, job, i, shapes);
	return err;
}

int kl_job_parse_domain(struct kl_job *job, const json_t *doc)
{
	const json_t *obj = json_object_get(doc, "domain");
	int err;

	if (!obj)
		return 0;
	job->domain = kl_calloc(1, sizeof(*job->domain));
	err = parse_parts(job, obj);
	return err < 0 ? kl_error_in(err, "'domain'") : 0;
}

/* -- writing ------------------------------------------------------------------ */

static json_t *write_texts(const struct kl_strvec *texts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < texts->n; i++)
		json_array_append_new(list, json_string(texts->v[i]));
	return list;
}

json_t *kl_job_write_domain(const struct kl_job *job)
{
	json_t *obj = json_object(), *shapes = json_object();

	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_kind_is_tensor(job->arg[i].kind))
			kl_json_set(shapes, job->arg[i].name,
				    write_texts(&job->domain->shape_text[i]));
	kl_json_set(obj, "conditions", write_texts(&job->domain->text));
	kl_json_set(obj, "shapes", shapes);
	return obj;
}

/* -- making points that the job does not list -------------------------------- */

static int tensor_at(struct kl_point *point, const struct kl_job *job, size_t arg,
		     const int64_t *dim)
{
	const struct kl_job_domain *domain = job->domain;
	int64_t bytes = (int64_t)kl_dtype_bytes(job->arg[arg].dtype);

	point->arg[arg].naxes = domain->shape_text[arg].n;
	for (size_t i = 0; i < domain->shape_text[arg].n; i++) {
		int64_t *extent = &point->arg[arg].extent[i];
		int err = kl_expr_eval(extent, domain->shape[arg][i], dim);

		if (err < 0)
			return kl_error_in(err, "'%s'", job->arg[arg].name);
		if (*extent < 1 || bytes > KL_TENSOR_MAX_BYTES / *extent)
			return kl_error(KL_EINVALID,
					"'%s' has an extent below 1, or more than 2^40 bytes",
					job->arg[arg].name);
		bytes *= *extent;
	}
	return 0;
}

static int dim_at(struct kl_point *point, const struct kl_job *job, size_t arg, const int64_t *dim)
{
	for (size_t i = 0; i < job->ndim; i++) {
		if (strcmp(job->dim_name[i], job->arg[arg].name))
			continue;
		point->arg[arg].value = dim[i];
		if (!kl_dtype_holds(job->arg[arg].dtype, dim[i]))
			return kl_error(KL_EINVALID, "dim '%s' does not fit in %s",
					job->arg[arg].name, kl_dtype_name(job->arg[arg].dtype));
		return 0;
	}
	return kl_error(KL_EINVALID, "'%s' is not a dim of the domain", job->arg[arg].name);
}

int kl_job_point_at(struct kl_point *out, const struct kl_job *job, const char *id,
		    const int64_t *dim)
{
	int err = 0;

	*out = (struct kl_point){ .weight = 1 };
	snprintf(out->id, sizeof(out->id), "%s", id);
	memcpy(out->dim, dim, job->ndim * sizeof(*dim));
	for (size_t i = 0; i < job->nargs && err == 0; i++) {
		if (job->arg[i].kind == KL_ARG_DIM)
			err = dim_at(out, job, i, dim);
		else if (kl_arg_kind_is_tensor(job->arg[i].kind))
			err = tensor_at(out, job, i, dim);
	}
	return err;
}

/*
 * Return the member `index` of a fill, which holds the bound of the indices at each point; NULL if
 * the fill has no such member.
 */
static json_t *index_of(json_t *fill)
{
	json_t *inner = json_object_get(fill, "repeat");

	return json_object_get(inner ? inner : fill, "index");
}

int kl_job_fill_at(json_t **out, const struct kl_job *job, const json_t *fill,
		   const struct kl_point *point)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	KL_AUTO(json_decrefp) json_t *copy = json_deep_copy(fill);
	json_t *index = index_of(copy);
	int64_t bound;
	int err;

	if (json_is_object(index)) {
		const char *text = kl_json_str_or(index, "expr", NULL);

		if (!text)
			return kl_error(KL_EINVALID, "'index' has no expression");
		if ((err = parse_expr(&expr, job, text, KL_EXPR_NUMBER)) < 0 ||
		    (err = kl_expr_eval(&bound, expr, point->dim)) < 0)
			return err;
		if (bound < 1)
			return kl_error(KL_EINVALID, "'index' is below 1");
		kl_json_set_int(index, point->id, bound);
	}
	*out = kl_steal(&copy);
	return 0;
}
