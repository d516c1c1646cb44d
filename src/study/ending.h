/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_ENDING_H
#define KL_STUDY_ENDING_H

#include "study/study.h"

/*
 * ending - records that a cell of a study is done, and why it ended.
 *
 * A chain does not say whether its search would go on: a search whose budget is spent looks like
 * one that was killed. The ref refs/klineage/study/<study>/end/<cell> is a commit on the last link
 * of the chain, with the reason in end.json. It is written once.
 */
enum kl_end_reason {
	KL_END_COMPLETE,  /* all candidates were made, or the policy proposed nothing more */
	KL_END_BUDGET,    /* the budget did not allow the next request */
	KL_END_IDLE,      /* no candidate came of too many notes */
	KL_END_RECORDING, /* the recorded conversation has no reply for the next request */
};
#define KL_END_REASONS (KL_END_RECORDING + 1)
/** Names of the reasons, as they are stored and printed. */
extern const char *const kl_end_reason_name[KL_END_REASONS];

struct kl_ending {
	enum kl_end_reason reason;
	git_oid tip; /* last link of the chain */
	char *why;   /* the message with which the search ended, or NULL */
};
void kl_ending_release(struct kl_ending *ending);

/** Record the end of a cell. The same end gives the same commit. */
int kl_ending_write(struct kl_repo *repo, const struct kl_study *study,
		    const struct kl_study_cell *cell, const struct kl_ending *ending);
/** Read how a cell ended. KL_ENOTFOUND: it has not ended. KL_EINVALID: the record is malformed. */
int kl_ending_read(struct kl_ending *out, struct kl_repo *repo, const struct kl_study *study,
		   const struct kl_study_cell *cell);

#endif
