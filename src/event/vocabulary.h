/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_VOCABULARY_H
#define KL_EVENT_VOCABULARY_H

/*
 * vocabulary - defines enums for the named values in gate events (docs/formats.md, "The gate
 * event").
 *
 * The name of an absent value is "". Parsing never fails: NULL and "" mean that the value is
 * absent, and a name that only a later version knows gives OTHER; events write that name back
 * unchanged (event.h). An unknown speed gives KL_SPEED_NONE.
 *
 * Walks, trials and materializations have failure classes of their own ("not-there", "not-faster",
 * "compound", "unusable", "timeout", ...). Those stay strings: kl_failure_parse() returns
 * KL_FAILURE_OTHER for them.
 */
enum kl_event_kind {
	KL_KIND_OTHER,
	KL_KIND_GATE,
	KL_KIND_CHECK,
	KL_KIND_RETRACT,
	KL_KIND_LABEL,
	KL_KIND_PROBE, /* correctness at one point, which can lie outside the domain */
};

enum kl_verdict {
	KL_VERDICT_OTHER,
	KL_VERDICT_PASS,
	KL_VERDICT_FAIL,
	KL_VERDICT_INCONCLUSIVE,
	KL_VERDICT_NOT_RUN,
};

/** The class of a failure. */
enum kl_failure {
	KL_FAILURE_NONE,
	KL_FAILURE_COMPILE,
	KL_FAILURE_LAUNCH,
	KL_FAILURE_HANG,
	KL_FAILURE_FAULT,
	KL_FAILURE_WRONG_ALL,
	KL_FAILURE_WRONG_EDGE,
	KL_FAILURE_NONDETERMINISTIC,
	KL_FAILURE_SLOWER,
	KL_FAILURE_NO_CHANGE,
	KL_FAILURE_CHEAT,
	KL_FAILURE_OTHER,
};

/** How well a run was confined; a greater value means better confinement. */
enum kl_tier {
	KL_TIER_OTHER,
	KL_TIER_UNSANDBOXED,
	KL_TIER_HOST_RESTRICTED,
	KL_TIER_HOST_SANDBOXED,
	KL_TIER_DEVICE_ONLY,
};

/** Speed of a kernel against another one (speed.h); NONE if they were not compared. */
enum kl_speed {
	KL_SPEED_NONE,
	KL_SPEED_FAST,
	KL_SPEED_SLOW,
	KL_SPEED_SAME,
	KL_SPEED_AMBIGUOUS,
};

const char *kl_event_kind_name(enum kl_event_kind kind);
enum kl_event_kind kl_event_kind_parse(const char *word);
const char *kl_verdict_name(enum kl_verdict verdict);
enum kl_verdict kl_verdict_parse(const char *word);
const char *kl_failure_name(enum kl_failure failure);
enum kl_failure kl_failure_parse(const char *word);
const char *kl_tier_name(enum kl_tier tier);
enum kl_tier kl_tier_parse(const char *word);
const char *kl_speed_name(enum kl_speed speed);
enum kl_speed kl_speed_parse(const char *word);

#endif
