/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_NODE_H
#define KL_TEXT_YAML_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/yaml.h"

/*
 * yaml_node - typed access to the values of a YAML file, with errors that give their position.
 *
 * Such an error reads "klineage.yaml:7:14: 'weight' must be a whole number from 1 to 1000000". A
 * node borrows the tree and is passed by value.
 *
 *	err = kl_node_keys(top, known, 2);		first two are required
 *	err = kl_node_int(&n, kl_node_get(top, "klineage"), 1, 1);
 */
struct kl_node {
	const char *file;        /* for messages */
	const struct kl_yaml *y; /* NULL: the key is absent */
	const char *what;        /* the key of the value, for messages */
};

/** Member of a map; `y` is NULL if it is absent. */
struct kl_node kl_node_get(struct kl_node map, const char *key);
/** Element of a list (or value of a map) by position, with the `what` of `list`. */
struct kl_node kl_node_item(struct kl_node list, size_t i);

/** Set the error "<file>:<line>:<column>: ..." at the node and return KL_EINVALID. */
int kl_node_error(struct kl_node node, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Repeat the last error at `offset` bytes inside a one-line scalar. */
int kl_node_error_at(struct kl_node node, size_t offset);

/* Checks and conversions: KL_EINVALID at the node if the value has another form. */

/**
 * Check for a map whose keys are all in `known` (NULL-terminated) and that has the first `required`
 * of them.
 */
int kl_node_keys(struct kl_node node, const char *const *known, size_t required);
/** Check for a list of `min` to `max` elements. */
int kl_node_list(struct kl_node node, size_t min, size_t max);
/** Check for a map of `min` to `max` keys, with any names. */
int kl_node_map(struct kl_node node, size_t min, size_t max);
/** A scalar that is not empty; borrowed. */
int kl_node_text(const char **out, struct kl_node node);
/** A slug: [a-z0-9][a-z0-9._-]*, at most 64 bytes, valid as part of a ref name; borrowed. */
int kl_node_slug(const char **out, struct kl_node node);
/** A C identifier of at most 63 bytes; borrowed. */
int kl_node_ident(const char **out, struct kl_node node);
/** An unquoted decimal integer from `min` to `max`. */
int kl_node_int(int64_t *out, struct kl_node node, int64_t min, int64_t max);
/** An unquoted decimal number, or .inf, -.inf, .nan. */
int kl_node_num(double *out, struct kl_node node);
/** A finite number from `min` to `max`. */
int kl_node_num_in(double *out, struct kl_node node, double min, double max);
int kl_node_bool(bool *out, struct kl_node node);
/** One of a NULL-terminated list of words, as its index. */
int kl_node_choice(int *out, struct kl_node node, const char *const *words);

#endif
