/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_PROFILE_H
#define KL_EVENT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/vocabulary.h"
#include "text/json.h"

/*
 * profile - holds measured times: the kernel's own time and its comparisons with other kernels. It
 * is a member of an event (docs/formats.md, "The gate event") and is computed from a worker's
 * measurements at each performance case.
 *
 * A ratio is the other kernel's time divided by this kernel's time, in ppm: above 1,000,000 this
 * kernel is faster. Strings are borrowed from the document or result that the profile was read
 * from.
 */
struct kl_ratio {
	int64_t ppm, lo, hi; /* estimate, and its interval from lo to hi; 0 if not known */
};

struct kl_comparison {
	const char *what;    /* "parent", or the name of a baseline */
	const char *surface; /* digest of the other kernel's surface; "" if unknown */
	struct kl_ratio ratio;
	enum kl_speed speed; /* KL_SPEED_NONE for a single case */
	/* JSON that the comparison was read from, borrowed; NULL if there is none */
	const json_t *doc;
};

struct kl_comparisons {
	struct kl_comparison *v;
	size_t n;
};

/** The times at one of several performance cases. */
struct kl_profile_point {
	const char *id;
	int64_t ns;
	int64_t aa_ppm; /* like kl_profile.aa_ppm, but for this case */
	struct kl_comparisons vs;
};

struct kl_profile {
	bool there;     /* false if not timed */
	int64_t ns;     /* weighted mean over the cases; 0 if unknown */
	int64_t aa_ppm; /* noise: largest distance of the A/A interval (kernel vs itself) from 1 */
	struct kl_comparisons vs;
	struct kl_profile_point *point; /* only if there are several cases */
	size_t npoint;
	json_t *points; /* as written by the worker; owned; NULL if there is none */
};
void kl_profile_release(struct kl_profile *profile);

/**
 * Read an event's member "profile"; borrows from `doc`. If `doc` is not an object, `there` is
 * false.
 */
void kl_profile_read(struct kl_profile *out, const json_t *doc);
/**
 * Return the member "profile" as JSON. `doc` is its old value, whose unknown members are kept; NULL
 * if there is none. The caller owns the reference.
 */
json_t *kl_profile_json(const struct kl_profile *profile, const json_t *doc);
json_t *kl_comparison_json(const struct kl_comparison *comparison);

/**
 * Read the member "profile" of a worker's result. `weight` has one entry for each of the `n`
 * points, in order. Ratios are weighted geometric means, classified by speed.h. `parent`, the
 * digest of the parent's surface, is borrowed. `there` is false if not all points were timed.
 */
void kl_profile_of_result(struct kl_profile *out, const json_t *doc, const int64_t *weight,
			  size_t n, const char *parent);

/** Return the comparison with `what`; NULL if there is none. */
const struct kl_comparison *kl_comparisons_find(const struct kl_comparisons *vs, const char *what);
/** Return the comparison with the parent, or the first with a baseline; NULL if there is none. */
const struct kl_comparison *kl_comparisons_parent(const struct kl_comparisons *vs);
const struct kl_comparison *kl_comparisons_baseline(const struct kl_comparisons *vs);
/** Return the comparison with its two kernels exchanged. Borrows the strings of `comparison`. */
struct kl_comparison kl_comparison_inverted(const struct kl_comparison *comparison);

#endif
