/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant/prune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/speed.h"
#include "transplant/prune_parts.h"
#include "transplant/step_merge.h"
#include "transplant/transplant_parts.h"
#include "walk/sequencer.h"

struct pruning {
	struct kl_prune *prune;
	struct kl_transplant *transplant;
	struct kl_repo *repo;
	const struct kl_prune_opts *opts;
};

void kl_prune_release(struct kl_prune *prune)
{
	for (size_t i = 0; prune->trial && prune->order && prune->order[i]; i++)
		free(prune->trial[prune->order[i]].why);
	free(prune->trial);
	free(prune->order);
	free(prune->undone);
	kl_surface_free(prune->kernel);
	kl_event_free(prune->event);
	*prune = (struct kl_prune){ 0 };
}

bool kl_prune_has_undone(const struct kl_prune *prune, size_t step)
{
	for (size_t i = 0; i < prune->nundone; i++)
		if (prune->undone[i] == step)
			return true;
	return false;
}

/*
 * --- the order -------------------------------------------------------------------------------
 */

/* Return the gain of a step at K*, by which steps are sorted; unknown gains come last. */
static int64_t gain_of(const struct kl_transplant *transplant, size_t step)
{
	struct kl_comparison gain;

	kl_transplant_gain(&gain, transplant, step, kl_transplant_steps(transplant));
	return gain.ratio.ppm > 0 ? gain.ratio.ppm : INT64_MAX;
}

/* Sort the steps: the least gain first; among equal or unknown gains the latest step first. */
static void sort_steps(struct kl_prune *prune, const struct kl_transplant *transplant)
{
	size_t n = kl_transplant_steps(transplant);

	for (size_t i = 0; i < n; i++)
		prune->order[i] = n - i;
	prune->order[n] = 0;
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && gain_of(transplant, prune->order[k]) <
						    gain_of(transplant, prune->order[k - 1]);
		     k--) {
			size_t step = prune->order[k];

			prune->order[k] = prune->order[k - 1];
			prune->order[k - 1] = step;
		}
}

int kl_prune_plan(struct kl_prune *out, const struct kl_transplant *transplant,
		  const struct kl_prune_opts *opts)
{
	const struct kl_view *view = &transplant->view;
	KL_AUTO(kl_freep) char *name = opts->name ? kl_strdup(opts->name) :
						    kl_asprintf("%s-pruned", view->name);
	size_t n = kl_transplant_steps(transplant);

	*out = (struct kl_prune){ 0 };
	if (!kl_slug_ok(name))
		return kl_error_hint(kl_error(KL_EUSAGE, "'%s' is not the name of a lineage", name),
				     "name the pruned lineage with --name: letters, digits, '.', "
				     "'_' and '-', at most 64");
	if (!strcmp(name, view->name))
		return kl_error(KL_EUSAGE, "'%s' is the lineage to prune: choose another name",
				name);
	kl_lineage_ref(out->ref, "lineage", view->workload, name);
	out->trial = kl_calloc(n + 1, sizeof(*out->trial));
	out->order = kl_calloc(n + 1, sizeof(*out->order));
	out->undone = kl_calloc(n + 1, sizeof(*out->undone));
	sort_steps(out, transplant);
	return 0;
}

/*
 * --- undoing ---------------------------------------------------------------------------------
 */

static int undo_step(struct kl_surface **kernel, struct kl_repo *repo,
		     const struct kl_transplant *transplant, size_t step)
{
	struct kl_surface *without = NULL;
	int err = kl_step_merge(&without, repo, transplant->state[step],
				transplant->state[step - 1], *kernel);

	if (err < 0)
		return err;
	kl_surface_free(*kernel);
	*kernel = without;
	return 0;
}

/* Copy a surface. */
static int copy_surface(struct kl_surface **out, const struct kl_surface *surface)
{
	return kl_surface_with(out, surface, NULL, 0);
}

int kl_prune_state(struct kl_surface **out, struct kl_repo *repo, const struct kl_prune *prune,
		   const struct kl_transplant *transplant, size_t place)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *kernel = NULL;
	int err = copy_surface(&kernel, transplant->state[place]);

	for (size_t i = 0; !err && i < prune->nundone; i++)
		if (prune->undone[i] <= place)
			err = undo_step(&kernel, repo, transplant, prune->undone[i]);
	if (!err)
		*out = kl_steal(&kernel);
	return err;
}

