/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_CANON_H
#define KL_TEXT_CANON_H

#include "text/json.h"

/*
 * canon - a quick reader of canonical JSON: the form that kl_json_canonical writes, less what our
 * own lines hardly ever have (escapes in strings, real numbers). It takes a text only if writing
 * it again would give the same bytes, so that a digest over the canonical form can be taken over
 * the text itself.
 *
 * "No" is no verdict on the text: it may be JSON, in another dress. Then
 * kl_json_parse is there.
 *
 *	if (!kl_canon_load(&j, NULL, text, len))
 *		err = kl_json_parse(&j, text, len);
 */

/** A member of the outermost object, as it stands in the text, without the comma around it. */
struct kl_canon_member {
	const char *key; /* not terminated */
	size_t nkey;
	const char *start, *end;
};

#define KL_CANON_MEMBERS 32 /* an object with more is "no", if members are asked for */

struct kl_canon {
	struct kl_canon_member m[KL_CANON_MEMBERS];
	size_t n;
};

/** `members` may be NULL; it borrows from `text`. False: not this form, and nothing made. */
bool kl_canon_load(json_t **out, struct kl_canon *members, const char *text, size_t len);

/** The object without the members named in the NULL-terminated list: canonical again. */
void kl_canon_without(struct kl_buf *out, const struct kl_canon *members, const char *const *names);

#endif
