/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/materialize.h"

#include <stdio.h>
#include <string.h>

#include "apply/card_commit.h"
#include "apply/materialize_parts.h"
#include "base/error.h"
#include "base/fault.h"
#include "repo/refs.h"

const char *kl_materialize_outcome_name(enum kl_materialize_outcome outcome)
{
	static const char *const name[] = { "left", "applies", "known", "unused",
					    "fail", "node",    "best",  "waits" };

	return name[outcome];
}

void kl_materialize_release(struct kl_materialization *materialization)
{
	for (size_t i = 0; i < materialization->n; i++) {
		free(materialization->v[i].card);
		free(materialization->v[i].source);
		free(materialization->v[i].why);
	}
	for (size_t i = 0; i < materialization->nnode; i++) {
		kl_surface_free(materialization->node[i].state);
		kl_event_free(materialization->node[i].event);
	}
	free(materialization->v);
	free(materialization->node);
	free(materialization->ended);
	kl_strvec_release(&materialization->left_out);
	*materialization = (struct kl_materialization){ 0 };
}

char *kl_materialize_name(const char *platform, const git_oid *commit)
{
	const char *leaf = strrchr(platform, '/');
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	return kl_asprintf("%s-%.7s", leaf ? leaf + 1 : platform, hex);
}

void kl_materialize_refs(char branch[256], char chain[256], const char *workload, const char *name)
{
	snprintf(branch, 256, "refs/heads/klineage/materialize/%s/%s", workload, name);
	snprintf(chain, 256, "refs/klineage/nodes/%s/%s", workload, name);
}

int kl_materialize_begun(git_oid *root, struct kl_repo *repo, const char *workload,
			 const char *name)
{
	struct kl_materialize_log log;
	char branch[256], chain[256];
	int err;

	kl_materialize_refs(branch, chain, workload, name);
	if ((err = kl_materialize_log_load(&log, repo, chain)) < 0)
		return err;
	if (!log.there)
		err = kl_error(KL_ENOTFOUND, "no run named '%s/%s' has been started", workload,
			       name);
	*root = log.root;
	kl_materialize_log_release(&log);
	return err;
}

static void run_release(struct kl_materialize_run *run)
{
	kl_materialize_log_release(&run->log);
	free(run->platform);
}

static size_t add_node(struct kl_materialize_run *run, const git_oid *commit,
		       struct kl_surface *state, int depth)
{
	struct kl_materialization *materialization = run->m;

	KL_GROW(materialization->node, materialization->nnode + 1, materialization->node_alloc);
	materialization->node[materialization->nnode] = (struct kl_materialize_node){
		.commit = *commit, .state = state, .depth = depth
	};
	return materialization->nnode++;
}

static bool is_known(const struct kl_materialize_run *run, const struct kl_surface *surface)
{
	for (size_t i = 0; i < run->m->nnode; i++)
		if (!strcmp(run->m->node[i].state->digest, surface->digest))
			return true;
	return false;
}

/* --- an edit of a node ------------------------------------------------------------------------ */

/*
 * Set *out if the edit is faster than the best node. If the best node is `on`, the gate has already
 * compared the two.
 */
static int beats_best(bool *out, const struct kl_materialize_run *run,
		      const struct kl_surface *surface, size_t on)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	struct kl_ratio ratio;
	int err;

	*out = true;
	if (on == run->m->best)
		return 0;
	err = kl_card_commit_try(&judgement, run->o->gate, surface,
				 run->m->node[run->m->best].state, false);
	if (!err)
		*out = judgement->event->verdict == KL_VERDICT_PASS &&
		       kl_card_commit_speed(&ratio, judgement->event) == KL_SPEED_FAST;
	return err;
}

static void set_outcome(struct kl_materialize_attempt *attempt, const struct kl_event *event)
{
	snprintf(attempt->event, sizeof(attempt->event), "%s", event->id);
	attempt->speed = kl_card_commit_speed(&attempt->ratio, event);
}

