/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant/step_merge.h"

#include <string.h>

#include "base/error.h"

static bool same_text(const struct kl_file *left, const struct kl_file *right)
{
	return left->len == right->len && !memcmp(left->data, right->data, left->len);
}

/* Check that the three states have one contract, and so the same sources. */
static int check_contracts(const struct kl_surface *before, const struct kl_surface *after,
			   const struct kl_surface *state)
{
	if (strcmp(before->contract_digest, after->contract_digest))
		return kl_error(KL_ENO, "the step changes the contract");
	if (strcmp(before->contract_digest, state->contract_digest) ||
	    before->nfile != state->nfile)
		return kl_error(KL_ENO, "the state has another contract");
	return 0;
}

static int merge_source(struct kl_buf *out, struct kl_repo *repo, const struct kl_file *before,
			const struct kl_file *after, const struct kl_file *state)
{
	KL_AUTO(kl_buf_release) struct kl_buf base = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf theirs = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf ours = KL_BUF_INIT;
	int err;

	kl_buf_add(&base, before->data, before->len);
	kl_buf_add(&theirs, after->data, after->len);
	kl_buf_add(&ours, state->data, state->len);
	err = kl_repo_merge_text(out, repo, &base, &ours, &theirs);
	return err == KL_ENO ? kl_error(KL_ENO, "its change of '%s' conflicts", state->path) : err;
}

int kl_step_merge(struct kl_surface **out, struct kl_repo *repo, const struct kl_surface *before,
		  const struct kl_surface *after, const struct kl_surface *state)
{
	struct kl_buf *text = kl_calloc(state->nfile + 1, sizeof(*text));
	struct kl_file *edit = kl_calloc(state->nfile + 1, sizeof(*edit));
	size_t n = 0;
	int err = check_contracts(before, after, state);

	for (size_t i = 0; !err && i < state->nfile; i++) {
		if (same_text(&before->file[i], &after->file[i]))
			continue;
		text[n] = (struct kl_buf)KL_BUF_INIT;
		err = merge_source(&text[n], repo, &before->file[i], &after->file[i],
				   &state->file[i]);
		edit[n] = (struct kl_file){ .path = state->file[i].path,
					    .data = text[n].ptr,
					    .len = text[n].len };
		n++;
	}
	if (!err)
		err = kl_surface_with(out, state, edit, n);
	for (size_t i = 0; i < n; i++)
		kl_buf_release(&text[i]);
	free(text);
	free(edit);
	return err;
}
