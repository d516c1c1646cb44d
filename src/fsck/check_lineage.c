/* SPDX-License-Identifier: Apache-2.0 */
/* check_lineage - checks lineages: their second parents, and against the walks they come from */
#include <string.h>

#include "base/error.h"
#include "event/event.h"
#include "event/speed.h"
#include "fsck/parts.h"
#include "repo/notes.h"
#include "walk/forward.h"
#include "walk/sequencer.h"

#define MAX_FILES 1024

struct events {
	struct kl_event **v;
	size_t n, alloc;
};

static void events_release(struct events *e)
{
	for (size_t i = 0; i < e->n; i++)
		kl_event_free(e->v[i]);
	free(e->v);
}

/* the events of a commit that speak of just this surface and pass, in a note */
static int find_passes(struct events *out, struct kl_checker *k, const git_oid *commit,
		       const struct kl_surface *s)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_notes_read(&text, k->c->repo, KL_NOTES_GATE, commit);

	if (err == KL_ENOTFOUND)
		err = 0;
	for (const char *at = text.ptr; !err && *at;) {
		size_t n = strcspn(at, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, at, n) && event->verdict == KL_VERDICT_PASS &&
		    kl_event_is_for(event, s->digest, s->contract_digest)) {
			KL_GROW(out->v, out->n + 1, out->alloc);
			out->v[out->n++] = kl_steal(&event);
		}
		at += n + (at[n] == '\n');
	}
	kl_error_clear();
	return err;
}

static bool has_code(const struct events *events, const char *code)
{
	for (size_t i = 0; i < events->n; i++)
		if (*code && !strcmp(events->v[i]->facts.code_digest, code))
			return true;
	return false;
}

/* correct, and not slower than K_i: measured, or the same machine code, or the same files */
static void check_rederived(struct kl_checker *k, const char *ref, const git_oid *anew,
			    const struct kl_commit *goal, int number)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL, *g = NULL;
	KL_AUTO(events_release) struct events own = { 0 }, of_goal = { 0 };
	git_oid tree;

	if (kl_repo_tree_of(&tree, k->c->repo, anew) < 0 ||
	    kl_surface_from_tree(&s, k->c->repo, &tree, "") < 0 ||
	    kl_surface_from_tree(&g, k->c->repo, &goal->tree, "") < 0 ||
	    find_passes(&own, k, anew, s) < 0 || find_passes(&of_goal, k, &goal->oid, g) < 0) {
		kl_check_say_error(k, ref);
		return;
	}
	if (strcmp(s->contract_digest, g->contract_digest))
		kl_check_say(k, KL_CHECK_ERROR, ref,
			     "the re-derivation of step %d has another contract", number);
	if (!own.n && !of_goal.n) {
		kl_check_say(k, KL_CHECK_WARNING, ref,
			     "no event of step %d and its re-derivation is in this clone", number);
		return;
	}
	for (size_t i = 0; i < own.n; i++) {
		const struct kl_event *event = own.v[i];

		if ((kl_event_is_against(event, g->digest) &&
		     kl_speed_is_not_slower(&event->profile)) ||
		    !strcmp(s->digest, g->digest) || has_code(&of_goal, event->facts.code_digest))
			return;
	}
	kl_check_say(k, KL_CHECK_ERROR, ref,
		     "no event says that the re-derivation of step %d is correct and not "
		     "slower than K_%d",
		     number, number);
}

static void check_second_parent(struct kl_checker *k, const char *ref, const struct kl_chain *l,
				size_t i)
{
	KL_AUTO(kl_freep) git_oid *parent = NULL;
	const char *how = l->step[i].derivation ? l->step[i].derivation : "";
	int number = l->step[i].number;
	size_t n = 0;

	if (l->c[i].nparent == 1) {
		if (!strcmp(how, "rederived") || !strcmp(how, "unisolated"))
			kl_check_say(k, KL_CHECK_ERROR, ref,
				     "step %d says re-derived, but has no second parent", number);
		return;
	}
	if (l->c[i].nparent != 2 ||
	    kl_repo_parents(&parent, &n, k->c->repo, &l->c[i].parent[1]) < 0 || n != 1 ||
	    memcmp(&parent[0], &l->c[i + 1].oid, sizeof(parent[0])))
		kl_check_say(k, KL_CHECK_ERROR, ref,
			     "the re-derivation of step %d is not on the state before", number);
	else if (!strcmp(how, "inverse"))
		kl_check_say(k, KL_CHECK_ERROR, ref,
			     "step %d says inverse, but has a second parent", number);
	else
		check_rederived(k, ref, &l->c[i].parent[1], &l->c[i], number);
	kl_error_clear();
}

