/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_PROFILE_H
#define KL_EVENT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/vocabulary.h"
#include "text/json.h"

/*
 * profile - what was timed: the kernel's own time and how it compares with others. An event has one
 * (docs/formats.md, "The gate event"), made of what a worker measured at each performance case.
 *
 * Ratios are the other's time over the kernel's, in ppm: above 1,000,000 the kernel is faster.
 * Strings are borrowed from the document that a profile was read from, or from what it was made of.
 */
struct kl_comparison {
	const char *what;                  /* "parent", or the name of a baseline */
	const char *surface;               /* digest of what it was compared with; "": not said */
	int64_t ratio_ppm, lo_ppm, hi_ppm; /* lo to hi: the interval; 0: not measured */
	enum kl_speed speed;               /* the gate's word; a single case has none */
	const json_t *doc;                 /* as it was read, borrowed; NULL: made here */
};

struct kl_comparisons {
	struct kl_comparison *v;
	size_t n;
};

/** One performance case, of several. */
struct kl_profile_point {
	const char *id;
	int64_t ns;
	int64_t aa_ppm; /* as of the profile */
	struct kl_comparisons vs;
};

struct kl_profile {
	bool there;     /* it was timed */
	int64_t ns;     /* weighted mean over the cases; 0: not known */
	int64_t aa_ppm; /* how far it reaches from 1 against itself */
	struct kl_comparisons vs;
	struct kl_profile_point *point; /* where there are several cases */
	size_t npoint;
	json_t *points; /* owned: as the worker wrote them; NULL: none */
};
void kl_profile_release(struct kl_profile *profile);

/** From an event's member "profile", which is borrowed; what is not an object is no profile. */
void kl_profile_read(struct kl_profile *out, const json_t *doc);
/** That member; what `doc`, which may be NULL, has beyond it is kept. The caller's reference. */
json_t *kl_profile_json(const struct kl_profile *profile, const json_t *doc);
json_t *kl_comparison_json(const struct kl_comparison *comparison);

/**
 * From a worker's result, a member "profile": `weight` has one entry for each of the `n` points, in
 * order. Ratios are weighted geometric means; speed.h says what they are called. `parent`, the
 * digest of what the kernel was compared with, is borrowed. Not there: nothing was timed, or not
 * at all points.
 */
void kl_profile_of_result(struct kl_profile *out, const json_t *doc, const int64_t *weight,
			  size_t n, const char *parent);

/** The comparison with the parent, or with the first that is none; NULL: there is none. */
const struct kl_comparison *kl_comparisons_parent(const struct kl_comparisons *vs);
const struct kl_comparison *kl_comparisons_baseline(const struct kl_comparisons *vs);
/** The same pair of runs, seen from the other side. Borrows what `comparison` does. */
struct kl_comparison kl_comparison_inverted(const struct kl_comparison *comparison);

#endif
