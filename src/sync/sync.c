/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/sync.h"

#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/prefix.h"
#include "base/proc.h"
#include "base/rng.h"
#include "card/library.h"
#include "event/segment.h"
#include "repo/notes.h"
#include "repo/remote.h"
#include "sync/sync_parts.h"
#include "walk/step.h"

#define MAX_REFS 100000
#define MAX_MIB 2048
#define GIVE_UP_MS (5 * 60 * 1000)
#define LOCK_MS (60 * 1000)
/* give up after this many rounds in a row that found the remote unchanged */
#define SAME_ANSWERS 4

/* clang-format off */
static const char *const prefixes[] = {
	[KL_SYNC_NOTES] = KL_NOTES_GATE,
	[KL_SYNC_LINEAGE] = "refs/heads/klineage/lineage/",
	[KL_SYNC_REJECTED] = "refs/klineage/rejected/",
	[KL_SYNC_CAMPAIGN] = KL_SEGMENT_REFS,
	[KL_SYNC_TRANSPLANT] = "refs/klineage/transplant/",
	/* NULL because the ref is configured (kl_sync_round.cards) */
	[KL_SYNC_CARDS] = NULL,
};
/* clang-format on */

const char *kl_sync_prefix(enum kl_sync_kind kind)
{
	return prefixes[kind];
}

const char *kl_sync_how_name(enum kl_sync_how how)
{
	static const char *const names[] = {
		"taken", "moved", "united", "renamed", "given", "left"
	};

	return names[how];
}

/* --- recording what was done ------------------------------------------------------ */

static void items_release(struct kl_sync_item *item, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(item[i].ref);
		free(item[i].what);
	}
	free(item);
}

void kl_sync_release(struct kl_sync *sync)
{
	items_release(sync->v, sync->n);
	sync->v = NULL;
	sync->n = sync->alloc = 0;
}

void kl_sync_report(struct kl_sync_round *round, enum kl_sync_how how, const char *ref,
		    const char *fmt, ...)
{
	struct kl_buf what = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&what, fmt, ap);
	va_end(ap);
	KL_GROW(round->item, round->nitem + 1, round->item_alloc);
	round->item[round->nitem++] = (struct kl_sync_item){ how, kl_strdup(ref),
							     kl_buf_detach(&what) };
}

/*
 * Move the items of the round to the result. If the round failed and will be repeated (`done` is
 * false), skip the items of refs that were given or left, because the next round reports these
 * again. Keep the items of changes to our refs, because these changes have been made and no later
 * round reports them.
 */
static void keep_items(struct kl_sync_round *round, bool done)
{
	struct kl_sync *sync = round->s;

	for (size_t i = 0; i < round->nitem; i++) {
		struct kl_sync_item *item = &round->item[i];

		if (!done && (item->how == KL_SYNC_GIVEN || item->how == KL_SYNC_LEFT))
			continue;
		KL_GROW(sync->v, sync->n + 1, sync->alloc);
		sync->v[sync->n++] = *item;
		*item = (struct kl_sync_item){ 0 };
	}
}

static void round_release(struct kl_sync_round *round)
{
	for (size_t i = 0; i < round->n; i++) {
		free(round->v[i].ref);
		free(round->v[i].tracking);
		free(round->v[i].leaf);
	}
	free(round->v);
	items_release(round->item, round->nitem);
	kl_map_release(&round->renamed);
}

/* --- listing the refs of the remote ---------------------------------------------- */

struct kl_sync_ref *kl_sync_find(struct kl_sync_round *round, const char *ref)
{
	for (size_t i = 0; i < round->n; i++)
		if (!strcmp(round->v[i].ref, ref))
			return &round->v[i];
	return NULL;
}

struct kl_sync_ref *kl_sync_find_oid(struct kl_sync_round *round, enum kl_sync_kind kind,
				     const char *leaf, const git_oid *oid)
{
	size_t n = strcspn(leaf, "/") + 1;

	for (size_t i = 0; i < round->n; i++)
		if (round->v[i].kind == kind && !strncmp(round->v[i].leaf, leaf, n) &&
		    !memcmp(&round->v[i].oid, oid, sizeof(*oid)))
			return &round->v[i];
	return NULL;
}

int kl_sync_ours(struct kl_ref_list *out, struct kl_sync_round *round, enum kl_sync_kind kind)
{
	return kl_refs_list(out, round->r, prefixes[kind]);
}

static bool leaf_ok(const char *leaf)
{
	const char *slash = strchr(leaf, '/');
	KL_AUTO(kl_freep) char *workload = slash ? kl_strndup(leaf, (size_t)(slash - leaf)) : NULL;

	return slash && kl_slug_ok(workload) && kl_slug_ok(slash + 1);
}

