/* SPDX-License-Identifier: Apache-2.0 */
/* stage_figures - further figures of a GPU time: the host's clock, do_bench, the SM clock */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "worker/gpu/timing/stage_parts.h"
#include "worker/measure/profile_failure.h"

#define SLOPE_NS 2e6
#define SLOPE_CALLS 60
/* Calls of which twice as many fit behind one hold; time that enqueueing one call can take. */
#define OUTSIDE_CALLS 12
#define OUTSIDE_NS 60000.0
#define OUTSIDE_TRIES 5
#define BENCH_NS 2.5e8
#define BENCH_ZERO_NS 1.5e5
#define BENCH_CALLS 100
#define BENCH_WARM 25

/* On a machine with other load a measurement is sometimes slow, but not always. */
#define SLOPE_TRIES 3

/* Disturbances of the clock are negligible for slow calls. */
static uint32_t count_rounds(const struct kl_gpu_time *timing)
{
	return timing->known[KL_BLOCKS_CANDIDATE].ns > KL_GPU_DEAR_NS ? 1 :
									KL_GPU_TIME_SLOPE_ROUNDS;
}

int kl_gpu_time_cross_check(struct kl_gpu_time *timing, json_t *at)
{
	double ns = fmax(timing->known[KL_BLOCKS_CANDIDATE].ns, 1000);
	uint32_t calls = (uint32_t)fmax(ns > KL_GPU_DEAR_NS ? 1 : 2,
					fmin(SLOPE_CALLS, SLOPE_NS / ns));
	struct kl_gpu_time_sloped sloped;
	bool longer = true;
	int err;

	for (int i = 0; i < SLOPE_TRIES && longer; i++) {
		if ((err = kl_gpu_timer_slope(timing->timer, KL_BLOCKS_CANDIDATE, calls,
					      count_rounds(timing), &sloped)) < 0)
			return err;
		if (sloped.how.end != KL_GPU_CALL_OK)
			return 0;
		longer = sloped.wall_ns - sloped.spread_ns >
			 1.15 * sloped.event_ns + KL_GPU_EVENT_NS;
	}
	if (sloped.wall_ns > 0)
		kl_json_set_int(at, "slope_ns", llround(sloped.wall_ns));
	if (longer || fabs(sloped.wall_ns - sloped.event_ns) >
			      0.05 * sloped.event_ns + KL_GPU_EVENT_NS + sloped.spread_ns)
		kl_blocks_note(
			timing->notes,
			"%s: one more call takes %.0f ns by the clock, %.0f ns between events",
			timing->point->id, sloped.wall_ns, sloped.event_ns);
	if (longer) {
		kl_json_set_str(timing->result, "status", "inconclusive");
		kl_json_set_str(
			timing->result, "message",
			"by the clock a call takes longer than between events: it cannot be timed");
	}
	return 0;
}

/*
 * Host code could manipulate the times that its own process reports, but not the clock of this one.
 * That clock also includes the time to enqueue the calls, which only the GPU process could
 * separate.
 */
int kl_gpu_time_check_outside(struct kl_gpu_time *timing, json_t *at)
{
	double claimed = timing->known[KL_BLOCKS_CANDIDATE].ns, ns = INFINITY,
	       most = 1.25 * claimed + OUTSIDE_NS;
	uint32_t calls = claimed > KL_GPU_DEAR_NS ? 1 : OUTSIDE_CALLS;

	if (!timing->job->host || !(claimed > 0))
		return 0;
	/* scheduling delays do not repeat in every attempt */
	for (int i = 0; i < OUTSIDE_TRIES && ns > most; i++) {
		int err = kl_gpu_timer_outside(timing->timer, KL_BLOCKS_CANDIDATE, calls,
					       count_rounds(timing), &ns);

		if (err < 0)
			return err;
	}
	if (!(ns > 0))
		return 0;
	kl_json_set_int(at, "outside_ns", llround(ns));
	if (ns <= most)
		return 0;
	return kl_profile_fail(timing->result, "cheat",
			       "a call at '%s' takes %.0f ns by the worker's clock, but "
			       "its process says %.0f ns",
			       timing->point->id, ns, claimed);
}

/* The object in report `at` for the figures of a subject; NULL: none. */
static json_t *place_of(const struct kl_gpu_time *timing, json_t *at, int who)
{
	json_t *vs = json_object_get(at, "vs"), *entry;
	size_t i;

	if (!timing->there[who] || who == KL_BLOCKS_AGAIN)
		return NULL;
	if (who == KL_BLOCKS_CANDIDATE)
		return at;
	json_array_foreach(vs, i, entry)
		if (!strcmp(kl_json_str_or(entry, "what", ""), kl_gpu_timer_what(timing->job, who)))
			return entry;
	return NULL;
}

int kl_gpu_time_bench(struct kl_gpu_time *timing, json_t *at, int who)
{
	json_t *into = place_of(timing, at, who);
	double ns = fmax(timing->known[who].ns, 1000);
	/* at least one call of the slowest kernels, as Triton does */
	double least = ns > BENCH_NS ? 1 : 5;
	uint32_t calls = (uint32_t)fmax(least, fmin(BENCH_CALLS, BENCH_NS / (ns + BENCH_ZERO_NS)));
	uint32_t warm = (uint32_t)fmax(1, fmin(BENCH_WARM, BENCH_NS / 4 / ns));
	struct kl_gpu_time_benched benched;
	int err;

	if (!into)
		return 0;
	if ((err = kl_gpu_timer_bench(timing->timer, who, warm, calls, &benched)) < 0)
		return err;
	if (benched.how.end == KL_GPU_CALL_OK && benched.median_ns > 0)
		kl_json_set_int(into, "do_bench_ns", llround(benched.median_ns));
	return 0;
}

void kl_gpu_time_add_figures(struct kl_gpu_time *timing, json_t *at)
{
	kl_json_set_str(at, "by", timing->batch ? "batch" : "event");
	kl_json_set_int(at, "sets", (int64_t)timing->timer->nset);
	kl_json_set_int(at, "calls",
			(int64_t)(timing->batch ? timing->timer->nset : timing->calls));
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		const struct kl_gpu_known *known = &timing->known[who];
		json_t *into = place_of(timing, at, who);

		if (!into)
			continue;
		if (known->nmhz)
			kl_json_set_int(into, "mhz", llround(known->mhz / (double)known->nmhz));
		if (timing->batch && timing->single_ns[who] > 0)
			kl_json_set_int(into, "single_ns", llround(timing->single_ns[who]));
		if (who == KL_BLOCKS_BASELINE && *timing->timer->library)
			kl_json_set_str(into, "library", timing->timer->library);
	}
}

void kl_gpu_time_note_clocks(struct kl_gpu_time *timing)
{
	static const struct {
		int64_t reason;
		const char *text;
	} known[] = {
		{ KL_GPU_CLOCK_SW_POWER, "clocks were held back by the power limit" },
		{ KL_GPU_CLOCK_HW_SLOWDOWN | KL_GPU_CLOCK_HW_BRAKE,
		  "the hardware held its clocks back" },
		{ KL_GPU_CLOCK_SW_THERMAL | KL_GPU_CLOCK_HW_THERMAL,
		  "clocks were held back by heat" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (timing->reasons & known[i].reason)
			kl_blocks_note(timing->notes, "%s: %s", timing->point->id, known[i].text);
	if (timing->late)
		kl_blocks_note(timing->notes, "%s: %d calls did not count, the processor was late",
			       timing->point->id, timing->late);
}
