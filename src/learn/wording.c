/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/wording.h"

#include <string.h>

#include "base/error.h"
#include "learn/lift_parts.h"
#include "learn/wording_parts.h"
#include "rewrite/brief.h"

/* estimated tokens of the shortest reply (texts only) and the longest (with reasoning and code) */
#define SHORT_REPLY 500
#define LONG_REPLY 6000
#define BYTES_PER_TOKEN 3

void kl_wording_release(struct kl_wording *wording)
{
	kl_mechanisms_release(&wording->mechanisms);
	kl_taxonomy_free(wording->tax);
	*wording = (struct kl_wording){ 0 };
}

int kl_wording_open(struct kl_wording *out, struct kl_lift *lift,
		    const struct kl_wording_opts *opts)
{
	int err;

	*out = (struct kl_wording){ .lift = lift, .o = *opts };
	err = kl_mechanisms_load_shipped(&out->mechanisms);
	return err < 0 ? err : kl_taxonomy_load(&out->tax);
}

bool kl_wording_wants(const struct kl_wording *wording, size_t i)
{
	return !wording->lift->v[i].old;
}

/*
 * --- data of a group of steps -----------------------------------------------------------------
 */

void kl_wording_group_release(struct kl_wording_group *group)
{
	for (size_t i = 0; group->before && i < group->n; i++)
		kl_target_release(&group->before[i]);
	for (size_t i = 0; i < group->nrefused; i++)
		if (group->known[i])
			kl_target_release(&group->at[i]);
	free(group->before);
	kl_strvec_release(&group->features);
}

/*
 * Fill the target at which the refused step broke the kernel. The step witnesses a condition only
 * if the condition is false there. The target is the state that a backward step made, or the state
 * to which a forward step was applied.
 */
static int know_refused(struct kl_target *out, const struct kl_wording *wording,
			const struct kl_refusal *refusal)
{
	const char *platform = refusal->event->place.id;
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, wording->o.repo,
				  refusal->step.forward ? &refusal->on : &refusal->commit);

	if (!err)
		err = kl_surface_from_tree(&surface, wording->o.repo, &tree, "");
	if (!err)
		err = kl_target_init(out, wording->tax, surface, platform);
	if (!err && !refusal->step.forward)
		kl_target_add_event(out, refusal->event);
	return err;
}

static bool is_of(const struct kl_refusal *refusal, const struct kl_mechanism *mechanism)
{
	return refusal->event && refusal->step.mechanism && mechanism &&
	       !strcmp(refusal->step.mechanism, mechanism->name);
}

static void know_features(struct kl_wording_group *group)
{
	const struct kl_transitions *transitions = group->w->lift->t;

	for (size_t i = 0; i < transitions->n; i++) {
		kl_strvec_pushv(&group->features, (const char *const *)transitions->v[i].had.v);
		kl_strvec_pushv(&group->features, (const char *const *)transitions->v[i].gained.v);
	}
	for (size_t i = 0; i < group->w->mechanisms.n; i++)
		kl_strvec_pushv(&group->features,
				(const char *const *)group->w->mechanisms.m[i].primary.v);
	kl_strvec_uniq(&group->features);
}

int kl_wording_group(struct kl_wording_group *out, const struct kl_wording *wording, size_t i)
{
	struct kl_lift_result *result = &wording->lift->v[i];
	const struct kl_transitions *transitions = wording->lift->t;
	int err = 0;

	*out = (struct kl_wording_group){
		.w = wording,
		.r = result,
		.t = result->t,
		.n = result->n,
		.m = result->card->mechanism ?
			     kl_mechanisms_find(&wording->mechanisms, result->card->mechanism) :
			     NULL,
		.before = kl_calloc(result->n + 1, sizeof(*out->before)),
	};
	for (size_t k = 0; k < result->n; k++)
		out->before[k] = (struct kl_target){ .known = KL_KNOWN_INIT };
	for (size_t k = 0; !err && k < result->n; k++)
		err = kl_lift_before(&out->before[k], wording->tax, &transitions->events,
				     result->t[k]);
	for (size_t k = 0; !err && k < transitions->nr && out->nrefused < KL_WORDING_REFUSED; k++) {
		size_t n = out->nrefused;

		if (!is_of(&transitions->r[k], out->m))
			continue;
		out->refused[n] = &transitions->r[k];
		out->at[n] = (struct kl_target){ .known = KL_KNOWN_INIT };
		out->known[n] = know_refused(&out->at[n], wording, &transitions->r[k]) == 0;
		/* not an error: a step whose commit is missing merely cannot witness a test */
		kl_error_clear();
		out->nrefused++;
	}
	know_features(out);
	return err;
}

/* --- running the conversation ----------------------------------------------------------------- */

