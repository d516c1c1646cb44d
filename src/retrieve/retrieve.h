/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_RETRIEVE_H
#define KL_RETRIEVE_RETRIEVE_H

#include "retrieve/index.h"
#include "retrieve/target.h"

/*
 * retrieve - finds the cards of a library that fit a target, and explains why they fit.
 *
 * docs/formats.md ("Retrieval") defines the result. On each of four axes (case, language, platform,
 * prior) a card has the similarity of its best verified row. For a hypothesis, which has no
 * verified rows, all rows count. Cards that are 0 on an axis or have a false `sound` predicate are
 * ruled out; of the other cards, the best 8 on each axis are taken. These are ordered by score: the
 * geometric mean of the axes of one row, times (passed + 1) / (trials + 2); cards of equal score by
 * id. Each card is preceded by the cards that it requires and the target lacks, at most 3. With the
 * order `next`, all cards that are not ruled out are taken, even if their requirements are not met,
 * and are ordered by the steps that came next in lineages. The same inputs always give the same
 * list.
 *
 *	kl_index_open(&ix, repo, tax);
 *	kl_retrieve(&r, ix, &target, &(struct kl_retrieve_opts)KL_RETRIEVE_OPTS_INIT);
 *	for (i = 0; i < r.n; i++) ... r.v[i].id, kl_index_text(&text, ix, repo, r.v[i].card)
 */
enum kl_axis { KL_AXIS_CASE, KL_AXIS_LANGUAGE, KL_AXIS_PLATFORM, KL_AXIS_PRIOR, KL_AXES };
const char *kl_axis_name(enum kl_axis axis);

/** How offered cards are ordered. */
enum kl_order {
	KL_ORDER_PAPER, /* by score, of the best cards on each axis */
	KL_ORDER_NEXT, /* by the steps that followed in the lineages of the library (retrieve_next.c) */
	KL_ORDERS
};
const char *kl_order_name(enum kl_order order);
/** Set *out to the order that `name` names. Return KL_EINVALID if no order has this name. */
int kl_order_parse(enum kl_order *out, const char *name);

/* most cards that may have to be applied before another card */
#define KL_CLOSURE_MAX 3

struct kl_retrieve_opts {
	enum kl_order order;
	unsigned statuses; /* bit i: consider cards whose status is enum kl_card_status i */
	size_t per_axis;   /* number of cards to take on each axis, at least 1; not for `next` */
	size_t limit; /* most cards to list, not counting cards that others require; 0 for no limit */
	/* also find cards that the target already has, and cards that provide nothing new */
	bool repair;
	bool explain; /* fill `dropped` */
};
#define KL_RETRIEVE_OPTS_INIT                                                                 \
	{                                                                                     \
		.statuses = 1u << KL_CARD_ADMITTED | 1u << KL_CARD_PROVISIONAL, .per_axis = 8 \
	}

/** A condition of a card, and its truth for the target. */
struct kl_retrieved_pre {
	/* `test` is "" if the condition has no predicate; then its truth is unknown */
	char *id, *test;
	enum kl_truth truth;
	char *why; /* the facts that the predicate uses: "K = 4096, cap(cp.async) is true" */
};
struct kl_retrieved_pres {
	struct kl_retrieved_pre *v;
	size_t n, alloc;
};

struct kl_retrieved {
	size_t card; /* index of the card in struct kl_index */
	char *id;
	enum kl_card_status status;
	int64_t best[KL_AXES]; /* millionths: the best value on each axis, over all rows */
	/* millionths: the values of one row on each axis; the score is computed from these */
	int64_t axis[KL_AXES];
	int64_t score; /* millionths */
	int64_t next;  /* millionths: with KL_ORDER_NEXT the value of the card, otherwise 0 */
	unsigned top;  /* bit i: the card is among the best cards on axis i */
	size_t passed, trials;
	/*
	 * index of the row that has the values `axis`, among the card's rows; -1 if no row counts
	 */
	int row;
	struct kl_retrieved_pres sound;
	struct kl_strvec needs; /* ids of the cards to apply before this one, in order */
	/*
	 * if no set of KL_CLOSURE_MAX cards meets all requirements: those that the target does not
	 * meet
	 */
	struct kl_strvec lacks;
	char *needed_by; /* id of the listed card that requires this card, or NULL */
	char *why;       /* for a dropped card: why it was ruled out; otherwise NULL */
	bool fits;       /* set by kl_retrieve_mark_fit() */
};

/** A lineage from which retrieved cards were learned, and the steps from which each was learned. */
struct kl_retrieved_path {
	char *lineage; /* "<workload>/<name>" */
	struct {
		int64_t step;
		char *id;
	} * v;
	size_t n, alloc;
};

struct kl_retrieval {
	struct kl_retrieved *v; /* in the order in which to try the cards */
	size_t n, alloc;
	/* with `explain`: the ruled-out cards that come nearest to the target, at most 32 */
	struct kl_retrieved *dropped;
	size_t ndropped, dropped_alloc;
	struct kl_retrieved_path *path; /* sorted by lineage */
	size_t npath, path_alloc;
	size_t cards; /* number of cards in the library with a status in `statuses` */
	size_t fit;   /* number of cards in `v` that fit; set by kl_retrieve_mark_fit() */
};

/**
 * Fill `out`; the caller releases it. The evaluation moves the target from point to point, and then
 * back to its case. Return KL_EINVALID if opts->per_axis is 0.
 */
int kl_retrieve(struct kl_retrieval *out, const struct kl_index *ix, struct kl_target *target,
		const struct kl_retrieve_opts *opts);
void kl_retrieval_release(struct kl_retrieval *retrieval);

/**
 * Mark the listed cards that have something in common with the target: a point of a related
 * operator, a fact of their anchor, or a transformation for a loop in `surface`, the target's
 * sources. The axes only rank cards; they do not show whether any card is useful. `library` is the
 * repository of the cards. Implemented in retrieve_fit.c.
 */
int kl_retrieve_mark_fit(struct kl_retrieval *retrieval, const struct kl_index *ix,
			 struct kl_repo *library, const struct kl_target *target,
			 const struct kl_surface *surface);
/** Move the cards that do not fit to `dropped`. */
void kl_retrieve_drop_unfit(struct kl_retrieval *retrieval);
/** Return true if a transformation of the card for the language of the surface fits one of its loops. */
bool kl_retrieve_fits_loop(const struct kl_card *card, const struct kl_surface *surface);
/** Remove all but the first `limit` cards and the cards that these require. 0 means no limit. */
void kl_retrieve_cut(struct kl_retrieval *retrieval, size_t limit);

/** Append the `useful` conditions of a card, each evaluated at the target's case. */
void kl_retrieve_useful(struct kl_retrieved_pres *out, const struct kl_card *card,
			struct kl_target *target);
void kl_retrieved_pres_release(struct kl_retrieved_pres *pres);

#endif
