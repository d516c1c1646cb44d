/* SPDX-License-Identifier: Apache-2.0 */
/* plan_args - parses the arguments of a plan's launches */
#include <math.h>
#include <string.h>

#include "plan/plan_parts.h"

#define MAP_BYTES 128
#define POINTER_BYTES 8

/* --- names ---------------------------------------------------------------------- */

/* Read the name of a tensor or scratch that the launch is allowed to use. */
static int read_memory(enum kl_plan_arg_kind *kind, int *index, const struct plan_arg *arg,
		       const struct kl_field *field, const struct kl_yaml *node)
{
	const struct kl_plan *plan = arg->part.plan;
	int err = kl_plan_read_memory(kind, index, &arg->part, field, node);

	if (err < 0 || !arg->prepare)
		return err;
	if (*kind == KL_PLAN_TENSOR)
		return kl_yaml_error(
			plan->file, node,
			"'%s' is a tensor; a prepare launch is not timed, so it cannot use tensors",
			node->text);
	if (plan->scratch[*index].init != KL_PLAN_PREPARE)
		return kl_yaml_error(
			plan->file, node,
			"a prepare launch cannot use scratch '%s', which does not have init: "
			"prepare",
			node->text);
	return 0;
}

static int read_map_name(int *index, const struct plan_arg *arg, const struct kl_field *field,
			 const struct kl_yaml *node)
{
	const struct kl_plan *plan = arg->part.plan;
	const struct plan_map *map;
	const char *name;
	int err = kl_plan_read_text(&name, plan->file, field, node);

	if (err < 0)
		return err;
	*index = kl_plan_find_map(plan, name);
	if (*index < 0)
		return kl_yaml_error(plan->file, node, "the plan has no map '%.64s'", name);
	map = &plan->map[*index];
	if (arg->prepare && (!map->of_scratch || plan->scratch[map->of].init != KL_PLAN_PREPARE))
		return kl_yaml_error(
			plan->file, node,
			"a prepare launch cannot use map '%s', which is not of scratch with init: "
			"prepare",
			name);
	return 0;
}

/* Set the bits of the argument to the value of a scalar of the contract, in its dtype. */
static void set_scalar(struct plan_arg *arg, const struct kl_plan_scalar *scalar)
{
	float single = (float)scalar->value;
	int64_t whole;

	arg->kind = KL_PLAN_VALUE;
	arg->value = VALUE_BITS;
	arg->size = strstr(scalar->dtype, "64") ? 8 :
		    strstr(scalar->dtype, "32") ? 4 :
		    strstr(scalar->dtype, "16") ? 2 :
						  1;
	if (scalar->dtype[0] == 'f' && arg->size == 4) {
		memcpy(&arg->bits, &single, sizeof(single));
	} else if (scalar->dtype[0] == 'f') {
		memcpy(&arg->bits, &scalar->value, sizeof(scalar->value));
	} else {
		whole = scalar->value >= 0x1p63 ? (int64_t)(uint64_t)scalar->value :
						  (int64_t)scalar->value;
		memcpy(&arg->bits, &whole, (size_t)arg->size);
	}
}

/* Read the name of a tensor, a scratch, or a scalar of the contract. */
static int read_name(struct plan_arg *arg, const struct kl_field *field, const struct kl_yaml *node)
{
	const char *name;
	int index, err = kl_plan_read_text(&name, arg->part.plan->file, field, node);

	if (err < 0)
		return err;
	index = kl_plan_find_scalar(arg->part.plan, name);
	if (index < 0)
		return read_memory(&arg->kind, &arg->index, arg, field, node);
	set_scalar(arg, &arg->part.plan->scalar[index]);
	return 0;
}

/* --- pointers, maps, numbers ------------------------------------------------------ */

static int read_ptr(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	struct plan_arg *arg = at;

	return read_memory(&arg->kind, &arg->index, arg, field, node);
}

static int read_map(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	struct plan_arg *arg = at;

	arg->kind = KL_PLAN_MAP;
	return read_map_name(&arg->index, arg, field, node);
}

