/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_RETRIEVE_H
#define KL_RETRIEVE_RETRIEVE_H

#include "retrieve/index.h"
#include "retrieve/target.h"

/*
 * retrieve - which cards of a library fit a target, and why (docs/formats.md, "Retrieval").
 *
 * On each of four axes (case, language, platform, prior) a card has the similarity of its best
 * verified row; the best 8 of each axis are taken, of cards that no false `sound` predicate rules
 * out and no axis has at 0. They are ordered by the geometric mean of one row's axes times
 * (passed + 1) / (trials + 2), ties by id, and each is preceded by the cards that it still
 * requires, at most 3. The same inputs give the same list.
 *
 *	kl_index_open(&ix, repo, tax);
 *	kl_retrieve(&r, ix, &target, &(struct kl_retrieve_opts)KL_RETRIEVE_OPTS_INIT);
 *	for (i = 0; i < r.n; i++) ... r.v[i].id, kl_index_text(&text, ix, repo, r.v[i].card)
 */
enum kl_axis { KL_AXIS_CASE, KL_AXIS_LANGUAGE, KL_AXIS_PLATFORM, KL_AXIS_PRIOR, KL_AXES };
const char *kl_axis_name(enum kl_axis axis);

#define KL_CLOSURE_MAX 3

struct kl_retrieve_opts {
	unsigned statuses; /* bit i: enum kl_card_status i */
	size_t per_axis;
	size_t limit; /* cards, those that they require not counted; 0: all */
	bool repair;  /* keep cards whose mechanism is there already */
	bool explain; /* fill `dropped` */
};
#define KL_RETRIEVE_OPTS_INIT                                                                 \
	{                                                                                     \
		.statuses = 1u << KL_CARD_ADMITTED | 1u << KL_CARD_PROVISIONAL, .per_axis = 8 \
	}

/** A condition of a card and what the target says of it. */
struct kl_retrieved_pre {
	char *id, *test; /* test "": for readers only, and unknown */
	enum kl_truth truth;
	char *why; /* "K = 4096, cap(cp.async) = true" */
};
struct kl_retrieved_pres {
	struct kl_retrieved_pre *v;
	size_t n, alloc;
};

struct kl_retrieved {
	size_t card; /* in the index */
	char *id;
	enum kl_card_status status;
	int64_t best[KL_AXES]; /* millionths: the best row for each axis */
	int64_t axis[KL_AXES]; /* of the row that the score is from */
	int64_t score;
	unsigned top; /* bit i: among the best of axis i */
	size_t passed, trials;
	int row; /* that row of the index's card, -1: it has none */
	struct kl_retrieved_pres sound;
	struct kl_strvec needs; /* cards that come before it, in the order to apply */
	char *needed_by;        /* the card that this one is here for, or NULL */
	char *why;              /* of a dropped one, in words */
};

/** A lineage that retrieved cards were learned from: which of its steps they are, in order. */
struct kl_retrieved_path {
	char *lineage; /* "<workload>/<name>" */
	struct {
		int64_t step;
		char *id;
	} * v;
	size_t n, alloc;
};

struct kl_retrieval {
	struct kl_retrieved *v; /* in the order to try */
	size_t n, alloc;
	struct kl_retrieved *dropped; /* explain: not offered, each with its `why` */
	size_t ndropped, dropped_alloc;
	struct kl_retrieved_path *path; /* sorted by lineage */
	size_t npath, path_alloc;
	size_t cards; /* of the statuses asked for */
};

int kl_retrieve(struct kl_retrieval *out, const struct kl_index *ix, struct kl_target *target,
		const struct kl_retrieve_opts *opts);
void kl_retrieval_release(struct kl_retrieval *retrieval);

/** What the target says of conditions of a card: `sound` at all its points, `useful` at the case. */
void kl_retrieve_useful(struct kl_retrieved_pres *out, const struct kl_card *card,
			struct kl_target *target);
void kl_retrieved_pres_release(struct kl_retrieved_pres *pres);

#endif
