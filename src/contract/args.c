/* SPDX-License-Identifier: Apache-2.0 */
/* args - reads a contract's arguments: dims, scalars, tensors, the scale sweep */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "contract/fill.h"
#include "contract/parts.h"

/* --- reading a fill --------------------------------------------------------------- */

/*
 * Check that `lower` names an axis before the last one, and that a fill with `running` has an axis
 * before the last one.
 */
static int check_axes(const struct kl_contract *contract, const struct kl_arg *arg,
		      const json_t *fill, const struct kl_yaml *node)
{
	const json_t *lower = json_object_get(fill, "lower");

	if (lower && json_integer_value(lower) + 1 >= (json_int_t)arg->naxes)
		return kl_yaml_error(
			contract->name, node,
			"'lower' must name an axis before the last, but '%s' has %zu axes",
			arg->name, arg->naxes);
	if (json_object_get(fill, "running") && arg->naxes < 2)
		return kl_yaml_error(
			contract->name, node,
			"'running' needs an axis before the last, but '%s' has %zu axes", arg->name,
			arg->naxes);
	return 0;
}

int kl_contract_fill_read(json_t **out, const struct kl_contract *contract,
			  const struct kl_arg *arg, const struct kl_field *field,
			  const struct kl_yaml *node)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	KL_AUTO(json_decrefp) json_t *fill = NULL;
	const struct kl_expr_names names = kl_contract_names(contract);
	const char *index;
	int err = kl_fill_read(&fill, contract->name, field, node, arg->dtype, &names);

	if (err < 0 || (err = check_axes(contract, arg, fill, node)) < 0)
		return err;
	index = kl_fill_index(fill);
	if (index && (err = kl_expr_parse(&expr, index, &names, KL_EXPR_NUMBER, NULL)) == 0)
		/* the type must hold every drawn value, 0 to `index` - 1, exactly */
		err = kl_contract_expr_check(expr, contract, node, "'index'", 1,
					     (int64_t)kl_dtype_int_max(arg->dtype) + 1);
	if (!err)
		*out = kl_steal(&fill);
	return err;
}

/* --- reading the keys of an argument ------------------------------------------------ */

struct reading {
	const struct kl_contract *contract;
	bool is_bool; /* the `dtype` of the scalar is "bool" */
	struct kl_arg arg;
};

static int check_name(const struct reading *reading, const struct kl_yaml *node)
{
	const struct kl_contract *contract = reading->contract;
	const char *const *by = contract->language->dims;
	const char *name = reading->arg.name;
	bool dim = reading->arg.kind == KL_ARG_DIM;

	if (kl_contract_arg(contract, name) >= 0)
		return kl_yaml_error(contract->name, node, "two arguments have the name '%s'",
				     name);
	for (size_t i = 0; !dim && i < contract->dims.n; i++)
		if (!strcmp(contract->dim_name[i], name))
			return kl_yaml_error(
				contract->name, node,
				"'%s' is a dim of the case; use 'kind: dim' or another name", name);
	if (dim && by[0])
		return kl_yaml_error(contract->name, kl_yaml_get(node->up, "kind"),
				     "%s%s%s; 'args' must list only tensors and scalars", by[0],
				     name, by[1]);
	return 0;
}

static int read_name(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	const struct kl_field ident = KL_STRING_FIELD(field->key, 0, 0, &kl_string_ident);
	struct reading *reading = at;
	int err = kl_schema_read_value(&reading->arg.name, file, &ident, node);

	return err < 0 ? err : check_name(reading, node);
}

static int read_dtype(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	const char *text;
	int err = kl_schema_read_text(&text, file, field, node);

	if (!err && !kl_dtype_parse(at, text))
		return kl_yaml_error(file, node, "'%s' must be one of %s, not '%.64s'", field->key,
				     kl_dtype_list(), text);
	return err;
}

int kl_contract_dtype_read(enum kl_dtype *out, bool *is_bool, const char *file,
			   const struct kl_field *field, const struct kl_yaml *node)
{
	*is_bool = node->kind == KL_YAML_SCALAR && !strcmp(node->text, "bool");
	if (!*is_bool)
		return read_dtype(out, file, field, node);
	*out = KL_U8;
	return 0;
}

/* Return true if the text names a tensor. A shape must not depend on one. */
static bool names_tensor(const struct reading *reading, const char *text)
{
	int other = kl_contract_arg(reading->contract, text);

	return !strcmp(text, reading->arg.name) ||
	       (other >= 0 && kl_arg_kind_is_tensor(reading->contract->arg[other].kind));
}

