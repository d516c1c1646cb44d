/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/subject_ops.h"

#include <string.h>

int kl_subject_start(struct kl_subject **out, const struct kl_job *job, const struct kl_point *pt,
		     const struct kl_subject_spec *spec)
{
	return job->surface == KL_SURFACE_CUDA ? kl_subject_start_gpu(out, job, pt, spec) :
						 kl_subject_start_cpu(out, job, pt, spec);
}

void kl_subject_free(struct kl_subject *subject)
{
	if (subject)
		subject->ops->free(subject);
}

void kl_subject_place(struct kl_subject *subject, const struct kl_place *place)
{
	subject->ops->place(subject, place);
}

void *kl_subject_buffer(struct kl_subject *subject, size_t arg)
{
	return subject->ops->buffer(subject, arg);
}

size_t kl_subject_bytes(const struct kl_subject *subject, size_t arg)
{
	return subject->ops->bytes(subject, arg);
}

bool kl_subject_widens(const struct kl_subject *subject, size_t arg)
{
	return subject->ops->widens && subject->ops->widens(subject, arg);
}

void kl_subject_poison(struct kl_subject *subject, uint64_t seed)
{
	subject->ops->poison(subject, seed);
}

bool kl_subject_traced(const struct kl_subject *subject)
{
	return subject->ops->traced(subject);
}

int64_t kl_subject_handshake_ns(const struct kl_subject *subject)
{
	return subject->ops->handshake_ns(subject);
}

void kl_subject_flush(struct kl_subject *subject)
{
	subject->ops->flush(subject);
}

int kl_subject_call(struct kl_subject *subject, struct kl_call *out)
{
	return subject->ops->call(subject, out);
}

void kl_subject_extend(struct kl_subject *subject, int times)
{
	if (subject->ops->extend)
		subject->ops->extend(subject, times);
}

void kl_subject_limit(struct kl_subject *subject, int64_t ms)
{
	if (subject->ops->limit)
		subject->ops->limit(subject, ms);
}

int kl_subject_check(struct kl_subject *subject, struct kl_call *out)
{
	memset(out, 0, sizeof(*out));
	return subject->ops->check ? subject->ops->check(subject, out) : 0;
}
