/* SPDX-License-Identifier: Apache-2.0 */
/* library_put - writes cards to the library's branch while others may write to it too */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/rng.h"
#include "card/card_merge.h"
#include "card/library_parts.h"
#include "event/event.h"
#include "repo/refs.h"

#define MAX_TRIES 60

/*
 * The merge driver of each file. If git has no such driver configured, `git merge` merges the file
 * as text.
 */
static const char attributes[] =
	"cards/*.yaml merge=klineage-card\nevidence/** merge=klineage-card -diff\n";

int kl_library_root(git_oid *out, struct kl_repo *repo)
{
	struct kl_commit_spec spec = {
		.message = "an empty library of skills\n",
		.author = "git-klineage <klineage@example.invalid>",
	};
	int err = kl_repo_tree_edit(&spec.tree, repo, NULL, NULL, 0);

	return err < 0 ? err : kl_repo_commit_write(out, repo, &spec);
}

/* --- the edits of a commit ---------------------------------------------------------------- */

struct edits {
	struct kl_tree_edit *e;
	size_t n, alloc;
	struct kl_strvec keep; /* owns the paths and texts of `e` */
	struct kl_map events;  /* ids of events that were added to `e`, as keys */
};

static void edits_release(struct edits *edits)
{
	free(edits->e);
	kl_strvec_release(&edits->keep);
	kl_map_release(&edits->events);
}

/* Add a file to the commit; takes ownership of `text`. */
static void add_file(struct edits *edits, const char *path, char *text)
{
	kl_strvec_push(&edits->keep, path);
	kl_strvec_take(&edits->keep, text);
	KL_GROW(edits->e, edits->n + 1, edits->alloc);
	edits->e[edits->n++] = (struct kl_tree_edit){
		.path = edits->keep.v[edits->keep.n - 2],
		.data = text,
		.len = strlen(text),
		.mode = 0100644,
	};
}

/*
 * Return the text of an event as the library stores it; the caller frees it. The text leaves out
 * the commit and the tree that the event's note adds, because they differ between clones, whereas
 * all clones must write the same file. They are not part of the id.
 */
static char *event_text(const struct kl_event *event)
{
	KL_AUTO(kl_event_freep) struct kl_event *bare = kl_event_copy(event);
	struct kl_buf text = KL_BUF_INIT;

	bare->commit = bare->tree = "";
	kl_event_write(&text, bare);
	kl_buf_addch(&text, '\n');
	return kl_buf_detach(&text);
}

static bool has_event(struct kl_library *library, const char *id)
{
	char path[96];
	git_oid blob;
	bool there;

	if (git_oid_is_zero(&library->tree))
		return false;
	kl_library_event_path(path, id);
	there = !kl_repo_tree_entry(&blob, NULL, library->repo, &library->tree, path);
	kl_error_clear();
	return there;
}

/*
 * Add an event that the library lacks to the commit. Add to `ids` the events from which it was
 * computed.
 */
static int add_event(struct edits *edits, struct kl_strvec *ids, struct kl_library *library,
		     const struct kl_map *events, const char *id)
{
	const struct kl_event *event = events ? kl_map_get(events, id) : NULL;
	char path[96];

	if (kl_map_get(&edits->events, id) || has_event(library, id))
		return 0;
	if (!event)
		return kl_error(
			KL_EINVALID,
			"cited event %.12s is neither in the library nor supplied with the card",
			id);
	kl_map_put(&edits->events, id, edits);
	kl_library_event_path(path, id);
	add_file(edits, path, event_text(event));
	if (event->inverse.there) {
		kl_strvec_push(ids, event->inverse.state);
		kl_strvec_push(ids, event->inverse.pair);
	}
	return 0;
}

