/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/card_commit.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "event/note_writer.h"
#include "repo/refs.h"
#include "rewrite/proposal.h"
#include "walk/step.h"

#define MAX_TRIES 20
#define MORE_MEASUREMENTS 2

static const git_oid none;

static bool is_none(const git_oid *oid)
{
	return !memcmp(oid, &none, sizeof(none));
}

bool kl_made_is_right(const char *class_)
{
	return !strcmp(class_, "slower") || !strcmp(class_, "no-change") ||
	       !strncmp(class_, "not-", 4);
}

enum kl_speed kl_made_speed(struct kl_card_ratio *ratio, const struct kl_event *event)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	*ratio = (struct kl_card_ratio){ 0 };
	if (!parent)
		return KL_SPEED_NONE;
	*ratio = (struct kl_card_ratio){ parent->ratio_ppm, parent->lo_ppm, parent->hi_ppm };
	return parent->speed;
}

static bool is_ambiguous(const struct kl_judgement *v)
{
	struct kl_card_ratio ratio;

	return v->event->verdict == KL_VERDICT_PASS &&
	       kl_made_speed(&ratio, v->event) == KL_SPEED_AMBIGUOUS;
}

int kl_made_judge(struct kl_judgement **out, struct kl_gate *g, const struct kl_surface *s,
		  const struct kl_surface *parent, bool anew)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	int err = anew ? kl_gate_judge_anew(&v, g, s, parent) : kl_gate_judge(&v, g, s, parent);

	for (int i = 0; !err && i < MORE_MEASUREMENTS && !v->deferred && is_ambiguous(v); i++) {
		kl_judgement_free(kl_steal(&v));
		err = kl_gate_judge_anew(&v, g, s, parent);
	}
	if (err)
		return err;
	if (v->deferred)
		return kl_error(KL_ECANNOT,
				"the gate judges elsewhere: cards are tried where it answers "
				"at once");
	if (v->event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "the gate did not run: %s", v->event->message);
	*out = kl_steal(&v);
	return 0;
}

int kl_made_same_code(bool *same, struct kl_gate *g, const struct kl_judgement *v,
		      const struct kl_surface *s)
{
	KL_AUTO(kl_facts_release) struct kl_facts f = { 0 };
	int err = kl_gate_facts(&f, g, s);

	*same = !err && *f.code_digest && !strcmp(f.code_digest, v->event->facts.code_digest);
	return err;
}

/* --- commits ----------------------------------------------------------------------------- */

static int edit_tree(git_oid *out, struct kl_repo *r, const git_oid *tree, const char *dir,
		     const struct kl_file *file, size_t n)
{
	struct kl_tree_edit *e = kl_calloc(n + 1, sizeof(*e));
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	int err;

	for (size_t i = 0; i < n; i++) {
		kl_strvec_pushf(&paths, "%s%s%s", dir, *dir ? "/" : "", file[i].path);
		e[i] = (struct kl_tree_edit){ .data = file[i].data, .len = file[i].len };
	}
	for (size_t i = 0; i < n; i++)
		e[i].path = paths.v[i];
	err = kl_repo_tree_edit(out, r, tree, e, n);
	free(e);
	return err;
}

static int write_commit(git_oid *out, struct kl_repo *r, const git_oid *tree, const git_oid *parent,
			size_t n, const char *message)
{
	return kl_repo_commit_write(out, r,
				    &(struct kl_commit_spec){
					    .tree = *tree,
					    .parent = parent,
					    .nparent = n,
					    .message = message,
				    });
}

/* a run goes on from it: so nothing of now is in it */
int kl_made_root(git_oid *out, struct kl_repo *r, const git_oid *parent, const struct kl_surface *s,
		 bool reference)
{
	static const char as_kernel[] = "oracle as a kernel\n\nKlineage-Root: baseline";
	KL_AUTO(kl_freep) char *message = kl_asprintf("%s: the %s\n", s->contract->workload,
						      reference ? as_kernel : "worktree as it was");
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1, .message = message };
	struct kl_commit c = { 0 };
	int err = kl_repo_identity(&spec.author, r);

	if (err < 0 || (err = kl_repo_commit_read(&c, r, parent)) < 0)
		return err;
	spec.time = c.author_time;
	spec.offset = c.author_offset;
	spec.tree = c.tree;
	kl_commit_release(&c);
	/* a file may be source and oracle: one set after the other */
	if ((err = edit_tree(&spec.tree, r, &spec.tree, s->dir, s->file, s->nfile)) < 0 ||
	    (err = edit_tree(&spec.tree, r, &spec.tree, s->dir, s->oracle, s->noracle)) < 0 ||
	    (err = edit_tree(&spec.tree, r, &spec.tree, s->dir, &s->contract_file, 1)) < 0)
		return err;
	return kl_repo_commit_write(out, r, &spec);
}

static char *copy_text(const char *s)
{
	return s && *s ? kl_strdup(s) : NULL;
}

static char *text_of(const struct kl_made *m)
{
	return m->card ?
		       kl_asprintf("%s\n\nBy card %s, %s.", m->card->intent, m->card->id, m->how) :
		       kl_strdup(m->how);
}

