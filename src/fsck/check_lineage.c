/* SPDX-License-Identifier: Apache-2.0 */
/* check_lineage - checks the commits of lineages, and each lineage against its walk */
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

static void events_release(struct events *events)
{
	for (size_t i = 0; i < events->n; i++)
		kl_event_free(events->v[i]);
	free(events->v);
}

/* Collect the events in the note of a commit that are passes of this surface. */
static int find_passes(struct events *out, struct kl_checker *checker, const git_oid *commit,
		       const struct kl_surface *surface)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_notes_read(&text, checker->c->repo, KL_NOTES_GATE, commit);

	if (err == KL_ENOTFOUND)
		err = 0;
	for (const char *at = text.ptr; !err && *at;) {
		size_t n = strcspn(at, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, at, n) && event->verdict == KL_VERDICT_PASS &&
		    kl_event_is_for(event, surface->digest, surface->contract_digest)) {
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

/*
 * Check that a re-derived state is correct and not slower than K_i. It counts as not slower if a
 * measurement shows this, or if it has the same machine code or the same files as K_i.
 */
static void check_rederived(struct kl_checker *checker, const char *ref, const git_oid *rederived,
			    const struct kl_commit *goal, int number)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL, *goal_surface = NULL;
	KL_AUTO(events_release) struct events passes = { 0 }, goal_passes = { 0 };
	git_oid tree;

	if (kl_repo_tree_of(&tree, checker->c->repo, rederived) < 0 ||
	    kl_surface_from_tree(&surface, checker->c->repo, &tree, "") < 0 ||
	    kl_surface_from_tree(&goal_surface, checker->c->repo, &goal->tree, "") < 0 ||
	    find_passes(&passes, checker, rederived, surface) < 0 ||
	    find_passes(&goal_passes, checker, &goal->oid, goal_surface) < 0) {
		kl_check_report_error(checker, ref);
		return;
	}
	if (strcmp(surface->contract_digest, goal_surface->contract_digest))
		kl_check_report(checker, KL_CHECK_ERROR, ref,
				"the re-derivation of step %d has a different contract", number);
	if (!passes.n && !goal_passes.n) {
		kl_check_report(checker, KL_CHECK_WARNING, ref,
				"this clone has no event for step %d or its re-derivation", number);
		return;
	}
	for (size_t i = 0; i < passes.n; i++) {
		const struct kl_event *event = passes.v[i];

		if ((kl_event_is_against(event, goal_surface->digest) &&
		     kl_speed_is_not_slower(&event->profile)) ||
		    !strcmp(surface->digest, goal_surface->digest) ||
		    has_code(&goal_passes, event->facts.code_digest))
			return;
	}
	kl_check_report(checker, KL_CHECK_ERROR, ref,
			"no event shows that the re-derivation of step %d is correct and not "
			"slower than K_%d",
			number, number);
}

static void check_second_parent(struct kl_checker *checker, const char *ref,
				const struct kl_chain *chain, size_t i)
{
	KL_AUTO(kl_freep) git_oid *parent = NULL;
	const char *derivation = chain->step[i].derivation ? chain->step[i].derivation : "";
	int number = chain->step[i].number;
	size_t n = 0;

	if (chain->c[i].nparent == 1) {
		if (!strcmp(derivation, "rederived") || !strcmp(derivation, "unisolated"))
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"step %d is marked re-derived, but has no second parent",
					number);
		return;
	}
	if (chain->c[i].nparent != 2 ||
	    kl_repo_parents(&parent, &n, checker->c->repo, &chain->c[i].parent[1]) < 0 || n != 1 ||
	    memcmp(&parent[0], &chain->c[i + 1].oid, sizeof(parent[0])))
		kl_check_report(checker, KL_CHECK_ERROR, ref,
				"the parent of step %d's re-derivation is not the preceding state",
				number);
	else if (!strcmp(derivation, "inverse"))
		kl_check_report(checker, KL_CHECK_ERROR, ref,
				"step %d is marked inverse, but has a second parent", number);
	else
		check_rederived(checker, ref, &chain->c[i].parent[1], &chain->c[i], number);
	kl_error_clear();
}