static int add_events(struct edits *edits, struct kl_library *library, const struct kl_map *events,
		      const struct kl_card *card)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	int err = 0;

	kl_card_events(&ids, card);
	for (size_t i = 0; !err && i < ids.n; i++)
		err = add_event(edits, &ids, library, events, ids.v[i]);
	return err < 0 ? kl_error_in(err, "card '%s'", card->id) : 0;
}

static int add_attributes(struct edits *edits, struct kl_library *library)
{
	git_oid blob;
	int err = git_oid_is_zero(&library->tree) ?
			  KL_ENOTFOUND :
			  kl_repo_tree_entry(&blob, NULL, library->repo, &library->tree,
					     ".gitattributes");

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		add_file(edits, ".gitattributes", kl_strdup(attributes));
		err = 0;
	}
	return err;
}

static bool same_text(struct kl_library *library, const char *id, const struct kl_buf *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf old = KL_BUF_INIT;
	size_t i;
	bool same = !kl_library_find(&i, library, id) && !strcmp(library->ids.v[i], id) &&
		    !kl_library_text(&old, library, i) && old.len == text->len &&
		    !memcmp(old.ptr, text->ptr, text->len);

	kl_error_clear();
	return same;
}

static int commit_card(git_oid *out, bool *nothing, struct kl_library *library,
		       const struct kl_library_change *change, const struct kl_card *card)
{
	KL_AUTO(edits_release) struct edits edits = { .keep = KL_STRVEC_INIT };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_asprintf("cards/%s.yaml", card->id);
	const char *gap = change->body ? "\n" : "";
	KL_AUTO(kl_freep) char *message = kl_asprintf("%s\n%s%s%s", change->subject, gap,
						      change->body ? change->body : "", gap);
	struct kl_commit_spec spec = { .message = message, .parent = &library->tip, .nparent = 1 };
	git_oid root;
	int err;

	kl_card_write(&text, card);
	if ((*nothing = same_text(library, card->id, &text)))
		return 0;
	if ((err = add_events(&edits, library, change->events, card)) < 0 ||
	    (err = add_attributes(&edits, library)) < 0)
		return err;
	add_file(&edits, path, kl_buf_detach(&text));
	if (git_oid_is_zero(&library->tip)) {
		if ((err = kl_library_root(&root, library->repo)) < 0)
			return err;
		spec.parent = &root;
	}
	if ((err = kl_repo_tree_edit(&spec.tree, library->repo,
				     git_oid_is_zero(&library->tree) ? NULL : &library->tree,
				     edits.e, edits.n)) < 0)
		return err;
	return kl_repo_commit_write(out, library->repo, &spec);
}

/* --- updating the branch ---------------------------------------------------------------------- */

static int can_move(struct kl_library *library, const git_oid *was)
{
	bool in_use;
	int err = kl_refs_is_checked_out(&in_use, library->repo, library->ref);

	if (err < 0)
		return err;
	if (in_use)
		return kl_error_hint(
			kl_error(KL_EBUSY, "the library branch '%s' is checked out in a worktree",
				 library->ref),
			"check out another branch there: only git-klineage may update it");
	if (git_oid_is_zero(was) && (err = kl_refs_can_create(library->repo, library->ref)) < 0)
		return err == KL_EEXISTS ? KL_ECHANGED : err;
	return 0;
}

/* Move the branch from `was` to the commit at which the library is now. */
static int move_branch(struct kl_library *library, const git_oid *was,
		       const struct kl_library_change *change)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(library->repo);
	bool moves = memcmp(was, &library->tip, sizeof(*was)) != 0;
	int err = moves ? can_move(library, was) : 0;

	if (err < 0 || (!moves && !change->also))
		return err;
	if (moves)
		kl_refs_txn_update(txn, library->ref, &library->tip, was);
	if ((change->also && (err = change->also(txn, change->payload)) < 0) ||
	    (err = KL_FAULT("library-move")) < 0)
		return err;
	return kl_refs_txn_commit(txn, "klineage: skills");
}

