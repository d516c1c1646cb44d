/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WORDING_REPLY_H
#define KL_LEARN_WORDING_REPLY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * wording_reply - a model's reply when it is asked to word a card, strictly parsed
 * (docs/formats.md, "Words of a card"). Form only: whether what it says is so, wording.h finds out
 * from the data.
 *
 *	err = kl_words_parse(&w, text, len);
 *	if (err == KL_EINVALID)
 *		say kl_error_last() to the model and ask again
 *	kl_words_release(&w);
 *
 * Steps are called by the labels that the question gave them: T1, T2 for transitions, R1, R2 for
 * steps that were refused.
 */
#define KL_WORDS_MOST 16 /* carriers, conditions, risks: of each */

struct kl_words_carrier {
	char *language, *form, *text;
};

struct kl_words_pre {
	bool sound; /* else useful */
	char *id, *text;
	char *test;    /* NULL: none could be written */
	char *witness; /* label, or NULL */
};

struct kl_words_risk {
	char *class_, *text;
	char *violates; /* id of a condition, or NULL */
	char *events;   /* labels, as they were written: "R1, T2" */
};

struct kl_words {
	char *intent, *construct, *acts_on;
	struct kl_words_carrier carrier[KL_WORDS_MOST];
	struct kl_words_pre pre[KL_WORDS_MOST];
	struct kl_words_risk risk[KL_WORDS_MOST];
	size_t ncarrier, npre, nrisk;
};

/** KL_EINVALID: a sentence for who wrote it; `out` is released then. */
int kl_words_parse(struct kl_words *out, const char *text, size_t len);
void kl_words_release(struct kl_words *words);

#endif
