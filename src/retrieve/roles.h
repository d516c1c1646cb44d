/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_ROLES_H
#define KL_RETRIEVE_ROLES_H

#include "contract/contract.h"
#include "retrieve/taxonomy.h"

/*
 * roles - the roles of a contract's dims: rows, cols, reduction, ... A predicate over roles means
 * the same for a kernel whose dims have other names.
 *
 * If the taxonomy knows the operator and one of its dims, the roles are the taxonomy's. Otherwise
 * they follow from the shapes of the tensors: a dim that occurs in inputs but in no output is a
 * `reduction`; the last axis of the first output is `cols`, the one before it `rows`; any other
 * dim of an output is `batch`.
 */
struct kl_roles {
	unsigned of[KL_MAX_DIMS]; /* for each dim: bit i stands for kl_taxonomy.roles.v[i] */
};

void kl_roles_find(struct kl_roles *out, const struct kl_taxonomy *tax,
		   const struct kl_contract *contract);
/**
 * Compute the product of all dims with role `role`. Return false if no dim has the role, or if the
 * product overflows.
 */
bool kl_roles_extent(int64_t *out, const struct kl_roles *roles, size_t role,
		     const struct kl_dims *dims);

#endif
