/* SPDX-License-Identifier: Apache-2.0 */
/* admit_arms - the text that each arm of a trial shows to the model, and the order of the arms */
#include <stdlib.h>
#include <string.h>

#include "apply/agent.h"
#include "base/error.h"
#include "base/rng.h"
#include "card/card_types.h"
#include "learn/admit_parts.h"
#include "rewrite/prompt.h"

static const char *const names[KL_ADMIT_ARMS] = { "card", "intent", "bare", "wrong" };
static const char *const phases[KL_ADMIT_ARMS] = { "admit", "control", "bare", "wrong" };

const char *kl_admit_arm_name(enum kl_admit_arm arm)
{
	return names[arm];
}

const char *kl_admit_arm_phase(enum kl_admit_arm arm)
{
	return phases[arm];
}

int kl_admit_arms_parse(unsigned *out, const char *text)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;

	*out = 0;
	kl_strvec_split(&words, text, ", ");
	for (size_t i = 0; i < words.n; i++) {
		size_t arm = 0;

		while (arm < KL_ADMIT_ARMS && strcmp(words.v[i], names[arm]) != 0)
			arm++;
		if (arm == KL_ADMIT_ARMS)
			return kl_error(
				KL_EUSAGE,
				"unknown arm '%s'; the arms are card, intent, bare and wrong",
				words.v[i]);
		*out |= 1u << arm;
	}
	if (!(*out & 1u << KL_ADMIT_CARD))
		return kl_error(KL_EUSAGE, "a trial needs the arm 'card'");
	return 0;
}

/* --- the text of an arm ----------------------------------------------------------------------- */

/* Write the card without its conditions and risks. */
static void write_bare(struct kl_buf *out, const struct kl_card *card)
{
	KL_AUTO(kl_card_freep) struct kl_card *bare = kl_card_copy(card);

	for (size_t i = 0; i < bare->sound.n; i++)
		kl_card_pre_release(&bare->sound.v[i]);
	for (size_t i = 0; i < bare->useful.n; i++)
		kl_card_pre_release(&bare->useful.v[i]);
	for (size_t i = 0; i < bare->risk.n; i++)
		kl_schema_release(&bare->risk.v[i], &kl_card_risk_schema);
	bare->sound.n = bare->useful.n = bare->risk.n = 0;
	kl_agent_card(out, bare, KL_CARDS_FULL);
}

const char *kl_admit_arm_write(struct kl_buf *out, const struct kl_attempt_of *of)
{
	switch (of->arm) {
	case KL_ADMIT_INTENT:
		kl_prompt_fence(out, "", of->card->intent, strlen(of->card->intent));
		return "control";
	case KL_ADMIT_BARE:
		write_bare(out, of->card);
		return "admit";
	default:
		kl_agent_card(out, of->shown ? of->shown : of->card, KL_CARDS_FULL);
		return "admit";
	}
}

/* --- another card ----------------------------------------------------------------------------- */

static bool shares_fact(const struct kl_card *left, const struct kl_card *right)
{
	for (size_t i = 0; i < left->provides.n; i++)
		if (kl_strvec_has(&right->provides, left->provides.v[i]))
			return true;
	return false;
}

/* Check whether `other` is about something else than `card`, and has code of the language. */
static bool is_wrong(const struct kl_card *card, const struct kl_card *other, const char *language)
{
	const struct kl_card_carrier *carrier = kl_card_carrier(other, language);

	return strcmp(card->id, other->id) != 0 && other->status != KL_CARD_RETRACTED &&
	       card->mechanism && other->mechanism &&
	       strcmp(card->mechanism, other->mechanism) != 0 && carrier &&
	       carrier->form != KL_CARRIER_TRANSFORM && !shares_fact(card, other) &&
	       !kl_strvec_has(&card->enables, other->id) &&
	       !kl_strvec_has(&other->enables, card->id);
}

static size_t shown_length(const struct kl_card *card)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_agent_card(&text, card, KL_CARDS_FULL);
	return text.len;
}

static size_t distance(size_t left, size_t right)
{
	return left > right ? left - right : right - left;
}

/* Find the card about something else whose text is nearest in length; the lesser id of two. */
static int find_wrong(struct kl_admit *work, const char *language)
{
	struct kl_library *library = work->o->library;
	size_t length = shown_length(work->old), best = SIZE_MAX;

	for (size_t i = 0; i < kl_library_count(library); i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		size_t far;

		if (kl_library_card_at(&card, library, i) < 0) {
			kl_error_clear(); /* 'skills lint' tells about cards that cannot be read */
			continue;
		}
		if (!is_wrong(work->old, card, language))
			continue;
		far = distance(shown_length(card), length);
		if (far >= best)
			continue;
		best = far;
		kl_card_free(work->wrong);
		work->wrong = kl_steal(&card);
	}
	return work->wrong ? kl_admit_progress_set_wrong(work, work->wrong->id) : 0;
}

int kl_admit_arms_wrong(struct kl_admit *work)
{
	const char *known = kl_admit_progress_wrong(work);
	const struct kl_admit_state *state = &work->a->v[work->a->chosen];
	int err;

	if (*known) {
		err = kl_library_card(&work->wrong, work->o->library, known);
		if (err != KL_ENOTFOUND)
			return err;
		kl_error_clear();
	}
	return find_wrong(work, state->state->contract->language->name);
}

/* --- order ------------------------------------------------------------------------------------ */

size_t kl_admit_arms_order(enum kl_admit_arm out[KL_ADMIT_ARMS], const struct kl_admit *work)
{
	const struct kl_admit_state *state = &work->a->v[work->a->chosen];
	unsigned wanted = work->session && !work->partner ? work->o->arms : 0;
	struct kl_rng rng;
	size_t n = 0;

	for (size_t arm = 0; arm < KL_ADMIT_ARMS; arm++)
		if (arm == KL_ADMIT_CARD ||
		    ((wanted & 1u << arm) && (arm != KL_ADMIT_WRONG || work->wrong)))
			out[n++] = (enum kl_admit_arm)arm;
	kl_rng_seed(&rng, kl_rng_split((uint64_t)work->seed, (uint64_t)state->trials));
	kl_rng_shuffle(&rng, out, n, sizeof(*out));
	return n;
}
