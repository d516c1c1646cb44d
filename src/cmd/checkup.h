/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_CHECKUP_H
#define KL_CMD_CHECKUP_H

#include "base/mem.h"
#include "repo/repo.h"

/*
 * checkup - checks what `git klineage doctor` reports: whether this machine and this clone have
 * what a verdict needs. Each check gives a finding, and the line that mends it.
 *
 *	KL_AUTO(kl_checkup_release) struct kl_checkup checkup = { 0 };
 *	kl_checkup_run(&checkup, repo);
 */
enum kl_finding_state {
	KL_FINDING_GOOD,
	KL_FINDING_OFF,  /* works without it, or it was not asked for */
	KL_FINDING_WEAK, /* works, but verdicts say less than they could */
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
 * Run all checks, in about a second. `repo` NULL: only those of the machine. `clock` false: time
 * nothing.
 */
int kl_checkup_run(struct kl_checkup *out, struct kl_repo *repo, bool clock);
/** Return the worst state of the findings. */
enum kl_finding_state kl_checkup_worst(const struct kl_checkup *checkup);
void kl_checkup_release(struct kl_checkup *checkup);

#endif
