/* SPDX-License-Identifier: Apache-2.0 */
/* args - parses a contract's arguments: dims, scalars, tensors, the scale sweep */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contract/dtype.h"
#include "contract/fill.h"
#include "contract/parts.h"

static bool is_tensor(const struct kl_arg *a)
{
	return a->kind >= KL_ARG_IN;
}

static int read_dtype(struct kl_arg *a, struct kl_node n)
{
	const char *s;
	int err = kl_node_text(&s, n);

	if (err < 0)
		return err;
	if (!kl_dtype_find(s))
		return kl_node_error(n, "'dtype' is '%.64s'; known: %s", s, kl_dtype_list());
	a->dtype = kl_strdup(s);
	return 0;
}

static int read_dim(struct kl_contract *c, struct kl_arg *a, struct kl_node n)
{
	static const char *const known[] = { "name", "kind", "dtype", NULL };
	static const char *const dtypes[] = { "i64", "i32", NULL };
	const char *const *by = c->language->dims;
	struct kl_node dtype = kl_node_get(n, "dtype");
	const struct kl_dims *d;
	char id[32];
	int which = 0, err;

	if (by[0])
		return kl_node_error(kl_node_get(n, "kind"),
				     "%s%s%s: 'args' has tensors and "
				     "scalars",
				     by[0], a->name, by[1]);
	if ((err = kl_node_keys(n, known, 2)) < 0 ||
	    (dtype.y && (err = kl_node_choice(&which, dtype, dtypes)) < 0))
		return err;
	a->dtype = kl_strdup(dtypes[which]);
	a->dim = -1;
	for (size_t i = 0; i < c->dims.n; i++)
		if (!strcmp(c->dim_name[i], a->name))
			a->dim = (int)i;
	if (a->dim < 0)
		return kl_node_error(kl_node_get(n, "name"), "'%s' is not a dim of the case",
				     a->name);
	for (size_t i = 0; which && (d = kl_contract_check_point(c, i, id)); i++)
		if (d->v[a->dim] > INT32_MAX)
			return kl_node_error(n, "'%s' does not fit i32 at %s", a->name, id);
	return 0;
}

static int read_scalar(struct kl_arg *a, struct kl_node n)
{
	static const char *const known[] = { "name", "kind", "dtype", "value", NULL };
	struct kl_node value = kl_node_get(n, "value");
	const struct kl_dtype_info *t;
	int err;

	if ((err = kl_node_keys(n, known, 4)) < 0 ||
	    (err = read_dtype(a, kl_node_get(n, "dtype"))) < 0 ||
	    (err = kl_node_num_in(&a->value, value, -1e300, 1e300)) < 0)
		return err;
	t = kl_dtype_find(a->dtype);
	/* no C type that every compiler passes alike */
	if (t->is_float && kl_dtype_size(a->dtype) == 2)
		return kl_node_error(kl_node_get(n, "dtype"),
				     "a scalar is not passed by value as %s", t->name);
	if (!t->is_float &&
	    !(a->value >= t->int_min && a->value <= t->int_max && a->value == floor(a->value)))
		return kl_node_error(value, "'value' must be an integer that %s holds", t->name);
	return 0;
}

static int read_axis(struct kl_contract *c, struct kl_arg *a, struct kl_node n)
{
	const struct kl_expr_names names = kl_contract_names(c);
	const struct kl_dims *d;
	const char *text;
	char id[32];
	size_t at;
	int err = kl_node_text(&text, n);

	if (err < 0)
		return err;
	/* an argument's name: shapes that depend on each other or on data */
	for (size_t i = 0; i < KL_MAX_ARGS && c->arg[i].name; i++)
		if (!strcmp(text, c->arg[i].name) && is_tensor(&c->arg[i]))
			return kl_node_error(n,
					     "the shape of '%s' depends on argument '%s': "
					     "shapes are over dims only",
					     a->name, text);
	if (kl_expr_parse(&a->shape[a->naxes], text, &names, KL_EXPR_NUMBER, &at) < 0)
		return kl_node_error_at(n, at);
	a->naxes++;
	for (size_t i = 0; (d = kl_contract_check_point(c, i, id)); i++) {
		int64_t v;

		if (kl_expr_eval(&v, a->shape[a->naxes - 1], d->v) < 0)
			return kl_node_error(n, "shape of '%s' at %s: %s", a->name, id,
					     kl_error_last());
		if (v < 1)
			return kl_node_error(n, "shape of '%s' at %s: extent %lld", a->name, id,
					     (long long)v);
	}
	return 0;
}

