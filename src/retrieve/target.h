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
 * target - a case, language, platform, earlier work and known facts for which cards are sought.
 *
 *	kl_target_init(&t, tax, surface, "cpu/x86-64-v3");
 *	kl_target_add_event(&t, event);		what the gate measured for that surface
 *
 * kl_target_of_commit does both, and adds the cards and traits that the history of a commit names.
 *
 * The earlier work ("prior") consists of measured features, traits that an audit confirmed, and the
 * cards and traits in the trailers of forward steps. Unaudited traits do not count.
 * docs/formats.md ("Retrieval") lists the facts that predicates can use.
 */
struct kl_target_point;

struct kl_target {
	const struct kl_taxonomy *tax; /* borrowed */
	char *workload, *op, *dtype, *language, *platform;
	struct kl_card_dims dims;
	struct kl_case point;
	struct kl_capset caps;
	/*
	 * true if the platform is in the taxonomy, so that `caps` is complete; false if its
	 * capabilities are not known
	 */
	bool listed;
	bool measured;             /* the features are known, from an event or a compiler */
	char event[KL_DIGEST_HEX]; /* id of the event, or "" */
	/* earlier work, sorted: "cp.async", "trait:tiled", ids of cards */
	struct kl_strvec prior;
	/* mechanisms that the forward steps in the history name, the oldest first */
	struct kl_strvec steps;
	/* known facts at the point that kl_target_stand() set last; a new target is at the case */
	struct kl_known known;
	/* facts that depend on the point: [0] at the case, then at each point of the contract */
	struct kl_target_point *at;
	size_t nat;
	size_t stands; /* where kl_target_stand() moved the target */
};

void kl_target_release(struct kl_target *target);

/**
 * Fill `out` from the contract, the constants of the sources and the platform's capabilities. `tax`
 * is borrowed. The caller releases `out`.
 */
int kl_target_init(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_surface *surface, const char *platform);
/**
 * Move the target to a point: set `known` to the facts there. i = 0 is the case, where a new target
 * is; i > 0 is the point kl_contract_point(contract, i - 1).
 */
void kl_target_stand(struct kl_target *target, size_t i);
/** Add features, traits and figures from a gate event for the same surface on the same platform. */
void kl_target_add_event(struct kl_target *target, const struct kl_event *event);
/** Add features that were read from compiled code. */
void kl_target_add_features(struct kl_target *target, const struct kl_strvec *features);
/** Add a fact, a trait ("trait:x") or a card id to the prior. */
void kl_target_add_prior(struct kl_target *target, const char *what);
/** Remove a fact, a trait or a card id from the prior. */
void kl_target_drop_prior(struct kl_target *target, const char *what);
/** Check that the prior contains the fact, trait or card id. */
bool kl_target_has(const struct kl_target *target, const char *what);

/**
 * Evaluate a predicate at the point that kl_target_stand() set last (a new target is at the case).
 * If `everywhere` is set (for soundness), also evaluate it at every point of the contract: the
 * result is false if the predicate is false at any of these points, and otherwise unknown if it is
 * unknown at any. `why` (may be NULL) gets the facts that decided. Afterwards the target is at the
 * case. If `test` does not parse, the result is KL_UNKNOWN.
 */
enum kl_truth kl_target_test(struct kl_target *target, const char *test, bool everywhere,
			     struct kl_buf *why);

/**
 * Evaluate a predicate at any dims, which need not be a point of the contract. Afterwards the
 * target is at the case; if `test` does not parse, the target is not moved.
 */
enum kl_truth kl_target_test_at(struct kl_target *target, const char *test,
				const struct kl_contract *contract, const struct kl_dims *dims);

/**
 * Fill `out` from a committed state: its surface, its newest passing event on `platform`, and the
 * trailers of its history. If `platform` is NULL, use the platform of the newest passing event or,
 * if there is no event, the platform on which this machine judges the contract. Implemented in
 * target_commit.c.
 */
int kl_target_of_commit(struct kl_target *out, const struct kl_taxonomy *tax, struct kl_repo *repo,
			const struct kl_surface *surface, const git_oid *commit,
			const char *platform);

/**
 * Return the dtype that represents a contract: the dtype of its largest float tensor at the case
 * or, if it has no float tensor, of its first tensor; "" if it has no tensor. Borrowed from the
 * contract.
 */
const char *kl_target_dtype(const struct kl_contract *contract);

#endif
