/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WITNESS_H
#define KL_LEARN_WITNESS_H

#include "base/progress.h"
#include "card/library.h"
#include "gate/gate.h"
#include "learn/transition.h"
#include "retrieve/taxonomy.h"

/*
 * witness - seeks events that witness what cards assume: a `sound` condition says that without it
 * the card's edit goes wrong. A kernel that has the mechanism is judged where the condition is
 * false; it must fail there, or the condition asks for what nobody needs
 * (docs/formats.md, "Witnesses").
 *
 * Each clause of a condition is asked for by itself, in this order: of events at hand; of the
 * card's own kernels, K_i, under a contract that promises less, at points near those that are
 * judged, or on a platform that lacks a capability; of its carrier, applied to states where the
 * clause is false. The state before, K_{i-1}, is the control: what fails there, too, is not the
 * step's doing, and a pass of it shows that contract and oracle stand.
 *
 *	kl_transitions_load(&t, repo, NULL);
 *	kl_witness_seek(&w, &(struct kl_witness_opts){ .repo = repo, .library = lib, ... });
 *
 * Each condition that changes is one commit of its card; commits that were judged, their notes and
 * the card move in one transaction, so that a run that was killed lost at most the condition it was
 * at. What the gate said until then is in its cache, and the next run goes through it without
 * judging again.
 */
#define KL_WITNESS_RUNS 64 /* of the gate, unless it is said otherwise */

enum kl_witness_end {
	KL_WITNESS_OPEN, /* nobody knows: it stays as it was */
	/* witnessed: without it the kernel fails, and the one before does not */
	KL_WITNESS_FAILS,
	KL_WITNESS_PASSES, /* not needed: without it the kernel is right */
};

struct kl_witness_clause {
	char *text;
	enum kl_witness_end end;
	char class_[24];       /* of the failure */
	char *event;           /* id; NULL: open */
	char *at;              /* "topk/x K_3: rows = 1, cols = 5" */
	char *why;             /* open: why, as far as it was asked */
	struct kl_strvec plan; /* what was or would be judged */
	size_t passes;         /* kernels that are right without it */
	bool unsure;           /* some kernel could not be asked here and now */
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
	size_t runs;            /* of the gate, without what it remembered */
	size_t verdicts;        /* that came, remembered or not */
	bool limited;           /* the limit ended it */
	struct kl_strvec notes; /* cards that cannot be read */
	char *cannot;           /* why the gate could not judge, last; NULL: it could */
};

struct kl_witness_opts {
	struct kl_repo *repo;
	struct kl_library *library;
	const struct kl_taxonomy *tax;
	const struct kl_transitions *t;
	const struct kl_strvec *cards; /* ids or beginnings; empty: all */
	bool dry;                      /* say what would be judged */
	size_t limit;                  /* runs of the gate */
	struct kl_progress *progress;
};

/** 0 whatever came of it. KL_ECANNOT: there is no gate here. */
int kl_witness_seek(struct kl_witness *out, const struct kl_witness_opts *opts);
void kl_witness_release(struct kl_witness *witness);

#endif
