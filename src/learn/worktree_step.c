/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/worktree_step.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "card/status.h"
#include "contract/checkout.h"
#include "event/speed.h"
#include "learn/level.h"
#include "repo/branch.h"
#include "retrieve/target.h"
#include "walk/opstate.h"

#define MAX_TRIALS 1000 /* maximum number of trials of a card on one state (card_table.c) */

void kl_worktree_step_release(struct kl_worktree_step *step)
{
	kl_surface_free(step->from);
	kl_surface_free(step->to);
	kl_card_free(step->card);
	kl_card_free(step->after);
	kl_judgement_free(step->judgement);
	kl_strvec_release(&step->changed);
	kl_strvec_release(&step->left);
	free(step->branch);
	free(step->missing);
	kl_lock_release(&step->lock);
}

/*
 * --- finding the edit ---------------------------------------------------------------------------
 */

/* Take the lock of the operations of this worktree, and refuse if a walk is in progress. */
static int take_worktree(struct kl_worktree_step *step, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *dir = kl_fs_join(kl_repo_git_dir(repo), "klineage");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "op.lock");
	char ref[128];
	git_oid at;
	int err, cleared;

	if ((err = kl_fs_mkdir(dir)) < 0)
		return err;
	err = kl_lock_take(&step->lock, path, 0);
	if (err == KL_EBUSY)
		return kl_error_hint(
			kl_error(KL_EBUSY, "another git klineage process is working on a step or "
					   "walk in this worktree"),
			"try again when it has ended");
	if (err < 0 || (err = kl_refs_recover(repo, &cleared)) < 0)
		return err;
	kl_opstate_ref(ref, repo);
	err = kl_refs_get(&at, repo, ref);
	if (!err)
		return kl_error_hint(kl_error(KL_EBUSY, "a walk is in progress in this worktree"),
				     "'git klineage deopt --status' shows it; end it with '--quit' "
				     "or '--abort', or step in another worktree");
	if (err == KL_ENOTFOUND)
		kl_error_clear();
	return err == KL_ENOTFOUND ? 0 : err;
}

static int find_head(struct kl_worktree_step *step, struct kl_repo *repo)
{
	int err = kl_branch_current(&step->branch, repo);

	if (err < 0 || (err = kl_branch_idle(repo)) < 0)
		return err;
	err = kl_refs_get(&step->parent, repo, step->branch);
	if (err == KL_ENOTFOUND)
		return kl_error_hint(kl_error(err, "'%s' has no commit yet", step->branch),
				     "commit the kernel and its contract first");
	return err < 0 ? err : kl_repo_tree_of(&step->parent_tree, repo, &step->parent);
}

/*
 * List the sources that differ, and the other files that differ from HEAD. Set *edited to true if
 * more than the mode of a source differs.
 */
static int list_changes(bool *edited, struct kl_worktree_step *step, struct kl_repo *repo)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT;
	int err = kl_branch_changes(&all, repo);

	*edited = false;

	for (size_t i = 0; i < step->to->nfile; i++) {
		const struct kl_file *from = &step->from->file[i], *to = &step->to->file[i];

		if (kl_file_is_same(from, to))
			continue;
		*edited |= from->len != to->len || memcmp(from->data, to->data, to->len) != 0;
		kl_strvec_take(&step->changed, kl_fs_join(step->to->dir, to->path));
	}
	for (size_t i = 0; i < all.n; i++)
		if (!kl_strvec_has(&step->changed, all.v[i]))
			kl_strvec_push(&step->left, all.v[i]);
	return err;
}

static int nothing_changed(const struct kl_worktree_step *step)
{
	int err = kl_error(KL_EINVALID, "nothing to do: no source of '%s' differs from HEAD",
			   step->to->contract->workload);

	for (size_t i = 0; i < step->changed.n && i < 5; i++)
		kl_error_hint(err, "of '%s' only the mode differs", step->changed.v[i]);
	for (size_t i = 0; i < step->left.n && i < 5; i++)
		kl_error_hint(err, "'%s' differs, but is not a source of the contract",
			      step->left.v[i]);
	return kl_error_hint(err, "edit a source that the contract names, then step again");
}

