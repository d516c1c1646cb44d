/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_WHEN_PARTS_H
#define KL_PROBE_WHEN_PARTS_H

#include "base/map.h"
#include "event/platform.h"
#include "jail/jail.h"
#include "probe/when.h"

/* when_parts - the store of a map, and what its files share. Inside src/probe only. */

/* The data that the events of a map depend on; all borrowed. */
struct kl_when_pair {
	const struct kl_surface *a, *b;
	const struct kl_platform *platform;
	const char *tier;
};

/** Compute the directory of the events of a pair; the caller frees it. */
char *kl_when_dir(struct kl_repo *repo, const struct kl_when_pair *pair);
/** Create the directory, with the file that says which kernels its events compare. */
int kl_when_dir_make(const char *dir, const struct kl_when_pair *pair);
/**
 * Find the newest directory with events of two surfaces on each platform and device: "<platform>\n
 * <device>" -> path, which the map owns.
 */
int kl_when_dirs_find(struct kl_map *out, struct kl_repo *repo, const struct kl_surface *a,
		      const struct kl_surface *b);

/**
 * Load the events of a point, whose dims are set, into its other members. Return false if the point
 * was not judged yet.
 */
bool kl_when_point_load(struct kl_when_point *point, const char *dir,
			const struct kl_contract *contract);
/** Store the judgements of a point: that of a, and that of b, or NULL if a failed. */
int kl_when_point_store(const char *dir, const struct kl_contract *contract,
			const struct kl_dims *dims, const struct kl_event *a,
			const struct kl_event *b);
/** Store the reason why a point could not be judged. */
int kl_when_point_give_up(const char *dir, const struct kl_contract *contract,
			  const struct kl_dims *dims, const char *why);
/** Load all points of a directory. */
int kl_when_points_load(struct kl_when *when, const char *dir);

/** Take the outcomes of two judgements; `b` is NULL if b was not judged. */
void kl_when_take(struct kl_when_point *point, const struct kl_event *a, const struct kl_event *b);
/** Set `elements` and `bytes` from the dims. */
void kl_when_measure_point(struct kl_when_point *point, const struct kl_contract *contract);
/** Fit `useful` to the points. */
void kl_when_fit(struct kl_when *when);

#endif
