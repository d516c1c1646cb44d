/* SPDX-License-Identifier: Apache-2.0 */
/* witness_dims - judges both states of a step at points where a clause is false */
#include <string.h>

#include "base/error.h"
#include "learn/witness_parts.h"

/*
 * Return the index of the new point where the kernel failed; 0 if its launch failed; -1 if it
 * failed at no new point.
 */
static int failed_where(const struct kl_widening *widening, const struct kl_judgement *judgement)
{
	const json_t *failure = json_object_get(judgement->event->correct, "failure");

	if (!failure)
		return judgement->event->failure == KL_FAILURE_LAUNCH ? 0 : -1;
	return kl_widening_which(widening, kl_json_str_or(failure, "point", ""));
}

static bool may_count(struct kl_witness_clause *clause, const struct kl_widening *widening,
		      const struct kl_judgement *judgement)
{
	bool launch = judgement->event->failure == KL_FAILURE_LAUNCH;

	if (!launch && !kl_witness_ran(judgement->event->failure))
		kl_witness_leave_open(clause, judgement->event->message);
	else if (launch && strstr(judgement->event->message, "does not hold"))
		kl_witness_leave_open(
			clause, "the launch plan does not accept the point, so nothing was run");
	else if (failed_where(widening, judgement) < 0)
		kl_witness_leave_open(clause, "the kernel also failed where the condition holds");
	else
		return true;
	clause->unsure = true;
	return false;
}

/*
 * Run the control: judge the state before the step, which must pass at the point where K_i failed.
 * This state has the same oracle as K_i and differs from it only by the step.
 */
static int run_control(struct kl_witness_search *search, struct kl_witness_clause *clause,
		       struct kl_gate *gate, const struct kl_transition *transition,
		       const struct kl_widening *widening, const struct kl_judgement *judgement)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *before = NULL;
	int at = failed_where(widening, judgement),
	    err = kl_witness_judge(&before, search, clause, gate, widening->from, true);
	KL_AUTO(kl_freep) char *point = NULL;

	if (err < 0 || !before)
		return err;
	if (!kl_witness_passed(before) && failed_where(widening, before) <= at) {
		kl_witness_leave_open(
			clause, "the state before the step also fails where the clause is false");
		return 0;
	}
	point = kl_witness_point_words(widening->to->contract, &widening->point[at]);
	if ((err = kl_witness_keep(search, transition, kl_witness_commit(transition), widening->to,
				   judgement, widening->words)) < 0 ||
	    (err = kl_witness_keep(search, transition, &transition->before, widening->from, before,
				   widening->words)) < 0)
		return err;
	kl_witness_fails(search, clause, judgement,
			 kl_asprintf("%s K_%d at %s", transition->lineage, transition->step.number,
				     point));
	return 0;
}

int kl_witness_at_points(struct kl_witness_search *search, struct kl_witness_clause *clause,
			 const struct kl_transition *transition, struct kl_target *at, size_t i)
{
	KL_AUTO(kl_widening_release) struct kl_widening widening = { 0 };
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	struct kl_gate *gate = NULL;
	int err = kl_widen(&widening, &(struct kl_widen_of){
					      .to = transition->to,
					      .from = transition->from,
					      .at = at,
					      .clauses = &search->clauses,
					      .i = i,
				      });

	if (err == KL_ENO) { /* this kernel cannot be used to test the clause */
		kl_witness_leave_open(clause, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return kl_witness_unsure(search, clause, err);
	kl_strvec_pushf(&clause->plan, "%s K_%d at %s", transition->lineage,
			transition->step.number, widening.words);
	if (search->o->dry)
		return 0;
	if ((err = kl_witness_session(&gate, search, "")) < 0)
		return kl_witness_unsure(search, clause, err);
	if ((err = kl_witness_judge(&judgement, search, clause, gate, widening.to, true)) < 0 ||
	    !judgement)
		return err;
	if (!kl_witness_passed(judgement))
		return may_count(clause, &widening, judgement) ?
			       run_control(search, clause, gate, transition, &widening, judgement) :
			       0;
	if ((err = kl_witness_keep(search, transition, kl_witness_commit(transition), widening.to,
				   judgement, widening.words)) < 0)
		return err;
	kl_witness_passes(search, clause, judgement,
			  kl_asprintf("%s K_%d at %s", transition->lineage, transition->step.number,
				      widening.words));
	return 0;
}