char *kl_sync_tracking(const char *remote, const char *ref)
{
	if (!strncmp(ref, "refs/notes/", 11))
		return kl_asprintf("refs/notes/remotes/%s/%s", remote, ref + 11);
	if (!strncmp(ref, "refs/heads/klineage/", 20))
		return kl_asprintf("refs/klineage-remotes/%s/heads/%s", remote, ref + 20);
	if (!strncmp(ref, "refs/klineage/", 14))
		return kl_asprintf("refs/klineage-remotes/%s/%s", remote, ref + 14);
	return kl_asprintf("refs/klineage-remotes/%s/cards", remote);
}

static void take_ref(struct kl_sync_round *round, enum kl_sync_kind kind, const struct kl_ref *ref)
{
	const char *leaf = "";

	if (kind != KL_SYNC_NOTES && kind != KL_SYNC_CARDS) {
		leaf = ref->name + strlen(prefixes[kind]);
		if (!leaf_ok(leaf)) {
			kl_sync_report(round, KL_SYNC_LEFT, ref->name,
				       "not named <workload>/<name>");
			return;
		}
	}
	KL_GROW(round->v, round->n + 1, round->alloc);
	round->v[round->n++] = (struct kl_sync_ref){
		.kind = kind,
		.ref = kl_strdup(ref->name),
		.leaf = kl_strdup(leaf),
		.oid = ref->oid,
		.tracking = kl_sync_tracking(round->s->remote, ref->name),
	};
}

static int list_theirs(struct kl_sync_round *round)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list all = { 0 };
	const char *const want[] = { prefixes[KL_SYNC_NOTES],
				     prefixes[KL_SYNC_LINEAGE],
				     prefixes[KL_SYNC_REJECTED],
				     prefixes[KL_SYNC_CAMPAIGN],
				     prefixes[KL_SYNC_TRANSPLANT],
				     round->cards,
				     NULL };
	const char *const notes[] = { prefixes[KL_SYNC_NOTES], NULL };
	int err = kl_remote_list(&all, round->r, round->s->remote,
				 round->s->notes_only ? notes : want, MAX_REFS);

	for (size_t i = 0; !err && i < all.n; i++) {
		const char *name = all.ref[i].name;

		if (!strcmp(name, round->cards))
			take_ref(round, KL_SYNC_CARDS, &all.ref[i]);
		else if (!strcmp(name, KL_NOTES_GATE))
			take_ref(round, KL_SYNC_NOTES, &all.ref[i]);
		else if (kl_prefix_has(name, prefixes[KL_SYNC_LINEAGE]))
			take_ref(round, KL_SYNC_LINEAGE, &all.ref[i]);
		else if (kl_prefix_has(name, prefixes[KL_SYNC_REJECTED]))
			take_ref(round, KL_SYNC_REJECTED, &all.ref[i]);
		else if (kl_prefix_has(name, prefixes[KL_SYNC_CAMPAIGN]))
			take_ref(round, KL_SYNC_CAMPAIGN, &all.ref[i]);
		else if (kl_prefix_has(name, prefixes[KL_SYNC_TRANSPLANT]))
			take_ref(round, KL_SYNC_TRANSPLANT, &all.ref[i]);
	}
	return err;
}

/* --- fetching ------------------------------------------------------------------------ */

/*
 * Delete the tracking refs of lineages, rejected steps, campaigns and transplants that the remote no
 * longer has. Keep other tracking refs, because they can come from a plain fetch.
 */
static int drop_gone(struct kl_sync_round *round)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(round->r);
	const char *const kinds[] = { "heads/lineage/", "rejected/", "campaign/", "transplant/" };
	int err = 0;

	for (size_t kind = 0; !err && kind < KL_ARRAY_SIZE(kinds); kind++) {
		KL_AUTO(kl_ref_list_release) struct kl_ref_list have = { 0 };
		KL_AUTO(kl_freep) char *prefix = kl_asprintf("refs/klineage-remotes/%s/%s",
							     round->s->remote, kinds[kind]);

		err = kl_refs_list(&have, round->r, prefix);
		for (size_t i = 0; !err && i < have.n; i++) {
			bool there = false;

			for (size_t k = 0; k < round->n && !there; k++)
				there = !strcmp(round->v[k].tracking, have.ref[i].name);
			if (!there)
				kl_refs_txn_delete(txn, have.ref[i].name, &have.ref[i].oid);
		}
	}
	return err ? err : kl_refs_txn_commit(txn, "klineage sync: gone from the remote");
}

