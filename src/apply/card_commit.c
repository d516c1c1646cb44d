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

bool kl_card_commit_is_correct(const char *class_)
{
	return !strcmp(class_, "slower") || !strcmp(class_, "no-change") ||
	       !strncmp(class_, "not-", 4);
}

enum kl_speed kl_card_commit_speed(struct kl_ratio *ratio, const struct kl_event *event)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	*ratio = (struct kl_ratio){ 0 };
	if (!parent)
		return KL_SPEED_NONE;
	*ratio = (struct kl_ratio){ parent->ratio.ppm, parent->ratio.lo, parent->ratio.hi };
	return parent->speed;
}

static bool is_ambiguous(const struct kl_judgement *judgement)
{
	struct kl_ratio ratio;

	return judgement->event->verdict == KL_VERDICT_PASS &&
	       kl_card_commit_speed(&ratio, judgement->event) == KL_SPEED_AMBIGUOUS;
}

int kl_card_commit_try(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *surface, const struct kl_surface *parent, bool anew)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int more = kl_gate_is_remote(gate) ? 0 : MORE_MEASUREMENTS;
	int err = anew ? kl_gate_judge_anew(&judgement, gate, surface, parent) :
			 kl_gate_judge(&judgement, gate, surface, parent);

	for (int i = 0; !err && i < more && !judgement->deferred && is_ambiguous(judgement); i++) {
		kl_judgement_free(kl_steal(&judgement));
		err = kl_gate_judge_anew(&judgement, gate, surface, parent);
	}
	if (err)
		return err;
	if (judgement->deferred)
		return KL_CARD_COMMIT_LATER;
	if (judgement->event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "the gate did not run: %s", judgement->event->message);
	*out = kl_steal(&judgement);
	return 0;
}

int kl_card_commit_judge(struct kl_judgement **out, struct kl_gate *gate,
			 const struct kl_surface *surface, const struct kl_surface *parent,
			 bool anew)
{
	int err = kl_card_commit_try(out, gate, surface, parent, anew);

	return err == KL_CARD_COMMIT_LATER ?
		       kl_error(KL_ECANNOT, "cards can be tried only with a runner that returns "
					    "results immediately") :
		       err;
}

int kl_card_commit_same_code(bool *same, struct kl_gate *gate, const struct kl_judgement *judgement,
			     const struct kl_surface *surface)
{
	KL_AUTO(kl_facts_release) struct kl_facts facts = { 0 };
	int err = kl_gate_facts(&facts, gate, surface);

	*same = !err && *facts.code_digest &&
		!strcmp(facts.code_digest, judgement->event->facts.code_digest);
	return err;
}

/* --- writing commits -------------------------------------------------------------------------- */

static int edit_tree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *dir,
		     const struct kl_file *file, size_t n)
{
	struct kl_tree_edit *edit = kl_calloc(n + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	int err;

	for (size_t i = 0; i < n; i++) {
		kl_strvec_pushf(&paths, "%s%s%s", dir, *dir ? "/" : "", file[i].path);
		edit[i] = (struct kl_tree_edit){ .data = file[i].data,
						 .len = file[i].len,
						 .mode = file[i].mode };
	}
	for (size_t i = 0; i < n; i++)
		edit[i].path = paths.v[i];
	err = kl_repo_tree_edit(out, repo, tree, edit, n);
	free(edit);
	return err;
}

static int write_commit(git_oid *out, struct kl_repo *repo, const git_oid *tree,
			const git_oid *parent, size_t n, const char *message)
{
	return kl_repo_commit_write(out, repo,
				    &(struct kl_commit_spec){
					    .tree = *tree,
					    .parent = parent,
					    .nparent = n,
					    .message = message,
				    });
}

/* Write the commit with the parent's time, so that a later run writes the same commit id. */
int kl_card_commit_root(git_oid *out, struct kl_repo *repo, const git_oid *parent,
			const struct kl_surface *surface, bool reference)
{
	static const char as_kernel[] = "oracle as a kernel\n\nKlineage-Root: baseline";
	KL_AUTO(kl_freep) char *message = kl_asprintf("%s: the %s\n", surface->contract->workload,
						      reference ? as_kernel : "worktree as it was");
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1, .message = message };
	struct kl_commit commit = { 0 };
	int err = kl_repo_identity(&spec.author, repo);

	if (err < 0 || (err = kl_repo_commit_read(&commit, repo, parent)) < 0)
		return err;
	spec.time = commit.author_time;
	spec.offset = commit.author_offset;
	spec.tree = commit.tree;
	kl_commit_release(&commit);
	/* a file can be both source and oracle, so edit the tree once for each of the two sets */
	if ((err = edit_tree(&spec.tree, repo, &spec.tree, surface->dir, surface->file,
			     surface->nfile)) < 0 ||
	    (err = edit_tree(&spec.tree, repo, &spec.tree, surface->dir, surface->oracle,
			     surface->noracle)) < 0 ||
	    (err = edit_tree(&spec.tree, repo, &spec.tree, surface->dir, &surface->contract_file,
			     1)) < 0)
		return err;
	return kl_repo_commit_write(out, repo, &spec);
}

