/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SURFACE_PARTS_H
#define KL_CONTRACT_SURFACE_PARTS_H

#include "contract/surface.h"

/*
 * surface_parts - the common part of kl_surface_from_dir() and kl_surface_from_tree(): they differ
 * only in where a path leads.
 */
#define KL_SURFACE_MAX_FILE (4 << 20)
#define KL_SURFACE_MAX_TOTAL (16 << 20)

/**
 * Read the file at `path` (relative to the contract's directory) into
 * its data, len and mode; KL_EINVALID above `max` bytes or for a symlink.
 */
typedef int (*kl_surface_reader)(struct kl_file *file, const char *path, size_t max, void *payload);

/** `source` reads the sources, `read` the contract and the oracle, in a language of `known`. */
int kl_surface_read(struct kl_surface **out, const struct kl_languages *known, const char *dir,
		    kl_surface_reader read, kl_surface_reader source, void *payload);

#endif
