/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/further.h"

#include <stdio.h>
#include <string.h>

#include "worker/compare/graded.h"
#include "worker/pool/fill.h"

#define SORT_ELEMENTS ((int64_t)4 << 20) /* larger tensors are not rearranged */
/* maximum number of attempts at a member of a band that scales */
#define TRIES 5
#define LEAST_ROW 4 /* shorter rows are not rearranged */

static const char *const names[] = {
	[KL_FURTHER_GRADED] = "graded",     [KL_FURTHER_WIDE] = "wide",
	[KL_FURTHER_LARGE] = "large",       [KL_FURTHER_SMALL] = "small",
	[KL_FURTHER_DENORMAL] = "denormal", [KL_FURTHER_ZEROS] = "zeros",
	[KL_FURTHER_CONSTANT] = "constant", [KL_FURTHER_TIES] = "ties",
	[KL_FURTHER_SORTED] = "sorted",     [KL_FURTHER_REVERSED] = "reversed",
	[KL_FURTHER_NAN] = "nan",           [KL_FURTHER_INF] = "inf",
};

/* -- names ------------------------------------------------------------------- */

static void graded_name(char out[32], const struct kl_job *job, size_t dim)
{
	snprintf(out, 32, "graded-%.24s", job->dim_name[dim]);
}

enum kl_further kl_further_find(const struct kl_job *job, const char *band, size_t *dim)
{
	char name[32];

	for (*dim = 0; *dim < job->ndim; ++*dim) {
		graded_name(name, job, *dim);
		if (!strcmp(band, name))
			return KL_FURTHER_GRADED;
	}
	for (int i = KL_FURTHER_GRADED + 1; i < KL_FURTHERS; i++)
		if (!strcmp(band, names[i]))
			return (enum kl_further)i;
	return KL_FURTHERS;
}

/* -- what a fill allows --------------------------------------------------------- */

