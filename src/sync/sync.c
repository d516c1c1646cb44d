/* SPDX-License-Identifier: Apache-2.0 */
#include "sync/sync.h"

#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/proc.h"
#include "base/rng.h"
#include "card/library.h"
#include "repo/notes.h"
#include "repo/remote.h"
#include "sync/sync_parts.h"
#include "walk/step.h"

#define MAX_REFS 100000
#define MAX_MIB 2048
#define GIVE_UP_MS (5 * 60 * 1000)
#define LOCK_MS (60 * 1000)
#define SAME_ANSWERS 4 /* refusals, while the remote stays the same, to be believed */

/* clang-format off */
static const char *const prefixes[] = {
	[KL_SYNC_NOTES] = KL_NOTES_GATE,
	[KL_SYNC_LINEAGE] = "refs/heads/klineage/lineage/",
	[KL_SYNC_REJECTED] = "refs/klineage/rejected/",
	[KL_SYNC_CARDS] = NULL,		/* configured */
};
/* clang-format on */

const char *kl_sync_prefix(enum kl_sync_kind kind)
{
	return prefixes[kind];
}

const char *kl_sync_how_name(enum kl_sync_how how)
{
	static const char *const name[] = {
		"taken", "moved", "united", "renamed", "given", "left"
	};

	return name[how];
}

/* --- what is said ------------------------------------------------------------- */

static void items_release(struct kl_sync_item *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i].ref);
		free(v[i].what);
	}
	free(v);
}

void kl_sync_release(struct kl_sync *s)
{
	items_release(s->v, s->n);
	s->v = NULL;
	s->n = s->alloc = 0;
}

void kl_sync_say(struct kl_sync_round *x, enum kl_sync_how how, const char *ref, const char *fmt,
		 ...)
{
	struct kl_buf what = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&what, fmt, ap);
	va_end(ap);
	KL_GROW(x->item, x->nitem + 1, x->item_alloc);
	x->item[x->nitem++] = (struct kl_sync_item){ how, kl_strdup(ref), kl_buf_detach(&what) };
}

/*
 * What a round did here stays done when the next begins anew, and is not said again by it;
 * what it gave, or left, the next says.
 */
static void keep_items(struct kl_sync_round *x, bool done)
{
	struct kl_sync *s = x->s;

	for (size_t i = 0; i < x->nitem; i++) {
		struct kl_sync_item *it = &x->item[i];

		if (!done && (it->how == KL_SYNC_GIVEN || it->how == KL_SYNC_LEFT))
			continue;
		KL_GROW(s->v, s->n + 1, s->alloc);
		s->v[s->n++] = *it;
		*it = (struct kl_sync_item){ 0 };
	}
}

static void round_release(struct kl_sync_round *x)
{
	for (size_t i = 0; i < x->n; i++) {
		free(x->v[i].ref);
		free(x->v[i].tracking);
		free(x->v[i].leaf);
	}
	free(x->v);
	items_release(x->item, x->nitem);
	kl_map_release(&x->renamed);
}

/* --- the remote's refs --------------------------------------------------------- */

struct kl_sync_ref *kl_sync_find(struct kl_sync_round *x, const char *ref)
{
	for (size_t i = 0; i < x->n; i++)
		if (!strcmp(x->v[i].ref, ref))
			return &x->v[i];
	return NULL;
}

struct kl_sync_ref *kl_sync_find_oid(struct kl_sync_round *x, enum kl_sync_kind kind,
				     const char *leaf, const git_oid *oid)
{
	size_t n = strcspn(leaf, "/") + 1;

	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].kind == kind && !strncmp(x->v[i].leaf, leaf, n) &&
		    !memcmp(&x->v[i].oid, oid, sizeof(*oid)))
			return &x->v[i];
	return NULL;
}

