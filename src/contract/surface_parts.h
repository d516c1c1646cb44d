/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SURFACE_PARTS_H
#define KL_CONTRACT_SURFACE_PARTS_H

#include "contract/surface.h"

/*
 * surface_parts - declares what kl_surface_from_dir() and kl_surface_from_tree() share. They differ
 * only in how they read a file.
 */
#define KL_SURFACE_MAX_FILE (4 << 20)
#define KL_SURFACE_MAX_TOTAL (16 << 20)

/**
 * Read the file `path` in or below the directory `dir` of the repository, and set data, len and
 * mode of `file`. Return KL_EINVALID if the file has more than `max` bytes, or is a symlink.
 */
typedef int (*kl_surface_reader)(struct kl_file *file, const char *dir, const char *path,
				 size_t max, void *payload);

/**
 * Read a surface: `source` reads its sources; `read` reads its contract, which is the first file to
 * be read, and the oracle's files.
 */
int kl_surface_read(struct kl_surface **out, const struct kl_languages *known, const char *place,
		    kl_surface_reader read, kl_surface_reader source, void *payload);

#endif
