/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_PROBE_PRINT_H
#define KL_CMD_PROBE_PRINT_H

#include "cmd/probe_steps.h"
#include "probe/findings.h"
#include "probe/probing.h"
#include "text/json.h"

/* probe_print - prints what a probe found about one step, for people and as JSON. */
void kl_probe_print_step(const struct kl_probe_step *step, const struct kl_probing *probe,
			 const struct kl_probe_findings *findings);
/** Print the points that would be judged. */
void kl_probe_print_plan(const struct kl_probe_step *step, const struct kl_probing *probe);
/** Return the result for one step as JSON; the caller owns it. `findings` NULL: a dry run. */
json_t *kl_probe_step_json(const struct kl_probe_step *step, const struct kl_probing *probe,
			   const struct kl_probe_findings *findings);

#endif
