/* SPDX-License-Identifier: Apache-2.0 */
#include "event/trusted_verdict.h"

#include <string.h>

#include "base/error.h"
#include "event/event_index.h"
#include "event/signature.h"

/* Was it timed against the parent of the key, if the key needs a profile? */
static bool is_compared(const struct kl_event *event, const struct kl_cache_key *key)
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
	       (event->kind == KL_KIND_GATE || (key->quick && event->kind == KL_KIND_CHECK)) &&
	       kl_event_is_for(event, key->surface, key->contract) &&
	       kl_cache_same_place(event, key) && is_compared(event, key);
}

static int signer_of(char **signer, struct kl_signers *signers, struct kl_event *event)
{
	struct kl_signed sig = { 0 };
	int err = kl_sign_check_events(&sig, signers, &event, 1);

	if (!err && sig.state == KL_SIGN_GOOD)
		*signer = kl_steal(&sig.who);
	kl_signed_release(&sig);
	return err;
}

int kl_trusted_verdict_find(struct kl_event **event, char **signer, struct kl_repo *repo,
			    const struct kl_cache_key *key)
{
	KL_AUTO(kl_event_index_freep) struct kl_event_index *index = NULL;
	KL_AUTO(kl_signers_freep) struct kl_signers *signers = NULL;
	size_t first, n;
	int err = kl_signers_open(&signers, repo, NULL);

	if (err < 0)
		return err;
	if (kl_signers_none(signers))
		return kl_error(KL_ENOTFOUND, "nobody is allowed to sign");
	if ((err = kl_event_index_open(&index, repo, KL_NOTES_GATE)) < 0)
		return err;
	n = kl_event_index_of_surface(&first, index, key->surface, key->contract);
	for (size_t i = n; i-- > 0;) {
		KL_AUTO(kl_event_freep) struct kl_event *found = NULL;

		if ((err = kl_event_index_read(&found, repo,
					       kl_event_index_by_surface(index, first + i))) < 0)
			return err;
		if (!event_serves(found, key))
			continue;
		if ((err = signer_of(signer, signers, found)) < 0)
			return err;
		if (*signer) {
			*event = kl_steal(&found);
			return 0;
		}
	}
	return kl_error(KL_ENOTFOUND, "no allowed signer has judged it");
}
