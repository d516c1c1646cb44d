/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_PARTS_H
#define KL_CONTRACT_PARTS_H

#include "contract/contract.h"
#include "plan/expr.h"
#include "text/schema.h"

/*
 * parts - the sections of a contract, as fields of its table (contract.c). Each reads into the
 * struct kl_contract and releases what it has read. They are read in the order of the table, since
 * each uses what the fields before it have set.
 */

/* --- points.c ------------------------------------------------------------------ */

/** `case`: op and dims. Without `cases`, the case is the only one that is timed. */
extern const struct kl_schema kl_contract_case;
/** `domain`: conditions on the dims; the case must meet them, too. */
extern const struct kl_value_type kl_contract_domain;
extern const struct kl_value_type kl_contract_cases;
extern const struct kl_value_type kl_contract_also;

/* --- sections.c ---------------------------------------------------------------- */

/** `surface`: language, sources, flags, and how the kernel is called; sets contract->language. */
extern const struct kl_value_type kl_contract_surface;
/** `oracle`: the same for the oracle, which has the language of the surface. */
extern const struct kl_value_type kl_contract_oracle;
/** Path of a file below the contract's directory, without characters special to a shell. */
extern const struct kl_string_type kl_contract_path;

/* --- args.c -------------------------------------------------------------------- */

/** `args`: every shape is evaluated at every point. */
extern const struct kl_value_type kl_contract_args;
extern const struct kl_value_type kl_contract_sweep;

/** Read a fill for an argument; its `index` is evaluated at every point. */
int kl_contract_fill_read(json_t **out, const struct kl_contract *contract,
			  const struct kl_arg *arg, const struct kl_field *field,
			  const struct kl_yaml *node);

/* --- accept.c ------------------------------------------------------------------ */

extern const struct kl_value_type kl_contract_accept;

/* --- bands.c ------------------------------------------------------------------- */

extern const struct kl_value_type kl_contract_exact;
extern const struct kl_value_type kl_contract_bands;

/* --- for all of them ----------------------------------------------------------- */

/** Read an expression over the dims; errors have the column in the expression. */
int kl_contract_expr_read(struct kl_expr **out, const struct kl_contract *contract,
			  const struct kl_field *field, const struct kl_yaml *node,
			  enum kl_expr_type type);
/** Check that the value is within [min, max] at the case and all points. `what`: for messages. */
int kl_contract_expr_check(const struct kl_expr *expr, const struct kl_contract *contract,
			   const struct kl_yaml *node, const char *what, int64_t min, int64_t max);

/** Bytes of a tensor at a point. KL_EINVALID: a bad extent, or more than 2^40 bytes. */
int kl_contract_arg_bytes(int64_t *out, const struct kl_arg *arg, const struct kl_dims *dims);

/**
 * What is checked while a contract is read: for i = 0 the case itself, then the points. `id` gets
 * "case", "case0", ... Returns NULL after the last point.
 */
const struct kl_dims *kl_contract_check_point(const struct kl_contract *contract, size_t i,
					      char id[32]);

#endif
