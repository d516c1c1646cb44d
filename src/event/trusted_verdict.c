/* SPDX-License-Identifier: Apache-2.0 */
#include "event/trusted_verdict.h"

#include <string.h>

#include "base/error.h"
#include "event/trust.h"

bool kl_trusted_verdict_is_compared(const struct kl_event *event, const struct kl_cache_key *key)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	if (key->quick || !key->profile)
		return true;
	if (!event->profile.there || !parent != !key->parent)
		return false;
	return !parent || !strcmp(parent->surface, key->parent);
}

static bool event_serves(const struct kl_event *event, const struct kl_cache_key *key)
{
	return event->verdict == KL_VERDICT_PASS && !event->inverse.there &&
	       event->kind == KL_KIND_GATE && kl_event_is_for(event, key->surface, key->contract) &&
	       kl_cache_same_place(event, key) && kl_trusted_verdict_is_compared(event, key);
}

int kl_trusted_verdict_find(struct kl_event **event, char **signer, struct kl_repo *repo,
			    const struct kl_cache_key *key, const git_oid *base)
{
	KL_AUTO(kl_belief_freep) struct kl_belief *belief = NULL;
	KL_AUTO(kl_trust_release) struct kl_trust trust = { 0 };
	int err = kl_belief_open(&belief, repo, base);

	if (err < 0)
		return err;
	if (kl_signers_none(kl_belief_signers(belief)))
		return kl_error(KL_ENOTFOUND, "there is no list of allowed signers");
	trust.belief = belief;
	if ((err = kl_trust_add_surface(&trust, repo, key->surface, key->contract)) < 0 ||
	    (err = kl_trust_judge(&trust, repo)) < 0)
		return err;
	for (size_t i = 0; i < trust.n; i++) {
		struct kl_trust_line *line = &trust.v[i];

		if (line->sig.state != KL_SIGN_GOOD || !event_serves(line->event, key) ||
		    kl_trust_is_retracted(&trust, line->event->id) ||
		    kl_trust_is_outweighed(&trust, line->event))
			continue;
		*event = kl_event_ref(line->event);
		*signer = kl_strdup(line->sig.who);
		return 0;
	}
	return kl_error(KL_ENOTFOUND, "no pass by an allowed signer applies to this kernel");
}
