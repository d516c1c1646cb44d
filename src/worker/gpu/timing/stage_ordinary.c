/* SPDX-License-Identifier: Apache-2.0 */
/* stage_ordinary - times ordinary calls by events, by two clocks and by do_bench; judges answers */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "worker/gpu/timing/stage_parts.h"
#include "worker/measure/profile_failure.h"

/*
 * A slope is the time that one more call takes, computed from runs of n and of 2n calls. A run of n
 * calls takes about SLOPE_NS, but n is at most SLOPE_CALLS. The shortest of SLOPE_ROUNDS runs
 * counts. Other load on the machine makes some slopes wrong, so a slope is measured up to
 * SLOPE_TRIES times.
 */
#define SLOPE_NS 2e6
#define SLOPE_CALLS 60
#define SLOPE_ROUNDS 5
#define SLOPE_TRIES 3
/*
 * A candidate fails if a call that finds memory as an earlier call left it takes less than this
 * share of the time of a call that finds cleaned (poisoned and overwritten) memory. The share was
 * measured as 0.91 to 1.05 for kernels that did the same work in both calls, and 0.06 to 0.33 for
 * kernels that did less.
 */
#define LEAST_SHARE 0.55
/*
 * The candidate fails only if such a call is also shorter by more than this many ns, since a
 * smaller difference can be noise of the launch.
 */
#define LEAST_MISSING_NS 3000.0
/*
 * If ordinary calls take less than this share of the profile's time, calls that find cleaned memory
 * are measured again, at the same clocks and load, and the ordinary calls are compared with them.
 */
#define DOUBTED_SHARE 0.75
/* Number of pairs of sets that exchange their inputs between two runs. */
#define PAIRS 4
/*
 * Maximum number of answers of a run to compare in full if the contract does not require equal
 * bits.
 */
#define FULL_COMPARISONS 8
/*
 * take_outside() makes runs of OUTSIDE_CALLS calls and of twice as many. Enqueueing one call can
 * take OUTSIDE_NS.
 */
#define OUTSIDE_CALLS 12
#define OUTSIDE_NS 60000.0
#define OUTSIDE_TRIES 5
#define OUTSIDE_ROUNDS 15 /* only 1 round if calls are slow */
#define BENCH_NS 2.5e8
#define BENCH_ZERO_NS 1.5e5
#define BENCH_CALLS 100
#define BENCH_WARM 25

struct slope {
	double wall_ns, event_ns;
	double spread_ns; /* per call: median minus least time of a round, by the host's clock */
	double error_ns;  /* error of `event_ns` */
};

/* Return the number of rounds: 1 for slow calls, for which disturbances are negligible. */
static uint32_t count_rounds(const struct kl_gpu_time *timing)
{
	return timing->known[KL_BLOCKS_CANDIDATE].ns > KL_GPU_DEAR_NS ? 1 : SLOPE_ROUNDS;
}

/* -- making and judging a run of ordinary calls ------------------------------------------------ */

/* Judge the answers that a run left in the sets. */
static int judge_left(struct kl_gpu_time *timing, int who, const struct kl_gpu_time_ran *ran)
{
	const struct kl_gpu_known *known = kl_gpu_time_known(timing, who);
	uint32_t from = ran->nprint ? (uint32_t)kl_rng_below(&timing->order, ran->nprint) : 0;
	int err, full = 0;

	for (uint32_t i = 0; i < ran->nprint; i++) {
		uint32_t set = (from + i) % ran->nprint;
		uint32_t member = kl_gpu_timer_holds(timing->timer, who, set);

		if (memcmp(known->print[member], ran->print[set], sizeof(ran->print[set])) &&
		    full++ >= FULL_COMPARISONS && !timing->job->deterministic)
			continue;
		if ((err = kl_gpu_time_judge(timing, who, set, ran->print[set])) ||
		    !timing->there[who])
			return err;
	}
	return 0;
}

/*
 * Make a run of the candidate and judge its end and its answers. *took is the time in ns until the
 * reply came.
 */
static int run_judged(struct kl_gpu_time *timing, uint32_t calls, uint32_t look, bool poison,
		      struct kl_gpu_time_ran *ran, double *took)
{
	int64_t from = kl_clock_ns();
	int err = kl_gpu_timer_run(timing->timer, KL_BLOCKS_CANDIDATE, calls, look, poison,
				   kl_rng_u64(&timing->poison), ran);

