/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_STEP_H
#define KL_WALK_STEP_H

#include "base/buf.h"
#include "base/mem.h"
#include "text/json.h"

/*
 * step - a step of a walk or lineage as a commit message: a subject and text for people, then
 * trailers, by which plain git can filter. If the message is sent by mail and applied with `git
 * am`, no byte of it changes.
 *
 *	back	 on a walk: K_i -> K_{i-1}; Klineage-Step is the distance from K*
 *	forward	 on a lineage: K_{i-1} -> K_i; Klineage-Step is i
 *	root	 K_0 of a lineage
 *	rejected a step that the gate or the facts refused, with its class; with `forward` set, a
 *		failed attempt to re-derive a step
 */
enum kl_step_kind { KL_STEP_BACK, KL_STEP_FORWARD, KL_STEP_ROOT, KL_STEP_REJECTED };

/** Owns its strings; NULL and "" both mean that the trailer is absent. */
struct kl_step {
	enum kl_step_kind kind;
	int number;
	/* to write: the first line; NULL to make it from kind, mechanism and locus */
	char *subject;
	char *action, *mechanism, *locus, *text;
	char *origin; /* "induced", "authored" or "historical" */
	char *rewriter, *source;
	char *effect; /* "speed", "generality" or "nothing" (effect.h) */
	char *undoes; /* of `history`: the commit, or the range, that the backward step undoes */
	char *folded; /* of `history`: commits that are folded into the step: "a, b" */
	char *trait;  /* traits that the step claims to remove: "tiled, packed" */
	char *delta;  /* "clean", "compound", "contradicted" or "unknown" */
	char *confidence; /* "0.80 (evidence)" of a name that sources and facts gave */
	char *claimed;    /* only for contradicted steps: the mechanism that the author claimed */
	char *contradiction; /* only for contradicted steps: the evidence against the claim */
	char *derivation;    /* only for forward steps: "rederived", "inverse" or "unisolated" */
	/* only for forward steps: classes of the failed attempts: "wrong-edge, slower" */
	char *attempts;
	char *class_; /* only for rejected steps: class of the failure */
	bool forward; /* only for rejected steps: the step is a failed attempt to re-derive */
	/* only for roots */
	char *workload, *platform, *expert, *termination;
};

void kl_step_release(struct kl_step *step);

/** Append the commit message of a step. */
void kl_step_message(struct kl_buf *out, const struct kl_step *step);
/**
 * Parse a message. `text` gets only the subject. Return KL_EINVALID if the trailers are not those
 * of a step; the error message starts with `name`.
 */
int kl_step_parse(struct kl_step *out, const char *name, const char *message);

/**
 * Return true for the message of a commit that replaces the kernel by its oracle ("Klineage-Root:
 * baseline"). Steps before such a commit do not count as earlier work on the kernel.
 */
bool kl_step_is_oracle_root(const char *message);

/** Fill a step from its record in the operation (docs/formats.md, "operation"). */
void kl_step_from_json(struct kl_step *out, const json_t *record);
/**
 * Fill the step of an attempt to re-derive, successful or not. Action, mechanism, locus and traits
 * are taken from the record of the backward step; text, rewriter and source from the attempt.
 */
void kl_step_from_attempt(struct kl_step *out, const json_t *record, const json_t *attempt);

/**
 * Return true if `text` matches "[a-z0-9][a-z0-9._-]*", has at most 64 bytes, does not contain
 * "..", and ends neither in ".lock" nor in ".".
 */
bool kl_slug_ok(const char *text);

#endif
