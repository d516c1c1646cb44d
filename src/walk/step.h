/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_STEP_H
#define KL_WALK_STEP_H

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

/*
 * step - one step as it stands in a commit message: a subject and a text for
 * people, then trailers that plain git can filter. The message is made so that it
 * survives mail and `git am` byte for byte.
 *
 *	back	 on a walk: K_i -> K_{i-1}, Klineage-Step is the distance from K*
 *	forward	 on a lineage: K_{i-1} -> K_i, Klineage-Step is i
 *	root	 K_0 of a lineage
 *	rejected a step that the gate or the facts refused, with its class; `forward`: an
 *		attempt to derive a step anew that failed
 */
enum kl_step_kind { KL_STEP_BACK, KL_STEP_FORWARD, KL_STEP_ROOT, KL_STEP_REJECTED };

/** Strings are owned; NULL and "" both mean: no such trailer. */
struct kl_step {
	enum kl_step_kind kind;
	int number;
	char *action, *mechanism, *locus, *text;
	char *origin; /* induced, authored, historical */
	char *rewriter, *source;
	char *trait;      /* what it claims to have removed: "tiled, packed" */
	char *delta;      /* clean, compound, unknown */
	char *derivation; /* forward: rederived, inverse, unisolated */
	char *attempts;   /* forward: what failed on the way: "wrong-edge, slower" */
	char *class_;     /* rejected */
	bool forward;     /* rejected */
	/* root only */
	char *workload, *platform, *expert, *termination;
};

void kl_step_release(struct kl_step *step);

void kl_step_message(struct kl_buf *out, const struct kl_step *step);
/** KL_EINVALID when the trailers are not those of a step; `name` is for the message. */
int kl_step_parse(struct kl_step *out, const char *name, const char *message);

/**
 * Is it the message of a root commit whose kernel is the oracle? Steps below it are of another
 * kernel.
 */
bool kl_step_is_oracle_root(const char *message);

/** The record of an operation's state <-> the step (docs/formats.md, "operation"). */
void kl_step_from_json(struct kl_step *out, const json_t *record);
/**
 * A K_i', or what failed to be one: the backward step's own words, the attempt's text and author.
 */
void kl_step_from_attempt(struct kl_step *out, const json_t *record, const json_t *attempt);

/** "[a-z0-9][a-z0-9._-]*", at most 64, not ending in ".lock" or ".", without "..". */
bool kl_slug_ok(const char *text);

#endif
