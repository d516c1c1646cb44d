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
 * target - the target of a retrieval: case, language, platform, earlier work, known facts.
 *
 *	kl_target_init(&t, tax, surface, "cpu/x86-64-v3");
 *	kl_target_add_event(&t, event);		what the gate measured of the same surface
 *
 * kl_target_of_commit() does both and adds the cards and traits that the history of a commit names.
 *
 * The earlier work ("prior") consists of measured features, of traits that an audit has confirmed,
 * and of the cards and traits in the trailers of forward steps. Unaudited traits do not count.
 * docs/formats.md ("Retrieval") lists the facts that predicates can use.
 */
struct kl_target_point;

struct kl_target {
	const struct kl_taxonomy *tax; /* borrowed */
	char *workload, *op, *dtype, *language, *platform;
	struct kl_card_dims dims;
	struct kl_case point;
	struct kl_capset caps;
	/* the platform is in the taxonomy, so `caps` is complete */
	bool listed;
	bool measured;             /* the features are known, from an event or a compiler */
	char event[KL_DIGEST_HEX]; /* id of the event, or "" */
	struct kl_strvec prior;    /* sorted: "cp.async", "trait:tiled", ids of cards */
	struct kl_known known;     /* known facts, at the case unless kl_target_stand() moved it */
	struct kl_target_point
		*at; /* the case and the contract's points: facts that differ there */
	size_t nat;
};

void kl_target_release(struct kl_target *target);

/**
 * Fill `out` from the contract, the constants of the sources and the platform's capabilities. `tax`
 * is borrowed; the caller releases `out`.
 */
int kl_target_init(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_surface *surface, const char *platform);
/**
 * Set `known` to the facts at a point: 0 is the case (the initial state), i > 0 is
 * kl_contract_point(contract, i - 1).
 */
void kl_target_stand(struct kl_target *target, size_t i);
/** Add features, traits and figures of a gate event of the same surface on the same platform. */
void kl_target_add_event(struct kl_target *target, const struct kl_event *event);
/** Add features only, as read from compiled code. */
void kl_target_add_features(struct kl_target *target, const struct kl_strvec *features);
/** Add a fact, trait ("trait:x") or card id to the prior. */
void kl_target_add_prior(struct kl_target *target, const char *what);
/** Remove a fact, trait or card id from the prior. */
void kl_target_drop_prior(struct kl_target *target, const char *what);
/** True if the prior contains the fact, trait or card id. */
bool kl_target_has(const struct kl_target *target, const char *what);

/**
 * Evaluate a predicate on the facts in `known`: at the case, unless kl_target_stand() moved the
 * target. With `everywhere` (for soundness), also at every point of the contract: the result is
 * false if it is false at one, else unknown if it is unknown at one. `why` (can be NULL) receives
 * the facts that decided. The result is KL_UNKNOWN if `test` does not parse; otherwise `known` has
 * the facts at the case afterwards.
 */
enum kl_truth kl_target_test(struct kl_target *target, const char *test, bool everywhere,
			     struct kl_buf *why);

/**
 * Evaluate a predicate at any dims, which need not be a point of the contract. Afterwards `known`
 * has the facts at the case.
 */
enum kl_truth kl_target_test_at(struct kl_target *target, const char *test,
				const struct kl_contract *contract, const struct kl_dims *dims);

/**
 * Fill `out` from a committed state: its surface, its newest passing event on `platform`, and the
 * trailers of its history. If `platform` is NULL it is the event's platform, or, without an event,
 * the one on which this machine judges the contract. Implemented in target_commit.c.
 */
int kl_target_of_commit(struct kl_target *out, const struct kl_taxonomy *tax, struct kl_repo *repo,
			const struct kl_surface *surface, const git_oid *commit,
			const char *platform);

/**
 * The dtype that represents a contract: that of the largest float tensor at the case, else of the
 * first tensor, else "". Borrowed from the contract.
 */
const char *kl_target_dtype(const struct kl_contract *contract);

#endif