/*
 * Check each state of the lineage against its walk: the tree of the state must be the contract's
 * directory in the same state of the walk.
 */
static void check_against_walk(struct kl_checker *checker, const char *ref,
			       const struct kl_chain *chain, const char *workload, const char *name)
{
	KL_AUTO(kl_chain_release) struct kl_chain walk = { 0 };
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	char walk_ref[256];
	git_oid tip;

	kl_lineage_ref(walk_ref, "walk", workload, name);
	if (kl_refs_get(&tip, checker->c->repo, walk_ref) < 0) {
		kl_error_clear(); /* there is no walk, because the lineage was imported */
		return;
	}
	if (kl_chain_read(&walk, checker, &tip, 0, true) < 0 ||
	    kl_check_contract(&surface, &dir, checker, &walk.c[0].tree, workload) < 0) {
		kl_check_report_error(checker, walk_ref);
		return;
	}
	if (walk.n < chain->n) {
		kl_check_report(checker, KL_CHECK_ERROR, ref,
				"the lineage has more steps than its walk");
		return;
	}
	for (size_t i = 0; i < chain->n; i++) {
		git_oid tree;

		/* the commits of the walk begin with K_0, those of the lineage with K* */
		if (kl_forward_tree(&tree, checker->c->repo, &walk.c[i].tree, dir) < 0)
			kl_check_report_error(checker, walk_ref);
		else if (memcmp(&tree, &chain->c[chain->n - 1 - i].tree, sizeof(tree)))
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"K_%zu differs from the same state in the walk", i);
	}
}

/*
 * Check that the trees of a lineage from a remote contain at most MAX_FILES files, and only regular
 * files.
 */
static void check_trees(struct kl_checker *checker, const char *ref, const struct kl_chain *chain)
{
	for (size_t i = 0; i < chain->n; i++) {
		KL_AUTO(kl_blobs_release) struct kl_blobs blobs = { 0 };

		if (i && !memcmp(&chain->c[i].tree, &chain->c[i - 1].tree, sizeof(git_oid)))
			continue;
		if (kl_repo_tree_list(&blobs, checker->c->repo, &chain->c[i].tree, MAX_FILES) < 0)
			kl_check_report_error(checker, ref);
		for (size_t k = 0; k < blobs.n; k++)
			if (blobs.b[k].mode != 0100644 && blobs.b[k].mode != 0100755)
				kl_check_report(checker, KL_CHECK_ERROR, ref,
						"'%s' in step %d is not a regular file",
						blobs.b[k].path, chain->step[i].number);
	}
}

void kl_check_lineage(struct kl_checker *checker, const char *ref, const git_oid *tip,
		      const char *workload, const char *name)
{
	KL_AUTO(kl_chain_release) struct kl_chain chain = { 0 };

	checker->c->lineages++;
	if (kl_chain_read(&chain, checker, tip, 0, false) < 0) {
		kl_check_report_error(checker, ref);
		return;
	}
	for (size_t i = 0; i < chain.n; i++) {
		const struct kl_step *step = &chain.step[i];
		bool root = i + 1 == chain.n;

		if ((root ? step->kind != KL_STEP_ROOT : step->kind != KL_STEP_FORWARD) ||
		    step->number != (int)(chain.n - 1 - i))
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"commit %zu from the root is not step %zu of a lineage",
					chain.n - 1 - i, chain.n - 1 - i);
		else if (!root && !step->derivation)
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"step %d has no trailer Klineage-Derivation", step->number);
		else if (!root)
			check_second_parent(checker, ref, &chain, i);
		if (root && (!step->workload || strcmp(step->workload, workload)))
			kl_check_report(checker, KL_CHECK_ERROR, ref,
					"the root of the lineage is of workload '%s'",
					step->workload ? step->workload : "");
	}
	if (checker->foreign)
		check_trees(checker, ref, &chain);
	else
		check_against_walk(checker, ref, &chain, workload, name);
}