static int read_axis(struct reading *reading, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	const struct kl_contract *contract = reading->contract;
	struct kl_arg *arg = &reading->arg;
	char what[96];
	int err;

	if (node->kind == KL_YAML_SCALAR && names_tensor(reading, node->text))
		return kl_yaml_error(
			contract->name, node,
			"the shape of '%s' uses the argument '%s', but can only use dims",
			arg->name, node->text);
	err = kl_contract_expr_read(&arg->shape[arg->naxes], contract, field, node, KL_EXPR_NUMBER);
	if (err < 0)
		return err;
	arg->shape_text[arg->naxes] = kl_strdup(node->text);
	snprintf(what, sizeof(what), "shape of '%s'", arg->name);
	return kl_contract_expr_check(arg->shape[arg->naxes++], contract, node, what, 1, INT64_MAX);
}

static int read_shape(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct reading *reading = at;
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++)
		err = read_axis(reading, field, node->item[i]);
	return err;
}

static int read_fill(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	struct reading *reading = at;

	return kl_contract_fill_read(&reading->arg.fill, reading->contract, &reading->arg, field,
				     node);
}

static int read_init(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	static const char *const words[] = { "zeros", NULL };
	const struct kl_field word = KL_WORD_FIELD(field->key, 0, 0, words);
	struct reading *reading = at;
	int which, err = kl_schema_read_value(&which, file, &word, node);

	reading->arg.zeros = !err;
	return err;
}

/* Read the dtype of a dim, which can be any integer type. */
static int read_integer(void *at, const char *file, const struct kl_field *field,
			const struct kl_yaml *node)
{
	struct reading *reading = at;
	int err = read_dtype(&reading->arg.dtype, file, field, node);

	if (!err && kl_dtype_is_float(reading->arg.dtype))
		return kl_yaml_error(file, node, "the '%s' of a dim must be an integer, not %s",
				     field->key, kl_dtype_name(reading->arg.dtype));
	return err;
}

/* Read the dtype of a scalar, which may be bool. */
static int read_scalar(void *at, const char *file, const struct kl_field *field,
		       const struct kl_yaml *node)
{
	struct reading *reading = at;

	return kl_contract_dtype_read(&reading->arg.dtype, &reading->is_bool, file, field, node);
}

static const struct kl_value_type integer_value = { .read = read_integer };
static const struct kl_value_type scalar_value = { .read = read_scalar };
static const struct kl_value_type init_value = { .read = read_init };
static const struct kl_value_type name_value = { .read = read_name };
static const struct kl_value_type dtype_value = { .read = read_dtype };
static const struct kl_value_type shape_value = { .read = read_shape };
static const struct kl_value_type fill_value = { .read = read_fill };

/* --- tables of the keys of each kind of argument ------------------------------------- */

#define AT(m) offsetof(struct reading, m)
/* clang-format off */
#define NAME_AND_KIND \
	KL_VALUE_FIELD("name", KL_NEEDED | KL_LOOSE, 0, &name_value), \
	KL_VALUE_FIELD("kind", KL_NEEDED, 0, &kl_value_known)
#define DTYPE KL_VALUE_FIELD("dtype", KL_NEEDED, AT(arg.dtype), &dtype_value)
#define DTYPE_AND_SHAPE \
	DTYPE, KL_VALUES_FIELD("shape", KL_NEEDED, 0, &shape_value, 1, KL_MAX_AXES)
/* clang-format on */

static const struct kl_field dim_fields[] = {
	NAME_AND_KIND,
	KL_VALUE_FIELD("dtype", 0, 0, &integer_value),
	KL_FIELDS_END,
};
static const struct kl_field scalar_fields[] = {
	NAME_AND_KIND,
	KL_VALUE_FIELD("dtype", KL_NEEDED, 0, &scalar_value),
	KL_DOUBLE_FIELD("value", KL_NEEDED, AT(arg.value), -1e300, 1e300),
	KL_FIELDS_END,
};
static const struct kl_field input_fields[] = {
	NAME_AND_KIND,
	DTYPE_AND_SHAPE,
	KL_VALUE_FIELD("fill", 0, 0, &fill_value),
	KL_FIELDS_END,
};
static const struct kl_field output_fields[] = {
	NAME_AND_KIND,
	DTYPE_AND_SHAPE,
	KL_VALUE_FIELD("init", 0, 0, &init_value),
	KL_FIELDS_END,
};
#undef AT

