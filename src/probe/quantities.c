/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/quantities.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "gate/gate.h"

static void add_quantity(struct kl_quantities *out, struct kl_quantity quantity)
{
	for (size_t i = 0; i < out->n; i++)
		if (!strcmp(out->v[i].name, quantity.name)) {
			free(quantity.name);
			return;
		}
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = quantity;
}

/* --- roles and dims --------------------------------------------------------------------------- */

/* Return the only dim with this role; -1 if none has it, or several have it. */
static int only_dim(const struct kl_quantities *quantities, size_t role)
{
	int dim = -1;

	for (size_t i = 0; i < quantities->contract->dims.n; i++) {
		if (!(quantities->roles.of[i] >> role & 1))
			continue;
		if (dim >= 0)
			return -1;
		dim = (int)i;
	}
	return dim;
}

static void add_roles(struct kl_quantities *out)
{
	bool alone[KL_MAX_DIMS] = { false };
	unsigned all = 0;

	for (size_t i = 0; i < out->contract->dims.n; i++)
		all |= out->roles.of[i];
	for (size_t role = 0; role < out->tax->roles.n; role++) {
		int dim = only_dim(out, role);

		if (!(all >> role & 1))
			continue;
		if (dim >= 0)
			alone[dim] = true;
		add_quantity(out,
			     (struct kl_quantity){
				     .name = kl_asprintf("extent(%s)", out->tax->roles.v[role]),
				     .of = KL_QUANTITY_ROLE,
				     .at = role,
				     .dim = dim,
			     });
	}
	for (size_t i = 0; i < out->contract->dims.n; i++)
		if (!alone[i])
			add_quantity(out, (struct kl_quantity){
						  .name = kl_strdup(out->contract->dim_name[i]),
						  .of = KL_QUANTITY_DIM,
						  .at = i,
						  .dim = (int)i,
					  });
}

/* --- tensors and values ----------------------------------------------------------------------- */

static void add_tensors(struct kl_quantities *out)
{
	for (size_t i = 0; i < out->contract->nargs; i++) {
		const struct kl_arg *arg = &out->contract->arg[i];

		if (!kl_arg_kind_is_tensor(arg->kind) || arg->naxes < 2)
			continue;
		add_quantity(out, (struct kl_quantity){
					  .name = kl_asprintf("pitch_bytes(%s)", arg->name),
					  .kind = KL_FIT_BYTES,
					  .of = KL_QUANTITY_PITCH,
					  .at = i,
					  .dim = -1,
				  });
		add_quantity(out, (struct kl_quantity){
					  .name = kl_asprintf("elements(%s)", arg->name),
					  .kind = KL_FIT_BYTES,
					  .of = KL_QUANTITY_ELEMENTS,
					  .at = i,
					  .dim = -1,
				  });
	}
}

static void add_addresses(struct kl_quantities *out)
{
	for (size_t i = 0; i < out->contract->nargs; i++)
		if (kl_arg_kind_is_tensor(out->contract->arg[i].kind))
			add_quantity(out, (struct kl_quantity){
						  .name = kl_asprintf("align(%s)",
								      out->contract->arg[i].name),
						  .kind = KL_FIT_ALIGN,
						  .of = KL_QUANTITY_ALIGN,
						  .at = i,
						  .dim = -1,
					  });
}

static void add_values(struct kl_quantities *out)
{
	for (int i = KL_PROBE_PLAIN + 1; i < KL_PROBE_VALUES; i++)
		add_quantity(out,
			     (struct kl_quantity){
				     .name = kl_asprintf("values != '%s'", kl_probe_value_names[i]),
				     .kind = KL_FIT_FLAG,
				     .of = KL_QUANTITY_VALUES,
				     .at = (size_t)i,
				     .dim = -1,
			     });
}

void kl_quantities_find(struct kl_quantities *out, const struct kl_taxonomy *tax,
			const struct kl_contract *contract)
{
	*out = (struct kl_quantities){ .contract = contract, .tax = tax };
	kl_roles_find(&out->roles, tax, contract);
	add_roles(out);
	add_tensors(out);
	add_addresses(out);
	add_values(out);
}