static int read_shape(struct kl_contract *c, struct kl_arg *a, struct kl_node n)
{
	const struct kl_dims *d;
	char id[32];
	int err = kl_node_list(n, 1, KL_MAX_AXES);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n.y->n; i++)
		if ((err = read_axis(c, a, kl_node_item(n, i))) < 0)
			return err;
	for (size_t i = 0; (d = kl_contract_check_point(c, i, id)); i++) {
		int64_t bytes;

		if (kl_contract_tensor_bytes(&bytes, c, (size_t)(a - c->arg), d) < 0)
			return kl_node_error(n, "%s at %s", kl_error_last(), id);
	}
	return 0;
}

/* `lower` and `running` go along an axis before the last. */
static int check_axes(const struct kl_arg *a, const json_t *fill, struct kl_node n)
{
	const json_t *lower = json_object_get(fill, "lower");

	if (lower && json_integer_value(lower) + 1 >= (json_int_t)a->naxes)
		return kl_node_error(n, "'lower' names an axis before the last, '%s' has %zu",
				     a->name, a->naxes);
	if (json_object_get(fill, "running") && a->naxes < 2)
		return kl_node_error(n, "'running' needs an axis before the last, '%s' has %zu",
				     a->name, a->naxes);
	return 0;
}

int kl_contract_fill_read(json_t **out, const struct kl_contract *c, size_t arg, struct kl_node n)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *e = NULL;
	const struct kl_expr_names names = kl_contract_names(c);
	const struct kl_dtype_info *t = kl_dtype_find(c->arg[arg].dtype);
	KL_AUTO(json_decrefp) json_t *fill = NULL;
	const struct kl_dims *d;
	const char *index;
	char id[32];
	int err = kl_fill_read(&fill, n, t, &names);

	if (err < 0 || (err = check_axes(&c->arg[arg], fill, n)) < 0)
		return err;
	index = kl_fill_index(fill);
	if (index && (err = kl_expr_parse(&e, index, &names, KL_EXPR_NUMBER, NULL)) < 0)
		return err;
	for (size_t i = 0; index && (d = kl_contract_check_point(c, i, id)); i++) {
		int64_t v;

		if (kl_expr_eval(&v, e, d->v) < 0)
			return kl_node_error(n, "'index' at %s: %s", id, kl_error_last());
		if (v < 1 || (double)v - 1 > t->int_max)
			return kl_node_error(
				n, "'index' at %s is %lld: it must be at least 1 and fit %s", id,
				(long long)v, t->name);
	}
	*out = kl_steal(&fill);
	return 0;
}

static int read_tensor(struct kl_contract *c, struct kl_arg *a, struct kl_node n)
{
	static const char *const in[] = { "name", "kind", "dtype", "shape", "fill", NULL };
	static const char *const out[] = { "name", "kind", "dtype", "shape", NULL };
	struct kl_node fill = kl_node_get(n, "fill");
	int err;

	if ((err = kl_node_keys(n, a->kind == KL_ARG_OUT ? out : in, 4)) < 0 ||
	    (err = read_dtype(a, kl_node_get(n, "dtype"))) < 0 ||
	    (err = read_shape(c, a, kl_node_get(n, "shape"))) < 0)
		return err;
	if (a->kind == KL_ARG_OUT)
		return 0;
	if (fill.y)
		return kl_contract_fill_read(&a->fill, c, (size_t)(a - c->arg), fill);
	a->fill = kl_fill_default(kl_dtype_find(a->dtype));
	if (!a->fill)
		return kl_node_error(n, "'%s' needs a fill: %s has no default", a->name, a->dtype);
	return 0;
}