static int read_integer(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	struct plan_arg *arg = at;
	bool small = !strcmp(field->key + 1, "32");

	arg->kind = KL_PLAN_VALUE;
	arg->size = small ? 4 : 8;
	if (field->key[0] == 'i')
		arg->value = small ? VALUE_I32 : VALUE_I64;
	else
		arg->value = small ? VALUE_U32 : VALUE_U64;
	return kl_plan_read_expr(&arg->expr, &arg->part, field, node);
}

/* Read a decimal number. The number can be in quotes, as in a job. */
static int read_number(double *out, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	const char *text;
	int64_t whole;
	char *end;
	int err = kl_schema_read_text(&text, file, field, node);

	if (err < 0)
		return err;
	/*
	 * a job stores a whole number as an integer, which turns -0 into 0; read a whole number of
	 * a file as an integer as well, so that both give the same value
	 */
	if (kl_plan_whole_number(&whole, node)) {
		*out = (double)whole;
		return 0;
	}
	/* allow decimal only: strtod() would also accept hex, "inf" and leading blanks */
	if (text[strspn(text, "+-.0123456789eE")])
		return kl_yaml_error(
			file, node,
			"'%s' must be a number, not '%.40s'; use i32 or i64 for an expression",
			field->key, text);
	*out = strtod(text, &end);
	if (*end)
		return kl_yaml_error(file, node, "'%s' must be a number, not '%.40s'", field->key,
				     text);
	if (!isfinite(*out))
		return kl_yaml_error(file, node, "'%s' is out of the range of a double",
				     field->key);
	return 0;
}

static int read_float(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct plan_arg *arg = at;
	double number = 0;
	float single;
	int err = read_number(&number, file, field, node);

	if (err < 0)
		return err;
	arg->kind = KL_PLAN_VALUE;
	arg->value = VALUE_BITS;
	arg->size = !strcmp(field->key, "f32") ? 4 : 8;
	single = (float)number;
	if (arg->size == 4 && !isfinite(single))
		return kl_yaml_error(file, node, "'%s' is out of the range of a float", field->key);
	if (arg->size == 4)
		memcpy(&arg->bits, &single, sizeof(single));
	else
		memcpy(&arg->bits, &number, sizeof(number));
	return 0;
}

static const struct kl_value_type ptr_value = { .read = read_ptr };
static const struct kl_value_type map_value = { .read = read_map };
static const struct kl_value_type integer_value = { .read = read_integer };
static const struct kl_value_type float_value = { .read = read_float };

/* --- structs by value ------------------------------------------------------------- */

static int hex_nibble(char ch)
{
	return ch <= '9' ? ch - '0' : ch - 'a' + 10;
}

/* Read {hex: "00ff"}, with which git-klineage has replaced the name of a file. */
static int read_bytes(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct plan_arg *arg = at;
	const struct kl_yaml *hex = kl_yaml_get(node, "hex");
	size_t n = hex && hex->kind == KL_YAML_SCALAR && !hex->plain ? hex->len : 0;

	arg->kind = KL_PLAN_BYTES;
	if (node->kind == KL_YAML_SCALAR)
		return kl_yaml_error(
			file, node,
			"'bytes' must hold the contents of the file '%.64s', not its name",
			node->text);
	if (!n || n % 2 || n / 2 > KL_PLAN_MAX_PARAM_BYTES || node->n != 1 ||
	    hex->text[strspn(hex->text, "0123456789abcdef")])
		return kl_yaml_error(file, node,
				     "'%s' must be {hex: ...} with 1 to %d bytes in hexadecimal",
				     field->key, KL_PLAN_MAX_PARAM_BYTES);
	arg->nblob = n / 2;
	arg->blob = kl_malloc(arg->nblob);
	for (size_t i = 0; i < arg->nblob; i++)
		arg->blob[i] = (uint8_t)(hex_nibble(hex->text[2 * i]) << 4 |
					 hex_nibble(hex->text[2 * i + 1]));
	return 0;
}

