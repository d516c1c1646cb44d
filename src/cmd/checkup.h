/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CHECKUP_H
#define KL_CMD_CHECKUP_H

#include "base/mem.h"
#include "repo/repo.h"

/*
 * checkup - makes the checks of `git klineage doctor`: whether this machine and this clone have all
 * that the gate needs for a verdict. Each check gives a finding and, if something is missing, what
 * mends it.
 *
 *	KL_AUTO(kl_checkup_release) struct kl_checkup checkup = { 0 };
 *	kl_checkup_run(&checkup, repo);
 */
enum kl_finding_state {
	KL_FINDING_GOOD,
	KL_FINDING_OFF,  /* something optional is missing or was not asked for */
	KL_FINDING_WEAK, /* kernels can be judged, but verdicts say less than they could */
	KL_FINDING_BAD,  /* no kernel can be judged */
	KL_FINDING_STATES
};
const char *kl_finding_state_name(enum kl_finding_state state);

struct kl_finding {
	const char *check; /* static: "jail" */
	enum kl_finding_state state;
	char *text;
	char *mend; /* a command, a setting or a package; NULL for nothing to mend */
};

struct kl_checkup {
	struct kl_finding *v;
	size_t n, alloc;
};

/**
 * Run all checks, which takes about a second. If `repo` is NULL, check only the machine. If `clock`
 * is false, skip the check of the clock, which times a loop. The caller releases *out.
 */
int kl_checkup_run(struct kl_checkup *out, struct kl_repo *repo, bool clock);
/** Return the worst state of the findings. */
enum kl_finding_state kl_checkup_worst(const struct kl_checkup *checkup);
void kl_checkup_release(struct kl_checkup *checkup);

#endif
