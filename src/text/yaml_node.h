/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_NODE_H
#define KL_TEXT_YAML_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/yaml.h"

/*
 * yaml_node - typed values of a YAML file, or an error at their place: "klineage.yaml:7:14:
 * 'weight' must be a whole number from 1 to 1000000". A node borrows the tree and is passed by
 * value.
 *
 *	err = kl_node_keys(top, known, 2);		first two are required
 *	err = kl_node_int(&n, kl_node_get(top, "klineage"), 1, 1);
 */
struct kl_node {
	const char *file;        /* for messages */
	const struct kl_yaml *y; /* NULL: the key is absent */
	const char *what;        /* the key it stands under */
};

/** Member of a map; `y` is NULL if it is absent. */
struct kl_node kl_node_get(struct kl_node map, const char *key);
/** Element of a list (or value of a map) by position; keeps `what`. */
struct kl_node kl_node_item(struct kl_node list, size_t i);

/** KL_EINVALID "<file>:<line>:<column>: ..." at the node. */
int kl_node_error(struct kl_node node, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** The message there is, put at `offset` bytes inside a one-line scalar. */
int kl_node_error_at(struct kl_node node, size_t offset);

/** A map with no key but `known` (NULL-terminated), of which the first `required` must be there. */
int kl_node_keys(struct kl_node node, const char *const *known, size_t required);
/** A list of `min` to `max` elements. */
int kl_node_list(struct kl_node node, size_t min, size_t max);
/** A map of any keys, `min` to `max` of them. */
int kl_node_map(struct kl_node node, size_t min, size_t max);
/** A scalar that is not empty; borrowed. */
int kl_node_text(const char **out, struct kl_node node);
/** [a-z0-9][a-z0-9._-]*, at most 64, a valid part of a ref name. */
int kl_node_slug(const char **out, struct kl_node node);
/** C identifier, at most 63 bytes. */
int kl_node_ident(const char **out, struct kl_node node);
/** Decimal, unquoted. */
int kl_node_int(int64_t *out, struct kl_node node, int64_t min, int64_t max);
/** Decimal or .inf, -.inf, .nan, unquoted. */
int kl_node_num(double *out, struct kl_node node);
/** Finite and within [min, max]. */
int kl_node_num_in(double *out, struct kl_node node, double min, double max);
int kl_node_bool(bool *out, struct kl_node node);
/** Index into a NULL-terminated list of words. */
int kl_node_choice(int *out, struct kl_node node, const char *const *words);

/** Is the text a slug, an identifier? */
bool kl_node_is_slug(const char *text);
bool kl_node_is_ident(const char *text);

#endif
