/* SPDX-License-Identifier: Apache-2.0 */
/* accept - parses a contract's acceptance rules and its bands of inputs */
#include <string.h>

#include "base/error.h"
#include "contract/parts.h"

#define MAX_FACTOR 1e9
#define MAX_BANDS 16

enum { RULE_NOISE, RULE_EXACT, RULE_ELEMENTWISE, RULE_REL_L2, RULE_MULTISET };
static const char *const rule_names[] = { "noise",  "exact",    "elementwise",
					  "rel-l2", "multiset", NULL };

/* The argument a key names, or an error at the key's value. */
static int read_arg_name(int *out, const struct kl_contract *contract, struct kl_node node)
{
	const char *text;
	int k, err = kl_node_text(&text, node);

	if (err < 0)
		return err;
	k = kl_contract_arg(contract, text);
	if (k < 0)
		return kl_node_error(node, "'%s' names '%.64s', which is no argument", node.what,
				     text);
	*out = k;
	return 0;
}

/* An axis, or {axis: n}, which keeps n of its coordinates together. Axes come in order. */
static int read_axis(json_t *per, int64_t *next, const struct kl_arg *arg, struct kl_node node)
{
	bool cut = node.y->kind == KL_YAML_MAP;
	struct kl_node value = node;
	json_t *piece;
	int64_t axis, together;
	int err;

	if (cut) {
		if ((err = kl_node_map(node, 1, 1)) < 0)
			return err;
		axis = node.y->key[0][0] - '0';
		if (axis < 0 || axis >= KL_MAX_AXES || node.y->key[0][1])
			return kl_yaml_key_error(node.file, node.y, 0,
						 "'per' names an axis by its index");
		value = kl_node_item(node, 0);
		value.what = "per";
		if ((err = kl_node_int(&together, value, 2, INT64_MAX)) < 0)
			return err;
	} else if ((err = kl_node_int(&axis, node, 0, KL_MAX_AXES - 1)) < 0) {
		return err;
	}
	if (axis < *next)
		return kl_node_error(node,
				     "'per' names axes in order: [0], [0, 2], [0, {1: 64}] ...");
	if (axis >= (int64_t)arg->naxes)
		return kl_node_error(node, "'per' names axis %lld, '%s' has %zu from 0 on",
				     (long long)axis, arg->name, arg->naxes);
	*next = axis + 1;
	if (!cut) {
		json_array_append_new(per, json_integer(axis));
		return 0;
	}
	piece = json_object();
	kl_json_set_int(piece, node.y->key[0], together);
	json_array_append_new(per, piece);
	return 0;
}

static int read_per(json_t *rule, const struct kl_arg *arg, struct kl_node node)
{
	KL_AUTO(json_decrefp) json_t *per = json_array();
	size_t alone = 0;
	int64_t next = 0;
	int err;

	if (node.y) {
		if ((err = kl_node_list(node, 0, KL_MAX_AXES)) < 0)
			return err;
		for (size_t i = 0; i < node.y->n; i++)
			if ((err = read_axis(per, &next, arg, kl_node_item(node, i))) < 0)
				return err;
		for (size_t i = 0; i < json_array_size(per); i++)
			alone += json_is_integer(json_array_get(per, i));
		if (alone == arg->naxes && alone)
			return kl_node_error(
				node,
				"'per' takes all %zu axes of '%s': each element would be a "
				"group",
				arg->naxes, arg->name);
	}
	kl_json_set(rule, "per", kl_steal(&per));
	return 0;
}

static int read_factor(json_t *rule, struct kl_node other, const char *key, double dflt, double min)
{
	struct kl_node node = kl_node_get(other, key);
	double value = dflt;
	int err = node.y ? kl_node_num_in(&value, node, min, MAX_FACTOR) : 0;

	if (!err)
		kl_json_set_num(rule, key, value);
	return err;
}

