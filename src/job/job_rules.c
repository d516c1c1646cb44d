/* SPDX-License-Identifier: Apache-2.0 */
/* job_rules - parses a job's acceptance rules */
#include "job/job_parts.h"

#include <string.h>

#include "base/error.h"
#include "job/job_read.h"

/* Set *out to the index of the argument that the member `key` names; it must be a tensor. */
static int rule_arg(int *out, const struct kl_job *job, const json_t *obj, const char *key)
{
	const char *text;
	int err = kl_json_str(&text, obj, key);

	if (err < 0)
		return err;
	*out = kl_job_arg_index(job, text);
	if (*out < 0 || job->arg[*out].kind == KL_ARG_DIM || job->arg[*out].kind == KL_ARG_SCALAR)
		return kl_error(KL_EINVALID, "'%s' names '%s', which is not a tensor", key, text);
	return 0;
}

/* Parse an axis, or {"<axis>": n}: n consecutive indices of the axis form one group. */
static int parse_axis(int *axis, int64_t *cut, const json_t *value)
{
	const char *key = json_object_iter_key(json_object_iter((json_t *)value));
	const json_t *count = key ? json_object_get(value, key) : NULL;

	*cut = 1;
	if (json_is_integer(value) && json_integer_value(value) >= 0 &&
	    json_integer_value(value) < KL_MAX_AXES) {
		*axis = (int)json_integer_value(value);
		return 0;
	}
	if (json_object_size(value) != 1 || key[0] < '0' || key[0] >= '0' + KL_MAX_AXES || key[1] ||
	    !json_is_integer(count) || json_integer_value(count) < 1)
		return kl_error(KL_EINVALID, "'per' has an entry that is not an axis");
	*axis = key[0] - '0';
	*cut = json_integer_value(count);
	return 0;
}

static int parse_per(struct kl_rule *rule, const json_t *obj)
{
	const json_t *list = json_object_get(obj, "per"), *item;
	size_t i;
	int err;

	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > KL_MAX_AXES)
		return kl_error(KL_EINVALID, "'per' is not a list of at most %d axes", KL_MAX_AXES);
	json_array_foreach(list, i, item) {
		if ((err = parse_axis(&rule->per[i], &rule->cut[i], item)) < 0)
			return err;
		rule->npaxes++;
	}
	return 0;
}

static const struct rule_form {
	const char *name;
	const char *known[8];
} rule_forms[] = {
	[KL_RULE_NOISE] = { "noise", { "rule", "out", "max", "rms", "per" } },
	[KL_RULE_EXACT] = { "exact", { "rule", "out" } },
	[KL_RULE_ELEMENTWISE] = { "elementwise", { "rule", "out", "ulps", "acc" } },
	[KL_RULE_REL_L2] = { "rel-l2", { "rule", "out", "tol", "per", "zeros" } },
	[KL_RULE_MULTISET] = { "multiset", { "rule", "out", "values", "indices", "of" } },
};

static const struct rule_form *rule_form(const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(rule_forms); i++)
		if (!strcmp(rule_forms[i].name, name))
			return &rule_forms[i];
	return NULL;
}

static int parse_multiset(struct kl_rule *rule, const struct kl_job *job, const json_t *obj)
{
	const char *out = json_object_get(obj, "values") ? "values" : "out";
	int err;

	rule->indices = rule->of = -1;
	if ((err = rule_arg(&rule->out, job, obj, out)) < 0 ||
	    (err = rule_arg(&rule->indices, job, obj, "indices")) < 0 ||
	    (err = rule_arg(&rule->of, job, obj, "of")) < 0)
		return err;
	if (job->arg[rule->indices].kind == KL_ARG_IN || job->arg[rule->of].kind != KL_ARG_IN)
		return kl_error(KL_EINVALID,
				"a multiset's 'indices' must be an output and its 'of' an input");
	return 0;
}

