/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_DEOPT_PRINT_H
#define KL_CMD_DEOPT_PRINT_H

#include "cmd/deopt_model.h"
#include "walk/estimate.h"
#include "walk/sequencer.h"

/*
 * deopt_print - prints the outcome, status or estimate of a walk, as text or as one line of JSON
 * (docs/formats.md, "What verbs print").
 */
void kl_deopt_print_outcome(const struct kl_outcome *out, bool json);
/**
 * Print the status of a walk; call kl_deopt_model_resume() first. If the ledger cannot be read, the
 * money spent is not printed.
 */
int kl_deopt_print_status(const struct kl_walk *walk, struct kl_deopt_model *model, bool json);
int kl_deopt_print_estimate(const struct kl_estimate *estimate, struct kl_session *session,
			    const char *workload, bool json);

#endif
