/* SPDX-License-Identifier: Apache-2.0 */
/* plan_launch - parses a plan's launches */
#include <ctype.h>
#include <string.h>

#include "plan/plan_parts.h"

static bool is_symbol(const char *text)
{
	for (const char *ch = text; *ch; ch++)
		if (!(isalnum((unsigned char)*ch) || strchr("_$.", *ch)) ||
		    isdigit((unsigned char)text[0]))
			return false;
	return *text;
}

/* --- names of kernels as C++ writes them --------------------------------------------------- */

/*
 * Return the length of the arguments that begin at `text`, with their brackets: "<128, float *>" or
 * "(const float *, int)". Return 0 if the text does not have this form.
 */
static size_t arguments_length(const char *text)
{
	char open[16];
	size_t depth = 0;

	for (size_t i = 0; text[i]; i++) {
		unsigned char ch = (unsigned char)text[i];

		if (ch == '<' || ch == '(') {
			if (depth == sizeof(open))
				return 0;
			open[depth++] = (char)ch;
		} else if (ch == '>' || ch == ')') {
			if (!depth || open[--depth] != (ch == '>' ? '<' : '('))
				return 0;
			if (!depth)
				return i + 1;
		} else if (!isalnum(ch) && !strchr("_:, -*&", ch)) {
			return 0;
		}
	}
	return 0;
}

bool kl_plan_is_cxx_name(const char *text)
{
	while (isalpha((unsigned char)*text) || *text == '_') {
		while (isalnum((unsigned char)*text) || *text == '_')
			text++;
		if (*text == '<')
			text += arguments_length(text);
		if (*text == '(') {
			size_t n = arguments_length(text);

			return n && !text[n];
		}
		if (!*text)
			return true;
		if (strncmp(text, "::", 2) != 0)
			return false;
		text += 2;
	}
	return false;
}

const char *kl_plan_cxx_parameters(const char *name)
{
	int depth = 0;

	for (const char *at = name; *at; at++) {
		depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
		if (*at == '(' && !depth)
			return at;
	}
	return name + strlen(name);
}

/* --- the members of a launch ----------------------------------------------------------------- */

static int check_kernel(const char *file, const struct kl_yaml *node, const char *key)
{
	int err = kl_plan_text.check(file, node, key);

	if (!err && !is_symbol(node->text) && !kl_plan_is_cxx_name(node->text))
		return kl_yaml_error(file, node,
				     "'%.64s' is not a valid symbol, nor a name of C++ such as "
				     "tile<128, 8>",
				     node->text);
	return err;
}

static int check_symbol(const char *file, const struct kl_yaml *node, const char *key)
{
	if (file)
		return kl_yaml_error(file, node,
				     "a plan must not set 'symbol', because 'kernel' names the "
				     "kernel as its source does");
	if (strlen(node->text) >= KL_PLAN_MAX_SYMBOL || !is_symbol(node->text))
		return kl_yaml_error(file, node, "'%.64s' is not a valid symbol", node->text);
	return 0;
}

static const struct kl_string_type kernel_string = { "the name of a kernel", NULL, check_kernel };
static const struct kl_string_type symbol_string = { "a symbol", NULL, check_symbol };

#define AT(m) offsetof(struct plan_launch, m)
static const struct kl_field fields[] = {
	KL_STRING_FIELD("kernel", KL_NEEDED, AT(kernel), &kernel_string),
	KL_STRING_FIELD("symbol", 0, AT(symbol), &symbol_string),
	KL_VALUES_FIELD("grid", KL_NEEDED, AT(grid), &kl_plan_exprs_value, 1, 3),
	KL_VALUES_FIELD("block", KL_NEEDED, AT(block), &kl_plan_exprs_value, 1, 3),
	KL_VALUES_FIELD("cluster", 0, AT(cluster), &kl_plan_exprs_value, 1, 3),
	KL_BOOL_FIELD("nonportable", 0, AT(nonportable)),
	KL_BOOL_FIELD("cooperative", 0, AT(cooperative)),
	KL_BOOL_FIELD("pdl", 0, AT(pdl)),
	KL_VALUE_FIELD("smem", 0, AT(smem), &kl_plan_expr_value),
	KL_VALUES_FIELD("args", KL_NEEDED, 0, &kl_plan_args_value, 0, KL_PLAN_MAX_ARGS),
	KL_FIELDS_END,
};
#undef AT
static const struct kl_schema schema = {
	"a launch", sizeof(struct plan_launch), fields, NULL, NULL, NULL,
};

static int check_pdl(const struct plan_launch *launch, bool first)
{
	const char *file = launch->part.plan->file;
	const struct kl_yaml *node = kl_plan_key_node(&launch->part, "pdl");

	if (launch->pdl && launch->prepare)
		return kl_yaml_error(file, node,
				     "a prepare launch is not timed, so it cannot have 'pdl'");
	if (launch->pdl && first)
		return kl_yaml_error(file, node,
				     "the first launch of a plan cannot have 'pdl', which overlaps "
				     "a launch with the previous launch");
	return 0;
}

static int read_launches(void *at, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	struct plan_launches *list = at;
	struct kl_plan *plan = kl_schema_owner(at, field);
	int err = kl_schema_check_list(file, field, node);

	if (err < 0)
		return err;
	list->v = kl_calloc(node->n, sizeof(*list->v));
	while (!err && list->n < node->n) {
		struct plan_launch *launch = &list->v[list->n];

		launch->part = (struct plan_part){ plan, node->item[list->n++] };
		launch->prepare = list == &plan->prepare;
		err = kl_plan_read(launch, &schema, file, launch->part.node);
		if (!err)
			err = check_pdl(launch, list->n == 1);
	}
	return err;
}

static void release_launches(void *at)
{
	struct plan_launches *list = at;

	for (size_t i = 0; i < list->n; i++)
		kl_schema_release(&list->v[i], &schema);
	free(list->v);
}

const struct kl_value_type kl_plan_launches_value = { .read = read_launches,
						      .release = release_launches };
