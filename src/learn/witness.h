/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WITNESS_H
#define KL_LEARN_WITNESS_H

#include "base/progress.h"
#include "card/library.h"
#include "gate/gate.h"
#include "learn/transition.h"
#include "retrieve/taxonomy.h"

/*
 * witness - seeks events that witness the assumed `sound` conditions of cards. Such a condition
 * claims that without it the card's edit is wrong. A kernel with the mechanism is judged where the
 * condition is false; if it passes there, the condition is not needed (docs/formats.md,
 * "Witnesses").
 *
 * Each clause of a condition is tested by itself: first against existing events; then with the
 * card's own kernels K_i, under a contract that promises less, at points near the judged ones, or
 * on a platform that lacks a capability; then with the card's carrier, applied to states where the
 * clause is false. The state before, K_{i-1}, is the control: if it fails as well, the step is not
 * the cause; if it passes, contract and oracle are valid there.
 *
 *	kl_transitions_load(&t, repo, NULL);
 *	kl_witness_seek(&w, &(struct kl_witness_opts){ .repo = repo, .library = lib, ... });
 *
 * Each condition that changes is one commit of its card. The judged commits, their notes and the
 * card are updated in one transaction, so that a killed run loses at most one condition. Verdicts
 * are in the gate's cache, and the next run reuses them.
 */
#define KL_WITNESS_RUNS 64 /* default limit of gate runs */

enum kl_witness_end {
	KL_WITNESS_OPEN, /* not decided: the clause stays assumed */
	/* witnessed: without it the kernel fails, and the state before does not */
	KL_WITNESS_FAILS,
	KL_WITNESS_PASSES, /* not needed: without it the kernel passes */
};

struct kl_witness_clause {
	char *text;
	enum kl_witness_end end;
	char class_[24];       /* class of the failure */
	char *event;           /* id; NULL if open */
	char *at;              /* "topk/x K_3: rows = 1, cols = 5" */
	char *why;             /* if open: the reason, or NULL */
	struct kl_strvec plan; /* kernels that were or would be judged */
	size_t passes;         /* number of kernels that pass without it */
	bool unsure;           /* some kernel could not be judged here and now */
};

struct kl_witness_result {
	char *card, *pre;
	struct kl_witness_clause *clause;
	size_t n;
	bool put; /* the card changed */
};

struct kl_witness {
	struct kl_witness_result *v;
	size_t n, alloc;
	size_t runs;            /* gate runs, cached verdicts not counted */
	size_t verdicts;        /* verdicts received, cached ones included */
	bool limited;           /* the limit of runs was reached */
	struct kl_strvec notes; /* cards that cannot be read */
	char *cannot;           /* why the gate could not judge, the last reason; or NULL */
};

struct kl_witness_opts {
	struct kl_repo *repo;
	struct kl_library *library;
	const struct kl_taxonomy *tax;
	const struct kl_transitions *t;
	const struct kl_strvec *cards; /* ids or unique prefixes; empty: all */
	bool dry;                      /* only list what would be judged */
	size_t limit;                  /* most runs of the gate */
	struct kl_progress *progress;
};

/** Returns 0 whatever the outcomes; if the gate cannot judge here, out->cannot has the reason. */
int kl_witness_seek(struct kl_witness *out, const struct kl_witness_opts *opts);
void kl_witness_release(struct kl_witness *witness);

#endif
