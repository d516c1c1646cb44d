/* SPDX-License-Identifier: Apache-2.0 */
/* sync_transplant - exchanges the chains of transplants: the kernels judged for a lineage */
#include <string.h>

#include "base/error.h"
#include "sync/sync_parts.h"

#define MAX_LINKS 1000000

/* The links of a chain, the newest first. */
struct links {
	struct kl_commit *v;
	size_t n, alloc;
};

static void links_release(struct links *links)
{
	for (size_t i = 0; i < links->n; i++)
		kl_commit_release(&links->v[i]);
	free(links->v);
}

static int read_links(struct links *out, struct kl_repo *repo, const git_oid *tip)
{
	git_oid at = *tip;

	for (;;) {
		struct kl_commit link = { 0 };
		int err = kl_repo_commit_read(&link, repo, &at);

		if (!err && (!link.nparent || out->n == MAX_LINKS))
			err = kl_error(KL_EINVALID, "a chain of transplants is damaged");
		if (err < 0) {
			kl_commit_release(&link);
			return err;
		}
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = link;
		if (link.nparent < 2)
			return 0;
		at = link.parent[1];
	}
}

/* --- the union -------------------------------------------------------------------------------- */

/*
 * Return a key of a link. Two links have the same key if they keep the same kernel with the same
 * message, in whatever chain.
 */
static char *key_of(const struct kl_commit *link)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &link->parent[0]);
	return kl_asprintf("%s %s", hex, link->message);
}

static int add_link(git_oid *tip, struct kl_repo *repo, const struct kl_commit *link)
{
	const git_oid parent[] = { link->parent[0], *tip };

	return kl_repo_commit_write(tip, repo,
				    &(struct kl_commit_spec){
					    .tree = link->tree,
					    .parent = parent,
					    .nparent = 2,
					    .message = link->message,
					    .author = link->author,
					    .time = link->author_time,
					    .offset = link->author_offset,
				    });
}

/*
 * Append the links that only our chain has to their chain, the oldest first, and set *tip to the
 * result. The result descends from their chain, so it can be pushed. Set *taken to the number of
 * links that only their chain has.
 */
static int unite_chains(git_oid *tip, size_t *taken, struct kl_repo *repo, const git_oid *ours,
			const git_oid *theirs)
{
	KL_AUTO(links_release) struct links our = { 0 }, their = { 0 };
	KL_AUTO(kl_map_release) struct kl_map known = KL_MAP_INIT, have = KL_MAP_INIT;
	int err;

	if ((err = read_links(&our, repo, ours)) < 0 ||
	    (err = read_links(&their, repo, theirs)) < 0)
		return err;
	*tip = *theirs;
	*taken = 0;
	for (size_t i = 0; i < their.n; i++) {
		KL_AUTO(kl_freep) char *key = key_of(&their.v[i]);

		kl_map_put(&known, key, tip);
	}
	for (size_t i = our.n; !err && i-- > 0;) {
		KL_AUTO(kl_freep) char *key = key_of(&our.v[i]);

		kl_map_put(&have, key, tip);
		if (!kl_map_get(&known, key))
			err = add_link(tip, repo, &our.v[i]);
	}
	for (size_t i = 0; i < their.n; i++) {
		KL_AUTO(kl_freep) char *key = key_of(&their.v[i]);

		*taken += !kl_map_get(&have, key);
	}
	return err;
}

/* --- taking ----------------------------------------------------------------------------------- */

static int leave_ref(struct kl_sync_round *round, struct kl_sync_ref *ref, const char *why)
{
	kl_sync_report(round, KL_SYNC_LEFT, ref->ref, "%s", why);
	kl_error_clear();
	ref->left = true;
	return 0;
}

/* Return the remote's lineage whose steps were tried, or NULL. */
static struct kl_sync_ref *lineage_of(struct kl_sync_round *round, const char *leaf)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s%s", kl_sync_prefix(KL_SYNC_LINEAGE), leaf);

	return kl_sync_find(round, name);
}

