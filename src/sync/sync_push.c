/* SPDX-License-Identifier: Apache-2.0 */
/* sync_push - pushes refs that the remote lacks or that can be fast-forwarded there */
#include <string.h>

#include "base/error.h"
#include "base/proc.h"
#include "repo/remote.h"
#include "sync/sync_parts.h"
#include "walk/step.h"

#define MAX_COMMITS 100000

/*
 * For a ref that can only be fast-forwarded (all but lineages): set *give to whether
 * our ref is ahead of theirs or the remote lacks it. If the two have diverged, report the ref as
 * left.
 */
static int has_grown(bool *give, struct kl_sync_round *round, const struct kl_ref *ours,
		     const struct kl_sync_ref *theirs)
{
	bool behind = false;
	int err;

	*give = !theirs;
	if (!theirs || !memcmp(&theirs->oid, &ours->oid, sizeof(git_oid)))
		return 0;
	if ((err = kl_repo_is_ancestor(give, round->r, &theirs->oid, &ours->oid)) < 0 || *give)
		return err;
	if ((err = kl_repo_is_ancestor(&behind, round->r, &ours->oid, &theirs->oid)) < 0 || behind)
		return err;
	kl_sync_report(round, KL_SYNC_LEFT, ours->name,
		       round->s->fetch ? "the remote has commits that are not in our ref" :
					 "the remote has commits that are not in our ref; sync "
					 "without --push to fetch them");
	return 0;
}

static int give_one(struct kl_sync_round *round, struct kl_pushes *pushes, const char *ref)
{
	struct kl_sync_ref *theirs = kl_sync_find(round, ref);
	struct kl_ref ours = { .name = (char *)ref };
	bool give = false;
	int err = kl_refs_get(&ours.oid, round->r, ref);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	/* a ref that is invalid at the remote was not merged, so the push must not overwrite it */
	if (!err && !(theirs && theirs->left))
		err = has_grown(&give, round, &ours, theirs);
	if (!err && give)
		kl_pushes_add(pushes, ref, &ours.oid, theirs ? &theirs->oid : &kl_oid_none);
	return err;
}

/* --- pushing lineages ------------------------------------------------------------- */

static int give_lineages(struct kl_sync_round *round, struct kl_pushes *pushes,
			 struct kl_strvec *left)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list ours = { 0 };
	int err = kl_sync_ours(&ours, round, KL_SYNC_LINEAGE);

	for (size_t i = 0; !err && i < ours.n; i++) {
		const char *leaf = ours.ref[i].name + strlen(kl_sync_prefix(KL_SYNC_LINEAGE));
		const char *name = strchr(leaf, '/');

		if (!name || kl_sync_find_oid(round, KL_SYNC_LINEAGE, leaf, &ours.ref[i].oid))
			continue;
		if (!kl_sync_find(round, ours.ref[i].name)) {
			kl_pushes_add(pushes, ours.ref[i].name, &ours.ref[i].oid, &kl_oid_none);
			continue;
		}
		kl_strvec_push(left, leaf);
		kl_sync_report(round, KL_SYNC_LEFT, ours.ref[i].name,
			       "the remote has another lineage of that name; to push ours: "
			       "git branch -m klineage/lineage/%s klineage/lineage/%s-2",
			       leaf, leaf);
	}
	return err;
}

/* --- pushing rejected steps ------------------------------------------------------------- */

/*
 * Count the commits that a push of rejected steps would publish although they are not steps.
 * Rejected steps are based on a walk, and the walk on the user's own history, which a sync must not
 * publish. Commits that the remote has already do not count.
 */
static int count_unpublished(size_t *unpublished, struct kl_sync_round *round, const git_oid *tip)
{
	KL_AUTO(kl_freep) git_oid *commit = NULL;
	struct kl_oids tips = { (git_oid *)tip, 1, 0 };
	size_t n = 0;
	int err = kl_repo_not_at_remote(&commit, &n, round->r, &tips, NULL, round->s->remote,
					MAX_COMMITS);

	*unpublished = 0;
	for (size_t i = 0; !err && i < n; i++) {
		struct kl_commit info = { 0 };
		KL_AUTO(kl_freep) char *direction = NULL;

		if ((err = kl_repo_commit_read(&info, round->r, &commit[i])) < 0)
			return err;
		direction = kl_trailer_get(info.message, "Klineage-Direction");
		*unpublished += !direction;
		kl_commit_release(&info);
	}
	return err;
}

