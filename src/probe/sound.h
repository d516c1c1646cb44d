/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_SOUND_H
#define KL_PROBE_SOUND_H

#include "probe/fit.h"
#include "probe/probing.h"
#include "probe/quantities.h"

/*
 * sound - finds the condition under which kernel b is right wherever kernel a is. It comes from the
 * stored points of all probes. A dispatch (dispatch.h) must choose b only where this condition
 * holds. Nothing is judged.
 *
 *	kl_sound_find(&sound, &opts, a, b);
 *	if (kl_sound_holds(&sound, &dims) && !sound.never) ...
 */
/* The witnesses of a clause: events of a and b at a point where b fails, and where b passes. */
struct kl_sound_pair {
	char fail[2][KL_DIGEST_HEX], pass[2][KL_DIGEST_HEX];
	char *fail_words, *pass_words; /* the points */
};

struct kl_sound {
	struct kl_quantities quantities;
	struct kl_fit fit;
	struct kl_sound_pair *pair; /* for each clause */
	/* number of points that count, and of those where b fails; 0 if nothing was probed */
	size_t points, fails;
	/* why b must never be chosen: it fails in the domain and no size tells where; or NULL */
	char *never;
	/*
	 * values with which b fails, but which the domain does not promise: "denormal, nan"; or
	 * NULL
	 */
	char *values;
};

/**
 * Take the condition from the stored results of a and b, two kernels with one contract, on this
 * platform. `opts` gives repository, taxonomy, jail and platform. Errors are those of
 * kl_probing_run().
 */
int kl_sound_find(struct kl_sound *out, const struct kl_probing_opts *opts,
		  const struct kl_surface *a, const struct kl_surface *b);
void kl_sound_release(struct kl_sound *sound);
/**
 * Return true if all clauses hold at a point for tensors whose addresses suit every kernel. Clauses
 * about values count as true, because a caller does not know the values.
 */
bool kl_sound_holds(const struct kl_sound *sound, const struct kl_dims *dims);
/** Return the index of the argument whose address the clause is about; -1 if there is none. */
int kl_sound_address(const struct kl_sound *sound, size_t i);

#endif
