/* SPDX-License-Identifier: Apache-2.0 */
/* accept - reads a contract's acceptance rules */
#include <string.h>

#include "contract/parts.h"

#define MAX_FACTOR 1e9

/* --- tables of the keys of each rule ------------------------------------------------- */

enum { RULE_NOISE, RULE_EXACT, RULE_ELEMENTWISE, RULE_REL_L2, RULE_MULTISET };
static const char *const rule_names[] = { "noise",  "exact",    "elementwise",
					  "rel-l2", "multiset", NULL };

/* A rule as written in the contract. */
struct rule {
	char *out, *values, *indices, *of; /* names of arguments */
	double max, rms, ulps, acc, tol;
	bool zeros;
	const struct kl_yaml *per; /* read for each output that the rule judges; borrowed */
};

static int keep_node(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	*(const struct kl_yaml **)at = node;
	return 0;
}

static const struct kl_value_type node_value = { .read = keep_node };

/* Accept any text, since find_arg() checks whether the text names an argument. */
static int check_name(const char *file, const struct kl_yaml *node, const char *key)
{
	return 0;
}

static const struct kl_string_type name_string = { "an argument's name", NULL, check_name };

#define AT(m) offsetof(struct rule, m)
/* clang-format off */
#define NAME_FIELD(m, flag) KL_STRING_FIELD(#m, (flag) | KL_LOOSE, AT(m), &name_string)
#define FACTOR_FIELD(m, flag, least) KL_DOUBLE_FIELD(#m, flag, AT(m), least, MAX_FACTOR)
#define RULE_AND_OUT KL_VALUE_FIELD("rule", KL_NEEDED, 0, &kl_value_known), NAME_FIELD(out, 0)
#define PER_FIELD KL_VALUE_FIELD("per", 0, AT(per), &node_value)
/* clang-format on */

static const struct kl_field noise_fields[] = {
	RULE_AND_OUT,  FACTOR_FIELD(max, 0, 1e-3), FACTOR_FIELD(rms, 0, 1e-3), PER_FIELD,
	KL_FIELDS_END,
};
static const struct kl_field exact_fields[] = { RULE_AND_OUT, KL_FIELDS_END };
static const struct kl_field elementwise_fields[] = {
	RULE_AND_OUT,
	FACTOR_FIELD(ulps, 0, 0),
	FACTOR_FIELD(acc, 0, 0),
	KL_FIELDS_END,
};
static const struct kl_field rel_l2_fields[] = {
	RULE_AND_OUT,  FACTOR_FIELD(tol, KL_NEEDED, 1e-18),
	PER_FIELD,     KL_BOOL_FIELD("zeros", 0, AT(zeros)),
	KL_FIELDS_END,
};
static const struct kl_field multiset_fields[] = {
	KL_VALUE_FIELD("rule", KL_NEEDED, 0, &kl_value_known),
	NAME_FIELD(values, KL_NEEDED),
	NAME_FIELD(indices, KL_NEEDED),
	NAME_FIELD(of, KL_NEEDED),
	KL_FIELDS_END,
};
#undef AT

static int check_elementwise(const void *obj, const char *file, const struct kl_yaml *node)
{
	const struct rule *rule = obj;

	if (!rule->ulps && !rule->acc)
		return kl_yaml_error(
			file, node,
			"'elementwise' with ulps 0 and acc 0 allows no error; use rule 'exact'");
	return 0;
}

static int check_rel_l2(const void *obj, const char *file, const struct kl_yaml *node)
{
	const struct rule *rule = obj;

	if (rule->tol >= 1)
		return kl_yaml_error(
			file, kl_yaml_get(node, "tol"),
			"'tol' must be below 1: otherwise an output of zeros is accepted");
	return 0;
}

static const struct kl_schema rule_schemas[] = {
#define SCHEMA(name, fields, check)                                          \
	{                                                                    \
		"'" name "'", sizeof(struct rule), fields, check, NULL, NULL \
	}
	[RULE_NOISE] = SCHEMA("noise", noise_fields, NULL),
	[RULE_EXACT] = SCHEMA("exact", exact_fields, NULL),
	[RULE_ELEMENTWISE] = SCHEMA("elementwise", elementwise_fields, check_elementwise),
	[RULE_REL_L2] = SCHEMA("rel-l2", rel_l2_fields, check_rel_l2),
	[RULE_MULTISET] = SCHEMA("multiset", multiset_fields, NULL),
#undef SCHEMA
};

