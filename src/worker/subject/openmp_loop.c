/* SPDX-License-Identifier: Apache-2.0 */
/* openmp_loop - the functions of OpenMP for loops and sections */
#include <stddef.h>

#include "worker/subject/openmp.h"

/* -- chunks of iterations ---------------------------------------------------- */

/* Take the next chunk: iterations *from to *to - 1. Return false if there is none. */
static bool take_chunk(struct kl_member *member, uint64_t *from, uint64_t *to)
{
	struct kl_share *share = member->share;
	uint64_t size = member->team->size, at, n = share->chunk;

	if (share->schedule == KL_SCHEDULE_STATIC) {
		member->turn = member->trip++ * size + member->id;
		at = member->turn >= share->count ? share->count : member->turn * n;
	} else if (share->schedule == KL_SCHEDULE_DYNAMIC) {
		at = __atomic_load_n(&share->next, __ATOMIC_RELAXED);
		if (at < share->count)
			at = __atomic_fetch_add(&share->next, n, __ATOMIC_RELAXED);
		member->turn = at / n;
	} else {
		at = __atomic_load_n(&share->next, __ATOMIC_RELAXED);
		do {
			n = at < share->count ? (share->count - at + size - 1) / size : 0;
			n = n < share->chunk ? share->chunk : n;
		} while (at < share->count &&
			 !__atomic_compare_exchange_n(&share->next, &at, at + n, false,
						      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	}
	if (at >= share->count)
		return false;
	*from = at;
	*to = share->count - at < n ? share->count : at + n;
	return true;
}

/*
 * Take the next chunk as take_chunk() does, but return values of the loop's counter: the first one,
 * and the one to stop before.
 */
static bool next_values(uint64_t *first, uint64_t *stop)
{
	struct kl_member *member = kl_team_self();
	const struct kl_share *share = member->share;
	uint64_t from, to;

	if (!take_chunk(member, &from, &to))
		return false;
	*first = share->start + from * share->step;
	*stop = to == share->count ? share->end : share->start + to * share->step;
	return true;
}

static void begin_loop(const struct kl_loop *loop)
{
	struct kl_member *member = kl_team_self();

	if (!kl_share_enter(member))
		return;
	kl_share_describe(member->share, loop, member->team->size);
	kl_share_opened(member);
}

/* -- ordered loops ------------------------------------------------------------- */

/* Wait until all chunks before this thread's are done. */
static void await_turn(const struct kl_member *member)
{
	struct kl_share *share = member->share;
	uint32_t turn;

	while ((turn = __atomic_load_n(&share->turn, __ATOMIC_ACQUIRE)) != (uint32_t)member->turn)
		kl_team_await(&share->turn, turn, &share->turn_waits);
}

static void start_ordered(void)
{
	await_turn(kl_team_self());
}

static void end_ordered(void)
{
}

static bool first_ordered(const struct kl_loop *loop, uint64_t *first, uint64_t *stop)
{
	begin_loop(loop);
	return next_values(first, stop);
}

/* Let the next chunk run its ordered regions, since this thread has finished its own. */
static bool next_ordered(uint64_t *first, uint64_t *stop)
{
	const struct kl_member *member = kl_team_self();
	struct kl_share *share = member->share;

	await_turn(member);
	__atomic_add_fetch(&share->turn, 1, __ATOMIC_SEQ_CST);
	kl_team_changed(&share->turn, &share->turn_waits);
	return next_values(first, stop);
}

/* -- loops --------------------------------------------------------------------- */

static struct kl_loop signed_loop(enum kl_schedule schedule, long start, long end, long step,
				  long chunk)
{
	struct kl_loop loop = {
		(uint64_t)start, (uint64_t)end, (uint64_t)step, 0, chunk > 0 ? (uint64_t)chunk : 0,
		schedule
	};

	if (step > 0 && start < end)
		loop.count = (loop.end - loop.start - 1) / loop.step + 1;
	else if (step < 0 && start > end)
		loop.count = (loop.start - loop.end - 1) / -loop.step + 1;
	return loop;
}

static struct kl_loop unsigned_loop(enum kl_schedule schedule, bool up, uint64_t start,
				    uint64_t end, uint64_t step, uint64_t chunk)
{
	struct kl_loop loop = { start, end, step, 0, chunk, schedule };

	if (up && start < end)
		loop.count = (end - start - 1) / step + 1;
	else if (!up && start > end)
		loop.count = (start - end - 1) / -step + 1;
	return loop;
}

#define LOOP_START(name, schedule)                                                                \
	static bool name(long start, long end, long step, long chunk, uint64_t *first,            \
			 uint64_t *stop)                                                          \
	{                                                                                         \
		struct kl_loop loop = signed_loop(schedule, start, end, step, chunk);             \
                                                                                                  \
		return first_ordered(&loop, first, stop);                                         \
	}                                                                                         \
	static bool name##_ull(bool up, uint64_t start, uint64_t end, uint64_t step,              \
			       uint64_t chunk, uint64_t *first, uint64_t *stop)                   \
	{                                                                                         \
		struct kl_loop loop = unsigned_loop(schedule, up, start, end, step, chunk);       \
                                                                                                  \
		return first_ordered(&loop, first, stop);                                         \
	}                                                                                         \
	static void name##_parallel(void (*fn)(void *), void *data, unsigned threads, long start, \
				    long end, long step, long chunk, unsigned flags)              \
	{                                                                                         \
		struct kl_loop loop = signed_loop(schedule, start, end, step, chunk);             \
                                                                                                  \
		kl_openmp_region(fn, data, threads, &loop);                                       \
	}

