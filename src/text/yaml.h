/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_H
#define KL_TEXT_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/*
 * yaml - one YAML document as a tree that knows its lines (libyaml).
 *
 * The subset for hostile files: one document, UTF-8, no anchors, aliases,
 * tags or duplicate keys, keys are scalars, depth at most 32, at most 65536
 * nodes. Scalars stay text: who reads a field knows its type.
 */
enum kl_yaml_kind { KL_YAML_SCALAR, KL_YAML_SEQ, KL_YAML_MAP };

struct kl_yaml {
	enum kl_yaml_kind kind;
	int line, col; /* from 1 */
	char *text;    /* scalar: its bytes, NUL-terminated, no NUL inside */
	size_t len;
	int plain;               /* scalar: written without quotes */
	int flow;                /* to be written in braces (yaml_write.h) */
	struct kl_yaml **item;   /* seq: elements; map: values */
	char **key;              /* map: keys, same index */
	struct kl_yaml *up;      /* the list or map that it is in; NULL: the root */
	bool paths;              /* root: errors name paths ("launch[0].grid[1]: ...") too */
	int *key_line, *key_col; /* map: where each key stands; NULL: it was not read */
	size_t n;
};

/** Parse; errors are KL_EINVALID "<name>:<line>:<column>: <what>". `*out` is the caller's. */
int kl_yaml_parse(struct kl_yaml **out, const char *name, const char *text, size_t len);
void kl_yaml_free(struct kl_yaml *node);
KL_DEFINE_CLEANUP(struct kl_yaml *, kl_yaml_free)

/** Value of a key, borrowed, or NULL. */
const struct kl_yaml *kl_yaml_get(const struct kl_yaml *map, const char *key);

/**
 * KL_EINVALID "<name>:<line>:<column>: ..." at a node. A tree that was not parsed has no lines:
 * "<name>: ...". `name` NULL: only the path, if the tree has paths.
 */
int kl_yaml_error(const char *name, const struct kl_yaml *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** The same at the i-th key of a map. */
int kl_yaml_key_error(const char *name, const struct kl_yaml *map, size_t i, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
