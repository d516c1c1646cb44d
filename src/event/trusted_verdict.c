/* SPDX-License-Identifier: Apache-2.0 */
#include "event/trusted_verdict.h"

#include <string.h>

#include "base/error.h"
#include "event/event_index.h"
#include "event/signature.h"

/* Was it timed against what the key asks for? */
static bool is_compared(const json_t *event, const struct kl_cache_key *k)
{
	const json_t *profile = json_object_get(event, "profile"), *v;
	size_t i;

	if (k->fast || !k->profile)
		return true;
	if (!json_is_object(profile))
		return false;
	json_array_foreach(json_object_get(profile, "vs"), i, v)
		if (!strcmp(kl_json_str_or(v, "what", ""), "parent"))
			return k->parent && !strcmp(kl_json_str_or(v, "surface", ""), k->parent);
	return !k->parent;
}

static bool serves(const json_t *event, const struct kl_cache_key *k)
{
	const char *kind = kl_json_str_or(event, "kind", "");

	return !strcmp(kl_json_str_or(event, "verdict", ""), "pass") && !json_object_get(event, "inverse") &&
	       (!strcmp(kind, "gate") || (k->fast && !strcmp(kind, "check"))) &&
	       kl_event_doc_is_for(event, k->surface, k->contract) && kl_cache_same_place(event,
				   k) &&
	       is_compared(event, k);
}

static int signer_of(char **signer, struct kl_repo *r, const json_t *event)
{
	struct kl_signed s = { 0 };
	int err = kl_sign_check_events(&s, r, &event, 1);

	if (!err && s.state == KL_SIGN_GOOD)
		*signer = kl_steal(&s.who);
	kl_signed_release(&s);
	return err;
}

int kl_vouched_find(json_t **event, char **signer, struct kl_repo *r, const struct kl_cache_key *k)
{
	KL_AUTO(kl_folded_freep) struct kl_folded *f = NULL;
	size_t first, n;
	int err;

	if (!kl_repo_config(r, "gpg.ssh.allowedSignersFile"))
		return kl_error(KL_ENOTFOUND, "nobody is allowed to sign");
	if ((err = kl_folded_open(&f, r, KL_NOTES_GATE)) < 0)
		return err;
	n = kl_folded_of_surface(&first, f, k->surface, k->contract);
	for (size_t i = n; i-- > 0; ) {
		KL_AUTO(json_decrefp) json_t *e = NULL;

		if ((err = kl_folded_read(&e, r, kl_folded_by_surface(f, first + i))) < 0)
			return err;
		if (!serves(e, k))
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
