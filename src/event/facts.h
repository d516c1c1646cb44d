/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_FACTS_H
#define KL_EVENT_FACTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

/*
 * facts - facts about a state, and whether they accept a step: features, read from the compiled
 * artefact, and traits, claimed of the source ("yes", "no", "unknown"; marked "unaudited" until a
 * second reader has checked them).
 *
 * Features of surface c, over the functions reachable from the entry
 * (docs/formats.md, "Features", lists them all with their evidence):
 *   vec.128 vec.256 vec.512   packed arithmetic of that width
 *   fma.scalar avx2.fma       fused multiply-add
 *   gather prefetch nt-store shuffle movemask blend popcnt div sqrt convert
 *   alloc call.<symbol> recursion loop.depth.<n> spill ...
 */
struct kl_facts {
	struct kl_strvec features; /* sorted, unique */
	struct kl_map traits;      /* name -> owned "yes", "no", "unknown", "yes unaudited" ... */
	char code_digest[65];      /* of the reached machine code (docs/formats.md) */
};

void kl_facts_release(struct kl_facts *facts);

/*
 * mechanisms - templates/mechanisms.yaml: per mechanism its primary fact, the
 * companions that come with it, the fallbacks that may appear when it goes.
 */
struct kl_mechanism {
	char *name;
	char *text;               /* one line for people */
	char *action;             /* the usual backward action */
	struct kl_strvec primary; /* facts ("vec.256", "trait:tiled"): any leaving is the removal */
	/* those of `primary` that many kernels with the mechanism lack */
	struct kl_strvec incidental;
	struct kl_strvec companions; /* glob patterns of facts that may go too */
	struct kl_strvec fallbacks;  /* glob patterns of facts that may appear */
};
struct kl_mechanisms {
	struct kl_mechanism *m;
	size_t n, alloc;
	int64_t version; /* of the file's form */
};

int kl_mechanisms_load(struct kl_mechanisms *out, const char *path);
/** Those of templates/mechanisms.yaml. */
int kl_mechanisms_load_shipped(struct kl_mechanisms *out);
void kl_mechanisms_release(struct kl_mechanisms *mechanisms);
const struct kl_mechanism *kl_mechanisms_find(const struct kl_mechanisms *mechanisms,
					      const char *name);

enum kl_delta { KL_DELTA_CLEAN, KL_DELTA_COMPOUND, KL_DELTA_NO_CHANGE };
/**
 * Judge the backward step before -> after against its mechanism: clean when what
 * went is primary or companion and what came is a fallback; compound
 * otherwise; no-change when the machine code is the same. A trait goes when it was "yes" and
 * is claimed otherwise; it comes likewise. `why` says which facts are
 * foreign, or, for a clean step, which primary facts went or are still there. Without a mechanism
 * (NULL) every fact that went or came is foreign.
 */
enum kl_delta kl_facts_judge(struct kl_buf *why, const struct kl_mechanism *mechanism,
			     const struct kl_facts *before, const struct kl_facts *after);

#endif