/* Read from a judgement how the attempt ended. */
static void read_trial(struct kl_prune_trial *trial, const struct kl_judgement *judgement,
		       int64_t within_ppm)
{
	const struct kl_event *event = judgement->event;
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	snprintf(trial->event, sizeof(trial->event), "%s", event->id);
	free(kl_steal(&trial->why));
	trial->same_code = event->failure == KL_FAILURE_NO_CHANGE;
	trial->ratio = (struct kl_ratio){ 0 };
	if (parent)
		trial->ratio = parent->ratio;
	if (trial->same_code) {
		trial->end = KL_PRUNE_UNDONE;
	} else if (event->verdict == KL_VERDICT_FAIL) {
		trial->end = KL_PRUNE_FAILS;
		trial->why = kl_strdup(kl_event_class(event));
	} else if (event->verdict == KL_VERDICT_PASS &&
		   kl_speed_is_within(&event->profile, within_ppm)) {
		trial->end = KL_PRUNE_UNDONE;
	} else {
		trial->end = event->verdict == KL_VERDICT_PASS &&
					     kl_speed_is_slower(&event->profile) ?
				     KL_PRUNE_SLOWER :
				     KL_PRUNE_NOISY;
	}
}

/* Return true if the verdict was known before but is noisy, so that it should be measured again. */
static bool can_ask_again(const struct kl_transplant_opts *opts,
			  const struct kl_judgement *judgement)
{
	return judgement->cached && opts->judge_anew &&
	       (!opts->is_again || !opts->is_again(judgement->event, opts->payload));
}

/*
 * Undo one more step in the current kernel, and judge the result against K*. If the verdict is
 * known but too noisy to show whether the kernel is slower, measure again.
 */
static int judge_trial(struct kl_judgement **out, struct kl_prune_trial *trial,
		       struct pruning *pruning, const struct kl_surface *kernel)
{
	const struct kl_transplant_opts *opts = &pruning->opts->judging;
	struct kl_transplant *transplant = pruning->transplant;
	const struct kl_surface *expert = transplant->state[kl_transplant_steps(transplant)];
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err = kl_transplant_judge_kernel(&judgement, opts, kernel, expert);

	if (err < 0)
		return err;
	if (!judgement->deferred)
		read_trial(trial, judgement, pruning->opts->within_ppm);
	if (trial->end == KL_PRUNE_NOISY && can_ask_again(opts, judgement)) {
		kl_judgement_free(kl_steal(&judgement));
		if ((err = opts->judge_anew(&judgement, kernel, expert, opts->payload)) < 0)
			return err;
		if (judgement->deferred)
			trial->end = KL_PRUNE_UNTRIED;
		else
			read_trial(trial, judgement, pruning->opts->within_ppm);
	}
	kl_transplant_count(transplant, judgement);
	*out = kl_steal(&judgement);
	return 0;
}