static int fetch_refs(struct kl_sync_round *round)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec spec = KL_STRVEC_INIT;
	int64_t mib;
	int err = kl_repo_config_int(&mib, round->r, "klineage.syncMaxMiB", MAX_MIB);

	if (!err && (mib < 1 || mib > 1 << 20))
		err = kl_error(KL_EINVALID, "klineage.syncMaxMiB is %lld; it must be 1 to 1048576",
			       (long long)mib);
	for (size_t i = 0; !err && i < round->n; i++) {
		git_oid have;

		if (kl_refs_get(&have, round->r, round->v[i].tracking) < 0 ||
		    memcmp(&have, &round->v[i].oid, sizeof(have)))
			kl_strvec_pushf(&spec, "+%s:%s", round->v[i].ref, round->v[i].tracking);
	}
	kl_error_clear();
	/*
	 * drop old refs before the fetch, because their names can conflict with those of new refs
	 */
	if (!err && !round->s->notes_only)
		err = drop_gone(round);
	if (!err)
		err = kl_remote_fetch(round->r, round->s->remote, &spec, (uint64_t)mib << 20);
	/* a ref can move between the listing and the fetch, so use the fetched value */
	for (size_t i = 0; !err && i < round->n; i++)
		err = kl_refs_get(&round->v[i].oid, round->r, round->v[i].tracking);
	return err;
}

/* --- dry run ------------------------------------------------------------------------- */

static void plan_ref(struct kl_sync_round *round, const char *ref, const git_oid *ours)
{
	const struct kl_sync_ref *theirs = kl_sync_find(round, ref);
	bool behind = false, ahead = false;

	if (!theirs && round->s->push)
		kl_sync_report(round, KL_SYNC_GIVEN, ref, "new at the remote");
	if (!theirs || !memcmp(&theirs->oid, ours, sizeof(*ours)))
		return;
	if (kl_repo_is_ancestor(&behind, round->r, &theirs->oid, ours) < 0 ||
	    kl_repo_is_ancestor(&ahead, round->r, ours, &theirs->oid) < 0)
		kl_error_clear();
	if (behind && round->s->push)
		kl_sync_report(round, KL_SYNC_GIVEN, ref, "ahead of the remote");
	if (behind || !round->s->fetch)
		return;
	if (theirs->kind == KL_SYNC_LINEAGE)
		kl_sync_report(round, KL_SYNC_RENAMED, ref,
			       "the remote has another lineage of that name");
	else
		kl_sync_report(round, ahead ? KL_SYNC_MOVED : KL_SYNC_UNITED, ref,
			       "differs from the remote");
}

/* Report what a sync would do, as far as this can be known without fetching. */
static int show_plan(struct kl_sync_round *round)
{
	int err = 0;

	for (size_t i = 0; round->s->fetch && i < round->n; i++) {
		git_oid oid;

		if (kl_refs_get(&oid, round->r, round->v[i].ref) < 0)
			kl_sync_report(round, KL_SYNC_TAKEN, round->v[i].ref, "new here");
	}
	kl_error_clear();
	for (int kind = 0; !err && kind <= KL_SYNC_CARDS; kind++) {
		KL_AUTO(kl_ref_list_release) struct kl_ref_list ours = { 0 };
		const char *prefix = kind == KL_SYNC_CARDS ? round->cards : prefixes[kind];
		bool single = kind == KL_SYNC_CARDS || kind == KL_SYNC_NOTES;

		err = kl_refs_list(&ours, round->r, prefix);
		for (size_t i = 0; !err && i < ours.n; i++)
			if (!single || !strcmp(ours.ref[i].name, prefix))
				plan_ref(round, ours.ref[i].name, &ours.ref[i].oid);
	}
	return err;
}

/* --- running the rounds of a sync -------------------------------------------------------- */

/* Write the remote's refs as text, to detect whether the remote changes between rounds. */
static void describe_refs(struct kl_buf *out, const struct kl_sync_round *round)
{
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < round->n; i++) {
		kl_oid_hex(hex, &round->v[i].oid);
		kl_buf_addf(out, "%s %s\n", hex, round->v[i].ref);
	}
}

/* The part of a round that failed; it decides which hints the user gets. */
enum failed_part { WHILE_FETCHING, WHILE_TAKING, WHILE_GIVING };

static int one_round(struct kl_sync *sync, struct kl_buf *refs, enum failed_part *part)
{
	KL_AUTO(round_release) struct kl_sync_round round = {
		.s = sync,
		.r = sync->repo,
		.renamed = { .free_value = free },
	};
	int err;

	round.cards = kl_repo_config(sync->repo, "klineage.skillsRef");
	if (!round.cards)
		round.cards = KL_LIBRARY_REF;
	sync->rounds++;
	err = list_theirs(&round);
	if (!err)
		describe_refs(refs, &round);
	if (!err && sync->dry_run) {
		err = show_plan(&round);
	} else if (!err) {
		*part = WHILE_FETCHING;
		if (sync->fetch && !(err = fetch_refs(&round))) {
			*part = WHILE_TAKING;
			err = kl_sync_take(&round);
		}
		if (!err && sync->push) {
			*part = WHILE_GIVING;
			err = kl_sync_give(&round);
		}
	}
	keep_items(&round, !err);
	return err;
}

