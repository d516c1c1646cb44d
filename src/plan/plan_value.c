/* SPDX-License-Identifier: Apache-2.0 */
/* plan_value - reads values that several tables of a plan have: expressions, names, texts */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "plan/plan_parts.h"
#include "text/name.h"

/* --- keys --------------------------------------------------------------------------- */

/* Return true if the key seems to ask for keeping data in the cache from one call to the next. */
static bool names_cache_policy(const char *key)
{
	return strcasestr(key, "policy") || strcasestr(key, "persist") ||
	       strcasestr(key, "window") || !strncasecmp(key, "l2", 2);
}

static bool has_field(const struct kl_schema *schema, const char *key)
{
	for (const struct kl_field *field = schema->field; field->key; field++)
		if (!strcmp(field->key, key))
			return true;
	return false;
}

int kl_plan_check_keys(const struct kl_schema *schema, const char *file, const struct kl_yaml *node)
{
	size_t i = 0;

	while (i < node->n && has_field(schema, node->key[i]))
		i++;
	if (i < node->n && names_cache_policy(node->key[i]))
		return kl_yaml_key_error(
			file, node, i,
			"a plan cannot set L2 access policies, because data that they keep in the "
			"cache outlives a call");
	return kl_schema_check_keys(schema, file, node);
}

int kl_plan_read(void *obj, const struct kl_schema *schema, const char *file,
		 const struct kl_yaml *node)
{
	int err = node->kind == KL_YAML_MAP ? kl_plan_check_keys(schema, file, node) : 0;

	return err < 0 ? err : kl_schema_read(obj, schema, file, node);
}

int kl_plan_check_map(const char *file, const struct kl_field *field, const struct kl_yaml *node)
{
	int err = kl_schema_check_map(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++)
		if (!kl_name_is_ident(node->key[i]))
			err = kl_yaml_key_error(file, node, i,
						"'%.64s' is not a C identifier of at most 63 bytes",
						node->key[i]);
	return err;
}

/* --- texts -------------------------------------------------------------------------- */

bool kl_plan_whole_number(int64_t *out, const struct kl_yaml *node)
{
	size_t sign = node->text[0] == '-', digits = strspn(node->text + sign, "0123456789");

	errno = 0;
	*out = strtoll(node->text, NULL, 10);
	return node->plain && digits && sign + digits == node->len && !errno;
}

bool kl_plan_is_word(const struct kl_yaml *node, const char *word)
{
	return node->kind == KL_YAML_SCALAR && node->plain && !strcmp(node->text, word);
}

static bool is_keyword(const struct kl_yaml *node)
{
	return kl_plan_is_word(node, "true") || kl_plan_is_word(node, "false") ||
	       kl_plan_is_word(node, "null");
}

/*
 * Return true if the value is a text. All texts of a tree made from JSON (whose nodes have line 0)
 * are quoted; most texts of YAML are not.
 */
static bool is_text(const struct kl_yaml *node)
{
	int64_t number;

	return !node->plain ||
	       (node->line && !is_keyword(node) && !kl_plan_whole_number(&number, node));
}

int kl_plan_read_text(const char **out, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	int err = kl_schema_read_text(out, file, field, node);

	if (err < 0)
		return err;
	if (!is_text(node))
		return kl_yaml_error(file, node, "'%s' must be text; put %.40s in quotes",
				     field->key, node->text);
	for (const char *ch = node->text; *ch; ch++)
		if (!isprint((unsigned char)*ch))
			return kl_yaml_error(file, node,
					     "'%s' contains bytes that cannot be printed",
					     field->key);
	return 0;
}

static int check_text(const char *file, const struct kl_yaml *node, const char *key)
{
	const struct kl_field field = { .key = key };
	const char *text;
	int err = kl_plan_read_text(&text, file, &field, node);

	if (!err && node->len > 255)
		return kl_yaml_error(file, node, "'%s' is longer than 255 bytes", key);
	return err;
}

const struct kl_string_type kl_plan_text = { "a printable text", NULL, check_text };

/* --- names -------------------------------------------------------------------------- */

int kl_plan_read_memory(enum kl_plan_arg_kind *kind, int *index, const struct plan_part *part,
			const struct kl_field *field, const struct kl_yaml *node)
{
	const struct kl_plan *plan = part->plan;
	const char *name;
	int err = kl_plan_read_text(&name, plan->file, field, node);

	if (err < 0)
		return err;
	*kind = KL_PLAN_TENSOR;
	*index = kl_plan_find_tensor(plan, name);
	if (*index >= 0)
		return 0;
	*kind = KL_PLAN_SCRATCH;
	*index = kl_plan_find_scratch(plan, name);
	if (*index >= 0)
		return 0;
	return kl_yaml_error(plan->file, node,
			     "'%.64s' is neither a tensor of the contract nor a scratch of "
			     "the plan",
			     name);
}

/* --- expressions -------------------------------------------------------------------- */

int kl_plan_read_expr(struct plan_expr *out, const struct plan_part *part,
		      const struct kl_field *field, const struct kl_yaml *node)
{
	const struct kl_expr_names names = kl_plan_expr_names(part->plan);
	const char *file = part->plan->file, *text;
	size_t offset;
	int err = kl_schema_read_text(&text, file, field, node);

	if (err < 0)
		return err;
	if (is_keyword(node))
		return kl_yaml_error(file, node, "'%s' must be a number or an expression, not %s",
				     field->key, text);
	out->node = node;
	if (kl_expr_parse(&out->expr, text, &names, KL_EXPR_NUMBER, &offset) < 0)
		return kl_yaml_error_inside(file, node, offset);
	return 0;
}

static int read_expr(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	return kl_plan_read_expr(at, kl_schema_owner(at, field), field, node);
}

static void release_expr(void *at)
{
	struct plan_expr *expr = at;

	kl_expr_free(expr->expr);
}

const struct kl_value_type kl_plan_expr_value = { .read = read_expr, .release = release_expr };

static int read_exprs(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct plan_exprs *list = at;
	int err = kl_schema_check_list(file, field, node);

	if (err < 0)
		return err;
	list->node = node;
	while (!err && list->n < node->n) {
		struct plan_expr *expr = &list->v[list->n];

		err = kl_plan_read_expr(expr, kl_schema_owner(at, field), field,
					node->item[list->n++]);
	}
	return err;
}

static void release_exprs(void *at)
{
	struct plan_exprs *list = at;

	for (size_t i = 0; i < list->n; i++)
		kl_expr_free(list->v[i].expr);
}

const struct kl_value_type kl_plan_exprs_value = { .read = read_exprs, .release = release_exprs };
