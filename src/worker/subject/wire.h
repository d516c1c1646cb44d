/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_WIRE_H
#define KL_WORKER_SUBJECT_WIRE_H

#include <stdint.h>

#include "job/job.h"

/*
 * wire - the data shared by the parent (subject_cpu.c) and the child (child.c). Both are the same
 * program, so structs can be passed unchanged.
 *
 * The child inherits these descriptors and no others:
 *	0 1 2	/dev/null
 *	3	the plan: a memfd holding one struct kl_wire, mapped read-only
 *	4	the control page: a memfd of one page, mapped shared
 *	5	a socket: the child sends hello once, the parent answers one byte
 *	6	the kernel's image: a sealed memfd, or /dev/null for a vendor library
 *	7	the arguments of the next call: a memfd of one page, mapped read-only
 *	8	bytes for new memory (dirt.h): a sealed memfd, or /dev/null for a vendor library
 *	9 ...	one memfd for each tensor argument, in order of arguments
 *	then	with an adapter: the memfd of its workspaces
 *
 * Life cycle of a child: it maps the arguments and sends hello; the parent attaches (ptrace) and
 * answers KL_WIRE_TRACED, or KL_WIRE_ALONE if it is not allowed to attach; the child drops every
 * privilege except those needed to map the image (seal.h), maps the image, drops the remaining
 * privileges and waits in the stub (stub.h).
 */
enum kl_wire_fd {
	KL_WIRE_FD_PLAN = 3,
	KL_WIRE_FD_CONTROL,
	KL_WIRE_FD_SOCKET,
	KL_WIRE_FD_IMAGE,
	KL_WIRE_FD_ARGS,
	KL_WIRE_FD_DIRT,
	KL_WIRE_FD_TENSOR
};

#define KL_WIRE_TRACED 'T'
#define KL_WIRE_ALONE 'A'

/*
 * A child is called at one point, or at two (KL_WIRE_OTHER). For each point it maps each tensor
 * several times: these views are the same memory at different addresses, and each call uses one.
 */
enum kl_wire_point { KL_WIRE_MAIN, KL_WIRE_OTHER, KL_WIRE_POINTS };
#define KL_WIRE_VIEWS 4 /* maximum number of views of a tensor at one point */

/* The action of a call, in the low bits of its nonce. */
enum kl_wire_do {
	KL_WIRE_CALL,
	KL_WIRE_EMPTY, /* call nothing, to measure the handshake */
	/* call a function of the contract's adapter, outside the timed call */
	KL_WIRE_PREPARE,
	KL_WIRE_PACK,
	KL_WIRE_FINISH,
	KL_WIRE_DO_MASK = 7,
};

/* Bytes of unmapped addresses on each side of every view. */
#define KL_WIRE_GUARD ((uint64_t)64 << 20)

/*
 * Size of a kernel's stack in bytes. The kernel does not use the stack of the process, whose size
 * depends on the limits of the gate's caller. The last KL_WIRE_ABOVE bytes, where the frames of
 * callers would be, stay unused.
 */
#define KL_WIRE_STACK ((uint64_t)8 << 20)
#define KL_WIRE_ABOVE ((uint64_t)4096)
/* Distance in bytes between the stacks of two threads, including the guard between them. */
#define KL_WIRE_STRIDE (KL_WIRE_STACK + KL_WIRE_GUARD)

/* The flags and floating-point state that the stub saves after a call without ptrace. */
struct kl_saved_state {
	uint64_t flags;
	uint32_t mxcsr;
	uint16_t x87_control, unused0, x87_status, unused1, x87_tags, unused2;
	uint32_t x87_rest[4];
};

/* The control page, with each word on its own cache line. */
struct kl_control {
	uint64_t go; /* parent: a nonce that starts a call; low bits: enum kl_wire_do */
	uint64_t pad0[7];
	uint64_t ready; /* child: the nonce of the last call, set when it waits for the next one */
	uint64_t pad1[7];
	uint64_t done; /* child: the nonce of the call that ended */
	uint64_t pad2[7];
	struct kl_saved_state saved; /* child, without ptrace: written before `ready` */
	/* child, before any call: why it could not map the image or seal itself; otherwise empty */
	char why[400];
	uint64_t pad3[4096 / 8 - 79];
};
_Static_assert(sizeof(struct kl_control) == 4096, "the control page is a page");

struct kl_wire_arg {
	enum kl_arg_kind kind;
	enum kl_dtype dtype; /* type in the C prototype; of an oracle's floats, that of kl_real */
	int tensor;          /* passed as a pointer, or returned */
	int returned;        /* the kernel returns the only element of this last argument */
	int writable;
	int zeros;          /* an output that is zero before each call, not poisoned */
	uint64_t bits;      /* dim, scalar: the value, in the dtype's own representation */
	uint64_t bytes;     /* tensor: bytes of its data */
	uint64_t map_bytes; /* tensor: bytes of its views, whole pages from the memfd's start */
	uint64_t base;      /* tensor: as in struct kl_job_arg */
	int naxes;
	int64_t extent[KL_MAX_AXES];
};

struct kl_wire {
	int baseline;                       /* a vendor library: trusted, not sealed */
	int cpu;                            /* processor to run on; -1 for any */
	uint32_t nthread;                   /* threads of the kernel; at least 1 */
	int16_t thread_cpu[KL_MAX_THREADS]; /* processor of each thread but the first; -1 for any */
	int64_t arena_bytes;
	uint32_t nargs, npoint;
	uint32_t nview[KL_WIRE_POINTS]; /* number of views of each tensor at each point */
	struct kl_wire_arg arg[KL_WIRE_POINTS][KL_MAX_ARGS];
	uint64_t largest; /* map_bytes of the largest tensor at any point of the job */
	uint64_t image_bytes;
	/*
	 * with an adapter: bytes of its workspace at each point, whole pages; 0 if there is no
	 * adapter
	 */
	uint64_t work_bytes[KL_WIRE_POINTS];
	char baseline_name[64];
};

/* The arguments of the next call, which the parent writes between calls. */
struct kl_wire_call {
	uint64_t store[KL_MAX_ARGS]; /* scalars by value, tensors as pointers */
	uint64_t work;               /* with an adapter: address of the workspace */
	uint64_t view;               /* baselines: index of the view that all tensors use */
};

/* Sent by the child once the arguments are in place, before it reads any byte of the kernel. */
struct kl_hello {
	int err; /* 0, or an enum kl_err that `message` explains; the child then ends */
	char message[400];
	/* addresses of the stub's labels (stub.h); 0 if calls cannot be traced */
	uint64_t stored, trapped;
	uint64_t stack; /* address of the kernel's stack; 0 for the process's own */
	/* addresses of the labels in team_loop.h and of kl_team_regions */
	uint64_t joined, look, begun, regions;
	/* addresses of the views in the child, by point, view and argument */
	uint64_t map[KL_WIRE_POINTS][KL_WIRE_VIEWS][KL_MAX_ARGS];
	uint64_t work[KL_WIRE_POINTS]; /* addresses of the workspaces of an adapter */
};

#endif
