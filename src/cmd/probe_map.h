/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_PROBE_MAP_H
#define KL_CMD_PROBE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/surface.h"

/*
 * probe_map - git klineage probe --map and --dispatch: measures where one of two versions of a
 * kernel is faster (probe/when.h), prints the table, and writes the map and the header.
 */
struct kl_probe_map {
	const struct kl_surface *a, *b; /* the two versions, borrowed */
	const char *name_a, *name_b;    /* how to name them */
	const char *map;                /* path of the SVG; NULL: not written */
	const char *dispatch;           /* path of the header; NULL: not written */
	const char *jail, *platform;    /* as in struct kl_gate_opts */
	int64_t seconds;                /* as in struct kl_when_opts */
	bool again;                     /* as in struct kl_when_opts */
	bool json, quiet, progress;
};

/** KL_EINTR: the points so far were printed and written. Other errors are those of kl_when_make(). */
int kl_probe_map(struct kl_repo *repo, const struct kl_probe_map *args);
/** Name a revision by what the user gave and by its commit; the caller frees it. */
char *kl_probe_map_name(const char *rev, const git_oid *commit);

#endif
