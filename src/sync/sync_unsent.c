/* SPDX-License-Identifier: Apache-2.0 */
/* sync_unsent - counts the refs that a remote lacks, by the tracking refs of the last exchange */
#include "base/error.h"
#include "card/library.h"
#include "sync/sync_parts.h"

static int count_unsent(size_t *n, struct kl_repo *repo, const char *remote, const char *prefix)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list ours = { 0 };
	int err = kl_refs_list(&ours, repo, prefix);

	for (size_t i = 0; !err && i < ours.n; i++) {
		KL_AUTO(kl_freep) char *tracking = kl_sync_tracking(remote, ours.ref[i].name);
		git_oid theirs;

		err = kl_refs_get(&theirs, repo, tracking);
		*n += err == KL_ENOTFOUND || (!err && !git_oid_equal(&theirs, &ours.ref[i].oid));
		if (err == KL_ENOTFOUND) {
			kl_error_clear();
			err = 0;
		}
	}
	return err;
}

int kl_sync_unsent(size_t *n, struct kl_repo *repo, const char *remote)
{
	const char *cards = kl_repo_config(repo, "klineage.skillsRef");
	int err = 0;

	*n = 0;
	for (int kind = 0; !err && kind < KL_SYNC_CARDS; kind++)
		err = count_unsent(n, repo, remote, kl_sync_prefix((enum kl_sync_kind)kind));
	if (!err)
		err = count_unsent(n, repo, remote, cards ? cards : KL_LIBRARY_REF);
	return err;
}
