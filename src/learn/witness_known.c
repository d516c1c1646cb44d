/* SPDX-License-Identifier: Apache-2.0 */
/* witness_known - witnesses among events that exist: refused edits, trials, materialized work */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/witness_parts.h"
#include "repo/notes.h"

#define MAX_LINKS 10000

/* An edit that the gate refused, on what it was tried, and what the gate says of it. */
struct tried {
	git_oid commit, on;
	const struct kl_event *event;
};

/* an edit that does not compile, or that no plan launches, may only have been clumsy */
static bool may_count(const struct kl_seeker *s, const struct kl_event *event)
{
	return event->verdict == KL_VERDICT_FAIL && kl_witness_ran(event->failure) &&
	       kl_witness_is_there(s->card, &event->facts.features);
}

/* the clause that alone is false there; clauses.v.n: none, or more than one */
size_t kl_witness_false_one(struct kl_seeker *s, struct kl_target *t)
{
	size_t at = s->clauses.v.n;

	for (size_t i = 0; i < s->clauses.v.n; i++) {
		KL_AUTO(kl_freep) char *test = kl_clauses_one(&s->clauses, i);
		enum kl_truth truth = kl_target_test(t, test, true, NULL);

		if (truth == KL_TRUE)
			continue;
		if (truth == KL_UNKNOWN || at < s->clauses.v.n)
			return s->clauses.v.n;
		at = i;
	}
	return at;
}

/* the directory of the contract whose surface was judged, in the commit that has it */
static int find_dir(char **out, struct kl_repo *r, const git_oid *commit, const char *digest)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT,
						    workloads = KL_STRVEC_INIT;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, r, commit);

	if (!err)
		err = kl_surface_find(&dirs, &workloads, r, &tree);
	for (size_t i = 0; !err && i < dirs.n; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;

		if (kl_surface_from_tree(&s, r, &tree, dirs.v[i]) < 0)
			kl_error_clear();
		else if (!strcmp(s->digest, digest)) {
			*out = kl_strdup(dirs.v[i]);
			return 0;
		}
	}
	return err < 0 ? err : KL_ENOTFOUND;
}

static int look_at(struct kl_seeker *s, const struct tried *e)
{
	struct kl_target t = { .known = KL_KNOWN_INIT };
	KL_AUTO(kl_surface_freep) struct kl_surface *on = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	struct kl_witness_clause *c;
	git_oid tree;
	size_t i;
	int err = find_dir(&dir, s->o->repo, &e->commit, e->event->surface);

	if (!err)
		err = kl_repo_tree_of(&tree, s->o->repo, &e->on);
	if (!err)
		err = kl_surface_from_tree(&on, s->o->repo, &tree, dir);
	if (!err) /* what it was tried on passed: only such states are built on */
		err = kl_target_of_commit(&t, s->o->tax, s->o->repo, on, &e->on,
					  e->event->place.id);
	if (err == KL_ENOTFOUND || err == KL_EINVALID) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	i = t.measured ? kl_witness_false_one(s, &t) : s->clauses.v.n;
	kl_target_release(&t);
	if (i == s->clauses.v.n || s->r->clause[i].end != KL_WITNESS_OPEN)
		return 0;
	c = &s->r->clause[i];
	c->end = KL_WITNESS_FAILS;
	snprintf(c->class_, sizeof(c->class_), "%s", kl_event_class(e->event));
	c->event = kl_strdup(e->event->id);
	c->at = kl_asprintf("%s, as it was tried before", on->contract->workload);
	kl_map_put(&s->events, c->event, kl_event_ref(e->event));
	return 0;
}

/* --- refused attempts to derive the step anew ------------------------------------------------- */

static int look_at_refusals(struct kl_seeker *s)
{
	int err = 0;

	for (size_t i = 0; !err && i < s->o->t->nr; i++) {
		const struct kl_refusal *r = &s->o->t->r[i];

		if (r->event && r->step.forward && r->step.mechanism && s->card->mechanism &&
		    !strcmp(r->step.mechanism, s->card->mechanism) && may_count(s, r->event))
			err = look_at(s, &(struct tried){ r->commit, r->on, r->event });
	}
	return err;
}

/* --- trials, materialized work ---------------------------------------------------------------- */

/* the card's own; not what was looked for here before */
static bool is_of_card(const struct kl_seeker *s, const char *message)
{
	KL_AUTO(kl_freep) char *skill = kl_trailer_get(message, "Klineage-Skill");
	KL_AUTO(kl_freep) char *rewriter = kl_trailer_get(message, "Klineage-Rewriter");
	size_t n = strlen(s->card->id);

	return skill && !strncmp(skill, s->card->id, n) && skill[n] == '@' &&
	       !(rewriter && !strcmp(rewriter, "witness"));
}

static int look_at_commit(struct kl_seeker *s, const git_oid *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_commit_release) struct kl_commit c = { 0 };
	char tree[KL_OID_HEX];
	int err = kl_repo_commit_read(&c, s->o->repo, commit);

	if (err < 0 || c.nparent != 1 || !is_of_card(s, c.message))
		return err;
	if ((err = kl_notes_read(&text, s->o->repo, KL_NOTES_GATE, commit)) < 0)
		return err;
	kl_oid_hex(tree, &c.tree);
	for (const char *p = text.ptr; !err && text.len && *p;) {
		size_t n = strcspn(p, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *e = NULL;

		if (n && !kl_event_parse(&e, p, n) && !strcmp(e->tree, tree) && may_count(s, e))
			err = look_at(s, &(struct tried){ *commit, c.parent[0], e });
		kl_error_clear();
		p += n + (p[n] == '\n');
	}
	return err;
}

static int look_at_chain(struct kl_seeker *s, const git_oid *tip)
{
	git_oid at = *tip;
	bool more = true;
	int err = 0;

	for (size_t i = 0; !err && more && i < MAX_LINKS; i++) {
		KL_AUTO(kl_commit_release) struct kl_commit link = { 0 };

		err = kl_repo_commit_read(&link, s->o->repo, &at);
		if (!err && link.nparent)
			err = look_at_commit(s, &link.parent[0]);
		more = !err && link.nparent == 2;
		if (more)
			at = link.parent[1];
	}
	if (err == KL_ENOTFOUND) { /* fsck will say so */
		kl_error_clear();
		err = 0;
	}
	return err;
}

static int look_at_chains(struct kl_seeker *s, const char *prefix)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, s->o->repo, prefix);

	for (size_t i = 0; !err && i < refs.n; i++)
		err = look_at_chain(s, &refs.ref[i].oid);
	return err;
}

int kl_witness_at_hand(struct kl_seeker *s)
{
	KL_AUTO(kl_freep) char *trials = kl_asprintf("refs/klineage/trials/%s", s->card->id);
	int err = look_at_refusals(s);

	if (!err)
		err = look_at_chains(s, trials);
	return err < 0 ? err : look_at_chains(s, "refs/klineage/nodes/");
}
