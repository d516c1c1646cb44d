/* SPDX-License-Identifier: Apache-2.0 */
/* sync_campaign - merges the segments of a remote into ours */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "event/segment_log.h"
#include "event/segment_writer.h"
#include "repo/tree.h"
#include "sync/sync_parts.h"

struct merging {
	struct kl_repo *repo;
	git_oid ours, theirs; /* commits; `ours` is zero if there is no such campaign here */
	git_oid our_tree, their_tree;
	struct kl_tree_entries added; /* the events that only theirs has */
};

static void merging_release(struct merging *merging)
{
	kl_tree_entries_release(&merging->added);
}

/*
 * --- the union of two trees -----------------------------------------------------------
 */

/* Add the entries of theirs in `dir` that ours does not have. */
static int add_missing(struct merging *merging, const char *dir)
{
	KL_AUTO(kl_tree_entries_release) struct kl_tree_entries theirs = { 0 };
	int err = kl_repo_tree_level(&theirs, merging->repo, &merging->their_tree, dir);

	for (size_t i = 0; !err && i < theirs.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, theirs.v[i].path);
		git_oid have;

		if (kl_repo_tree_entry(&have, NULL, merging->repo, &merging->our_tree, path) < 0) {
			kl_error_clear();
			kl_tree_entries_add(&merging->added, path, &theirs.v[i].oid,
					    theirs.v[i].mode);
		} else if (memcmp(&have, &theirs.v[i].oid, sizeof(have))) {
			return kl_error(KL_EINVALID, "'%s' is another file here", path);
		}
	}
	return err;
}

static int add_missing_below(struct merging *merging, const char *top)
{
	KL_AUTO(kl_tree_entries_release) struct kl_tree_entries dirs = { 0 };
	int err = kl_repo_tree_level(&dirs, merging->repo, &merging->their_tree, top);

	for (size_t i = 0; !err && i < dirs.n; i++) {
		KL_AUTO(kl_freep) char *dir = kl_fs_join(top, dirs.v[i].path);

		if (*top || strcmp(dir, KL_SEGMENT_TREES))
			err = add_missing(merging, dir);
	}
	return err;
}

/*
 * Set *tip to ours, to theirs, or to a merge of both. `events` is the number of events that only
 * theirs has.
 */
static int merge_tips(git_oid *tip, struct merging *merging, size_t events)
{
	KL_AUTO(kl_freep) char *message = kl_asprintf("segment: merge %zu event%s\n", events,
						      events == 1 ? "" : "s");
	const git_oid parent[] = { merging->ours, merging->theirs };
	struct kl_commit_spec spec = { .parent = parent, .nparent = 2, .message = message };
	bool behind = false;
	int err;

	if ((err = add_missing_below(merging, "")) < 0 ||
	    (err = add_missing_below(merging, KL_SEGMENT_TREES)) < 0 ||
	    (err = kl_repo_tree_graft(&spec.tree, merging->repo, &merging->our_tree,
				      &merging->added)) < 0 ||
	    (err = kl_repo_is_ancestor(&behind, merging->repo, &merging->ours, &merging->theirs)) <
		    0)
		return err;
	if (behind && !memcmp(&spec.tree, &merging->their_tree, sizeof(spec.tree))) {
		*tip = merging->theirs;
		return 0;
	}
	return kl_repo_commit_write(tip, merging->repo, &spec);
}

/*
 * --- taking a campaign --------------------------------------------------------------------
 */

/* Report the last error as the reason why the ref was left. */
static int leave_ref(struct kl_sync_round *round, struct kl_sync_ref *ref)
{
	kl_sync_report(round, KL_SYNC_LEFT, ref->ref, "%s", kl_error_last());
	kl_error_clear();
	ref->left = true;
	return 0;
}

static int open_merging(struct merging *out, bool *none, struct kl_sync_round *round,
			const struct kl_sync_ref *ref)
{
	int err = kl_refs_get(&out->ours, round->r, ref->ref);

	*none = err == KL_ENOTFOUND;
	if (*none) {
		kl_error_clear();
		out->ours = kl_oid_none;
		return 0;
	}
	return err < 0 ? err : kl_repo_tree_of(&out->our_tree, round->r, &out->ours);
}

int kl_sync_take_campaign(struct kl_sync_round *round, struct kl_refs_txn *txn,
			  struct kl_sync_ref *ref)
{
	KL_AUTO(merging_release) struct merging merging = { .repo = round->r, .theirs = ref->oid };
	struct kl_check check = { .known = NULL };
	bool none, good, ahead = false;
	git_oid tip = ref->oid;
	int err = open_merging(&merging, &none, round, ref);

	if (err < 0 ||
	    (!none && (err = kl_repo_is_ancestor(&ahead, round->r, &ref->oid, &merging.ours)) < 0))
		return err;
	if (ahead)
		return 0;
	check.known = none ? NULL : &merging.our_tree;
	if ((err = kl_sync_verify(&good, &check, round, ref, "campaign")) < 0 || !good ||
	    (err = kl_repo_tree_of(&merging.their_tree, round->r, &ref->oid)) < 0)
		return err;
	err = none ? kl_refs_can_create(round->r, ref->ref) :
		     merge_tips(&tip, &merging, check.events);
	if (err == KL_EINVALID)
		return leave_ref(round, ref);
	if (err < 0)
		return err;
	kl_refs_txn_update(txn, ref->ref, &tip, none ? NULL : &merging.ours);
	kl_sync_report(round,
		       none                                 ? KL_SYNC_TAKEN :
		       memcmp(&tip, &ref->oid, sizeof(tip)) ? KL_SYNC_UNITED :
							      KL_SYNC_MOVED,
		       ref->ref, "%zu event%s", check.events, check.events == 1 ? "" : "s");
	return 0;
}

/*
 * --- logs ----------------------------------------------------------------------------------
 */

int kl_sync_seal_logs(struct kl_repo *repo)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec logs = KL_STRVEC_INIT;
	int err = kl_segment_log_list(&logs, repo);

	for (size_t i = 0; !err && i < logs.n; i++) {
		KL_AUTO(kl_segment_writer_freep) struct kl_segment_writer *writer = NULL;
		const char *slash = strchr(logs.v[i], '/');
		KL_AUTO(kl_freep) char *workload = kl_strndup(logs.v[i],
							      (size_t)(slash - logs.v[i]));

		err = kl_segment_writer_open(&writer, repo, workload, slash + 1);
		if (!err)
			err = kl_segment_writer_seal(writer, NULL);
		/* a line is not an event, or a ref is in the way; fsck reports both */
		if (err == KL_EINVALID) {
			kl_error_clear();
			err = 0;
		}
	}
	return err;
}
