/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SIGNATURE_H
#define KL_EVENT_SIGNATURE_H

#include "event/event.h"
#include "repo/repo.h"

/*
 * signature - makes and checks SSH signatures of events. As git does for commits (SSHSIG, namespace
 * klineage-gate), it runs gpg.ssh.program (ssh-keygen), signs with user.signingKey, and verifies
 * against gpg.ssh.allowedSignersFile and gpg.ssh.revocationFile.
 *
 * Only a signature in state KL_SIGN_GOOD proves who signed an event. The allowed-signers file
 * decides who can sign (namespaces="klineage-gate").
 */
#define KL_SIGN_NAMESPACE "klineage-gate"

enum kl_sign_state {
	KL_SIGN_NONE, /* unsigned */
	/* valid, by a key that was allowed at the event's time */
	KL_SIGN_GOOD,
	/* valid, by a key that is not in the allowed-signers file, or there is no such file */
	KL_SIGN_UNKNOWN,
	KL_SIGN_BAD,       /* does not match, has another namespace, is revoked or malformed */
	KL_SIGN_UNCHECKED, /* ssh-keygen is not available */
	KL_SIGN_STATES
};
/** "unsigned", "good", "unknown key", "bad", "unchecked" */
const char *kl_sign_state_name(enum kl_sign_state state);

struct kl_signed {
	enum kl_sign_state state;
	/* good: the signer's principal; unknown: the key's fingerprint; or NULL */
	char *who;
	char *why; /* bad, unchecked: the reason; otherwise NULL */
};
void kl_signed_release(struct kl_signed *result);

/**
 * Check the signatures of events: `out[i]` is the result for `event[i]`. Runs in parallel, because
 * each takes one or two calls of ssh-keygen. A bad signature is a state, not an error. KL_EIO: the
 * check itself failed.
 */
int kl_sign_check_events(struct kl_signed *out, struct kl_repo *repo, struct kl_event *const *event,
			 size_t n);

/**
 * Verify a signature of a text; `*principal` is its signer, owned by the caller. KL_EINVALID: the
 * signature does not match, or the signer is not in gpg.ssh.allowedSignersFile. KL_ECANNOT: there
 * is no such file or no ssh-keygen.
 */
int kl_sign_verify(char **principal, struct kl_repo *repo, const void *text, size_t len,
		   const char *sig);

/**
 * Set `sig` of a sealed event, a signature of its id. The key is user.signingKey: a file, or a
 * literal public key ("key::ssh-ed25519 ...", "ssh-...") whose private key an SSH agent has.
 * KL_ECANNOT: there is no key, or ssh-keygen cannot sign with it.
 */
int kl_sign_event_now(struct kl_repo *repo, struct kl_event *event);
/** As kl_sign_event_now, but only if klineage.sign is set. */
int kl_sign_event(struct kl_repo *repo, struct kl_event *event);

#endif
