/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_LISTING_H
#define KL_CMD_LISTING_H

#include "cmd/opt.h"
#include "text/json.h"

/*
 * listing - what a verb that lists prints for programs. It makes one JSON document; `--json` prints
 * it, `--porcelain` one line for each object of a list in it, its fields in a fixed order,
 * separated by tabs, and `-z` the same with every field ended by NUL, as git check-attr -z does. A
 * field that is not known is empty, a list of words has blanks between them. Without `-z` a field
 * with a control character, a backslash, or a quote at its beginning stands in double quotes with
 * escapes as in C. The order is a promise: new fields come last.
 *
 *	struct kl_listing out = { 0 };
 *	const struct kl_opt opts[] = { ..., KL_OPT_LISTING(&out), KL_OPT_END };
 *	if ((err = kl_listing_check(&out, synopsis)) < 0)
 *		return err;
 *	if (kl_listing_asked(&out))
 *		kl_listing_print(&out, document, "steps", fields);	(fields: "step", "root.ppm", NULL)
 */
struct kl_listing {
	bool json, porcelain, nul;
};

#define KL_OPT_LISTING(l)                                                  \
	KL_OPT_BOOL('\0', "json", &(l)->json, "print the result as JSON"), \
		KL_OPT_BOOL('\0', "porcelain", &(l)->porcelain,            \
			    "print lines of tab-separated fields"),        \
		KL_OPT_BOOL('z', "null", &(l)->nul, "print the same fields, each ended by NUL")

/** One document on stdout: canonical JSON on a line, as `--json` of every verb prints it. */
void kl_listing_put(const json_t *document);

/** KL_EUSAGE for two kinds at once. */
int kl_listing_check(const struct kl_listing *listing, const char *synopsis);
/** Is it a program that reads? */
bool kl_listing_asked(const struct kl_listing *listing);
/**
 * On stdout. `fields` are keys, or paths with points, ended by NULL; `list` is a key of `document`,
 * or NULL: the document itself is the one line.
 */
void kl_listing_print(const struct kl_listing *listing, const json_t *document, const char *list,
		      const char *const *fields);

#endif
