/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_WIRE_H
#define KL_WORKER_GPU_WIRE_H

#include "worker/gpu/bind.h"
#include "worker/gpu/trace.h"

/*
 * wire - defines the messages between the worker and its GPU process.
 *
 * The process is `klineage-worker --gpu-child`, with a SOCK_SEQPACKET socket as descriptor
 * KL_GPU_WIRE_FD and /dev/null as standard input, output and error. Each request has one reply;
 * both begin with a head, whose `bytes` is the size of the whole message. `bytes` must equal both
 * the number of bytes received and the size of the operation's message. Large data is passed with
 * the request in a memory file (memfd), of which a request can have one. The memfd of a set stays
 * mapped on both sides; all other memfds are sealed (base/sealed.h). The GPU process checks every
 * request: an unknown operation or a wrong size ends the process, a wrong slot or offset is
 * KL_EINVALID in the reply.
 *
 * The GPU process never sees a truth: it gets only inputs, outputs, cubins and plans.
 *
 * Everything that the process keeps has a number (a slot) that the worker chooses:
 *
 *	HELLO					lists the devices; no context; slot: enum kl_gpu_for
 *	OPEN	device				opens a context; the tools are compiled
 *	MODULE	slot, memfd: cubin		loads the cubin
 *	SET	slot, layout, memfd		allocates tensors; the memfd is their host memory
 *	BIND	slot, module, set, plan		resolves the plan's JSON at dims, runs `prepare`;
 *		memfd: plan			the reply is that of a call
 *	CALL	bind, seed			makes a call: poison, launches, checks, copies
 *	DROP	kind, slot			frees what the slot holds
 *	PROBE					tests that the opened GPU keeps what is written
 *	LAUNCHER memfd: image			maps host code (launcher.h), at most once
 *	LAUNCH	set, dims, seed			makes a call of the host code, like CALL
 *
 * Operations from KL_GPU_OP_TIME on belong to the profile (timing/wire.h): kl_gpu_time_serve()
 * carries them out, on the same modules, sets and bindings.
 */
#define KL_GPU_WIRE_FD 200 /* above the descriptors that a profiling tool around the worker uses */
#define KL_GPU_WIRE_MAGIC 0x6b6c6770u
#define KL_GPU_WIRE_MAX 65536 /* maximum size of a message in bytes */
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

/*
 * The purpose of a process, sent as the slot of HELLO. With KL_GPU_FOR_HOST the process confines
 * itself before it opens the driver (wall.h).
 */
enum kl_gpu_for { KL_GPU_FOR_DEVICE, KL_GPU_FOR_HOST };

/* Whether the process can take further requests. */
enum kl_gpu_state_after {
	KL_GPU_WELL,
	KL_GPU_LOST, /* the context is lost, so the process must be killed */
	/* a kernel is still running: the process must be killed, and the GPU probed */
	KL_GPU_STUCK,
};

/* Common beginning of all replies. */
struct kl_gpu_reply {
	struct kl_gpu_head head; /* op and slot of the request */
	int32_t err;             /* 0, or an enum kl_err, described by `message` */
	int32_t state;           /* enum kl_gpu_state_after */
	char message[480];
};

struct kl_gpu_hello { /* reply */
	struct kl_gpu_reply r;
	int32_t driver, ndevice; /* CUDA version of the driver; number of devices */
	char build[64];          /* version of the driver itself */
	struct kl_gpu_facts device[KL_GPU_MAX_DEVICES];
};

struct kl_gpu_open { /* request; the reply is a plain kl_gpu_reply */
	struct kl_gpu_head head;
	int32_t ordinal, reserved;
};

struct kl_gpu_put_module { /* request + memfd */
	struct kl_gpu_head head;
	uint64_t bytes; /* size of the memfd */
};

struct kl_gpu_put_set { /* request + memfd */
	struct kl_gpu_head head;
	uint32_t n, right;                   /* right: align data at the right end of mappings */
	uint32_t pin, reserved;              /* pin: pin the memfd, since many copies will follow */
	uint64_t host_bytes;                 /* size of the memfd */
	uint64_t offset[KL_GPU_MAX_TENSORS]; /* offset of tensor i in the memfd */
	struct kl_gpu_tensor_layout layout[KL_GPU_MAX_TENSORS];
};

