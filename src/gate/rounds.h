/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_ROUNDS_H
#define KL_GATE_ROUNDS_H

#include "gate/gate.h"

/*
 * rounds - measures many pairs of kernels in one session, so that their ratios are comparable. A
 * round measures every pair once, in a random order, as the gate does; the first round also judges
 * the kernels. If the machine changes during the session, the change affects all pairs alike, and
 * shows as a difference between rounds (event/pooled.h).
 *
 * Before each measurement the session waits until the machine is quiet (base/quiet.h). If the
 * measurement's own A/A shows that the machine was not quiet, the measurement is discarded and
 * repeated. When the time for waiting is spent, the session measures even if the machine is busy.
 *
 * Each measurement is stored as soon as it is made. A later session with the same store continues
 * where the last session ended, even if the last session was killed.
 */
struct kl_rounds_pair {
	const struct kl_surface *candidate; /* borrowed */
	const struct kl_surface *parent;    /* borrowed; NULL to measure the candidate alone */
};

struct kl_rounds {
	struct kl_gate *gate; /* a session that runs its jobs on this machine */
	const struct kl_rounds_pair *pair;
	size_t n, rounds;
	/* an existing directory that is used for these pairs only */
	const char *store;
	int64_t wait_ms;              /* total time to wait for a quiet machine */
	struct kl_progress *progress; /* borrowed, or NULL */
	/*
	 * results: numbers of measurements made, found in the store, kept although noisy, and
	 * repeated
	 */
	size_t made, kept, busy, again;
};

/**
 * Measure all pairs. `out` has an element for each pair; the caller frees the judgements, even
 * after an error. Return KL_EINTR if the user interrupted the run; other errors are those of
 * kl_gate_judge().
 */
int kl_rounds_run(struct kl_judgement **out, struct kl_rounds *rounds);
/** Remove the measurements of pair `i` from a store, so that the next session repeats them. */
int kl_rounds_forget(const char *store, size_t i, size_t rounds);

#endif
