/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/subject_ops.h"

int kl_subject_start(struct kl_subject **out, const struct kl_job *job, const struct kl_point *pt,
		     const struct kl_subject_spec *spec)
{
	return job->surface == KL_SURFACE_CUDA ? kl_subject_start_gpu(out, job, pt, spec) :
						 kl_subject_start_cpu(out, job, pt, spec);
}

void kl_subject_free(struct kl_subject *s)
{
	if (s)
		s->ops->free(s);
}

void *kl_subject_buffer(struct kl_subject *s, size_t arg)
{
	return s->ops->buffer(s, arg);
}

size_t kl_subject_bytes(const struct kl_subject *s, size_t arg)
{
	return s->ops->bytes(s, arg);
}

void kl_subject_poison(struct kl_subject *s, uint64_t seed)
{
	s->ops->poison(s, seed);
}

bool kl_subject_traced(const struct kl_subject *s)
{
	return s->ops->traced(s);
}

int64_t kl_subject_handshake_ns(const struct kl_subject *s)
{
	return s->ops->handshake_ns(s);
}

void kl_subject_flush(struct kl_subject *s)
{
	s->ops->flush(s);
}

int kl_subject_call(struct kl_subject *s, struct kl_call *out)
{
	return s->ops->call(s, out);
}