/* Get the library's version of a card; if the library has none, set *out to NULL. */
static int present_card(struct kl_card **out, struct kl_library *library, const char *id)
{
	size_t i;
	int err = kl_library_find(&i, library, id);

	*out = NULL;
	if (err == KL_ENOTFOUND || (!err && strcmp(library->ids.v[i], id))) {
		kl_error_clear();
		return 0;
	}
	return err < 0 ? err : kl_library_card_at(out, library, i);
}

/* --- several cards in one ref update ---------------------------------------------------------- */

struct put {
	struct kl_library *library;
	const struct kl_library_change *first;
	git_oid was;           /* tip of the branch when the library was loaded */
	struct kl_card **base; /* base of each change; NULL if the card is new */
	bool again;            /* at least one attempt to update the branch failed */
};

static void put_release(struct put *put)
{
	size_t i = 0;

	for (const struct kl_library_change *change = put->first; change; change = change->then)
		kl_card_free(put->base[i++]);
	free(put->base);
}

/*
 * Set the base of each change: the base that the caller gave; NULL for a new card; otherwise the
 * library's version.
 */
static int find_bases(struct put *put)
{
	size_t n = 0, i = 0;
	int err = 0;

	for (const struct kl_library_change *change = put->first; change; change = change->then)
		n++;
	put->base = kl_calloc(n, sizeof(*put->base));
	for (const struct kl_library_change *change = put->first; !err && change;
	     change = change->then, i++) {
		if (change->base)
			put->base[i] = kl_card_copy(change->base);
		else if (!change->is_new)
			err = present_card(&put->base[i], put->library, change->card->id);
	}
	return err;
}

/*
 * Set *out to the card to write: the card of the change or, if the library may have another version
 * than the base, the merge of both.
 */
static int place_card(struct kl_card **out, const struct put *put,
		      const struct kl_library_change *change, const struct kl_card *base)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_copy(change->card), *now = NULL;
	int err;

	kl_card_normalize(card);
	if ((err = present_card(&now, put->library, card->id)) < 0)
		return err;
	if (now && (put->again || change->base || change->is_new))
		return kl_card_merge(out, NULL, base, card, now);
	*out = kl_steal(&card);
	return 0;
}

/* Write each change as a commit on top of the previous commit, without updating a ref. */
static int write_all(struct put *put)
{
	size_t i = 0;

	for (const struct kl_library_change *change = put->first; change;
	     change = change->then, i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		git_oid made;
		bool nothing;
		int err = place_card(&card, put, change, put->base[i]);

		if (err < 0 ||
		    (err = commit_card(&made, &nothing, put->library, change, card)) < 0 ||
		    (!nothing && (err = kl_library_read(put->library, &made)) < 0))
			return err;
	}
	return 0;
}

/* Wait a moment, then load the branch again, because another process has updated it. */
static int read_again(struct put *put, int i)
{
	int err;

	put->again = true;
	kl_clock_sleep_ms(5 + (int64_t)(kl_rng_os_seed() % (uint64_t)(20 + 10 * i)));
	err = kl_refs_get(&put->was, put->library->repo, put->library->ref);
	/* the branch does not exist yet, so another ref of the transaction has changed */
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		put->was = kl_oid_none;
		err = 0;
	}
	return err < 0 ? err : kl_library_read(put->library, &put->was);
}

int kl_library_put(struct kl_library *library, const struct kl_library_change *change)
{
	KL_AUTO(put_release) struct put put = { .library = library,
						.first = change,
						.was = library->tip };
	int err;

	if (library->fixed)
		KL_BUG("a read-only library cannot be written");
	err = find_bases(&put);
	for (int i = 0; !err; i++) {
		if ((err = write_all(&put)) < 0)
			break;
		err = move_branch(library, &put.was, change);
		if (err != KL_ECHANGED || i == MAX_TRIES)
			break;
		err = read_again(&put, i);
	}
	return err;
}
