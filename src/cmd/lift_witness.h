/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_LIFT_WITNESS_H
#define KL_CMD_LIFT_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/cli/listing.h"
#include "repo/repo.h"

/*
 * lift_witness - git klineage lift --witness: judges the assumed preconditions of cards
 * (learn/witness.h) and prints the results.
 */
struct kl_lift_witness {
	struct kl_listing out;
	bool dry, quiet;
	int64_t runs; /* maximum number of gate runs; 0: the default */
};

/**
 * Judge the assumed preconditions of the cards in `argv`, or of all cards if `argv` is empty, and
 * print the results. KL_ECANNOT: the results were printed, but nothing could be judged here.
 */
int kl_lift_witness(struct kl_repo *repo, int argc, char **argv,
		    const struct kl_lift_witness *args);

#endif
