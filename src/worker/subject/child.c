/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/child.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "image/image_map.h"
#include "worker/subject/dirt.h"
#include "worker/subject/openmp.h"
#include "worker/subject/processors.h"
#include "worker/subject/seal.h"
#include "worker/subject/signature.h"
#include "worker/subject/slots.h"
#include "worker/subject/stub.h"

#define DIRTY_ARENA KL_DIRT_BYTES /* the part of the arena where most allocations lie */
#define DIRTY_STACK ((size_t)256 << 10)
#define DESCRIPTOR ((size_t)2048) /* bytes to search in glibc's struct pthread, which is larger */

/* Memory for the kernel's allocator; the runtime linked into every kernel has the same struct. */
struct arena {
	unsigned char *base;
	size_t size;
};

struct child {
	const struct kl_wire *plan;
	struct kl_control *control;
	const struct kl_wire_call *call;
	struct kl_frame *frame;
	struct arena arena;
	uint64_t stack_end;
	struct kl_hello hello;
};

static int map_plan(struct child *child)
{
	void *map = mmap(NULL, sizeof(struct kl_wire), PROT_READ, MAP_SHARED, KL_WIRE_FD_PLAN, 0);

	if (map == MAP_FAILED)
		return kl_error_errno("cannot map the plan");
	child->plan = map;
	map = mmap(NULL, sizeof(struct kl_control), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, KL_WIRE_FD_CONTROL, 0);
	if (map == MAP_FAILED)
		return kl_error_errno("cannot map the control page");
	child->control = map;
	map = mmap(NULL, sizeof(struct kl_wire_call), PROT_READ, MAP_SHARED | MAP_POPULATE,
		   KL_WIRE_FD_ARGS, 0);
	if (map == MAP_FAILED)
		return kl_error_errno("cannot map the arguments of a call");
	child->call = map;
	return 0;
}

