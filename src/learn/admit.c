/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/admit.h"

#include <stdlib.h>
#include <string.h>

#include "apply/carrier.h"
#include "base/error.h"
#include "base/rng.h"
#include "learn/admit_parts.h"

void kl_admission_release(struct kl_admission *admission)
{
	for (size_t i = 0; i < admission->n; i++) {
		kl_surface_free(admission->v[i].own);
		free(admission->v[i].why);
	}
	free(admission->v);
	kl_card_free(admission->card);
	free(admission->partner);
	kl_transitions_release(&admission->t);
}

static void admit_release(struct kl_admit *work)
{
	kl_strvec_release(&work->seen);
	kl_level_evidence_release(&work->evidence);
	kl_card_free(work->old);
	kl_card_free(work->partner);
	kl_event_free(work->facts);
	free(work->name);
	kl_card_free(work->wrong);
	kl_admit_progress_release(&work->progress);
	free(work->chain);
	kl_keep_release(&work->keep);
}

/* --- checks before a state is chosen ---------------------------------------------------------- */

static int can_by_tools(const struct kl_card *card)
{
	bool mechanical = false;

	for (size_t i = 0; i < card->carriers.n; i++)
		mechanical |= kl_carrier_is_mechanical(&card->carriers.v[i]);
	if (!mechanical)
		return kl_error(KL_ECANNOT,
				"card '%s' has no carrier that a tool can apply, so a model is "
				"needed to try it",
				card->id);
	for (size_t i = 0; i < card->provides.n; i++)
		if (!strncmp(card->provides.v[i], "trait:", 6))
			return kl_error(KL_ECANNOT,
					"card '%s' provides '%s', which only a model can confirm, "
					"so a model is needed to admit it",
					card->id, card->provides.v[i]);
	return 0;
}

static int can_try(const struct kl_admit *work)
{
	const struct kl_card *card = work->old;
	int err = 0;

	if (card->status == KL_CARD_RETRACTED)
		return kl_error(KL_EINVALID, "card '%s' is retracted", card->id);
	if (!work->o->rewriter)
		err = can_by_tools(card);
	if (!err && !card->provides.n)
		err = kl_error(KL_ECANNOT,
			       "card '%s' provides no facts by which a trial could be "
			       "checked",
			       card->id);
	return err;
}

/*
 * If `old` enables other cards, set work->partner to the first of them that is in the library, is
 * not retracted, and can be tried with the model or, without a model, by tools. Return KL_ECANNOT
 * if `old` enables cards, but none of them can be tried.
 */
static int find_partner(struct kl_admit *work)
{
	for (size_t i = 0; i < work->old->enables.n; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		int err = kl_library_card(&card, work->o->library, work->old->enables.v[i]);

		if (!err && card->status != KL_CARD_RETRACTED && card->provides.n &&
		    (work->o->rewriter || !can_by_tools(card))) {
			work->a->partner = kl_strdup(card->id);
			work->partner = kl_steal(&card);
			return 0;
		}
		if (err < 0 && err != KL_ENOTFOUND)
			return err;
		kl_error_clear();
	}
	if (!work->old->enables.n)
		return 0;
	return kl_error(KL_ECANNOT,
			"card '%s' only enables other cards (first: '%s'), and none of "
			"them can be tried here",
			work->old->id, work->old->enables.v[0]);
}

/* --- choosing a state ----------------------------------------------------------------------- */

/* Set state->why if the card's carrier cannot edit the state. */
static int check_carrier(struct kl_admit_state *state, const struct kl_admit *work)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *to = NULL;
	char how[KL_CARRIER_HOW];
	int err = kl_carrier_apply_first(&to, how,
					 &(struct kl_carrier_try){
						 .repo = work->o->repo,
						 .library = work->o->repo,
						 .jail = kl_gate_jail(work->o->gate),
						 .card = work->old,
						 .state = state->state,
					 });

	if (err != KL_ENO)
		return err;
	state->why = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

static int choose_state(struct kl_admit *work)
{
	struct kl_admission *admission = work->a;

	for (admission->chosen = 0; admission->chosen < admission->n; admission->chosen++) {
		struct kl_admit_state *state = &admission->v[admission->chosen];
		int err = 0;

		if (state->why)
			continue;
		if (!work->o->rewriter)
			err = check_carrier(state, work);
		if (!err && !state->why)
			err = kl_admit_facts(&state->why, &work->facts, work, state);
		if (err || !state->why)
			return err;
	}
	return 0;
}

/* Return a seed that a card can record: at least 1, and exact in every reader of JSON. */
static int64_t draw_seed(void)
{
	return (int64_t)(kl_rng_os_seed() % (KL_ADMIT_MAX_SEED - 1)) + 1;
}

int kl_admit(struct kl_admission *out, const struct kl_admit_opts *opts)
{
	KL_AUTO(admit_release) struct kl_admit work = {
		.o = opts,
		.a = out,
		.progress.lock = KL_LOCK_INIT,
	};
	int err;

	*out = (struct kl_admission){ 0 };
	if ((err = kl_library_card(&work.old, opts->library, opts->card)) < 0 ||
	    (err = can_try(&work)) < 0 || (err = find_partner(&work)) < 0)
		return err;
	work.seed = opts->seed;
	if (!opts->dry && (err = kl_admit_progress_open(&work)) < 0)
		return err;
	out->seed = work.seed = work.seed ? work.seed : draw_seed();
	out->card = kl_card_copy(work.old);
	out->before = work.old->status;
	if ((err = kl_transitions_load(&out->t, opts->repo, NULL)) < 0 ||
	    (err = kl_admit_states(&work)) < 0 || (err = choose_state(&work)) < 0)
		return err;
	return opts->dry || out->chosen == out->n ? 0 : kl_admit_trial(&work);
}
