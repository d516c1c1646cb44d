/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LEVEL_H
#define KL_LEARN_LEVEL_H

#include "card/card.h"
#include "learn/likeness.h"
#include "learn/transition.h"

/*
 * level - tells how far a state is from the evidence of a card, by comparing their code.
 *
 *	same-code	nearly the lines of a state in the evidence (likeness.h)
 *	other-language	no evidence has the language
 *	other-platform	no evidence has the platform
 *	other-state	the state's lineage is one of the evidence, or leads to nearly the same K*
 *	other-workload	another operator, under another name of the workload
 *	other-author	another lineage, with commits by another author
 *	other-lineage	another lineage
 *
 * The first that holds is the level. If no state of the evidence is in this repository, its diffs
 * are compared with the state, and a state of the same operator is at other-state, since it is not
 * known whether its lineage is another one. A kernel of the same operator without a lineage is at
 * other-state, too.
 */
struct kl_level_evidence {
	struct kl_repo *repo;                     /* borrowed */
	const struct kl_transitions *transitions; /* borrowed */
	const struct kl_card *card;               /* borrowed */
	struct kl_map code;    /* commit -> struct kl_strvec *, the lines of a state */
	struct kl_map experts; /* lineage -> struct kl_strvec *, the lines of its K* */
	struct kl_strvec ops, authors, lineages;
	size_t unread; /* number of evidence rows whose states are not in this repository */
};

int kl_level_evidence_load(struct kl_level_evidence *out, struct kl_repo *repo,
			   const struct kl_transitions *transitions, const struct kl_card *card);
void kl_level_evidence_release(struct kl_level_evidence *evidence);

struct kl_level_state {
	const struct kl_surface *surface;
	git_oid commit;
	const char *lineage; /* "<workload>/<name>"; NULL if it belongs to none */
	const char *platform;
};

struct kl_level_found {
	enum kl_level level;
	/* compared with the nearest state of the evidence; both -1 if none could be read */
	int64_t changed, alike;
};

/** Compute the level of a state. */
int kl_level_find(struct kl_level_found *out, struct kl_level_evidence *evidence,
		  const struct kl_level_state *state);

#endif
