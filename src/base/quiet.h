/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_QUIET_H
#define KL_BASE_QUIET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * quiet - measures whether the machine is quiet enough to measure a kernel on. The load tells how
 * many programs want to run, not how much they disturb a measurement; so the same piece of work is
 * timed again and again, and two halves of these times, taken in turns, are compared (A/A).
 */
struct kl_quiet {
	int64_t noise_ppm; /* how far the interval of one half against the other reaches from 1 */
	int64_t lost_ppm;  /* share of the time in which another program had the processor */
	double load;       /* mean number of programs that ran in the last minute; -1: unknown */
};

/* Greatest A/A, and greatest share lost, at which a machine counts as quiet. */
#define KL_QUIET_PPM 20000

/** Measure for some 200 ms. */
void kl_quiet_measure(struct kl_quiet *out);
static inline bool kl_quiet_is(const struct kl_quiet *quiet)
{
	return quiet->noise_ppm <= KL_QUIET_PPM && quiet->lost_ppm <= KL_QUIET_PPM;
}

#endif