static int give_rejected(struct kl_sync_round *round, struct kl_pushes *pushes,
			 const struct kl_strvec *left)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list ours = { 0 };
	int err = kl_sync_ours(&ours, round, KL_SYNC_REJECTED);

	for (size_t i = 0; !err && i < ours.n; i++) {
		const struct kl_ref *ref = &ours.ref[i];
		const char *leaf = ref->name + strlen(kl_sync_prefix(KL_SYNC_REJECTED));
		struct kl_sync_ref *theirs = kl_sync_find(round, ref->name);
		bool give = false;
		size_t n = 0;

		if (kl_strvec_has(left, leaf) || (theirs && theirs->left) ||
		    kl_sync_find_oid(round, KL_SYNC_REJECTED, leaf, &ref->oid))
			continue;
		if ((err = has_grown(&give, round, ref, theirs)) < 0 || !give)
			continue;
		err = count_unpublished(&n, round, &ref->oid);
		if (!err && n)
			kl_sync_report(
				round, KL_SYNC_LEFT, ref->name,
				"%zu commit%s that the steps are based on %s not known to be on "
				"the remote; push the branch that contains them, then fetch",
				n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
		else if (!err)
			kl_pushes_add(pushes, ref->name, &ref->oid,
				      theirs ? &theirs->oid : &kl_oid_none);
	}
	return err;
}

static int give_campaigns(struct kl_sync_round *round, struct kl_pushes *pushes)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list ours = { 0 };
	int err = kl_sync_ours(&ours, round, KL_SYNC_CAMPAIGN);

	for (size_t i = 0; !err && i < ours.n; i++)
		err = give_one(round, pushes, ours.ref[i].name);
	return err;
}

static int give_transplants(struct kl_sync_round *round, struct kl_pushes *pushes)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list ours = { 0 };
	int err = kl_sync_ours(&ours, round, KL_SYNC_TRANSPLANT);

	for (size_t i = 0; !err && i < ours.n; i++) {
		bool can;

		err = kl_sync_can_give_transplants(&can, round, ours.ref[i].name, &ours.ref[i].oid);
		if (!err && can)
			err = give_one(round, pushes, ours.ref[i].name);
	}
	return err;
}

/* Report the refs that were pushed, and update their tracking refs, as a fetch would. */
static int note_given(struct kl_sync_round *round, const struct kl_pushes *pushes)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(round->r);

	for (size_t i = 0; i < pushes->n; i++) {
		KL_AUTO(kl_freep) char *tracking = kl_sync_tracking(round->s->remote,
								    pushes->v[i].ref);
		git_oid old;
		bool there = kl_refs_get(&old, round->r, tracking) == 0;

		kl_refs_txn_update(txn, tracking, &pushes->v[i].to, there ? &old : NULL);
		kl_sync_report(round, KL_SYNC_GIVEN, pushes->v[i].ref, "%s",
			       git_oid_is_zero(&pushes->v[i].from) ? "new at the remote" : "");
	}
	/*
	 * this is not an error: a plain fetch can have updated the same tracking refs at the same
	 * time
	 */
	if (kl_refs_txn_commit(txn, "klineage sync: given") < 0 && kl_proc_interrupted())
		return kl_error(KL_EINTR, "interrupted");
	kl_error_clear();
	return 0;
}

int kl_sync_give(struct kl_sync_round *round)
{
	KL_AUTO(kl_pushes_release) struct kl_pushes pushes = { .no_verify = round->s->notes_only };
	KL_AUTO(kl_strvec_release) struct kl_strvec left = KL_STRVEC_INIT;
	int err = give_one(round, &pushes, kl_sync_prefix(KL_SYNC_NOTES));

	if (!err && !round->s->notes_only)
		err = give_one(round, &pushes, round->cards);
	if (!err && !round->s->notes_only)
		err = give_lineages(round, &pushes, &left);
	if (!err && !round->s->notes_only)
		err = give_rejected(round, &pushes, &left);
	if (!err && !round->s->notes_only)
		err = give_campaigns(round, &pushes);
	if (!err && !round->s->notes_only)
		err = give_transplants(round, &pushes);
	if (!err)
		err = kl_remote_push(round->r, round->s->remote, &pushes);
	return err ? err : note_given(round, &pushes);
}