static int weigh_edit(struct kl_materialize_attempt *attempt, const struct kl_materialize_run *run,
		      const struct kl_judgement *judgement, const struct kl_surface *surface)
{
	const char *class_ = kl_event_class(judgement->event);
	bool best = false;
	int err;

	set_outcome(attempt, judgement->event);
	if (judgement->event->verdict != KL_VERDICT_PASS) {
		attempt->outcome = KL_MATERIALIZE_FAIL;
		attempt->why = kl_strdup(*class_ ? class_ :
						   kl_verdict_name(judgement->event->verdict));
		return 0;
	}
	attempt->outcome = KL_MATERIALIZE_NODE;
	/* A step of a series can make a new best together with the steps before it. */
	if (attempt->speed != KL_SPEED_FAST &&
	    (!attempt->in_series || attempt->on == run->m->best || attempt->speed == KL_SPEED_SLOW))
		return 0;
	if (!(err = beats_best(&best, run, surface, attempt->on)) && best)
		attempt->outcome = KL_MATERIALIZE_BEST;
	return err; /* if this is KL_CARD_COMMIT_LATER, it is not known yet if the node is best */
}

/* Make a node of the edit. A failed edit also becomes a node, so that it is not judged again. */
static void make_node(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
		      const git_oid *commit, struct kl_surface *to, struct kl_event *event)
{
	struct kl_materialization *materialization = run->m;

	attempt->node = add_node(run, commit, to, materialization->node[attempt->on].depth + 1);
	materialization->node[attempt->node].event = kl_event_ref(event);
	materialization->node[attempt->node].correct = attempt->outcome != KL_MATERIALIZE_FAIL;
	if (attempt->outcome == KL_MATERIALIZE_BEST)
		materialization->best = attempt->node;
}

static int keep_edit(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
		     const struct kl_materialize_edit *edit, struct kl_event *event,
		     const git_oid *commit)
{
	const struct kl_materialize_node on = run->m->node[attempt->on];
	bool best = attempt->outcome == KL_MATERIALIZE_BEST;
	KL_AUTO(kl_keep_release) struct kl_keep keep = { .repo = run->o->repo,
							 .chain = run->m->chain };
	struct kl_card_commit card_commit = {
		.repo = run->o->repo,
		.parent = on.commit,
		.from = on.state,
		.to = *edit->to,
		.card = edit->card,
		.free = attempt->free,
		.blob = attempt->blob,
		.how = edit->how,
		.rewriter = attempt->by,
		.source = attempt->source,
		.action = edit->action,
		.mechanism = edit->mechanism,
		.number = on.depth + 1,
		.class_ = attempt->outcome == KL_MATERIALIZE_FAIL ? attempt->why : "",
		.outcome = kl_materialize_outcome_name(attempt->outcome),
		.event = event,
	};
	git_oid oid;
	int err = 0;

	/* an earlier run committed the edit, but its speed was ambiguous: use that commit again */
	if (commit)
		oid = *commit;
	else
		err = kl_card_commit_write(&oid, NULL, &card_commit);
	if (err < 0 || (err = kl_keep_add(&keep, &oid, &card_commit)) < 0 ||
	    (err = kl_keep_move(&keep, best ? run->m->branch : NULL, &oid, &run->tip)) < 0)
		return err;
	if (best)
		run->tip = oid;
	make_node(attempt, run, &oid, kl_steal(edit->to), event);
	return 0;
}

/*
 * Use the result that an earlier run had for this edit. Set *done to false if there is none, or if
 * the measured speed was ambiguous. Set *commit to the earlier run's commit of the edit, or NULL.
 */
static int recall_edit(bool *done, const git_oid **commit, struct kl_materialize_attempt *attempt,
		       struct kl_materialize_run *run, const struct kl_materialize_edit *edit)
{
	const struct kl_materialize_node *on = &run->m->node[attempt->on];
	const struct kl_materialize_logged *was;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	git_oid tree;
	struct kl_card_commit card_commit = {
		.repo = run->o->repo, .parent = on->commit, .from = on->state, .to = *edit->to
	};
	int err = kl_card_commit_tree(&tree, &card_commit);

