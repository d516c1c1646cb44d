/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_FILL_H
#define KL_CONTRACT_FILL_H

#include "job/argument.h"
#include "plan/expr.h"
#include "text/json.h"
#include "text/schema.h"

/*
 * fill - how an input's values are drawn, in canonical form. See
 * docs/formats.md, "Job and result": {"normal":[0.0,1.0],"map":"exp","scale":0.5}.
 *
 * In a contract, the value of `index` is an expression, which is kept as text. kl_fill_resolve()
 * replaces it by numbers when a job is built.
 */

/**
 * Read a fill, written as a word or a map, and check that it can fill an argument of this type.
 * Errors are KL_EINVALID with the position in `file`; the caller owns *out.
 */
int kl_fill_read(json_t **out, const char *file, const struct kl_field *field,
		 const struct kl_yaml *node, enum kl_dtype dtype, const struct kl_expr_names *dims);

/** The default fill: standard normal; NULL for an integer type, which has no default. */
json_t *kl_fill_default(enum kl_dtype dtype);

/**
 * Has the fill `map`, `unit`, `lower` or `running`? Scaling its values would change its meaning.
 */
bool kl_fill_is_shaped(const json_t *fill);

/** The text of the fill's `index` expression, which can be inside `repeat`; NULL: it has none. */
const char *kl_fill_index(const json_t *fill);

/** A copy with `value` instead of the `index` expression; the caller keeps its own reference. */
json_t *kl_fill_resolve(const json_t *fill, json_t *value);

#endif
