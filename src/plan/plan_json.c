/* SPDX-License-Identifier: Apache-2.0 */
/* plan_json - writes a plan as the JSON of a job, and reads it back */
#include "plan/plan_parts.h"
#include "text/yaml_json.h"

static json_t *write_scalar(const struct kl_yaml *node)
{
	int64_t number;

	if (kl_plan_whole_number(&number, node))
		return json_integer(number);
	if (kl_plan_is_word(node, "true") || kl_plan_is_word(node, "false"))
		return json_boolean(node->text[0] == 't');
	if (kl_plan_is_word(node, "null"))
		return json_null();
	/*
	 * any other plain value of a tree made from JSON (whose nodes have line 0) was a real
	 * number
	 */
	return node->plain && !node->line ? json_real(strtod(node->text, NULL)) :
					    json_string(node->text);
}

/*
 * Write a node. A real number from a YAML file is written as a JSON string, from which the field
 * reads the number again.
 */
static json_t *write_node(const struct kl_yaml *node)
{
	json_t *out;

	if (node->kind == KL_YAML_SCALAR)
		return write_scalar(node);
	out = node->kind == KL_YAML_MAP ? json_object() : json_array();
	for (size_t i = 0; i < node->n; i++) {
		json_t *value = write_node(node->item[i]);

		if (node->kind == KL_YAML_MAP)
			kl_json_set(out, node->key[i], value);
		else
			json_array_append_new(out, value);
	}
	return out;
}

/*
 * Write `let` as a list of maps, because its order matters and members of a JSON object are not
 * ordered.
 */
static json_t *write_lets(const struct kl_yaml *map)
{
	json_t *list = json_array();

	for (size_t i = 0; i < map->n; i++) {
		json_t *one = json_object();

		kl_json_set(one, map->key[i], write_node(map->item[i]));
		json_array_append_new(list, one);
	}
	return list;
}

json_t *kl_plan_to_json(const struct kl_plan *plan)
{
	const struct kl_yaml *let = kl_yaml_get(plan->tree, "let");
	json_t *doc = write_node(plan->tree);

	if (let && let->kind == KL_YAML_MAP)
		kl_json_set(doc, "let", write_lets(let));
	return doc;
}

int kl_plan_parse_json(struct kl_plan **out, const json_t *doc, const struct kl_plan_names *names)
{
	struct kl_yaml *tree;
	int err = kl_yaml_from_json_exact(&tree, doc);

	return err < 0 ? err : kl_plan_parse(out, tree, NULL, names);
}
