/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SIGNATURE_H
#define KL_EVENT_SIGNATURE_H

#include "event/event.h"
#include "repo/repo.h"

/*
 * signature - makes and checks SSH signatures as git does for commits (SSHSIG, namespace
 * klineage-gate): by gpg.ssh.program (ssh-keygen), with user.signingKey, against
 * gpg.ssh.allowedSignersFile and gpg.ssh.revocationFile.
 *
 * What a signature says of an event is one of five things; only the first makes it somebody's word.
 * Who may sign what is the business of the list of allowed signers (namespaces="klineage-gate").
 */
#define KL_SIGN_NAMESPACE "klineage-gate"

enum kl_sign_state {
	KL_SIGN_NONE, /* unsigned */
	/* fits, and the list names the key, for the time that the event bears */
	KL_SIGN_GOOD,
	/* fits, by a key that the list does not name; or there is no list */
	KL_SIGN_UNKNOWN,
	KL_SIGN_BAD,       /* does not fit, was made for something else, or is no signature */
	KL_SIGN_UNCHECKED, /* there is no ssh-keygen here */
	KL_SIGN_STATES
};
/** "unsigned", "good", "unknown key", "bad", "unchecked" */
const char *kl_sign_state_name(enum kl_sign_state state);

struct kl_signed {
	enum kl_sign_state state;
	/* good: the principal of the list; unknown: the key's print; or NULL */
	char *who;
	char *why; /* bad, unchecked: what is wrong; else NULL */
};
void kl_signed_release(struct kl_signed *other);

/**
 * What the signatures of these events are, `out[i]` of `event[i]`; on all processors, since each
 * takes a call or two of ssh-keygen. A state is no error. KL_EIO: it could not be found out.
 */
int kl_sign_check_events(struct kl_signed *out, struct kl_repo *repo, struct kl_event *const *event,
			 size_t n);

/**
 * Whose signature is this? `*principal` is the caller's. KL_EINVALID: nobody's whom
 * gpg.ssh.allowedSignersFile names, or not of this text. KL_ECANNOT: no such list, no ssh-keygen.
 */
int kl_sign_verify(char **principal, struct kl_repo *repo, const void *text, size_t len,
		   const char *sig);

/**
 * `sig` of an event that is sealed, over its id, with user.signingKey: a file, or a public key
 * itself ("key::ssh-ed25519 ...", "ssh-...") whose private one an agent has. KL_ECANNOT: no key, or
 * ssh-keygen does not sign with it.
 */
int kl_sign_event_now(struct kl_repo *repo, struct kl_event *event);
/** The same where klineage.sign is set. */
int kl_sign_event(struct kl_repo *repo, struct kl_event *event);

#endif
