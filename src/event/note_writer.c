/* SPDX-License-Identifier: Apache-2.0 */
#include "event/note_writer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/changed_kernels.h"
#include "event/cache.h"
#include "event/event.h"
#include "event/signature.h"
#include "event/event.h"

void kl_noting_release(struct kl_noting *n)
{
	free(n->note);
	kl_strvec_release(&n->texts);
}

int kl_noting_add(struct kl_noting *n, const git_oid *commit, json_t *event)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char hex[KL_OID_HEX];
	git_oid tree;
	int err = kl_repo_tree_of(&tree, n->repo, commit);

	if (err < 0)
		return err;
	kl_oid_hex(hex, commit);
	kl_json_set_str(event, "commit", hex);
	kl_oid_hex(hex, &tree);
	kl_json_set_str(event, "tree", hex);
	/* who signed it judged it; another signature would say something else */
	if (!json_object_get(event, "sig"))
		err = n->sign > 0 ? kl_sign_event_now(n->repo, event) :
		      n->sign ? 0 : kl_sign_event(n->repo, event);
	if (err < 0)
		return err;
	kl_json_canonical(&text, event);
	kl_strvec_take(&n->texts, kl_buf_detach(&text));
	KL_GROW(n->note, n->n + 1, n->alloc);
	n->note[n->n++] = (struct kl_note_line){ .commit = *commit };
	return 0;
}

int kl_noting_write(struct kl_noting *n)
{
	const char *who;
	int err;

	if (!n->n)
		return 0;
	if ((err = kl_repo_identity(&who, n->repo)) < 0)
		return err;
	for (size_t i = 0; i < n->n; i++)
		n->note[i].line = n->texts.v[i];
	return kl_notes_add(n->repo, KL_NOTES_GATE, n->note, n->n);
}

/* --- what waits in the cache -------------------------------------------------- */

static bool compares_with_other(const json_t *event, const struct kl_surface *before)
{
	size_t i;
	json_t *v;

	json_array_foreach(json_object_get(json_object_get(event, "profile"), "vs"), i, v)
		if (!strcmp(kl_json_str_or(v, "what", ""), "parent"))
			return !before || strcmp(kl_json_str_or(v, "surface", ""), before->digest);
	return false;
}

/* What a commit may be told: not what a walk thought of a step, nor what another gate found. */
static bool is_worth_noting(const json_t *event)
{
	return kl_json_int_or(event, "policy", 0) == KL_GATE_POLICY &&
	       strcmp(kl_json_str_or(event, "class", ""), "no-change") &&
	       strcmp(kl_json_str_or(event, "verdict", ""), "inconclusive");
}

/* The lines of `all` that are to be folded; those that compare with another state if `others`. */
static void select_lines(struct kl_buf *out, const struct kl_buf *all, const struct kl_surface *before,
			 bool others)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;

	kl_strvec_split(&line, all->ptr, "\n");
	for (size_t i = 0; i < line.n; i++) {
		KL_AUTO(json_decrefp) json_t *e = NULL;

		if (kl_json_parse(&e, line.v[i], strlen(line.v[i])) == 0 && is_worth_noting(e) &&
		    (others || !compares_with_other(e, before)))
			kl_buf_addf(out, "%s\n", line.v[i]);
	}
}

static int note_surface(struct kl_noting *n, const git_oid *commit, const struct kl_changed_one *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf all = KL_BUF_INIT, lines = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };
	const char *surface = c->now->digest, *contract = c->now->contract_digest;
	json_t *list, *e;
	size_t i;
	int err = kl_cache_list(&all, n->repo, surface, contract);

	if (err < 0)
		return err;
	select_lines(&lines, &all, c->before, false);
	if (!lines.len)
		select_lines(&lines, &all, c->before, true);
	kl_event_fold(&fold, lines.ptr, lines.len, surface, contract);
	list = json_array_size(fold.verdicts) ? fold.verdicts : fold.checks;
	json_array_foreach(list, i, e)
		if ((err = kl_noting_add(n, commit, e)) < 0)
			return err;
	return 0;
}

static int first_parent_tree(git_oid *out, bool *none, struct kl_repo *r, const git_oid *commit)
{
	KL_AUTO(kl_freep) git_oid *parents = NULL;
	size_t n = 0;
	int err = kl_repo_parents(&parents, &n, r, commit);

	*none = !n;
	if (err < 0 || !n)
		return err;
	err = kl_repo_tree_of(out, r, &parents[0]);
	if (err == KL_ENOTFOUND) {	/* a shallow clone ends here */
		kl_error_clear();
		*none = true;
		return 0;
	}
	return err;
}

int kl_noting_waiting(size_t *noted, struct kl_repo *r, const git_oid *commit)
{
	KL_AUTO(kl_noting_release) struct kl_noting n = { .repo = r };
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	git_oid tree, before;
	bool root;
	int err;

	*noted = 0;
	if ((err = kl_repo_tree_of(&tree, r, commit)) < 0 ||
	    (err = first_parent_tree(&before, &root, r, commit)) < 0 ||
	    (err = kl_changed(&changed, r, root ? NULL : &before, &tree)) < 0)
		return err;
	for (size_t i = 0; i < changed.n && !err; i++)
		if (changed.one[i].now)
			err = note_surface(&n, commit, &changed.one[i]);
	if (err < 0 || (err = kl_noting_write(&n)) < 0)
		return err;
	*noted = n.n;
	return 0;
}
