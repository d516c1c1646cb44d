/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/checkout.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/fs.h"
#include "repo/attributes.h"

enum { IDENT, FILTER, ENCODING, SUBST, TEXT, CRLF, EOL, NAMES };
static const char *const names[NAMES] = { [IDENT] = "ident",
					  [FILTER] = "filter",
					  [ENCODING] = "working-tree-encoding",
					  [SUBST] = "export-subst",
					  [TEXT] = "text",
					  [CRLF] = "crlf",
					  [EOL] = "eol" };

/* One file, with the values of its git attributes. */
struct subject {
	struct kl_repo *repo;
	const struct kl_file *file;
	const char *path; /* relative to the top of the repository */
	char *const *value;
	bool worktree; /* the file was read from the worktree, not from a tree */
};

static bool is(const struct subject *subject, int name, const char *value)
{
	return !strcmp(subject->value[name], value);
}

/* Return true if the attribute is unspecified or unset. */
static bool is_off(const struct subject *subject, int name)
{
	return is(subject, name, "unspecified") || is(subject, name, "unset");
}

static bool has(const struct subject *subject, const char *text)
{
	return memmem(subject->file->data, subject->file->len, text, strlen(text)) != NULL;
}

/* --- line ends -------------------------------------------------------------------------------- */

struct line_ends {
	bool lone_lf, lone_cr, crlf, nul;
};

static struct line_ends line_ends_of(const struct kl_file *file)
{
	struct line_ends ends = { 0 };

	for (size_t i = 0; i < file->len; i++) {
		bool cr = i && file->data[i - 1] == '\r';

		if (file->data[i] == '\n') {
			ends.crlf |= cr;
			ends.lone_lf |= !cr;
		} else {
			ends.lone_cr |= cr;
		}
		ends.nul |= !file->data[i];
	}
	return ends;
}

/* When git converts line ends: never, always, or if the file looks like text. */
enum conversion { CONVERT_NOT, CONVERT_TEXT, CONVERT_AUTO };

/*
 * Decide from attributes and configuration when git converts the file's line ends. The older
 * attribute crlf means text, -crlf means -text, and crlf=input means eol=lf.
 */
static enum conversion conversion_of(const struct subject *subject)
{
	int name = is(subject, TEXT, "unspecified") ? CRLF : TEXT;
	const char *crlf = kl_repo_config(subject->repo, "core.autocrlf");
	bool on = false;

	if (is(subject, name, "unset"))
		return CONVERT_NOT;
	if (is(subject, name, "auto"))
		return CONVERT_AUTO;
	if (!is(subject, name, "unspecified") || !is_off(subject, EOL))
		return CONVERT_TEXT;
	if (crlf && !strcasecmp(crlf, "input"))
		return CONVERT_AUTO;
	if (kl_repo_config_bool(&on, subject->repo, "core.autocrlf", false) < 0)
		kl_error_clear();
	return on ? CONVERT_AUTO : CONVERT_NOT;
}

/* Return true if a checkout writes CRLF at the ends of lines. */
static bool writes_crlf(const struct subject *subject)
{
	const char *crlf = kl_repo_config(subject->repo, "core.autocrlf");
	const char *eol = kl_repo_config(subject->repo, "core.eol");
	bool on = false;

	if (is(subject, EOL, "crlf") || is(subject, EOL, "lf"))
		return is(subject, EOL, "crlf");
	if (is(subject, CRLF, "input") && is(subject, TEXT, "unspecified"))
		return false;
	if (crlf && !strcasecmp(crlf, "input"))
		return false;
	if (kl_repo_config_bool(&on, subject->repo, "core.autocrlf", false) < 0)
		kl_error_clear();
	return on || (eol && !strcasecmp(eol, "crlf"));
}

