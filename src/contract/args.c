/* SPDX-License-Identifier: Apache-2.0 */
/* args - parses a contract's arguments: dims, scalars, tensors, the scale sweep */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contract/fill.h"
#include "contract/parts.h"

static int read_dtype(struct kl_arg *arg, struct kl_node node)
{
	const char *text;
	int err = kl_node_text(&text, node);

	if (err < 0)
		return err;
	if (!kl_dtype_parse(&arg->dtype, text))
		return kl_node_error(node, "'dtype' is '%.64s'; known: %s", text, kl_dtype_list());
	return 0;
}

static int read_dim(struct kl_contract *contract, struct kl_arg *arg, struct kl_node node)
{
	static const char *const known[] = { "name", "kind", "dtype", NULL };
	static const char *const dtypes[] = { "i64", "i32", NULL };
	const char *const *by = contract->language->dims;
	struct kl_node dtype = kl_node_get(node, "dtype");
	const struct kl_dims *dims;
	char id[32];
	int which = 0, err;

	if (by[0])
		return kl_node_error(kl_node_get(node, "kind"),
				     "%s%s%s: 'args' has tensors and "
				     "scalars",
				     by[0], arg->name, by[1]);
	if ((err = kl_node_keys(node, known, 2)) < 0 ||
	    (dtype.y && (err = kl_node_choice(&which, dtype, dtypes)) < 0))
		return err;
	arg->dtype = which ? KL_I32 : KL_I64;
	arg->dim = -1;
	for (size_t i = 0; i < contract->dims.n; i++)
		if (!strcmp(contract->dim_name[i], arg->name))
			arg->dim = (int)i;
	if (arg->dim < 0)
		return kl_node_error(kl_node_get(node, "name"), "'%s' is not a dim of the case",
				     arg->name);
	for (size_t i = 0; which && (dims = kl_contract_check_point(contract, i, id)); i++)
		if (dims->v[arg->dim] > INT32_MAX)
			return kl_node_error(node, "'%s' does not fit i32 at %s", arg->name, id);
	return 0;
}

static int read_scalar(struct kl_arg *arg, struct kl_node node)
{
	static const char *const known[] = { "name", "kind", "dtype", "value", NULL };
	struct kl_node value = kl_node_get(node, "value");
	int err;

	if ((err = kl_node_keys(node, known, 4)) < 0 ||
	    (err = read_dtype(arg, kl_node_get(node, "dtype"))) < 0 ||
	    (err = kl_node_num_in(&arg->value, value, -1e300, 1e300)) < 0)
		return err;
	/* no C type that every compiler passes alike */
	if (arg->dtype == KL_F16 || arg->dtype == KL_BF16)
		return kl_node_error(kl_node_get(node, "dtype"),
				     "a scalar is not passed by value as %s",
				     kl_dtype_name(arg->dtype));
	if (!kl_dtype_is_float(arg->dtype) &&
	    !(arg->value >= kl_dtype_int_min(arg->dtype) &&
	      arg->value <= kl_dtype_int_max(arg->dtype) && arg->value == floor(arg->value)))
		return kl_node_error(value, "'value' must be an integer that %s holds",
				     kl_dtype_name(arg->dtype));
	return 0;
}

static int read_axis(struct kl_contract *contract, struct kl_arg *arg, struct kl_node node)
{
	const struct kl_expr_names names = kl_contract_names(contract);
	const struct kl_dims *dims;
	const char *text;
	char id[32];
	size_t at;
	int err = kl_node_text(&text, node);

	if (err < 0)
		return err;
	/* an argument's name: shapes that depend on each other or on data */
	for (size_t i = 0; i < KL_MAX_ARGS && contract->arg[i].name; i++)
		if (!strcmp(text, contract->arg[i].name) &&
		    kl_arg_kind_is_tensor(contract->arg[i].kind))
			return kl_node_error(node,
					     "the shape of '%s' depends on argument '%s': "
					     "shapes are over dims only",
					     arg->name, text);
	if (kl_expr_parse(&arg->shape[arg->naxes], text, &names, KL_EXPR_NUMBER, &at) < 0)
		return kl_node_error_at(node, at);
	arg->naxes++;
	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t value;

		if (kl_expr_eval(&value, arg->shape[arg->naxes - 1], dims->v) < 0)
			return kl_node_error(node, "shape of '%s' at %s: %s", arg->name, id,
					     kl_error_last());
		if (value < 1)
			return kl_node_error(node, "shape of '%s' at %s: extent %lld", arg->name,
					     id, (long long)value);
	}
	return 0;
}

