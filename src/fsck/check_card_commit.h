/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_CARD_COMMIT_H
#define KL_FSCK_CHECK_CARD_COMMIT_H

#include "card/library.h"

/*
 * check_card_commit - checks commits that were made by applying cards: the chains that keep such
 * commits reachable (card_commit.h), and the branches of materialize. Each commit of a chain is
 * called a link and keeps one other commit reachable. The kept commit must be a forward step on its
 * parent, name its card as <id>@<blob>, and have a note whose verdict agrees with the outcome in
 * the link. fsck/check.h checks that events are for the files of their commits.
 */
/**
 * Run the checks, and set `*chains` to the number of chains. Return 0 if all checks ran, even if
 * there are findings.
 */
int kl_check_card_commits(size_t *chains, struct kl_repo *repo, kl_library_report *report,
			  void *payload);

#endif
