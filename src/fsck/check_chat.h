/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_CHAT_H
#define KL_FSCK_CHECK_CHAT_H

#include "repo/repo.h"

/*
 * check_chat - checks conversations and ledgers, and that the two agree. Totals must add up. Every
 * settlement must end one reservation that is not settled yet. The digests of every turn must match
 * the stored texts. The cost of a turn must match both the price of its tokens and the ledger.
 */
struct kl_chat_check {
	struct kl_repo *repo;
	/** Called for each finding. `error` false: the finding is only a warning. */
	void (*report)(bool error, const char *where, const char *what, void *payload);
	void *payload;
	size_t conversations, ledgers; /* numbers of conversations and ledgers that were checked */
};

/** Check all conversations and ledgers. Return 0 if all checks ran, even if there are findings. */
int kl_chat_check(struct kl_chat_check *check);

#endif
