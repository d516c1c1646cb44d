/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_WIRE_H
#define KL_WORKER_GPU_WIRE_H

#include "worker/gpu/bind.h"
#include "worker/gpu/trace.h"

/*
 * wire - what the worker and its GPU process say to each other.
 *
 * The process is `klineage-worker --gpu-child`, with a SOCK_SEQPACKET socket as descriptor 3
 * and /dev/null for the rest. One request, one reply; both begin with a head, whose `bytes`
 * is the size of the whole message and has to be what was received, and the size that
 * the operation has. What is large travels as a memfd beside the request (at most one) and
 * both sides map it. Sizes, slots and offsets are checked by who receives them; a broken
 * message ends the process.
 *
 * The GPU process never sees a truth: inputs, outputs, cubins and plans are all it gets.
 *
 * Everything that is kept has a number (a slot) that the asker chooses:
 *
 *	HELLO				the devices; no context yet. Its slot says what for
 *	OPEN	device			a context; the tools are compiled
 *	MODULE	slot, memfd: cubin	load
 *	SET	slot, layout, memfd	tensors; the memfd is the host's side of them
 *	BIND	slot, module, set,	plan JSON resolved at dims; `prepare` is run
 *		memfd: plan
 *	CALL	bind, seed		all that belongs to one call
 *	DROP	kind, slot
 *	PROBE				does the opened GPU write and read?
 *	LAUNCHER memfd: shared object	host code (launcher.h), of which a process has one at most
 *	LAUNCH	set, dims, seed		all that belongs to a call of it
 *
 * Operations from KL_GPU_OP_TIME on are the profile's (timing/wire.h): kl_gpu_time_serve() gets
 * them with the same state.
 */
#define KL_GPU_WIRE_FD 200 /* above what a tool around us has open */
#define KL_GPU_WIRE_MAGIC 0x6b6c6770u
#define KL_GPU_WIRE_MAX 65536 /* bytes of a message */
#define KL_GPU_MAX_MODULES 8
#define KL_GPU_MAX_SETS 64
#define KL_GPU_MAX_BINDS 256
#define KL_GPU_MAX_CUBIN ((uint64_t)64 << 20)
#define KL_GPU_MAX_PLAN ((uint64_t)16 << 20)

enum kl_gpu_op {
	KL_GPU_OP_HELLO = 1,
	KL_GPU_OP_OPEN,
	KL_GPU_OP_MODULE,
	KL_GPU_OP_SET,
	KL_GPU_OP_BIND,
	KL_GPU_OP_CALL,
	KL_GPU_OP_DROP,
	KL_GPU_OP_PROBE,
	KL_GPU_OP_LAUNCHER,
	KL_GPU_OP_LAUNCH,
	KL_GPU_OP_TIME = 64,
	KL_GPU_OP_TIME_END = 128,
};

struct kl_gpu_head {
	uint32_t magic, op, bytes, slot;
};

/* Slot of HELLO. For host code it puts a wall around itself before it opens the driver (wall.h). */
enum kl_gpu_for { KL_GPU_FOR_DEVICE, KL_GPU_FOR_HOST };

/* Can the process be asked on? */
enum kl_gpu_state_after {
	KL_GPU_WELL,
	KL_GPU_LOST,  /* the context is lost: end it */
	KL_GPU_STUCK, /* a kernel still runs: end it, and prove the GPU healthy */
};

/* Every reply begins so. */
struct kl_gpu_reply {
	struct kl_gpu_head head; /* op and slot of the request */
	int32_t err;             /* 0, or enum kl_err with `message` */
	int32_t state;           /* enum kl_gpu_state_after */
	char message[480];
};

struct kl_gpu_hello { /* reply */
	struct kl_gpu_reply r;
	int32_t driver, ndevice; /* CUDA version of the driver */
	char build[64];          /* its own */
	struct kl_gpu_facts device[KL_GPU_MAX_DEVICES];
};

