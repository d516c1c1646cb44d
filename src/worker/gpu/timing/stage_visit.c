/* SPDX-License-Identifier: Apache-2.0 */
/* stage_visit - makes a visit of the GPU profile and judges its answers */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/stats.h"
#include "worker/compare/compare.h"
#include "worker/gpu/timing/stage_parts.h"
#include "worker/measure/profile_failure.h"
#include "worker/measure/replay.h"

/*
 * Number of batches in a measurement. Kernels that take less than VERY_BRIEF_NS get MORE_BATCHES,
 * because the error of an event is a larger share of their time.
 */
#define BATCHES 4
#define MORE_BATCHES 10
#define VERY_BRIEF_NS 6000.0

static bool is_candidate(int who)
{
	return who == KL_BLOCKS_CANDIDATE || who == KL_BLOCKS_AGAIN;
}

struct kl_gpu_known *kl_gpu_time_known(struct kl_gpu_time *timing, int who)
{
	return &timing->known[who == KL_BLOCKS_AGAIN && !timing->job->host ? KL_BLOCKS_CANDIDATE :
									     who];
}

static int drop_side(struct kl_gpu_time *timing, int who, const char *why)
{
	kl_blocks_note(timing->notes, "%s is not compared: %s", kl_gpu_timer_what(timing->job, who),
		       why);
	timing->there[who] = timing->blocks.subject[who].there = false;
	return kl_gpu_timer_alive(timing->timer) ? 0 : KL_GPU_AGAIN_WITHOUT;
}

/* -- judging answers ----------------------------------------------------------------- */

static const struct kl_member *member_of(const struct kl_gpu_time *timing, int who, uint32_t set)
{
	return timing->timer->member[kl_gpu_timer_holds(timing->timer, who, set)];
}

void kl_gpu_time_describe_end(struct kl_call *out, const struct kl_gpu_time_end *how,
			      const char *message)
{
	const char *in = *how->kernel ? " in " : "";

	*out = (struct kl_call){ .end = KL_CALL_FAULT };
	switch (how->end) {
	case KL_GPU_CALL_HANG:
		out->end = KL_CALL_HANG;
		snprintf(out->what, sizeof(out->what), "did not end in time");
		break;
	case KL_GPU_CALL_REFUSED:
		out->end = KL_CALL_LAUNCH;
		snprintf(out->what, sizeof(out->what), "could not be launched: %s%s%.100s",
			 how->name, in, how->kernel);
		break;
	case KL_GPU_CALL_SCRATCH:
		snprintf(out->what, sizeof(out->what), "%.180s", message);
		break;
	default:
		snprintf(out->what, sizeof(out->what), "ended with %s%s%.100s", how->name, in,
			 how->kernel);
		break;
	}
}

int kl_gpu_time_bad_end(struct kl_gpu_time *timing, int who, const struct kl_gpu_time_end *how,
			const char *message, uint32_t set)
{
	struct kl_call call;

	kl_gpu_time_describe_end(&call, how, message);
	if (is_candidate(who))
		return kl_profile_fail_end(timing->result, timing->job, member_of(timing, who, set),
					   &call);
	return drop_side(timing, who, call.what);
}

/* Compare the answer with the truth. */
static int compare_answer(struct kl_gpu_time *timing, int who, uint32_t set)
{
	const struct kl_member *member = member_of(timing, who, set), *kept;
	const void *got[KL_MAX_ARGS] = { NULL };
	struct kl_mismatch mismatch = { .out = -1 };
	int err = kl_gpu_timer_answer(timing->timer, set, got);

	if (err < 0)
		return err;
	err = kl_compare(&mismatch, timing->job, member, got);
	if (err == KL_EINVALID)
		return err;
	if (mismatch.out < 0)
		return 0;
	if (!is_candidate(who))
		return drop_side(timing, who, mismatch.why);
	kept = kl_replay_of(timing->job, member, timing->timer->member, timing->timer->nmember,
			    got);
	return kl_profile_fail_wrong(timing->result, timing->job, member, &mismatch, kept);
}

int kl_gpu_time_fickle(struct kl_gpu_time *timing, int who, uint32_t set)
{
	static const char why[] = "timed calls on the same input gave outputs with different bits";

	kl_profile_fail(timing->result, "nondeterministic", "%s", why);
	kl_profile_describe(timing->result, timing->job, member_of(timing, who, set), NULL, why);
	return KL_PROFILE_FAILED;
}

/*
 * A right answer fails the candidate, too, if the contract requires equal bits and an earlier right
 * answer to the same input has other bits.
 */
