/* SPDX-License-Identifier: Apache-2.0 */
/* stepwise - rewriter stepwise: stops the walk for a manual edit */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/layout.h"
#include "rewrite/rewriter.h"

/*
 * Write the state to a separate directory and stop the walk. A person or an agent edits the files
 * there; at --continue they become the proposal. The worktree is never changed.
 */
#define MAX_SOURCE (4u << 20)

int kl_stepwise_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
			const char *arg)
{
	int err = kl_layout_write(rw->edit_dir, rw->state);

	if (err < 0)
		return err;
	*stop = true;
	return 0;
}

int kl_stepwise_collect(struct kl_proposal **out, struct kl_rewrite *rw,
			const struct kl_claim *claim)
{
	const struct kl_surface *surface = rw->state;
	KL_AUTO(kl_freep) struct kl_file *edit = kl_calloc(surface->nfile + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	struct kl_claim full = *claim;
	KL_AUTO(kl_freep) char *action = NULL;

	*out = NULL;
	for (size_t i = 0; i < surface->nfile; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(rw->edit_dir, surface->file[i].path);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		size_t len;
		int err;

		if ((err = kl_fs_read(&text, path, MAX_SOURCE)) < 0)
			return err;
		len = text.len;
		kl_strvec_take(&texts, kl_buf_detach(&text));
		edit[i] = surface->file[i];
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
	return kl_rewrite_offer(out, rw, edit, surface->nfile, &full);
}
