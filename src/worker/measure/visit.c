/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/visit.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "worker/measure/replay.h"

#define MAX_OBJECT ((size_t)64 << 20)

bool kl_visit_ok(const struct kl_visit *visit)
{
	return visit->call.end == KL_CALL_OK && visit->mismatch.out < 0;
}

static void copy_in(struct kl_subject *subject, const struct kl_job *job,
		    const struct kl_member *member)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (member->input[i])
			memcpy(kl_subject_buffer(subject, i), member->input[i],
			       kl_subject_bytes(subject, i));
}

/* Returns 1 if the answer is right, 0 if anything is wrong with the call, or an error. */
static int call_subject(struct kl_visit *visit, struct kl_subject *subject,
			const struct kl_visit_plan *plan, const struct kl_member *member)
{
	const void *got[KL_MAX_ARGS] = { NULL };
	int err;

	visit->at = member;
	kl_subject_poison(subject, kl_rng_u64(plan->poison));
	copy_in(subject, plan->job, member);
	if (!plan->point->hot)
		kl_subject_flush(subject);
	if ((err = kl_subject_call(subject, &visit->call)) < 0)
		return err;
	if (visit->call.end != KL_CALL_OK)
		return 0;
	for (size_t i = 0; i < plan->job->nargs; i++)
		got[i] = kl_subject_buffer(subject, i);
	visit->calls++;
	err = kl_compare(&visit->mismatch, plan->job, member, got);
	if (err < 0 && err != KL_ENO)
		return err;
	if (visit->mismatch.out >= 0) {
		visit->kept = kl_replay_of(plan->job, member, visit->met, visit->nmet, got);
		return 0;
	}
	if (!visit->nmet || member != visit->met[0])
		visit->met[visit->nmet++] = member;
	return 1;
}

static void take_times(struct kl_visit *visit)
{
	int64_t ns = visit->call.ns > 1 ? visit->call.ns : 1;

	int64_t wall = visit->call.wall_ns > 1 ? visit->call.wall_ns : 1;

	if (!visit->least_ns || ns < visit->least_ns)
		visit->least_ns = ns;
	if (!visit->least_wall_ns || wall < visit->least_wall_ns)
		visit->least_wall_ns = wall;
	visit->measured++;
	visit->disturbed += visit->call.disturbed;
}

static void shuffle_members(const struct kl_member **members, const struct kl_visit_plan *plan)
{
	memcpy(members, plan->input, plan->ninput * sizeof(*members));
	for (size_t i = plan->ninput; i > 1; i--) {
		size_t k = kl_rng_below(plan->order, i);
		const struct kl_member *swap = members[i - 1];

		members[i - 1] = members[k];
		members[k] = swap;
	}
}

static int measure_members(struct kl_visit *visit, struct kl_subject *subject,
			   const struct kl_visit_plan *plan)
{
	const struct kl_member *members[KL_VISIT_MAX_INPUTS];
	int right;

	shuffle_members(members, plan);
	if ((right = call_subject(visit, subject, plan, members[0])) <= 0)
		return right;
	visit->first_ns = visit->call.ns;
	visit->slow = visit->first_ns > KL_VISIT_SLOW_NS;
	if (visit->slow)
		take_times(visit);
	for (size_t i = 1; i <= plan->calls && !visit->slow; i++) {
		if (plan->point->hot && i > 1 &&
		    (right = call_subject(visit, subject, plan, members[0])) <= 0)
			return right;
		if ((right = call_subject(visit, subject, plan, members[i])) <= 0)
			return right;
		take_times(visit);
	}
	return 0;
}

/*
 * Start the subject from a copy of its object that is unlinked once loaded. The physical placement
 * of a file's pages can change a short call by some per cent; if all visits used the same file,
 * that would look like a difference between two kernels.
 */
static int start_copy(struct kl_subject **out, const struct kl_visit_plan *plan,
		      struct kl_subject_spec spec)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/object-%d", plan->job->pool, (int)getpid());
	int err = kl_fs_read(&bytes, spec.so, MAX_OBJECT);

	if (!err)
		err = kl_fs_put(path, bytes.ptr, bytes.len, 0755);
	if (err < 0)
		return err;
	spec.so = path;
	err = kl_subject_start(out, plan->job, plan->point, &spec);
	unlink(path);
	return err;
}

int kl_visit(struct kl_visit *out, const struct kl_visit_plan *plan)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	struct kl_subject_spec spec = plan->spec;
	int err;

	*out = (struct kl_visit){ .mismatch.out = -1 };
	spec.memory = plan->memory;
	err = spec.so ? start_copy(&subject, plan, spec) :
			kl_subject_start(&subject, plan->job, plan->point, &spec);
	if (err < 0)
		return err;
	out->traced = kl_subject_traced(subject);
	out->handshake_ns = kl_subject_handshake_ns(subject);
	return measure_members(out, subject, plan);
}
