/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_PROBE_TABLE_H
#define KL_CMD_PROBE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "repo/repo.h"

/*
 * probe_table - git klineage probe --table: for every card of the library, how many clauses of its
 * steps are witnessed, too strong, not needed and not tested, and how many points the measured
 * conditions predict that they were not fitted to.
 */
struct kl_probe_table {
	const char *jail, *platform; /* as in struct kl_gate_opts */
	int64_t seconds; /* for all cards; 0 to judge nothing, and count what is stored */
	size_t check;    /* as in struct kl_probing_opts */
	bool json, quiet, progress;
};

/**
 * Probe the steps of all cards, and print the table. Return KL_ENOTFOUND if the library has no
 * cards.
 */
int kl_probe_table(struct kl_repo *repo, const struct kl_probe_table *args);

#endif
