/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SUBJECT_STATE_H
#define KL_WORKER_SUBJECT_SUBJECT_STATE_H

#include <time.h>

#include "base/rng.h"
#include "image/image.h"
#include "worker/subject/subject_ops.h"
#include "worker/subject/trace.h"
#include "worker/subject/wire.h"

/*
 * subject_state - the state that the parent keeps for a sealed child. It is private to the files
 * for kernels in C: subject_cpu.c (life cycle), subject_memory.c, place.c, buffers.c, call.c (one
 * call), handshake.c and outcome.c (how a call ended), and to watch.h, spot_check.h and
 * convention.h, which they use.
 */
struct kl_tensor {
	unsigned char *map;   /* the parent's mapping of the memfd; NULL if not a tensor */
	uint64_t bytes;       /* size of the memfd, enough for each point */
	unsigned char *slack; /* expected bytes around the data */
	int fd;               /* the memfd; -1 if there is none */
};

/* A contract's adapter (adapter.c): its workspaces, and which of its functions the image has. */
struct kl_workspace {
	/* the parent's mapping of all workspaces; NULL without an adapter */
	unsigned char *map;
	uint64_t bytes;
	int fd;
	bool has[KL_IMAGE_ADAPTER];
	bool flush; /* flush the caches before the next call, but after adapter_pack */
};

/* The threads of a kernel besides the first one (threads.h). */
struct kl_threads {
	pid_t tid[KL_MAX_THREADS];
	struct kl_trace_regs home[KL_MAX_THREADS]; /* registers when it first waited */
	size_t n;
	size_t next;           /* the thread to look at in the next poll */
	bool asked;            /* all of them were asked to stop, after the call */
	bool stopped;          /* all of them are stopped */
	bool crowded;          /* there is no processor left for the parent */
	int64_t used, used_at; /* the child's processor time in ns, and when it last changed */
};

/* Words of the outputs that are read twice (spot_check.h). */
#define KL_SPOT_CHECKS 24
struct kl_spot_check {
	const unsigned char *at[KL_SPOT_CHECKS];
	uint64_t seen[KL_SPOT_CHECKS];
	size_t n; /* 0 if there are no outputs */
};

/* Times of one call in ns. */
struct kl_times {
	/* when `go` was set, `done` was seen and the trap was seen, by kl_watch_now() */
	int64_t go, done, trap;
	int64_t used; /* processor time from shortly before `go` to the trap; -1 if unknown */
};

struct kl_cpu_subject {
	struct kl_subject base; /* must be first, see subject_ops.h */
	pid_t pid;              /* 0 if the child has ended */
	bool traced, precise;   /* precise: calls are timed, so the parent spins */
	/* socket to the child; -1 if closed, after the answer to the child's hello */
	int socket;
	int64_t call_ms, limit_ms;  /* job->call_ms; the limit of the next call */
	struct kl_control *control; /* shared with the child */
	struct kl_wire_call *args;  /* shared with the child: the arguments of the next call */
	struct kl_wire *wire;
	struct kl_hello hello;
	char name[KL_MAX_ARGS][64]; /* names of the arguments */
	struct kl_tensor tensor[KL_MAX_ARGS];
	/* where the next call finds its tensors (place.c) */
	enum kl_wire_point point;
	const struct kl_wire_arg *arg; /* the arguments at that point, in `wire` */
	uint64_t offset[KL_MAX_ARGS];  /* offset of the data in the memfd, in bytes */
	/*
	 * borrowed; receives the memory of the tensors at the end; NULL to free that memory instead
	 */
	struct kl_subject_memory *memory;
	struct kl_trace_regs home; /* registers at the first trap */
	struct kl_threads threads;
	pid_t culprit;   /* the thread whose event ended the child */
	clockid_t clock; /* clock of the child's processor time */
	bool has_clock;
	struct kl_workspace work;
	struct kl_place first; /* the place before the first kl_subject_place() */
	/*
	 * how adapter_prepare ended, if it ended the child; the first call then returns this;
	 * otherwise KL_CALL_OK
	 */
	struct kl_call unprepared;
	struct kl_rng rng; /* draws nonces and spot checks */
	struct kl_spot_check check;
	uint64_t last; /* without ptrace: the nonce of the last call */
	/* of an empty call, in ns: time to `done`, time to the trap, and variation of the latter */
	int64_t empty_done, empty_trap, jitter;
};

