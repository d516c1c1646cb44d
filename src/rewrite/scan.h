/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_SCAN_H
#define KL_REWRITE_SCAN_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * scan - lines, tags, attributes and bodies of a reply: what its kinds
 * (envelope.c, envelope_traits.c) are made of. A tag is one of a table of names, alone on
 * its line; every other line is talk, or part of a body. Errors are KL_EINVALID
 * and name the line of the reply.
 */
struct kl_scan {
	const char *text;
	size_t len, pos;
	int line;               /* of the last one that was taken, from 1 */
	const char *const *tag; /* the names that are tags here, NULL at the end */
};

/** A line, without its newline; borrowed. */
struct kl_scan_line {
	const char *s;
	size_t n;
};

struct kl_scan_tag {
	const char *name; /* of the table */
	bool closing;
	struct kl_scan_line rest; /* between the name and the end of the line */
};

/** Not too long, no NUL, UTF-8. */
int kl_scan_check(const char *text, size_t len);
/** False at the end. */
bool kl_scan_take(struct kl_scan_line *out, struct kl_scan *scan);
struct kl_scan_line kl_scan_trim(struct kl_scan_line line);
/** Does the line begin with a tag of the table? */
bool kl_scan_tag(struct kl_scan_tag *out, const struct kl_scan *scan, struct kl_scan_line line);
int kl_scan_bad(const struct kl_scan *scan, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Nothing but '>' may follow: of a closing tag, and of one without attributes. */
int kl_scan_alone(const struct kl_scan *scan, const struct kl_scan_tag *tag);

/** A value to be found, once; `*value` is NULL before, and the caller's after. */
struct kl_scan_field {
	const char
		*key; /* "?key": of kl_scan_keys, it may be absent, and its value stays NULL then */
	char **value;
};

/** The tag's attributes: each of the list, and nothing else. */
int kl_scan_attributes(const struct kl_scan *scan, const struct kl_scan_tag *tag,
		       const struct kl_scan_field *list, size_t n);
/** Raw lines up to </name>; no other tag may stand among them. */
int kl_scan_body(char **out, struct kl_scan *scan, const char *name);
/** "key: value" lines up to </name>: each of the list that is not optional, and nothing else. */
int kl_scan_keys(struct kl_scan *scan, const char *name, const struct kl_scan_field *list,
		 size_t n);
/** "<nothing-left>why</nothing-left>", or the same over several lines. */
int kl_scan_phrase(char **out, struct kl_scan *scan, const struct kl_scan_tag *tag);

#endif
