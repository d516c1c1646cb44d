/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant/transplant.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "event/speed.h"
#include "transplant/step_merge.h"
#include "transplant/transplant_log.h"
#include "walk/sequencer.h"

#define ONE 1000000

size_t kl_transplant_steps(const struct kl_transplant *transplant)
{
	return transplant->view.n ? transplant->view.n - 1 : 0;
}

struct kl_transplant_cell *kl_transplant_at(const struct kl_transplant *transplant, size_t step,
					    size_t place)
{
	return &transplant->cell[(step - 1) * transplant->view.n + place];
}

void kl_transplant_release(struct kl_transplant *transplant)
{
	size_t n = kl_transplant_steps(transplant) * transplant->view.n;

	for (size_t i = 0; transplant->cell && i < n; i++) {
		free(transplant->cell[i].why);
		kl_event_free(transplant->cell[i].event);
	}
	for (size_t i = 0; transplant->state && i < transplant->view.n; i++)
		kl_surface_free(transplant->state[i]);
	free(transplant->cell);
	free(transplant->state);
	kl_event_free(transplant->root);
	kl_view_release(&transplant->view);
	*transplant = (struct kl_transplant){ 0 };
}

int kl_transplant_merge(struct kl_surface **out, struct kl_repo *repo,
			const struct kl_transplant *transplant, size_t step, size_t place)
{
	const struct kl_surface *before = transplant->state[step - 1],
				*after = transplant->state[step];
	bool undo = place >= step;

	return kl_step_merge(out, repo, undo ? after : before, undo ? before : after,
			     transplant->state[place]);
}

/* --- loading --------------------------------------------------------------------------------- */

static int load_states(struct kl_transplant *transplant, struct kl_repo *repo)
{
	const struct kl_view *view = &transplant->view;

	transplant->state = kl_calloc(view->n, sizeof(struct kl_surface *));
	for (size_t i = 0; i < view->n; i++) {
		git_oid tree;
		int err = kl_repo_tree_of(&tree, repo, &view->step[i].commit);

		if (!err)
			err = kl_surface_from_tree(&transplant->state[i], repo, &tree, "");
		if (err < 0)
			return kl_error_in(err, "K_%zu of %s/%s", i, view->workload, view->name);
	}
	return 0;
}

static int merge_cell(struct kl_transplant *transplant, struct kl_repo *repo, size_t step,
		      size_t place)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *kernel = NULL;
	struct kl_transplant_cell *cell = kl_transplant_at(transplant, step, place);
	int err = kl_transplant_merge(&kernel, repo, transplant, step, place);

	if (err == KL_ENO) {
		cell->state = KL_CELL_UNMERGED;
		cell->why = kl_strdup(kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	snprintf(cell->digest, sizeof(cell->digest), "%s", kernel->digest);
	cell->state = strcmp(kernel->digest, transplant->state[place]->digest) ? KL_CELL_OPEN :
										 KL_CELL_NO_CHANGE;
	return 0;
}

int kl_transplant_load(struct kl_transplant *out, struct kl_repo *repo, const char *workload,
		       const char *name)
{
	size_t n;
	int err;

	*out = (struct kl_transplant){ 0 };
	if ((err = kl_view_load(&out->view, repo, workload, name)) < 0)
		return err;
	n = kl_transplant_steps(out);
	snprintf(out->ref, sizeof(out->ref), "refs/klineage/transplant/%s/%s", workload, name);
	if (!n)
		err = kl_error(KL_ENO, "'%s/%s' has one state only: there is no step to transplant",
			       workload, name);
	if (!err)
		err = load_states(out, repo);
	out->cell = kl_calloc(n * out->view.n + 1, sizeof(*out->cell));
	for (size_t step = 1; !err && step <= n; step++)
		for (size_t place = 0; !err && place <= n; place++)
			err = merge_cell(out, repo, step, place);
	if (!err)
		err = kl_transplant_log_read(out, repo);
	if (err < 0)
		kl_transplant_release(out);
	return err;
}

/* --- what cells say -------------------------------------------------------------------------- */

enum kl_cell_finding kl_transplant_finding(const struct kl_transplant_cell *cell)
{
	if (cell->state == KL_CELL_NO_CHANGE)
		return KL_CELL_SAME_CODE;
	if (!cell->event)
		return KL_CELL_UNKNOWN;
	if (cell->event->verdict == KL_VERDICT_PASS)
		return KL_CELL_PASSES;
	if (cell->event->verdict == KL_VERDICT_FAIL)
		return cell->event->failure == KL_FAILURE_NO_CHANGE ? KL_CELL_SAME_CODE :
								      KL_CELL_FAILS;
	return KL_CELL_UNKNOWN;
}

/* Return the cell that judges a step at a state, and whether its kernel is the one without it. */
static const struct kl_transplant_cell *judged_cell(bool *undone,
						    const struct kl_transplant *transplant,
						    size_t step, size_t place)
{
	/* at K_i, undoing step i gives K_{i-1}, which the step's own place compares with K_i */
	size_t expert = kl_transplant_steps(transplant);
	size_t at = place == step && place < expert ? step - 1 : place;

	*undone = at >= step;
	return kl_transplant_at(transplant, step, at);
}

void kl_transplant_gain(struct kl_comparison *out, const struct kl_transplant *transplant,
			size_t step, size_t place)
{
	bool undone;
	const struct kl_transplant_cell *cell = judged_cell(&undone, transplant, step, place);
	enum kl_cell_finding finding = kl_transplant_finding(cell);
	const struct kl_comparison *parent;

	*out = (struct kl_comparison){ .what = "", .surface = "" };
	if (finding == KL_CELL_SAME_CODE) {
		out->ratio = (struct kl_ratio){ ONE, ONE, ONE };
		out->speed = KL_SPEED_SAME;
	}
	if (finding != KL_CELL_PASSES)
		return;
	parent = kl_comparisons_parent(&cell->event->profile.vs);
	if (parent && parent->ratio.lo > 0)
		*out = undone ? kl_comparison_inverted(parent) : *parent;
}

bool kl_transplant_is_idle(const struct kl_transplant *transplant, size_t step, int64_t within_ppm)
{
	const struct kl_transplant_cell *cell = kl_transplant_at(transplant, step,
								 kl_transplant_steps(transplant));
	enum kl_cell_finding finding = kl_transplant_finding(cell);

	return finding == KL_CELL_SAME_CODE ||
	       (finding == KL_CELL_PASSES && kl_speed_is_within(&cell->event->profile, within_ppm));
}