static int parse_rule(struct kl_job *job, const json_t *obj)
{
	struct kl_rule *rule = &job->rule[job->nrule];
	const struct rule_form *form;
	const char *name;
	int err;

	if ((err = kl_json_str(&name, obj, "rule")) < 0)
		return err;
	form = rule_form(name);
	if (!form)
		return kl_error(KL_EINVALID, "unknown rule '%s'", name);
	rule->kind = (enum kl_rule_kind)(form - rule_forms);
	if ((err = kl_job_read_only(obj, "a rule", form->known)) < 0 ||
	    (err = parse_per(rule, obj)) < 0 ||
	    (err = kl_job_read_num(&rule->max, obj, "max", 4)) < 0 ||
	    (err = kl_job_read_num(&rule->rms, obj, "rms", 2)) < 0 ||
	    (err = kl_job_read_num(&rule->ulps, obj, "ulps", 0)) < 0 ||
	    (err = kl_job_read_num(&rule->acc, obj, "acc", 0)) < 0 ||
	    (err = kl_job_read_num(&rule->tol, obj, "tol", 0)) < 0)
		return kl_error_in(err, "rule '%s'", name);
	if ((err = kl_job_read_bool(&rule->zeros, obj, "zeros", false)) < 0)
		return kl_error_in(err, "rule '%s'", name);
	err = rule->kind == KL_RULE_MULTISET ? parse_multiset(rule, job, obj) :
					       rule_arg(&rule->out, job, obj, "out");
	if (err < 0)
		return kl_error_in(err, "rule '%s'", name);
	if (job->arg[rule->out].kind == KL_ARG_IN)
		return kl_error(KL_EINVALID, "rule '%s' judges '%s', which is an input", name,
				job->arg[rule->out].name);
	job->nrule++;
	return 0;
}

/*
 * Check that every output has a rule, because a kernel would not need to write an output without
 * one.
 */
static int all_judged(const struct kl_job *job)
{
	for (size_t i = 0; i < job->nargs; i++) {
		bool judged = job->arg[i].kind != KL_ARG_OUT && job->arg[i].kind != KL_ARG_INOUT;

		for (size_t n = 0; n < job->nrule; n++)
			judged |= job->rule[n].out == (int)i ||
				  (job->rule[n].kind == KL_RULE_MULTISET &&
				   job->rule[n].indices == (int)i);
		if (!judged)
			return kl_error(KL_EINVALID, "no rule judges output '%s'",
					job->arg[i].name);
	}
	return 0;
}

int kl_job_set_rules(struct kl_job *job, const json_t *list)
{
	json_t *item;
	size_t i;
	int err;

	if (json_array_size(list) > KL_MAX_ARGS)
		return kl_error(KL_EINVALID, "too many rules in 'accept'");
	job->rule = kl_calloc(json_array_size(list) + 1, sizeof(*job->rule));
	json_array_foreach(list, i, item)
		if ((err = parse_rule(job, item)) < 0)
			return err;
	return all_judged(job);
}

int kl_job_parse_rules(struct kl_job *job, const json_t *doc)
{
	json_t *list;
	int err = kl_json_arr(&list, doc, "accept");

	return err < 0 ? err : kl_job_set_rules(job, list);
}

static json_t *write_per(const struct kl_rule *rule)
{
	json_t *per = json_array();

	for (int i = 0; i < rule->npaxes; i++) {
		char axis[2] = { (char)('0' + rule->per[i]), '\0' };
		json_t *cut;

		if (rule->cut[i] <= 1) {
			json_array_append_new(per, json_integer(rule->per[i]));
			continue;
		}
		cut = json_object();
		kl_json_set_int(cut, axis, rule->cut[i]);
		json_array_append_new(per, cut);
	}
	return per;
}

static json_t *write_rule(const struct kl_job *job, const struct kl_rule *rule)
{
	json_t *item = json_object();

	kl_json_set_str(item, rule->kind == KL_RULE_MULTISET ? "values" : "out",
			job->arg[rule->out].name);
	kl_json_set_str(item, "rule", rule_forms[rule->kind].name);
	switch (rule->kind) {
	case KL_RULE_NOISE:
		kl_json_set_num(item, "max", rule->max);
		kl_json_set_num(item, "rms", rule->rms);
		kl_json_set(item, "per", write_per(rule));
		break;
	case KL_RULE_EXACT:
		break;
	case KL_RULE_ELEMENTWISE:
		kl_json_set_num(item, "ulps", rule->ulps);
		kl_json_set_num(item, "acc", rule->acc);
		break;
	case KL_RULE_REL_L2:
		kl_json_set_num(item, "tol", rule->tol);
		if (rule->zeros)
			kl_json_set_bool(item, "zeros", true);
		kl_json_set(item, "per", write_per(rule));
		break;
	case KL_RULE_MULTISET:
		kl_json_set_str(item, "indices", job->arg[rule->indices].name);
		kl_json_set_str(item, "of", job->arg[rule->of].name);
		break;
	}
	return item;
}

json_t *kl_job_write_rules(const struct kl_job *job)
{
	json_t *rules = json_array();

	for (size_t i = 0; i < job->nrule; i++)
		json_array_append_new(rules, write_rule(job, &job->rule[i]));
	return rules;
}