int kl_sync_ours(struct kl_ref_list *out, struct kl_sync_round *x, enum kl_sync_kind kind)
{
	return kl_refs_list(out, x->r, prefixes[kind]);
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

static void take_ref(struct kl_sync_round *x, enum kl_sync_kind kind, const struct kl_ref *ref)
{
	const char *leaf = "";

	if (kind == KL_SYNC_LINEAGE || kind == KL_SYNC_REJECTED) {
		leaf = ref->name + strlen(prefixes[kind]);
		if (!leaf_ok(leaf)) {
			kl_sync_say(x, KL_SYNC_LEFT, ref->name,
				    "it is not named <workload>/<name>");
			return;
		}
	}
	KL_GROW(x->v, x->n + 1, x->alloc);
	x->v[x->n++] = (struct kl_sync_ref){
		.kind = kind,
		.ref = kl_strdup(ref->name),
		.leaf = kl_strdup(leaf),
		.oid = ref->oid,
		.tracking = kl_sync_tracking(x->s->remote, ref->name),
	};
}

static int list_theirs(struct kl_sync_round *x)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list all = { 0 };
	const char *const want[] = { prefixes[KL_SYNC_NOTES], prefixes[KL_SYNC_LINEAGE],
				     prefixes[KL_SYNC_REJECTED], x->cards, NULL };
	const char *const notes[] = { prefixes[KL_SYNC_NOTES], NULL };
	int err = kl_remote_list(&all, x->r, x->s->remote, x->s->notes_only ? notes : want,
				 MAX_REFS);

	for (size_t i = 0; !err && i < all.n; i++) {
		const char *name = all.ref[i].name;

		if (!strcmp(name, x->cards))
			take_ref(x, KL_SYNC_CARDS, &all.ref[i]);
		else if (!strcmp(name, KL_NOTES_GATE))
			take_ref(x, KL_SYNC_NOTES, &all.ref[i]);
		else if (!strncmp(name, prefixes[KL_SYNC_LINEAGE],
				  strlen(prefixes[KL_SYNC_LINEAGE])))
			take_ref(x, KL_SYNC_LINEAGE, &all.ref[i]);
		else if (!strncmp(name, prefixes[KL_SYNC_REJECTED],
				  strlen(prefixes[KL_SYNC_REJECTED])))
			take_ref(x, KL_SYNC_REJECTED, &all.ref[i]);
	}
	return err;
}

/* --- fetch ------------------------------------------------------------------------ */

/*
 * Tracking refs of what the remote has no longer; those of other kinds are whoever's fetched them.
 */
static int drop_gone(struct kl_sync_round *x)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(x->r);
	const char *const part[] = { "heads/lineage/", "rejected/" };
	int err = 0;

	for (size_t p = 0; !err && p < KL_ARRAY_SIZE(part); p++) {
		KL_AUTO(kl_ref_list_release) struct kl_ref_list have = { 0 };
		KL_AUTO(kl_freep) char *prefix = kl_asprintf("refs/klineage-remotes/%s/%s",
							     x->s->remote, part[p]);

		err = kl_refs_list(&have, x->r, prefix);
		for (size_t i = 0; !err && i < have.n; i++) {
			bool there = false;

			for (size_t k = 0; k < x->n && !there; k++)
				there = !strcmp(x->v[k].tracking, have.ref[i].name);
			if (!there)
				kl_refs_txn_delete(t, have.ref[i].name, &have.ref[i].oid);
		}
	}
	return err ? err : kl_refs_txn_commit(t, "klineage sync: gone from the remote");
}