/* Try to undo a step in the current kernel. */
static int try_step(struct pruning *pruning, size_t step)
{
	struct kl_prune *prune = pruning->prune;
	struct kl_transplant *transplant = pruning->transplant;
	struct kl_prune_trial *trial = &prune->trial[step];
	KL_AUTO(kl_surface_freep) struct kl_surface *kernel = NULL;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int err = copy_surface(&kernel, prune->kernel);

	free(kl_steal(&trial->why));
	*trial = (struct kl_prune_trial){ .at = prune->nundone + 1, .changes = prune->changes };
	if (!err)
		err = undo_step(&kernel, pruning->repo, transplant, step);
	if (err == KL_ENO) {
		trial->end = KL_PRUNE_UNMERGED;
		trial->why = kl_strdup(kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (!err && !strcmp(kernel->digest, prune->kernel->digest)) {
		trial->end = KL_PRUNE_GONE;
		return 0;
	}
	kl_progress_title(pruning->opts->judging.progress, "undo K_%zu, %zu undone before", step,
			  prune->nundone);
	if (!err)
		err = judge_trial(&judgement, trial, pruning, kernel);
	if (err < 0)
		return kl_error_in(err, "K* without step %zu", step);
	if (trial->end != KL_PRUNE_UNDONE)
		return 0;
	kl_surface_free(prune->kernel);
	prune->kernel = kl_steal(&kernel);
	kl_event_free(prune->event);
	prune->event = kl_event_ref(judgement->event);
	prune->undone[prune->nundone++] = step;
	prune->changes += !trial->same_code;
	return 0;
}

/*
 * Return true if undoing a step in the current kernel was already tried. The trial counts if it was
 * made on this kernel, or if it was timed on a kernel with the same machine code.
 */
static bool was_tried(const struct kl_prune *prune, size_t step)
{
	const struct kl_prune_trial *trial = &prune->trial[step];
	bool timed = trial->end == KL_PRUNE_SLOWER || trial->end == KL_PRUNE_NOISY;

	return kl_prune_has_undone(prune, step) || trial->at == prune->nundone + 1 ||
	       (timed && trial->changes == prune->changes);
}

/* Try the steps until none of the remaining steps can be undone in the current kernel. */
static int try_steps(struct pruning *pruning)
{
	struct kl_prune *prune = pruning->prune;
	bool more = true;

	while (more) {
		size_t before = prune->nundone;

		for (const size_t *step = prune->order; *step; step++) {
			int err;

			if (was_tried(prune, *step))
				continue;
			if (kl_transplant_is_late(pruning->transplant, &pruning->opts->judging))
				return 0;
			if ((err = try_step(pruning, *step)) < 0)
				return err;
		}
		more = prune->nundone > before && !pruning->transplant->waiting;
	}
	return 0;
}

/*
 * --- confirming ------------------------------------------------------------------------------
 */

/* Put back the step that was undone last. */
static int put_back(struct pruning *pruning)
{
	struct kl_prune *prune = pruning->prune;
	size_t n = kl_transplant_steps(pruning->transplant);
	size_t step = prune->undone[--prune->nundone];

	prune->put_back++;
	prune->trial[step].end = KL_PRUNE_NOISY;
	kl_surface_free(kl_steal(&prune->kernel));
	kl_event_free(kl_steal(&prune->event));
	return kl_prune_state(&prune->kernel, pruning->repo, prune, pruning->transplant, n);
}

/*
 * Return true if the pruned lineage exists and ends in this kernel. Then the kernel was confirmed
 * before.
 */
static bool is_written(const struct pruning *pruning)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *there = NULL;
	git_oid tip, tree;
	bool same = kl_refs_get(&tip, pruning->repo, pruning->prune->ref) == 0 &&
		    kl_repo_tree_of(&tree, pruning->repo, &tip) == 0 &&
		    kl_surface_from_tree(&there, pruning->repo, &tree, "") == 0 &&
		    !strcmp(there->digest, pruning->prune->kernel->digest);

	kl_error_clear();
	return same;
}

/*
 * Return true if the resulting kernel was measured a second time. This is so if its lineage exists,
 * or if its verdict came from elsewhere and is the second one. If the second verdict had shown that
 * the kernel is slower, the last step would not have been undone.
 */
static bool was_confirmed(const struct pruning *pruning)
{
	const struct kl_transplant_opts *opts = &pruning->opts->judging;
	const struct kl_event *event = pruning->prune->event;

	return is_written(pruning) ||
	       (opts->is_again && event && opts->is_again(event, opts->payload));
}

/* Measure the resulting kernel once more, and put steps back until it is confirmed. */
static int confirm_kernel(struct pruning *pruning)
{
	const struct kl_transplant_opts *opts = &pruning->opts->judging;
	struct kl_prune *prune = pruning->prune;
	const struct kl_surface *expert =
		pruning->transplant->state[kl_transplant_steps(pruning->transplant)];

	while (prune->nundone && opts->judge_anew && !was_confirmed(pruning)) {
		struct kl_prune_trial again = { 0 };
		KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
		int err;

		if (kl_transplant_is_late(pruning->transplant, opts))
			return 0;
		kl_progress_title(opts->progress, "confirm the kernel without %zu steps",
				  prune->nundone);
		err = opts->judge_anew(&judgement, prune->kernel, expert, opts->payload);
		if (err < 0)
			return kl_error_in(err, "the pruned kernel");
		if (!kl_transplant_count(pruning->transplant, judgement))
			return 0;
		read_trial(&again, judgement, pruning->opts->within_ppm);
		free(again.why);
		if (again.end == KL_PRUNE_UNDONE) {
			kl_event_free(prune->event);
			prune->event = kl_event_ref(judgement->event);
			break;
		}
		if ((err = put_back(pruning)) < 0)
			return err;
	}
	prune->complete = true;
	return 0;
}

/* --- the run --------------------------------------------------------------------------------- */

static int prune_expert(struct pruning *pruning)
{
	struct kl_transplant *transplant = pruning->transplant;
	struct kl_transplant_opts at_expert = pruning->opts->judging;
	size_t n = kl_transplant_steps(transplant);
	int err;

	at_expert.step = 0;
	at_expert.at_expert = true;
	err = kl_transplant_judge_locked(transplant, pruning->repo, &at_expert);
	if (err < 0 || transplant->waiting)
		return err;
	sort_steps(pruning->prune, transplant);
	if ((err = copy_surface(&pruning->prune->kernel, transplant->state[n])) < 0 ||
	    (err = try_steps(pruning)) < 0 || transplant->late || transplant->waiting ||
	    (err = confirm_kernel(pruning)) < 0)
		return err;
	if (!pruning->prune->complete || !pruning->prune->nundone)
		return 0;
	return kl_prune_write(pruning->prune, transplant, pruning->repo, pruning->opts);
}

int kl_prune_run(struct kl_prune *out, struct kl_transplant *transplant, struct kl_repo *repo,
		 const struct kl_prune_opts *opts)
{
	struct pruning pruning = {
		.prune = out, .transplant = transplant, .repo = repo, .opts = opts
	};
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	int err = kl_prune_plan(out, transplant, opts);

	if (err < 0 || (err = kl_transplant_lock(&lock, repo, transplant)) < 0)
		return err;
	return prune_expert(&pruning);
}
