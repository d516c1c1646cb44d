/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/visit.h"

#include "base/clock.h"
#include "base/error.h"
#include "worker/measure/replay.h"

bool kl_visit_ok(const struct kl_visit *visit)
{
	return visit->call.end == KL_CALL_OK && visit->mismatch.out < 0;
}

static void add_met(struct kl_visit *visit, const struct kl_member *member)
{
	for (size_t i = 0; i < visit->nmet; i++)
		if (visit->met[i] == member)
			return;
	visit->met[visit->nmet++] = member;
}

/*
 * Find out why an answer is wrong: find an earlier input for which it is right, or else redraw.
 * Return 1 if it is wrong by chance, 0 if not, negative on error.
 */
static int judge_wrong(struct kl_visit *visit, const struct kl_visit_plan *plan,
		       const struct kl_script_call *call, const struct kl_judge_call *judged)
{
	int chance;

	visit->kept = kl_replay_of(plan->job, call->member, visit->met, visit->nmet, judged->got);
	if (visit->kept || !plan->redraw)
		return 0;
	chance = kl_redraw(plan->redraw, call->member, &visit->mismatch, &call->trial, judged->got);
	if (chance <= 0)
		return chance;
	kl_judge_accept(plan->judge, judged, &visit->mismatch);
	visit->mismatch.out = -1;
	add_met(visit, call->member);
	return 1;
}

/* Judge an answer. Return 1 if it is right, 0 if not, negative on error. */
static int judge_answer(struct kl_visit *visit, struct kl_subject *subject,
			const struct kl_visit_plan *plan, const struct kl_script_call *call)
{
	const void *got[KL_MAX_ARGS] = { NULL };
	const struct kl_judge_call judged = { call->member, call->trial.place.right, got };
	int err;

	for (size_t i = 0; i < plan->job->nargs; i++)
		got[i] = kl_subject_buffer(subject, i);
	visit->calls++;
	err = kl_judge_answer(&visit->mismatch, plan->judge, &judged);
	if (err < 0 && err != KL_ENO)
		return err;
	if (err == KL_ENO)
		return judge_wrong(visit, plan, call, &judged);
	visit->changed = plan->job->deterministic &&
			 kl_judge_changed(&visit->mismatch, plan->judge, &judged);
	add_met(visit, call->member);
	return !visit->changed;
}

static void take_times(struct kl_visit *visit)
{
	int64_t ns = visit->call.ns > 1 ? visit->call.ns : 1;
	int64_t wall = visit->call.wall_ns > 1 ? visit->call.wall_ns : 1;

	if (!visit->measured || visit->call.late_ns < visit->least_late_ns)
		visit->least_late_ns = visit->call.late_ns;
	if (!visit->least_ns || ns < visit->least_ns)
		visit->least_ns = ns;
	if (!visit->least_wall_ns || wall < visit->least_wall_ns)
		visit->least_wall_ns = wall;
	visit->measured++;
	visit->disturbed += visit->call.disturbed;
}

/*
 * Make one call and judge its answer, if it is to be judged. Return 1 if nothing is wrong, 0 if
 * something is, negative on error.
 */
static int call_subject(struct kl_visit *visit, struct kl_subject *subject,
			const struct kl_visit_plan *plan, const struct kl_script_call *call)
{
	int64_t begin = kl_clock_ns();
	int right = 1, err;

	visit->at = call->member;
	err = kl_trial_kernel(&visit->call, subject, plan->job, &call->trial);
	if (err < 0)
		return err;
	if (visit->call.end != KL_CALL_OK)
		return 0;
	if (plan->candidate || call->measured)
		right = judge_answer(visit, subject, plan, call);
	if (call->measured && right == 1)
		take_times(visit);
	if (call->tail)
		visit->tail_ns += kl_clock_ns() - begin;
	return right;
}

static int follow_script(struct kl_visit *visit, struct kl_subject *subject,
			 const struct kl_visit_plan *plan)
{
	bool elsewhere = plan->spec.kind != KL_SUBJECT_BASELINE, slow = plan->lean;
	int right;

	for (size_t i = 0; i < plan->script->n; i++) {
		const struct kl_script_call *call = &plan->script->call[i];

		if (call->trial.place.other && !elsewhere)
			continue;
		if (call->tail ? !plan->tail : slow && (!call->measured || visit->measured))
			continue;
		if ((right = call_subject(visit, subject, plan, call)) <= 0)
			return right;
		slow |= visit->call.ns > KL_VISIT_SLOW_NS;
	}
	return 0;
}

int kl_visit(struct kl_visit *out, const struct kl_visit_plan *plan)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	struct kl_subject_spec spec = plan->spec;
	int err;

	*out = (struct kl_visit){ .mismatch.out = -1 };
	spec.memory = plan->memory;
	if (spec.kind != KL_SUBJECT_BASELINE) /* a baseline is opened for one point only */
		spec.other = plan->script->other;
	err = kl_subject_start(&subject, plan->job, plan->point, &spec);
	if (err < 0)
		return err;
	out->traced = kl_subject_traced(subject);
	out->handshake_ns = kl_subject_handshake_ns(subject);
	return follow_script(out, subject, plan);
}
