/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_FACTS_H
#define KL_EVENT_FACTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

/*
 * facts - holds the facts about a state, and judges a step by the facts that it changes. A fact is
 * a feature, read from the compiled artefact, or a trait, claimed about the source ("yes", "no",
 * "unknown"; marked "unaudited" until a second reader has checked it).
 *
 * Examples of features: vec.256 (packed arithmetic of that width), avx2.fma (fused multiply-add),
 * gather, nt-store, call.<symbol>, loop.depth.<n>, spill. docs/formats.md, "Features", lists all of
 * them with their evidence.
 */
struct kl_facts {
	struct kl_strvec features; /* sorted, unique */
	/*
	 * version of the list of features (docs/formats.md) that `features` was read by; the code
	 * may have features that a later version added, but `features` lacks them; 0 means 1
	 */
	int64_t features_version;
	struct kl_map traits; /* name -> owned "yes", "no", "unknown", "yes unaudited" ... */
	char code_digest[65]; /* digest of the reached machine code (docs/formats.md) */
};

#define KL_FEATURES_VERSION 2 /* version of the list for language c */

void kl_facts_release(struct kl_facts *facts);
/**
 * Append the features that `left` has and `right` lacks. `version` is the version of the list that
 * `right` was read by. Features that this version does not list are left out, since `right` may
 * have them as well.
 */
void kl_features_minus(struct kl_strvec *out, const struct kl_strvec *left,
		       const struct kl_strvec *right, int64_t version);

/*
 * mechanisms - reads templates/mechanisms.yaml, which lists for each mechanism its primary facts,
 * the companion facts that can disappear with the mechanism, and the fallback facts that can appear
 * when the mechanism is removed.
 */
/** The transformation (rewrite/transform.h) that adds a mechanism to code of one language. */
struct kl_mechanism_transform {
	char *language;
	char *use; /* the transformation and its options: "unroll-jam factor=4,2" */
};

struct kl_mechanism {
	char *name;
	char *text;   /* description in one line */
	char *action; /* the usual backward action */
	/* facts that disappear with the mechanism ("vec.256", "trait:tiled") */
	struct kl_strvec primary;
	/* the facts in `primary` that many kernels with the mechanism lack */
	struct kl_strvec incidental;
	/* glob patterns of facts that can disappear with the mechanism */
	struct kl_strvec companions;
	/* glob patterns of facts that can appear when the mechanism is removed */
	struct kl_strvec fallbacks;
	struct {
		struct kl_mechanism_transform *v;
		size_t n, alloc;
	} transform;
};
struct kl_mechanisms {
	struct kl_mechanism *m;
	size_t n, alloc;
	int64_t version; /* version of the file format */
};

int kl_mechanisms_load(struct kl_mechanisms *out, const char *path);
/** Load templates/mechanisms.yaml from the directory where the program is installed. */
int kl_mechanisms_load_shipped(struct kl_mechanisms *out);
void kl_mechanisms_release(struct kl_mechanisms *mechanisms);
const struct kl_mechanism *kl_mechanisms_find(const struct kl_mechanisms *mechanisms,
					      const char *name);

/** Append the (at most three) names that are nearest to a misspelt name, the nearest first. */
void kl_mechanisms_nearest(struct kl_strvec *out, const struct kl_mechanisms *mechanisms,
			   const char *name);

enum kl_delta { KL_DELTA_CLEAN, KL_DELTA_COMPOUND, KL_DELTA_UNMOVED, KL_DELTA_NO_CHANGE };
/**
 * Judge the backward step from `before` to `after` against its mechanism. No-change: the machine
 * code is the same. Compound: some changed facts are foreign. Clean: no changed fact is foreign,
 * and a primary fact disappeared. Unmoved: no changed fact is foreign, but no primary fact
 * disappeared, so that nothing shows that the mechanism was removed. A fact that disappeared is
 * foreign if it is neither primary nor a companion; a fact that appeared is foreign if it is not a
 * fallback. The number of accumulators is never foreign, because it follows from the shape of a
 * loop. Without a mechanism (NULL), every other changed fact is foreign. A trait disappears if it
 * was "yes" and has another value afterwards, and appears in the opposite case. `why` lists the
 * foreign facts, or the primary facts that disappeared or remain.
 */
enum kl_delta kl_facts_judge(struct kl_buf *why, const struct kl_mechanism *mechanism,
			     const struct kl_facts *before, const struct kl_facts *after);
/**
 * Return true if a primary fact of the mechanism disappeared from `before` to `after`. If not, `why`
 * lists the primary facts that remain.
 */
bool kl_facts_moved(struct kl_buf *why, const struct kl_mechanism *mechanism,
		    const struct kl_facts *before, const struct kl_facts *after);

#endif
