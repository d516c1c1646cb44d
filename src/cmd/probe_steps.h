/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_PROBE_STEPS_H
#define KL_CMD_PROBE_STEPS_H

#include "card/library.h"
#include "contract/select.h"
#include "learn/transition.h"
#include "probe/findings.h"

/*
 * probe_steps - finds the steps that `git klineage probe` is about: those of a lineage, one of
 * them, those that a card was learned from, or the step between two revisions.
 */
struct kl_probe_step {
	char *label;                             /* "topk/x:4", or the two revisions */
	char *what;                              /* mechanism, or "" */
	const struct kl_surface *before, *after; /* borrowed */
	/* of a lineage's step: the events of both states in its notes, borrowed; or NULL */
	const struct kl_event *event[2];
};

struct kl_probe_steps {
	struct kl_repo *repo; /* borrowed */
	struct kl_probe_step *v;
	size_t n, alloc;
	/* what the surfaces belong to */
	struct kl_transitions transitions;
	struct kl_selection selection[2];
	struct kl_library *library; /* of a card */
	struct kl_card *card;       /* NULL if no card was named */
};

/**
 * Find the steps that the operands name: a lineage, a step, a card, or two revisions; without an
 * operand, the only lineage. With two revisions, `workload` chooses the contract. Return
 * KL_ENOTFOUND, KL_EUSAGE or KL_ECANNOT if there are no such steps; the message says why. The
 * caller releases *out.
 */
int kl_probe_steps_find(struct kl_probe_steps *out, struct kl_repo *repo, int argc, char **argv,
			const char *workload);
void kl_probe_steps_release(struct kl_probe_steps *steps);

/**
 * Make the findings about a step whose states `probe` judged: about measured clauses, clauses of
 * the domain and the launch plan, and clauses of the card if there is one.
 */
int kl_probe_step_learn(struct kl_probe_findings *out, const struct kl_probing *probe,
			const struct kl_probe_step *step, const struct kl_card *card);

#endif