static int find_edit(struct kl_worktree_step *step, const struct kl_worktree_step_opts *opts)
{
	KL_AUTO(kl_selection_release) struct kl_selection sel = { 0 };
	bool edited;
	int err = kl_select(&sel, opts->repo, KL_STATE_WORKTREE, NULL, opts->workload);

	if (err < 0 ||
	    (err = kl_checkout_check(opts->repo, sel.candidate, sel.kind, &sel.tree)) < 0)
		return err;
	step->to = kl_steal(&sel.candidate);
	err = kl_surface_from_tree(&step->from, opts->repo, &step->parent_tree, step->to->place);
	if (err < 0)
		return kl_error_hint(
			kl_error_in(err, "the kernel of '%s' in HEAD",
				    step->to->contract->workload),
			"a step is judged against the kernel in HEAD: commit contract and kernel "
			"first");
	if (strcmp(step->from->contract_digest, step->to->contract_digest) != 0)
		return kl_error_hint(
			kl_error(KL_EINVALID,
				 "the contract of '%s', its oracle or an adapter "
				 "differ from HEAD",
				 step->to->contract->workload),
			"a step changes only sources: commit or restore '%s' and its oracle first",
			step->to->contract_file.path);
	if ((err = list_changes(&edited, step, opts->repo)) < 0)
		return err;
	return edited ? 0 : nothing_changed(step);
}

static int find_card(struct kl_worktree_step *step, const struct kl_worktree_step_opts *opts)
{
	size_t i;
	int err;

	if (!opts->card)
		return 0;
	err = kl_library_find(&i, opts->library, opts->card);
	if (err < 0)
		return kl_error_hint(err, "'git klineage skills list' lists the cards; without "
					  "--card the step counts for none");
	if ((err = kl_library_card_at(&step->card, opts->library, i)) < 0)
		return err;
	kl_oid_hex(step->blob, kl_library_blob(opts->library, i));
	return step->card->status == KL_CARD_RETRACTED ?
		       kl_error_hint(kl_error(KL_EINVALID, "the card %s was retracted",
					      step->card->id),
				     "step without --card") :
		       0;
}

int kl_worktree_step_begin(struct kl_worktree_step *out, const struct kl_worktree_step_opts *opts)
{
	int err;

	*out = (struct kl_worktree_step){ .changed = KL_STRVEC_INIT,
					  .left = KL_STRVEC_INIT,
					  .lock = KL_LOCK_INIT };
	if ((err = find_head(out, opts->repo)) < 0 || (err = take_worktree(out, opts->repo)) < 0 ||
	    (err = find_card(out, opts)) < 0)
		return err;
	return find_edit(out, opts);
}

/*
 * --- judging it ---------------------------------------------------------------------------------
 */

static void refuse_as(struct kl_worktree_step *step, const char *why)
{
	snprintf(step->refused, sizeof(step->refused), "%s", why);
}

/* Decide whether the edit may be committed. */
static void decide(struct kl_worktree_step *step, const struct kl_worktree_step_opts *opts,
		   bool same)
{
	const struct kl_event *event = step->judgement->event;
	const char *class_ = kl_event_class(event);

	if (event->verdict != KL_VERDICT_PASS)
		refuse_as(step, *class_ ? class_ : kl_verdict_name(event->verdict));
	else if (opts->require && !strcmp(opts->require, "fast") && step->speed != KL_SPEED_FAST)
		refuse_as(step, "not-fast");
	else if (opts->require && strcmp(opts->require, "fast") != 0 && !same &&
		 !kl_speed_is_not_slower(&event->profile))
		refuse_as(step, "not-shown");
	else if (step->speed == KL_SPEED_SLOW && !same && !opts->allow_slow)
		refuse_as(step, "slower");
	step->accepted = !*step->refused;
}

/* Find out whether the edit reproduces the claimed card. */
static void weigh_claim(struct kl_worktree_step *step, bool same)
{
	const struct kl_event *event = step->judgement->event;
	KL_AUTO(kl_buf_release) struct kl_buf missing = KL_BUF_INIT;
	const char *class_ = "";

	for (size_t i = 0; i < step->card->provides.n; i++) {
		const char *fact = step->card->provides.v[i];

		if (strncmp(fact, "trait:", 6) != 0 && !kl_strvec_has(&event->facts.features, fact))
			kl_buf_addf(&missing, "%s%s", missing.len ? ", " : "", fact);
	}
	if (event->verdict != KL_VERDICT_PASS)
		class_ = step->refused;
	else if (same)
		class_ = "no-change";
	else if (missing.len)
		class_ = "not-there";
	else if (step->speed == KL_SPEED_SLOW)
		class_ = "slower";
	else if (step->speed != KL_SPEED_FAST)
		class_ = "not-faster";
	snprintf(step->class_, sizeof(step->class_), "%s", class_);
	if (!strcmp(class_, "not-there"))
		step->missing = kl_buf_detach(&missing);
	step->noisy = event->verdict == KL_VERDICT_INCONCLUSIVE ||
		      (!strcmp(class_, "not-faster") && step->speed != KL_SPEED_SAME);
}

