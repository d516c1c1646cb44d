/* SPDX-License-Identifier: Apache-2.0 */
/* witness_past - finds witnesses in events of refused edits, trials and materialized cards */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/witness_parts.h"
#include "repo/notes.h"

#define MAX_LINKS 10000

/*
 * An edit that the gate refused, the event that refused it, and the state to which it was applied.
 */
struct tried {
	git_oid commit, on;
	const struct kl_event *event;
};

/*
 * Check that the event can be a witness. A failure to compile or launch cannot, because it can have
 * other causes than the condition.
 */
static bool may_count(const struct kl_witness_search *search, const struct kl_event *event)
{
	return event->verdict == KL_VERDICT_FAIL && kl_witness_ran(event->failure) &&
	       kl_witness_is_there(search->card, &event->facts.features);
}

/* Return clauses.v.n if no clause is false, several are false, or the truth of one is unknown. */
size_t kl_witness_false_one(struct kl_witness_search *search, struct kl_target *target)
{
	size_t at = search->clauses.v.n;

	for (size_t i = 0; i < search->clauses.v.n; i++) {
		KL_AUTO(kl_freep) char *test = kl_clauses_one(&search->clauses, i);
		enum kl_truth truth = kl_target_test(target, test, true, NULL);

		if (truth == KL_TRUE)
			continue;
		if (truth == KL_UNKNOWN || at < search->clauses.v.n)
			return search->clauses.v.n;
		at = i;
	}
	return at;
}

/* Find, in a commit, the directory of the contract whose surface was judged. */
static int find_dir(char **out, struct kl_repo *repo, const git_oid *commit, const char *digest)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT,
						    workloads = KL_STRVEC_INIT;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, commit);

	if (!err)
		err = kl_surface_find(&dirs, &workloads, repo, &tree);
	for (size_t i = 0; !err && i < dirs.n; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;

		if (kl_surface_from_tree(&surface, repo, &tree, dirs.v[i]) < 0)
			kl_error_clear();
		else if (!strcmp(surface->digest, digest)) {
			*out = kl_strdup(dirs.v[i]);
			return 0;
		}
	}
	return err < 0 ? err : KL_ENOTFOUND;
}

static int look_at(struct kl_witness_search *search, const struct tried *tried)
{
	struct kl_target target = { .known = KL_KNOWN_INIT };
	KL_AUTO(kl_surface_freep) struct kl_surface *on = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	struct kl_witness_clause *clause;
	git_oid tree;
	size_t i;
	int err = find_dir(&dir, search->o->repo, &tried->commit, tried->event->surface);

	if (!err)
		err = kl_repo_tree_of(&tree, search->o->repo, &tried->on);
	if (!err)
		err = kl_surface_from_tree(&on, search->o->repo, &tree, dir);
	/* the state passed the gate before the edit, so its commit has an event with features */
	if (!err)
		err = kl_target_of_commit(&target, search->o->tax, search->o->repo, on, &tried->on,
					  tried->event->place.id);
	if (err == KL_ENOTFOUND || err == KL_EINVALID) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	i = target.measured ? kl_witness_false_one(search, &target) : search->clauses.v.n;
	kl_target_release(&target);
	if (i == search->clauses.v.n || search->r->clause[i].end != KL_WITNESS_OPEN)
		return 0;
	clause = &search->r->clause[i];
	clause->end = KL_WITNESS_FAILS;
	snprintf(clause->class_, sizeof(clause->class_), "%s", kl_event_class(tried->event));
	clause->event = kl_strdup(tried->event->id);
	clause->at = kl_asprintf("%s, in an earlier attempt", on->contract->workload);
	kl_map_put(&search->events, clause->event, kl_event_ref(tried->event));
	return 0;
}

/*
 * --- refused attempts to re-derive the step ---------------------------------------------------
 */

static int look_at_refusals(struct kl_witness_search *search)
{
	int err = 0;

	for (size_t i = 0; !err && i < search->o->t->nr; i++) {
		const struct kl_refusal *refusal = &search->o->t->r[i];

		if (refusal->event && refusal->step.forward && refusal->step.mechanism &&
		    search->card->mechanism &&
		    !strcmp(refusal->step.mechanism, search->card->mechanism) &&
		    may_count(search, refusal->event))
			err = look_at(search, &(struct tried){ refusal->commit, refusal->on,
							       refusal->event });
	}
	return err;
}

/*
 * --- trials and materialized cards ------------------------------------------------------------
 */

/* Check that the commit applies the card, and that no earlier search for witnesses made it. */
static bool is_of_card(const struct kl_witness_search *search, const char *message)
{
	KL_AUTO(kl_freep) char *skill = kl_trailer_get(message, "Klineage-Skill");
	KL_AUTO(kl_freep) char *rewriter = kl_trailer_get(message, "Klineage-Rewriter");
	size_t n = strlen(search->card->id);

	return skill && !strncmp(skill, search->card->id, n) && skill[n] == '@' &&
	       !(rewriter && !strcmp(rewriter, "witness"));
}

static int look_at_commit(struct kl_witness_search *search, const git_oid *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_commit_release) struct kl_commit parsed = { 0 };
	char tree[KL_OID_HEX];
	int err = kl_repo_commit_read(&parsed, search->o->repo, commit);

	if (err < 0 || parsed.nparent != 1 || !is_of_card(search, parsed.message))
		return err;
	if ((err = kl_notes_read(&text, search->o->repo, KL_NOTES_GATE, commit)) < 0)
		return err;
	kl_oid_hex(tree, &parsed.tree);
	for (const char *at = text.ptr; !err && text.len && *at;) {
		size_t n = strcspn(at, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, at, n) && !strcmp(event->tree, tree) &&
		    may_count(search, event))
			err = look_at(search, &(struct tried){ *commit, parsed.parent[0], event });
		kl_error_clear();
		at += n + (at[n] == '\n');
	}
	return err;
}

static int look_at_chain(struct kl_witness_search *search, const git_oid *tip)
{
	git_oid at = *tip;
	bool more = true;
	int err = 0;

	for (size_t i = 0; !err && more && i < MAX_LINKS; i++) {
		KL_AUTO(kl_commit_release) struct kl_commit link = { 0 };

		err = kl_repo_commit_read(&link, search->o->repo, &at);
		if (!err && link.nparent)
			err = look_at_commit(search, &link.parent[0]);
		more = !err && link.nparent == 2;
		if (more)
			at = link.parent[1];
	}
	/* a missing commit is not an error here, because fsck reports it */
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = 0;
	}
	return err;
}

static int look_at_chains(struct kl_witness_search *search, const char *prefix)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, search->o->repo, prefix);

	for (size_t i = 0; !err && i < refs.n; i++)
		err = look_at_chain(search, &refs.ref[i].oid);
	return err;
}

int kl_witness_at_hand(struct kl_witness_search *search)
{
	KL_AUTO(kl_freep) char *trials = kl_asprintf("refs/klineage/trials/%s", search->card->id);
	int err = look_at_refusals(search);

	if (!err)
		err = look_at_chains(search, trials);
	return err < 0 ? err : look_at_chains(search, "refs/klineage/nodes/");
}
