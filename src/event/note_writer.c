/* SPDX-License-Identifier: Apache-2.0 */
#include "event/note_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/changed_kernels.h"
#include "event/cache.h"
#include "event/fold.h"
#include "event/own.h"
#include "event/signature.h"

void kl_noting_release(struct kl_noting *noting)
{
	free(noting->note);
	kl_strvec_release(&noting->texts);
}

int kl_noting_add(struct kl_noting *noting, const git_oid *commit, struct kl_event *event)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, noting->repo, commit);
	bool ours = !*event->sig && noting->sign != KL_NOTING_FOREIGN;

	if (err < 0)
		return err;
	kl_event_set_commit(event, commit, &tree);
	/*
	 * an unsigned event was made by this clone unless the caller says otherwise, so record its
	 * id and, if wanted, sign it; a signed event belongs to its signer and is kept unchanged
	 */
	if (ours && (err = kl_own_add_one(noting->repo, event->id)) < 0)
		return err;
	if (ours)
		err = noting->sign > 0 ? kl_sign_event_now(noting->repo, event) :
		      noting->sign     ? 0 :
					 kl_sign_event(noting->repo, event);
	if (err < 0)
		return err;
	kl_event_write(&text, event);
	kl_strvec_take(&noting->texts, kl_buf_detach(&text));
	KL_GROW(noting->note, noting->n + 1, noting->alloc);
	noting->note[noting->n++] = (struct kl_note_line){ .commit = *commit };
	return 0;
}

int kl_noting_write(struct kl_noting *noting)
{
	const char *identity;
	int err;

	if (!noting->n)
		return 0;
	if ((err = kl_repo_identity(&identity, noting->repo)) < 0)
		return err;
	for (size_t i = 0; i < noting->n; i++)
		noting->note[i].line = noting->texts.v[i];
	return kl_notes_add(noting->repo, KL_NOTES_GATE, noting->note, noting->n);
}

/* --- cached results that have no note yet ------------------------------------- */

static bool compares_with_other(const struct kl_event *event, const struct kl_surface *before)
{
	return kl_comparisons_parent(&event->profile.vs) &&
	       !(before && kl_event_is_against(event, before->digest));
}

/*
 * Return true for a result of this version of the gate, unless it is `no-change`, which judges a
 * step, or `inconclusive`.
 */
static bool is_worth_noting(const struct kl_event *event)
{
	return event->policy == KL_GATE_POLICY && event->failure != KL_FAILURE_NO_CHANGE &&
	       event->verdict != KL_VERDICT_INCONCLUSIVE;
}

/*
 * Select the events to fold; with `others`, also those compared with a state other than `before`.
 */
static size_t select_events(struct kl_event **out, const struct kl_map *all,
			    const struct kl_surface *before, bool others)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct kl_event *event = all->e[i].value;

		if (is_worth_noting(event) && (others || !compares_with_other(event, before)))
			out[n++] = event;
	}
	return n;
}

static int note_surface(struct kl_noting *noting, const git_oid *commit,
			const struct kl_changed_one *kernel)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_map_release) struct kl_map all = KL_MAP_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };
	KL_AUTO(kl_freep) struct kl_event **event = NULL;
	const struct kl_event_list *list;
	size_t count;
	int err = kl_cache_list(&text, noting->repo, kernel->now->digest,
				kernel->now->contract_digest);

	if (err < 0 || (err = kl_event_load(&all, "the cache", text.ptr, text.len)) < 0)
		return err;
	event = kl_calloc(all.n + 1, sizeof(*event));
	count = select_events(event, &all, kernel->before, false);
	if (!count)
		count = select_events(event, &all, kernel->before, true);
	kl_fold_events(&fold, event, count, kernel->now->digest, kernel->now->contract_digest);
	list = fold.verdicts.n ? &fold.verdicts : &fold.checks;
	for (size_t i = 0; i < list->n && !err; i++)
		err = kl_noting_add(noting, commit, list->v[i]);
	return err;
}

static int first_parent_tree(git_oid *out, bool *none, struct kl_repo *repo, const git_oid *commit)
{
	KL_AUTO(kl_freep) git_oid *parents = NULL;
	size_t n = 0;
	int err = kl_repo_parents(&parents, &n, repo, commit);

	*none = !n;
	if (err < 0 || !n)
		return err;
	err = kl_repo_tree_of(out, repo, &parents[0]);
	if (err == KL_ENOTFOUND) { /* a shallow clone lacks the parent */
		kl_error_clear();
		*none = true;
		return 0;
	}
	return err;
}

int kl_noting_waiting(size_t *noted, struct kl_repo *repo, const git_oid *commit)
{
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = repo };
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	git_oid tree, before;
	bool root;
	int err;

	*noted = 0;
	if ((err = kl_repo_tree_of(&tree, repo, commit)) < 0 ||
	    (err = first_parent_tree(&before, &root, repo, commit)) < 0 ||
	    (err = kl_changed(&changed, repo, root ? NULL : &before, &tree)) < 0)
		return err;
	for (size_t i = 0; i < changed.n && !err; i++)
		if (changed.one[i].now)
			err = note_surface(&noting, commit, &changed.one[i]);
	if (err < 0 || (err = kl_noting_write(&noting)) < 0)
		return err;
	*noted = noting.n;
	return 0;
}