/* Set *tip to their chain or to a union of both. Set *moves to false if our ref stays. */
static int place_tip(bool *moves, git_oid *tip, size_t *taken, struct kl_sync_round *round,
		     const git_oid *ours, const git_oid *theirs)
{
	bool ahead = false;
	int err = kl_repo_is_ancestor(&ahead, round->r, theirs, ours);

	*moves = false;
	if (err < 0 || ahead || !memcmp(ours, theirs, sizeof(*ours)))
		return err;
	err = unite_chains(tip, taken, round->r, ours, theirs);
	*moves = !err;
	return err;
}

int kl_sync_take_transplants(struct kl_sync_round *round, struct kl_refs_txn *txn,
			     struct kl_sync_ref *ref)
{
	const char *renamed = kl_map_get(&round->renamed, ref->leaf);
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s%s", kl_sync_prefix(KL_SYNC_TRANSPLANT),
						   renamed ? renamed : ref->leaf);
	const struct kl_sync_ref *lineage = lineage_of(round, ref->leaf);
	struct kl_check check = { .lineage = lineage ? &lineage->oid : NULL };
	git_oid ours, tip = ref->oid;
	bool good, moves = true, none;
	size_t taken = 0;
	int err = kl_refs_get(&ours, round->r, name);

	none = err == KL_ENOTFOUND;
	if (err < 0 && !none)
		return err;
	kl_error_clear();
	if (!lineage || lineage->left)
		return leave_ref(round, ref, "the lineage whose steps were tried was not taken");
	if ((err = kl_sync_verify(&good, &check, round, ref, "transplant")) < 0 || !good)
		return err;
	err = none ? kl_refs_can_create(round->r, name) :
		     place_tip(&moves, &tip, &taken, round, &ours, &ref->oid);
	if (err == KL_EINVALID)
		return leave_ref(round, ref, kl_error_last());
	if (err < 0 || !moves)
		return err;
	kl_refs_txn_update(txn, name, &tip, none ? NULL : &ours);
	if (none)
		kl_sync_report(round, renamed ? KL_SYNC_RENAMED : KL_SYNC_TAKEN, name, "%s",
			       renamed ? "as its lineage" : "");
	else
		kl_sync_report(round,
			       memcmp(&tip, &ref->oid, sizeof(tip)) ? KL_SYNC_UNITED :
								      KL_SYNC_MOVED,
			       name, "%zu kernel%s", taken, taken == 1 ? "" : "s");
	return 0;
}

/* --- giving ----------------------------------------------------------------------------------- */

int kl_sync_can_give_transplants(bool *can, struct kl_sync_round *round, const char *ref,
				 const git_oid *tip)
{
	const char *leaf = ref + strlen(kl_sync_prefix(KL_SYNC_TRANSPLANT));
	KL_AUTO(kl_freep) char *lineage = kl_asprintf("%s%s", kl_sync_prefix(KL_SYNC_LINEAGE),
						      leaf);
	KL_AUTO(kl_freep) char *name = kl_asprintf("transplant/%s", leaf);
	const struct kl_sync_ref *theirs = kl_sync_find(round, lineage);
	struct kl_check check = { .repo = round->r };
	git_oid ours;
	int err = kl_refs_get(&ours, round->r, lineage);

	*can = false;
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (theirs && memcmp(&theirs->oid, &ours, sizeof(ours)) != 0))
		return err;
	/*
	 * Commits that a chain reaches are published: allow only kernels on states of the lineage.
	 */
	check.lineage = &ours;
	err = kl_check_foreign(&check, name, tip);
	*can = !err && !check.errors;
	if (!err && check.errors)
		kl_sync_report(
			round, KL_SYNC_LEFT, ref,
			"our chain is invalid, so it was not pushed; git klineage fsck tells "
			"what is wrong");
	return err;
}
