/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_BELIEF_H
#define KL_EVENT_BELIEF_H

#include "event/own.h"
#include "event/signature.h"

/*
 * belief - decides whether this clone trusts an event, by who made it. It trusts what it made itself
 * (own.h), what an allowed signer signed (signers.h), and what came with the installed program
 * (skills/digests in its share directory). Anybody could have written the rest into a note or a
 * library. A trial of a card is trusted if the event that it cites is. Only the results of a runner
 * are judged elsewhere, when they are imported and before they are events (gate/runner/results.h).
 * kl_belief_open(&belief, repo, NULL); kl_belief_events(word, belief, events, n); if
 * (kl_word_is_trusted(word[i].of)) ...
 */
enum kl_word_of {
	KL_WORD_UNSIGNED,  /* nobody signed it, and this clone did not make it */
	KL_WORD_OWN,       /* made by this clone */
	KL_WORD_SIGNED,    /* signed by an allowed signer */
	KL_WORD_SHIPPED,   /* came with the installed program */
	KL_WORD_UNKNOWN,   /* signed by a key that is not allowed */
	KL_WORD_BAD,       /* the signature is wrong */
	KL_WORD_UNCHECKED, /* signed, but ssh-keygen is not available */
	KL_WORDS
};
/** "unsigned", "own", "signed", "shipped", "unknown key", "bad", "unchecked" */
const char *kl_word_name(enum kl_word_of word);
/** True for own, signed and shipped. */
bool kl_word_is_trusted(enum kl_word_of word);
/** The name of an untrusted word, to be shown beside the event; "" for a trusted one. */
const char *kl_word_doubt(enum kl_word_of word);

struct kl_word {
	enum kl_word_of of;
	struct kl_signed sig; /* its signature, whoever made it */
};
void kl_word_release(struct kl_word *word);

struct kl_belief;

/**
 * Load what the decisions are based on. `base`: the commit with the repository's signers
 * (signers.h), or NULL.
 */
int kl_belief_open(struct kl_belief **out, struct kl_repo *repo, const git_oid *base);
void kl_belief_free(struct kl_belief *belief);
KL_DEFINE_CLEANUP(struct kl_belief *, kl_belief_free)
struct kl_signers *kl_belief_signers(const struct kl_belief *belief);

/** Decide for each event who made it. The caller releases `out`. */
int kl_belief_events(struct kl_word *out, struct kl_belief *belief, struct kl_event *const *event,
		     size_t n);
#endif
