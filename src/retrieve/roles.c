/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/roles.h"

#include <string.h>

#include "plan/expr.h"

/* --- by the shapes ---------------------------------------------------------------------------- */

static unsigned role_bit(const struct kl_taxonomy *tax, const char *name)
{
	for (size_t i = 0; i < tax->roles.n; i++)
		if (!strcmp(tax->roles.v[i], name))
			return 1u << i;
	return 0;
}

/* Set used[i] if dim i occurs in the shape of an output, or of an input. */
static void find_used(bool used[KL_MAX_DIMS], const struct kl_contract *contract, bool outputs)
{
	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];

		if (!(outputs ? kl_arg_kind_is_output(arg->kind) : kl_arg_kind_is_input(arg->kind)))
			continue;
		for (size_t axis = 0; axis < arg->naxes; axis++)
			kl_expr_uses(arg->shape[axis], used);
	}
}

/* Give the last two axes of the first output with axes their roles. */
static void name_axes(struct kl_roles *out, const struct kl_taxonomy *tax,
		      const struct kl_contract *contract)
{
	static const char *const names[] = { "cols", "rows" };

	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];

		if (!kl_arg_kind_is_output(arg->kind) || !arg->naxes)
			continue;
		for (size_t k = 0; k < KL_ARRAY_SIZE(names) && k < arg->naxes; k++) {
			bool used[KL_MAX_DIMS] = { false };

			kl_expr_uses(arg->shape[arg->naxes - 1 - k], used);
			for (size_t dim = 0; dim < contract->dims.n; dim++)
				if (used[dim] && !out->of[dim])
					out->of[dim] = role_bit(tax, names[k]);
		}
		return;
	}
}

static void by_shapes(struct kl_roles *out, const struct kl_taxonomy *tax,
		      const struct kl_contract *contract)
{
	bool in[KL_MAX_DIMS] = { false }, made[KL_MAX_DIMS] = { false };

	find_used(in, contract, false);
	find_used(made, contract, true);
	name_axes(out, tax, contract);
	for (size_t i = 0; i < contract->dims.n; i++)
		if (!out->of[i] && made[i])
			out->of[i] = role_bit(tax, "batch");
		else if (!out->of[i] && in[i])
			out->of[i] = role_bit(tax, "reduction");
}

/* --- the roles of a contract ------------------------------------------------------------------ */

void kl_roles_find(struct kl_roles *out, const struct kl_taxonomy *tax,
		   const struct kl_contract *contract)
{
	int op = kl_taxonomy_op(tax, contract->op);
	unsigned all = 0;

	*out = (struct kl_roles){ .of = { 0 } };
	for (size_t i = 0; op >= 0 && i < contract->dims.n; i++)
		all |= out->of[i] = kl_taxonomy_roles(tax, op, contract->dim_name[i]);
	if (!all)
		by_shapes(out, tax, contract);
}

bool kl_roles_extent(int64_t *out, const struct kl_roles *roles, size_t role,
		     const struct kl_dims *dims)
{
	bool any = false, fits = true;

	*out = 1;
	for (size_t i = 0; i < dims->n; i++)
		if (roles->of[i] >> role & 1) {
			any = true;
			fits = fits && !__builtin_mul_overflow(*out, dims->v[i], out);
		}
	return any && fits;
}
