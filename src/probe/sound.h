/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_SOUND_H
#define KL_PROBE_SOUND_H

#include "probe/fit.h"
#include "probe/probing.h"
#include "probe/quantities.h"

/*
 * sound - where kernel b is right where kernel a is, as all stored points of probes say: the
 * condition that a dispatch (dispatch.h) must honour. Nothing is judged.
 *
 *	kl_sound_find(&sound, &opts, a, b);
 *	if (kl_sound_holds(&sound, &dims) && !sound.never) ...
 */
struct kl_sound_pair { /* the events of a and b where a clause is false and b fails; where b passes */
	char fail[2][KL_DIGEST_HEX], pass[2][KL_DIGEST_HEX];
	char *fail_words, *pass_words; /* the points */
};

struct kl_sound {
	struct kl_quantities quantities;
	struct kl_fit fit;
	struct kl_sound_pair *pair; /* for each clause */
	size_t points, fails;       /* that count; 0: the kernels were not probed */
	/* why b cannot be chosen at all: it fails inside the domain where no size tells; or NULL */
	char *never;
	/* values outside the domain's promise with which b fails: "denormal, nan"; or NULL */
	char *values;
};

/**
 * Take the condition from what is stored about a and b, two kernels with one contract, on this
 * platform. `opts` gives repository, taxonomy, jail and platform. Errors are those of
 * kl_probing_run().
 */
int kl_sound_find(struct kl_sound *out, const struct kl_probing_opts *opts,
		  const struct kl_surface *a, const struct kl_surface *b);
void kl_sound_release(struct kl_sound *sound);
/**
 * Return true if all clauses hold at a point, for tensors whose addresses suit every kernel. Clauses
 * about values always hold: no call can tell.
 */
bool kl_sound_holds(const struct kl_sound *sound, const struct kl_dims *dims);
/** Return the index of the argument whose address the clause is about; -1: none. */
int kl_sound_address(const struct kl_sound *sound, size_t i);

#endif
