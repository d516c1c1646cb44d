/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_LISTING_H
#define KL_CMD_CLI_LISTING_H

#include "cmd/cli/opt.h"
#include "text/json.h"

/*
 * listing - the machine-readable output of verbs that list: --json, --porcelain and -z. The verb
 * makes one JSON document. `--json` prints it. `--porcelain` prints one line for each object of a
 * list in it, with fields in a fixed order, separated by tabs. `-z` prints the same fields, each
 * terminated by NUL, like git check-attr -z. An unknown field is empty; the words of a list are
 * separated by spaces. Without `-z`, a field that has a backslash or a character that is not
 * printed (base/printable.h), or starts with a quote, is quoted with escapes as in C. The order of
 * fields is stable: new ones come last.
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

/** Print a document on stdout as one line of canonical JSON, the format of every `--json`. */
void kl_listing_put(const json_t *document);
/** Print one line of JSON that is ASCII, with DEL escaped. */
void kl_listing_line(const struct kl_buf *json);

/** KL_EUSAGE: --json together with --porcelain or -z. */
int kl_listing_check(const struct kl_listing *listing, const char *synopsis);
/** Whether machine-readable output was requested. */
bool kl_listing_asked(const struct kl_listing *listing);
/**
 * Print to stdout. `fields` are keys, or paths separated by dots, terminated by NULL. `list` is a
 * member of `document`, or NULL: the document itself is the only row.
 */
void kl_listing_print(const struct kl_listing *listing, const json_t *document, const char *list,
		      const char *const *fields);

#endif
