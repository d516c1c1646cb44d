/* SPDX-License-Identifier: Apache-2.0 */
#include "event/vocabulary.h"

#include <string.h>

#include "base/mem.h"

static const char *const kinds[] = {
	[KL_KIND_OTHER] = "",          [KL_KIND_GATE] = "gate",   [KL_KIND_CHECK] = "check",
	[KL_KIND_RETRACT] = "retract", [KL_KIND_LABEL] = "label", [KL_KIND_PROBE] = "probe",
};

static const char *const verdicts[] = {
	[KL_VERDICT_OTHER] = "",          [KL_VERDICT_PASS] = "pass",
	[KL_VERDICT_FAIL] = "fail",       [KL_VERDICT_INCONCLUSIVE] = "inconclusive",
	[KL_VERDICT_NOT_RUN] = "not-run",
};

/* clang-format off */
static const char *const failures[] = {
	[KL_FAILURE_NONE] = "", [KL_FAILURE_COMPILE] = "compile", [KL_FAILURE_LAUNCH] = "launch",
	[KL_FAILURE_HANG] = "hang", [KL_FAILURE_FAULT] = "fault", [KL_FAILURE_WRONG_ALL] = "wrong-all",
	[KL_FAILURE_WRONG_EDGE] = "wrong-edge", [KL_FAILURE_NONDETERMINISTIC] = "nondeterministic",
	[KL_FAILURE_SLOWER] = "slower", [KL_FAILURE_NO_CHANGE] = "no-change",
	[KL_FAILURE_CHEAT] = "cheat", [KL_FAILURE_OTHER] = "",
};
/* clang-format on */

/* clang-format off */
static const char *const tiers[] = {
	[KL_TIER_OTHER] = "", [KL_TIER_UNSANDBOXED] = "unsandboxed",
	[KL_TIER_HOST_RESTRICTED] = "host-restricted", [KL_TIER_HOST_SANDBOXED] = "host-sandboxed",
	[KL_TIER_DEVICE_ONLY] = "device-only",
};
/* clang-format on */

static const char *const speeds[] = {
	[KL_SPEED_NONE] = "",     [KL_SPEED_FAST] = "fast",           [KL_SPEED_SLOW] = "slow",
	[KL_SPEED_SAME] = "same", [KL_SPEED_AMBIGUOUS] = "ambiguous",
};

/* Return the index of a name in its table; 0 for NULL and "", `other` for an unknown name. */
static size_t index_of(const char *word, const char *const *table, size_t n, size_t other)
{
	if (!word || !*word)
		return 0;
	for (size_t i = 1; i < n; i++)
		if (!strcmp(table[i], word))
			return i;
	return other;
}

const char *kl_event_kind_name(enum kl_event_kind kind)
{
	return kinds[kind];
}

enum kl_event_kind kl_event_kind_parse(const char *word)
{
	return (enum kl_event_kind)index_of(word, kinds, KL_ARRAY_SIZE(kinds), KL_KIND_OTHER);
}

const char *kl_verdict_name(enum kl_verdict verdict)
{
	return verdicts[verdict];
}

enum kl_verdict kl_verdict_parse(const char *word)
{
	return (enum kl_verdict)index_of(word, verdicts, KL_ARRAY_SIZE(verdicts), KL_VERDICT_OTHER);
}

const char *kl_failure_name(enum kl_failure failure)
{
	return failures[failure];
}

enum kl_failure kl_failure_parse(const char *word)
{
	return (enum kl_failure)index_of(word, failures, KL_ARRAY_SIZE(failures), KL_FAILURE_OTHER);
}

const char *kl_tier_name(enum kl_tier tier)
{
	return tiers[tier];
}

enum kl_tier kl_tier_parse(const char *word)
{
	return (enum kl_tier)index_of(word, tiers, KL_ARRAY_SIZE(tiers), KL_TIER_OTHER);
}

const char *kl_speed_name(enum kl_speed speed)
{
	return speeds[speed];
}

enum kl_speed kl_speed_parse(const char *word)
{
	return (enum kl_speed)index_of(word, speeds, KL_ARRAY_SIZE(speeds), KL_SPEED_NONE);
}
