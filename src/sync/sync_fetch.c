/* SPDX-License-Identifier: Apache-2.0 */
/* sync_fetch - verifies the fetched refs of a remote and merges them into ours */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "event/event.h"
#include "repo/notes.h"
#include "sync/library_merge.h"
#include "sync/sync_parts.h"

#define MAX_LINE ((size_t)1 << 20)
#define MAX_SLUG 64
#define MAX_RENAMED 100 /* maximum number of other names to try for one ref of the remote */

/* --- merging events ----------------------------------------------------------- */

static bool is_hex64(const char *text)
{
	return strlen(text) == 64 && !text[strspn(text, "0123456789abcdef")];
}

/*
 * Accept a line with a valid event. Accept an event of a later format too: this version ignores it,
 * but later versions of git-klineage can read it.
 */
static bool accept_line(const char *line, size_t len, void *payload)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	KL_AUTO(json_decrefp) json_t *later = NULL;

	if (len > MAX_LINE)
		return false;
	if (!kl_event_parse(&event, line, len))
		return true;
	kl_error_clear();
	if (kl_json_parse(&later, line, len) < 0 || !json_is_object(later)) {
		kl_error_clear();
		return false;
	}
	return kl_json_int_or(later, "v", 0) > 1 && is_hex64(kl_json_str_or(later, "id", ""));
}

static int take_notes(struct kl_sync_round *round, struct kl_refs_txn *txn, struct kl_sync_ref *ref)
{
	struct kl_notes_merged done;
	git_oid ours = kl_oid_none, tip;
	int err = kl_refs_get(&ours, round->r, ref->ref);
	bool none = err == KL_ENOTFOUND;

	if (err < 0 && !none)
		return err;
	kl_error_clear();
	err = kl_notes_merge(&tip, &done, round->r, &ours, &ref->oid, accept_line, NULL);
	/* the tree of the notes is invalid: leave the notes and go on with the other refs */
	if (err == KL_EINVALID) {
		kl_sync_report(round, KL_SYNC_LEFT, ref->ref, "%s", kl_error_last());
		ref->left = true;
		return 0;
	}
	if (err < 0)
		return err;
	if (done.refused)
		kl_sync_report(round, KL_SYNC_LEFT, ref->ref,
			       "%zu invalid line%s of the remote %s ignored", done.refused,
			       done.refused == 1 ? "" : "s", done.refused == 1 ? "is" : "are");
	if (!memcmp(&tip, &ours, sizeof(tip)))
		return 0;
	kl_refs_txn_update(txn, ref->ref, &tip, none ? NULL : &ours);
	kl_sync_report(round,
		       none                                 ? KL_SYNC_TAKEN :
		       memcmp(&tip, &ref->oid, sizeof(tip)) ? KL_SYNC_UNITED :
							      KL_SYNC_MOVED,
		       ref->ref, "%zu event%s on %zu commit%s", done.events,
		       done.events == 1 ? "" : "s", done.commits, done.commits == 1 ? "" : "s");
	return 0;
}

/* --- taking lineages and rejected steps ----------------------------------------- */

/* The first error that a check reported, and the number of errors. */
struct first {
	char *what;
	size_t n;
};

static void keep_first(enum kl_check_severity severity, const char *where, const char *what,
		       void *payload)
{
	struct first *first = payload;

	if (severity == KL_CHECK_ERROR && !first->n++)
		first->what = kl_strdup(what);
}

int kl_sync_verify(bool *good, struct kl_check *check, struct kl_sync_round *round,
		   struct kl_sync_ref *ref, const char *kind)
{
	struct first first = { 0 };
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s/%s", kind, ref->leaf);
	int err;

	check->repo = round->r;
	check->report = keep_first;
	check->payload = &first;
	err = kl_check_foreign(check, name, &ref->oid);
	*good = !err && !check->errors;
	if (!err && check->errors) {
		ref->left = true;
		kl_sync_report(round, KL_SYNC_LEFT, ref->ref, "invalid: %s", first.what);
	}
	free(first.what);
	return err;
}

static int verify_steps(bool *good, struct kl_sync_round *round, struct kl_sync_ref *ref)
{
	struct kl_check check = { .errors = 0 };

	return kl_sync_verify(good, &check, round, ref,
			      ref->kind == KL_SYNC_LINEAGE ? "lineage" : "rejected");
}

/*
 * Return another name for a ref of the remote, "<workload>/<name>-<remote>[-<i>]". The result is a
 * valid name even if the name of the remote is not. The caller frees it.
 */
