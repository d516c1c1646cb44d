/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SIGNATURE_CACHE_H
#define KL_EVENT_SIGNATURE_CACHE_H

#include "base/map.h"
#include "event/signature.h"

/*
 * signature_cache - stores the results of signature checks, since ssh-keygen takes milliseconds for
 * each. $GIT_COMMON_DIR/klineage/cache/signatures has lines "<digest> <state> <who>"; the digest
 * covers everything that the result depends on: the lists of signers and revoked keys, the program,
 * text, signature and time. Only the states good ("g") and unknown ("u") are stored.
 */
struct kl_signature_cache {
	struct kl_signers *signers; /* borrowed */
	struct kl_map known;        /* digest -> "<state> <who>", owned */
	struct kl_buf added;        /* lines to append */
};

/** Read the cache; a file that cannot be read counts as empty. */
void kl_signature_cache_open(struct kl_signature_cache *out, struct kl_signers *signers);
/** Set *out and return true if this claim was checked before. */
bool kl_signature_cache_get(struct kl_signed *out, const struct kl_signature_cache *cache,
			    const struct kl_sign_claim *claim);
void kl_signature_cache_put(struct kl_signature_cache *cache, const struct kl_sign_claim *claim,
			    const struct kl_signed *result);
/**
 * Append the added results to the file. Errors are ignored, since the checks are then merely
 * repeated.
 */
void kl_signature_cache_save(struct kl_signature_cache *cache);
void kl_signature_cache_release(struct kl_signature_cache *cache);

#endif