/* Reserve `bytes` of address space with KL_WIRE_GUARD unmapped bytes on both sides. */
static int reserve_range(uint64_t *at, uint64_t bytes)
{
	void *range = mmap(NULL, bytes + 2 * KL_WIRE_GUARD, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (range == MAP_FAILED)
		return kl_error_errno("cannot reserve %llu bytes of address space",
				      (unsigned long long)bytes);
	*at = (uint64_t)(uintptr_t)range + KL_WIRE_GUARD;
	return 0;
}

/* Map one tensor once for each view at each point. */
static int map_views(struct child *child, struct kl_slots *slots, uint32_t arg, int fd)
{
	for (uint32_t point = 0; point < child->plan->npoint; point++) {
		const struct kl_wire_arg *tensor = &child->plan->arg[point][arg];
		int prot = PROT_READ | (tensor->writable ? PROT_WRITE : 0);

		for (uint32_t view = 0; view < child->plan->nview[point]; view++) {
			uint64_t *at = &child->hello.map[point][view][arg];

			*at = kl_slots_take(slots);
			if (mmap((void *)*at, tensor->map_bytes, prot,
				 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
				return kl_error_errno("cannot map argument %u", arg);
		}
	}
	return 0;
}

/* Map the adapter's workspace for each point; the workspaces follow each other in the file. */
static int map_workspaces(struct child *child, int fd)
{
	off_t offset = 0;
	int err = 0;

	for (uint32_t point = 0; point < child->plan->npoint && err == 0; point++) {
		uint64_t *at = &child->hello.work[point], bytes = child->plan->work_bytes[point];

		if (!bytes)
			break;
		err = reserve_range(at, bytes);
		if (err == 0 &&
		    mmap((void *)*at, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, offset) == MAP_FAILED)
			err = kl_error_errno("cannot map the workspace of the adapter");
		offset += (off_t)bytes;
	}
	return err;
}

static int map_tensors(struct child *child)
{
	int fd = KL_WIRE_FD_TENSOR;
	struct kl_slots slots;
	int err = kl_slots_reserve(&slots, child->plan);

	for (uint32_t i = 0; i < child->plan->nargs && err == 0; i++)
		if (child->plan->arg[KL_WIRE_MAIN][i].tensor)
			err = map_views(child, &slots, i, fd++);
	return err ? err : map_workspaces(child, fd);
}

static int map_memory(uint64_t *at, uint64_t bytes)
{
	int err = reserve_range(at, bytes);

	if (err < 0)
		return err;
	if (mmap((void *)*at, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return kl_error_errno("cannot allocate memory for the kernel");
	return 0;
}

static int map_arena(struct child *child)
{
	int64_t bytes = child->plan->arena_bytes;
	uint64_t at = 0;
	int err;

	if (bytes <= 0)
		return 0;
	if ((err = map_memory(&at, (uint64_t)bytes)) < 0)
		return err;
	child->arena.base = (void *)at;
	child->arena.size = (size_t)bytes;
	return kl_dirt_map(at, child->arena.size < DIRTY_ARENA ? child->arena.size : DIRTY_ARENA,
			   KL_WIRE_FD_DIRT);
}

/* Map the stacks of all threads in a row, with a guard on both sides of each. */
static int map_stacks(struct child *child)
{
	uint32_t n = child->plan->nthread;
	uint64_t at = 0;
	int err = reserve_range(&at, n * KL_WIRE_STRIDE);

	child->hello.stack = at;
	for (uint32_t i = 0; i < n && !err; i++, at += KL_WIRE_STRIDE) {
		if (mmap((void *)at, KL_WIRE_STACK, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			 0) == MAP_FAILED)
			return kl_error_errno("cannot allocate a stack for the kernel");
		err = kl_dirt_map(at + KL_WIRE_STACK - KL_WIRE_ABOVE - DIRTY_STACK, DIRTY_STACK,
				  KL_WIRE_FD_DIRT);
	}
	child->stack_end = child->hello.stack + KL_WIRE_STACK - KL_WIRE_ABOVE;
	return err;
}

/* Open a baseline for each view. */
static int open_baseline(struct child *child)
{
	int err = 0;

	for (uint32_t view = 0; view < child->plan->nview[KL_WIRE_MAIN] && !err; view++) {
		void *data[KL_MAX_ARGS] = { NULL };

		for (uint32_t i = 0; i < child->plan->nargs; i++)
			data[i] = (void *)child->hello.map[KL_WIRE_MAIN][view][i];
		err = kl_baseline_open(&child->frame->baseline[view], child->plan, data);
	}
	return err;
}

static int build_frame(struct child *child)
{
	child->frame = mmap(NULL, sizeof(*child->frame), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (child->frame == MAP_FAILED)
		return kl_error_errno("cannot allocate the call frame");
	child->frame->call = child->call;
	return kl_signature_prepare(child->frame, child->plan);
}

static int protect_frame(struct child *child)
{
	if (mprotect(child->frame, sizeof(*child->frame), PROT_READ) < 0)
		return kl_error_errno("cannot protect the call frame");
	return 0;
}

static int prepare_child(struct child *child)
{
	int err;

	if ((err = kl_seal_limits()) < 0 || (err = map_plan(child)) < 0 ||
	    (err = kl_processors_pin(child->plan->cpu)) < 0 || (err = map_tensors(child)) < 0 ||
	    (err = build_frame(child)) < 0)
		return err;
	if (child->plan->baseline)
		return open_baseline(child);
	return (err = map_arena(child)) < 0 ? err : map_stacks(child);
}

/*
 * Send hello with `err`. Return the parent's answer; -1 if the parent is gone, or `err` is
 * negative.
 */
static int say_hello(struct child *child, int err)
{
	unsigned char answer;

	child->hello.err = err;
	if (err < 0)
		snprintf(child->hello.message, sizeof(child->hello.message), "%s", kl_error_last());
#if KL_STUB_TRACE
	child->hello.stored = (uint64_t)(uintptr_t)kl_stub_stored;
	child->hello.trapped = (uint64_t)(uintptr_t)kl_stub_trapped;
#endif
	kl_team_describe(&child->hello);
	if (send(KL_WIRE_FD_SOCKET, &child->hello, sizeof(child->hello), MSG_NOSIGNAL) !=
		    sizeof(child->hello) ||
	    err < 0)
		return -1;
	return recv(KL_WIRE_FD_SOCKET, &answer, 1, 0) == 1 ? answer : -1;
}

/*
 * Erase the process id that the C library keeps in the thread's descriptor, where the kernel could
 * read it. In a jail with its own pid namespace the id counts the processes of the session, so a
 * kernel could tell the timed processes, which come last, from the others. No later library call
 * needs the id.
 */
static void forget_pid(void)
{
	int32_t *word = (int32_t *)(void *)pthread_self(), pid = (int32_t)syscall(SYS_gettid);

	for (size_t i = 0; i < DESCRIPTOR / sizeof(*word); i++)
		if (word[i] == pid)
			word[i] = 0;
}

static void *find_import(const char *name, void *payload)
{
	return (void *)(uintptr_t)kl_openmp_find(name);
}

static int map_image(struct child *child, uint64_t bytes)
{
	struct kl_image_mapped mapped;
	int err = kl_image_map(&mapped, KL_WIRE_FD_IMAGE, bytes, find_import, NULL);

	if (err < 0)
		return err;
	if (mapped.arena)
		memcpy(mapped.arena, &child->arena, sizeof(child->arena));
	*(void **)&child->frame->fn = mapped.entry;
	for (size_t i = 0; i < KL_IMAGE_ADAPTER; i++)
		*(void **)&child->frame->adapter[i] = mapped.adapter[i];
	return protect_frame(child);
}

/* Write the reason to the control page, because the socket to the parent is closed, and exit. */
static __attribute__((noreturn)) void give_up(struct child *child)
{
	snprintf(child->control->why, sizeof(child->control->why), "%s", kl_error_last());
	_exit(KL_CHILD_NOT_SEALED);
}

/*
 * Seal this process (seal.h). The threads are started after kl_seal_begin(), so that they inherit
 * its restrictions, and the image is mapped after kl_seal_mapping(). No code of the image runs yet.
 */
static void enter_seal(struct child *child)
{
	uint64_t bytes = child->plan->image_bytes, stack = child->hello.stack + KL_WIRE_STACK;
	uint32_t n = child->plan->nthread;
	int16_t cpu[KL_MAX_THREADS];

	memcpy(cpu, child->plan->thread_cpu, sizeof(cpu));
	munmap((void *)(uintptr_t)child->plan, sizeof(struct kl_wire));
	child->plan = NULL;
	forget_pid();
	if (kl_seal_begin(KL_WIRE_FD_IMAGE) < 0 || kl_team_start(n, stack, cpu) < 0 ||
	    kl_seal_mapping(KL_WIRE_FD_IMAGE) < 0 || map_image(child, bytes) < 0 ||
	    kl_seal_end(KL_WIRE_FD_IMAGE, n > 1) < 0)
		give_up(child);
}

int kl_child_main(void)
{
	struct child child = { 0 };
	int answer = say_hello(&child, prepare_child(&child));

	if (answer < 0)
		return KL_CHILD_NOT_READY;
	if (!child.plan->baseline)
		enter_seal(&child);
	else if (protect_frame(&child) < 0)
		return KL_CHILD_NOT_READY;
	kl_stub_wait(child.control, child.frame, kl_signature_call, answer == KL_WIRE_TRACED,
		     child.stack_end);
}