/* Return true if the argument is a float input whose fill allows numbers of any size. */
static bool is_spread(const struct kl_job_arg *arg)
{
	static const char *const kinds[] = { "normal", "uniform", "cauchy", "outliers" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (json_object_get(arg->fill, kinds[i]))
			return kl_arg_is_input(arg) && kl_dtype_is_float(arg->dtype);
	return false;
}

static bool can_scale(const struct kl_job_arg *arg)
{
	return arg->sweep && is_spread(arg);
}

static bool is_free(const struct kl_job_arg *arg)
{
	static const char *const shapes[] = { "map", "unit", "lower", "running" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(shapes); i++)
		if (json_object_get(arg->fill, shapes[i]))
			return false;
	return is_spread(arg);
}

static bool can_rearrange(const struct kl_job_arg *arg, const struct kl_point *pt, size_t i)
{
	size_t naxes = pt->arg[i].naxes;

	return kl_arg_is_input(arg) && kl_fill_grain(arg->fill) == KL_GRAIN_ELEMENT &&
	       !json_object_get(arg->fill, "const") && naxes &&
	       pt->arg[i].extent[naxes - 1] >= LEAST_ROW &&
	       kl_point_elements(pt, i) <= SORT_ELEMENTS;
}

/*
 * Return true if a rule `multiset` orders the values of this input. Such a rule cannot tell where a
 * NaN belongs.
 */
static bool is_ordered(const struct kl_job *job, size_t arg)
{
	for (size_t i = 0; i < job->nrule; i++)
		if (job->rule[i].kind == KL_RULE_MULTISET && job->rule[i].of == (int)arg)
			return true;
	return false;
}

/*
 * Return true if an output, other than the indices of a rule `multiset`, holds whole numbers: whole
 * numbers cannot express NaN or infinity.
 */
static bool has_integers(const struct kl_job *job)
{
	for (size_t i = 0; i < job->nargs; i++) {
		bool indices = false;

		for (size_t k = 0; k < job->nrule; k++)
			indices |= job->rule[k].kind == KL_RULE_MULTISET &&
				   job->rule[k].indices == (int)i;
		if (kl_arg_is_output(&job->arg[i]) && !kl_dtype_is_float(job->arg[i].dtype) &&
		    !indices)
			return true;
	}
	return false;
}

int kl_further_axis(const struct kl_job *job, size_t arg, size_t dim)
{
	const struct kl_strvec *shape;

	if (!job->domain)
		return 0;
	shape = &job->domain->shape_text[arg];
	for (size_t i = 0; i < shape->n; i++)
		if (!strcmp(shape->v[i], job->dim_name[dim]))
			return (int)i + 1;
	return 0;
}

bool kl_further_touches(const struct kl_job *job, const struct kl_point *pt,
			enum kl_further further, size_t dim, size_t arg)
{
	const struct kl_job_arg *job_arg = &job->arg[arg];

	switch (further) {
	case KL_FURTHER_GRADED:
		return can_scale(job_arg) && kl_further_axis(job, arg, dim) &&
		       pt->dim[dim] >= KL_GRADED_LEAST;
	case KL_FURTHER_WIDE:
	case KL_FURTHER_LARGE:
	case KL_FURTHER_SMALL:
		return can_scale(job_arg);
	case KL_FURTHER_DENORMAL:
		return can_scale(job_arg) && is_free(job_arg) &&
		       !job->values.undefined[KL_VALUE_DENORMAL];
	case KL_FURTHER_ZEROS:
		return is_free(job_arg);
	case KL_FURTHER_CONSTANT:
	case KL_FURTHER_TIES:
	case KL_FURTHER_SORTED:
	case KL_FURTHER_REVERSED:
		return can_rearrange(job_arg, pt, arg);
	case KL_FURTHER_NAN:
		return is_free(job_arg) && !is_ordered(job, arg) && !has_integers(job) &&
		       !job->values.undefined[KL_VALUE_NAN];
	case KL_FURTHER_INF:
		return is_free(job_arg) && !has_integers(job) &&
		       !job->values.undefined[KL_VALUE_INF];
	case KL_FURTHERS:
		break;
	}
	return false;
}

/* -- the bands of a point ---------------------------------------------------------- */

static bool is_possible(const struct kl_job *job, const struct kl_point *pt,
			enum kl_further further, size_t dim)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_further_touches(job, pt, further, dim, i))
			return true;
	return false;
}

size_t kl_further_list(char band[KL_FURTHER_MAX][32], const struct kl_job *job,
		       const struct kl_point *pt)
{
	size_t n = 0;

	if (!job->further)
		return 0;
	for (size_t dim = 0; dim < job->ndim; dim++)
		if (is_possible(job, pt, KL_FURTHER_GRADED, dim))
			graded_name(band[n++], job, dim);
	for (int i = KL_FURTHER_GRADED + 1; i < KL_FURTHERS; i++)
		if (is_possible(job, pt, (enum kl_further)i, 0))
			snprintf(band[n++], 32, "%s", names[i]);
	return n;
}

int kl_further_tries(const struct kl_job *job, const struct kl_member *member)
{
	size_t dim;

	switch (kl_further_find(job, member->band, &dim)) {
	case KL_FURTHER_GRADED:
	case KL_FURTHER_LARGE:
	case KL_FURTHER_SMALL:
	case KL_FURTHER_DENORMAL:
		return TRIES;
	default:
		return 1;
	}
}

void kl_further_mark(struct kl_member *member, const struct kl_job *job)
{
	size_t dim;
	enum kl_further further = kl_further_find(job, member->band, &dim);

	member->further = further != KL_FURTHERS;
	if (further == KL_FURTHER_NAN)
		member->odd = KL_ODD_NAN;
	if (further == KL_FURTHER_INF)
		member->odd = KL_ODD_INF;
	for (size_t i = 0; i < job->nargs && further == KL_FURTHER_GRADED; i++)
		if (kl_arg_is_output(&job->arg[i]))
			member->graded[i] = kl_further_axis(job, i, dim);
}
