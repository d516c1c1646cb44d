/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TIMING_CLIENT_H
#define KL_WORKER_GPU_TIMING_CLIENT_H

#include "worker/gpu/client.h"
#include "worker/gpu/timing/wire.h"
#include "worker/measure/blocks.h"
#include "worker/pool/pool.h"

/*
 * client - one GPU process that holds all that is compared at one point: the candidate twice (two
 * modules of the same cubin), its parent, the baseline, and several sets of tensors with
 * the pool's inputs, in turn. Subjects are numbered as blocks.h does.
 *
 * Host code (launcher.h) gets a process of its own for each of them, so that nothing of the
 * candidate's runs where others are timed; and since it could lie there, the clock of this process
 * is asked, too.
 *
 *	kl_gpu_timer_open(&t, job, point, member, nmember, wanted);
 *	kl_gpu_timer_visit(t, who, mode, which, n, seed, &visited)
 *	kl_gpu_timer_answer(t, which[i], got);		outputs of the last call there
 *	kl_gpu_timer_free(t);
 *
 * A subject other than the candidate that cannot be loaded is left out, with a note.
 */
#define KL_GPU_TIMER_MEMBERS 8

struct kl_gpu_timer {
	const struct kl_job *job; /* borrowed, as are point and members */
	const struct kl_point *point;
	const struct kl_member *member[KL_GPU_TIMER_MEMBERS];
	size_t nmember, nset;                           /* set i has member i % nmember */
	struct kl_gpu_child *child[KL_BLOCKS_SUBJECTS]; /* [0] alone; host code: one each */
	int last;                                       /* who was visited last */
	struct kl_gpu_host host[KL_GPU_TIMER_MEMBERS];
	struct kl_gpu_tensor_layout layout[KL_GPU_MAX_TENSORS];
	uint64_t bytes; /* of a set */
	uint64_t l2;
	double bytes_per_ns; /* of the device memory, at best; 0: not known */
	bool there[KL_BLOCKS_SUBJECTS];
	char library[96]; /* "cuBLAS 130100", "" where the baseline is none */
};

/**
 * `there`: what to load; cleared for what is left out. KL_EINVALID: the candidate cannot be
 * launched; KL_ECANNOT: not on this GPU.
 */
int kl_gpu_timer_open(struct kl_gpu_timer **out, const struct kl_job *job,
		      const struct kl_point *pt, const struct kl_member *const *member,
		      size_t nmember, bool there[KL_BLOCKS_SUBJECTS], json_t *notes);
void kl_gpu_timer_free(struct kl_gpu_timer *timer);
KL_DEFINE_CLEANUP(struct kl_gpu_timer *, kl_gpu_timer_free)

const char *kl_gpu_timer_what(const struct kl_job *job, int who);
/** 0 whatever the subject did: see out->how; the process is gone after a fault or a hang. */
int kl_gpu_timer_visit(struct kl_gpu_timer *timer, int who, enum kl_gpu_time_mode mode,
		       const uint32_t *which, size_t n, uint32_t warm, uint64_t seed,
		       struct kl_gpu_time_visited *out);
/** `rounds` of `calls` and of twice as many; one round has no spread. */
int kl_gpu_timer_slope(struct kl_gpu_timer *timer, int who, uint32_t calls, uint32_t rounds,
		       struct kl_gpu_time_sloped *out);
/**
 * Host code: what one more call takes by this process's own clock, from two requests of n and 2n
 * calls in `rounds`. Less can be claimed over there, but not done.
 */
int kl_gpu_timer_outside(struct kl_gpu_timer *timer, int who, uint32_t calls, uint32_t rounds,
			 double *ns);
/** Is every process that it needs there? */
bool kl_gpu_timer_alive(const struct kl_gpu_timer *timer);
int kl_gpu_timer_bench(struct kl_gpu_timer *timer, int who, uint32_t warm, uint32_t calls,
		       struct kl_gpu_time_benched *out);
/** `got[arg]`: outputs of what ran last on that set; valid until the next call of any of these. */
int kl_gpu_timer_answer(struct kl_gpu_timer *timer, uint32_t set, const void **got);

#endif