static void message_of(struct kl_buf *out, const struct kl_made *m)
{
	const struct kl_card *c = m->card;
	const char *action = m->action ? m->action : c && c->action ? c->action : "apply";
	KL_AUTO(kl_step_release) struct kl_step s = {
		.kind = *m->class_ ? KL_STEP_REJECTED : KL_STEP_FORWARD,
		.forward = true,
		.number = m->number,
		.action = kl_strdup(action),
		.mechanism = copy_text(m->mechanism ? m->mechanism :
				       c            ? c->mechanism :
						      NULL),
		.locus = kl_proposal_locus(m->from, m->to),
		.text = text_of(m),
		.class_ = copy_text(m->class_),
		.rewriter = kl_strdup(m->rewriter),
		.source = copy_text(m->source),
	};

	kl_step_message(out, &s);
	if (c)
		kl_buf_addf(out, "Klineage-Skill: %s@%s\n", c->id, m->blob);
}

/* the sources that changed, and nothing else */
int kl_made_tree(git_oid *out, const struct kl_made *m)
{
	int err = kl_repo_tree_of(out, m->repo, &m->parent);

	for (size_t i = 0; !err && i < m->to->nfile; i++) {
		const struct kl_file *a = &m->from->file[i], *b = &m->to->file[i];

		if (a->len != b->len || memcmp(a->data, b->data, b->len))
			err = edit_tree(out, m->repo, out, m->to->dir, b, 1);
	}
	return err;
}

int kl_made_write(git_oid *out, git_oid *tree, const struct kl_made *m)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	git_oid made;
	int err = kl_made_tree(&made, m);

	if (err < 0)
		return err;
	message_of(&message, m);
	if (tree)
		*tree = made;
	return write_commit(out, m->repo, &made, &m->parent, 1, message.ptr);
}

/* --- keeping it ----------------------------------------------------------------------------- */

void kl_keep_release(struct kl_keep *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->v[i].text);
	free(k->v);
	kl_noting_release(&k->noting);
}

/* takes `text` */
static int add_link(struct kl_keep *k, const git_oid *commit, char *text, struct kl_event *event)
{
	KL_GROW(k->v, k->n + 1, k->alloc);
	k->v[k->n++] = (struct kl_keep_link){ .commit = *commit, .text = text };
	k->noting.repo = k->repo;
	return event ? kl_noting_add(&k->noting, commit, event) : 0;
}

int kl_keep_root(struct kl_keep *k, const git_oid *commit, const char *text, struct kl_event *event)
{
	return add_link(k, commit, kl_strdup(text), event);
}

int kl_keep_add(struct kl_keep *k, const git_oid *commit, const struct kl_made *m)
{
	struct kl_buf text = KL_BUF_INIT;

	kl_buf_addf(&text, "kept: %s, %s\n", m->card ? m->card->id : m->rewriter,
		    m->outcome ? m->outcome :
		    *m->class_ ? m->class_ :
				 "pass");
	if (m->outcome)
		kl_buf_addf(&text, "\nKlineage-Outcome: %s\n", m->outcome);
	return add_link(k, commit, kl_buf_detach(&text), m->event);
}

static int read_ref(git_oid *out, struct kl_repo *r, const char *ref)
{
	int err = kl_refs_get(out, r, ref);

	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	*out = none;
	return 0;
}

static int write_links(git_oid *tip, struct kl_keep *k)
{
	for (size_t i = 0; i < k->n; i++) {
		git_oid tree, link, parent[2] = { k->v[i].commit, *tip };
		int err = kl_repo_tree_of(&tree, k->repo, &k->v[i].commit);

		if (!err)
			err = write_commit(&link, k->repo, &tree, parent, is_none(tip) ? 1 : 2,
					   k->v[i].text);
		if (err < 0)
			return err;
		*tip = link;
	}
	return 0;
}

int kl_keep_into(struct kl_refs_txn *t, void *payload)
{
	struct kl_keep *k = payload;
	git_oid was, tip, notes, notes_was;
	int err = read_ref(&was, k->repo, k->chain);

	tip = was;
	if (err < 0 || (err = write_links(&tip, k)) < 0)
		return err;
	for (size_t i = 0; i < k->noting.n; i++)
		k->noting.note[i].line = k->noting.texts.v[i];
	if ((err = kl_notes_prepare(&notes, &notes_was, k->repo, KL_NOTES_GATE, k->noting.note,
				    k->noting.n)) < 0)
		return err;
	if (memcmp(&notes, &notes_was, sizeof(notes)))
		kl_refs_txn_update(t, KL_NOTES_GATE, &notes,
				   is_none(&notes_was) ? NULL : &notes_was);
	kl_refs_txn_update(t, k->chain, &tip, is_none(&was) ? NULL : &was);
	return 0;
}

int kl_keep_move(struct kl_keep *k, const char *branch, const git_oid *to, const git_oid *was)
{
	for (int i = 0;; i++) {
		KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(k->repo);
		git_oid at;
		int err = kl_keep_into(t, k);

		if (branch)
			kl_refs_txn_update(t, branch, to, is_none(was) ? NULL : was);
		if (err < 0 || (err = KL_FAULT("made-move")) < 0)
			return err;
		err = kl_refs_txn_commit(t, "klineage: a card was tried");
		if (err != KL_ECHANGED || i == MAX_TRIES)
			return err < 0 ? err : KL_FAULT("made-moved");
		/* notes and chain may move under us, and are read again; the branch may not */
		if (branch && (read_ref(&at, k->repo, branch) < 0 || memcmp(&at, was, sizeof(at))))
			return kl_error(KL_ECHANGED, "'%s' was moved by somebody else", branch);
		kl_clock_sleep_ms(20 * (i + 1));
	}
}