	*took = (double)(kl_clock_ns() - from);
	if (err < 0)
		return err;
	if (ran->how.end != KL_GPU_CALL_OK)
		return kl_gpu_time_bad_end(timing, KL_BLOCKS_CANDIDATE, &ran->how, ran->r.message,
					   0);
	return judge_left(timing, KL_BLOCKS_CANDIDATE, ran);
}

/*
 * Exchange the inputs of neighbouring sets, so that the answer which an earlier call left in the
 * outputs is wrong for the new inputs.
 */
static int exchange_inputs(struct kl_gpu_time *timing, int who, uint32_t pairs)
{
	uint32_t n = (uint32_t)timing->timer->nset, from;
	int err = 0;

	if (n < 2)
		return 0;
	from = pairs > 1 ? (uint32_t)kl_rng_below(&timing->order, n) : 0;
	for (uint32_t i = 0; i < pairs && i < n / 2 && err == 0; i++)
		err = kl_gpu_timer_exchange(timing->timer, who, (from + 2 * i) % n,
					    (from + 2 * i + 1) % n);
	return err;
}

/* -- measuring the slope ----------------------------------------------------------------------- */

static double least_of(const double *values, uint32_t n)
{
	double least = values[0];

	for (uint32_t i = 1; i < n; i++)
		least = fmin(least, values[i]);
	return least;
}

static int take_slope(struct kl_gpu_time *timing, struct slope *slope)
{
	double ns = fmax(timing->known[KL_BLOCKS_CANDIDATE].ns, 1000), took;
	double wall[2][SLOPE_ROUNDS], device[2][SLOPE_ROUNDS]; /* [0]: n calls, [1]: 2n */
	uint32_t calls = (uint32_t)fmax(ns > KL_GPU_DEAR_NS ? 1 : 2,
					fmin(SLOPE_CALLS, SLOPE_NS / ns));
	uint32_t rounds = count_rounds(timing);
	struct kl_gpu_time_ran ran;
	int err;

	for (uint32_t i = 0; i < rounds; i++)
		for (int k = 1; k >= 0; k--) {
			if ((i || !k) &&
			    (err = exchange_inputs(timing, KL_BLOCKS_CANDIDATE, PAIRS)) < 0)
				return err;
			if ((err = run_judged(timing, calls << k, 0, !i && k, &ran, &took)))
				return err;
			if (k && ran.calls < 2 * calls)
				calls = ran.calls > 1 ? ran.calls / 2 : 1;
			wall[k][i] = ran.wall_ns;
			device[k][i] = ran.event_ns;
		}
	slope->wall_ns = (least_of(wall[1], rounds) - least_of(wall[0], rounds)) / calls;
	slope->event_ns = (least_of(device[1], rounds) - least_of(device[0], rounds)) / calls;
	slope->error_ns = 2 * KL_GPU_EVENT_NS / calls;
	slope->spread_ns = (kl_stats_median(wall[1], rounds) - least_of(wall[1], rounds)) / calls;
	return 0;
}

/* -- calls that are too short ------------------------------------------------------------------ */

/*
 * Set *is to true if ordinary calls, which took `ns` each (with error `error_ns`), took much less
 * time than calls that find cleaned memory. Measure the latter into *cleaned now, so that clocks
 * and load are the same for both kinds of calls, and with inputs in the L2 cache, because ordinary
 * calls can find their inputs there.
 */
static int is_short(struct kl_gpu_time *timing, const json_t *at, double ns, double error_ns,
		    double *cleaned, bool *is)
{
	double known = (double)kl_json_int_or(at, "ns", 0), missing;
	size_t most = timing->timer->nset - 1, calls = timing->calls < most ? timing->calls : most;
	int err;

	*is = false;
	if (ns >= DOUBTED_SHARE * known - KL_GPU_EVENT_NS || most < 1)
		return 0;
	timing->hot = true;
	err = kl_gpu_time_measure(timing, KL_BLOCKS_CANDIDATE, timing->batch, calls, cleaned);
	timing->hot = timing->point->hot;
	error_ns += timing->batch ? KL_GPU_EVENT_NS / (double)timing->timer->nset : KL_GPU_EVENT_NS;
	if (err)
		return err;
	missing = *cleaned - ns;
	*is = ns < LEAST_SHARE * (*cleaned) - error_ns && missing > LEAST_MISSING_NS;
	return 0;
}