static int read_numbers(json_t *rule, int kind, const struct kl_arg *arg, struct kl_node node)
{
	struct kl_node per = kl_node_get(node, "per"), zeros = kl_node_get(node, "zeros");
	bool yes = false;
	int err;

	switch (kind) {
	case RULE_NOISE:
		if ((err = read_factor(rule, node, "max", 4, 1e-3)) < 0 ||
		    (err = read_factor(rule, node, "rms", 2, 1e-3)) < 0)
			return err;
		return read_per(rule, arg, per);
	case RULE_ELEMENTWISE:
		if ((err = read_factor(rule, node, "ulps", 0, 0)) < 0 ||
		    (err = read_factor(rule, node, "acc", 0, 0)) < 0)
			return err;
		if (!kl_json_num_or(rule, "ulps", 0) && !kl_json_num_or(rule, "acc", 0))
			return kl_node_error(node,
					     "'elementwise' with ulps 0 and acc 0: say exact");
		return 0;
	case RULE_REL_L2:
		if (!kl_node_get(node, "tol").y)
			return kl_node_error(node, "'tol' is missing in 'rel-l2'");
		if ((err = read_factor(rule, node, "tol", 0, 1e-18)) < 0)
			return err;
		if (kl_json_num_or(rule, "tol", 0) >= 1)
			return kl_node_error(kl_node_get(node, "tol"),
					     "'tol' of 1 or more accepts zeros");
		if (zeros.y && (err = kl_node_bool(&yes, zeros)) < 0)
			return err;
		if (yes)
			kl_json_set_bool(rule, "zeros", true);
		return read_per(rule, arg, per);
	default:
		return 0;
	}
}

static const char *const *keys_of(int kind)
{
	static const char *const noise[] = { "rule", "out", "max", "rms", "per", NULL };
	static const char *const exact[] = { "rule", "out", NULL };
	static const char *const elementwise[] = { "rule", "out", "ulps", "acc", NULL };
	static const char *const rel_l2[] = { "rule", "out", "tol", "per", "zeros", NULL };
	static const char *const multiset[] = { "rule", "values", "indices", "of", NULL };
	static const char *const *const all[] = { noise, exact, elementwise, rel_l2, multiset };

	return all[kind];
}

/* One output is judged by one rule: says so when a second comes. */
static int claim_arg(bool *judged, const struct kl_contract *contract, int arg, struct kl_node node)
{
	if (!kl_arg_kind_is_output(contract->arg[arg].kind))
		return kl_node_error(node, "'%s' is no out or inout: a rule judges answers",
				     contract->arg[arg].name);
	if (judged[arg])
		return kl_node_error(node, "'%s' is judged by two rules", contract->arg[arg].name);
	judged[arg] = true;
	return 0;
}

static int add_rule(struct kl_contract *contract, int kind, int arg, struct kl_node node)
{
	const struct kl_arg *left = &contract->arg[arg];
	KL_AUTO(json_decrefp) json_t *rule = json_object();
	int err;

	if (kind != RULE_EXACT && !kl_dtype_is_float(left->dtype))
		return kl_node_error(
			node, "'%s' cannot judge '%s': it is %s, it needs its own rule (out: ...)",
			rule_names[kind], left->name, kl_dtype_name(left->dtype));
	kl_json_set_str(rule, "out", left->name);
	kl_json_set_str(rule, "rule", rule_names[kind]);
	if ((err = read_numbers(rule, kind, left, node)) < 0)
		return err;
	json_array_append_new(contract->accept, kl_steal(&rule));
	return 0;
}

/* Same axes but the last, at every point; v and i alike, x at least as long. */
static int check_rows(const struct kl_contract *contract, int value, int i, int number,
		      struct kl_node node)
{
	const struct kl_dims *dims;
	char id[32];
	size_t axes = contract->arg[value].naxes;