static char *other_leaf(const char *leaf, const char *remote, int i)
{
	const char *slash = strchr(leaf, '/');
	KL_AUTO(kl_freep) char *suffix = i > 1 ? kl_asprintf("-%s-%d", remote, i) :
						 kl_asprintf("-%s", remote);
	size_t name_len = strlen(slash + 1), max_len;

	for (char *at = suffix; *at; at++)
		*at = isalnum((unsigned char)*at) ? (char)tolower((unsigned char)*at) : '-';
	if (strlen(suffix) > MAX_SLUG / 2)
		memmove(suffix + 1, suffix + strlen(suffix) - MAX_SLUG / 2 + 1, MAX_SLUG / 2);
	max_len = MAX_SLUG - strlen(suffix);
	return kl_asprintf("%.*s%.*s%s", (int)(slash + 1 - leaf), leaf,
			   (int)(name_len < max_len ? name_len : max_len), slash + 1, suffix);
}

struct place {
	char *ref;   /* name of our ref */
	git_oid old; /* its value before the sync, if the ref exists */
	/* is_new: the ref does not exist yet; have: the ref already contains theirs */
	bool is_new, have;
};

static void place_release(struct place *place)
{
	free(place->ref);
}

/*
 * Try to use the name `leaf` for a ref of the remote, and fill in `place`. Return 1 if the name is
 * free, or if the ref here with this name can take theirs. Return 0 if the name belongs to a
 * different lineage, or to rejected steps that have diverged.
 */
static int try_place(struct place *place, struct kl_sync_round *round,
		     const struct kl_sync_ref *ref, const char *leaf)
{
	bool behind = false, ahead = false;
	int err;

	free(place->ref);
	*place = (struct place){ .ref = kl_asprintf("%s%s", kl_sync_prefix(ref->kind), leaf) };
	err = kl_refs_get(&place->old, round->r, place->ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		place->is_new = true;
		return 1;
	}
	if (err < 0)
		return err;
	place->have = !memcmp(&place->old, &ref->oid, sizeof(place->old));
	/* a lineage never changes, but rejected steps can be appended to their ref */
	if (place->have || ref->kind == KL_SYNC_LINEAGE)
		return place->have;
	if ((err = kl_repo_is_ancestor(&behind, round->r, &ref->oid, &place->old)) < 0 ||
	    (err = kl_repo_is_ancestor(&ahead, round->r, &place->old, &ref->oid)) < 0)
		return err;
	place->have = behind;
	return behind || ahead;
}

/* Choose our ref for a ref of the remote. Rejected steps get the same name as their lineage. */
static int find_place(struct place *place, struct kl_sync_round *round,
		      const struct kl_sync_ref *ref)
{
	const char *new_leaf = kl_map_get(&round->renamed, ref->leaf);
	int fits = try_place(place, round, ref, new_leaf ? new_leaf : ref->leaf);

	for (int i = 1; !fits && i <= MAX_RENAMED; i++) {
		KL_AUTO(kl_freep) char *leaf = other_leaf(ref->leaf, round->s->remote, i);

		fits = try_place(place, round, ref, leaf);
		if (fits > 0)
			kl_map_put(&round->renamed, ref->leaf, kl_steal(&leaf));
	}
	if (!fits)
		return kl_error(KL_EEXISTS, "more than %d different refs here are named like '%s'",
				MAX_RENAMED, ref->leaf);
	return fits < 0 ? fits : 0;
}

/* Set *have to whether we already have this lineage of the remote, under this or another name. */
static int have_lineage(bool *have, struct kl_sync_round *round, const struct kl_sync_ref *ref)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list ours = { 0 };
	KL_AUTO(kl_freep) char *prefix = kl_asprintf("%s%.*s", kl_sync_prefix(ref->kind),
						     (int)strcspn(ref->leaf, "/") + 1, ref->leaf);
	int err = kl_refs_list(&ours, round->r, prefix);

	*have = false;
	for (size_t i = 0; !err && i < ours.n; i++) {
		const char *leaf = ours.ref[i].name + strlen(kl_sync_prefix(ref->kind));

		if (memcmp(&ours.ref[i].oid, &ref->oid, sizeof(git_oid)))
			continue;
		*have = true;
		if (strcmp(leaf, ref->leaf))
			kl_map_put(&round->renamed, ref->leaf, kl_strdup(leaf));
		if (!strcmp(leaf, ref->leaf))
			break;
	}
	return err;
}

