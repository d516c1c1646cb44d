/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/openmp.h"

#include <string.h>

/* number of threads of a region without num_threads; 0 if as many as the kernel has */
static unsigned wanted;
/* the locks of unnamed critical regions and of atomic regions */
static uint32_t critical_lock, atomic_lock;

/* -- regions ----------------------------------------------------------------- */

static uint32_t choose_size(unsigned threads)
{
	uint32_t most = kl_team_most();

	if (!threads)
		threads = wanted;
	return !threads || threads > most ? most : threads;
}

static void run_region(struct kl_team *team, const struct kl_loop *loop, void (*fn)(void *),
		       void *data)
{
	if (loop) {
		team->inside = team->share[0].use = 1;
		kl_share_describe(&team->share[0], loop, team->size);
	}
	kl_team_run(team, fn, data);
}

static __attribute__((noinline)) void run_alone(uint32_t level, bool active,
						const struct kl_loop *loop, void (*fn)(void *),
						void *data)
{
	struct kl_team team = { .size = 1, .level = level, .active = active };

	run_region(&team, loop, fn, data);
}

void kl_openmp_region(void (*fn)(void *), void *data, unsigned threads, const struct kl_loop *loop)
{
	const struct kl_team *around = kl_team_self()->team;
	uint32_t size = choose_size(threads), level = around->level + 1;

	if (around->active || size == 1) {
		run_alone(level, around->active, loop, fn, data);
		return;
	}
	memset(&kl_team_all, 0, sizeof(kl_team_all));
	kl_team_all.size = size;
	kl_team_all.level = level;
	kl_team_all.active = true;
	run_region(&kl_team_all, loop, fn, data);
}

static void run_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags)
{
	kl_openmp_region(fn, data, threads, NULL);
}

/* -- synchronization ------------------------------------------------------------ */

static void wait_barrier(void)
{
	kl_team_barrier(kl_team_self()->team);
}

static void start_critical(void)
{
	kl_team_lock(&critical_lock);
}

static void end_critical(void)
{
	kl_team_unlock(&critical_lock);
}

static void start_atomic(void)
{
	kl_team_lock(&atomic_lock);
}

static void end_atomic(void)
{
	kl_team_unlock(&atomic_lock);
}

/* gcc allocates a pointer for each name; it is NULL at first, and its first half is the lock */
static void start_named(void **name)
{
	kl_team_lock((uint32_t *)(void *)name);
}

static void end_named(void **name)
{
	kl_team_unlock((uint32_t *)(void *)name);
}

static bool start_single(void)
{
	struct kl_member *member = kl_team_self();
	bool first = kl_share_enter(member);

	if (first)
		kl_share_opened(member);
	kl_share_leave(member);
	return first;
}

/*
 * Return NULL in the thread that runs the single region, and in the other threads the address of
 * the data that this thread copies to them.
 */
static void *start_copy(void)
{
	struct kl_member *member = kl_team_self();
	void *copy;

	if (kl_share_enter(member)) {
		kl_share_opened(member);
		return NULL;
	}
	kl_team_barrier(member->team);
	copy = member->share->copy;
	kl_share_leave(member);
	return copy;
}

static void end_copy(void *copy)
{
	struct kl_member *member = kl_team_self();

	member->share->copy = copy;
	kl_team_barrier(member->team);
	kl_share_leave(member);
}

/* -- tasks -------------------------------------------------------------------------- */

#define TASK_SMALL ((size_t)4096)
#define TASK_LARGE ((size_t)1 << 20) /* maximum number of bytes of data that a task can copy */

struct task {
	void (*fn)(void *), (*copy)(void *, void *);
	void *data;
	size_t size, align; /* size and alignment of the copy */
};

static void run_in(const struct task *task, unsigned char *room)
{
	uintptr_t at = ((uintptr_t)room + task->align - 1) / task->align * task->align;

	task->copy((void *)at, task->data);
	task->fn((void *)at);
}

static __attribute__((noinline)) void run_small(const struct task *task)
{
	unsigned char room[TASK_SMALL];

	run_in(task, room);
}

static __attribute__((noinline)) void run_large(const struct task *task)
{
	unsigned char room[TASK_LARGE];

	run_in(task, room);
}