/*
 * Report that all rounds failed. Return KL_EBUSY unchanged; turn KL_ECHANGED into KL_EIO, with
 * hints for the part that failed. While our refs are updated, only another process here can have
 * moved them; only the push can be refused by the remote.
 */
static int give_up(int err, enum failed_part part, const char *remote)
{
	KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());

	if (err == KL_EBUSY)
		return err;
	err = kl_error(KL_EIO, "%s", why);
	if (part == WHILE_TAKING) {
		kl_error_hint(err, "another process keeps moving refs of this repository; run the "
				   "sync again when that process has finished");
		return kl_error_hint(err,
				     "the changes fetched from '%s' are not merged yet, and "
				     "nothing was pushed to it",
				     remote);
	}
	if (part == WHILE_FETCHING)
		return kl_error_hint(err, "'%s' changed at each attempt; run the sync again",
				     remote);
	return kl_error_hint(err,
			     "nothing was pushed to '%s'; the changes fetched from it are "
			     "kept",
			     remote);
}

static int run_rounds(struct kl_sync *sync)
{
	KL_AUTO(kl_buf_release) struct kl_buf last_refs = KL_BUF_INIT;
	int64_t start = kl_clock_ns();
	int same = 0;

	for (int64_t nap = 32;; nap = nap < 2048 ? nap * 2 : 2048) {
		KL_AUTO(kl_buf_release) struct kl_buf refs = KL_BUF_INIT;
		enum failed_part part = WHILE_FETCHING;
		int err = one_round(sync, &refs, &part);

		if (!err || (err != KL_ECHANGED && err != KL_EBUSY))
			return err;
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		same = strcmp(refs.ptr, last_refs.ptr) ? 0 : same + 1;
		if (same >= SAME_ANSWERS || (kl_clock_ns() - start) / 1000000 > GIVE_UP_MS)
			return give_up(err, part, sync->remote);
		kl_buf_clear(&last_refs);
		kl_buf_adds(&last_refs, refs.ptr);
		kl_clock_sleep_ms(nap + (int64_t)(kl_rng_os_seed() % (uint64_t)nap));
	}
}

int kl_sync_run(struct kl_sync *sync)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(kl_repo_common_dir(sync->repo),
						  "klineage/sync-lock");
	int err = kl_remote_check(sync->repo, sync->remote);

	if (!err)
		err = kl_fs_mkdir_of(path);
	if (!err)
		err = kl_lock_take(&lock, path, LOCK_MS);
	if (err == KL_EBUSY)
		return kl_error_in(err, "another sync is running in this repository");
	if (!err && sync->push && !sync->notes_only && !sync->dry_run)
		err = kl_sync_seal_logs(sync->repo);
	return err ? err : run_rounds(sync);
}

/* --- configuring refspecs for a plain fetch ------------------------------------------------- */

void kl_sync_refspecs(struct kl_strvec *out, const char *remote)
{
	kl_strvec_pushf(out, "+refs/notes/klineage/*:refs/notes/remotes/%s/klineage/*", remote);
	kl_strvec_pushf(out, "+refs/heads/klineage/*:refs/klineage-remotes/%s/heads/*", remote);
	kl_strvec_pushf(out, "+refs/klineage/rejected/*:refs/klineage-remotes/%s/rejected/*",
			remote);
}

int kl_sync_configured(struct kl_strvec *out, struct kl_repo *repo, const char *remote)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec want = KL_STRVEC_INIT, have = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *key = kl_asprintf("remote.%s.fetch", remote);
	int err = kl_remote_config_get(&have, repo, key);

	kl_sync_refspecs(&want, remote);
	for (size_t i = 0; !err && i < want.n; i++)
		if (kl_strvec_has(&have, want.v[i]))
			kl_strvec_push(out, want.v[i]);
	return err;
}

int kl_sync_setup(struct kl_strvec *changed, struct kl_repo *repo, const char *remote, bool on)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec want = KL_STRVEC_INIT, have = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *key = kl_asprintf("remote.%s.fetch", remote);
	int err = kl_remote_check(repo, remote);

	if (!err)
		err = kl_sync_configured(&have, repo, remote);
	kl_sync_refspecs(&want, remote);
	for (size_t i = 0; !err && i < want.n; i++) {
		if (kl_strvec_has(&have, want.v[i]) == on)
			continue;
		err = on ? kl_remote_config_add(repo, key, want.v[i]) :
			   kl_remote_config_remove(repo, key, want.v[i]);
		if (!err)
			kl_strvec_push(changed, want.v[i]);
	}
	return err;
}