static int fetch_refs(struct kl_sync_round *x)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec spec = KL_STRVEC_INIT;
	int64_t mib;
	int err = kl_repo_config_int(&mib, x->r, "klineage.syncMaxMiB", MAX_MIB);

	if (!err && (mib < 1 || mib > 1 << 20))
		err = kl_error(KL_EINVALID, "klineage.syncMaxMiB is %lld", (long long)mib);
	for (size_t i = 0; !err && i < x->n; i++) {
		git_oid have;

		if (kl_refs_get(&have, x->r, x->v[i].tracking) < 0 ||
		    memcmp(&have, &x->v[i].oid, sizeof(have)))
			kl_strvec_pushf(&spec, "+%s:%s", x->v[i].ref, x->v[i].tracking);
	}
	kl_error_clear();
	if (!err && !x->s->notes_only)
		err = drop_gone(x); /* first: one may stand where a new one needs a directory */
	if (!err)
		err = kl_remote_fetch(x->r, x->s->remote, &spec, (uint64_t)mib << 20);
	/* it may have moved between the list and the fetch: what came counts */
	for (size_t i = 0; !err && i < x->n; i++)
		err = kl_refs_get(&x->v[i].oid, x->r, x->v[i].tracking);
	return err;
}

/* --- dry run -------------------------------------------------------------------------- */

static void say_would(struct kl_sync_round *x, const char *ref, const git_oid *ours)
{
	const struct kl_sync_ref *theirs = kl_sync_find(x, ref);
	bool back = false, forth = false;

	if (!theirs && x->s->push)
		kl_sync_say(x, KL_SYNC_GIVEN, ref, "new there");
	if (!theirs || !memcmp(&theirs->oid, ours, sizeof(*ours)))
		return;
	if (kl_repo_is_ancestor(&back, x->r, &theirs->oid, ours) < 0 ||
	    kl_repo_is_ancestor(&forth, x->r, ours, &theirs->oid) < 0)
		kl_error_clear();
	if (back && x->s->push)
		kl_sync_say(x, KL_SYNC_GIVEN, ref, "more than there");
	if (back || !x->s->fetch)
		return;
	if (theirs->kind == KL_SYNC_LINEAGE)
		kl_sync_say(x, KL_SYNC_RENAMED, ref, "another one of that name is there");
	else
		kl_sync_say(x, forth ? KL_SYNC_MOVED : KL_SYNC_UNITED, ref, "other than there");
}

/* What would be done, as far as it can be told without fetching. */
static int show_plan(struct kl_sync_round *x)
{
	int err = 0;

	for (size_t i = 0; x->s->fetch && i < x->n; i++) {
		git_oid oid;

		if (kl_refs_get(&oid, x->r, x->v[i].ref) < 0)
			kl_sync_say(x, KL_SYNC_TAKEN, x->v[i].ref, "new here");
	}
	kl_error_clear();
	for (int kind = 0; !err && kind <= KL_SYNC_CARDS; kind++) {
		KL_AUTO(kl_ref_list_release) struct kl_ref_list ours = { 0 };
		const char *prefix = kind == KL_SYNC_CARDS ? x->cards : prefixes[kind];
		bool one = kind == KL_SYNC_CARDS || kind == KL_SYNC_NOTES;

		err = kl_refs_list(&ours, x->r, prefix);
		for (size_t i = 0; !err && i < ours.n; i++)
			if (!one || !strcmp(ours.ref[i].name, prefix))
				say_would(x, ours.ref[i].name, &ours.ref[i].oid);
	}
	return err;
}

/* --- rounds ---------------------------------------------------------------------------- */

/* What the remote is at now, as text: does it change while it refuses? */
static void describe_round(struct kl_buf *out, const struct kl_sync_round *x)
{
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < x->n; i++) {
		kl_oid_hex(hex, &x->v[i].oid);
		kl_buf_addf(out, "%s %s\n", hex, x->v[i].ref);
	}
}

static int one_round(struct kl_sync *s, struct kl_buf *was)
{
	KL_AUTO(round_release) struct kl_sync_round x = {
		.s = s,
		.r = s->repo,
		.renamed = { .free_value = free },
	};
	int err;

	x.cards = kl_repo_config(s->repo, "klineage.skillsRef");
	if (!x.cards)
		x.cards = KL_LIBRARY_REF;
	s->rounds++;
	err = list_theirs(&x);
	if (!err)
		describe_round(was, &x);
	if (!err && s->dry_run) {
		err = show_plan(&x);
	} else if (!err) {
		if (s->fetch && !(err = fetch_refs(&x)))
			err = kl_sync_take(&x);
		if (!err && s->push)
			err = kl_sync_give(&x);
	}
	keep_items(&x, !err);
	return err;
}