int kl_worktree_step_judge(struct kl_worktree_step *step, const struct kl_worktree_step_opts *opts)
{
	bool same = false;
	int err = kl_card_commit_try(&step->judgement, opts->gate, step->to, step->from, false);

	if (err || (err = KL_FAULT("step-judged")) < 0)
		return err;
	step->speed = kl_card_commit_speed(&step->ratio, step->judgement->event);
	/* the kernel in HEAD need not compile: then there is no code to compare with */
	if (step->judgement->event->verdict == KL_VERDICT_PASS &&
	    (err = kl_card_commit_same_code(&same, opts->gate, step->judgement, step->from)) ==
		    KL_ENO) {
		kl_error_clear();
		err = 0;
	}
	if (err < 0)
		return err;
	decide(step, opts, same);
	if (step->card)
		weigh_claim(step, same);
	return 0;
}

/*
 * --- recording it -------------------------------------------------------------------------------
 */

/* What is written in one transaction. */
struct record {
	struct kl_worktree_step *step;
	const struct kl_worktree_step_opts *opts;
	struct kl_card_commit made;
	char *chain, *subject, *text;
	struct kl_keep keep;
	git_oid commit;
};

static void record_release(struct record *record)
{
	kl_keep_release(&record->keep);
	free(record->chain);
	free(record->subject);
	free(record->text);
}

/* Return the number of the step: one more than that of HEAD, if HEAD is a forward step. */
static int step_number(struct kl_repo *repo, const git_oid *head)
{
	KL_AUTO(kl_commit_release) struct kl_commit commit = { 0 };
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };

	if (kl_repo_commit_read(&commit, repo, head) < 0 ||
	    kl_step_parse(&step, "HEAD", commit.message) < 0 || step.kind != KL_STEP_FORWARD) {
		kl_error_clear();
		return 1;
	}
	return step.number + 1;
}

static void split_message(struct record *record, const char *message)
{
	size_t n = message ? strcspn(message, "\n") : 0;

	if (!n)
		return;
	record->subject = kl_strndup(message, n);
	record->text = kl_strdup(message + n + strspn(message + n, "\n"));
}

static enum kl_free free_as(const struct kl_worktree_step *step)
{
	if (!step->card)
		return KL_FREE_NO_CARD;
	return !strcmp(step->class_, "not-there") || !strcmp(step->class_, "no-change") ?
		       KL_FREE_NOT_THERE :
		       KL_FREE_NOT;
}

static void fill_commit(struct record *record)
{
	const struct kl_worktree_step_opts *opts = record->opts;
	struct kl_worktree_step *step = record->step;
	enum kl_free free = step->accepted ? free_as(step) : KL_FREE_NOT;

	split_message(record, opts->message);
	record->made = (struct kl_card_commit){
		.repo = opts->repo,
		.parent = step->parent,
		.from = step->from,
		.to = step->to,
		.card = free ? NULL : step->card,
		.free = free,
		.blob = step->blob,
		.subject = step->accepted ? record->subject : NULL,
		.text = record->text && *record->text ? record->text : NULL,
		.how = "by hand in the worktree",
		.rewriter = "step",
		.source = "edit",
		.action = opts->action                     ? opts->action :
			  step->card && step->card->action ? NULL :
							     "edit",
		.mechanism = opts->mechanism,
		.number = step_number(opts->repo, &step->parent),
		.class_ = step->accepted ? "" :
			  *step->class_  ? step->class_ :
					   step->refused,
		.event = step->judgement->event,
	};
	if (!record->made.text && record->subject && step->accepted)
		record->made.text = "";
}

/* Add the branch, and the links and notes of `keep`, to the transaction of the library. */
static int move_all(struct kl_refs_txn *txn, void *payload)
{
	struct record *record = payload;
	struct kl_worktree_step *step = record->step;
	git_oid at;
	int err = kl_keep_into(txn, &record->keep);

	if (err < 0 || !step->accepted)
		return err;
	if ((err = kl_refs_get(&at, record->opts->repo, step->branch)) < 0)
		return err;
	if (memcmp(&at, &step->parent, sizeof(at)) != 0)
		return kl_error(KL_EBUSY, "'%s' was changed by another process", step->branch);
	kl_refs_txn_update(txn, step->branch, &record->commit, &step->parent);
	return 0;
}

static int64_t next_trial(const struct kl_card *card, const char *state)
{
	int64_t last = 0;

	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];

		if (!trial->retracted && trial->state && !strcmp(trial->state, state) &&
		    trial->trial > last)
			last = trial->trial;
	}
	return last + 1;
}

/* Check whether the card has a trial that cites the event: the same edit was claimed before. */
static bool was_counted(const struct kl_card *card, const char *event)
{
	for (size_t i = 0; i < card->ver.n; i++)
		if (card->ver.v[i].event && !strcmp(card->ver.v[i].event, event))
			return true;
	return false;
}