struct kl_gpu_open { /* request; the reply is a plain one */
	struct kl_gpu_head head;
	int32_t ordinal, reserved;
};

struct kl_gpu_put_module { /* request + memfd */
	struct kl_gpu_head head;
	uint64_t bytes;
};

struct kl_gpu_put_set { /* request + memfd */
	struct kl_gpu_head head;
	uint32_t n, right;
	uint64_t host_bytes;                 /* size of the memfd */
	uint64_t offset[KL_GPU_MAX_TENSORS]; /* of tensor i in it */
	struct kl_gpu_tensor_layout layout[KL_GPU_MAX_TENSORS];
};

struct kl_gpu_put_bind { /* request + memfd: JSON, see kl_gpu_child_bind */
	struct kl_gpu_head head;
	uint32_t module, set;
	uint64_t bytes; /* of JSON */
	uint64_t seed;
	int64_t limit_ms;
};

enum kl_gpu_call_flags {
	KL_GPU_CALL_UPLOAD = 1,   /* inputs from the memfd */
	KL_GPU_CALL_RELOAD = 2,   /* the module is loaded anew first */
	KL_GPU_CALL_SCRUB = 4,    /* shared and local memory overwritten first */
	KL_GPU_CALL_DOWNLOAD = 8, /* outputs into the memfd */
	KL_GPU_CALL_CHECK = 16,   /* slack and carried scratch looked at */
};
#define KL_GPU_CALL_ALL 31

struct kl_gpu_do_call { /* request */
	struct kl_gpu_head head;
	uint32_t flags, reserved;
	uint64_t seed;    /* of poison */
	int64_t limit_ms; /* for the launches alone */
};

enum kl_gpu_call_end {
	KL_GPU_CALL_OK,
	KL_GPU_CALL_FAULT,    /* the context is lost; the process has ended itself */
	KL_GPU_CALL_HANG,     /* the process has to be killed */
	KL_GPU_CALL_REFUSED,  /* a launch was refused: nothing ran wrong, the process goes on */
	KL_GPU_CALL_SLACK,    /* tensor `arg` was written outside of it, at byte `where` */
	KL_GPU_CALL_SCRATCH,  /* r.message */
	KL_GPU_CALL_RETURNED, /* host code: klineage_launch returned `launch`, which is not 0 */
	/* host code: the device went on for `where` ns after the stream was done */
	KL_GPU_CALL_LATE,
};

struct kl_gpu_called { /* reply */
	struct kl_gpu_reply r;
	int32_t end, launch; /* enum kl_gpu_call_end; which launch, -1 unknown */
	int32_t arg, quirk;
	int64_t where;
	int64_t event_ns; /* between events around the launches */
	char name[64];    /* of the CUDA error */
	char kernel[256];
};

struct kl_gpu_put_launcher { /* request + memfd */
	struct kl_gpu_head head;
	uint64_t bytes;
	uint32_t trace, reserved; /* what it runs is looked at */
};
struct kl_gpu_launcher_ready { /* reply */
	struct kl_gpu_reply r;
	int32_t traced;  /* CUPTI works */
	uint32_t closed; /* to its process: enum kl_gpu_closed */
	char why[200];   /* it is not traced */
};

struct kl_gpu_do_launch { /* request; head.slot is the set */
	struct kl_gpu_head head;
	/* of kl_gpu_call_flags; RELOAD: its variables are put back */
	uint32_t flags, reserved;
	uint64_t seed;
	int64_t limit_ms;
	int64_t dim[16];
};
struct kl_gpu_launched { /* reply */
	struct kl_gpu_called c;
	int64_t host_ns; /* what klineage_launch itself took */
	struct kl_gpu_seen seen;
};

struct kl_gpu_drop { /* request */
	struct kl_gpu_head head;
	uint32_t op, reserved; /* KL_GPU_OP_MODULE, SET or BIND: what was made by it */
};

#endif