	*done = false;
	*commit = NULL;
	if (err < 0 || !(was = kl_materialize_log_find(&run->log, &on->commit, &tree)))
		return err;
	*commit = &was->commit;
	if ((err = kl_materialize_log_event(&event, run->o->repo, &was->commit, *edit->to,
					    on->state)) < 0 ||
	    !event)
		return err;
	set_outcome(attempt, event);
	if (was->outcome == KL_MATERIALIZE_NODE && attempt->speed == KL_SPEED_AMBIGUOUS)
		return 0;
	*done = true;
	attempt->outcome = was->outcome;
	if (attempt->outcome == KL_MATERIALIZE_FAIL)
		attempt->why = kl_strdup(was->class_);
	make_node(attempt, run, &was->commit, kl_steal(edit->to), event);
	return 0;
}

static int leave_open(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run)
{
	attempt->outcome = KL_MATERIALIZE_WAITS;
	run->m->waiting++;
	return 0;
}

/*
 * Queue the job of an edit that comes after one without a verdict. Do not use its verdict yet, even
 * if it is known: which edits are tried must not depend on the order of the results.
 */
static int judge_ahead(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
		       const struct kl_surface *to)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err = kl_card_commit_try(&judgement, run->o->gate, to, run->m->node[attempt->on].state,
				     false);

	return err < 0 ? err : leave_open(attempt, run);
}

int kl_materialize_settle(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
			  const struct kl_materialize_edit *edit)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	const git_oid *commit;
	bool done;
	int err;

	attempt->outcome = KL_MATERIALIZE_KNOWN;
	if (is_known(run, *edit->to))
		return 0;
	if (run->m->waiting)
		return judge_ahead(attempt, run, *edit->to);
	if ((err = recall_edit(&done, &commit, attempt, run, edit)) < 0 || done)
		return err;
	run->judged += !commit; /* do not count an edit that is only measured again */
	if (!(err = kl_card_commit_try(&judgement, run->o->gate, *edit->to,
				       run->m->node[attempt->on].state, false)) &&
	    !(err = KL_FAULT("mat-judged")))
		err = weigh_edit(attempt, run, judgement, *edit->to);
	if (err)
		return err == KL_CARD_COMMIT_LATER ? leave_open(attempt, run) : err;
	return keep_edit(attempt, run, edit, judgement->event, commit);
}

size_t kl_materialize_add_attempt(struct kl_materialize_run *run,
				  struct kl_materialize_attempt *attempt)
{
	struct kl_materialization *materialization = run->m;

	if (!attempt->why)
		attempt->why = kl_strdup("");
	if (!attempt->source)
		attempt->source = kl_strdup("");
	KL_GROW(materialization->v, materialization->n + 1, materialization->alloc);
	materialization->v[materialization->n] = *attempt;
	return materialization->n++;
}

/* --- beginning a run -------------------------------------------------------------------------- */

/*
 * Make the root the first link of the chain, so that its commit stays reachable, and note the event
 * (NULL if the verdict comes later). If the run has begun, only note the event.
 */
static int begin_run(struct kl_materialize_run *run, struct kl_event *event)
{
	KL_AUTO(kl_keep_release) struct kl_keep keep = { .repo = run->o->repo };
	KL_AUTO(kl_freep) char *text = kl_asprintf("begun: %s\n\nKlineage-Outcome: root\n",
						   run->o->root->contract->workload);
	int err = kl_keep_root(&keep, &run->o->commit, text, event);

	keep.chain = run->log.there ? NULL : run->m->chain;

	if (err < 0 || (err = KL_FAULT("mat-begin")) < 0)
		return err;
	return kl_keep_move(&keep, NULL, NULL, NULL);
}

static int judge_root(struct kl_materialize_run *run)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err = 0;

	if (run->log.there)
		err = kl_materialize_log_event(&run->m->node[0].event, run->o->repo,
					       &run->o->commit, run->o->root, NULL);
	if (err < 0 || run->m->node[0].event)
		return err;
	err = kl_card_commit_try(&judgement, run->o->gate, run->o->root, NULL, false);
	if (err == KL_CARD_COMMIT_LATER) {
		run->m->waiting++;
		return run->log.there ? 0 : begin_run(run, NULL);
	}
	if (err < 0)
		return err;
	if (judgement->event->verdict != KL_VERDICT_PASS)
		return kl_error(KL_ENO, "the root fails the gate%s%s: %s",
				*kl_event_class(judgement->event) ? ", " : "",
				kl_event_class(judgement->event), judgement->event->message);
	run->m->node[0].event = kl_event_ref(judgement->event);
	return begin_run(run, judgement->event);
}