static void give_up(struct kl_wording *wording, const struct kl_card *card, const char *why)
{
	kl_strvec_pushf(&wording->lift->notes, "%s was not reworded: %s", card->id, why);
}

static int take_reply(struct kl_wording_group *group, const char *reply)
{
	KL_AUTO(kl_words_release) struct kl_words words = { 0 };
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	int err = kl_words_parse(&words, reply, strlen(reply));

	if (err < 0 || (err = kl_wording_check(&card, group, &words)) < 0)
		return err;
	kl_card_free(group->r->card);
	group->r->card = kl_steal(&card);
	return 0;
}

static int open_session(struct kl_session **out, const struct kl_wording *wording,
			const struct kl_wording_group *group)
{
	const char *lineage = kl_wording_first(group)->lineage;
	KL_AUTO(kl_freep) char *workload = kl_strndup(lineage, strcspn(lineage, "/"));

	return wording->o.open(out, workload, wording->o.payload);
}

/* Return 1 if the card was reworded, 0 if there was no usable answer, or an error. */
static int run_conversation(struct kl_driver *driver, struct kl_wording_group *group)
{
	const char *reply;
	int err;

	while (kl_driver_next(driver)) {
		struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;

		kl_wording_compose(&turn, group, driver->dialogue.kind);
		if (!(err = kl_driver_ask(&reply, driver, &turn)))
			err = kl_driver_accept(driver, take_reply(group, reply));
		if (err <= 0)
			return err < 0 ? err : 1;
	}
	return 0;
}

int kl_wording_do(struct kl_wording *wording, size_t i)
{
	KL_AUTO(kl_wording_group_release) struct kl_wording_group group = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	KL_AUTO(kl_driver_release) struct kl_driver driver = { 0 };
	int err = kl_wording_group(&group, wording, i);

	if (err < 0 || (err = kl_brief_system_plain(&texts, wording->o.repo, "lift")) < 0)
		return err;
	kl_wording_driver(&driver, &group);
	if ((err = open_session(&driver.session, wording, &group)) < 0 ||
	    (err = kl_driver_open(&driver, &texts)) < 0)
		return err;
	wording->asked++;
	err = run_conversation(&driver, &group);
	/* the budget is spent, or the model did not reply */
	if (err == KL_ENO || err == KL_ETIMEOUT) {
		give_up(wording, group.r->card, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	if (err)
		wording->worded++;
	else
		give_up(wording, group.r->card, driver.why ? driver.why : "");
	wording->lift->v[i].worded = err ? wording->o.who : NULL;
	return 0;
}

/* --- estimating the cost ---------------------------------------------------------------------- */

static int add_costs(struct kl_wording_estimate *estimate, struct kl_wording *wording,
		     const struct kl_strvec *instructions, size_t i)
{
	KL_AUTO(kl_wording_group_release) struct kl_wording_group group = { 0 };
	KL_AUTO(kl_driver_release) struct kl_driver driver = { 0 };
	KL_AUTO(kl_driver_turn_release) struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf user = KL_BUF_INIT;
	struct kl_session *session;
	int64_t bytes = 0, cost, spare;
	int err = kl_wording_group(&group, wording, i);

	if (err < 0)
		return err;
	kl_wording_driver(&driver, &group);
	kl_wording_compose(&turn, &group, KL_DIALOGUE_STEP);
	if ((err = kl_driver_write(&user, &driver, &turn)) < 0 ||
	    (err = open_session(&session, wording, &group)) < 0)
		return err;
	for (size_t k = 0; k < instructions->n; k++)
		bytes += (int64_t)strlen(instructions->v[k]);
	bytes += (int64_t)user.len;
	kl_session_cost(&cost, &spare, session, bytes, SHORT_REPLY);
	estimate->nano[0] += cost;
	for (int k = 0; k < KL_DIALOGUE_UNUSABLE; k++) {
		kl_session_cost(&spare, &cost, session, bytes / BYTES_PER_TOKEN, LONG_REPLY);
		estimate->nano[1] += cost;
		bytes += (int64_t)LONG_REPLY * BYTES_PER_TOKEN;
	}
	estimate->cards++;
	estimate->requests[0]++;
	estimate->requests[1] += KL_DIALOGUE_UNUSABLE;
	return 0;
}

int kl_wording_estimate(struct kl_wording_estimate *out, struct kl_wording *wording)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec instructions = KL_STRVEC_INIT;
	int err = kl_brief_system_plain(&instructions, wording->o.repo, "lift");

	*out = (struct kl_wording_estimate){ 0 };
	for (size_t i = 0; !err && i < wording->lift->n; i++)
		if (kl_wording_wants(wording, i))
			err = add_costs(out, wording, &instructions, i);
	return err;
}