static int finish_dim(struct reading *reading, const struct kl_yaml *node)
{
	const struct kl_contract *contract = reading->contract;
	struct kl_arg *arg = &reading->arg;
	const struct kl_dims *dims;
	char id[32];

	arg->dim = -1;
	for (size_t i = 0; i < contract->dims.n; i++)
		if (!strcmp(contract->dim_name[i], arg->name))
			arg->dim = (int)i;
	if (arg->dim < 0)
		return kl_yaml_error(contract->name, kl_yaml_get(node, "name"),
				     "'%s' is not a dim of the case", arg->name);
	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++)
		if ((double)dims->v[arg->dim] > kl_dtype_int_max(arg->dtype))
			return kl_yaml_error(contract->name, node,
					     "'%s' does not fit into %s at %s", arg->name,
					     kl_dtype_name(arg->dtype), id);
	return 0;
}

static int finish_scalar(struct reading *reading, const struct kl_yaml *node)
{
	const struct kl_arg *arg = &reading->arg;

	/* compilers do not agree on how to pass these types */
	if (arg->dtype == KL_F16 || arg->dtype == KL_BF16)
		return kl_yaml_error(reading->contract->name, kl_yaml_get(node, "dtype"),
				     "a scalar cannot be passed by value as %s",
				     kl_dtype_name(arg->dtype));
	if (reading->is_bool && arg->value != 0 && arg->value != 1)
		return kl_yaml_error(reading->contract->name, kl_yaml_get(node, "value"),
				     "'value' of a bool must be 0 or 1");
	if (!kl_dtype_is_float(arg->dtype) &&
	    !(arg->value >= kl_dtype_int_min(arg->dtype) &&
	      arg->value <= kl_dtype_int_max(arg->dtype) && arg->value == floor(arg->value)))
		return kl_yaml_error(reading->contract->name, kl_yaml_get(node, "value"),
				     "'value' must be an integer that fits into %s",
				     kl_dtype_name(arg->dtype));
	return 0;
}

static int finish_tensor(struct reading *reading, const struct kl_yaml *node)
{
	const struct kl_contract *contract = reading->contract;
	struct kl_arg *arg = &reading->arg;
	const struct kl_dims *dims;
	char id[32];

	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t bytes;

		if (kl_contract_arg_bytes(&bytes, arg, dims) < 0)
			return kl_yaml_error(contract->name, kl_yaml_get(node, "shape"), "%s at %s",
					     kl_error_last(), id);
	}
	if (arg->kind == KL_ARG_OUT || arg->fill)
		return 0;
	arg->fill = kl_fill_default(arg->dtype);
	if (!arg->fill)
		return kl_yaml_error(contract->name, node,
				     "'%s' needs a fill, because %s has no default fill", arg->name,
				     kl_dtype_name(arg->dtype));
	return 0;
}

static const struct kind {
	struct kl_schema schema;
	int (*finish)(struct reading *reading, const struct kl_yaml *node);
} kinds[] = {
#define SCHEMA(what, fields)                                           \
	{                                                              \
		what, sizeof(struct reading), fields, NULL, NULL, NULL \
	}
	[KL_ARG_DIM] = { SCHEMA("a dim", dim_fields), finish_dim },
	[KL_ARG_SCALAR] = { SCHEMA("a scalar", scalar_fields), finish_scalar },
	[KL_ARG_IN] = { SCHEMA("an in", input_fields), finish_tensor },
	[KL_ARG_OUT] = { SCHEMA("an out", output_fields), finish_tensor },
	[KL_ARG_INOUT] = { SCHEMA("an inout", input_fields), finish_tensor },
#undef SCHEMA
};

/* --- all arguments ------------------------------------------------------------------- */

static int read_arg(struct kl_contract *contract, const struct kl_yaml *node)
{
	static const struct kl_field kind_field = KL_WORD_FIELD("kind", KL_NEEDED, 0,
								kl_arg_kind_names);
	struct reading reading = { .contract = contract };
	int kind = 0;
	int err = kl_schema_peek(&kind, "an argument", contract->name, &kind_field, node);

	if (err < 0)
		return err;
	reading.arg.kind = (enum kl_arg_kind)kind;
	reading.arg.dtype = KL_I64; /* the default of a dim */
	err = kl_schema_read(&reading, &kinds[kind].schema, contract->name, node);
	if (!err)
		err = kinds[kind].finish(&reading, node);
	/* add the argument even after an error, so that kl_contract_free() releases it */
	contract->arg[contract->nargs++] = reading.arg;
	return err;
}