static int read_shape(struct kl_contract *contract, struct kl_arg *arg, struct kl_node node)
{
	const struct kl_dims *dims;
	char id[32];
	int err = kl_node_list(node, 1, KL_MAX_AXES);

	if (err < 0)
		return err;
	for (size_t i = 0; i < node.y->n; i++)
		if ((err = read_axis(contract, arg, kl_node_item(node, i))) < 0)
			return err;
	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t bytes;

		if (kl_contract_tensor_bytes(&bytes, contract, (size_t)(arg - contract->arg),
					     dims) < 0)
			return kl_node_error(node, "%s at %s", kl_error_last(), id);
	}
	return 0;
}

/* `lower` and `running` go along an axis before the last. */
static int check_axes(const struct kl_arg *arg, const json_t *fill, struct kl_node node)
{
	const json_t *lower = json_object_get(fill, "lower");

	if (lower && json_integer_value(lower) + 1 >= (json_int_t)arg->naxes)
		return kl_node_error(node, "'lower' names an axis before the last, '%s' has %zu",
				     arg->name, arg->naxes);
	if (json_object_get(fill, "running") && arg->naxes < 2)
		return kl_node_error(node, "'running' needs an axis before the last, '%s' has %zu",
				     arg->name, arg->naxes);
	return 0;
}

int kl_contract_fill_read(json_t **out, const struct kl_contract *contract, size_t arg,
			  struct kl_node node)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
	const struct kl_expr_names names = kl_contract_names(contract);
	enum kl_dtype dtype = contract->arg[arg].dtype;
	KL_AUTO(json_decrefp) json_t *fill = NULL;
	const struct kl_dims *dims;
	const char *index;
	char id[32];
	int err = kl_fill_read(&fill, node, dtype, &names);

	if (err < 0 || (err = check_axes(&contract->arg[arg], fill, node)) < 0)
		return err;
	index = kl_fill_index(fill);
	if (index && (err = kl_expr_parse(&expr, index, &names, KL_EXPR_NUMBER, NULL)) < 0)
		return err;
	for (size_t i = 0; index && (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t value;

		if (kl_expr_eval(&value, expr, dims->v) < 0)
			return kl_node_error(node, "'index' at %s: %s", id, kl_error_last());
		if (value < 1 || (double)value - 1 > kl_dtype_int_max(dtype))
			return kl_node_error(
				node, "'index' at %s is %lld: it must be at least 1 and fit %s", id,
				(long long)value, kl_dtype_name(dtype));
	}
	*out = kl_steal(&fill);
	return 0;
}

static int read_tensor(struct kl_contract *contract, struct kl_arg *arg, struct kl_node node)
{
	static const char *const in[] = { "name", "kind", "dtype", "shape", "fill", NULL };
	static const char *const out[] = { "name", "kind", "dtype", "shape", NULL };
	struct kl_node fill = kl_node_get(node, "fill");
	int err;

	if ((err = kl_node_keys(node, arg->kind == KL_ARG_OUT ? out : in, 4)) < 0 ||
	    (err = read_dtype(arg, kl_node_get(node, "dtype"))) < 0 ||
	    (err = read_shape(contract, arg, kl_node_get(node, "shape"))) < 0)
		return err;
	if (arg->kind == KL_ARG_OUT)
		return 0;
	if (fill.y)
		return kl_contract_fill_read(&arg->fill, contract, (size_t)(arg - contract->arg),
					     fill);
	arg->fill = kl_fill_default(arg->dtype);
	if (!arg->fill)
		return kl_node_error(node, "'%s' needs a fill: %s has no default", arg->name,
				     kl_dtype_name(arg->dtype));
	return 0;
}

