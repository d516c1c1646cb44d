/* SPDX-License-Identifier: Apache-2.0 */
/* job_rules - parses a job's acceptance rules */
#include "job/job_parts.h"

#include <string.h>

#include "base/error.h"
#include "job/job_read.h"

/* The argument that a rule's member names, which must be a tensor. */
static int rule_arg(int *out, const struct kl_job *j, const json_t *obj, const char *key)
{
	const char *s;
	int err = kl_json_str(&s, obj, key);

	if (err < 0)
		return err;
	*out = kl_job_arg_index(j, s);
	if (*out < 0 || j->arg[*out].role == KL_ROLE_DIM || j->arg[*out].role == KL_ROLE_SCALAR)
		return kl_error(KL_EINVALID, "'%s' names no tensor: '%s'", key, s);
	return 0;
}

/* An axis, or {"<axis>": n}, which keeps n of its coordinates together. */
static int parse_axis(int *axis, int64_t *cut, const json_t *v)
{
	const char *key = json_object_iter_key(json_object_iter((json_t *)v));
	const json_t *n = key ? json_object_get(v, key) : NULL;

	*cut = 1;
	if (json_is_integer(v) && json_integer_value(v) >= 0 &&
	    json_integer_value(v) < KL_JOB_MAX_AXES) {
		*axis = (int)json_integer_value(v);
		return 0;
	}
	if (json_object_size(v) != 1 || key[0] < '0' || key[0] >= '0' + KL_JOB_MAX_AXES || key[1] ||
	    !json_is_integer(n) || json_integer_value(n) < 1)
		return kl_error(KL_EINVALID, "'per' names no axis");
	*axis = key[0] - '0';
	*cut = json_integer_value(n);
	return 0;
}

static int parse_per(struct kl_rule *r, const json_t *obj)
{
	const json_t *list = json_object_get(obj, "per"), *v;
	size_t i;
	int err;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > KL_JOB_MAX_AXES)
		return kl_error(KL_EINVALID, "'per' is not a list of at most %d axes",
				KL_JOB_MAX_AXES);
	json_array_foreach(list, i, v) {
		if ((err = parse_axis(&r->per[i], &r->cut[i], v)) < 0)
			return err;
		r->npaxes++;
	}
	return 0;
}

static const struct rule_form {
	const char *name;
	enum kl_rule_kind kind;
	const char *known[8];
} rule_forms[] = {
	{ "noise", KL_RULE_NOISE, { "rule", "out", "max", "rms", "per" } },
	{ "exact", KL_RULE_EXACT, { "rule", "out" } },
	{ "elementwise", KL_RULE_ELEMENTWISE, { "rule", "out", "ulps", "acc" } },
	{ "rel-l2", KL_RULE_REL_L2, { "rule", "out", "tol", "per", "zeros" } },
	{ "multiset", KL_RULE_MULTISET, { "rule", "out", "values", "indices", "of" } },
};

static const struct rule_form *rule_form(const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(rule_forms); i++)
		if (!strcmp(rule_forms[i].name, name))
			return &rule_forms[i];
	return NULL;
}

static int parse_multiset(struct kl_rule *r, const struct kl_job *j, const json_t *obj)
{
	const char *out = json_object_get(obj, "values") ? "values" : "out";
	int err;

	r->indices = r->of = -1;
	if ((err = rule_arg(&r->out, j, obj, out)) < 0 ||
	    (err = rule_arg(&r->indices, j, obj, "indices")) < 0 ||
	    (err = rule_arg(&r->of, j, obj, "of")) < 0)
		return err;
	if (j->arg[r->indices].role == KL_ROLE_IN || j->arg[r->of].role != KL_ROLE_IN)
		return kl_error(KL_EINVALID,
				"a multiset's indices are an output and 'of' is an input");
	return 0;
}

static int parse_rule(struct kl_job *j, const json_t *obj)
{
	struct kl_rule *r = &j->rule[j->nrule];
	const struct rule_form *form;
	const char *name;
	int err;

	if ((err = kl_json_str(&name, obj, "rule")) < 0)
		return err;
	form = rule_form(name);
	if (!form)
		return kl_error(KL_EINVALID, "no rule is called '%s'", name);
	r->kind = form->kind;
	if ((err = kl_job_read_only(obj, "a rule", form->known)) < 0 ||
	    (err = parse_per(r, obj)) < 0 || (err = kl_job_read_num(&r->max, obj, "max", 4)) < 0 ||
	    (err = kl_job_read_num(&r->rms, obj, "rms", 2)) < 0 ||
	    (err = kl_job_read_num(&r->ulps, obj, "ulps", 0)) < 0 ||
	    (err = kl_job_read_num(&r->acc, obj, "acc", 0)) < 0 ||
	    (err = kl_job_read_num(&r->tol, obj, "tol", 0)) < 0)
		return kl_error_in(err, "rule '%s'", name);
	if ((err = kl_job_read_bool(&r->zeros, obj, "zeros", false)) < 0)
		return kl_error_in(err, "rule '%s'", name);
	err = r->kind == KL_RULE_MULTISET ? parse_multiset(r, j, obj) :
					    rule_arg(&r->out, j, obj, "out");
	if (err < 0)
		return kl_error_in(err, "rule '%s'", name);
	if (j->arg[r->out].role == KL_ROLE_IN)
		return kl_error(KL_EINVALID, "rule '%s' judges '%s', which is an input", name,
				j->arg[r->out].name);
	j->nrule++;
	return 0;
}

/* Is every output judged? Else a kernel could leave it undone. */
static int all_judged(const struct kl_job *j)
{
	for (size_t i = 0; i < j->nargs; i++) {
		bool judged = j->arg[i].role != KL_ROLE_OUT && j->arg[i].role != KL_ROLE_INOUT;

		for (size_t n = 0; n < j->nrule; n++)
			judged |= j->rule[n].out == (int)i ||
				  (j->rule[n].kind == KL_RULE_MULTISET &&
				   j->rule[n].indices == (int)i);
		if (!judged)
			return kl_error(KL_EINVALID, "no rule judges output '%s'", j->arg[i].name);
	}
	return 0;
}

int kl_job_parse_rules(struct kl_job *j, const json_t *doc)
{
	json_t *list, *v;
	size_t i;
	int err = kl_json_arr(&list, doc, "accept");

	if (err < 0)
		return err;
	if (json_array_size(list) > KL_JOB_MAX_ARGS)
		return kl_error(KL_EINVALID, "more rules than arguments are possible");
	j->rule = kl_calloc(json_array_size(list) + 1, sizeof(*j->rule));
	json_array_foreach(list, i, v)
		if ((err = parse_rule(j, v)) < 0)
			return err;
	return all_judged(j);
}
