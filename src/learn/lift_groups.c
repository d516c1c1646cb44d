/* SPDX-License-Identifier: Apache-2.0 */
/* lift_groups - groups the steps from which one card each is made, and leaves out the others */
#include <string.h>

#include "learn/lift_parts.h"

static void free_own(struct kl_mechanism *own)
{
	if (!own)
		return;
	free(own->name);
	free(own->text);
	free(own->action);
	kl_strvec_release(&own->primary);
	free(own);
}

/* Make a substitute mechanism for a step that has no entry in the list of mechanisms. */
static struct kl_mechanism *make_own(const struct kl_transition *transition)
{
	const struct kl_step *step = &transition->step;
	const char *text = step->text && *step->text ? step->text : step->action;
	struct kl_mechanism *own = kl_calloc(1, sizeof(*own));

	own->name = kl_strdup(step->mechanism && *step->mechanism ? step->mechanism : step->action);
	own->text = kl_asprintf("what was taken back as: %.400s", text);
	own->action = kl_strdup(step->action);
	kl_strvec_copy(&own->primary, &transition->gained);
	return own;
}

void kl_lift_groups_release(struct kl_lift_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		free(groups->v[i].t);
		free_own(groups->v[i].own);
	}
	free(groups->v);
}

/* Check that the diff changes nothing but YAML files, that is, the launch plan. */
static bool is_plan_only(const struct kl_transition *transition)
{
	bool some = false;

	for (const char *text = transition->diff; (text = strstr(text, "diff --git ")); text++) {
		size_t n = strcspn(text, "\n");

		if (text > transition->diff && text[-1] != '\n')
			continue;
		some = true;
		if (n < 5 || strncmp(text + n - 5, ".yaml", 5))
			return false;
	}
	return some;
}

/*
 * Order transitions: verified ones first, then greater gains, then by name, so that the order is
 * the same in every run.
 */
static int by_worth(const void *a, const void *b)
{
	const struct kl_transition *left = *(const struct kl_transition *const *)a;
	const struct kl_transition *right = *(const struct kl_transition *const *)b;
	int verified = (int)kl_lift_is_verified(right) - (int)kl_lift_is_verified(left), order;

	if (verified)
		return verified;
	if (kl_lift_ratio_of(left) != kl_lift_ratio_of(right))
		return kl_lift_ratio_of(left) < kl_lift_ratio_of(right) ? 1 : -1;
	if ((order = strcmp(left->lineage, right->lineage)))
		return order;
	return left->step.number - right->step.number;
}

static int by_name(const void *a, const void *b)
{
	const struct kl_lift_group *left = a, *right = b;
	int order = strcmp(left->m->name, right->m->name);

	if (!order)
		order = strcmp(left->action, right->action);
	return order ? order : (int)left->plan_only - (int)right->plan_only;
}

static void leave_out(struct kl_lifter *lifter, const struct kl_transition *transition,
		      const char *why)
{
	kl_strvec_pushf(lifter->notes, "%s step %d (%s): %s", transition->lineage,
			transition->step.number, transition->step.action, why);
}

/*
 * Return the step's action or, if that action is not in the vocabulary or a label names the step,
 * the mechanism's action, so that steps of several lineages can be grouped.
 */
static const char *action_of(const struct kl_lifter *lifter, const struct kl_transition *transition,
			     const struct kl_mechanism *mechanism)
{
	return mechanism->action && (transition->labelled ||
				     !kl_actions_has(&lifter->actions, transition->step.action)) ?
		       mechanism->action :
		       transition->step.action;
}

/*
 * Check that the step gained a primary feature of the mechanism or claims one of its primary
 * traits.
 */
static bool gained_primary(const struct kl_transition *transition,
			   const struct kl_mechanism *mechanism)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec traits = KL_STRVEC_INIT;

	kl_strvec_split(&traits, transition->step.trait ? transition->step.trait : "", ", ");
	for (size_t i = 0; i < mechanism->primary.n; i++) {
		const char *fact = mechanism->primary.v[i];

		if (strncmp(fact, "trait:", 6) ? kl_strvec_has(&transition->gained, fact) :
						 kl_strvec_has(&traits, fact + 6))
			return true;
	}
	return false;
}

static bool has_moved(const struct kl_transition *transition)
{
	return transition->gained.n || transition->lost.n ||
	       kl_lift_speed_of(transition) == KL_SPEED_FAST;
}

/*
 * Return the reason why no card may be made from a step, or NULL if a card may be made. A person's
 * label overrides the findings of the walk, but the step must have changed a fact or be faster.
 */
static const char *reason_against(const struct kl_transition *transition,
				  const struct kl_mechanism *mechanism)
{
	const char *delta = transition->step.delta ? transition->step.delta : "";

	if (transition->labelled) {
		return !mechanism ?
			       "the step's label names no known mechanism" :
		       !has_moved(transition) ?
			       "the step is labelled, but neither a fact nor its speed changed" :
			       NULL;
	}
	if (!strcmp(delta, "compound"))
		return "more than one mechanism changed";
	if (!strcmp(delta, "contradicted"))
		return "the step's facts contradict the mechanism that its author named";
	if (!mechanism)
		return has_moved(transition) ?
			       NULL :
			       "no known mechanism, and neither a fact nor its speed changed";
	return gained_primary(transition, mechanism) ? NULL :
						       "no primary fact of its mechanism changed";
}

static bool is_same_group(const struct kl_lift_group *group, const struct kl_mechanism *mechanism,
			  const struct kl_mechanism *own)
{
	return mechanism ? group->m == mechanism :
			   group->unlisted && !strcmp(group->m->name, own->name);
}

static void group_one(struct kl_lift_groups *out, struct kl_lifter *lifter,
		      const struct kl_transition *transition)
{
	const struct kl_mechanism *mechanism =
		transition->step.mechanism ?
			kl_mechanisms_find(&lifter->mechanisms, transition->step.mechanism) :
			NULL;
	struct kl_lift_group *group = NULL;
	bool plan_only = is_plan_only(transition);
	struct kl_mechanism *own = NULL;
	const char *action, *why = reason_against(transition, mechanism);

	if (why) {
		leave_out(lifter, transition, why);
		return;
	}
	own = mechanism ? NULL : make_own(transition);
	action = mechanism ? action_of(lifter, transition, mechanism) : transition->step.action;
	for (size_t i = 0; i < out->n && !group; i++)
		if (is_same_group(&out->v[i], mechanism, own) &&
		    !strcmp(out->v[i].action, action) && out->v[i].plan_only == plan_only)
			group = &out->v[i];
	if (!group) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		group = &out->v[out->n++];
		*group = (struct kl_lift_group){ .m = mechanism ? mechanism : own,
						 .action = action,
						 .plan_only = plan_only,
						 .unlisted = !mechanism,
						 .own = kl_steal(&own) };
	}
	free_own(own);
	KL_GROW(group->t, group->n + 1, group->alloc);
	group->t[group->n++] = transition;
	group->wins |= kl_lift_speed_of(transition) == KL_SPEED_FAST;
}

void kl_lift_groups_make(struct kl_lift_groups *out, struct kl_lifter *lifter)
{
	for (size_t i = 0; i < lifter->t->n; i++)
		group_one(out, lifter, &lifter->t->v[i]);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_name);
	for (size_t i = 0; i < out->n; i++)
		qsort(out->v[i].t, out->v[i].n, sizeof(*out->v[i].t), by_worth);
}