static bool changes_line_ends(const struct subject *subject)
{
	enum conversion conversion = conversion_of(subject);
	struct line_ends ends = line_ends_of(subject->file);

	if (conversion == CONVERT_NOT || (conversion == CONVERT_AUTO && ends.nul))
		return false;
	if (subject->worktree)
		return ends.crlf; /* git would commit LF instead of CRLF */
	if (conversion == CONVERT_AUTO && (ends.crlf || ends.lone_cr))
		return false;
	return ends.lone_lf && writes_crlf(subject);
}

/* --- checking the files of a surface ------------------------------------------------------- */

static int refuse(const struct subject *subject, int name, const char *value)
{
	int err = kl_error(
		KL_ECANNOT,
		"'%s' has the attribute %s%s%s, which makes a checkout differ from the commit, so "
		"the gate would not judge the files that are built",
		subject->path, names[name], value ? "=" : "", value ? value : "");

	return kl_error_hint(
		err,
		"turn it off for this file in .gitattributes: '%s -%s' (or change core.autocrlf or "
		"core.eol)",
		subject->file->path, names[name]);
}

static int check_file(const struct subject *subject)
{
	if (!is_off(subject, FILTER))
		return refuse(subject, FILTER, subject->value[FILTER]);
	if (!is_off(subject, ENCODING) && strcasecmp(subject->value[ENCODING], "UTF-8") &&
	    strcasecmp(subject->value[ENCODING], "UTF8"))
		return refuse(subject, ENCODING, subject->value[ENCODING]);
	/* a checkout replaces $Id$ by the blob's id, so it always differs from the blob */
	if (is(subject, IDENT, "set") && (has(subject, "$Id$") || has(subject, "$Id:")))
		return refuse(subject, IDENT, NULL);
	if (is(subject, SUBST, "set") && has(subject, "$Format:"))
		return refuse(subject, SUBST, NULL);
	if (changes_line_ends(subject))
		return is_off(subject, EOL) ? refuse(subject, TEXT, NULL) :
					      refuse(subject, EOL, subject->value[EOL]);
	return 0;
}

/* The surface's files, with their paths relative to the top of the repository. */
struct listing {
	struct kl_strvec path;
	const struct kl_file **file;
	size_t n;
};

static void listing_release(struct listing *listing)
{
	kl_strvec_release(&listing->path);
	free(listing->file);
}

static void list_file(struct listing *listing, const struct kl_surface *surface,
		      const struct kl_file *file)
{
	kl_strvec_take(&listing->path, kl_fs_join(surface->dir, file->path));
	listing->file[listing->n++] = file;
}

static void list_all(struct listing *listing, const struct kl_surface *surface)
{
	listing->file = kl_calloc(surface->nfile + surface->noracle + 1, sizeof(*listing->file));
	for (size_t i = 0; i < surface->nfile; i++)
		list_file(listing, surface, &surface->file[i]);
	for (size_t i = 0; i < surface->noracle; i++)
		list_file(listing, surface, &surface->oracle[i]);
	list_file(listing, surface, &surface->contract_file);
}

int kl_checkout_check(struct kl_repo *repo, const struct kl_surface *surface,
		      enum kl_state_kind kind, const git_oid *tree)
{
	KL_AUTO(listing_release) struct listing listing = { .n = 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec value = KL_STRVEC_INIT;
	struct kl_attributes_query query = {
		.of = kind == KL_STATE_REV    ? KL_ATTRIBUTES_TREE :
		      kind == KL_STATE_STAGED ? KL_ATTRIBUTES_INDEX :
						KL_ATTRIBUTES_WORKTREE,
		.tree = tree,
		.name = names,
		.nname = NAMES,
	};
	int err;

	list_all(&listing, surface);
	query.path = (const char *const *)listing.path.v;
	query.npath = listing.n;
	err = kl_attributes_get(&value, repo, &query);
	for (size_t i = 0; !err && i < listing.n; i++) {
		const struct subject subject = {
			.repo = repo,
			.file = listing.file[i],
			.path = listing.path.v[i],
			.value = &value.v[i * NAMES],
			.worktree = kind == KL_STATE_WORKTREE,
		};

		err = check_file(&subject);
	}
	return err;
}
