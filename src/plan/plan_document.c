/* SPDX-License-Identifier: Apache-2.0 */
/* plan_document - reads a plan: the table of its sections, and the sections without launches */
#include <string.h>

#include "plan/plan_parts.h"

/* --- names ------------------------------------------------------------------------- */

/* Check that a name of `let` or `define` has no other meaning in expressions. */
static int check_new(const struct kl_plan *plan, const struct kl_yaml *map, size_t i)
{
	static const char *const functions[] = { "min", "max", "cdiv" };
	const char *name = map->key[i];

	for (size_t k = 0; k < KL_ARRAY_SIZE(functions); k++)
		if (!strcmp(functions[k], name))
			return kl_yaml_key_error(plan->file, map, i,
						 "'%s' is already the name of a function", name);
	if (kl_plan_has_name(plan, name))
		return kl_yaml_key_error(
			plan->file, map, i,
			"'%s' is already the name of a dim, a device fact or a constant", name);
	return 0;
}

/* --- version ----------------------------------------------------------------------- */

static int read_version(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	const struct kl_field number = KL_INT_FIELD(field->key, KL_LOOSE, 0, 1, 0);
	int64_t version;
	int err = kl_schema_read_value(&version, file, &number, node);

	if (!err && version != 1)
		return kl_yaml_error(file, node,
				     "unsupported version %lld of the launch plan (supported: 1)",
				     (long long)version);
	return err;
}

static const struct kl_value_type version_value = { .read = read_version };

/* --- compile ----------------------------------------------------------------------- */

static const char *const standards[] = { "c++17", "c++20", NULL };

static int read_std(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	const struct kl_field word = KL_WORD_FIELD(field->key, 0, 0, standards);
	int which, err = kl_schema_read_value(&which, file, &word, node);

	if (!err)
		*(const char **)at = standards[which];
	return err;
}

static int read_constant(struct kl_plan *plan, const struct kl_yaml *map, size_t i)
{
	const struct kl_field number = KL_INT_FIELD(map->key[i], KL_LOOSE, 0, INT64_MIN, 0);
	struct kl_plan_compile *compile = &plan->compile;
	const char *name = map->key[i];
	int64_t value;
	int err;

	if (name[0] == '_' || !strncmp(name, "kl_", 3) || !strncmp(name, "KL_", 3))
		return kl_yaml_key_error(plan->file, map, i,
					 "names that begin with '_' or 'kl_' are reserved");
	if ((err = check_new(plan, map, i)) < 0 ||
	    (err = kl_schema_read_value(&value, plan->file, &number, map->item[i])) < 0)
		return err;
	memcpy(compile->define[compile->ndefine].name, name, strlen(name) + 1);
	compile->define[compile->ndefine++].value = value;
	kl_plan_add_name(plan, name);
	return 0;
}

static int read_define(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	int err = kl_plan_check_map(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++)
		err = read_constant(at, node, i);
	return err;
}

static const struct kl_value_type std_value = { .read = read_std };
static const struct kl_value_type define_value = { .read = read_define };

#define AT(m) offsetof(struct kl_plan, m)
static const struct kl_field compile_fields[] = {
	KL_STRING_FIELD("arch", 0, AT(compile.arch), &kl_plan_arch_string),
	KL_VALUE_FIELD("std", 0, AT(compile.std), &std_value),
	KL_VALUES_FIELD("define", 0, 0, &define_value, 0, KL_PLAN_MAX_NAMES),
	KL_FIELDS_END,
};
static const struct kl_schema compile_schema = {
	"'compile'", sizeof(struct kl_plan), compile_fields, NULL, NULL, NULL,
};

static int read_compile(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	return kl_plan_read(at, &compile_schema, file, node);
}

static void release_compile(void *at)
{
	kl_schema_release(at, &compile_schema);
}

static const struct kl_value_type compile_value = { .read = read_compile,
						    .release = release_compile };

/* --- artefact ---------------------------------------------------------------------- */

static int check_digest(const char *file, const struct kl_yaml *node, const char *key)
{
	if (node->len != 64 || node->text[strspn(node->text, "0123456789abcdef")])
		return kl_yaml_error(file, node,
				     "a SHA-256 must be 64 lower-case hexadecimal digits");
	return 0;
}

static const struct kl_string_type digest_string = { "a SHA-256", NULL, check_digest };

static const struct kl_field artefact_fields[] = {
	KL_STRING_FIELD("cubin", KL_NEEDED, AT(artefact.cubin), &kl_plan_text),
	KL_STRING_FIELD("producer", 0, AT(artefact.producer), &kl_plan_text),
	KL_STRING_FIELD("source", 0, AT(artefact.source), &kl_plan_text),
	KL_STRING_FIELD("arch", 0, AT(compile.arch), &kl_plan_arch_string),
	KL_STRING_FIELD("sha256", KL_NEEDED, AT(artefact.sha256), &digest_string),
	KL_FIELDS_END,
};
static const struct kl_schema artefact_schema = {
	"'artefact'", sizeof(struct kl_plan), artefact_fields, NULL, NULL, NULL,
};

static int read_artefact(void *at, const char *file, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	if (kl_yaml_get(node->up, "compile"))
		return kl_yaml_error(file, node,
				     "a plan cannot have both 'compile' and 'artefact'");
	return kl_plan_read(at, &artefact_schema, file, node);
}

static void release_artefact(void *at)
{
	kl_schema_release(at, &artefact_schema);
}

