/* SPDX-License-Identifier: Apache-2.0 */
/* materialize_series - tries the diffs of each lineage's steps on a node, in their order */
#include <stdlib.h>

#include "apply/card_commit.h"
#include "apply/materialize_parts.h"
#include "apply/series.h"
#include "base/error.h"

/* A node, and the steps of lineages whose cards fit it. */
struct place {
	size_t node;
	struct kl_retrieval pool;
	struct kl_series series;
};

static void place_release(struct place *place)
{
	kl_retrieval_release(&place->pool);
	kl_series_release(&place->series);
}

static int find_place(struct place *place, const struct kl_materialize_run *run, size_t node)
{
	int err;

	place_release(place);
	place->node = node;
	err = kl_materialize_pool_again(&place->pool, run, node);
	if (!err)
		kl_series_list(&place->series, run->o->index, &place->pool, KL_MATERIALIZE_TRY);
	return err;
}

/* Try the diff of one step. The outcome is KL_MATERIALIZE_LEFT if the step has none. */
static int try_step(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
		    const struct place *place, const struct kl_series_step *step)
{
	const struct kl_retrieved *retrieved = &place->pool.v[step->at];
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct kl_carrier_try way = { .state = run->m->node[place->node].state };
	int err = kl_index_load(&card, run->o->index, run->o->library, retrieved->card);

	*attempt = (struct kl_materialize_attempt){ .outcome = KL_MATERIALIZE_LEFT };
	if (err)
		return err;
	way.card = card;
	err = kl_series_find_way(&way, step);
	attempt->on = place->node;
	attempt->variant = way.variant;
	attempt->in_series = true;
	if (!err)
		err = kl_materialize_try_way(attempt, run, card, retrieved);
	if (err == KL_ENO) {
		kl_error_clear();
		err = 0;
	}
	return err;
}

/*
 * Apply the diff of one step to a state, without judging the result. Return KL_ENO if it does not
 * apply.
 */
static int apply_step(struct kl_surface **out, const struct kl_materialize_run *run,
		      const struct place *place, const struct kl_series_step *step,
		      const struct kl_surface *state)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct kl_carrier_try way = { .repo = run->o->repo,
				      .library = run->o->library,
				      .state = state };
	char how[KL_CARRIER_HOW];
	int err = kl_index_load(&card, run->o->index, run->o->library,
				place->pool.v[step->at].card);

	if (err)
		return err;
	way.card = card;
	err = kl_series_find_way(&way, step);
	return err ? err : kl_carrier_apply(out, how, &way);
}

/*
 * The verdict of step `i` comes later. Queue the jobs of the steps after it, too, each on the
 * result of the one before, so that a series does not need a bundle for each step. Their verdicts
 * are used once the steps before them have theirs.
 */
static int queue_rest(struct kl_materialize_run *run, const struct place *place, size_t i)
{
	const struct kl_series *series = &place->series;
	KL_AUTO(kl_surface_freep) struct kl_surface *from = NULL;
	int err = 0;

	for (size_t k = i; !err && k < series->n && !kl_materialize_is_enough(run) &&
			   series->v[k].lineage == series->v[i].lineage;
	     k++) {
		const struct kl_surface *state = from ? from : run->m->node[place->node].state;
		KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
		struct kl_surface *to = NULL;

		err = apply_step(&to, run, place, &series->v[k], state);
		if (err == KL_ENO) {
			kl_error_clear();
			err = 0;
			continue;
		}
		if (!err && k > i)
			err = kl_card_commit_try(&judgement, run->o->gate, to, state, false);
		if (err == KL_CARD_COMMIT_LATER) {
			run->m->waiting++;
			err = 0;
		}
		kl_surface_free(from);
		from = to;
	}
	return err;
}

/*
 * Try the steps of the lineage that come after the step *after, until the result of one is correct:
 * set *node to it, and *after to that step.
 */
static int try_steps(size_t *node, int64_t *after, struct kl_materialize_run *run,
		     const struct place *place, const char *lineage)
{
	int err = 0;

	for (size_t i = 0; !err && i < place->series.n && !kl_materialize_is_over(run); i++) {
		const struct kl_series_step *step = &place->series.v[i];
		struct kl_materialize_attempt attempt;

		if (step->lineage != lineage || step->number <= *after)
			continue;
		err = try_step(&attempt, run, place, step);
		if (err || attempt.outcome == KL_MATERIALIZE_LEFT ||
		    attempt.outcome == KL_MATERIALIZE_KNOWN) {
			kl_materialize_drop_attempt(&attempt);
			continue;
		}
		kl_materialize_add_attempt(run, &attempt);
		if (attempt.outcome == KL_MATERIALIZE_WAITS)
			return queue_rest(run, place, i);
		if (attempt.outcome == KL_MATERIALIZE_FAIL)
			continue;
		*node = attempt.node;
		*after = step->number;
		break;
	}
	return err;
}

/*
 * Try the steps of one lineage in their order, each on the result of the last one that was correct,
 * for at most KL_MATERIALIZE_BUILD_ON steps beyond the first that is no new best.
 */
static int try_lineage(struct kl_materialize_run *run, const struct place *start,
		       const char *lineage)
{
	KL_AUTO(place_release) struct place place = { 0 };
	size_t node = start->node, best = run->m->best;
	int left = KL_MATERIALIZE_BUILD_ON;
	int64_t after = 0;
	int err = try_steps(&node, &after, run, start, lineage);

	while (!err && node != place.node && node != start->node && !kl_materialize_is_over(run)) {
		left = run->m->best == best ? left - 1 : KL_MATERIALIZE_BUILD_ON;
		best = run->m->best;
		if (left < 0)
			break;
		err = find_place(&place, run, node);
		if (!err)
			err = try_steps(&node, &after, run, &place, lineage);
	}
	return err;
}

/* Try the steps of each lineage on the node, until there is a new best. */
int kl_materialize_try_series(struct kl_materialize_run *run, size_t node)
{
	KL_AUTO(place_release) struct place place = { 0 };
	const struct kl_series *series = &place.series;
	size_t best = run->m->best;
	int err = find_place(&place, run, node);

	for (size_t i = 0;
	     !err && i < series->n && run->m->best == best && !kl_materialize_is_over(run); i++)
		if (!i || series->v[i].lineage != series->v[i - 1].lineage)
			err = try_lineage(run, &place, series->v[i].lineage);
	return err;
}