	if (contract->arg[i].naxes != axes || contract->arg[number].naxes != axes)
		return kl_node_error(
			node, "'values', 'indices' and 'of' must have the same number of axes");
	for (size_t at = 0; (dims = kl_contract_check_point(contract, at, id)); at++) {
		int64_t ev[KL_MAX_AXES], ei[KL_MAX_AXES], ex[KL_MAX_AXES];
		int err;

		if ((err = kl_contract_shape(ev, contract, (size_t)value, dims)) < 0 ||
		    (err = kl_contract_shape(ei, contract, (size_t)i, dims)) < 0 ||
		    (err = kl_contract_shape(ex, contract, (size_t)number, dims)) < 0)
			return err;
		if (memcmp(ev, ei, axes * sizeof(*ev)) ||
		    memcmp(ev, ex, (axes - 1) * sizeof(*ev)) || ev[axes - 1] > ex[axes - 1])
			return kl_node_error(node,
					     "at %s: 'values' and 'indices' must have one shape, "
					     "that of 'of' but for a last axis no longer",
					     id);
	}
	return 0;
}

static int read_multiset(struct kl_contract *contract, bool *judged, struct kl_node node)
{
	struct kl_node values = kl_node_get(node, "values");
	struct kl_node indices = kl_node_get(node, "indices");
	struct kl_node of = kl_node_get(node, "of");
	json_t *rule;
	int number, i, value, err;

	if ((err = read_arg_name(&number, contract, values)) < 0 ||
	    (err = claim_arg(judged, contract, number, values)) < 0 ||
	    (err = read_arg_name(&i, contract, indices)) < 0 ||
	    (err = claim_arg(judged, contract, i, indices)) < 0 ||
	    (err = read_arg_name(&value, contract, of)) < 0)
		return err;
	if (contract->arg[i].dtype != KL_I32 && contract->arg[i].dtype != KL_I64)
		return kl_node_error(indices, "'indices' must be i32 or i64, '%s' is %s",
				     contract->arg[i].name, kl_dtype_name(contract->arg[i].dtype));
	if (contract->arg[value].kind != KL_ARG_IN)
		return kl_node_error(of, "'of' must be an in, '%s' is not",
				     contract->arg[value].name);
	if (contract->arg[number].dtype != contract->arg[value].dtype)
		return kl_node_error(values, "'values' is %s but 'of' is %s",
				     kl_dtype_name(contract->arg[number].dtype),
				     kl_dtype_name(contract->arg[value].dtype));
	if ((err = check_rows(contract, number, i, value, node)) < 0)
		return err;
	rule = json_object();
	kl_json_set_str(rule, "rule", "multiset");
	kl_json_set_str(rule, "values", contract->arg[number].name);
	kl_json_set_str(rule, "indices", contract->arg[i].name);
	kl_json_set_str(rule, "of", contract->arg[value].name);
	json_array_append_new(contract->accept, rule);
	return 0;
}

static int read_rule(struct kl_contract *contract, bool *judged, struct kl_node node, bool alone)
{
	struct kl_node out, name;
	int kind, arg, err;

	node.what = "accept";
	if ((err = kl_node_map(node, 1, 16)) < 0)
		return err;
	name = kl_node_get(node, "rule");
	if (!name.y)
		return kl_node_error(node, "'rule' is missing in 'accept'");
	if ((err = kl_node_choice(&kind, name, rule_names)) < 0 ||
	    (err = kl_node_keys(node, keys_of(kind), kind == RULE_MULTISET ? 4 : 1)) < 0)
		return err;
	if (kind == RULE_MULTISET)
		return read_multiset(contract, judged, node);
	out = kl_node_get(node, "out");
	if (out.y) {
		if ((err = read_arg_name(&arg, contract, out)) < 0 ||
		    (err = claim_arg(judged, contract, arg, out)) < 0)
			return err;
		return add_rule(contract, kind, arg, node);
	}
	if (!alone)
		return kl_node_error(node,
				     "'out' is missing: in a list every rule names its output");
	for (size_t i = 0; i < contract->nargs; i++) {
		if (!kl_arg_kind_is_output(contract->arg[i].kind))
			continue;
		judged[i] = true;
		if ((err = add_rule(contract, kind, (int)i, node)) < 0)
			return err;
	}
	return 0;
}