static int fail_short(struct kl_gpu_time *timing, double ns, double cleaned)
{
	return kl_profile_fail(
		timing->result, "cheat",
		"a call at '%s' takes %.0f ns if memory is as the last call left it, and %.0f ns "
		"if memory was cleaned, so the two calls do not do the same work",
		timing->point->id, ns, cleaned);
}

/* -- comparing the slope with the times of the profile ----------------------------------------- */

static void report_slope(struct kl_gpu_time *timing, json_t *at, const struct slope *slope,
			 bool longer)
{
	if (slope->wall_ns > 0)
		kl_json_set_int(at, "slope_ns", llround(slope->wall_ns));
	if (longer || fabs(slope->wall_ns - slope->event_ns) >
			      0.05 * slope->event_ns + KL_GPU_EVENT_NS + slope->spread_ns)
		kl_blocks_note(timing->notes,
			       "%s: each further call takes %.0f ns on the host's clock, but %.0f "
			       "ns between events",
			       timing->point->id, slope->wall_ns, slope->event_ns);
	if (longer) {
		kl_json_set_str(timing->result, "status", "inconclusive");
		kl_json_set_str(timing->result, "message",
				"cannot time a call, because it takes longer on the host's clock "
				"than between events");
	}
}

int kl_gpu_time_cross_check(struct kl_gpu_time *timing, json_t *at)
{
	struct slope slope;
	double cleaned = 0;
	bool longer = true, shorter = true;
	int err;

	for (int i = 0; i < SLOPE_TRIES && (longer || shorter); i++) {
		if ((err = take_slope(timing, &slope)) ||
		    (err = is_short(timing, at, slope.event_ns, slope.error_ns, &cleaned,
				    &shorter)))
			return err;
		longer = slope.wall_ns - slope.spread_ns > 1.15 * slope.event_ns + KL_GPU_EVENT_NS;
	}
	if (shorter)
		return fail_short(timing, slope.event_ns, cleaned);
	report_slope(timing, at, &slope, longer);
	return 0;
}

/* -- host code: times by the worker's clock ---------------------------------------------------- */

/*
 * Measure the time of one more call by the worker's clock, from pairs of requests that differ only
 * in their number of calls, n and 2n. The GPU process could report a shorter time, but it cannot
 * reply before the work is done.
 */
static int take_outside(struct kl_gpu_time *timing, uint32_t calls, uint32_t times, double *ns)
{
	uint32_t nset = (uint32_t)timing->timer->nset, look = 2 * calls < nset ? 2 * calls : nset;
	double took[2][OUTSIDE_ROUNDS];
	uint32_t made[2] = { 0 };
	struct kl_gpu_time_ran ran;
	int err;

	*ns = NAN;
	for (uint32_t i = 0; i < times; i++)
		for (int k = 1; k >= 0; k--) {
			if ((err = run_judged(timing, calls << k, look, false, &ran, &took[k][i])))
				return err;
			made[k] = ran.calls;
		}
	if (made[1] > made[0])
		*ns = (least_of(took[1], times) - least_of(took[0], times)) / (made[1] - made[0]);
	return 0;
}

/*
 * Host code could manipulate the times that its own process reports, but not the worker's clock. A
 * time by the worker's clock includes the time to enqueue the call, so it may be longer by
 * OUTSIDE_NS.
 */
int kl_gpu_time_check_outside(struct kl_gpu_time *timing, json_t *at)
{
	double claimed = timing->known[KL_BLOCKS_CANDIDATE].ns, ns = INFINITY,
	       most = 1.25 * claimed + OUTSIDE_NS;
	uint32_t calls = claimed > KL_GPU_DEAR_NS ? 1 : OUTSIDE_CALLS;

	if (!timing->job->host || !(claimed > 0))
		return 0;
	/* try again: a delay by the scheduler does not occur in every attempt */
	for (int i = 0; i < OUTSIDE_TRIES && ns > most; i++) {
		int err = take_outside(timing, calls, count_rounds(timing) > 1 ? OUTSIDE_ROUNDS : 1,
				       &ns);

		if (err)
			return err;
	}
	if (!(ns > 0))
		return 0;
	kl_json_set_int(at, "outside_ns", llround(ns));
	if (ns <= most)
		return 0;
	return kl_profile_fail(timing->result, "cheat",
			       "a call at '%s' takes %.0f ns on the worker's clock, but %.0f ns "
			       "according to its process",
			       timing->point->id, ns, claimed);
}

