/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_PARTS_H
#define KL_CONTRACT_PARTS_H

#include "contract/contract.h"
#include "plan/expr.h"
#include "text/schema.h"

/*
 * parts - declares the readers of a contract's sections, which the table in contract.c uses. Each
 * reader reads its section into struct kl_contract, and releases what it has read. Sections are
 * read in the order of the table, since readers use what earlier readers have set.
 */

/*
 * --- sections that points.c reads ----------------------------------------------
 */

/** `case`: op and dims. Without `cases`, the case is the only one that is timed. */
extern const struct kl_schema kl_contract_case;
/** `domain`: conditions on the dims, which the case must satisfy as well. */
extern const struct kl_value_type kl_contract_domain;
extern const struct kl_value_type kl_contract_cases;
extern const struct kl_value_type kl_contract_also;

/*
 * --- sections that sections.c reads --------------------------------------------
 */

/** `surface`: language, sources, flags, and how the kernel is called; sets contract->language. */
extern const struct kl_value_type kl_contract_surface;
/** `oracle`: sources of the oracle, and how it is called. Its language must be the surface's. */
extern const struct kl_value_type kl_contract_oracle;
/** Path of a file below the contract's directory, without characters special to a shell. */
extern const struct kl_string_type kl_contract_path;

/*
 * --- keys of `surface` that build_keys.c reads -----------------------------------
 */

extern const struct kl_string_type kl_contract_directory, kl_contract_trap,
	kl_contract_plain_define;
/* clang-format off */
#define KL_CONTRACT_BUILD_SET(key, m, type, most) \
	KL_SET_FIELD(key, 0, offsetof(struct kl_contract, build.m), type, 1, most)
/* `units` is read before `sources`, which may have any suffixes if there are units */
#define KL_CONTRACT_UNITS_FIELD \
	KL_CONTRACT_BUILD_SET("units", units, &kl_contract_path, KL_LANGUAGE_MAX_SOURCES)
#define KL_CONTRACT_BUILD_FIELDS \
	KL_CONTRACT_BUILD_SET("define", define, &kl_contract_define, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("undefine", undefine, &kl_contract_undefine, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("include", include, &kl_contract_directory, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("iquote", iquote, &kl_contract_directory, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("isystem", isystem, &kl_contract_directory, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("preinclude", preinclude, &kl_contract_path, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("traps", traps, &kl_contract_trap, KL_LANGUAGE_MAX_FLAGS)
/* the fields for nvcc, which passes values through a shell and does not have -iquote */
#define KL_CONTRACT_CUDA_BUILD_FIELDS \
	KL_CONTRACT_BUILD_SET("define", define, &kl_contract_plain_define, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("undefine", undefine, &kl_contract_undefine, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("include", include, &kl_contract_directory, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("isystem", isystem, &kl_contract_directory, KL_LANGUAGE_MAX_FLAGS), \
	KL_CONTRACT_BUILD_SET("preinclude", preinclude, &kl_contract_path, KL_LANGUAGE_MAX_FLAGS)
/* clang-format on */
/** Check that units and preincluded files are sources. */
int kl_contract_build_finish(struct kl_contract *contract, const struct kl_yaml *section);
void kl_contract_build_release(struct kl_contract_build *build);

/*
 * --- sections that args.c reads ------------------------------------------------
 */

/** `args`: the arguments. Every shape is checked at every point. */
extern const struct kl_value_type kl_contract_args;
extern const struct kl_value_type kl_contract_sweep;
/** Read an element type. "bool" means a u8 that is 0 or 1, and sets *is_bool. */
int kl_contract_dtype_read(enum kl_dtype *out, bool *is_bool, const char *file,
			   const struct kl_field *field, const struct kl_yaml *node);

/*
 * --- the section that returns.c reads ------------------------------------------
 */

/** `returns`: the value that the kernel returns, which becomes the last of the arguments. */
extern const struct kl_value_type kl_contract_returns;

/*
 * --- sections that adapter.c reads ----------------------------------------------
 */

/** `adapter`: path of the file that calls the kernel, or a list of such paths. */
extern const struct kl_value_type kl_contract_adapter;
/** `prepares`: functions of the kernel that the adapter may call untimed. */
extern const struct kl_value_type kl_contract_prepares;

/*
 * --- fills, which args.c reads -------------------------------------------------
 */

/** Read a fill for an argument; its `index` is checked at every point. The caller owns `*out`. */
int kl_contract_fill_read(json_t **out, const struct kl_contract *contract,
			  const struct kl_arg *arg, const struct kl_field *field,
			  const struct kl_yaml *node);

/*
 * --- the section that accept.c reads -------------------------------------------
 */

extern const struct kl_value_type kl_contract_accept;

/*
 * --- sections that bands.c reads -----------------------------------------------
 */

extern const struct kl_value_type kl_contract_exact;
extern const struct kl_value_type kl_contract_bands;

/*
 * --- functions that several readers share ---------------------------------------
 */

/** Read an expression over the dims; error messages give the column within the expression. */
int kl_contract_expr_read(struct kl_expr **out, const struct kl_contract *contract,
			  const struct kl_field *field, const struct kl_yaml *node,
			  enum kl_expr_type type);
/**
 * Check that the value is in [min, max] at the case and all points; `what` names the value in
 * messages.
 */
int kl_contract_expr_check(const struct kl_expr *expr, const struct kl_contract *contract,
			   const struct kl_yaml *node, const char *what, int64_t min, int64_t max);

/**
 * Compute a tensor's bytes at a point. Return KL_EINVALID if an extent is invalid, or the tensor
 * has more than 2^40 bytes.
 */
int kl_contract_arg_bytes(int64_t *out, const struct kl_arg *arg, const struct kl_dims *dims);

/**
 * Return the i-th set of dims at which a contract is checked while it is read: the case for i = 0,
 * then the points. `id` is set to "case", "case0", ... Return NULL after the last point.
 */
const struct kl_dims *kl_contract_check_point(const struct kl_contract *contract, size_t i,
					      char id[32]);

#endif
