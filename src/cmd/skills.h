/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SKILLS_H
#define KL_CMD_SKILLS_H

#include "card/library.h"
#include "cmd/cli/listing.h"

/*
 * skills - the longer parts of the verb `skills`: its list, its lint, and the parser of statuses.
 */

/** Print the klineage.skills/1 document, or its rows, on stdout. `cards` is borrowed. */
void kl_skills_print_list(const struct kl_listing *out, struct kl_library *library, json_t *cards);

/**
 * Check the cards of the library, or of the given files and directories. Returns the exit code, or
 * an error.
 */
int kl_skills_lint(struct kl_repo *repo, int argc, char **argv, bool fix,
		   const struct kl_listing *out);

/**
 * Print what the cards of the library, or the card `name`, are worth to a model, and the trials
 * whose level is another one by the rule of today (skills_credit.c).
 */
int kl_skills_credit(struct kl_repo *repo, const char *name, const struct kl_listing *out);

/**
 * Parse a list such as "admitted,hypothesis" into bits, 1 << enum kl_card_status. KL_EUSAGE:
 * unknown status; the hint is `synopsis`, the verb's synopsis.
 */
int kl_skills_statuses(unsigned *out, const char *synopsis, const char *text);

/**
 * Check that the text fits into a card: it must be one line. KL_EINVALID: the text does not fit.
 */
int kl_skills_check_line(const char *text);

#endif
