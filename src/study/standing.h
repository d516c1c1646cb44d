/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_STANDING_H
#define KL_STUDY_STANDING_H

#include "study/ending.h"

/*
 * standing - what a cell of a study has done so far, read from its chain, its purse and its end.
 *
 *	err = kl_standing_load(&standing, repo, &study, &cell);
 *	... standing.state, standing.best ...
 *	kl_standing_release(&standing);
 */
enum kl_standing_state {
	KL_STANDING_OPEN,  /* nothing was done yet */
	KL_STANDING_BEGUN, /* it runs now, or it was interrupted */
	KL_STANDING_ENDED, /* it has ended */
};
extern const char *const kl_standing_name[KL_STANDING_ENDED + 1];

struct kl_standing {
	enum kl_standing_state state;
	struct kl_links chain; /* empty if the cell is open */
	struct kl_ending end;  /* if it has ended */
	int64_t candidates;    /* number of tickets that asked for a candidate */
	int64_t correct;       /* number of correct candidates */
	int64_t best;          /* ticket of the fastest correct candidate; 0 if none is faster than
				  the root */
	int64_t nano;          /* spent, in nano-dollars */
};

/**
 * Load the standing of a cell. KL_EINVALID: its chain is malformed, is that of another search, or
 * does not end where the record of its end says.
 */
int kl_standing_load(struct kl_standing *out, struct kl_repo *repo, const struct kl_study *study,
		     const struct kl_study_cell *cell);
void kl_standing_release(struct kl_standing *standing);
/** Return the best speed in millionths of the root's; 1000000 if nothing is faster. */
int64_t kl_standing_best(const struct kl_standing *standing);

#endif