/* The remote said no and did not change meanwhile, again and again: it means it. */
static int explain_trust(int err, const char *remote)
{
	KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());

	if (err == KL_EBUSY)
		return err;
	err = kl_error(KL_EIO, "%s", why);
	return kl_error_hint(err,
			     "nothing was given to '%s', and nothing is lost: what came from it "
			     "is here",
			     remote);
}

static int run_rounds(struct kl_sync *s)
{
	KL_AUTO(kl_buf_release) struct kl_buf last = KL_BUF_INIT;
	int64_t start = kl_clock_ns();
	int same = 0;

	for (int64_t nap = 32;; nap = nap < 2048 ? nap * 2 : 2048) {
		KL_AUTO(kl_buf_release) struct kl_buf now = KL_BUF_INIT;
		int err = one_round(s, &now);

		if (!err || (err != KL_ECHANGED && err != KL_EBUSY))
			return err;
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		same = strcmp(now.ptr, last.ptr) ? 0 : same + 1;
		if (same >= SAME_ANSWERS || (kl_clock_ns() - start) / 1000000 > GIVE_UP_MS)
			return explain_trust(err, s->remote);
		kl_buf_clear(&last);
		kl_buf_adds(&last, now.ptr);
		kl_clock_sleep_ms(nap + (int64_t)(kl_rng_os_seed() % (uint64_t)nap));
	}
}

int kl_sync_run(struct kl_sync *s)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(kl_repo_common_dir(s->repo),
						  "klineage/sync-lock");
	int err = kl_remote_check(s->repo, s->remote);

	if (!err)
		err = kl_fs_mkdir_of(path);
	if (!err)
		err = kl_lock_take(&lock, path, LOCK_MS);
	if (err == KL_EBUSY)
		return kl_error_in(err, "another sync is at work here");
	return err ? err : run_rounds(s);
}

/* --- what a plain fetch brings ------------------------------------------------------------ */

void kl_sync_refspecs(struct kl_strvec *out, const char *remote)
{
	kl_strvec_pushf(out, "+refs/notes/klineage/*:refs/notes/remotes/%s/klineage/*", remote);
	kl_strvec_pushf(out, "+refs/heads/klineage/*:refs/klineage-remotes/%s/heads/*", remote);
	kl_strvec_pushf(out, "+refs/klineage/rejected/*:refs/klineage-remotes/%s/rejected/*",
			remote);
}

int kl_sync_configured(struct kl_strvec *out, struct kl_repo *r, const char *remote)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec want = KL_STRVEC_INIT, have = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *key = kl_asprintf("remote.%s.fetch", remote);
	int err = kl_remote_config_get(&have, r, key);

	kl_sync_refspecs(&want, remote);
	for (size_t i = 0; !err && i < want.n; i++)
		if (kl_strvec_has(&have, want.v[i]))
			kl_strvec_push(out, want.v[i]);
	return err;
}

int kl_sync_setup(struct kl_strvec *changed, struct kl_repo *r, const char *remote, bool on)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec want = KL_STRVEC_INIT, have = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *key = kl_asprintf("remote.%s.fetch", remote);
	int err = kl_remote_check(r, remote);

	if (!err)
		err = kl_sync_configured(&have, r, remote);
	kl_sync_refspecs(&want, remote);
	for (size_t i = 0; !err && i < want.n; i++) {
		if (kl_strvec_has(&have, want.v[i]) == on)
			continue;
		err = on ? kl_remote_config_add(r, key, want.v[i]) :
			   kl_remote_config_remove(r, key, want.v[i]);
		if (!err)
			kl_strvec_push(changed, want.v[i]);
	}
	return err;
}
