/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_CANON_H
#define KL_TEXT_CANON_H

#include "text/json.h"

/*
 * canon - a fast reader of canonical JSON.
 *
 * It reads the form that kl_json_canonical() writes, but rejects real numbers and strings with
 * escapes, which are rare in events and in our other lines of JSON. A text is accepted only if
 * kl_json_canonical() would write the same bytes, so a digest of the canonical form can be computed
 * from the text itself.
 *
 * A rejected text can still be valid JSON: use kl_json_parse() to read it.
 *
 *	if (!kl_canon_load(&j, NULL, text, len))
 *		err = kl_json_parse(&j, text, len);
 */

/**
 * A member of the outermost object: the range of its bytes in the text, without surrounding commas.
 */
struct kl_canon_member {
	const char *key; /* not NUL-terminated */
	size_t nkey;
	const char *start, *end;
};

#define KL_CANON_MEMBERS 32 /* if `members` is not NULL, an object with more members is rejected */

struct kl_canon {
	struct kl_canon_member m[KL_CANON_MEMBERS];
	size_t n;
};

/**
 * Read a text; the caller owns *out. `members` (can be NULL) gets the members of the outermost
 * object and borrows from `text`. If the text does not have this form, return false and leave *out
 * unchanged.
 */
bool kl_canon_load(json_t **out, struct kl_canon *members, const char *text, size_t len);

/**
 * Append the object of `members` in canonical form, without the members whose keys are in `names`,
 * a NULL-terminated list.
 */
void kl_canon_without(struct kl_buf *out, const struct kl_canon *members, const char *const *names);

#endif
