/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "search/policy/experience.h"
#include "search/policy/intent.h"

#define MOST_TICKETS 64

/* What a stored chain may say of the ticket, which was proposed as `intent`. */
static bool fits_intent(const struct kl_intent *intent, const struct kl_observation *came)
{
	bool note = came->outcome == KL_OUTCOME_NOTE, skipped = came->outcome == KL_OUTCOME_SKIPPED;

	if (intent->kind == KL_TICKET_SKIP)
		return skipped;
	if (intent->kind == KL_TICKET_NOTE)
		return note || came->outcome == KL_OUTCOME_NONE;
	return !note && !skipped;
}

static void take_all(struct kl_experience *seen, const struct kl_setup *setup, json_t *list)
{
	struct kl_observation came[MOST_TICKETS] = { 0 };
	size_t n = 0;

	for (; n < json_array_size(list) && n < MOST_TICKETS; n++) {
		struct kl_intent intent = { 0 };
		bool more = kl_observation_read(&came[n], json_array_get(list, n)) == 0;

		came[n].ticket = (int64_t)n;
		if (more && n) {
			while (seen->n <= setup->policy->horizon(setup, (int64_t)n))
				kl_experience_add(seen, &came[seen->n]);
			kl_experience_propose(&intent, seen, (int64_t)n);
			MUST(intent.kind == KL_TICKET_END || intent.parent < (int64_t)n);
			more = intent.kind != KL_TICKET_END && fits_intent(&intent, &came[n]);
			came[n].parent = intent.kind == KL_TICKET_SKIP ? -1 : intent.parent;
			free(came[n].form);
			came[n].form = intent.form ? kl_strdup(intent.form) : NULL;
			for (size_t i = 0; i < intent.nshown; i++)
				MUST(intent.shown[i].ticket >= 0 &&
				     intent.shown[i].ticket < (int64_t)n);
		} else if (more) {
			more = came[0].outcome == KL_OUTCOME_CORRECT;
			came[0].parent = -1;
		}
		kl_intent_release(&intent);
		if (!more) {
			n++;
			break;
		}
	}
	for (size_t i = 0; i < n; i++)
		kl_observation_release(&came[i]);
}

/* Whatever observations say, every policy folds them, and proposes from what is there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *list = NULL;
	size_t policies = 0;

	while (kl_policies[policies])
		policies++;
	if (size && kl_json_parse(&list, (const char *)data + 1, size - 1) == 0) {
		struct kl_setup setup;
		struct kl_experience seen;
		char state[KL_DIGEST_HEX];

		kl_setup_init(&setup, kl_policies[data[0] % policies]);
		setup.candidates = 20;
		setup.width = 1 + data[0] / policies % 3;
		if (!strcmp(setup.policy->name, "adaexplore"))
			kl_setup_set(&setup, "learn", "each");
		if (!strcmp(setup.policy->name, "kernelblaster"))
			kl_setup_set(&setup, "rollouts", "2");
		kl_draw_key(setup.key, "", "", "", 0);
		kl_experience_init(&seen, &setup);
		take_all(&seen, &setup, list);
		kl_experience_digest(state, &seen);
		kl_experience_release(&seen);
	}
	json_decref(list);
	kl_error_clear();
	return 0;
}
