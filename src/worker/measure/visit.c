/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/visit.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "worker/measure/replay.h"

#define MAX_OBJECT ((size_t)64 << 20)

bool kl_visit_ok(const struct kl_visit *v)
{
	return v->call.end == KL_CALL_OK && v->mismatch.out < 0;
}

static void copy_in(struct kl_subject *s, const struct kl_job *job, const struct kl_member *m)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (m->input[i])
			memcpy(kl_subject_buffer(s, i), m->input[i], kl_subject_bytes(s, i));
}

/* One checked call; false when something is wrong with it. */
static bool call_subject(struct kl_visit *v, struct kl_subject *s, const struct kl_visit_plan *p,
			 const struct kl_member *m)
{
	const void *got[KL_JOB_MAX_ARGS] = { NULL };

	v->at = m;
	kl_subject_poison(s, kl_rng_u64(p->rng));
	copy_in(s, p->job, m);
	if (!p->point->hot)
		kl_subject_flush(s);
	if (kl_subject_call(s, &v->call) < 0 || v->call.end != KL_CALL_OK)
		return false;
	for (size_t i = 0; i < p->job->nargs; i++)
		got[i] = kl_subject_buffer(s, i);
	v->calls++;
	if (kl_compare(&v->mismatch, p->job, m, got) < 0 || v->mismatch.out >= 0) {
		v->kept = kl_replay_of(p->job, m, v->met, v->nmet, got);
		return false;
	}
	if (!v->nmet || m != v->met[0])
		v->met[v->nmet++] = m;
	return true;
}

static void take_times(struct kl_visit *v)
{
	int64_t ns = v->call.ns > 1 ? v->call.ns : 1;

	int64_t wall = v->call.wall_ns > 1 ? v->call.wall_ns : 1;

	if (!v->least_ns || ns < v->least_ns)
		v->least_ns = ns;
	if (!v->least_wall_ns || wall < v->least_wall_ns)
		v->least_wall_ns = wall;
	v->measured++;
	v->disturbed += v->call.disturbed;
}

static void shuffle_members(const struct kl_member **m, const struct kl_visit_plan *p)
{
	memcpy(m, p->input, p->ninput * sizeof(*m));
	for (size_t i = p->ninput; i > 1; i--) {
		size_t k = kl_rng_below(p->rng, i);
		const struct kl_member *t = m[i - 1];

		m[i - 1] = m[k];
		m[k] = t;
	}
}

static void measure_members(struct kl_visit *v, struct kl_subject *s, const struct kl_visit_plan *p)
{
	const struct kl_member *m[KL_VISIT_MAX_INPUTS];

	shuffle_members(m, p);
	if (!call_subject(v, s, p, m[0]))
		return;
	v->first_ns = v->call.ns;
	v->slow = v->first_ns > KL_VISIT_SLOW_NS;
	if (v->slow)
		take_times(v);
	for (size_t i = 1; i <= p->calls && !v->slow; i++) {
		if (p->point->hot && i > 1 && !call_subject(v, s, p, m[0]))
			return;
		if (!call_subject(v, s, p, m[i]))
			return;
		take_times(v);
	}
}

/*
 * A copy of the object, gone as soon as it is loaded. Where the system put a file's pages is
 * worth some per cent of a short call; were it the same file each time, that would
 * pass for a difference between two kernels.
 */
static int start_copy(struct kl_subject **s, const struct kl_visit_plan *p,
		      struct kl_subject_spec spec)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/object-%d", p->job->pool, (int)getpid());
	int err = kl_fs_read(&bytes, spec.so, MAX_OBJECT);

	if (!err)
		err = kl_fs_put(path, bytes.ptr, bytes.len, 0755);
	if (err < 0)
		return err;
	spec.so = path;
	err = kl_subject_start(s, p->job, p->point, &spec);
	unlink(path);
	return err;
}

int kl_visit(struct kl_visit *out, const struct kl_visit_plan *p)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *s = NULL;
	struct kl_subject_spec spec = p->spec;
	int err;

	*out = (struct kl_visit){ .mismatch.out = -1 };
	spec.memory = p->memory;
	err = spec.so ? start_copy(&s, p, spec) : kl_subject_start(&s, p->job, p->point, &spec);
	if (err < 0)
		return err;
	out->traced = kl_subject_traced(s);
	out->handshake_ns = kl_subject_handshake_ns(s);
	measure_members(out, s, p);
	return 0;
}