static int64_t reloc_bytes(const struct plan_reloc *reloc)
{
	return reloc->kind == KL_PLAN_MAP ? MAP_BYTES : POINTER_BYTES;
}

static int read_off(void *at, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	struct plan_reloc *reloc = at;
	const struct plan_arg *arg = reloc->arg;
	const struct kl_field number = KL_INT_FIELD(field->key, KL_LOOSE, 0, 0,
						    KL_PLAN_MAX_PARAM_BYTES);
	int64_t size = reloc_bytes(reloc), unit = reloc->kind == KL_PLAN_MAP ? 64 : 8;
	int err = kl_schema_read_value(&reloc->at, file, &number, node);

	if (err < 0)
		return err;
	if (reloc->at % unit || reloc->at + size > (int64_t)arg->nblob)
		return kl_yaml_error(
			file, node,
			"an entry of %lld bytes cannot be at byte %lld of %zu: it must end within "
			"the struct and start at a multiple of %lld",
			(long long)size, (long long)reloc->at, arg->nblob, (long long)unit);
	for (const struct plan_reloc *other = arg->reloc; other < reloc; other++)
		if (reloc->at < other->at + reloc_bytes(other) && other->at < reloc->at + size)
			return kl_yaml_error(file, node,
					     "the entry overlaps the entry at byte %lld",
					     (long long)other->at);
	return 0;
}

static int read_reloc_map(void *at, const char *file, const struct kl_field *field,
			  const struct kl_yaml *node)
{
	struct plan_reloc *reloc = at;

	return read_map_name(&reloc->index, reloc->arg, field, node);
}

static int read_reloc_ptr(void *at, const char *file, const struct kl_field *field,
			  const struct kl_yaml *node)
{
	struct plan_reloc *reloc = at;

	return read_memory(&reloc->kind, &reloc->index, reloc->arg, field, node);
}

static const struct kl_value_type off_value = { .read = read_off };
static const struct kl_value_type reloc_map_value = { .read = read_reloc_map };
static const struct kl_value_type reloc_ptr_value = { .read = read_reloc_ptr };

static const struct kl_field reloc_map_fields[] = {
	KL_VALUE_FIELD("off", KL_NEEDED, 0, &off_value),
	KL_VALUE_FIELD("map", KL_NEEDED, 0, &reloc_map_value),
	KL_FIELDS_END,
};
static const struct kl_field reloc_ptr_fields[] = {
	KL_VALUE_FIELD("off", KL_NEEDED, 0, &off_value),
	KL_VALUE_FIELD("ptr", KL_NEEDED, 0, &reloc_ptr_value),
	KL_VALUE_FIELD("offset", 0, offsetof(struct plan_reloc, offset), &kl_plan_expr_value),
	KL_FIELDS_END,
};
static const struct kl_schema reloc_map_schema = {
	"a map in a struct", sizeof(struct plan_reloc), reloc_map_fields, NULL, NULL, NULL,
};
static const struct kl_schema reloc_ptr_schema = {
	"a pointer in a struct", sizeof(struct plan_reloc), reloc_ptr_fields, NULL, NULL, NULL,
};

static int read_relocs(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	struct plan_arg *arg = at;
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++) {
		struct plan_reloc *reloc = &arg->reloc[arg->nreloc++];
		const struct kl_yaml *item = node->item[i];
		bool map = kl_yaml_get(item, "map");

		reloc->part = (struct plan_part){ arg->part.plan, item };
		reloc->arg = arg;
		reloc->kind = map ? KL_PLAN_MAP : KL_PLAN_TENSOR;
		err = kl_plan_read(reloc, map ? &reloc_map_schema : &reloc_ptr_schema, file, item);
	}
	return err;
}

static const struct kl_value_type bytes_value = { .read = read_bytes };
static const struct kl_value_type relocs_value = { .read = read_relocs };

/* --- the forms of an argument ------------------------------------------------------ */

