/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_CHAT_H
#define KL_FSCK_CHECK_CHAT_H

#include "repo/repo.h"

/*
 * check_chat - checks conversations and ledgers, and that they agree. Totals add up, every
 * settlement ends a reservation and none twice, the digests of every turn fit what is stored, and
 * what a turn cost is what its tokens cost and what the ledger has for it.
 */
struct kl_chat_check {
	struct kl_repo *repo;
	/** One finding; not an `error`: something to know. */
	void (*report)(bool error, const char *where, const char *what, void *payload);
	void *payload;
	size_t conversations, ledgers; /* looked at */
};

/** 0 once everything was looked at, whatever was found. */
int kl_chat_check(struct kl_chat_check *check);

#endif