/* K_{n-i} of the lineage is the contract's directory of step i of the walk */
static void check_against_walk(struct kl_checker *k, const char *ref, const struct kl_chain *l,
			       const char *workload, const char *name)
{
	KL_AUTO(kl_chain_release) struct kl_chain w = { 0 };
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	char walk[256];
	git_oid tip;

	kl_lineage_ref(walk, "walk", workload, name);
	if (kl_refs_get(&tip, k->c->repo, walk) < 0) {
		kl_error_clear(); /* an imported lineage has none */
		return;
	}
	if (kl_chain_read(&w, k, &tip, 0, true) < 0 ||
	    kl_check_contract(&s, &dir, k, &w.c[0].tree, workload) < 0) {
		kl_check_say_error(k, walk);
		return;
	}
	if (w.n < l->n) {
		kl_check_say(k, KL_CHECK_ERROR, ref, "it has more steps than its walk");
		return;
	}
	for (size_t i = 0; i < l->n; i++) {
		git_oid tree;

		/* w is K_0 first, l is K* first */
		if (kl_forward_tree(&tree, k->c->repo, &w.c[i].tree, dir) < 0)
			kl_check_say_error(k, walk);
		else if (memcmp(&tree, &l->c[l->n - 1 - i].tree, sizeof(tree)))
			kl_check_say(k, KL_CHECK_ERROR, ref,
				     "K_%zu is not the state that the walk reached", i);
	}
}

/* states of others: no more, and nothing else, than what a surface may have */
static void check_trees(struct kl_checker *k, const char *ref, const struct kl_chain *l)
{
	for (size_t i = 0; i < l->n; i++) {
		KL_AUTO(kl_blobs_release) struct kl_blobs b = { 0 };

		if (i && !memcmp(&l->c[i].tree, &l->c[i - 1].tree, sizeof(git_oid)))
			continue;
		if (kl_repo_tree_list(&b, k->c->repo, &l->c[i].tree, MAX_FILES) < 0)
			kl_check_say_error(k, ref);
		for (size_t f = 0; f < b.n; f++)
			if (b.b[f].mode != 0100644 && b.b[f].mode != 0100755)
				kl_check_say(k, KL_CHECK_ERROR, ref,
					     "'%s' in step %d is no regular file", b.b[f].path,
					     l->step[i].number);
	}
}

void kl_check_lineage(struct kl_checker *k, const char *ref, const git_oid *tip,
		      const char *workload, const char *name)
{
	KL_AUTO(kl_chain_release) struct kl_chain l = { 0 };

	k->c->lineages++;
	if (kl_chain_read(&l, k, tip, 0, false) < 0) {
		kl_check_say_error(k, ref);
		return;
	}
	for (size_t i = 0; i < l.n; i++) {
		const struct kl_step *s = &l.step[i];
		bool root = i + 1 == l.n;

		if ((root ? s->kind != KL_STEP_ROOT : s->kind != KL_STEP_FORWARD) ||
		    s->number != (int)(l.n - 1 - i))
			kl_check_say(k, KL_CHECK_ERROR, ref,
				     "commit %zu from the root is not step %zu of a lineage",
				     l.n - 1 - i, l.n - 1 - i);
		else if (!root && !s->derivation)
			kl_check_say(k, KL_CHECK_ERROR, ref,
				     "step %d does not say how it was derived", s->number);
		else if (!root)
			check_second_parent(k, ref, &l, i);
		if (root && (!s->workload || strcmp(s->workload, workload)))
			kl_check_say(k, KL_CHECK_ERROR, ref, "its root is of workload '%s'",
				     s->workload ? s->workload : "");
	}
	if (k->foreign)
		check_trees(k, ref, &l);
	else
		check_against_walk(k, ref, &l, workload, name);
}
