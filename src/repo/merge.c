/* SPDX-License-Identifier: Apache-2.0 */
/* merge - merges texts three-way and fast-forwards the user's branch */
#include "repo/internal.h"

#include <string.h>

static git_merge_file_input input_of(const struct kl_buf *text)
{
	git_merge_file_input input;

	git_merge_file_input_init(&input, GIT_MERGE_FILE_INPUT_VERSION);
	input.ptr = text->len ? text->ptr : "";
	input.size = text->len;
	return input;
}

int kl_repo_merge_text(struct kl_buf *out, struct kl_repo *repo, const struct kl_buf *base,
		       const struct kl_buf *ours, const struct kl_buf *theirs)
{
	git_merge_file_input ancestor = input_of(base), our_side = input_of(ours),
			     their_side = input_of(theirs);
	git_merge_file_result res = { 0 };
	int err = git_merge_file(&res, &ancestor, &our_side, &their_side, NULL);
	bool clean = !err && res.automergeable;

	(void)repo; /* the caller must have opened a repository, because that initializes libgit2 */
	if (clean)
		kl_buf_add(out, res.ptr, res.len);
	git_merge_file_result_free(&res);
	if (err < 0)
		return kl_error_git(err, "cannot merge two texts");
	return clean ? 0 :
		       kl_error(KL_ENO, "the change conflicts with the code in this repository");
}

int kl_repo_fast_forward(struct kl_repo *repo, const git_oid *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	char hex[KL_OID_HEX];
	struct kl_git_call call = {
		.args = KL_ARGS("merge", "--ff-only", "--quiet", "--no-stat", hex),
		.here = true,
		.finish = true,
		.err = &complaint,
	};
	int status, err;

	kl_oid_hex(hex, commit);
	err = kl_git_run(&status, repo, &call);
	if (err < 0 || !status)
		return err;
	return kl_error(KL_EINVALID, "cannot fast-forward your branch to %.10s: %s", hex,
			kl_git_complaint(&complaint));
}
