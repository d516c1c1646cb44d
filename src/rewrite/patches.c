/* SPDX-License-Identifier: Apache-2.0 */
/* patches - rewriter patches: proposes the patches of a directory, in order */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/rewriter.h"
#include "text/mail.h"

/*
 * The *.patch and *.diff files of a directory are proposed in the order of their names, each once.
 * A patch that is a mail can have the trailers Klineage-Action, -Mechanism, -Locus and -Trait.
 */
#define MAX_PATCH (4u << 20)

static bool is_patch(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (!strcmp(dot, ".patch") || !strcmp(dot, ".diff"));
}

static int list_patches(struct kl_strvec *out, const char *arg)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err;

	if (!arg || !*arg)
		return kl_error(KL_EUSAGE, "rewriter 'patches' needs a directory: patches:<dir>");
	if ((err = kl_fs_list(&names, arg)) < 0)
		return err;
	for (size_t i = 0; i < names.n; i++)
		if (is_patch(names.v[i]))
			kl_strvec_push(out, names.v[i]);
	if (!out->n)
		return kl_error(KL_EINVALID, "no *.patch or *.diff files in '%s'", arg);
	return 0;
}

/* Parse a mail or a plain diff. If kl_mail_parse() rejects the mail, use only its diff. */
static int parse_patch(struct kl_mail *mail, const char *leaf, const char *text, size_t len)
{
	const char *diff;

	if (!strncmp(text, "From ", 5) && !kl_mail_parse(mail, leaf, text, len))
		return 0;
	if (strlen(text) != len)
		return kl_error(KL_EINVALID, "%s: patch contains a NUL byte", leaf);
	diff = strncmp(text, "diff --git ", 11) ? strstr(text, "\ndiff --git ") : text;
	if (!diff && !strncmp(text, "--- ", 4))
		diff = text;
	if (!diff)
		return kl_error(KL_EINVALID, "%s: file contains no diff", leaf);
	kl_error_clear();
	mail->message = kl_strdup("");
	mail->diff = kl_strdup(diff + (*diff == '\n'));
	return 0;
}

static int read_patch(struct kl_mail *out, const char *dir, const char *leaf)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, leaf);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_read(&text, path, MAX_PATCH);

	return err < 0 ? err : parse_patch(out, leaf, text.ptr, text.len);
}

int kl_patches_check(const char *arg)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = list_patches(&names, arg);

	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_mail_release) struct kl_mail mail = { 0 };

		err = read_patch(&mail, arg, names.v[i]);
	}
	return err;
}

static bool was_used(const json_t *records, const char *leaf)
{
	size_t i;
	json_t *rec;

	json_array_foreach(records, i, rec)
		if (!strcmp(kl_json_str_or(rec, "rewriter", ""), "patches") &&
		    !strcmp(kl_json_str_or(rec, "source", ""), leaf))
			return true;
	return false;
}

/* Apply a patch in the contract's directory, or in the top directory if it does not apply there. */
static int apply_patch(git_oid *out, struct kl_rewrite *rw, const struct kl_mail *mail)
{
	int err = kl_repo_apply(out, rw->repo, &rw->tree, rw->state->dir, mail->diff,
				strlen(mail->diff));

	if (err == KL_ENO && *rw->state->dir)
		err = kl_repo_apply(out, rw->repo, &rw->tree, "", mail->diff, strlen(mail->diff));
	return err;
}

static int offer_patch(struct kl_proposal **out, struct kl_rewrite *rw, const char *leaf,
		       const struct kl_mail *mail, const git_oid *tree)
{
	KL_AUTO(kl_freep) char *action = kl_trailer_get(mail->message, "Klineage-Action");
	KL_AUTO(kl_freep) char *mechanism = kl_trailer_get(mail->message, "Klineage-Mechanism");
	KL_AUTO(kl_freep) char *locus = kl_trailer_get(mail->message, "Klineage-Locus");
	KL_AUTO(kl_freep) char *trait = kl_trailer_get(mail->message, "Klineage-Trait");
	KL_AUTO(kl_freep) char *subject = kl_trailer_subject(mail->message);
	KL_AUTO(kl_freep) char *slug = kl_proposal_slug(subject && *subject ? subject : leaf);
	KL_AUTO(json_decrefp) json_t *traits = json_object();
	struct kl_claim claim = {
		.rewriter = "patches",
		.source = leaf,
		.action = action ? action : slug,
		.mechanism = mechanism,
		.locus = locus,
		.origin = "authored",
		.text = subject,
		.traits = traits,
	};
	struct kl_file *edit = NULL;
	size_t n = 0;
	int err;

	if (trait)
		kl_json_set_str(traits, trait, "no");
	err = kl_rewrite_read_tree(&edit, &n, rw, tree);
	if (!err)
		err = kl_rewrite_offer(out, rw, edit, n, &claim);
	kl_edits_free(edit, n);
	return err;
}

int kl_patches_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = list_patches(&names, arg);

	for (size_t i = 0; !err && !*out && i < names.n; i++) {
		KL_AUTO(kl_mail_release) struct kl_mail mail = { 0 };
		git_oid tree;

		if (was_used(rw->steps, names.v[i]) || was_used(rw->rejections, names.v[i]))
			continue;
		if ((err = read_patch(&mail, arg, names.v[i])) < 0)
			break;
		err = apply_patch(&tree, rw, &mail);
		if (err == KL_ENO) {
			kl_rewrite_print(rw, "%s does not apply to this state; skipped",
					 names.v[i]);
			err = 0;
			continue;
		}
		if (!err)
			err = offer_patch(out, rw, names.v[i], &mail, &tree);
		if (!err && !*out)
			kl_rewrite_print(
				rw,
				"%s changes no source of the contract, or was tried before; "
				"skipped",
				names.v[i]);
	}
	return err;
}
