/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_WHEN_H
#define KL_PROBE_WHEN_H

#include "base/progress.h"
#include "contract/surface.h"
#include "event/event.h"
#include "probe/grid.h"
#include "probe/useful.h"
#include "retrieve/taxonomy.h"

/*
 * when - measures where in the domain of a contract one kernel is faster than another.
 *
 * Two kernels with the same contract, `a` and `b`, are judged at the points of a grid
 * (probe/grid.h): first both for correctness at that point, then, if both pass, they are timed
 * against each other in one paired profile. A ratio above 1 means that b is faster.
 *
 * The events (of kind "probe") are in $GIT_COMMON_DIR/klineage/map/<digest>/, one file for each
 * point, which is written as soon as the point is judged. A later run with the same kernels on the
 * same platform judges none of these points again, even if the earlier run was killed.
 */
enum kl_when_end {
	KL_WHEN_OPEN, /* not judged, because the time was spent */
	KL_WHEN_PASS,
	KL_WHEN_FAIL,
	KL_WHEN_UNTESTED, /* could not be judged; `why` of the point has the reason */
};

struct kl_when_side { /* one of the two kernels at one point */
	enum kl_when_end end;
	char class_[24];           /* class of a failure */
	char event[KL_DIGEST_HEX]; /* "" if there is none */
};

struct kl_when_point {
	struct kl_dims dims;
	int64_t elements; /* product of all dims */
	int64_t bytes;    /* of all tensors */
	struct kl_when_side a, b;
	struct kl_ratio ratio; /* time of a / time of b; 0 if not timed */
	/*
	 * speed of b compared with a: fast or slow if the whole interval is beyond 1 by more than
	 * the noise of the run. The threefold margin of event/speed.h is not required, because a
	 * map only has to decide between two kernels.
	 */
	enum kl_speed speed;
	int64_t ns;   /* time of b */
	char *why;    /* why a kernel fails or the point could not be judged; owned, or NULL */
	bool kept;    /* known from an earlier run, and not to be judged again */
	bool unsound; /* excluded by a condition that a probe found (dispatch.h) */
};

struct kl_when {
	const struct kl_contract *contract; /* borrowed */
	char *platform, *device;
	char *name_a,
		*name_b; /* how the user named the kernels; after kl_when_each(), "a" and "b" */
	char *digest_a, *digest_b; /* digests of the surfaces */
	size_t x, y;               /* the dims that are the axes, as in struct kl_grid */
	struct kl_when_point *point;
	size_t n;
	struct kl_useful useful; /* where b is faster */
	/* numbers of points that were judged now, that were known, and that are left */
	size_t made, kept, left;
	size_t too_large; /* points that were left out because of their bytes */
	size_t too_slow;  /* points that are left because smaller ones took too long */
};
void kl_when_release(struct kl_when *when);

struct kl_when_opts {
	struct kl_repo *repo;
	const struct kl_surface *a, *b;
	const char *name_a, *name_b;
	const char *jail, *platform; /* as in struct kl_gate_opts */
	int64_t seconds;   /* begin no further point after this time; 0 to judge nothing */
	int64_t point_ms;  /* time of the profile at a point */
	int64_t max_bytes; /* of the tensors of a point */
	bool again;        /* also judge known points whose interval decides nothing */
	struct kl_progress *progress;
};

/**
 * Judge the points of the grid and fit `useful`. Return KL_EUSAGE if the kernels have different
 * contracts. Return KL_EINVALID if the domain has no grid. Return KL_EBUSY if another process makes
 * the same map. Return KL_EINTR if the user interrupted the run; the points so far are kept. Other
 * errors are those of kl_gate_open().
 */
int kl_when_make(struct kl_when *out, const struct kl_when_opts *opts);
/** A function that gets a map, which it may change, but not keep. An error ends the walk. */
typedef int kl_when_fn(struct kl_when *when, void *payload);
/**
 * Load the newest map of two kernels on each platform and device that there is one for, without
 * judging anything. `a` is borrowed by the maps. Return KL_EINVALID if the domain has no grid.
 */
int kl_when_each(struct kl_repo *repo, const struct kl_surface *a, const struct kl_surface *b,
		 kl_when_fn *fn, void *payload);

/** Return true if the kernels are both correct at the point and b is measurably faster. */
bool kl_when_gains(const struct kl_when_point *point);
/**
 * Return true if the point counts for `useful`: both kernels were timed, or only b fails, and no
 * condition of a probe excludes it. A point
 * whose interval decides nothing counts as one without a gain, because the condition says where the
 * interval lies above 1.
 */
bool kl_when_counts(const struct kl_when_point *point);
/** Return true if the kernels were timed but the interval does not say which one is faster. */
bool kl_when_is_unclear(const struct kl_when_point *point);
/** Name the figure of a condition: "extent of m", "elements", "bytes of all tensors". */
void kl_when_figure_name(char out[96], const struct kl_when *when, size_t figure);
int64_t kl_when_figure(const struct kl_when *when, const struct kl_when_point *point,
		       size_t figure);
/** Append the condition under which b is faster, in plain words. */
void kl_when_words(struct kl_buf *out, const struct kl_when *when);
/**
 * Append the condition as a predicate over the role of a dim: "extent(cols) >= 64". Return false if
 * there is none, because the condition is not on a dim, or the dim shares its role with others.
 */
bool kl_when_predicate(struct kl_buf *out, const struct kl_when *when,
		       const struct kl_taxonomy *tax);

#endif