int kl_gpu_time_judge(struct kl_gpu_time *timing, int who, uint32_t set, const uint64_t print[2])
{
	struct kl_gpu_known *known = kl_gpu_time_known(timing, who);
	size_t member = kl_gpu_timer_holds(timing->timer, who, set);
	int err;

	if (known->judged[member] &&
	    !memcmp(known->print[member], print, sizeof(known->print[member])))
		return 0;
	if ((err = compare_answer(timing, who, set)) || !timing->there[who])
		return err;
	if (known->judged[member] && timing->job->deterministic && is_candidate(who))
		return kl_gpu_time_fickle(timing, who, set);
	memcpy(known->print[member], print, sizeof(known->print[member]));
	known->judged[member] = true;
	return 0;
}

/* -- making a visit --------------------------------------------------------------------- */

static enum kl_gpu_time_mode mode_of(const struct kl_gpu_time *timing, bool batch)
{
	if (batch)
		return timing->hot ? KL_GPU_TIME_BATCH_HOT : KL_GPU_TIME_BATCH_COLD;
	return timing->hot ? KL_GPU_TIME_HOT : KL_GPU_TIME_COLD;
}

static int below_floor(struct kl_gpu_time *timing, double ns)
{
	return kl_profile_fail(timing->result, "cheat",
			       "%.0f ns at '%s' is below the physical floor of %.0f ns, so the "
			       "work cannot have been done",
			       ns, timing->point->id, timing->floor_ns);
}

static void note_clock(struct kl_gpu_time *timing, int who, double mhz)
{
	struct kl_gpu_known *known = &timing->known[who];

	if (!(mhz > 0))
		return;
	known->mhz += mhz;
	known->nmhz++;
}

/*
 * Judge a visit's answers. *ns is the median time of a call; NAN if the host was late for all
 * calls.
 */
static int take_visit(struct kl_gpu_time *timing, int who, const uint32_t *which,
		      const struct kl_gpu_time_visited *visited, double *ns)
{
	double valid[KL_GPU_TIME_CALLS], least = INFINITY;
	size_t n = 0;
	int err;

	*ns = NAN;
	if (visited->how.end != KL_GPU_CALL_OK)
		return kl_gpu_time_bad_end(timing, who, &visited->how, visited->r.message,
					   which[0]);
	for (uint32_t i = 0; i < visited->ncall; i++)
		if ((err = kl_gpu_time_judge(timing, who, which[i], visited->print[i])) ||
		    !timing->there[who])
			return err;
	for (uint32_t i = 0; i < visited->ntime; i++)
		if (visited->ns[i] > 0)
			valid[n++] = visited->ns[i];
	timing->late += (int)(visited->ntime - n);
	note_clock(timing, who, visited->mhz);
	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		least = fmin(least, valid[i]);
	if (is_candidate(who) && least + KL_GPU_EVENT_NS < timing->floor_ns)
		return below_floor(timing, least);
	*ns = kl_stats_median(valid, n);
	return 0;
}

int kl_gpu_time_visit(struct kl_gpu_time *timing, int who, bool batch, const uint32_t *which,
		      size_t n, uint32_t warm, double *ns)
{
	struct kl_gpu_time_visited visited;
	int err = kl_gpu_timer_visit(timing->timer, who, mode_of(timing, batch), which, n, warm,
				     kl_rng_u64(&timing->poison), &visited);

	return err < 0 ? err : take_visit(timing, who, which, &visited, ns);
}

/* Put all sets in random order. The caller uses the last set for warm-up calls. */
static void draw_order(struct kl_gpu_time *timing, uint32_t order[KL_GPU_TIME_CALLS])
{
	size_t n = timing->timer->nset;

	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	kl_rng_shuffle(&timing->order, order, n, sizeof(*order));
}

/*
 * Make one visit; repeat it while the host is late for all calls. Return KL_ECANNOT after too many
 * repeats.
 */
static int visit_in_time(struct kl_gpu_time *timing, int who, bool batch, size_t calls, double *ns)
{
	uint32_t order[KL_GPU_TIME_CALLS];
	size_t n = timing->timer->nset;
	int err;

	for (int i = 0; i < 5; i++) {
		draw_order(timing, order);
		err = kl_gpu_time_visit(timing, who, batch, order, batch ? n : calls, order[n - 1],
					ns);
		if (err || !isnan(*ns) || !timing->there[who])
			return err;
	}
	return kl_error(KL_ECANNOT, "the host is too slow to enqueue calls in time");
}

int kl_gpu_time_measure(struct kl_gpu_time *timing, int who, bool batch, size_t calls, double *ns)
{
	double one[MORE_BATCHES];
	int n = !batch                                                ? 1 :
		timing->known[KL_BLOCKS_CANDIDATE].ns < VERY_BRIEF_NS ? MORE_BATCHES :
									BATCHES,
	    err;

	*ns = NAN;
	for (int i = 0; i < n; i++)
		if ((err = visit_in_time(timing, who, batch, calls, &one[i])) ||
		    !timing->there[who])
			return err;
	*ns = kl_stats_median(one, (size_t)n);
	return 0;
}