/* Run a task at once; if `copy` is not NULL, run it on a copy of its data on the stack. */
static void run_task(void (*fn)(void *), void *data, void (*copy)(void *, void *), long size,
		     long align, bool deferred, unsigned flags, void **depend, int priority,
		     void *detach)
{
	const struct task task = { fn, copy, data, size > 0 ? (size_t)size : 0,
				   align > 0 ? (size_t)align : 1 };

	if (!copy)
		fn(data);
	else if (task.size + task.align <= TASK_SMALL)
		run_small(&task);
	else if (task.size + task.align <= TASK_LARGE)
		run_large(&task);
	else
		__builtin_trap();
}

static void do_nothing(void)
{
}

/* -- functions that sources call ------------------------------------------------------ */

static int thread_num(void)
{
	return (int)kl_team_self()->id;
}

static int num_threads(void)
{
	return (int)kl_team_self()->team->size;
}

static int most_threads(void)
{
	return (int)choose_size(0);
}

static void set_threads(int n)
{
	wanted = n > 0 ? (unsigned)n : 0;
}

static int thread_limit(void)
{
	return (int)kl_team_most();
}

static int in_parallel(void)
{
	return kl_team_self()->team->active;
}

static int region_level(void)
{
	return (int)kl_team_self()->team->level;
}

static int answer_zero(void)
{
	return 0;
}

static int answer_one(void)
{
	return 1;
}

static void ignore_setting(int value)
{
}

static void init_lock(uint32_t *lock)
{
	*lock = 0;
}

static int test_lock(uint32_t *lock)
{
	uint32_t seen = 0;

	return __atomic_compare_exchange_n(lock, &seen, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* -- their names ------------------------------------------------------------------------ */

/* clang-format off */
#define PRAGMA(name, function) { "GOMP_" name, (kl_openmp_function)(function) }
#define CALL(name, function) { "omp_" name, (kl_openmp_function)(function) }

const struct kl_openmp_entry kl_openmp_calls[] = {
	PRAGMA("parallel", run_parallel),
	PRAGMA("barrier", wait_barrier),
	PRAGMA("critical_start", start_critical),
	PRAGMA("critical_end", end_critical),
	PRAGMA("critical_name_start", start_named),
	PRAGMA("critical_name_end", end_named),
	PRAGMA("atomic_start", start_atomic),
	PRAGMA("atomic_end", end_atomic),
	PRAGMA("single_start", start_single),
	PRAGMA("single_copy_start", start_copy),
	PRAGMA("single_copy_end", end_copy),
	PRAGMA("task", run_task),
	PRAGMA("taskwait", do_nothing),
	PRAGMA("taskyield", do_nothing),
	PRAGMA("taskgroup_start", do_nothing),
	PRAGMA("taskgroup_end", do_nothing),
	CALL("get_thread_num", thread_num),
	CALL("get_num_threads", num_threads),
	CALL("get_max_threads", most_threads),
	CALL("set_num_threads", set_threads),
	CALL("get_num_procs", thread_limit),
	CALL("get_thread_limit", thread_limit),
	CALL("in_parallel", in_parallel),
	CALL("in_final", answer_zero),
	CALL("get_level", region_level),
	CALL("get_active_level", in_parallel),
	CALL("get_max_active_levels", answer_one),
	CALL("set_max_active_levels", ignore_setting),
	CALL("get_dynamic", answer_zero),
	CALL("set_dynamic", ignore_setting),
	CALL("get_nested", answer_zero),
	CALL("set_nested", ignore_setting),
	CALL("get_num_teams", answer_one),
	CALL("get_team_num", answer_zero),
	CALL("is_initial_device", answer_one),
	CALL("init_lock", init_lock),
	CALL("destroy_lock", init_lock),
	CALL("set_lock", kl_team_lock),
	CALL("unset_lock", kl_team_unlock),
	CALL("test_lock", test_lock),
	{ NULL, NULL },
};
/* clang-format on */

static kl_openmp_function find_in(const struct kl_openmp_entry *entry, const char *name)
{
	for (; entry->name; entry++)
		if (!strcmp(entry->name, name))
			return entry->function;
	return NULL;
}

kl_openmp_function kl_openmp_find(const char *name)
{
	kl_openmp_function found = find_in(kl_openmp_calls, name);

	return found ? found : find_in(kl_openmp_loops, name);
}