static const struct kl_value_type artefact_value = { .read = read_artefact,
						     .release = release_artefact };

/* --- let, require ------------------------------------------------------------------ */

static int read_one_let(struct kl_plan *plan, const struct kl_yaml *map, size_t i)
{
	const struct kl_field field = { .key = map->key[i] };
	const struct plan_part part = { .plan = plan };
	int err = check_new(plan, map, i);

	if (err < 0)
		return err;
	if (plan->nlet == KL_PLAN_MAX_NAMES)
		return kl_yaml_error(plan->file, map, "'let' has more than %d names",
				     KL_PLAN_MAX_NAMES);
	err = kl_plan_read_expr(&plan->let[plan->nlet++], &part, &field, map->item[i]);
	if (!err)
		kl_plan_add_name(plan, map->key[i]);
	return err;
}

static int read_lets(struct kl_plan *plan, const struct kl_field *field, const struct kl_yaml *map)
{
	int err = kl_plan_check_map(plan->file, field, map);

	for (size_t i = 0; !err && i < map->n; i++)
		err = read_one_let(plan, map, i);
	return err;
}

/*
 * Read `let`. In a file it is a map; in a job it is a list of maps, because members of a JSON
 * object are not ordered.
 */
static int read_let(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	int err;

	if (node->kind != KL_YAML_SEQ)
		return read_lets(at, field, node);
	err = kl_schema_check_list(file, field, node);
	for (size_t i = 0; !err && i < node->n; i++)
		err = read_lets(at, field, node->item[i]);
	return err;
}

static int read_condition(struct kl_plan *plan, const struct kl_field *field,
			  const struct kl_yaml *node)
{
	const struct kl_expr_names names = kl_plan_expr_names(plan);
	struct plan_expr *expr = &plan->require[plan->nrequire++];
	const char *text;
	size_t offset;
	int err = kl_plan_read_text(&text, plan->file, field, node);

	if (err < 0)
		return err;
	expr->node = node;
	if (kl_expr_parse(&expr->expr, text, &names, KL_EXPR_TRUTH, &offset) < 0)
		return kl_yaml_error_inside(plan->file, node, offset);
	return 0;
}

static int read_require(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++)
		err = read_condition(at, field, node->item[i]);
	return err;
}

static void release_expressions(void *at)
{
	struct kl_plan *plan = at;

	for (size_t i = 0; i < KL_PLAN_MAX_NAMES; i++) {
		kl_expr_free(plan->let[i].expr);
		kl_expr_free(plan->require[i].expr);
	}
}

static const struct kl_value_type let_value = { .read = read_let, .release = release_expressions };
static const struct kl_value_type require_value = { .read = read_require };

/* --- the document ------------------------------------------------------------------ */

static const char *const quirks[] = { "none", "auto", NULL };
static const struct kl_field version_field = KL_VALUE_FIELD("klineage-launch", 0, 0,
							    &version_value);

/* sections are read in this order, because a section can use the sections before it */
static const struct kl_field plan_fields[] = {
	KL_VALUE_FIELD("klineage-launch", KL_NEEDED, 0, &kl_value_known),
	KL_WORD_FIELD("quirks", 0, AT(quirks), quirks),
	KL_VALUE_FIELD("artefact", 0, 0, &artefact_value),
	KL_VALUE_FIELD("compile", 0, 0, &compile_value),
	KL_VALUES_FIELD("let", 0, 0, &let_value, 0, KL_PLAN_MAX_NAMES),
	KL_VALUES_FIELD("require", 0, 0, &require_value, 0, KL_PLAN_MAX_NAMES),
	KL_VALUES_FIELD("scratch", 0, 0, &kl_plan_scratch_value, 0, KL_PLAN_MAX_SCRATCH),
	KL_VALUES_FIELD("maps", 0, 0, &kl_plan_maps_value, 0, KL_PLAN_MAX_MAPS),
	KL_VALUES_FIELD("prepare", 0, AT(prepare), &kl_plan_launches_value, 1,
			KL_PLAN_MAX_LAUNCHES),
	KL_VALUES_FIELD("launch", KL_NEEDED, AT(launch), &kl_plan_launches_value, 1,
			KL_PLAN_MAX_LAUNCHES),
	KL_FIELDS_END,
};
#undef AT
static const struct kl_schema plan_schema = {
	"a launch plan", sizeof(struct kl_plan), plan_fields, NULL, NULL, NULL,
};

static int check_prepared(const struct kl_plan *plan)
{
	for (size_t i = 0; i < plan->nscratch && !plan->prepare.n; i++)
		if (plan->scratch[i].init == KL_PLAN_PREPARE)
			return kl_yaml_error(
				plan->file, kl_plan_key_node(&plan->scratch[i].part, "init"),
				"'init: prepare' requires a prepare launch, but the plan has none");
	return 0;
}

int kl_plan_read_document(struct kl_plan *plan)
{
	int err;

	plan->compile.std = standards[0];
	/* read the version first: a plan of a later version can have keys that are unknown here */
	err = kl_schema_peek(plan, plan_schema.what, plan->file, &version_field, plan->tree);
	if (!err)
		err = kl_plan_read(plan, &plan_schema, plan->file, plan->tree);
	return err < 0 ? err : check_prepared(plan);
}

void kl_plan_release_document(struct kl_plan *plan)
{
	kl_schema_release(plan, &plan_schema);
}
