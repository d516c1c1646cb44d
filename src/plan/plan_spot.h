/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_PLAN_SPOT_H
#define KL_PLAN_PLAN_SPOT_H

#include "base/error.h"
#include "plan/expr.h"
#include "plan/plan.h"

/*
 * plan_spot - a place in a plan, and values read there with checks. A spot is passed by address,
 * made anew for each step down:
 *
 *	struct kl_spot grid = kl_spot_key(&launch, "grid"), x = kl_spot_item(&grid, 0);
 *	err = kl_spot_expr(&e, &x, json_array_get(list, 0), &names);
 *	...	"launch[0].grid[0]: 'P' is not ..."
 */
struct kl_spot {
	char path[KL_PLAN_PLACE];
	char *place; /* the caller's, KL_PLAN_PLACE bytes, or NULL */
};

struct kl_spot kl_spot_key(const struct kl_spot *up, const char *key);
struct kl_spot kl_spot_item(const struct kl_spot *up, size_t i);

/** Message with the place in front, the place to its buffer; returns the kind. */
int kl_spot_fail(const struct kl_spot *at, enum kl_err kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define kl_spot_error(at, ...) kl_spot_fail(at, KL_EINVALID, __VA_ARGS__)
/** The same with the error there is, `offset` bytes into the text of the place. */
int kl_spot_error_at(const struct kl_spot *at, size_t offset);
/** The same for a key that is wrong itself. */
int kl_spot_error_key(const struct kl_spot *map, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* KL_EINVALID at the spot when the value is absent (NULL) or not what it should be. */

/**
 * An object with no key but `known` (NULL-terminated), of which the first `required` must be there.
 */
int kl_spot_keys(const struct kl_spot *at, const json_t *value, const char *const *known,
		 size_t required);
/** An object of at most `max` members, whose keys are identifiers. */
int kl_spot_map(const struct kl_spot *at, const json_t *value, size_t max);
int kl_spot_list(const struct kl_spot *at, const json_t *value, size_t min, size_t max);
/** A string of 1 to `max` printable bytes; borrowed. */
int kl_spot_text(const char **out, const struct kl_spot *at, const json_t *value, size_t max);
/** Index into a NULL-terminated list of words. */
int kl_spot_choice(int *out, const struct kl_spot *at, const json_t *value,
		   const char *const *words);
int kl_spot_bool(bool *out, const struct kl_spot *at, const json_t *value);
/** A number written out, not an expression. */
int kl_spot_int(int64_t *out, const struct kl_spot *at, const json_t *value, int64_t min,
		int64_t max);
int kl_spot_num(double *out, const struct kl_spot *at, const json_t *value);
/** An expression, or an integer. `*out` is the caller's. */
int kl_spot_expr(struct kl_expr **out, const struct kl_spot *at, const json_t *value,
		 const struct kl_expr_names *names);

/** A C identifier of at most 63 bytes? */
bool kl_spot_is_ident(const char *text);

#endif
