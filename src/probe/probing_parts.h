/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_PROBING_PARTS_H
#define KL_PROBE_PROBING_PARTS_H

#include "probe/probing.h"

/* probing_parts - a probe in progress, for probing.c and probing_judge.c. */
struct kl_probing_run {
	struct kl_probing *out;
	const struct kl_probing_opts *o;
	struct kl_gate *gate;
	int64_t until; /* time of kl_clock_ns() after which no more points of the list are judged */
	int64_t end;   /* time of kl_clock_ns() after which no more points are judged at all */
	bool patient;  /* wait for points that another process judges; else leave them for later */
};

/**
 * Judge a state at a point, or take the stored result. Leave side->asked false if the time is up,
 * or if another process judges the point and the run is not patient.
 */
int kl_probing_judge(struct kl_probe_side *side, struct kl_probing_run *run, size_t state,
		     const struct kl_probe_point *point);
/** Judge a state at a point of the list, unless it is known or the oracle is known to fail. */
int kl_probing_ask(struct kl_probing_run *run, size_t state, size_t point);

#endif
