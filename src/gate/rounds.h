/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_ROUNDS_H
#define KL_GATE_ROUNDS_H

#include "gate/gate.h"

/*
 * rounds - measures many pairs of kernels in one session, so that their ratios are comparable. A
 * round measures every pair once, in a random order, as the gate does; the first round also judges
 * the kernels. What changes on the machine meanwhile meets all pairs alike, and shows as a
 * difference between rounds (event/pooled.h).
 *
 * Before each measurement the session waits until the machine is quiet (base/quiet.h). If the
 * measurement's own A/A shows that it was not, it is thrown away and made again. When the time for
 * waiting is spent, the session measures whatever the machine does.
 *
 * Each measurement is stored as soon as it is there. A session in the same store goes on where the
 * last one ended, even if that was killed.
 */
struct kl_rounds_pair {
	const struct kl_surface *candidate; /* borrowed */
	const struct kl_surface *parent;    /* borrowed; NULL: measured alone */
};

struct kl_rounds {
	struct kl_gate *gate; /* a session that runs its jobs on this machine */
	const struct kl_rounds_pair *pair;
	size_t n, rounds;
	const char *store;              /* an existing directory, of these pairs only */
	int64_t wait_ms;                /* how long to wait for a quiet machine, in all */
	struct kl_progress *progress;   /* borrowed, or NULL */
	size_t made, kept, busy, again; /* set: measurements; found in the store; noisy; repeated */
};

/**
 * Measure. `out` has an entry for each pair, to be freed by the caller also after an error. KL_EINTR:
 * interrupted; other errors as kl_gate_judge().
 */
int kl_rounds_run(struct kl_judgement **out, struct kl_rounds *rounds);
/** Remove the measurements of pair `i` from a store, so that they are made again. */
int kl_rounds_forget(const char *store, size_t i, size_t rounds);

#endif
