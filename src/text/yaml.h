/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_YAML_H
#define KL_TEXT_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

/*
 * yaml - parses one YAML document into a tree with line numbers (libyaml).
 *
 * Input is untrusted, so only a subset of YAML is accepted: one document, UTF-8, no anchors,
 * aliases, tags or duplicate keys, only scalars as keys, depth at most 32, at most 65536 nodes.
 * Scalars are kept as text; the reader of a field converts them.
 */
enum kl_yaml_kind { KL_YAML_SCALAR, KL_YAML_SEQ, KL_YAML_MAP };

struct kl_yaml {
	enum kl_yaml_kind kind;
	int line, col;         /* position in the text, from 1; 0 if not parsed from text */
	char *text;            /* scalar: its bytes, NUL-terminated, without other NUL bytes */
	size_t len;            /* scalar: number of bytes of `text` */
	int plain;             /* scalar: true if it is written without quotes */
	int flow;              /* list or map: true to write it in flow style, {...} or [...] */
	struct kl_yaml **item; /* list: elements; map: values */
	char **key;            /* map: key of each value */
	struct kl_yaml *up;    /* parent list or map; NULL for the root */
	/* root only: errors also give the path of a value ("launch[0].grid[1]: ...") */
	bool paths;
	int *key_line, *key_col; /* map: position of each key; NULL if not parsed from text */
	size_t n;                /* list, map: number of values */
};

/**
 * Parse a text; the caller frees *out. On KL_EINVALID, the message is "<name>:<line>:<column>:
 * ...".
 */
int kl_yaml_parse(struct kl_yaml **out, const char *name, const char *text, size_t len);
void kl_yaml_free(struct kl_yaml *node);
KL_DEFINE_CLEANUP(struct kl_yaml *, kl_yaml_free)

/** Return the value of a key, borrowed; NULL if the key is absent or `map` is not a map. */
const struct kl_yaml *kl_yaml_get(const struct kl_yaml *map, const char *key);

/**
 * Set the error "<name>:<line>:<column>: ..." for a node and return KL_EINVALID. The position is
 * omitted if the tree was not parsed from text, and the name is omitted if `name` is NULL.
 */
int kl_yaml_error(const char *name, const struct kl_yaml *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Like kl_yaml_error(), but with the position of the i-th key of a map. */
int kl_yaml_key_error(const char *name, const struct kl_yaml *map, size_t i, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * Prefix the last error with the position that is `offset` bytes inside a scalar of one line, and
 * return KL_EINVALID.
 */
int kl_yaml_error_inside(const char *name, const struct kl_yaml *at, size_t offset);

#endif
