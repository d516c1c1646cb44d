/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_FILL_H
#define KL_CONTRACT_FILL_H

#include "job/argument.h"
#include "plan/expr.h"
#include "text/json.h"
#include "text/schema.h"

/*
 * fill - reads how an input's values are drawn, and converts this to canonical form. An example of
 * the canonical form is {"normal":[0.0,1.0],"map":"exp","scale":0.5} (docs/formats.md, "Job and
 * result").
 *
 * In a contract, the value of `index` is an expression, which is kept as text. kl_fill_resolve()
 * replaces the expression by a value when a job is built.
 */

/**
 * Read a fill, written as a word or a map, and check that it can fill an argument of this type.
 * Errors are KL_EINVALID with the position in `file`; the caller owns *out.
 */
int kl_fill_read(json_t **out, const char *file, const struct kl_field *field,
		 const struct kl_yaml *node, enum kl_dtype dtype, const struct kl_expr_names *dims);

/** Return the default fill: standard normal; NULL for an integer type, which has no default. */
json_t *kl_fill_default(enum kl_dtype dtype);

/**
 * Return true if the fill has `map`, `unit`, `lower` or `running`. The values of such a fill cannot
 * be scaled: a triangular matrix, for example, would no longer be unit triangular.
 */
bool kl_fill_is_shaped(const json_t *fill);

/**
 * Return the text of the fill's `index` expression, also inside `repeat`; NULL if there is none.
 */
const char *kl_fill_index(const json_t *fill);

/**
 * Return a copy with `value` in place of the `index` expression. The caller keeps its reference to
 * `value`.
 */
json_t *kl_fill_resolve(const json_t *fill, json_t *value);

#endif
