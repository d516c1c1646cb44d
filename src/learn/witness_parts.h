/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WITNESS_PARTS_H
#define KL_LEARN_WITNESS_PARTS_H

#include "apply/card_commit.h"
#include "card/clause.h"
#include "learn/witness.h"
#include "retrieve/target.h"

/* witness_parts - structures and functions shared by the witness files. Inside src/learn only. */
#define KL_WITNESS_POINTS 4

/*
 * --- points where a clause is false (witness_widen.c) -----------------------------------------
 */

/** The two states of a step under a contract with new points, at which the clause is false. */
struct kl_widening {
	struct kl_surface *to, *from; /* K_i and K_{i-1}; owned */
	struct kl_dims point[KL_WITNESS_POINTS];
	size_t n;
	size_t first; /* index of the first new point among the contract's `also` points */
	char *words;  /* the new points: "rows = 1, cols = 5; ..." */
	struct kl_strvec dropped; /* conditions that were removed from the contract's domain */
};

struct kl_widen_of {
	const struct kl_surface *to, *from;
	struct kl_target *at; /* target of K_i */
	const struct kl_clauses *clauses;
	/* index of the clause that must be false; all others must be true */
	size_t i;
};

/**
 * Find new points, and write contracts that allow them. Return KL_ENO if there are no such points,
 * or no such contract can be written. The message has the reason.
 */
int kl_widen(struct kl_widening *out, const struct kl_widen_of *of);
void kl_widening_release(struct kl_widening *widening);
/**
 * Return the index of the new point that a result names ("also8"), or -1 if it names no new point.
 */
int kl_widening_which(const struct kl_widening *widening, const char *id);
/** Describe a point: "rows = 1, cols = 5". The caller frees it. */
char *kl_witness_point_words(const struct kl_contract *contract, const struct kl_dims *dims);

/*
 * --- one condition of one card ----------------------------------------------------------------
 */

/* A gate session. `platform` is "" for the machine's own platform. */
struct kl_witness_session {
	char *platform;
	struct kl_gate *gate;
};

struct kl_witness_search {
	const struct kl_witness_opts *o;
	struct kl_witness *out;
	struct kl_witness_session *gate;
	size_t ngate, gate_alloc;
	/* NULL, or the error of a worker that found no GPU; device code is then no longer judged */
	char *no_device;
	struct kl_card *card;        /* the library's version of the card */
	struct kl_witness_result *r; /* result for the current condition */
	struct kl_clauses clauses;
	struct kl_keep keep;  /* commits judged for the current condition */
	struct kl_map events; /* events that decided its clauses: id -> struct kl_event *, owned */
};

/* Test one clause with a kernel K_i or with the carrier, and record the outcome in the clause. */
int kl_witness_at_points(struct kl_witness_search *search, struct kl_witness_clause *clause,
			 const struct kl_transition *transition, struct kl_target *at,
			 size_t i); /* defined in witness_dims.c */
int kl_witness_on_platforms(struct kl_witness_search *search, struct kl_witness_clause *clause,
			    const struct kl_transition *transition, const struct kl_target *at,
			    size_t i);                                 /* witness_port.c */
int kl_witness_by_carrier(struct kl_witness_search *search, size_t i); /* witness_carry.c */
/** Decide clauses of the current condition by existing events (witness_past.c). */
int kl_witness_at_hand(struct kl_witness_search *search);
/**
 * Return the index of the clause that is false for the target while all others are true, or
 * clauses.v.n if there is no such clause.
 */
size_t kl_witness_false_one(struct kl_witness_search *search, struct kl_target *target);

/*
 * --- the gate and its verdicts (witness_judge.c) ----------------------------------------------
 */

/**
 * Get the gate session for a platform ("" for the machine's own), and open it if it is not open
 * yet. Return KL_ECANNOT if the gate cannot run here.
 */
int kl_witness_session(struct kl_gate **out, struct kl_witness_search *search,
		       const char *platform);
/**
 * Judge a surface. If it passes or fails, set *judgements, which the caller frees. Otherwise set
 * *judgements to NULL. If the result comes later, mark the clause as waiting; if the gate gave no
 * verdict, leave the clause open with the reason; in both cases return 0. Set `runs` if the surface
 * is known to compile, so that judging it needs a device.
 */
int kl_witness_judge(struct kl_judgement **judgements, struct kl_witness_search *search,
		     struct kl_witness_clause *clause, struct kl_gate *gate,
		     const struct kl_surface *surface, bool runs);
/**
 * If the error means that the gate gave no verdict, leave the clause open and return 0; otherwise
 * return the error.
 */
int kl_witness_unsure(struct kl_witness_search *search, struct kl_witness_clause *clause, int err);
/**
 * Set the reason why the clause is open to the first line of `why`, as printable ASCII. If the
 * clause already has a reason, keep that reason.
 */
void kl_witness_leave_open(struct kl_witness_clause *clause, const char *why);
/**
 * Record a failure in the clause. Takes ownership of `at`, as does kl_witness_passes() for a pass.
 */
void kl_witness_fails(struct kl_witness_search *search, struct kl_witness_clause *clause,
		      const struct kl_judgement *judgement, char *at);
void kl_witness_passes(struct kl_witness_search *search, struct kl_witness_clause *clause,
		       const struct kl_judgement *judgement, char *at);
bool kl_witness_passed(const struct kl_judgement *judgement);
/** Check that the kernel ran, but hung, faulted, or gave wrong or varying results. */
bool kl_witness_ran(enum kl_failure failure);
/** Return the commit whose surface is transition->to. */
const git_oid *kl_witness_commit(const struct kl_transition *transition);
/**
 * Check that `features` has each feature that the card provides. Return false if the card provides
 * only traits.
 */
bool kl_witness_is_there(const struct kl_card *card, const struct kl_strvec *features);

/*
 * --- recording the outcome (witness_record.c) -----------------------------------------------
 */

/**
 * Write the judged surface as a commit on `parent`; the commit is kept when the card is put into
 * the library. `what` is the part of the commit's message that tells where the condition is false.
 */
int kl_witness_keep(struct kl_witness_search *search, const struct kl_transition *transition,
		    const git_oid *parent, const struct kl_surface *surface,
		    const struct kl_judgement *judgement, const char *what);
/** Write the outcome into condition number `pre` of `sound`, and commit the card to the library. */
int kl_witness_put(struct kl_witness_search *search, size_t pre);

#endif
