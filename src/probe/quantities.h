/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_QUANTITIES_H
#define KL_PROBE_QUANTITIES_H

#include "card/predicate.h"
#include "probe/fit.h"
#include "probe/points.h"
#include "retrieve/roles.h"

/*
 * quantities - the numbers of a point over which conditions are sought: the extent of each role,
 * the value of each dim that shares its role with others or has none, the pitch in bytes of each
 * tensor (the distance of its rows) and its number of elements, the greatest power of two that
 * divides the address of each tensor, and the classes of values.
 */
/* Greatest value of `align`. It is a multiple of all powers of two that conditions use. */
#define KL_QUANTITY_PAGE 4096

struct kl_quantities {
	const struct kl_contract *contract; /* borrowed */
	const struct kl_taxonomy *tax;      /* borrowed */
	struct kl_roles roles;
	struct kl_quantity {
		char *name;
		enum kl_fit_kind kind;
		enum {
			KL_QUANTITY_ROLE,
			KL_QUANTITY_DIM,
			KL_QUANTITY_PITCH,
			KL_QUANTITY_ELEMENTS,
			KL_QUANTITY_ALIGN,
			KL_QUANTITY_VALUES,
		} of;
		size_t at; /* index of the role, dim or argument; or enum kl_probe_values */
		int dim;   /* the dim that the quantity equals; -1 if it equals none */
	} * v;
	size_t n, alloc;
};

void kl_quantities_find(struct kl_quantities *out, const struct kl_taxonomy *tax,
			const struct kl_contract *contract);
void kl_quantities_release(struct kl_quantities *quantities);
/** Compute all quantities at a point, which the contract must allow. */
void kl_quantities_at(int64_t *value, const struct kl_quantities *quantities,
		      const struct kl_probe_point *point);
/**
 * Add the facts of a point for predicates: dims, quantities (addresses only if the point has
 * them), `bytes(<tensor>)`, `esize(<tensor>)` (bytes for each element) and `values`.
 */
void kl_quantities_facts(struct kl_known *known, const struct kl_quantities *quantities,
			 const struct kl_probe_point *point);

#endif
