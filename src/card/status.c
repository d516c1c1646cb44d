/* SPDX-License-Identifier: Apache-2.0 */
#include "card/status.h"

#include <string.h>

bool kl_status_counts(const struct kl_card_trial *trial)
{
	return !trial->retracted && !trial->foreign && trial->isolated &&
	       trial->result == KL_RESULT_PASS && trial->level != KL_LEVEL_SAME_CODE &&
	       (trial->rule < KL_TRIAL_RULE || trial->how != KL_HOW_AGENT || trial->tokens > 0);
}

/* Return true if an earlier trial of `card->ver` counts and is of the same state at this level. */
static bool has_same_state(const struct kl_card *card, size_t end)
{
	const struct kl_card_trial *trial = &card->ver.v[end];

	for (size_t i = 0; i < end; i++)
		if (kl_status_counts(&card->ver.v[i]) && card->ver.v[i].level == trial->level &&
		    !strcmp(card->ver.v[i].state, trial->state))
			return true;
	return false;
}

enum kl_card_status kl_status_of(const struct kl_card *card)
{
	enum kl_card_status status = KL_CARD_HYPOTHESIS;
	size_t states = 0; /* number of states with a trial that counts at other-lineage */

	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];
		int rank;

		if (trial->retracted)
			return KL_CARD_RETRACTED;
		if (!kl_status_counts(trial))
			continue;
		rank = kl_level_rank(trial->level) - kl_level_rank(KL_LEVEL_OTHER_LINEAGE);
		if (!rank && trial->rule >= KL_TRIAL_RULE && !has_same_state(card, i))
			states++;
		if (rank > 0 || (!rank && trial->rule < KL_TRIAL_RULE) ||
		    states >= KL_STATUS_STATES)
			status = KL_CARD_ADMITTED;
		else if (status == KL_CARD_HYPOTHESIS)
			status = KL_CARD_PROVISIONAL;
	}
	return status;
}

void kl_status_count(size_t *passed, size_t *trials, const struct kl_card *card)
{
	*passed = *trials = 0;
	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];

		if (trial->retracted || trial->foreign)
			continue;
		++*trials;
		*passed += kl_status_counts(trial);
	}
}
