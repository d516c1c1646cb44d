/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_MATERIALIZE_PRINT_H
#define KL_CMD_MATERIALIZE_PRINT_H

#include <stdio.h>

#include "apply/materialize_estimate.h"
#include "apply/roundtrip.h"
#include "cmd/cli/listing.h"

/* materialize_print - prints the results of `materialize`, as text or as a listing. */

/** Print the outcome of each card and of the run, as text. */
void kl_materialize_say(FILE *to, const struct kl_materialization *materialization, bool dry);
void kl_materialize_print_listing(const struct kl_listing *out,
				  const struct kl_materialization *materialization,
				  const char *workload, const char *name, bool has_branch,
				  bool dry);
/**
 * Print the best state as one patch that applies to the root. If the root is an oracle
 * (oracle_kernel.h), the patch applies to the root's parent.
 */
int kl_materialize_print_patch(struct kl_repo *repo,
			       const struct kl_materialization *materialization);

void kl_materialize_print_trial(const struct kl_roundtrip *rt); /* the last trial */
void kl_materialize_print_roundtrip(const struct kl_roundtrip *rt, const struct kl_listing *out);

int kl_materialize_print_estimate(const struct kl_materialize_estimate *estimate,
				  struct kl_session *session, const char *workload, bool json);

#endif