/*
 * Check that no argument is called `at` or `must_exceed`, since a band has these keys in addition
 * to the names of arguments.
 */
static int check_words(const struct kl_contract *contract, const struct kl_yaml *node)
{
	static const char *const words[] = { "at", "must_exceed" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++)
		if (kl_contract_arg(contract, words[i]) >= 0)
			return kl_yaml_error(
				contract->name, node,
				"no argument can have the name '%s', which has another meaning in "
				"a band",
				words[i]);
	return 0;
}

/*
 * Check that the tensors of each point have at most KL_TENSOR_MAX_BYTES in total. Unlike the size
 * of the memory, this limit is the same on all machines.
 */
static int check_total(const struct kl_contract *contract, const struct kl_yaml *node)
{
	const struct kl_dims *dims;
	char id[32];

	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t bytes;

		if (kl_contract_bytes(&bytes, contract, dims) < 0)
			return kl_yaml_error(contract->name, node, "%s", kl_error_last());
		if (bytes > KL_TENSOR_MAX_BYTES)
			return kl_yaml_error(
				contract->name, node,
				"the tensors at %s are larger than 2^40 bytes in total", id);
	}
	return 0;
}

static bool can_sweep(const struct kl_arg *arg)
{
	return kl_arg_kind_is_input(arg->kind) && kl_dtype_is_float(arg->dtype);
}

static int read_args(void *at, const char *file, const struct kl_field *field,
		     const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	bool answers = false;
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; !err && i < node->n; i++) {
		const struct kl_arg *arg = &contract->arg[i];

		if ((err = read_arg(contract, node->item[i])) == 0)
			answers |= kl_arg_kind_is_output(arg->kind);
	}
	if (!err && !answers && !kl_yaml_get(node->up, "returns"))
		err = kl_yaml_error(
			file, node,
			"no argument is an output (out or inout) and there is no 'returns', so "
			"there is nothing to judge");
	if (!err)
		err = check_total(contract, node);
	if (!err)
		err = check_words(contract, node);
	/* set the default, which the key `sweep` replaces */
	for (size_t i = 0; !err && i < contract->nargs; i++)
		contract->arg[i].sweep = can_sweep(&contract->arg[i]) &&
					 !kl_fill_is_shaped(contract->arg[i].fill);
	return err;
}

static void free_args(void *at)
{
	struct kl_contract *contract = at;

	for (size_t i = 0; i < contract->nargs; i++) {
		struct kl_arg *arg = &contract->arg[i];

		free(arg->name);
		for (size_t axis = 0; axis < KL_MAX_AXES; axis++) {
			kl_expr_free(arg->shape[axis]);
			free(arg->shape_text[axis]);
		}
		json_decref(arg->fill);
	}
}

const struct kl_value_type kl_contract_args = { .read = read_args, .release = free_args };

/* --- reading `sweep` ----------------------------------------------------------------- */

static int add_to_sweep(struct kl_contract *contract, const struct kl_field *field,
			const struct kl_yaml *node)
{
	struct kl_arg *arg;
	const char *name;
	int k, err = kl_schema_read_text(&name, contract->name, field, node);

	if (err < 0)
		return err;
	k = kl_contract_arg(contract, name);
	if (k < 0)
		return kl_yaml_error(contract->name, node,
				     "'sweep' names '%.64s', which is not an argument", name);
	arg = &contract->arg[k];
	if (!can_sweep(arg))
		return kl_yaml_error(contract->name, node,
				     "'sweep' names '%s', which is not a float input", name);
	if (arg->sweep)
		return kl_yaml_error(contract->name, node, "'sweep' names '%s' twice", name);
	arg->sweep = true;
	return 0;
}

static int read_sweep(void *at, const char *file, const struct kl_field *field,
		      const struct kl_yaml *node)
{
	struct kl_contract *contract = at;
	int err = kl_schema_check_list(file, field, node);

	for (size_t i = 0; i < contract->nargs; i++)
		contract->arg[i].sweep = false;
	for (size_t i = 0; !err && i < node->n; i++)
		err = add_to_sweep(contract, field, node->item[i]);
	return err;
}

const struct kl_value_type kl_contract_sweep = { .read = read_sweep };