#define AT(m) offsetof(struct plan_arg, m)
static const struct kl_field pointer_fields[] = {
	KL_VALUE_FIELD("ptr", KL_NEEDED, 0, &ptr_value),
	KL_VALUE_FIELD("offset", 0, AT(expr), &kl_plan_expr_value),
	KL_FIELDS_END,
};
static const struct kl_field struct_fields[] = {
	KL_VALUE_FIELD("bytes", KL_NEEDED, 0, &bytes_value),
	KL_VALUES_FIELD("at", 0, 0, &relocs_value, 0, KL_PLAN_MAX_RELOC),
	KL_FIELDS_END,
};
/* an argument has exactly one of these keys */
static const struct kl_field value_fields[] = {
	KL_VALUE_FIELD("map", 0, 0, &map_value),     KL_VALUE_FIELD("i32", 0, 0, &integer_value),
	KL_VALUE_FIELD("i64", 0, 0, &integer_value), KL_VALUE_FIELD("u32", 0, 0, &integer_value),
	KL_VALUE_FIELD("u64", 0, 0, &integer_value), KL_VALUE_FIELD("f32", 0, 0, &float_value),
	KL_VALUE_FIELD("f64", 0, 0, &float_value),   KL_FIELDS_END,
};
#undef AT
static const struct kl_schema pointer_schema = {
	"a pointer", sizeof(struct plan_arg), pointer_fields, NULL, NULL, NULL,
};
static const struct kl_schema struct_schema = {
	"a struct by value", sizeof(struct plan_arg), struct_fields, NULL, NULL, NULL,
};
static const struct kl_schema value_schema = {
	"an argument", sizeof(struct plan_arg), value_fields, NULL, NULL, NULL,
};

static int refuse_form(const char *file, const struct kl_yaml *node)
{
	return kl_yaml_error(
		file, node,
		"an argument must be a name, null, or one of {map: }, {i32: }, {i64: }, {u32: }, "
		"{u64: }, {f32: }, {f64: }, {ptr: , offset: }, {bytes: , at: }");
}

static int read_form(struct plan_arg *arg, const char *file, const struct kl_yaml *node)
{
	int err;

	if (kl_yaml_get(node, "ptr"))
		return kl_plan_read(arg, &pointer_schema, file, node);
	if (kl_yaml_get(node, "bytes"))
		return kl_plan_read(arg, &struct_schema, file, node);
	if ((err = kl_plan_check_keys(&value_schema, file, node)) < 0)
		return err;
	return node->n == 1 ? kl_plan_read(arg, &value_schema, file, node) :
			      refuse_form(file, node);
}

static int read_arg(struct plan_arg *arg, const char *file, const struct kl_field *field,
		    const struct kl_yaml *node)
{
	int64_t number;

	if (kl_plan_is_word(node, "null")) {
		arg->kind = KL_PLAN_NULL;
		return 0;
	}
	if (node->kind == KL_YAML_MAP)
		return read_form(arg, file, node);
	if (node->kind == KL_YAML_SEQ || kl_plan_whole_number(&number, node))
		return refuse_form(file, node);
	return read_name(arg, field, node);
}

static int read_args(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	struct plan_launch *launch = at;
	int err = kl_schema_check_list(file, field, node);

	if (err < 0)
		return err;
	launch->arg = kl_calloc(node->n + 1, sizeof(*launch->arg));
	while (!err && launch->nargs < node->n) {
		struct plan_arg *arg = &launch->arg[launch->nargs];

		arg->part = (struct plan_part){ launch->part.plan, node->item[launch->nargs++] };
		arg->prepare = launch->prepare;
		err = read_arg(arg, file, field, arg->part.node);
	}
	return err;
}

static void release_args(void *at)
{
	struct plan_launch *launch = at;

	for (size_t i = 0; i < launch->nargs; i++) {
		struct plan_arg *arg = &launch->arg[i];

		kl_expr_free(arg->expr.expr);
		free(arg->blob);
		for (size_t k = 0; k < arg->nreloc; k++)
			kl_expr_free(arg->reloc[k].offset.expr);
	}
	free(launch->arg);
}

const struct kl_value_type kl_plan_args_value = { .read = read_args, .release = release_args };
