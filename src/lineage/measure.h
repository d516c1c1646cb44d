/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_MEASURE_H
#define KL_LINEAGE_MEASURE_H

#include "base/progress.h"
#include "event/judgement.h"
#include "lineage/view.h"

/*
 * measure - measures the states of a lineage again, in one session (gate/rounds.h): each state
 * against the one before it, and against the contract's baseline. The verdicts become notes of the
 * states, as those of `git klineage gate` do. The events of a lineage have the member `session`,
 * which tells readers that they compare forward. Older events stay.
 *
 * If a session was interrupted or killed, it continues when the same states are measured again. Its
 * measurements are in $GIT_COMMON_DIR/klineage/measure/<digest> until the notes are written. An
 * event whose interval is useless is not noted, because it would hide a better one; the next
 * session then measures only the states that have such an event.
 */
struct kl_measure_opts {
	struct kl_progress *progress; /* borrowed, or NULL */
	/* as in struct kl_gate_opts, but if `platform` is NULL, use the lineage's platform */
	const char *jail, *platform;
	int64_t rounds;  /* at least 1 */
	int64_t wait_ms; /* total time to wait for a quiet machine */
	int sign;        /* as in struct kl_noting */
};

struct kl_measured_state {
	git_oid commit;
	struct kl_surface *surface;     /* owned */
	struct kl_judgement *judgement; /* owned */
	/*
	 * the interval is useless (kl_speed_is_useless), or there were no usable times: the event
	 * was not noted
	 */
	bool useless;
};
struct kl_measured {
	struct kl_measured_state *state; /* each is compared with the one before it */
	size_t n;
	/*
	 * numbers of measurements that were made, were kept from an earlier session, were noisy,
	 * and were repeated because of noise
	 */
	size_t made, kept, busy, again;
};

/**
 * Measure the states of a lineage. Return KL_ECANNOT if this session cannot judge them here. Return
 * KL_EBUSY if another process is measuring the same states.
 */
int kl_measure_lineage(struct kl_measured *out, struct kl_repo *repo, const struct kl_view *view,
		       const struct kl_measure_opts *opts);
/**
 * Measure the kernel of a workload (of the only one if `workload` is NULL) in `n` revisions, in
 * this order. Errors also include those of kl_select().
 */
int kl_measure_revisions(struct kl_measured *out, struct kl_repo *repo, char *const *rev, size_t n,
			 const char *workload, const struct kl_measure_opts *opts);
void kl_measured_release(struct kl_measured *measured);

#endif
