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
 * In a contract `index` is an expression and stays text; kl_fill_resolve()
 * puts numbers in its place once the points are known.
 */

/** Read a word or a map, checked against the type it has to make. */
int kl_fill_read(json_t **out, const char *file, const struct kl_field *field,
		 const struct kl_yaml *node, enum kl_dtype dtype, const struct kl_expr_names *dims);

/** `normal`, or NULL for an integer type, which has no default. */
json_t *kl_fill_default(enum kl_dtype dtype);

/** Has it a `map`, `unit`, `lower` or `running`, so that scaling it would change its meaning? */
bool kl_fill_is_shaped(const json_t *fill);

/** The text of its `index` expression (also inside `repeat`), or NULL. */
const char *kl_fill_index(const json_t *fill);

/** A copy in which the `index` expression is replaced by `value` (a reference is taken). */
json_t *kl_fill_resolve(const json_t *fill, json_t *value);

#endif
