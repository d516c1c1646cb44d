/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "worker/subject/seal.h"
#include "worker/subject/signature.h"
#include "worker/subject/stub.h"

/*
 * Memory that is not promised to be zero starts with all bits set: NaN in every float format, and
 * no valid index.
 */
#define DIRT 0xff
#define DIRTY_ARENA ((size_t)2 << 20) /* the part of the arena where most allocations lie */
#define DIRTY_STACK ((size_t)256 << 10)
#define DESCRIPTOR ((size_t)2048) /* of glibc's struct pthread, which is larger */

/* The memory of the kernel's allocator, exported by the runtime linked into every kernel. */
struct arena {
	unsigned char *base;
	size_t size;
};

struct child {
	const struct kl_wire *plan;
	struct kl_control *control;
	const struct kl_wire_call *call;
	struct kl_frame *frame;
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

static int pin_core(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		return kl_error_errno("cannot pin the kernel's process to processor %d", cpu);
	return 0;
}

/* Reserve `bytes` of address space with KL_WIRE_GUARD unmapped bytes on both sides. */
static int reserve_range(uint64_t *at, uint64_t bytes)
{
	void *range = mmap(NULL, bytes + 2 * KL_WIRE_GUARD, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (range == MAP_FAILED)
		return kl_error_errno("no address space for %llu bytes", (unsigned long long)bytes);
	*at = (uint64_t)(uintptr_t)range + KL_WIRE_GUARD;
	return 0;
}

/* Map one tensor at all its addresses. */
static int map_views(struct child *child, uint32_t arg, int fd)
{
	int err;

	for (uint32_t point = 0; point < child->plan->npoint; point++) {
		const struct kl_wire_arg *tensor = &child->plan->arg[point][arg];
		int prot = PROT_READ | (tensor->writable ? PROT_WRITE : 0);

		for (uint32_t view = 0; view < child->plan->nview; view++) {
			uint64_t *at = &child->hello.map[point][view][arg];

			if ((err = reserve_range(at, tensor->map_bytes)) < 0)
				return err;
			if (mmap((void *)*at, tensor->map_bytes, prot,
				 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
				return kl_error_errno("cannot map argument %u", arg);
		}
	}
	return 0;
}

static int map_tensors(struct child *child)
{
	int fd = KL_WIRE_FD_TENSOR, err;

	for (uint32_t i = 0; i < child->plan->nargs; i++)
		if (child->plan->arg[KL_WIRE_MAIN][i].tensor &&
		    (err = map_views(child, i, fd++)) < 0)
			return err;
	return 0;
}

static int give_arena(void *object, int64_t bytes)
{
	struct arena *arena = dlsym(object, "kl_rt_arena");
	uint64_t at = 0;
	size_t dirty;
	int err;

	if (!arena || bytes <= 0)
		return 0;
	if ((err = reserve_range(&at, (uint64_t)bytes)) < 0)
		return err;
	if (mmap((void *)at, (size_t)bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		return kl_error_errno("no memory for the kernel's allocations");
	arena->base = (void *)at;
	arena->size = (size_t)bytes;
	dirty = arena->size < DIRTY_ARENA ? arena->size : DIRTY_ARENA;
#ifdef MADV_POPULATE_WRITE
	madvise(arena->base, dirty, MADV_POPULATE_WRITE); /* cheaper than a fault for each page */
#endif
	/* includes the first page: its contents do not matter */
	memset(arena->base, DIRT, dirty);
	return 0;
}

/* Open a baseline for each view. */
static int open_baseline(struct child *child)
{
	int err = 0;

	for (uint32_t view = 0; view < child->plan->nview && !err; view++) {
		void *data[KL_MAX_ARGS] = { NULL };

		for (uint32_t i = 0; i < child->plan->nargs; i++)
			data[i] = (void *)child->hello.map[KL_WIRE_MAIN][view][i];
		err = kl_baseline_open(&child->frame->baseline[view], child->plan, data);
	}
	return err;
}

static int load_subject(struct child *child)
{
	const struct kl_wire *wire = child->plan;
	void *object;

	if (wire->baseline)
		return open_baseline(child);
	object = dlopen(wire->so, RTLD_NOW | RTLD_LOCAL);
	if (!object)
		return kl_error(KL_EINVALID, "cannot load '%s': %s", wire->so, dlerror());
	*(void **)&child->frame->fn = dlsym(object, wire->entry);
	if (!child->frame->fn)
		return kl_error(KL_EINVALID, "'%s' defines no '%s'", wire->so, wire->entry);
	return give_arena(object, wire->arena_bytes);
}

static int build_frame(struct child *child)
{
	int err;

	child->frame = mmap(NULL, sizeof(*child->frame), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (child->frame == MAP_FAILED)
		return kl_error_errno("no memory for the call frame");
	child->frame->call = child->call;
	if ((err = load_subject(child)) < 0 ||
	    (err = kl_signature_prepare(child->frame, child->plan)) < 0)
		return err;
	if (mprotect(child->frame, sizeof(*child->frame), PROT_READ) < 0)
		return kl_error_errno("cannot protect the call frame");
	return 0;
}

static int prepare_child(struct child *child)
{
	int err;

	if ((err = kl_seal_limits()) < 0 || (err = map_plan(child)) < 0 ||
	    (err = pin_core(child->plan->cpu)) < 0 || (err = map_tensors(child)) < 0)
		return err;
	return build_frame(child);
}

/* Send hello. Returns the parent's answer, or -1 if the parent is gone or `err` is negative. */
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
	child->hello.stack_top = (uint64_t)(uintptr_t)&answer;
	if (send(KL_WIRE_FD_SOCKET, &child->hello, sizeof(child->hello), MSG_NOSIGNAL) !=
		    sizeof(child->hello) ||
	    err < 0)
		return -1;
	return recv(KL_WIRE_FD_SOCKET, &answer, 1, 0) == 1 ? answer : -1;
}

/* Fill the stack below this frame, where the frames of the kernel will lie. */
static __attribute__((noinline)) void dirty_stack(void)
{
	unsigned char below[DIRTY_STACK];

	memset(below, DIRT, sizeof(below));
	__asm__ volatile("" : : "r"(below) : "memory");
}

/*
 * The C library keeps the process's number in the thread's descriptor, where the kernel could read
 * it: in a jail with numbers of its own it counts the processes of the session, and so tells the
 * timed ones, which come last, from the others. No library call needs it from now on.
 */
static void forget_pid(void)
{
	int32_t *word = (int32_t *)(void *)pthread_self(), pid = (int32_t)syscall(SYS_gettid);

	for (size_t i = 0; i < DESCRIPTOR / sizeof(*word); i++)
		if (word[i] == pid)
			word[i] = 0;
}

int kl_child_main(void)
{
	struct child child = { 0 };
	int answer, sealed;

	answer = say_hello(&child, prepare_child(&child));
	if (answer < 0)
		return KL_CHILD_NOT_READY;
	sealed = !child.plan->baseline;
	dirty_stack();
	if (sealed)
		forget_pid();
	munmap((void *)(uintptr_t)child.plan, sizeof(struct kl_wire));
	if (sealed && kl_seal() < 0)
		_exit(KL_CHILD_NOT_SEALED);
	kl_stub_wait(child.control, child.frame, kl_signature_call, answer == KL_WIRE_TRACED);
}
