/* SPDX-License-Identifier: Apache-2.0 */
/* materialize_climb - tries the mechanical carriers of the cards that fit a node */
#include <string.h>

#include "apply/materialize_parts.h"
#include "base/clock.h"
#include "base/error.h"

bool kl_materialize_is_enough(const struct kl_materialize_run *run)
{
	return (run->o->one && run->judged) || (run->o->until && kl_clock_ns() >= run->o->until);
}

bool kl_materialize_is_over(const struct kl_materialize_run *run)
{
	return run->m->n >= KL_MATERIALIZE_ATTEMPTS || kl_materialize_is_enough(run) ||
	       (run->is_beyond && run->beyond >= KL_MATERIALIZE_BEYOND);
}

static bool is_try_of(const struct kl_materialize_attempt *attempt, const char *card, size_t node)
{
	return attempt->on == node && !strcmp(attempt->by, "card") && !strcmp(attempt->card, card);
}

/* Return true if tools tried the card on the node, not counting diffs of a series that failed. */
static bool was_tried(const struct kl_materialize_run *run, const char *card, size_t node)
{
	for (size_t i = 0; i < run->m->n; i++)
		if (is_try_of(&run->m->v[i], card, node) &&
		    !(run->m->v[i].in_series && run->m->v[i].outcome == KL_MATERIALIZE_FAIL))
			return true;
	return false;
}

/* Return true if the diff was tried on the node as a step of a series. */
static bool was_step(const struct kl_materialize_run *run, const char *card, size_t node,
		     size_t variant)
{
	for (size_t i = 0; i < run->m->n; i++)
		if (is_try_of(&run->m->v[i], card, node) && run->m->v[i].in_series &&
		    run->m->v[i].variant == variant)
			return true;
	return false;
}

static int apply_card(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
		      const struct kl_card *card, size_t variant)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *to = NULL;
	struct kl_carrier_try try = {
		.repo = run->o->repo,
		.library = run->o->library,
		.jail = run->o->gate ? kl_gate_jail(run->o->gate) : NULL,
		.card = card,
		.state = run->m->node[attempt->on].state,
		.variant = variant,
	};
	int err = kl_carrier_apply(&to, attempt->how, &try);

	if (err == KL_ENO) {
		attempt->outcome = KL_MATERIALIZE_LEFT;
		attempt->why = kl_strdup(kl_error_last());
		kl_error_clear();
		return 0;
	}
	attempt->outcome = KL_MATERIALIZE_APPLIES;
	if (err < 0 || run->o->dry)
		return err;
	return kl_materialize_settle(
		attempt, run,
		&(struct kl_materialize_edit){ .card = card, .how = attempt->how, .to = &to });
}

int kl_materialize_try_way(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
			   const struct kl_card *card, const struct kl_retrieved *retrieved)
{
	attempt->status = retrieved->status;
	attempt->by = "card";
	attempt->card = kl_strdup(card->id);
	kl_oid_hex(attempt->blob, &kl_index_card(run->o->index, retrieved->card)->blob);
	return apply_card(attempt, run, card, attempt->variant);
}

void kl_materialize_drop_attempt(struct kl_materialize_attempt *attempt)
{
	free(attempt->card);
	free(attempt->why);
}

/*
 * Collect in `left` the reasons why the ways of applying a card failed, unless one way has applied.
 * Each reason is added once, because it is the same for all values of a transformation's parameter.
 */
static void add_reason(struct kl_materialize_attempt *left, struct kl_materialize_attempt *attempt,
		       bool applied)
{
	char *both;

	if (!applied && !left->card) {
		*left = *attempt;
		return;
	}
	if (!applied && !strstr(left->why, attempt->why)) {
		both = kl_asprintf("%s; %s", left->why, attempt->why);
		free(left->why);
		left->why = both;
	}
	kl_materialize_drop_attempt(attempt);
}

/*
 * Return true if no further way of the card need be tried, because the way was an edit of the card
 * and not a transformation. After a diff with a wrong result the card's next diff is tried.
 */
static bool is_own_edit(const struct kl_materialize_attempt *attempt, const struct kl_card *card,
			const char *language, size_t variant)
{
	if (kl_carrier_is_diff(card, language, variant))
		return attempt->outcome != KL_MATERIALIZE_FAIL ||
		       !kl_carrier_is_diff(card, language, variant + 1);
	return !variant && kl_carrier_mechanical(card, language)->form != KL_CARRIER_TRANSFORM;
}

/*
 * Try the ways of applying a card on the node `on` until one applies. If that way is a
 * transformation, also try the further values of its parameter. Set *node to the first resulting
 * node that is correct but no new best, or to 0. If no way applies, add one attempt with the
 * reasons.
 */
