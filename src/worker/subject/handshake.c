/* SPDX-License-Identifier: Apache-2.0 */
/* handshake - measures empty calls, and subtracts their time from that of a call */
#include <stdlib.h>

#include "base/error.h"
#include "worker/subject/subject_state.h"

#define US 1000LL

/*
 * Number of empty calls that measure the handshake. Their lower quartile is used, because other
 * load on the machine only adds time.
 */
#define EMPTY_CALLS 17
#define STOLEN_SHARE 4 /* processor time below 1/4 of the wall time is not trusted */
/*
 * Upper limits of the measured handshake. A longer time comes from other work on the processors and
 * must not be subtracted from a call's time. The jitter is also the most that a kernel can gain in
 * one call by writing `done` early; the profile adds this gain back (measure/lateness.h).
 */
#define MOST_HANDSHAKE_NS (3 * US)
#define MOST_TRAP_NS (50 * US)
#define MOST_JITTER_NS US

/*
 * A kernel can write `done` early, but cannot reach the trap early. So if the trap comes later
 * after `done` than in an empty call, the difference, less the jitter, is part of the call's time.
 * Conversely, a call took no longer than the processor time it used: if the clock shows a longer
 * time, the child or its parent had to wait for a processor.
 */
void kl_handshake_take(const struct kl_cpu_subject *subject, const struct kl_times *times,
		       struct kl_call *out)
{
	int64_t ns = times->done - times->go - subject->empty_done;
	int64_t late = times->trap - times->go - subject->empty_trap - ns;

	if (!subject->traced)
		late = 0;
	if (late > subject->jitter)
		ns += late - subject->jitter;
	out->late_ns = late < subject->jitter ? late : subject->jitter;
	out->wall_ns = ns > 0 ? ns : 0;
	out->used_ns = times->used;
	if (times->used >= 0 && ns > times->used) {
		out->disturbed = ns > times->used + subject->jitter + times->used / 256;
		/*
		 * In a virtual machine, time stolen by the host is charged to the process that runs
		 * when the theft is noticed. So processor time that is far less than wall time does
		 * not show how long the call took.
		 */
		if (times->used >= ns / STOLEN_SHARE && !subject->threads.n)
			ns = times->used;
	}
	out->ns = ns > 0 ? ns : 0;
}

static int compare_doubles(const void *left, const void *right)
{
	double x = *(const double *)left, y = *(const double *)right;

	return (x > y) - (x < y);
}

static int64_t at_most(int64_t value, int64_t most)
{
	return value < most ? value : most;
}

int kl_handshake_measure(struct kl_cpu_subject *subject)
{
	double done[EMPTY_CALLS], trap[EMPTY_CALLS];
	int n = subject->precise ? EMPTY_CALLS : 3;
	struct kl_times times;
	struct kl_call out;

	for (int i = 0; i < n; i++) {
		if (!kl_call_once(subject, KL_WIRE_EMPTY, &times, &out))
			return subject->control->why[0] ?
				       kl_outcome_not_sealed(subject) :
				       kl_error(KL_ECANNOT, "an empty call failed: %s", out.what);
		done[i] = (double)(times.done - times.go);
		trap[i] = (double)(times.trap - times.go);
	}
	qsort(done, (size_t)n, sizeof(*done), compare_doubles);
	qsort(trap, (size_t)n, sizeof(*trap), compare_doubles);
	subject->empty_done = at_most((int64_t)done[n / 4], MOST_HANDSHAKE_NS);
	subject->empty_trap = at_most((int64_t)trap[n / 4], MOST_TRAP_NS);
	subject->jitter = at_most((int64_t)trap[n * 9 / 10] - subject->empty_trap + 500,
				  MOST_JITTER_NS);
	return 0;
}
