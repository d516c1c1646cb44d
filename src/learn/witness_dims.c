/* SPDX-License-Identifier: Apache-2.0 */
/* witness_dims - judges both states of a step at points where a clause is false */
#include <string.h>

#include "base/error.h"
#include "learn/witness_parts.h"

/* where among the new points did it fail? -1: elsewhere; a launch fails before the first one */
static int failed_where(const struct kl_widening *w, const struct kl_judgement *v)
{
	const json_t *failure = json_object_get(v->event->correct, "failure");

	if (!failure)
		return v->event->failure == KL_FAILURE_LAUNCH ? 0 : -1;
	return kl_widening_which(w, kl_json_str_or(failure, "point", ""));
}

static bool may_count(struct kl_witness_clause *c, const struct kl_widening *w,
		      const struct kl_judgement *v)
{
	bool launch = v->event->failure == KL_FAILURE_LAUNCH;

	if (!launch && !kl_witness_ran(v->event->failure))
		kl_witness_leave_open(c, v->event->message);
	else if (launch && strstr(v->event->message, "does not hold"))
		kl_witness_leave_open(
			c, "its launch plan itself refuses such a point: nothing was run");
	else if (failed_where(w, v) < 0)
		kl_witness_leave_open(c, "it failed where the condition holds, too");
	else
		return true;
	c->unsure = true;
	return false;
}

/*
 * the state before must be right there: it has all of the kernel but the step, and the same oracle
 */
static int run_control(struct kl_seeker *s, struct kl_witness_clause *c, struct kl_gate *g,
		       const struct kl_transition *t, const struct kl_widening *w,
		       const struct kl_judgement *v)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *before = NULL;
	int at = failed_where(w, v), err = kl_witness_judge(&before, s, c, g, w->from, true);
	KL_AUTO(kl_freep) char *point = NULL;

	if (err < 0 || !before)
		return err;
	if (!kl_witness_passed(before) && failed_where(w, before) <= at) {
		kl_witness_leave_open(c, "the state before the step fails there, too");
		return 0;
	}
	point = kl_witness_point_words(w->to->contract, &w->point[at]);
	if ((err = kl_witness_keep(s, t, kl_witness_commit(t), w->to, v, w->words)) < 0 ||
	    (err = kl_witness_keep(s, t, &t->before, w->from, before, w->words)) < 0)
		return err;
	kl_witness_fails(s, c, v, kl_asprintf("%s K_%d at %s", t->lineage, t->step.number, point));
	return 0;
}

int kl_witness_at_points(struct kl_seeker *s, struct kl_witness_clause *c,
			 const struct kl_transition *t, struct kl_target *at, size_t i)
{
	KL_AUTO(kl_widening_release) struct kl_widening w = { 0 };
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	struct kl_gate *g = NULL;
	int err = kl_widen(&w, &(struct kl_widen_of){
				       .to = t->to,
				       .from = t->from,
				       .at = at,
				       .clauses = &s->clauses,
				       .i = i,
			       });

	if (err == KL_ENO) { /* of this kernel there is nothing to ask */
		kl_witness_leave_open(c, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return kl_witness_unsure(s, c, err);
	kl_strvec_pushf(&c->plan, "%s K_%d at %s", t->lineage, t->step.number, w.words);
	if (s->o->dry)
		return 0;
	if ((err = kl_witness_gate(&g, s, "")) < 0)
		return kl_witness_unsure(s, c, err);
	if ((err = kl_witness_judge(&v, s, c, g, w.to, true)) < 0 || !v)
		return err;
	if (!kl_witness_passed(v))
		return may_count(c, &w, v) ? run_control(s, c, g, t, &w, v) : 0;
	if ((err = kl_witness_keep(s, t, kl_witness_commit(t), w.to, v, w.words)) < 0)
		return err;
	kl_witness_passes(s, c, v,
			  kl_asprintf("%s K_%d at %s", t->lineage, t->step.number, w.words));
	return 0;
}
