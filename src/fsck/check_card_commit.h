/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_CHECK_CARD_COMMIT_H
#define KL_FSCK_CHECK_CARD_COMMIT_H

#include "card/library.h"

/*
 * check_card_commit - checks commits made by applying cards: chains of materialized work and of
 * trials (card_commit.h), and the branches that contain them. Each link keeps one commit, which
 * must be a forward step on its parent, name its card as <id>@<blob>, and have a note whose verdict
 * agrees with the link's outcome. fsck/check.h checks that events are for the files of their
 * commits.
 */
/** `*chains` counts the chains. Returns 0 if all checks ran; findings are not errors. */
int kl_check_card_commits(size_t *chains, struct kl_repo *repo, kl_library_report *report,
			  void *payload);

#endif