static const char *const free_name[] = { NULL, "no-card", "not-offered", "not-there" };

const char *kl_free_name(enum kl_free free)
{
	return free_name[free];
}

bool kl_free_is(const char *word)
{
	for (size_t i = 1; i < KL_ARRAY_SIZE(free_name); i++)
		if (!strcmp(word, free_name[i]))
			return true;
	return false;
}

static char *copy_text(const char *text)
{
	return text && *text ? kl_strdup(text) : NULL;
}

static char *commit_text(const struct kl_card_commit *card_commit)
{
	const struct kl_card *card = card_commit->card;
	const char *text = card_commit->text ? card_commit->text : card ? card->intent : NULL;

	if (card)
		return kl_asprintf("%s\n\nBy card %s, %s.", text, card->id, card_commit->how);
	return kl_strdup(text ? text : card_commit->how);
}

static void commit_message(struct kl_buf *out, const struct kl_card_commit *card_commit)
{
	const struct kl_card *card = card_commit->card;
	const char *action = card_commit->action  ? card_commit->action :
			     card && card->action ? card->action :
						    "apply";
	KL_AUTO(kl_step_release) struct kl_step step = {
		.kind = *card_commit->class_ ? KL_STEP_REJECTED : KL_STEP_FORWARD,
		.forward = true,
		.number = card_commit->number,
		.subject = copy_text(card_commit->subject),
		.action = kl_strdup(action),
		.mechanism = copy_text(card_commit->mechanism ? card_commit->mechanism :
				       card                   ? card->mechanism :
								NULL),
		.locus = kl_proposal_locus(card_commit->from, card_commit->to),
		.text = commit_text(card_commit),
		.class_ = copy_text(card_commit->class_),
		.rewriter = kl_strdup(card_commit->rewriter),
		.source = copy_text(card_commit->source),
	};

	kl_step_message(out, &step);
	if (card)
		kl_buf_addf(out, "Klineage-Skill: %s@%s\n", card->id, card_commit->blob);
	else if (card_commit->free)
		kl_buf_addf(out, "Klineage-Free: %s\n", kl_free_name(card_commit->free));
}

/* Copy the parent's tree, and replace only the sources that changed. */
int kl_card_commit_tree(git_oid *out, const struct kl_card_commit *card_commit)
{
	int err = kl_repo_tree_of(out, card_commit->repo, &card_commit->parent);

	for (size_t i = 0; !err && i < card_commit->to->nfile; i++) {
		const struct kl_file *from = &card_commit->from->file[i],
				     *to = &card_commit->to->file[i];

		if (!kl_file_is_same(from, to))
			err = edit_tree(out, card_commit->repo, out, card_commit->to->dir, to, 1);
	}
	return err;
}

int kl_card_commit_write(git_oid *out, git_oid *tree, const struct kl_card_commit *card_commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	git_oid tree_oid;
	int err = kl_card_commit_tree(&tree_oid, card_commit);

	if (err < 0)
		return err;
	commit_message(&message, card_commit);
	if (tree)
		*tree = tree_oid;
	return write_commit(out, card_commit->repo, &tree_oid, &card_commit->parent, 1,
			    message.ptr);
}

/* --- keeping commits ------------------------------------------------------------------------ */

void kl_keep_release(struct kl_keep *keep)
{
	for (size_t i = 0; i < keep->n; i++)
		free(keep->v[i].text);
	free(keep->v);
	kl_noting_release(&keep->noting);
}