/* Find how far the state is from the card's evidence. */
static int find_level(struct record *record, const char *platform)
{
	struct kl_worktree_step *step = record->step;
	KL_AUTO(kl_transitions_release) struct kl_transitions transitions = { 0 };
	struct kl_level_evidence evidence = { 0 };
	struct kl_level_found found;
	int err = kl_transitions_load(&transitions, record->opts->repo, NULL);

	if (err < 0)
		return err;
	err = kl_level_evidence_load(&evidence, record->opts->repo, &transitions, step->card);
	if (!err)
		err = kl_level_find(&found, &evidence,
				    &(struct kl_level_state){ .surface = step->from,
							      .commit = step->parent,
							      .platform = platform });
	kl_level_evidence_release(&evidence);
	if (!err)
		step->level = found.level;
	return err;
}

static void fill_trial(struct kl_card_trial *trial, struct record *record)
{
	struct kl_worktree_step *step = record->step;
	const struct kl_contract *contract = step->to->contract;
	const struct kl_event *event = step->judgement->event;
	const char *platform = event->place.id;

	kl_card_trial_init(trial);
	trial->workload = kl_strdup(contract->workload);
	trial->case_ = kl_strdup(contract->op);
	trial->dtype = kl_strdup(kl_target_dtype(contract));
	trial->language = kl_strdup(contract->language->name);
	trial->platform = kl_strdup(platform);
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_card_dims_add(&trial->dims, contract->dim_name[i], contract->dims.v[i]);
	trial->rule = KL_TRIAL_RULE;
	trial->level = step->level;
	trial->state = kl_oid_text(&step->parent);
	trial->trial = step->trial = next_trial(step->card, trial->state);
	trial->result = *step->class_ ? KL_RESULT_FAIL : KL_RESULT_PASS;
	trial->class_ = *step->class_ ? kl_strdup(step->class_) : NULL;
	trial->ratio = step->ratio;
	trial->recovered = -1;
	trial->event = kl_strdup(event->id);
	trial->made = kl_oid_text(&record->commit);
	trial->how = KL_HOW_AGENT;
	trial->usd = -1;
	trial->isolated = false;
}

/* Commit and add the trial to the card, in one transaction. */
static int put_trial(struct record *record)
{
	struct kl_worktree_step *step = record->step;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	KL_AUTO(kl_freep) char *subject = NULL;
	struct kl_card_trial trial;
	struct kl_library_change change = {
		.base = step->card,
		.events = &events,
		.also = move_all,
		.payload = record,
	};

	int err = find_level(record, step->judgement->event->place.id);

	if (err < 0)
		return err;
	step->after = kl_card_copy(step->card);
	fill_trial(&trial, record);
	subject = kl_asprintf("step: %s %s%s%s at %s", step->card->id,
			      *step->class_ ? "failed" : "passed", *step->class_ ? ", " : "",
			      step->class_, kl_level_name(trial.level));
	kl_card_add_trial(step->after, &trial);
	kl_map_put(&events, step->judgement->event->id, kl_event_ref(step->judgement->event));
	change.card = step->after;
	change.subject = subject;
	return kl_library_put(record->opts->library, &change);
}

static int move_refs(struct record *record)
{
	struct kl_worktree_step *step = record->step;
	bool counts = step->card && !step->noisy &&
		      !was_counted(step->card, step->judgement->event->id);
	KL_AUTO(kl_freep) char *state = kl_oid_text(&step->parent);
	int err;

	if (counts && next_trial(step->card, state) > MAX_TRIALS)
		counts = false;
	if (!counts && !step->accepted)
		return 0;
	record->keep = (struct kl_keep){ .repo = record->opts->repo,
					 .chain = counts ? record->chain : NULL,
					 .reflog = "klineage step" };
	if ((err = kl_card_commit_write(&record->commit, NULL, &record->made)) < 0 ||
	    (err = kl_keep_add(&record->keep, &record->commit, &record->made)) < 0 ||
	    (err = KL_FAULT("step-written")) < 0)
		return err;
	if (step->accepted) {
		git_oid tree;

		if ((err = kl_repo_tree_of(&tree, record->opts->repo, &record->commit)) < 0 ||
		    (err = kl_branch_stage(record->opts->repo, &tree, &step->changed)) < 0 ||
		    (err = KL_FAULT("step-staged")) < 0)
			return err;
	}
	err = counts ? put_trial(record) :
		       kl_keep_move(&record->keep, step->branch, &record->commit, &step->parent);
	if (!err && step->accepted)
		step->commit = record->commit;
	return err;
}

int kl_worktree_step_record(struct kl_worktree_step *step, const struct kl_worktree_step_opts *opts)
{
	KL_AUTO(record_release) struct record record = { .step = step, .opts = opts };

	fill_commit(&record);
	if (step->card)
		record.chain = kl_asprintf("refs/klineage/trials/%s", step->card->id);
	return move_refs(&record);
}