static bool is_tip_known(const struct kl_materialize_run *run)
{
	bool ours = !memcmp(&run->tip, &run->o->commit, sizeof(git_oid));

	for (size_t i = 0; !ours && i < run->log.n; i++)
		ours = !memcmp(&run->tip, &run->log.v[i].commit, sizeof(git_oid));
	return ours;
}

static int read_tip(struct kl_materialize_run *run)
{
	int err = kl_refs_get(&run->tip, run->o->repo, run->m->branch);

	if (!err && run->o->again && !is_tip_known(run))
		return kl_error(KL_ECHANGED,
				"'%s' points to a commit that does not belong to this run",
				run->m->branch);
	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	run->tip = kl_oid_none;
	return 0;
}

static int can_begin(struct kl_materialize_run *run)
{
	int err;

	if (run->o->dry)
		return 0;
	if ((err = read_tip(run)) < 0 || run->o->go_on || run->o->again)
		return err;
	err = kl_refs_can_create(run->o->repo, run->m->branch);
	if (err == KL_EEXISTS)
		return kl_error_hint(
			err, "use '--continue' to resume that run, '--root best' to start from "
			     "its best result, or '--name' to choose another name");
	if (!err && run->log.there && memcmp(&run->log.root, &run->o->commit, sizeof(git_oid)))
		return kl_error_hint(kl_error(KL_EEXISTS,
					      "the name '%s' belongs to a run from another root",
					      run->o->name),
				     "choose another name with '--name'");
	return err;
}

static int find_platform(struct kl_materialize_run *run)
{
	struct kl_platform platform;
	int err;

	if (run->o->platform || !run->o->gate) {
		run->platform = run->o->platform ? kl_strdup(run->o->platform) : NULL;
		return 0;
	}
	err = kl_gate_platform(&platform, run->o->gate, run->o->root);
	if (!err)
		run->platform = kl_strdup(platform.id);
	return err;
}

int kl_materialize_check(const struct kl_materialize_opts *opts)
{
	struct kl_materialization materialization = { .left_out = KL_STRVEC_INIT };
	KL_AUTO(run_release) struct kl_materialize_run run = { .o = opts, .m = &materialization };
	int err;

	kl_materialize_refs(materialization.branch, materialization.chain,
			    opts->root->contract->workload, opts->name);
	err = kl_materialize_log_load(&run.log, opts->repo, materialization.chain);
	return err < 0 ? err : can_begin(&run);
}

/*
 * Try the mechanical carriers if cards are shown in full; otherwise only count the fitting cards.
 */
static int climb_all(struct kl_materialize_run *run)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	int err;

	if (run->o->arm == KL_CARDS_FULL)
		return kl_materialize_climb(run);
	err = kl_materialize_pool(&pool, run, 0, 0);
	run->m->offered = pool.fit;
	return err;
}

int kl_materialize(struct kl_materialization *out, const struct kl_materialize_opts *opts)
{
	KL_AUTO(run_release) struct kl_materialize_run run = { .o = opts, .m = out };
	struct kl_surface *root = NULL;
	int err;

	*out = (struct kl_materialization){ .left_out = KL_STRVEC_INIT, .nano = -1 };
	kl_materialize_refs(out->branch, out->chain, opts->root->contract->workload, opts->name);
	if ((err = kl_materialize_log_load(&run.log, opts->repo, out->chain)) < 0 ||
	    (err = find_platform(&run)) < 0 || (err = can_begin(&run)) < 0 ||
	    (err = kl_surface_with(&root, opts->root, NULL, 0)) < 0)
		return err;
	add_node(&run, &opts->commit, root, 0);
	out->node[0].correct = true;
	if ((!opts->dry && (err = judge_root(&run)) < 0) || out->waiting)
		return err;
	if ((err = climb_all(&run)) < 0)
		return err;
	out->stopped = kl_materialize_is_enough(&run);
	return opts->session && !opts->dry && !out->waiting ? kl_materialize_ask(&run) : 0;
}