static int take_steps(struct kl_sync_round *round, struct kl_refs_txn *txn, struct kl_sync_ref *ref)
{
	KL_AUTO(place_release) struct place place = { 0 };
	bool good, have = false, renamed;
	int err = ref->kind == KL_SYNC_LINEAGE ? have_lineage(&have, round, ref) : 0;

	if (err < 0 || have || (err = find_place(&place, round, ref)) < 0 || place.have ||
	    (err = verify_steps(&good, round, ref)) < 0 || !good)
		return err;
	if (place.is_new && (err = kl_refs_can_create(round->r, place.ref)) < 0) {
		if (err != KL_EINVALID)
			return err;
		kl_sync_report(round, KL_SYNC_LEFT, ref->ref, "%s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	renamed = strcmp(place.ref, ref->ref) != 0;
	kl_refs_txn_update(txn, place.ref, &ref->oid, place.is_new ? NULL : &place.old);
	if (renamed)
		kl_sync_report(round, KL_SYNC_RENAMED, place.ref,
			       "the remote calls this ref '%s', but here that name belongs to a "
			       "different ref",
			       ref->leaf);
	else
		kl_sync_report(round, place.is_new ? KL_SYNC_TAKEN : KL_SYNC_MOVED, place.ref, "%s",
			       "");
	return 0;
}

/* --- merging cards ----------------------------------------------------------------- */

static int take_cards(struct kl_sync_round *round, struct kl_refs_txn *txn, struct kl_sync_ref *ref)
{
	KL_AUTO(kl_library_merged_release) struct kl_library_merged done = { 0 };
	git_oid ours = kl_oid_none, tip;
	bool in_use = false, none;
	int err = kl_refs_get(&ours, round->r, ref->ref);

	none = err == KL_ENOTFOUND;
	if (err < 0 && !none)
		return err;
	kl_error_clear();
	err = kl_library_merge(&tip, &done, round->r, &ours, &ref->oid);
	if (!err && memcmp(&tip, &ours, sizeof(tip)) &&
	    !(err = kl_refs_is_checked_out(&in_use, round->r, ref->ref)) && in_use)
		err = kl_error(
			KL_EINVALID,
			"checked out in a worktree; check out another branch in that worktree");
	if (err == KL_EINVALID || err == KL_ECANNOT) {
		kl_sync_report(round, KL_SYNC_LEFT, ref->ref, "%s", kl_error_last());
		kl_error_clear();
		ref->left = true;
		return 0;
	}
	if (err < 0 || !memcmp(&tip, &ours, sizeof(tip)))
		return err;
	kl_refs_txn_update(txn, ref->ref, &tip, none ? NULL : &ours);
	kl_sync_report(round,
		       none                                 ? KL_SYNC_TAKEN :
		       memcmp(&tip, &ref->oid, sizeof(tip)) ? KL_SYNC_UNITED :
							      KL_SYNC_MOVED,
		       ref->ref, "%zu new card%s, %zu changed", done.added,
		       done.added == 1 ? "" : "s", done.changed);
	for (size_t i = 0; i < done.both.n; i++)
		kl_sync_report(round, KL_SYNC_UNITED, ref->ref, "both sides changed %s",
			       done.both.v[i]);
	return 0;
}

/* --- taking all refs ---------------------------------------------------------------- */

int kl_sync_take(struct kl_sync_round *round)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(round->r);
	int err = 0;

	/* take lineages before their rejected steps, which need the new name of the lineage */
	for (int kind = 0; !err && kind <= KL_SYNC_CARDS; kind++) {
		for (size_t i = 0; !err && i < round->n; i++) {
			if ((int)round->v[i].kind != kind)
				continue;
			if (kind == KL_SYNC_NOTES)
				err = take_notes(round, txn, &round->v[i]);
			else if (kind == KL_SYNC_CARDS)
				err = take_cards(round, txn, &round->v[i]);
			else if (kind == KL_SYNC_CAMPAIGN)
				err = kl_sync_take_campaign(round, txn, &round->v[i]);
			else if (kind == KL_SYNC_TRANSPLANT)
				err = kl_sync_take_transplants(round, txn, &round->v[i]);
			else
				err = take_steps(round, txn, &round->v[i]);
		}
	}
	if (!err)
		err = KL_FAULT("sync-take");
	if (!err)
		err = kl_refs_txn_commit(txn, "klineage sync: take");
	return err ? err : KL_FAULT("sync-taken");
}