int kl_contract_accept_read(struct kl_contract *contract, struct kl_node top)
{
	struct kl_node node = kl_node_get(top, "accept");
	bool judged[KL_MAX_ARGS] = { false };
	int err;

	contract->accept = json_array();
	if (node.y->kind == KL_YAML_SEQ) {
		if ((err = kl_node_list(node, 1, KL_MAX_ARGS)) < 0)
			return err;
		for (size_t i = 0; i < node.y->n; i++)
			if ((err = read_rule(contract, judged, kl_node_item(node, i),
					     node.y->n == 1)) < 0)
				return err;
	} else if ((err = read_rule(contract, judged, node, true)) < 0) {
		return err;
	}
	for (size_t i = 0; i < contract->nargs; i++)
		if (kl_arg_kind_is_output(contract->arg[i].kind) && !judged[i])
			return kl_node_error(node, "no rule judges '%s'", contract->arg[i].name);
	return 0;
}

/* `at` and `must_exceed`, which are no arguments; *word: it was one of them. */
static int read_band_word(bool *word, json_t *band, bool exact, const char *key,
			  struct kl_node node)
{
	static const char *const places[] = { "cases", "also", NULL };
	double value;
	int which, err;

	*word = true;
	if (!strcmp(key, "at")) {
		if ((err = kl_node_choice(&which, node, places)) == 0)
			kl_json_set_str(band, key, places[which]);
		return err;
	}
	*word = !strcmp(key, "must_exceed");
	if (!*word)
		return 0;
	if (!exact)
		return kl_node_error(node, "'must_exceed' stands in a band of 'exact'");
	if ((err = kl_node_num_in(&value, node, 1e-300, 1e300)) == 0)
		kl_json_set_num(band, key, value);
	return err;
}

/* {arg: fill, ..., at, must_exceed}, each fill for an input. */
static int read_band(json_t *list, const struct kl_contract *contract, bool exact,
		     struct kl_node node)
{
	KL_AUTO(json_decrefp) json_t *band = json_object();
	size_t fills = 0;
	int err = kl_node_map(node, 1, KL_MAX_ARGS);

	if (err < 0)
		return err;
	for (size_t i = 0; i < node.y->n; i++) {
		const char *key = node.y->key[i];
		struct kl_node item = kl_node_item(node, i);
		int k = kl_contract_arg(contract, key);
		json_t *fill;
		bool word;

		item.what = key;
		if ((err = read_band_word(&word, band, exact, key, item)) < 0)
			return err;
		if (word)
			continue;
		if (k < 0)
			return kl_yaml_key_error(contract->name, node.y, i,
						 "'%s' names '%.64s', which is no argument",
						 node.what, key);
		if (!contract->arg[k].fill)
			return kl_yaml_key_error(contract->name, node.y, i,
						 "'%s' names '%s', which is no in or inout",
						 node.what, key);
		if ((err = kl_contract_fill_read(&fill, contract, (size_t)k, item)) < 0)
			return err;
		kl_json_set(band, key, fill);
		fills++;
	}
	if (!fills)
		return kl_node_error(node, "a band of '%s' fills no argument", node.what);
	if (json_object_get(band, "must_exceed") && !strcmp(kl_json_str_or(band, "at", ""), "also"))
		return kl_node_error(node,
				     "'must_exceed' is asked at the cases, this band is at also");
	json_array_append_new(list, kl_steal(&band));
	return 0;
}

static int read_bands(json_t **out, const struct kl_contract *contract, bool exact,
		      struct kl_node node)
{
	int err;

	*out = json_array();
	if (!node.y)
		return 0;
	if ((err = kl_node_list(node, 0, MAX_BANDS)) < 0)
		return err;
	for (size_t i = 0; i < node.y->n; i++)
		if ((err = read_band(*out, contract, exact, kl_node_item(node, i))) < 0)
			return err;
	return 0;
}

int kl_contract_bands_read(struct kl_contract *contract, struct kl_node top)
{
	static const char *const words[] = { "at", "must_exceed" };
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++)
		if (kl_contract_arg(contract, words[i]) >= 0)
			return kl_node_error(kl_node_get(top, "args"),
					     "no argument may be called '%s', "
					     "which says something else in a band",
					     words[i]);
	err = read_bands(&contract->exact, contract, true, kl_node_get(top, "exact"));
	return err < 0 ? err :
			 read_bands(&contract->bands, contract, false, kl_node_get(top, "bands"));
}