/* --- rules about one output ---------------------------------------------------------- */

/* State while rules are read: the outputs that have a rule, and the current rule. */
struct judging {
	struct kl_contract *contract;
	bool judged[KL_MAX_ARGS];
	int kind;
	const struct rule *rule;
	const struct kl_yaml *node; /* the rule's node */
};

/*
 * Read an entry {axis: n} of `per`, which puts n neighbouring coordinates of this axis into each
 * group.
 */
static int read_cut(int64_t *axis, json_t **piece, const char *file, const struct kl_yaml *node)
{
	static const struct kl_field one = KL_VALUES_FIELD("per", 0, 0, NULL, 1, 1);
	static const struct kl_field count = KL_INT_FIELD("per", KL_LOOSE, 0, 2, 0);
	int64_t together;
	int err = kl_schema_check_map(file, &one, node);

	if (err < 0)
		return err;
	*axis = node->key[0][0] - '0';
	if (*axis < 0 || *axis >= KL_MAX_AXES || node->key[0][1])
		return kl_yaml_key_error(file, node, 0, "'per' must name an axis by its index");
	if ((err = kl_schema_read_value(&together, file, &count, node->item[0])) < 0)
		return err;
	*piece = json_object();
	kl_json_set_int(*piece, node->key[0], together);
	return 0;
}

/*
 * Read an entry of `per`: an axis or {axis: n}. The axis must be at least `*next`, so that the axes
 * ascend.
 */
static int read_axis(json_t *per, int64_t *next, const char *file, const struct kl_arg *arg,
		     const struct kl_yaml *node)
{
	static const struct kl_field index = KL_INT_FIELD("per", KL_LOOSE, 0, 0, KL_MAX_AXES - 1);
	KL_AUTO(json_decrefp) json_t *piece = NULL;
	int64_t axis;
	int err = node->kind == KL_YAML_MAP ? read_cut(&axis, &piece, file, node) :
					      kl_schema_read_value(&axis, file, &index, node);

	if (err < 0)
		return err;
	if (axis < *next)
		return kl_yaml_error(
			file, node,
			"'per' must list axes in ascending order: [0], [0, 2], [0, {1: 64}] ...");
	if (axis >= (int64_t)arg->naxes)
		return kl_yaml_error(
			file, node, "'per' names axis %lld (counted from 0), but '%s' has %zu axes",
			(long long)axis, arg->name, arg->naxes);
	*next = axis + 1;
	json_array_append_new(per, piece ? kl_steal(&piece) : json_integer(axis));
	return 0;
}

static int read_per(json_t *out, const char *file, const struct kl_arg *arg,
		    const struct kl_yaml *node)
{
	static const struct kl_field axes = KL_VALUES_FIELD("per", 0, 0, NULL, 0, KL_MAX_AXES);
	KL_AUTO(json_decrefp) json_t *per = json_array();
	size_t alone = 0;
	int64_t next = 0;
	int err = node ? kl_schema_check_list(file, &axes, node) : 0;

	for (size_t i = 0; node && !err && i < node->n; i++) {
		err = read_axis(per, &next, file, arg, node->item[i]);
		alone += node->item[i]->kind != KL_YAML_MAP;
	}
	if (!err && alone && alone == arg->naxes)
		return kl_yaml_error(
			file, node,
			"'per' names all %zu axes of '%s', so each element would be a group",
			arg->naxes, arg->name);
	if (!err)
		kl_json_set(out, "per", kl_steal(&per));
	return err;
}

/* Find the argument called `name`, which is the value of `key`. */
static int find_arg(int *out, const struct judging *judging, const char *key, const char *name)
{
	*out = kl_contract_arg(judging->contract, name);
	return *out >= 0 ? 0 :
			   kl_yaml_error(judging->contract->name, kl_yaml_get(judging->node, key),
					 "'%s' names '%.64s', which is not an argument", key, name);
}

