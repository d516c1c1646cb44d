/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SKILLS_TRY_H
#define KL_CMD_SKILLS_TRY_H

#include <stdbool.h>
#include <stdint.h>

#include "repo/repo.h"

/*
 * skills_try - tries the cards that fit a kernel of this repository: applies them as `materialize`
 * does, and records what came of each card on the kernel itself as a trial, as `admit` does.
 */
struct kl_skills_try {
	const char *workload; /* NULL: the current directory's workload, or the only one */
	int64_t seconds;      /* start no further edit after so long; 0: no limit */
	bool quiet, dry;
};

/** Returns the exit code, 0 if a card was applied and 1 if none was, or an error. */
int kl_skills_try(struct kl_repo *repo, const struct kl_skills_try *opts);

/** Print, for each contract at HEAD, how many cards of the library fit, and the next command. */
void kl_skills_hint(struct kl_repo *repo);

#endif
