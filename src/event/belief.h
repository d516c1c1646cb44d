/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_BELIEF_H
#define KL_EVENT_BELIEF_H

#include "event/own.h"
#include "event/signature.h"

/*
 * belief - decides whether this clone trusts an event, according to who made it. The clone trusts
 * events that it made itself (own.h), events that an allowed signer signed (signers.h), and events
 * that came with the installed program (skills/digests in its share directory). It does not trust
 * other events, because anybody could have written them into a note or a library. A trial of a card
 * is trusted if the event that it cites is. The results of a runner are not decided here: they are
 * checked on import, before they become events (gate/runner/results.h).
 *
 *	kl_belief_open(&belief, repo, NULL);
 *	kl_belief_events(word, belief, events, n);
 *	if (kl_word_is_trusted(word[i].of)) ...
 */
enum kl_word_of {
	KL_WORD_UNSIGNED,  /* not signed, and not made by this clone */
	KL_WORD_OWN,       /* made by this clone */
	KL_WORD_SIGNED,    /* signed by an allowed signer */
	KL_WORD_SHIPPED,   /* came with the installed program */
	KL_WORD_UNKNOWN,   /* signed by a key that is not allowed */
	KL_WORD_BAD,       /* the signature is bad (signature.h) */
	KL_WORD_UNCHECKED, /* signed, but ssh-keygen is not available */
	KL_WORDS
};
/** Return "unsigned", "own", "signed", "shipped", "unknown key", "bad" or "unchecked". */
const char *kl_word_name(enum kl_word_of word);
/** Return true for own, signed and shipped. */
bool kl_word_is_trusted(enum kl_word_of word);
/** Return the name of an untrusted word, to be shown beside the event; "" for a trusted word. */
const char *kl_word_doubt(enum kl_word_of word);

struct kl_word {
	enum kl_word_of of;
	struct kl_signed sig; /* result of checking the event's signature */
};
void kl_word_release(struct kl_word *word);

struct kl_belief;

/**
 * Load the ids of this clone's own events and of shipped events, and the lists of signers. `base`
 * is the commit to read the repository's list from, or NULL for the commit that klineage.signers
 * names (signers.h).
 */
int kl_belief_open(struct kl_belief **out, struct kl_repo *repo, const git_oid *base);
void kl_belief_free(struct kl_belief *belief);
KL_DEFINE_CLEANUP(struct kl_belief *, kl_belief_free)
struct kl_signers *kl_belief_signers(const struct kl_belief *belief);

/** Find the maker of each event[i], and set out[i]. The caller releases each out[i]. */
int kl_belief_events(struct kl_word *out, struct kl_belief *belief, struct kl_event *const *event,
		     size_t n);
#endif
