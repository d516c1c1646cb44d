/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_GATE_PRINT_H
#define KL_CMD_GATE_PRINT_H

#include "cmd/cli/listing.h"
#include "cmd/cli/term.h"
#include "contract/surface.h"
#include "event/judgement.h"

/* gate_print - prints verdicts for git klineage gate. */

/** Print a verdict as text: its class, what was checked, the times and the facts. */
void kl_gate_print_verdict(const struct kl_judgement *judgement, const struct kl_surface *surface,
			   const struct kl_term *term);
/**
 * Print the findings of compilation and audit for a kernel that has no verdict because there is no
 * device.
 */
void kl_gate_print_compiled(const struct kl_judgement *judgement, const struct kl_surface *surface);
/**
 * Print a verdict for programs: the event, or a row of fields. `commit` is the candidate's; NULL:
 * the candidate is not a commit.
 */
void kl_gate_print_row(const struct kl_listing *out, const struct kl_event *event,
		       const git_oid *commit);

#endif
