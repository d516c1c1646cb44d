/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_LIFT_WITNESS_H
#define KL_CMD_LIFT_WITNESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/listing.h"
#include "repo/repo.h"

/*
 * lift_witness - git klineage lift --witness: the mode of lift that judges what cards assume
 * (learn/witness.h), and says what came of it.
 */
struct kl_lift_witness {
	struct kl_listing out;
	bool dry, quiet;
	int64_t runs; /* limit; 0: as usual */
};

/** `argv` are cards; none: all. KL_ECANNOT, after it was printed: nothing could be judged here. */
int kl_lift_witness(struct kl_repo *repo, int argc, char **argv,
		    const struct kl_lift_witness *witness);

#endif
