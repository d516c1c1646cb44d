/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SUBJECT_STATE_H
#define KL_WORKER_SUBJECT_SUBJECT_STATE_H

#include <time.h>

#include "base/rng.h"
#include "worker/subject/subject_ops.h"
#include "worker/subject/trace.h"
#include "worker/subject/wire.h"

/*
 * subject_state - the state of a sealed child, shared by the files of kernels in C: subject_cpu.c
 * (life), buffers.c, call.c (one call) and outcome.c (what an end means). Nobody else includes
 * this.
 */
struct kl_tensor {
	unsigned char *map;   /* the parent's mapping of the memfd; NULL: not a tensor */
	unsigned char *slack; /* copy of what stands around the data */
	size_t nslack;
	int fd;
};

struct kl_cpu_subject {
	struct kl_subject base; /* first: what the interface sees */
	pid_t pid;              /* 0: gone */
	bool traced, precise;   /* precise: pinned, so the parent spins */
	int socket;
	int64_t call_ms;
	struct kl_control *control; /* shared with the child */
	struct kl_wire *wire;
	struct kl_hello hello;
	char name[KL_MAX_ARGS][64]; /* of the arguments */
	struct kl_tensor tensor[KL_MAX_ARGS];
	struct kl_subject_memory *memory; /* where they go back to; NULL: nowhere */
	struct kl_trace_regs home;        /* registers at the first trap */
	clockid_t clock;                  /* the child's processor time */
	bool has_clock;
	struct kl_rng nonce;
	uint64_t last; /* alone: the nonce of the last call */
	/* an empty call, ns: until `done` is seen; until the trap is; how that varies */
	int64_t empty_done, empty_trap, jitter;
};

/* call.c */
/** The first trap, and the cost of an empty call. */
int kl_call_settle(struct kl_cpu_subject *subject);
int64_t kl_call_now(void);

/* outcome.c */
/** Say how a child ended; kills and reaps it. */
void kl_outcome(struct kl_cpu_subject *subject, const struct kl_trace_event *ev,
		struct kl_call *out);
/** End a child that is being found out. */
void kl_outcome_kill(struct kl_cpu_subject *subject, struct kl_call *out, enum kl_call_end end,
		     const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* subject_memory.c */
/** A memfd of `bytes` mapped into this process. */
int kl_memory_shared(void **map, int *fd, const char *name, uint64_t bytes);
/** Memory of each tensor of the plan, as far as it was lent before and fits. */
int kl_memory_take(struct kl_cpu_subject *subject);
/** Back to who lends it, or away. */
void kl_memory_give(struct kl_cpu_subject *subject);

/* subject_cpu.c, buffers.c, call.c: what is behind the interface */
/** SIGKILL, reap. */
void kl_cpu_subject_reap(struct kl_cpu_subject *subject);
void kl_cpu_subject_poison(struct kl_cpu_subject *subject, uint64_t seed);
void kl_cpu_subject_flush(struct kl_cpu_subject *subject);
int kl_cpu_subject_call(struct kl_cpu_subject *subject, struct kl_call *out);

#endif
