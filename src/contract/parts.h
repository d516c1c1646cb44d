/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_PARTS_H
#define KL_CONTRACT_PARTS_H

#include "contract/contract.h"
#include "plan/expr.h"
#include "text/schema.h"

/*
 * parts - the sections of a contract, as fields of its table (contract.c). Every one of them gets
 * the contract itself and frees what it put there. They are read in the order of the table, since
 * each checks against what came before.
 */

/* --- points.c ------------------------------------------------------------------ */

/** case: op and dims. Until `cases` says otherwise the case is the only one. */
extern const struct kl_schema kl_contract_case;
/** Conditions, under which the case must be, too. */
extern const struct kl_value_type kl_contract_domain;
extern const struct kl_value_type kl_contract_cases;
extern const struct kl_value_type kl_contract_also;

/* --- sections.c ---------------------------------------------------------------- */

/** language, sources, flags, and how the code is called. Sets contract->language. */
extern const struct kl_value_type kl_contract_surface;
/** The same of the oracle, which is of that language. */
extern const struct kl_value_type kl_contract_oracle;
/** A file below the contract's directory, plain enough for command lines. */
extern const struct kl_string_type kl_contract_path;

/* --- args.c -------------------------------------------------------------------- */

/** Every shape is evaluated at every point. */
extern const struct kl_value_type kl_contract_args;
extern const struct kl_value_type kl_contract_sweep;

/** A fill for an argument, its index checked at every point. */
int kl_contract_fill_read(json_t **out, const struct kl_contract *contract,
			  const struct kl_arg *arg, const struct kl_field *field,
			  const struct kl_yaml *node);

/* --- accept.c ------------------------------------------------------------------ */

extern const struct kl_value_type kl_contract_accept;

/* --- bands.c ------------------------------------------------------------------- */

extern const struct kl_value_type kl_contract_exact;
extern const struct kl_value_type kl_contract_bands;

/* --- for all of them ----------------------------------------------------------- */

/** An expression over the dims; what is wrong with it stands at its column. */
int kl_contract_expr_read(struct kl_expr **out, const struct kl_contract *contract,
			  const struct kl_field *field, const struct kl_yaml *node,
			  enum kl_expr_type type);
/** Is its value at every point within [min, max]? `what`: the expression, for messages. */
int kl_contract_expr_check(const struct kl_expr *expr, const struct kl_contract *contract,
			   const struct kl_yaml *node, const char *what, int64_t min, int64_t max);

/** Bytes of a tensor at a point; checked for sign and overflow. */
int kl_contract_arg_bytes(int64_t *out, const struct kl_arg *arg, const struct kl_dims *dims);

/**
 * For messages and checks: the case itself, then the points. `id` gets
 * "case", "case0", ...; NULL after the last.
 */
const struct kl_dims *kl_contract_check_point(const struct kl_contract *contract, size_t i,
					      char id[32]);

#endif