struct kl_gpu_put_bind { /* request + memfd: JSON of kl_gpu_doc_make */
	struct kl_gpu_head head;
	uint32_t module, set;
	uint64_t bytes; /* size of the JSON */
	uint64_t seed;
	int64_t limit_ms;
};

enum kl_gpu_call_flags {
	KL_GPU_CALL_UPLOAD = 1,   /* copy inputs from the memfd */
	KL_GPU_CALL_RELOAD = 2,   /* reload the module first */
	KL_GPU_CALL_SCRUB = 4,    /* overwrite shared and local memory first */
	KL_GPU_CALL_DOWNLOAD = 8, /* copy outputs to the memfd */
	KL_GPU_CALL_CHECK = 16,   /* check slack and carried scratch */
	KL_GPU_CALL_POISON = 32,  /* poison outputs and scratch first */
	KL_GPU_CALL_RUN = 64,     /* launch; without this flag no code of the candidate runs */
};
#define KL_GPU_CALL_ALL 127
/*
 * Flags of an ordinary call, which does only what every call needs, so that a kernel finds memory
 * as its last call left it.
 */
#define KL_GPU_CALL_ORDINARY (KL_GPU_CALL_UPLOAD | KL_GPU_CALL_RUN | KL_GPU_CALL_DOWNLOAD)

struct kl_gpu_do_call { /* request */
	struct kl_gpu_head head;
	uint32_t flags, reserved;
	uint64_t seed;    /* seed of the poison */
	int64_t limit_ms; /* time limit of the launches alone */
};

enum kl_gpu_call_end {
	KL_GPU_CALL_OK,
	KL_GPU_CALL_FAULT,    /* the context is lost, so the process must be killed */
	KL_GPU_CALL_HANG,     /* a kernel is still running: the process must be killed */
	KL_GPU_CALL_REFUSED,  /* a launch was refused; the process can be used again */
	KL_GPU_CALL_SLACK,    /* a write outside of tensor `arg`, at byte `where` */
	KL_GPU_CALL_SCRATCH,  /* scratch was left in a wrong state: see r.message */
	KL_GPU_CALL_RETURNED, /* host code: klineage_launch returned `launch`, which is not 0 */
	/* host code: the device was busy for another `where` ns after the stream was done */
	KL_GPU_CALL_LATE,
};

struct kl_gpu_called { /* reply */
	struct kl_gpu_reply r;
	int32_t end, launch; /* enum kl_gpu_call_end; index of the launch, -1 if unknown */
	int32_t arg, quirk;  /* index of a tensor, -1 if there is none; kl_gpu_bound_quirk() */
	int64_t where;
	int64_t event_ns; /* time between the events before and after the launches; 0 if unknown */
	char name[64];    /* name of the CUDA error */
	char kernel[256];
};

struct kl_gpu_put_launcher { /* request + memfd */
	struct kl_gpu_head head;
	uint64_t bytes;
	uint32_t trace, reserved; /* trace: record the kernels, copies and fills that run */
};
struct kl_gpu_launcher_ready { /* reply */
	struct kl_gpu_reply r;
	int32_t traced;  /* nonzero if CUPTI records the kernels, copies and fills that run */
	uint32_t closed; /* bits of enum kl_gpu_closed */
	char why[200];   /* why nothing is recorded, if `traced` is 0 */
};

struct kl_gpu_do_launch { /* request; head.slot is the set */
	struct kl_gpu_head head;
	/* enum kl_gpu_call_flags; RELOAD restores the variables of the host code */
	uint32_t flags, reserved;
	uint64_t seed;
	int64_t limit_ms;
	int64_t dim[16];
};
struct kl_gpu_launched { /* reply */
	struct kl_gpu_called c;
	int64_t host_ns; /* duration of klineage_launch itself */
	struct kl_gpu_seen seen;
};

struct kl_gpu_drop { /* request */
	struct kl_gpu_head head;
	uint32_t op, reserved; /* kind of the slot: KL_GPU_OP_MODULE, _SET or _BIND */
};

#endif
