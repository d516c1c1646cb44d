/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WITNESS_PARTS_H
#define KL_LEARN_WITNESS_PARTS_H

#include "apply/card_commit.h"
#include "card/clause.h"
#include "learn/witness.h"
#include "retrieve/target.h"

/* witness_parts - what the files of witness share. Inside src/learn only. */
#define KL_WITNESS_POINTS 4

/* --- where a clause is false (witness_widen.c) ------------------------------------------------ */

/** The same kernels under a contract that promises what the clause rules out. */
struct kl_widening {
	struct kl_surface *to, *from; /* K_i and K_{i-1}; owned */
	struct kl_dims point[KL_WITNESS_POINTS];
	size_t n;
	size_t first;             /* their place among the contract's points */
	char *words;              /* "rows = 1, cols = 5; ..." */
	struct kl_strvec dropped; /* what the domain promised no longer */
};

struct kl_widen_of {
	const struct kl_surface *to, *from;
	struct kl_target *at; /* K_i's */
	const struct kl_clauses *clauses;
	/* the clause that is to be false; the others are to be true */
	size_t i;
};

/** KL_ENO with the reason: there is no such point, or no such contract. */
int kl_widen(struct kl_widening *out, const struct kl_widen_of *of);
void kl_widening_release(struct kl_widening *widening);
/** Which of the new points an id of a result ("also8") names; -1: none of them. */
int kl_widening_which(const struct kl_widening *widening, const char *id);
/** "rows = 1, cols = 5"; caller frees. */
char *kl_witness_point_words(const struct kl_contract *contract, const struct kl_dims *dims);

/* --- one condition of one card ---------------------------------------------------------------- */

/* "": where this machine judges */
struct kl_witness_session {
	char *platform;
	struct kl_gate *gate;
};

struct kl_witness_search {
	const struct kl_witness_opts *o;
	struct kl_witness *out;
	struct kl_witness_session *gate;
	size_t ngate, gate_alloc;
	char *no_device;             /* what a worker said: nothing for a GPU is judged here */
	struct kl_card *card;        /* as the library has it */
	struct kl_witness_result *r; /* of the condition that is asked for */
	struct kl_clauses clauses;
	struct kl_keep keep;  /* what was judged of it */
	struct kl_map events; /* id -> struct kl_event *, owned */
};

/* Each asks one clause of one kernel, K_i, or of states; what came of it stands in the clause. */
int kl_witness_at_points(struct kl_witness_search *search, struct kl_witness_clause *clause,
			 const struct kl_transition *transition, struct kl_target *at,
			 size_t i); /* witness_dims.c */
int kl_witness_on_platforms(struct kl_witness_search *search, struct kl_witness_clause *clause,
			    const struct kl_transition *transition, const struct kl_target *at,
			    size_t i);                                 /* witness_port.c */
int kl_witness_by_carrier(struct kl_witness_search *search, size_t i); /* witness_carry.c */
/** Events at hand (witness_past.c) end what clauses they can. */
int kl_witness_at_hand(struct kl_witness_search *search);
/** The one clause that is false of a target while all others are true; clauses.v.n: none is. */
size_t kl_witness_false_one(struct kl_witness_search *search, struct kl_target *target);

/* --- the gate, and what it says (witness_judge.c) --------------------------------------------- */

/** A session for a platform, "": where this machine judges. KL_ECANNOT. */
int kl_witness_gate(struct kl_gate **out, struct kl_witness_search *search, const char *platform);
/**
 * A pass or a failure; `*judgements` NULL: neither, and the clause says why. `runs`: it will, since
 * it compiles.
 */
int kl_witness_judge(struct kl_judgement **judgements, struct kl_witness_search *search,
		     struct kl_witness_clause *clause, struct kl_gate *gate,
		     const struct kl_surface *surface, bool runs);
/** No verdict here and now: 0, and the clause is open and unsure; or the error that ends all. */
int kl_witness_unsure(struct kl_witness_search *search, struct kl_witness_clause *clause, int err);
/** It stays as it was; the first reason is kept, as one plain line. */
void kl_witness_leave_open(struct kl_witness_clause *clause, const char *why);
/** Both take `at`. */
void kl_witness_fails(struct kl_witness_search *search, struct kl_witness_clause *clause,
		      const struct kl_judgement *judgement, char *at);
void kl_witness_passes(struct kl_witness_search *search, struct kl_witness_clause *clause,
		       const struct kl_judgement *judgement, char *at);
bool kl_witness_passed(const struct kl_judgement *judgement);
/** Is it the class of a kernel that ran and was wrong? */
bool kl_witness_ran(enum kl_failure failure);
/** The commit that has t->to. */
const git_oid *kl_witness_commit(const struct kl_transition *transition);
/** Are the features that the card brings among these? Of claims alone: false. */
bool kl_witness_is_there(const struct kl_card *card, const struct kl_strvec *features);

/* --- what was judged, and what came of it (witness_record.c) -------------------------------- */

/**
 * The surface, as it was judged, becomes a commit on `parent` that is kept when the card is put;
 * `what` is in words where the condition is false.
 */
int kl_witness_keep(struct kl_witness_search *search, const struct kl_transition *transition,
		    const git_oid *parent, const struct kl_surface *surface,
		    const struct kl_judgement *judgement, const char *what);
/** Into the card and the library: one commit. */
int kl_witness_put(struct kl_witness_search *search, size_t pre);

#endif
