/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_QUIET_H
#define KL_BASE_QUIET_H

#include <stdbool.h>
#include <stdint.h>

/*
 * quiet - measures whether the machine is quiet enough to measure a kernel on. The load tells how
 * many programs want to run, but not how much they disturb a measurement. Therefore the same piece
 * of work is timed repeatedly, and the times are divided into two halves, which are compared with
 * each other (an A/A test).
 */
struct kl_quiet {
	/* how far the interval of the ratio between the two halves reaches from 1, in millionths */
	int64_t noise_ppm;
	/* share of the time, in millionths, in which this thread had no processor */
	int64_t lost_ppm;
	/* load average of the last minute, as getloadavg(3) gives it; -1 if unknown */
	double load;
};

/* The machine counts as quiet if neither `noise_ppm` nor `lost_ppm` is above this. */
#define KL_QUIET_PPM 20000

/** Measure how quiet the machine is, which takes some 200 ms. */
void kl_quiet_measure(struct kl_quiet *out);
static inline bool kl_quiet_is(const struct kl_quiet *quiet)
{
	return quiet->noise_ppm <= KL_QUIET_PPM && quiet->lost_ppm <= KL_QUIET_PPM;
}

#endif