LOOP_START(static_loop, KL_SCHEDULE_STATIC)
LOOP_START(dynamic_loop, KL_SCHEDULE_DYNAMIC)
LOOP_START(guided_loop, KL_SCHEDULE_GUIDED)

static bool runtime_loop(long start, long end, long step, uint64_t *first, uint64_t *stop)
{
	return static_loop(start, end, step, 0, first, stop);
}

static bool runtime_loop_ull(bool up, uint64_t start, uint64_t end, uint64_t step, uint64_t *first,
			     uint64_t *stop)
{
	return static_loop_ull(up, start, end, step, 0, first, stop);
}

static void runtime_loop_parallel(void (*fn)(void *), void *data, unsigned threads, long start,
				  long end, long step, unsigned flags)
{
	static_loop_parallel(fn, data, threads, start, end, step, 0, flags);
}

static void leave_loop(void)
{
	kl_share_leave(kl_team_self());
}

static void end_loop(void)
{
	struct kl_member *member = kl_team_self();

	kl_share_leave(member);
	kl_team_barrier(member->team);
}

/* -- sections: a dynamic loop from 1 to their number ------------------------------ */

static unsigned next_section(void)
{
	uint64_t first, stop;

	return next_values(&first, &stop) ? (unsigned)first : 0;
}

static unsigned start_sections(unsigned count)
{
	struct kl_loop loop = signed_loop(KL_SCHEDULE_DYNAMIC, 1, (long)count + 1, 1, 1);

	begin_loop(&loop);
	return next_section();
}

static void parallel_sections(void (*fn)(void *), void *data, unsigned threads, unsigned count,
			      unsigned flags)
{
	struct kl_loop loop = signed_loop(KL_SCHEDULE_DYNAMIC, 1, (long)count + 1, 1, 1);

	kl_openmp_region(fn, data, threads, &loop);
}

/* -- their names ------------------------------------------------------------------- */

/* clang-format off */
#define ENTRY(name, function) { "GOMP_" name, (kl_openmp_function)(function) }
#define STARTS(word, function) \
	ENTRY("parallel_loop_" word, function##_parallel), \
	ENTRY("loop_" word "_start", function), \
	ENTRY("loop_ull_" word "_start", function##_ull), \
	ENTRY("loop_" word "_next", next_values), \
	ENTRY("loop_ull_" word "_next", next_values)
/* chunks of a guided loop have no numbers, so an ordered guided loop takes dynamic chunks */
#define ORDERED(word, function) \
	ENTRY("loop_ordered_" word "_start", function), \
	ENTRY("loop_ull_ordered_" word "_start", function##_ull), \
	ENTRY("loop_ordered_" word "_next", next_ordered), \
	ENTRY("loop_ull_ordered_" word "_next", next_ordered)

const struct kl_openmp_entry kl_openmp_loops[] = {
	STARTS("static", static_loop),
	STARTS("dynamic", dynamic_loop),
	STARTS("nonmonotonic_dynamic", dynamic_loop),
	STARTS("guided", guided_loop),
	STARTS("nonmonotonic_guided", guided_loop),
	STARTS("runtime", runtime_loop),
	STARTS("nonmonotonic_runtime", runtime_loop),
	STARTS("maybe_nonmonotonic_runtime", runtime_loop),
	ORDERED("static", static_loop),
	ORDERED("dynamic", dynamic_loop),
	ORDERED("guided", dynamic_loop),
	ORDERED("runtime", runtime_loop),
	ENTRY("ordered_start", start_ordered),
	ENTRY("ordered_end", end_ordered),
	ENTRY("loop_end", end_loop),
	ENTRY("loop_end_nowait", leave_loop),
	ENTRY("sections_start", start_sections),
	ENTRY("sections_next", next_section),
	ENTRY("sections_end", end_loop),
	ENTRY("sections_end_nowait", leave_loop),
	ENTRY("parallel_sections", parallel_sections),
	{ NULL, NULL },
};
/* clang-format on */