static int read_arg(struct kl_contract *contract, struct kl_arg *arg, struct kl_node node)
{
	static const char *const kinds[] = { "dim", "scalar", "in", "out", "inout", NULL };
	struct kl_node name, kind;
	const char *text;
	int which, err;

	node.what = "argument";
	if ((err = kl_node_map(node, 0, 64)) < 0)
		return err;
	name = kl_node_get(node, "name");
	kind = kl_node_get(node, "kind");
	if (!name.y || !kind.y)
		return kl_node_error(node, "'%s' is missing in an argument",
				     name.y ? "kind" : "name");
	if ((err = kl_node_ident(&text, name)) < 0 ||
	    (err = kl_node_choice(&which, kind, kinds)) < 0)
		return err;
	if (kl_contract_arg(contract, text) >= 0)
		return kl_node_error(name, "two arguments are called '%s'", text);
	for (size_t i = 0; which != KL_ARG_DIM && i < contract->dims.n; i++)
		if (!strcmp(contract->dim_name[i], text))
			return kl_node_error(name,
					     "'%s' is a dim of the case: say kind: dim, "
					     "or take another name",
					     text);
	arg->name = kl_strdup(text);
	arg->kind = (enum kl_arg_kind)which;
	contract->nargs++;
	if (arg->kind == KL_ARG_DIM)
		return read_dim(contract, arg, node);
	return arg->kind == KL_ARG_SCALAR ? read_scalar(arg, node) :
					    read_tensor(contract, arg, node);
}

/* Also the total of a point has a ceiling, wherever it is read. */
static int check_total(const struct kl_contract *contract, struct kl_node node)
{
	const struct kl_dims *dims;
	char id[32];

	for (size_t i = 0; (dims = kl_contract_check_point(contract, i, id)); i++) {
		int64_t bytes;

		if (kl_contract_bytes(&bytes, contract, dims) < 0)
			return kl_node_error(node, "%s", kl_error_last());
		if (bytes > KL_TENSOR_MAX_BYTES)
			return kl_node_error(
				node, "the tensors of %s take more than 2^40 bytes together", id);
	}
	return 0;
}

static bool sweeps_by_default(const struct kl_arg *arg)
{
	return (arg->kind == KL_ARG_IN || arg->kind == KL_ARG_INOUT) &&
	       kl_dtype_is_float(arg->dtype) && !kl_fill_is_shaped(arg->fill);
}

static int read_sweep(struct kl_contract *contract, struct kl_node node)
{
	int err;

	if (!node.y) {
		for (size_t i = 0; i < contract->nargs; i++)
			contract->arg[i].sweep = sweeps_by_default(&contract->arg[i]);
		return 0;
	}
	if ((err = kl_node_list(node, 0, KL_MAX_ARGS)) < 0)
		return err;
	for (size_t i = 0; i < node.y->n; i++) {
		struct kl_node item = kl_node_item(node, i);
		struct kl_arg *arg;
		const char *text;
		int k;

		if ((err = kl_node_text(&text, item)) < 0)
			return err;
		k = kl_contract_arg(contract, text);
		if (k < 0)
			return kl_node_error(item, "'sweep' names '%.64s', which is no argument",
					     text);
		arg = &contract->arg[k];
		if ((arg->kind != KL_ARG_IN && arg->kind != KL_ARG_INOUT) ||
		    !kl_dtype_is_float(arg->dtype))
			return kl_node_error(item, "'sweep' names '%s', which is no float input",
					     text);
		if (arg->sweep)
			return kl_node_error(item, "'sweep' names '%s' twice", text);
		arg->sweep = true;
	}
	return 0;
}

int kl_contract_args_read(struct kl_contract *contract, struct kl_node top)
{
	struct kl_node node = kl_node_get(top, "args");
	bool answers = false;
	int err = kl_node_list(node, 1, KL_MAX_ARGS);

	if (err < 0)
		return err;
	for (size_t i = 0; i < node.y->n; i++) {
		if ((err = read_arg(contract, &contract->arg[i], kl_node_item(node, i))) < 0)
			return err;
		answers |= contract->arg[i].kind == KL_ARG_OUT ||
			   contract->arg[i].kind == KL_ARG_INOUT;
	}
	if (!answers)
		return kl_node_error(node,
				     "no argument is an out or inout: there is nothing to judge");
	if ((err = check_total(contract, node)) < 0)
		return err;
	return read_sweep(contract, kl_node_get(top, "sweep"));
}
