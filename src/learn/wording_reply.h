/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WORDING_REPLY_H
#define KL_LEARN_WORDING_REPLY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * wording_reply - parses a model's reply with the texts of a card (docs/formats.md, "Words of a
 * card"). The form of the reply is checked strictly; wording.h checks the texts against the data.
 *
 *	err = kl_words_parse(&w, text, len);
 *	if (err == KL_EINVALID)
 *		send kl_error_last() to the model and ask again
 *	kl_words_release(&w);
 *
 * The reply refers to steps by the labels of the prompt: T1, T2 for transitions, R1, R2 for refused
 * steps.
 */
/* maximum numbers of carriers, of conditions, and of risks in one reply */
#define KL_WORDS_MOST 16

struct kl_words_carrier {
	char *language, *form, *text;
};

struct kl_words_pre {
	bool sound; /* false: useful */
	char *id, *text;
	char *test;    /* predicate; NULL if the condition has no test */
	char *witness; /* label of a refused step; NULL if the condition has no witness */
};

struct kl_words_risk {
	char *class_, *text;
	char *violates; /* id of a condition, or NULL */
	char *events;   /* labels as written: "R1, T2" */
};

struct kl_words {
	char *intent, *construct, *acts_on;
	struct kl_words_carrier carrier[KL_WORDS_MOST];
	struct kl_words_pre pre[KL_WORDS_MOST];
	struct kl_words_risk risk[KL_WORDS_MOST];
	size_t ncarrier, npre, nrisk;
};

/** Parse a reply. On KL_EINVALID, the message is to be sent to the model; `out` is not changed. */
int kl_words_parse(struct kl_words *out, const char *text, size_t len);
void kl_words_release(struct kl_words *words);

#endif