void kl_quantities_release(struct kl_quantities *quantities)
{
	for (size_t i = 0; i < quantities->n; i++)
		free(quantities->v[i].name);
	free(quantities->v);
	*quantities = (struct kl_quantities){ .n = 0 };
}

/* --- at a point ------------------------------------------------------------------------------- */

static int64_t tensor_value(const struct kl_quantities *quantities,
			    const struct kl_quantity *quantity, const struct kl_dims *dims)
{
	const struct kl_arg *arg = &quantities->contract->arg[quantity->at];
	int64_t extent[KL_MAX_AXES], product = 1;

	if (kl_contract_shape(extent, quantities->contract, quantity->at, dims) < 0) {
		kl_error_clear();
		return 0;
	}
	if (quantity->of == KL_QUANTITY_PITCH)
		return extent[arg->naxes - 1] * (int64_t)kl_dtype_bytes(arg->dtype);
	for (size_t i = 0; i < arg->naxes; i++)
		product *= extent[i];
	return product;
}

/*
 * Return the greatest power of two that divides the tensor's address in every call. If the gate
 * chooses the addresses, the tensor ends at the end of a page in about half of the calls.
 */
static int64_t align_of(const struct kl_quantities *quantities, size_t tensor,
			const struct kl_probe_point *point)
{
	int64_t bytes = 0;

	if (point->base)
		return point->tensor == tensor ? point->base : KL_GATE_BASE;
	if (kl_probe_has_address(quantities->contract, tensor) &&
	    kl_contract_tensor_bytes(&bytes, quantities->contract, tensor, &point->dims) < 0)
		kl_error_clear();
	bytes &= -bytes;
	return bytes && bytes < KL_QUANTITY_PAGE ? bytes : KL_QUANTITY_PAGE;
}

static int64_t value_of(const struct kl_quantities *quantities, const struct kl_quantity *quantity,
			const struct kl_probe_point *point)
{
	int64_t value = 0;

	switch (quantity->of) {
	case KL_QUANTITY_ROLE:
		return kl_roles_extent(&value, &quantities->roles, quantity->at, &point->dims) ?
			       value :
			       0;
	case KL_QUANTITY_DIM:
		return point->dims.v[quantity->at];
	case KL_QUANTITY_PITCH:
	case KL_QUANTITY_ELEMENTS:
		return tensor_value(quantities, quantity, &point->dims);
	case KL_QUANTITY_ALIGN:
		return align_of(quantities, quantity->at, point);
	case KL_QUANTITY_VALUES:
		return point->values == quantity->at;
	}
	return 0;
}

void kl_quantities_at(int64_t *value, const struct kl_quantities *quantities,
		      const struct kl_probe_point *point)
{
	for (size_t i = 0; i < quantities->n; i++)
		value[i] = value_of(quantities, &quantities->v[i], point);
}

void kl_quantities_facts(struct kl_known *known, const struct kl_quantities *quantities,
			 const struct kl_probe_point *point)
{
	const struct kl_contract *contract = quantities->contract;

	for (size_t i = 0; i < point->dims.n; i++)
		kl_known_int(known, contract->dim_name[i], point->dims.v[i]);
	for (size_t i = 0; i < quantities->n; i++)
		if (quantities->v[i].of != KL_QUANTITY_VALUES &&
		    (quantities->v[i].of != KL_QUANTITY_ALIGN || point->base))
			kl_known_int(known, quantities->v[i].name,
				     value_of(quantities, &quantities->v[i], point));
	for (size_t i = 0; i < contract->nargs; i++) {
		KL_AUTO(kl_freep) char *key = kl_asprintf("bytes(%s)", contract->arg[i].name);
		KL_AUTO(kl_freep) char *esize = kl_asprintf("esize(%s)", contract->arg[i].name);
		int64_t bytes;

		if (!kl_arg_kind_is_tensor(contract->arg[i].kind))
			continue;
		kl_known_int(known, esize, (int64_t)kl_dtype_bytes(contract->arg[i].dtype));
		if (kl_contract_tensor_bytes(&bytes, contract, i, &point->dims) == 0)
			kl_known_int(known, key, bytes);
		kl_error_clear();
	}
	kl_known_text(known, "op", contract->op);
	kl_known_text(known, "language", contract->language->name);
	kl_known_text(known, "values", kl_probe_value_names[point->values]);
}
