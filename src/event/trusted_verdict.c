/* SPDX-License-Identifier: Apache-2.0 */
#include "event/trusted_verdict.h"

#include <string.h>

#include "base/error.h"
#include "event/event_index.h"
#include "event/signature.h"

/* Was it timed against what the key asks for? */
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

static int signer_of(char **signer, struct kl_repo *r, struct kl_event *event)
{
	struct kl_signed s = { 0 };
	int err = kl_sign_check_events(&s, r, &event, 1);

	if (!err && s.state == KL_SIGN_GOOD)
		*signer = kl_steal(&s.who);
	kl_signed_release(&s);
	return err;
}

int kl_vouched_find(struct kl_event **event, char **signer, struct kl_repo *r,
		    const struct kl_cache_key *k)
{
	KL_AUTO(kl_folded_freep) struct kl_folded *f = NULL;
	size_t first, n;
	int err;

	if (!kl_repo_config(r, "gpg.ssh.allowedSignersFile"))
		return kl_error(KL_ENOTFOUND, "nobody is allowed to sign");
	if ((err = kl_folded_open(&f, r, KL_NOTES_GATE)) < 0)
		return err;
	n = kl_folded_of_surface(&first, f, k->surface, k->contract);
	for (size_t i = n; i-- > 0;) {
		KL_AUTO(kl_event_freep) struct kl_event *e = NULL;

		if ((err = kl_folded_read(&e, r, kl_folded_by_surface(f, first + i))) < 0)
			return err;
		if (!event_serves(e, k))
			continue;
		if ((err = signer_of(signer, r, e)) < 0)
			return err;
		if (*signer) {
			*event = kl_steal(&e);
			return 0;
		}
	}
	return kl_error(KL_ENOTFOUND, "no allowed signer has judged it");
}