static int try_card(size_t *node, struct kl_card **card, struct kl_materialize_run *run, size_t on,
		    const struct kl_retrieved *retrieved)
{
	const char *language = run->m->node[on].state->contract->language->name;
	struct kl_materialize_attempt left = { 0 };
	bool applied = false, better = false;
	size_t i = 0, n;
	int err = kl_index_load(card, run->o->index, run->o->library, retrieved->card);

	*node = 0;
	if (err)
		return err;
	n = kl_carrier_variants(*card, language);
	do {
		struct kl_materialize_attempt attempt = { .on = on, .variant = i };

		if (was_step(run, retrieved->id, on, i))
			continue;
		err = kl_materialize_try_way(&attempt, run, *card, retrieved);
		if (!err && attempt.outcome == KL_MATERIALIZE_LEFT) {
			add_reason(&left, &attempt, applied);
			continue;
		}
		applied = true;
		if (left.card)
			kl_materialize_drop_attempt(&left);
		left.card = NULL;
		kl_materialize_add_attempt(run, &attempt);
		run->beyond += run->is_beyond;
		if (attempt.outcome == KL_MATERIALIZE_NODE && !*node)
			*node = attempt.node;
		if (is_own_edit(&attempt, *card, language, i) ||
		    (better && attempt.outcome != KL_MATERIALIZE_BEST))
			break;
		better |= attempt.outcome == KL_MATERIALIZE_BEST;
	} while (!err && ++i < n && !(run->o->dry && applied) && !kl_materialize_is_over(run));
	if (left.card && run->is_beyond)
		kl_materialize_drop_attempt(&left); /* the best node has such an attempt already */
	else if (left.card)
		kl_materialize_add_attempt(run, &left);
	return err;
}

/* --- all cards of a node ---------------------------------------------------------------------- */

/*
 * Try every card that fits the node and that is in `only` (NULL for all), until there is a new
 * best. If an edit is correct but not faster, continue from that edit with the cards that its card
 * enables, for at most `left` more steps.
 */
static int try_pool(struct kl_materialize_run *run, size_t node, const struct kl_retrieval *pool,
		    const struct kl_strvec *only, int left);

static int try_enabled(struct kl_materialize_run *run, size_t node, const struct kl_strvec *enabled,
		       int left)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	int err = kl_materialize_pool(&pool, run, node, KL_MATERIALIZE_TRY);

	return err ? err : try_pool(run, node, &pool, enabled, left);
}

static int try_pool(struct kl_materialize_run *run, size_t node, const struct kl_retrieval *pool,
		    const struct kl_strvec *only, int left)
{
	size_t best = run->m->best;
	int err = 0;

	for (size_t i = 0;
	     !err && i < pool->n && run->m->best == best && !kl_materialize_is_over(run); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		size_t correct;

		if ((only && !kl_strvec_has(only, pool->v[i].id)) ||
		    was_tried(run, pool->v[i].id, node))
			continue;
		err = try_card(&correct, &card, run, node, &pool->v[i]);
		if (!err && correct && run->m->best == best && card->enables.n && left)
			err = try_enabled(run, correct, &card->enables, left - 1);
	}
	return err;
}

/* Try all that tools can do with the node, until there is a new best. */
static int try_node(struct kl_materialize_run *run, size_t node)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	size_t best = run->m->best;
	int err = kl_materialize_pool(&pool, run, node, KL_MATERIALIZE_TRY);

	if (!node)
		run->m->offered = pool.fit;
	if (!err && !run->o->dry)
		err = kl_materialize_try_series(run, node);
	if (!err && run->m->best == best)
		err = try_pool(run, node, &pool, NULL, KL_MATERIALIZE_BUILD_ON);
	return err;
}

/* --- beyond the best node --------------------------------------------------------------------- */

/*
 * Find the node that tools made of the node `on` and that may be as fast: not the best, but not
 * slow. Of several, take the one with the greatest ratio that is below *ratio, and set *ratio to
 * that. Return 0 if there is none.
 */
static size_t find_even(int64_t *ratio, const struct kl_materialize_run *run, size_t on)
{
	const struct kl_materialize_attempt *found = NULL;

	for (size_t i = 0; i < run->m->n; i++) {
		const struct kl_materialize_attempt *attempt = &run->m->v[i];

		if (attempt->on == on && !strcmp(attempt->by, "card") &&
		    attempt->outcome == KL_MATERIALIZE_NODE &&
		    (attempt->speed == KL_SPEED_SAME || attempt->speed == KL_SPEED_AMBIGUOUS) &&
		    attempt->ratio.ppm < *ratio &&
		    (!found || attempt->ratio.ppm > found->ratio.ppm))
			found = attempt;
	}
	if (found)
		*ratio = found->ratio.ppm;
	return found ? found->node : 0;
}

/*
 * No edit of the node gave a new best. Try the cards on the edits of it that may be as fast: a
 * change that gains nothing by itself may be what the next one needs.
 */
static int try_beyond(struct kl_materialize_run *run, size_t on)
{
	int64_t ratio = INT64_MAX;
	size_t node;
	int err = 0;

	run->is_beyond = true;
	while (!err && run->m->best == on && !kl_materialize_is_over(run) &&
	       (node = find_even(&ratio, run, on))) {
		KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };

		err = kl_materialize_pool(&pool, run, node, KL_MATERIALIZE_TRY);
		if (!err)
			err = try_pool(run, node, &pool, NULL, 0);
	}
	run->is_beyond = false;
	return err;
}

int kl_materialize_climb(struct kl_materialize_run *run)
{
	size_t at;
	int err;

	do {
		at = run->m->best;
		err = try_node(run, at);
		if (!err && run->m->best == at && !run->m->waiting && !run->o->dry)
			err = try_beyond(run, at);
	} while (!err && run->m->best != at && !kl_materialize_is_enough(run));
	return err;
}
