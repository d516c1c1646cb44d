/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_SCAN_H
#define KL_REWRITE_SCAN_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * scan - reads lines, tags, attributes and bodies of a model's reply.
 *
 * envelope.c and envelope_traits.c are built on it. A tag has a name from a table and stands alone
 * on its line; every other line is part of a body or ignored text. Errors are KL_EINVALID; the
 * message names the line of the reply.
 */
struct kl_scan {
	const char *text;
	size_t len, pos;
	int line;               /* number of the last line taken, from 1; 0 if there is none yet */
	const char *const *tag; /* the names of tags, NULL-terminated */
};

/** A line, without its newline; borrowed. */
struct kl_scan_line {
	const char *s;
	size_t n;
};

struct kl_scan_tag {
	const char *name; /* from the table */
	bool closing;
	struct kl_scan_line rest; /* the rest of the line after the name */
};

/** Check that a reply is UTF-8 without NUL and not too long. */
int kl_scan_check(const char *text, size_t len);
/** Take the next line; false at the end. */
bool kl_scan_take(struct kl_scan_line *out, struct kl_scan *scan);
/** Return the line without white space at both ends. */
struct kl_scan_line kl_scan_trim(struct kl_scan_line line);
/** Read a tag; false if the line does not begin with a tag in scan->tag. */
bool kl_scan_tag(struct kl_scan_tag *out, const struct kl_scan *scan, struct kl_scan_line line);
/** Set an error at the current line and return KL_EINVALID. */
int kl_scan_bad(const struct kl_scan *scan, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Check that only '>' follows the name: for closing tags and tags without attributes. */
int kl_scan_alone(const struct kl_scan *scan, const struct kl_scan_tag *tag);

/**
 * A value to read, which can occur only once. *value must be NULL at first; the caller frees it.
 */
struct kl_scan_field {
	const char *key; /* "?key" is optional in kl_scan_keys(): *value stays NULL if absent */
	char **value;
};

/** Read the attributes of a tag. All attributes of the list are required; any other is an error. */
int kl_scan_attributes(const struct kl_scan *scan, const struct kl_scan_tag *tag,
		       const struct kl_scan_field *list, size_t n);
/** Read lines as they are up to </name>; any other tag is an error. Caller frees *out. */
int kl_scan_body(char **out, struct kl_scan *scan, const char *name);
/**
 * Read "key: value" lines up to </name>. All keys of the list are required, except optional ones;
 * any other key is an error.
 */
int kl_scan_keys(struct kl_scan *scan, const char *name, const struct kl_scan_field *list,
		 size_t n);
/** Read the text of "<nothing-left>why</nothing-left>", on one or more lines. Caller frees *out. */
int kl_scan_phrase(char **out, struct kl_scan *scan, const struct kl_scan_tag *tag);

#endif
