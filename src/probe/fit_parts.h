/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_FIT_PARTS_H
#define KL_PROBE_FIT_PARTS_H

#include "probe/fit.h"

/* fit_parts - functions that fit.c and fit_clause.c share. Inside src/probe only. */

int64_t kl_fit_value_at(const struct kl_fit_table *table, size_t row, size_t quantity);
bool kl_fit_atom_holds(const struct kl_fit_atom *atom, const struct kl_fit_table *table,
		       size_t row);
/** Return the clause as a predicate (card/predicate.h); the caller frees it. */
char *kl_fit_clause_text(const struct kl_fit_clause *clause, const struct kl_fit_table *table);

#endif
