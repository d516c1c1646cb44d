/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_CARD_COMMIT_H
#define KL_FSCK_CHECK_CARD_COMMIT_H

#include "card/library.h"

/*
 * check_card_commit - checks commits made by applying cards: chains of materialized work and of
 * trials (card_commit.h), and the branches that stand on them. Each link keeps one commit; that is
 * a step forward on its parent, names its card as <id>@<blob>, and its note says what the link
 * says of it. Whether an event judged the files of its commit is the business of fsck/check.h.
 */
/** Counts the chains. 0 once everything was looked at, whatever was found. */
int kl_check_card_commits(size_t *chains, struct kl_repo *repo, kl_library_report *report,
			  void *payload);

#endif
