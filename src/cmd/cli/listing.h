/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CLI_LISTING_H
#define KL_CMD_CLI_LISTING_H

#include "cmd/cli/opt.h"
#include "text/json.h"

/*
 * listing - prints the results of verbs for programs: --json, --porcelain and -z. The verb makes
 * one JSON document. `--json` prints the document. `--porcelain` prints one line for each object of
 * a list in the document, with fields in a fixed order, separated by tabs. `-z` prints the same
 * fields, each terminated by NUL, like git check-attr -z. An unknown field is empty; the words of a
 * list are separated by spaces. Without `-z`, a field is quoted with escapes as in C if it has a
 * backslash or an unprintable character (base/printable.h), or starts with a quote. The order of
 * fields is stable: new fields come last.
 *
 *	struct kl_listing out = { 0 };
 *	const struct kl_opt opts[] = { ..., KL_OPT_LISTING(&out), KL_OPT_END };
 *	if ((err = kl_listing_check(&out, synopsis)) < 0)
 *		return err;
 *	if (kl_listing_asked(&out))
 *		kl_listing_print(&out, document, "steps", fields);
 *
 * Here `fields` is an array such as { "step", "root.ppm", NULL }.
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
/** Print ASCII JSON as one line on stdout, with DEL escaped. */
void kl_listing_line(const struct kl_buf *json);

/** Check the options. KL_EUSAGE: --json together with --porcelain or -z. */
int kl_listing_check(const struct kl_listing *listing, const char *synopsis);
/** Return true if the user asked for output for programs (--json, --porcelain or -z). */
bool kl_listing_asked(const struct kl_listing *listing);
/**
 * Print the document on stdout in the form that the options name. `list` names the member of
 * `document` that holds the array of rows; NULL: the document is the only row. `fields` are keys of
 * a row, or paths of keys separated by dots; NULL-terminated.
 */
void kl_listing_print(const struct kl_listing *listing, const json_t *document, const char *list,
		      const char *const *fields);

#endif
