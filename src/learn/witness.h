/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WITNESS_H
#define KL_LEARN_WITNESS_H

#include "base/progress.h"
#include "card/library.h"
#include "gate/gate.h"
#include "learn/transition.h"
#include "retrieve/taxonomy.h"

/*
 * witness - seeks events that witness the assumed `sound` conditions of cards. A `sound` condition
 * claims that where it is false, the card's edit is wrong. To test it, a kernel with the mechanism
 * is judged where the condition is false; if the kernel passes, the condition is not needed
 * (docs/formats.md, "Witnesses").
 *
 * Each clause of a condition is tested by itself: first by existing events; then by the kernels K_i
 * that the card was learned from, at new points that a relaxed contract allows, or on a platform
 * that lacks a capability; then by the card's carrier, applied to states where the clause is false.
 * The state before the step, K_{i-1}, is the control: if it fails as well, the step is not the
 * cause; if it passes, contract and oracle are valid there.
 *
 *	kl_transitions_load(&t, repo, NULL);
 *	kl_witness_seek(&w, &(struct kl_witness_opts){ .repo = repo, .library = lib, ... });
 *
 * Each changed condition is one commit of its card. The judged commits, their notes and the card
 * are updated in one transaction, so that a killed run loses at most one condition. The gate caches
 * verdicts, so that the next run can use them.
 *
 * If the session's runner judges elsewhere, a call is a wave (gate/wave.h): the kernels of all
 * clauses are asked, and their jobs are in opts->gate. A condition is changed when no clause of it
 * waits.
 */
#define KL_WITNESS_RUNS 64 /* maximum number of gate runs by default */

enum kl_witness_end {
	KL_WITNESS_OPEN, /* undecided: the clause stays an assumption */
	/* the clause has a witness: where the clause is false, K_i fails and K_{i-1} passes */
	KL_WITNESS_FAILS,
	KL_WITNESS_PASSES, /* the clause is not needed: where it is false, the kernel passes too */
};

struct kl_witness_clause {
	char *text;
	enum kl_witness_end end;
	char class_[24]; /* class of the failure */
	char *event;     /* id of the event that decided; NULL if open */
	char *at;        /* where the clause was tested: "topk/x K_3: rows = 1, cols = 5" */
	char *why;       /* if open: the reason, or NULL */
	/* kernels that were judged; with `dry`, those that would be judged */
	struct kl_strvec plan;
	size_t passes; /* number of kernels that pass where the clause is false */
	/* a kernel could not be judged, so a pass of other kernels does not decide the clause */
	bool unsure;
	bool waits; /* a verdict comes later, so the clause is not decided yet */
};

struct kl_witness_result {
	char *card, *pre;
	struct kl_witness_clause *clause;
	size_t n;
	bool put; /* the changed card was put into the library */
};

struct kl_witness {
	struct kl_witness_result *v;
	size_t n, alloc;
	size_t runs;            /* number of gate runs; cached verdicts are not counted */
	size_t verdicts;        /* number of verdicts received, cached ones included */
	size_t waiting;         /* number of verdicts that come later */
	bool limited;           /* the limit of runs was reached */
	struct kl_strvec notes; /* errors of cards that could not be read */
	char *cannot;           /* the last reason why the gate could not judge, or NULL */
};

struct kl_witness_opts {
	struct kl_repo *repo;
	struct kl_library *library;
	const struct kl_taxonomy *tax;
	const struct kl_transitions *t;
	const struct kl_strvec *cards; /* ids or unique prefixes; if empty, all cards */
	bool dry;                      /* list what would be judged, but judge nothing */
	size_t limit;                  /* maximum number of gate runs */
	/*
	 * the session for this machine's own platform, from kl_witness_gate(), borrowed; NULL in a
	 * dry run, or if the gate cannot run here: then `no_gate` has the reason
	 */
	struct kl_gate *gate;
	const char *no_gate;
	struct kl_progress *progress;
};

/**
 * Open a session for a platform; NULL for this machine's own. Errors are those of kl_gate_open().
 */
int kl_witness_gate(struct kl_gate **out, struct kl_repo *repo, const char *platform,
		    struct kl_progress *progress);

/**
 * Seek witnesses. Return 0 even if no witness was found; if the gate could not judge, out->cannot
 * says why.
 */
int kl_witness_seek(struct kl_witness *out, const struct kl_witness_opts *opts);
void kl_witness_release(struct kl_witness *witness);

#endif
