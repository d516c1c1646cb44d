/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quiet.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/stats.h"

#define PAIRS 32 /* number of pairs of times that are compared */
/* 64-bit words that the work reads and writes: 256 KiB, about the size of an L2 cache */
#define WORDS (1 << 15)
/* dependent steps of one piece of work, which takes some milliseconds */
#define STEPS 300000
#define MOST_PPM 1000000000 /* largest value of `noise_ppm` */

static volatile uint64_t sink;

/* Return the time for which this thread had a processor, in ns. */
static int64_t processor_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Do a fixed piece of work, and return the logarithm of its time in ns. */
static double time_work(uint64_t *memory)
{
	int64_t start = kl_clock_ns(), ns;
	uint64_t state = 88172645463325252;

	for (int i = 0; i < STEPS; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		memory[state % WORDS] += state;
	}
	sink = state;
	ns = kl_clock_ns() - start;
	return log((double)(ns > 0 ? ns : 1));
}

static int64_t reach_ppm(const struct kl_interval *interval)
{
	double reach = fmax(exp(interval->hi) - 1, 1 - exp(interval->lo));

	return reach * 1e6 < MOST_PPM ? llround(reach * 1e6) : MOST_PPM;
}

void kl_quiet_measure(struct kl_quiet *out)
{
	KL_AUTO(kl_freep) uint64_t *memory = kl_calloc(WORDS, sizeof(*memory));
	double ratio[PAIRS];
	struct kl_interval interval;
	int64_t start, had, took;

	time_work(memory); /* fill the caches; this time is not used */
	start = kl_clock_ns();
	had = processor_ns();
	for (size_t i = 0; i < PAIRS; i++) {
		double first = time_work(memory), second = time_work(memory);

		/* alternate, so that neither half always gets the later time of a pair */
		ratio[i] = i % 2 ? first - second : second - first;
	}
	took = kl_clock_ns() - start;
	had = processor_ns() - had;
	out->lost_ppm = took > had ? llround((double)(took - had) / (double)took * 1e6) : 0;
	interval = kl_stats_centre(ratio, PAIRS);
	out->noise_ppm = reach_ppm(&interval);
	if (getloadavg(&out->load, 1) != 1)
		out->load = -1;
}