/* -- do_bench ---------------------------------------------------------------------------------- */

/*
 * Judge the answers of do_bench's calls. The last answer is still in the outputs and can be
 * compared in full. Of the other answers only the fingerprints are left: if the contract requires
 * equal bits, each must be the fingerprint of an answer that is known to be right.
 */
static int judge_bench(struct kl_gpu_time *timing, int who, uint32_t calls,
		       const struct kl_gpu_time_benched *benched)
{
	const struct kl_gpu_known *known = kl_gpu_time_known(timing, who);
	uint32_t member = kl_gpu_timer_holds(timing->timer, who, 0);
	int err = kl_gpu_time_judge(timing, who, 0, benched->print[calls]);

	if (err || !timing->there[who] || !timing->job->deterministic || who == KL_BLOCKS_BASELINE)
		return err;
	for (uint32_t i = 0; i < calls; i++)
		if (memcmp(known->print[member], benched->print[i], sizeof(benched->print[i])))
			return kl_gpu_time_fickle(timing, who, 0);
	return 0;
}

/* Make a part of do_bench's calls, and append their times to the *n times in `ns`. */
static int bench_part(struct kl_gpu_time *timing, int who, uint32_t warm, uint32_t calls,
		      double *ns, size_t *n)
{
	struct kl_gpu_time_benched benched;
	int err = kl_gpu_timer_bench(timing->timer, who, warm, calls, warm != 0,
				     kl_rng_u64(&timing->poison), &benched);

	if (err < 0)
		return err;
	if (benched.how.end != KL_GPU_CALL_OK)
		return kl_gpu_time_bad_end(timing, who, &benched.how, benched.r.message, 0);
	for (uint32_t i = 0; i < calls; i++)
		ns[(*n)++] = benched.ns[i];
	err = judge_bench(timing, who, calls, &benched);
	return err || !timing->there[who] ? err : exchange_inputs(timing, who, 1);
}

/* Measure the median time of do_bench's calls; NAN if `who` is no longer compared. */
static int take_bench(struct kl_gpu_time *timing, int who, double *median)
{
	double ns = fmax(timing->known[who].ns, 1000), took[BENCH_CALLS];
	/* make at least five calls, but only one if the kernel is very slow, as Triton does */
	double least = ns > BENCH_NS ? 1 : 5;
	uint32_t calls = (uint32_t)fmax(least, fmin(BENCH_CALLS, BENCH_NS / (ns + BENCH_ZERO_NS)));
	uint32_t warm = (uint32_t)fmax(1, fmin(BENCH_WARM, BENCH_NS / 4 / ns)), part;
	size_t n = 0;
	int err = bench_part(timing, who, warm, 0, took, &n);

	*median = NAN;
	for (uint32_t left = calls; left && !err && timing->there[who]; left -= part) {
		part = left < KL_GPU_TIME_CALLS ? left : KL_GPU_TIME_CALLS;
		err = bench_part(timing, who, 0, part, took, &n);
	}
	if (!err && timing->there[who])
		*median = kl_stats_median(took, n);
	return err;
}

int kl_gpu_time_bench(struct kl_gpu_time *timing, json_t *at, int who)
{
	json_t *into = kl_gpu_time_place(timing, at, who);
	double median, cleaned = 0;
	bool shorter = false;
	int err;

	if (!into || !kl_gpu_timer_alive(timing->timer))
		return 0;
	err = take_bench(timing, who, &median);
	if (who != KL_BLOCKS_CANDIDATE && err == KL_GPU_AGAIN_WITHOUT)
		return 0; /* no need to profile again: the comparison with `who` is complete */
	if (!err && who == KL_BLOCKS_CANDIDATE &&
	    !(err = is_short(timing, at, median, KL_GPU_EVENT_NS, &cleaned, &shorter)) && shorter)
		return fail_short(timing, median, cleaned);
	if (!err && median > 0)
		kl_json_set_int(into, "do_bench_ns", llround(median));
	return err;
}