/* call.c */
/** Wait for the first trap and measure the cost of an empty call. */
int kl_call_settle(struct kl_cpu_subject *subject);
/** Make one call. Return false if the child has ended; *out then says how. */
bool kl_call_once(struct kl_cpu_subject *subject, enum kl_wire_do what, struct kl_times *times,
		  struct kl_call *out);

/* adapter.c */
/** Allocate the workspaces of an adapter, if wire->work_bytes is not 0. */
int kl_adapter_take(struct kl_cpu_subject *subject);
void kl_adapter_give(struct kl_cpu_subject *subject);
/**
 * Call adapter_prepare for each point, before the tensors hold any input. If this ends the child,
 * set subject->unprepared and return 0. Return KL_ECANNOT if the machine prevented a call.
 */
int kl_adapter_prepare(struct kl_cpu_subject *subject);
/**
 * Call adapter_pack, then flush the caches if a flush is due. Return false if the child has ended;
 * *out then says how. Do nothing without an adapter.
 */
bool kl_adapter_pack(struct kl_cpu_subject *subject, struct kl_call *out);
/** Call adapter_finish, after the call. Return as kl_adapter_pack() does. */
bool kl_adapter_finish(struct kl_cpu_subject *subject, struct kl_call *out);

/* handshake.c */
/** Measure empty calls and set empty_done, empty_trap and jitter. */
int kl_handshake_measure(struct kl_cpu_subject *subject);
/** Set the times of *out to those in *times, less the cost of the handshake. */
void kl_handshake_take(const struct kl_cpu_subject *subject, const struct kl_times *times,
		       struct kl_call *out);

/* outcome.c */
/** Kill and reap a child that has stopped or ended with *ev, and describe in *out how it ended. */
void kl_outcome(struct kl_cpu_subject *subject, const struct kl_trace_event *ev,
		struct kl_call *out);
/** Kill and reap a child and set *out to `end` and the message. */
void kl_outcome_kill(struct kl_cpu_subject *subject, struct kl_call *out, enum kl_call_end end,
		     const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/**
 * Return KL_ECANNOT, and set its message, for a child that ended before any byte of its kernel ran.
 */
int kl_outcome_not_sealed(const struct kl_cpu_subject *subject);

/* subject_memory.c */
/** Create a memfd of `bytes`, mapped into this process. */
int kl_memory_shared(void **map, int *fd, const char *name, uint64_t bytes);
/** Get memory for each tensor, reusing memory of earlier children that is large enough. */
int kl_memory_take(struct kl_cpu_subject *subject);
/** Return the memory to its owner, or free it. */
void kl_memory_give(struct kl_cpu_subject *subject);

/* place.c */
/**
 * Return how many views each tensor has at a point. The number does not depend on whether the child
 * has a second point.
 */
uint32_t kl_place_views(const struct kl_wire *wire, enum kl_wire_point point);
/**
 * Return the number of bytes around a tensor's data in its view; without a `base` all of them are
 * on one side. They are at most KL_PLACE_SLACK.
 */
#define KL_PLACE_SLACK (4096 + 2 * KL_JOB_MAX_BASE)
static inline size_t kl_place_slack(const struct kl_wire_arg *arg)
{
	return arg->map_bytes - arg->bytes;
}

/* buffers.c */
/** Poison only the bytes around the tensors' data, which is enough for empty calls. */
void kl_buffers_surround(struct kl_cpu_subject *subject, uint64_t seed);
/** Evict the tensors, and the workspaces of an adapter, from all caches. */
void kl_buffers_flush(struct kl_cpu_subject *subject);

/* subject_cpu.c, place.c, buffers.c, call.c: operations of subject.h */
/** Kill and reap the child, if it still runs. */
void kl_cpu_subject_reap(struct kl_cpu_subject *subject);
void kl_cpu_subject_place(struct kl_cpu_subject *subject, const struct kl_place *place);
void kl_cpu_subject_poison(struct kl_cpu_subject *subject, uint64_t seed);
void kl_cpu_subject_flush(struct kl_cpu_subject *subject);
int kl_cpu_subject_call(struct kl_cpu_subject *subject, struct kl_call *out);

#endif
