/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEXT_CANON_H
#define KL_TEXT_CANON_H

#include "text/json.h"

/*
 * canon - a fast reader of canonical JSON.
 *
 * It reads the form that kl_json_canonical() writes, except for escapes in strings and real
 * numbers, which our own lines rarely contain. A text is accepted only if writing it again would
 * give the same bytes, so a digest of the canonical form can be computed from the text itself.
 *
 * A rejected text can still be valid JSON in another form: use kl_json_parse() then.
 *
 *	if (!kl_canon_load(&j, NULL, text, len))
 *		err = kl_json_parse(&j, text, len);
 */

/** A member of the outermost object: its bytes in the text, without surrounding commas. */
struct kl_canon_member {
	const char *key; /* not terminated */
	size_t nkey;
	const char *start, *end;
};

#define KL_CANON_MEMBERS 32 /* with `members`, an object that has more is rejected */

struct kl_canon {
	struct kl_canon_member m[KL_CANON_MEMBERS];
	size_t n;
};

/**
 * Read a text; the caller owns *out. `members` (can be NULL) borrows from `text`. Returns false,
 * with *out unchanged, if the text does not have this form.
 */
bool kl_canon_load(json_t **out, struct kl_canon *members, const char *text, size_t len);

/** Append the object without the members named in a NULL-terminated list, in canonical form. */
void kl_canon_without(struct kl_buf *out, const struct kl_canon *members, const char *const *names);

#endif