/*
 * Find the output called `name`, and mark it as judged. Return KL_EINVALID if the output already
 * has a rule.
 */
static int claim_output(int *out, struct judging *judging, const char *key, const char *name)
{
	const struct kl_contract *contract = judging->contract;
	const struct kl_yaml *node = kl_yaml_get(judging->node, key);
	int err = find_arg(out, judging, key, name);

	if (err < 0)
		return err;
	if (!kl_arg_kind_is_output(contract->arg[*out].kind))
		return kl_yaml_error(
			contract->name, node,
			"'%s' is not an output (out or inout), so no rule can judge it", name);
	if (judging->judged[*out])
		return kl_yaml_error(contract->name, node, "'%s' is judged by two rules", name);
	judging->judged[*out] = true;
	return 0;
}

static int add_rule(struct judging *judging, int output)
{
	const struct kl_contract *contract = judging->contract;
	const struct kl_arg *arg = &contract->arg[output];
	const struct rule *rule = judging->rule;
	KL_AUTO(json_decrefp) json_t *json = json_object();
	int kind = judging->kind, err = 0;

	if (kind != RULE_EXACT && !kl_dtype_is_float(arg->dtype))
		return kl_yaml_error(
			contract->name, judging->node,
			"the rule '%s' is for floating-point outputs, but '%s' is %s; use rule "
			"'exact' for it",
			rule_names[kind], arg->name, kl_dtype_name(arg->dtype));
	kl_json_set_str(json, "out", arg->name);
	kl_json_set_str(json, "rule", rule_names[kind]);
	if (kind == RULE_NOISE) {
		kl_json_set_num(json, "max", rule->max);
		kl_json_set_num(json, "rms", rule->rms);
	} else if (kind == RULE_ELEMENTWISE) {
		kl_json_set_num(json, "ulps", rule->ulps);
		kl_json_set_num(json, "acc", rule->acc);
	} else if (kind == RULE_REL_L2) {
		kl_json_set_num(json, "tol", rule->tol);
		if (rule->zeros)
			kl_json_set_bool(json, "zeros", true);
	}
	if (kind == RULE_NOISE || kind == RULE_REL_L2)
		err = read_per(json, contract->name, arg, rule->per);
	if (!err)
		json_array_append_new(contract->accept, kl_steal(&json));
	return err;
}

/*
 * Apply the rule to the output that it names. A rule that names no output is applied to all
 * outputs; this is allowed only if it is the only rule (`alone`).
 */
static int apply_rule(struct judging *judging, bool alone)
{
	const struct kl_contract *contract = judging->contract;
	int output, err = 0;

	if (judging->rule->out) {
		err = claim_output(&output, judging, "out", judging->rule->out);
		return err < 0 ? err : add_rule(judging, output);
	}
	if (!alone)
		return kl_yaml_error(
			contract->name, judging->node,
			"'out' is missing: in a list, every rule must name its output");
	for (size_t i = 0; !err && i < contract->nargs; i++) {
		if (!kl_arg_kind_is_output(contract->arg[i].kind))
			continue;
		judging->judged[i] = true;
		err = add_rule(judging, (int)i);
	}
	return err;
}

/* --- the rule 'multiset' -------------------------------------------------------------- */

/*
 * Check at every point that `values`, `indices` and `of` have the same shape, except that the last
 * axis of `of` may be longer.
 */
static int check_rows(const struct judging *judging, int values, int indices, int of)
{
	const struct kl_contract *contract = judging->contract;
	const struct kl_dims *dims;
	char id[32];
	size_t axes = contract->arg[values].naxes;

	if (contract->arg[indices].naxes != axes || contract->arg[of].naxes != axes)
		return kl_yaml_error(
			contract->name, judging->node,
			"'values', 'indices' and 'of' must have the same number of axes");
	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t value[KL_MAX_AXES], index[KL_MAX_AXES], from[KL_MAX_AXES];
		int err;

		if ((err = kl_contract_shape(value, contract, (size_t)values, dims)) < 0 ||
		    (err = kl_contract_shape(index, contract, (size_t)indices, dims)) < 0 ||
		    (err = kl_contract_shape(from, contract, (size_t)of, dims)) < 0)
			return err;
		if (memcmp(value, index, axes * sizeof(*value)) ||
		    memcmp(value, from, (axes - 1) * sizeof(*value)) ||
		    value[axes - 1] > from[axes - 1])
			return kl_yaml_error(
				contract->name, judging->node,
				"at %s: 'values' and 'indices' must have the shape of 'of', except "
				"that their last axis can be shorter",
				id);
	}
	return 0;
}

