/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_TRAINING_H
#define KL_STUDY_TRAINING_H

#include "study/study.h"

/*
 * training - writes the candidates of a study as rows to train a model with.
 *
 * A row is a JSON object on a line, in a form that TRL or verl reads. All rows of a form have the
 * same keys and types.
 *
 * A candidate improves if it is right and, by both intervals, faster than the kernel that it was
 * made from. Rows of cells that have not ended, and of tasks that are held out, are left out.
 */
enum kl_training_form {
	KL_TRAINING_SFT,   /* {"messages": [...]} of improving candidates */
	KL_TRAINING_PAIRS, /* {"prompt": [...], "completion": [...]} of the same */
	KL_TRAINING_RL,    /* {"prompt": [...], "reward_model": {...}} of all first requests */
	KL_TRAINING_KTO,   /* {"prompt", "completion", "label"} of all candidates */
};
#define KL_TRAINING_FORMS (KL_TRAINING_KTO + 1)
/** Names of the forms, as a user writes them. */
extern const char *const kl_training_name[KL_TRAINING_FORMS];

/**
 * Append all rows; set *rows to their number. `holdout` has the ids of tasks to leave out.
 * KL_ENOTFOUND: a conversation of a candidate is not in this repository.
 */
int kl_training_write(struct kl_buf *out, size_t *rows, struct kl_repo *repo,
		      const struct kl_study *study, enum kl_training_form form,
		      const struct kl_strvec *holdout);

#endif
