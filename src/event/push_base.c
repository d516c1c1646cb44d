/* SPDX-License-Identifier: Apache-2.0 */
#include "event/push_base.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "event/signers.h"

struct push {
	struct kl_repo *repo;
	struct kl_map commits; /* ids (hex) of the commits that the remote lacks */
};

static void push_release(struct push *push)
{
	kl_map_release(&push->commits);
}

static bool is_pushed(const struct push *push, const git_oid *commit)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	return kl_map_get(&push->commits, hex) != NULL;
}

/*
 * Get the commit that `oid`, the id of a commit or tag, names. Set *there to false if there is no
 * such commit, or this clone does not have it.
 */
static int peel_commit(bool *there, git_oid *out, struct kl_repo *repo, const git_oid *oid)
{
	char hex[KL_OID_HEX];
	int err = KL_ENOTFOUND;

	kl_oid_hex(hex, oid);
	if (!git_oid_is_zero(oid))
		err = kl_repo_resolve(out, repo, hex);
	*there = !err;
	if (err == KL_EINTR)
		return err;
	kl_error_clear();
	return 0;
}

/* Get the blob and mode of the repository's list at a commit; zeros if the commit has no list. */
static int list_at(git_oid *blob, uint32_t *mode, struct kl_repo *repo, const git_oid *commit)
{
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, commit);

	*blob = kl_oid_none;
	*mode = 0;
	if (!err)
		err = kl_repo_tree_entry(blob, mode, repo, &tree, KL_SIGNERS_FILE);
	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	return 0;
}

static int same_list(bool *out, struct kl_repo *repo, const git_oid *left, const git_oid *right)
{
	git_oid left_blob, right_blob;
	uint32_t left_mode, right_mode;
	int err = list_at(&left_blob, &left_mode, repo, left);

	if (!err)
		err = list_at(&right_blob, &right_mode, repo, right);
	*out = !err && left_mode == right_mode &&
	       !memcmp(&left_blob, &right_blob, sizeof(left_blob));
	return err;
}

/*
 * Find the commit that the range of a pushed ref begins at: the commit that the ref has at the
 * remote. If the ref is new there, or this clone lacks that commit, it is the first commit along
 * first parents that is not pushed. Set *there to false if the whole history is pushed.
 */
static int ref_base(bool *there, git_oid *out, const struct push *push,
		    const struct kl_push_ref *ref, const git_oid *local)
{
	int err = peel_commit(there, out, push->repo, &ref->remote);

	if (err < 0 || *there)
		return err;
	for (*out = *local; is_pushed(push, out);) {
		KL_AUTO(kl_freep) git_oid *parent = NULL;
		size_t n;

		if ((err = kl_repo_parents(&parent, &n, push->repo, out)) < 0 || !n)
			return err;
		*out = parent[0];
	}
	*there = true;
	return 0;
}

/*
 * Set *own to true if the branch that klineage.signers names has commits of this ref's range that
 * change the list. Then set *base to the commit that the range begins at.
 */
static int check_ref(bool *own, git_oid *base, const struct push *push,
		     const struct kl_push_ref *ref)
{
	git_oid local, shared;
	bool there, same;
	int err = peel_commit(&there, &local, push->repo, &ref->local);

	*own = false;
	if (err < 0 || !there)
		return err;
	err = kl_signers_merge_base(&there, &shared, push->repo, &local);
	if (err < 0 || !there || !is_pushed(push, &shared))
		return err;
	if ((err = ref_base(&there, base, push, ref, &local)) < 0 || !there)
		return err;
	err = same_list(&same, push->repo, base, &shared);
	*own = !err && !same;
	return err;
}

int kl_push_base(bool *own, git_oid *base, struct kl_repo *repo, const struct kl_push_ref *ref,
		 size_t nref, const git_oid *commit, size_t n)
{
	KL_AUTO(push_release) struct push push = { .repo = repo };
	int err = 0;

	*own = false;
	for (size_t i = 0; i < n; i++) {
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &commit[i]);
		kl_map_put(&push.commits, hex, &push);
	}
	for (size_t i = 0; i < nref && !err; i++) {
		bool changes = false;
		git_oid from;

		err = check_ref(&changes, &from, &push, &ref[i]);
		if (err < 0 || !changes)
			continue;
		/*
		 * take the oldest base, so that a key that one ref adds does not count for another
		 * ref
		 */
		if (*own && (err = kl_repo_merge_base(&from, repo, base, &from)) == KL_ENOTFOUND) {
			kl_error_clear();
			err = 0;
			continue;
		}
		*base = from;
		*own = true;
	}
	return err;
}
