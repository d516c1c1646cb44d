/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SIGNATURE_H
#define KL_EVENT_SIGNATURE_H

#include "event/event.h"
#include "event/signers.h"
#include "repo/repo.h"

/*
 * signature - makes and checks SSH signatures of events. As git does for commits, it runs
 * gpg.ssh.program (ssh-keygen) and signs with user.signingKey, but in the namespace klineage-gate.
 * It verifies signatures against the lists of event/signers.h.
 *
 * Only a signature in state KL_SIGN_GOOD proves who signed. A line of a list can restrict its key
 * to our signatures (namespaces="klineage-gate").
 */
#define KL_SIGN_NAMESPACE "klineage-gate"

enum kl_sign_state {
	KL_SIGN_NONE, /* unsigned */
	/* valid, by a key that was allowed at the event's time */
	KL_SIGN_GOOD,
	/* valid, by a key that no list of signers allowed at the event's time */
	KL_SIGN_UNKNOWN,
	KL_SIGN_BAD,       /* does not match, has another namespace, is revoked or malformed */
	KL_SIGN_UNCHECKED, /* ssh-keygen is not available */
	KL_SIGN_STATES
};
/** Return "unsigned", "good", "unknown key", "bad" or "unchecked". */
const char *kl_sign_state_name(enum kl_sign_state state);

struct kl_signed {
	enum kl_sign_state state;
	/* the signer's principal if good; the key's fingerprint if unknown; otherwise NULL */
	char *who;
	char *why; /* the reason if bad or unchecked; otherwise NULL */
};
void kl_signed_release(struct kl_signed *result);

/** A signature that somebody claims to have made over a text. */
struct kl_sign_claim {
	const void *text;
	size_t len;
	const char *sig; /* "" if there is none */
	/*
	 * time at which the key must have been allowed, such as "2026-11-20T10:00:00Z"; "" for now
	 */
	const char *time;
};

/**
 * Check claims: `out[i]` is the result for `claim[i]`. Checks run in parallel, because each takes
 * one or two calls of ssh-keygen; results of earlier checks are taken from a cache. A bad signature
 * is a state, not an error. Return KL_EIO if the check itself failed.
 */
int kl_sign_check(struct kl_signed *out, struct kl_signers *signers,
		  const struct kl_sign_claim *claim, size_t n);
/** Return the claim of an event, whose signed text is the id. Borrows from the event. */
struct kl_sign_claim kl_sign_claim_of(const struct kl_event *event);

/**
 * Verify a signature of a text; the caller owns `*principal`, the signer. Return KL_EINVALID if the
 * signature does not match, or its key is not allowed. Return KL_ECANNOT if there are no lists of
 * signers or no ssh-keygen.
 */
int kl_sign_verify(char **principal, struct kl_signers *signers, const void *text, size_t len,
		   const char *sig);

/**
 * Return the public key if this value of user.signingKey is a literal key, whose private key an SSH
 * agent has. Return NULL if the value is the path of a key file.
 */
const char *kl_sign_literal_key(const char *value);
/**
 * Sign a text with user.signingKey; the caller owns `*sig`. The key is a file, or a literal public
 * key ("key::ssh-ed25519 ...", "ssh-...") whose private key an SSH agent has. Return KL_ECANNOT if
 * there is no key, or ssh-keygen cannot sign with it.
 */
int kl_sign_text(char **sig, struct kl_repo *repo, const void *text, size_t len);
/** Set `*out` to the boolean klineage.sign. Return KL_EINVALID if the value is not a boolean. */
int kl_sign_wanted(bool *out, struct kl_repo *repo);
/** Sign the id of a sealed event and set its `sig`. Errors are those of kl_sign_text(). */
int kl_sign_event_now(struct kl_repo *repo, struct kl_event *event);
/** Like kl_sign_event_now(), but only if klineage.sign is set. */
int kl_sign_event(struct kl_repo *repo, struct kl_event *event);

#endif
