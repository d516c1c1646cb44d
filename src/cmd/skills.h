/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SKILLS_H
#define KL_CMD_SKILLS_H

#include "card/library.h"
#include "cmd/listing.h"

/*
 * skills - longer parts of the verb `skills`: lint, and words for statuses.
 */

/** {"schema":"klineage.skills/1",...} on stdout, or its lines; `cards` stays the caller's. */
void kl_skills_print_list(const struct kl_listing *out, struct kl_library *library, json_t *cards);

/** Check cards of the library, or of these files and directories; exit code, or an error. */
int kl_skills_lint(struct kl_repo *repo, int argc, char **argv, bool fix,
		   const struct kl_listing *out);

/**
 * "admitted,hypothesis" as bits, 1 << enum kl_card_status; `synopsis` is the verb's, for KL_EUSAGE.
 */
int kl_skills_statuses(unsigned *out, const char *synopsis, const char *text);

/** Could the text be a line of a card? KL_EINVALID. */
int kl_skills_check_line(const char *text);

#endif