static int read_arg(struct kl_contract *c, struct kl_arg *a, struct kl_node n)
{
	static const char *const kinds[] = { "dim", "scalar", "in", "out", "inout", NULL };
	struct kl_node name, kind;
	const char *s;
	int which, err;

	n.what = "argument";
	if ((err = kl_node_map(n, 0, 64)) < 0)
		return err;
	name = kl_node_get(n, "name");
	kind = kl_node_get(n, "kind");
	if (!name.y || !kind.y)
		return kl_node_error(n, "'%s' is missing in an argument", name.y ? "kind" : "name");
	if ((err = kl_node_ident(&s, name)) < 0 || (err = kl_node_choice(&which, kind, kinds)) < 0)
		return err;
	if (kl_contract_arg(c, s) >= 0)
		return kl_node_error(name, "two arguments are called '%s'", s);
	for (size_t i = 0; which != KL_ARG_DIM && i < c->dims.n; i++)
		if (!strcmp(c->dim_name[i], s))
			return kl_node_error(name,
					     "'%s' is a dim of the case: say kind: dim, "
					     "or take another name",
					     s);
	a->name = kl_strdup(s);
	a->kind = (enum kl_arg_kind)which;
	c->nargs++;
	if (a->kind == KL_ARG_DIM)
		return read_dim(c, a, n);
	return a->kind == KL_ARG_SCALAR ? read_scalar(a, n) : read_tensor(c, a, n);
}

/* Also the total of a point has a ceiling, wherever it is read. */
static int check_total(const struct kl_contract *c, struct kl_node n)
{
	const struct kl_dims *d;
	char id[32];

	for (size_t i = 0; (d = kl_contract_check_point(c, i, id)); i++) {
		int64_t bytes;

		if (kl_contract_bytes(&bytes, c, d) < 0)
			return kl_node_error(n, "%s", kl_error_last());
		if (bytes > KL_TENSOR_MAX_BYTES)
			return kl_node_error(
				n, "the tensors of %s take more than 2^40 bytes together", id);
	}
	return 0;
}

static bool sweeps_by_default(const struct kl_arg *a)
{
	return (a->kind == KL_ARG_IN || a->kind == KL_ARG_INOUT) && kl_dtype_is_float(a->dtype) &&
	       !kl_fill_is_shaped(a->fill);
}

static int read_sweep(struct kl_contract *c, struct kl_node n)
{
	int err;

	if (!n.y) {
		for (size_t i = 0; i < c->nargs; i++)
			c->arg[i].sweep = sweeps_by_default(&c->arg[i]);
		return 0;
	}
	if ((err = kl_node_list(n, 0, KL_MAX_ARGS)) < 0)
		return err;
	for (size_t i = 0; i < n.y->n; i++) {
		struct kl_node item = kl_node_item(n, i);
		struct kl_arg *a;
		const char *s;
		int k;

		if ((err = kl_node_text(&s, item)) < 0)
			return err;
		k = kl_contract_arg(c, s);
		if (k < 0)
			return kl_node_error(item, "'sweep' names '%.64s', which is no argument",
					     s);
		a = &c->arg[k];
		if ((a->kind != KL_ARG_IN && a->kind != KL_ARG_INOUT) ||
		    !kl_dtype_is_float(a->dtype))
			return kl_node_error(item, "'sweep' names '%s', which is no float input",
					     s);
		if (a->sweep)
			return kl_node_error(item, "'sweep' names '%s' twice", s);
		a->sweep = true;
	}
	return 0;
}

int kl_contract_args_read(struct kl_contract *c, struct kl_node top)
{
	struct kl_node n = kl_node_get(top, "args");
	bool answers = false;
	int err = kl_node_list(n, 1, KL_MAX_ARGS);

	if (err < 0)
		return err;
	for (size_t i = 0; i < n.y->n; i++) {
		if ((err = read_arg(c, &c->arg[i], kl_node_item(n, i))) < 0)
			return err;
		answers |= c->arg[i].kind == KL_ARG_OUT || c->arg[i].kind == KL_ARG_INOUT;
	}
	if (!answers)
		return kl_node_error(n,
				     "no argument is an out or inout: there is nothing to judge");
	if ((err = check_total(c, n)) < 0)
		return err;
	return read_sweep(c, kl_node_get(top, "sweep"));
}
