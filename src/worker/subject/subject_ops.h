/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SUBJECT_OPS_H
#define KL_WORKER_SUBJECT_SUBJECT_OPS_H

#include "worker/subject/subject.h"

/*
 * subject_ops - the operations of subject.h as a table, with one implementation per surface:
 * subject_cpu.c and subject_gpu.c. Each implementation has a struct whose first member is a struct
 * kl_subject.
 */
struct kl_subject {
	const struct kl_subject_ops *ops;
};

struct kl_subject_ops {
	void (*free)(struct kl_subject *s);
	void (*place)(struct kl_subject *s, const struct kl_place *place);
	void *(*buffer)(struct kl_subject *s, size_t arg);
	size_t (*bytes)(const struct kl_subject *s, size_t arg);
	void (*poison)(struct kl_subject *s, uint64_t seed);
	bool (*traced)(const struct kl_subject *s);
	int64_t (*handshake_ns)(const struct kl_subject *s);
	void (*flush)(struct kl_subject *s);
	/* NULL if the result is always false */
	bool (*widens)(const struct kl_subject *s, size_t arg);
	int (*call)(struct kl_subject *s, struct kl_call *out);
	/* NULL if call() makes the checks */
	int (*check)(struct kl_subject *s, struct kl_call *out);
	void (*limit)(struct kl_subject *s, int64_t ms); /* NULL if only extend() sets limits */
	void (*extend)(struct kl_subject *s, int times); /* NULL if only limit() sets limits */
};

int kl_subject_start_cpu(struct kl_subject **out, const struct kl_job *job,
			 const struct kl_point *pt, const struct kl_subject_spec *spec);
int kl_subject_start_gpu(struct kl_subject **out, const struct kl_job *job,
			 const struct kl_point *pt, const struct kl_subject_spec *spec);

#endif
