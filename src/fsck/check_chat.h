/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_CHAT_H
#define KL_FSCK_CHECK_CHAT_H

#include "repo/repo.h"

/*
 * check_chat - checks conversations and ledgers, and that they agree. Totals must add up. Every
 * settlement must end one reservation that is not settled yet. The digests of every turn must match
 * the stored texts. The cost of a turn must match both the price of its tokens and the ledger.
 */
struct kl_chat_check {
	struct kl_repo *repo;
	/** Called for each finding. It is an error or, if `error` is false, a warning. */
	void (*report)(bool error, const char *where, const char *what, void *payload);
	void *payload;
	size_t conversations, ledgers; /* number that were checked */
};

/** Check all conversations and ledgers. Returns 0 if all checks ran; findings are no errors. */
int kl_chat_check(struct kl_chat_check *check);

#endif