/* Add a link and the event for its commit's note; takes ownership of `text`. */
static int add_link(struct kl_keep *keep, const git_oid *commit, char *text, struct kl_event *event)
{
	KL_GROW(keep->v, keep->n + 1, keep->alloc);
	keep->v[keep->n++] = (struct kl_keep_link){ .commit = *commit, .text = text };
	keep->noting.repo = keep->repo;
	return event ? kl_noting_add(&keep->noting, commit, event) : 0;
}

int kl_keep_root(struct kl_keep *keep, const git_oid *commit, const char *text,
		 struct kl_event *event)
{
	return add_link(keep, commit, kl_strdup(text), event);
}

int kl_keep_add(struct kl_keep *keep, const git_oid *commit,
		const struct kl_card_commit *card_commit)
{
	struct kl_buf text = KL_BUF_INIT;

	kl_buf_addf(&text, "kept: %s, %s\n",
		    card_commit->card ? card_commit->card->id : card_commit->rewriter,
		    card_commit->outcome ? card_commit->outcome :
		    *card_commit->class_ ? card_commit->class_ :
					   "pass");
	if (card_commit->outcome)
		kl_buf_addf(&text, "\nKlineage-Outcome: %s\n", card_commit->outcome);
	return add_link(keep, commit, kl_buf_detach(&text), card_commit->event);
}

static int read_ref(git_oid *out, struct kl_repo *repo, const char *ref)
{
	int err = kl_refs_get(out, repo, ref);

	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	*out = kl_oid_none;
	return 0;
}

static int write_links(git_oid *tip, struct kl_keep *keep)
{
	for (size_t i = 0; i < keep->n; i++) {
		git_oid tree, link, parent[2] = { keep->v[i].commit, *tip };
		int err = kl_repo_tree_of(&tree, keep->repo, &keep->v[i].commit);

		if (!err)
			err = write_commit(&link, keep->repo, &tree, parent,
					   git_oid_is_zero(tip) ? 1 : 2, keep->v[i].text);
		if (err < 0)
			return err;
		*tip = link;
	}
	return 0;
}

int kl_keep_into(struct kl_refs_txn *txn, void *payload)
{
	struct kl_keep *keep = payload;
	git_oid was, tip, notes, notes_was;
	int err = keep->chain ? read_ref(&was, keep->repo, keep->chain) : 0;

	if (keep->chain)
		tip = was;
	if (err < 0 || (keep->chain && (err = write_links(&tip, keep)) < 0))
		return err;
	for (size_t i = 0; i < keep->noting.n; i++)
		keep->noting.note[i].line = keep->noting.texts.v[i];
	if ((err = kl_notes_prepare(&notes, &notes_was, keep->repo, KL_NOTES_GATE,
				    keep->noting.note, keep->noting.n)) < 0)
		return err;
	if (memcmp(&notes, &notes_was, sizeof(notes)))
		kl_refs_txn_update(txn, KL_NOTES_GATE, &notes,
				   git_oid_is_zero(&notes_was) ? NULL : &notes_was);
	if (keep->chain)
		kl_refs_txn_update(txn, keep->chain, &tip, git_oid_is_zero(&was) ? NULL : &was);
	return 0;
}

int kl_keep_move(struct kl_keep *keep, const char *branch, const git_oid *to, const git_oid *was)
{
	for (int i = 0;; i++) {
		KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(keep->repo);
		git_oid at;
		int err = kl_keep_into(txn, keep);

		if (branch)
			kl_refs_txn_update(txn, branch, to, git_oid_is_zero(was) ? NULL : was);
		if (err < 0 || (err = KL_FAULT("made-move")) < 0)
			return err;
		err = kl_refs_txn_commit(txn, keep->reflog ? keep->reflog :
							     "klineage: a card was tried");
		if (err != KL_ECHANGED || i == MAX_TRIES)
			return err < 0 ? err : KL_FAULT("made-moved");
		/*
		 * if another process changed only the notes or the chain, try again, because links
		 * and notes can be added to any version; if it moved the branch, fail
		 */
		if (branch &&
		    (read_ref(&at, keep->repo, branch) < 0 || memcmp(&at, was, sizeof(at))))
			return kl_error(KL_ECHANGED, "'%s' was changed by another process", branch);
		kl_clock_sleep_ms(20 * (i + 1));
	}
}
