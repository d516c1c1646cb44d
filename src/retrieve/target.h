/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_TARGET_H
#define KL_RETRIEVE_TARGET_H

#include "card/card.h"
#include "card/predicate.h"
#include "contract/surface.h"
#include "event/event.h"
#include "retrieve/similarity.h"
#include "text/json.h"

/*
 * target - what cards are sought for (T): case, language, platform, what was done before, and what
 * is known of it, for predicates.
 *
 *	kl_target_init(&t, tax, surface, "cpu/x86-64-v3");
 *	kl_target_add_event(&t, event);		what the gate measured of this very surface
 *	kl_target_add_history(&t, repo, &head, mechanisms);
 *
 * or all of it in one: kl_target_of_commit().
 *
 * What was done before ("prior") are measured features, traits that a second reader has checked,
 * and what trailers of forward steps tell: cards that were used, traits that were brought. Claims
 * without an audit count for nothing. docs/formats.md ("Predicates") lists what predicates may
 * ask of it.
 */
struct kl_target_point;

struct kl_target {
	const struct kl_taxonomy *tax; /* borrowed */
	char *workload, *op, *dtype, *language, *platform;
	struct kl_card_dims dims;
	struct kl_case point;
	struct kl_capset caps;
	/* the platform is in the table: `caps` are all that it has */
	bool listed;
	bool measured;              /* the features are known: an event was there */
	char event[KL_DIGEST_HEX];  /* its id, or "" */
	struct kl_strvec prior;     /* sorted: "cp.async", "trait:tiled", ids of cards */
	struct kl_known known;      /* at the case */
	struct kl_target_point *at; /* the contract's points: what of it is known there */
	size_t nat;
};

void kl_target_release(struct kl_target *target);

/** From the contract, the sources' constants and the platform's table. */
int kl_target_init(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_surface *surface, const char *platform);
/**
 * Let `known` be what is known at the i-th point of the contract (kl_contract_point), from 1; 0,
 * where a new target stands: the case.
 */
void kl_target_stand(struct kl_target *target, size_t i);
/** Features, traits and figures of a gate event of the same surface on the same platform. */
void kl_target_add_event(struct kl_target *target, const struct kl_event *event);
/** Features alone: what a compiler shows. */
void kl_target_add_features(struct kl_target *target, const struct kl_strvec *features);
/** A fact, trait ("trait:x") or card that is there. */
void kl_target_add_prior(struct kl_target *target, const char *what);
/** It is there no more. */
void kl_target_drop_prior(struct kl_target *target, const char *what);
bool kl_target_has(const struct kl_target *target, const char *what);

/**
 * Does a predicate hold? With `everywhere` (what is sound must be) at every point that the
 * contract is judged at: false if it is false at one, true if it is true at all; else at the
 * case. `why` (may be NULL) gets the facts that it asked for. A text that is no predicate is
 * unknown.
 */
enum kl_truth kl_target_test(struct kl_target *target, const char *test, bool everywhere,
			     struct kl_buf *why);

/**
 * The same of one point of its contract's dims, judged there or not; the target is as it was then.
 */
enum kl_truth kl_target_test_at(struct kl_target *target, const char *test,
				const struct kl_contract *contract, const struct kl_dims *dims);

/**
 * The target that a committed state is: its surface, the newest passing event of it on `platform`
 * (NULL: where the event was made, or what this machine or the launch plan is for), the trailers
 * of the commits before it. (target_commit.c)
 */
int kl_target_of_commit(struct kl_target *out, const struct kl_taxonomy *tax, struct kl_repo *repo,
			const struct kl_surface *surface, const git_oid *commit,
			const char *platform);

/**
 * The dtype that stands for a contract: of the largest float tensor at the case, else of the
 * first tensor; or "".
 */
const char *kl_target_dtype(const struct kl_contract *contract);

#endif