static int apply_multiset(struct judging *judging)
{
	const struct kl_contract *contract = judging->contract;
	const struct kl_arg *arg = contract->arg;
	const struct rule *rule = judging->rule;
	const struct kl_yaml *node = judging->node;
	json_t *json;
	int values, indices, of, err;

	if ((err = claim_output(&values, judging, "values", rule->values)) < 0 ||
	    (err = claim_output(&indices, judging, "indices", rule->indices)) < 0 ||
	    (err = find_arg(&of, judging, "of", rule->of)) < 0)
		return err;
	if (arg[indices].dtype != KL_I32 && arg[indices].dtype != KL_I64)
		return kl_yaml_error(contract->name, kl_yaml_get(node, "indices"),
				     "'indices' must be i32 or i64, but '%s' is %s",
				     arg[indices].name, kl_dtype_name(arg[indices].dtype));
	if (arg[of].kind != KL_ARG_IN)
		return kl_yaml_error(contract->name, kl_yaml_get(node, "of"),
				     "'of' must be an input (kind: in), but '%s' is not",
				     arg[of].name);
	if (arg[values].dtype != arg[of].dtype)
		return kl_yaml_error(
			contract->name, kl_yaml_get(node, "values"),
			"'values' and 'of' must have the same dtype, but are %s and %s",
			kl_dtype_name(arg[values].dtype), kl_dtype_name(arg[of].dtype));
	if ((err = check_rows(judging, values, indices, of)) < 0)
		return err;
	json = json_object();
	kl_json_set_str(json, "rule", rule_names[RULE_MULTISET]);
	kl_json_set_str(json, "values", rule->values);
	kl_json_set_str(json, "indices", rule->indices);
	kl_json_set_str(json, "of", rule->of);
	json_array_append_new(contract->accept, json);
	return 0;
}

/* --- reading `accept` ---------------------------------------------------------------- */

static void rule_release(struct rule *rule)
{
	kl_freep(&rule->out);
	kl_freep(&rule->values);
	kl_freep(&rule->indices);
	kl_freep(&rule->of);
}

static int read_rule(struct judging *judging, const struct kl_yaml *node, bool alone)
{
	static const struct kl_field kind = KL_WORD_FIELD("rule", KL_NEEDED, 0, rule_names);
	KL_AUTO(rule_release) struct rule rule = { .max = 4, .rms = 2 };
	const char *file = judging->contract->name;
	int err = kl_schema_peek(&judging->kind, "'accept'", file, &kind, node);

	if (!err)
		err = kl_schema_read(&rule, &rule_schemas[judging->kind], file, node);
	if (err < 0)
		return err;
	judging->rule = &rule;
	judging->node = node;
	err = judging->kind == RULE_MULTISET ? apply_multiset(judging) : apply_rule(judging, alone);
	judging->rule = NULL;
	return err;
}

/* Read one rule or a list of rules. */
static int read_accept(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	struct judging judging = { .contract = at };
	const struct kl_contract *contract = at;
	bool list = node->kind == KL_YAML_SEQ;
	int err = list ? kl_schema_check_list(file, field, node) : read_rule(&judging, node, true);

	for (size_t i = 0; list && !err && i < node->n; i++)
		err = read_rule(&judging, node->item[i], node->n == 1);
	for (size_t i = 0; !err && i < contract->nargs; i++)
		if (kl_arg_kind_is_output(contract->arg[i].kind) && !judging.judged[i])
			return kl_yaml_error(file, node, "no rule judges the output '%s'",
					     contract->arg[i].name);
	return err;
}

static void free_accept(void *at)
{
	struct kl_contract *contract = at;

	json_decref(contract->accept);
}

const struct kl_value_type kl_contract_accept = { .read = read_accept, .release = free_accept };
