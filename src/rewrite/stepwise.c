/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/rewriter.h"

/*
 * stepwise - a person or an agent makes the edit: the state is laid out in
 * a directory of its own, the walk stops, and what is found there at
 * --continue is the proposal. The worktree is never touched.
 */
#define MAX_SOURCE (4u << 20)

static int lay_out(const char *dir, const struct kl_file *f)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, f->path);
	int err;

	if ((err = kl_fs_mkdir_of(path)) < 0)
		return err;
	return kl_fs_put(path, f->data, f->len, f->mode & 0100 ? 0755 : 0644);
}

int kl_stepwise_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
			const char *arg)
{
	const struct kl_surface *s = rw->state;
	int err;

	if ((err = kl_fs_remove(rw->edit_dir)) < 0 ||
	    (err = kl_fs_mkdir(rw->edit_dir)) < 0)
		return err;
	for (size_t i = 0; i < s->nfile; i++)
		if ((err = lay_out(rw->edit_dir, &s->file[i])) < 0)
			return err;
	for (size_t i = 0; i < s->noracle; i++)
		if ((err = lay_out(rw->edit_dir, &s->oracle[i])) < 0)
			return err;
	if ((err = lay_out(rw->edit_dir, &s->contract_file)) < 0)
		return err;
	*stop = true;
	return 0;
}

int kl_stepwise_collect(struct kl_proposal **out, struct kl_rewrite *rw,
			const struct kl_claim *claim)
{
	const struct kl_surface *s = rw->state;
	KL_AUTO(kl_freep) struct kl_file *edit = kl_calloc(s->nfile + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	struct kl_claim full = *claim;
	KL_AUTO(kl_freep) char *action = NULL;

	*out = NULL;
	for (size_t i = 0; i < s->nfile; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(rw->edit_dir, s->file[i].path);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		size_t len;
		int err;

		if ((err = kl_fs_read(&text, path, MAX_SOURCE)) < 0)
			return err;
		len = text.len;
		kl_strvec_take(&texts, kl_buf_detach(&text));
		edit[i] = s->file[i];
		edit[i].data = texts.v[i];
		edit[i].len = len;
	}
	if (!full.rewriter)
		full.rewriter = "stepwise";
	if (!full.source)
		full.source = "edit";
	full.origin = "authored";
	if (!full.action && full.text) {
		action = kl_proposal_slug(full.text);
		full.action = action;
	}
	return kl_rewrite_offer(out, rw, edit, s->nfile, &full);
}
