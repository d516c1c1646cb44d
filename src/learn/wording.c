/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/wording.h"

#include <string.h>

#include "base/error.h"
#include "learn/lift_parts.h"
#include "learn/wording_parts.h"
#include "rewrite/brief.h"

/* a reply has the words alone, or thinks aloud and shows code */
#define SHORT_REPLY 500
#define LONG_REPLY 6000
#define BYTES_PER_TOKEN 3

void kl_wording_release(struct kl_wording *w)
{
	kl_mechanisms_release(&w->mechanisms);
	kl_taxonomy_free(w->tax);
	*w = (struct kl_wording){ 0 };
}

int kl_wording_open(struct kl_wording *out, struct kl_lift *lift, const struct kl_wording_opts *o)
{
	int err;

	*out = (struct kl_wording){ .lift = lift, .o = *o };
	err = kl_mechanisms_load_shipped(&out->mechanisms);
	return err < 0 ? err : kl_taxonomy_load(&out->tax);
}

bool kl_wording_wants(const struct kl_wording *w, size_t i)
{
	return !w->lift->v[i].old;
}

/* --- what is known of a group ---------------------------------------------------------- */

void kl_wording_group_release(struct kl_wording_group *g)
{
	for (size_t i = 0; g->before && i < g->n; i++)
		kl_target_release(&g->before[i]);
	for (size_t i = 0; i < g->nrefused; i++)
		if (g->known[i])
			kl_target_release(&g->at[i]);
	free(g->before);
	kl_strvec_release(&g->features);
}

/*
 * What a condition must be false of: a step back was refused for what came of it, a step forward
 * for what it was tried on.
 */
static int know_refused(struct kl_target *out, const struct kl_wording *w,
			const struct kl_refusal *r)
{
	const char *platform = r->event->place.id;
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, w->o.repo, r->step.forward ? &r->on : &r->commit);

	if (!err)
		err = kl_surface_from_tree(&s, w->o.repo, &tree, "");
	if (!err)
		err = kl_target_init(out, w->tax, s, platform);
	if (!err && !r->step.forward)
		kl_target_add_event(out, r->event);
	return err;
}

static bool is_of(const struct kl_refusal *r, const struct kl_mechanism *m)
{
	return r->event && r->step.mechanism && m && !strcmp(r->step.mechanism, m->name);
}

static void know_features(struct kl_wording_group *g)
{
	const struct kl_transitions *t = g->w->lift->t;

	for (size_t i = 0; i < t->n; i++) {
		kl_strvec_pushv(&g->features, (const char *const *)t->v[i].had.v);
		kl_strvec_pushv(&g->features, (const char *const *)t->v[i].gained.v);
	}
	for (size_t i = 0; i < g->w->mechanisms.n; i++)
		kl_strvec_pushv(&g->features, (const char *const *)g->w->mechanisms.m[i].primary.v);
	kl_strvec_uniq(&g->features);
}

int kl_wording_group(struct kl_wording_group *out, const struct kl_wording *w, size_t i)
{
	struct kl_lift_result *r = &w->lift->v[i];
	const struct kl_transitions *t = w->lift->t;
	int err = 0;

	*out = (struct kl_wording_group){
		.w = w,
		.r = r,
		.t = r->t,
		.n = r->n,
		.m = r->card->mechanism ? kl_mechanisms_find(&w->mechanisms, r->card->mechanism) :
					  NULL,
		.before = kl_calloc(r->n + 1, sizeof(*out->before)),
	};
	for (size_t k = 0; k < r->n; k++)
		out->before[k] = (struct kl_target){ .known = KL_KNOWN_INIT };
	for (size_t k = 0; !err && k < r->n; k++)
		err = kl_lift_before(&out->before[k], w->tax, &t->events, r->t[k]);
	for (size_t k = 0; !err && k < t->nr && out->nrefused < KL_WORDING_REFUSED; k++) {
		size_t n = out->nrefused;

		if (!is_of(&t->r[k], out->m))
			continue;
		out->refused[n] = &t->r[k];
		out->at[n] = (struct kl_target){ .known = KL_KNOWN_INIT };
		out->known[n] = know_refused(&out->at[n], w, &t->r[k]) == 0;
		kl_error_clear(); /* a commit that is not here cannot be a witness by test */
		out->nrefused++;
	}
	know_features(out);
	return err;
}

/* --- the conversation ---------------------------------------------------------------------- */

static void give_up(struct kl_wording *w, const struct kl_card *c, const char *why)
{
	kl_strvec_pushf(&w->lift->notes, "%s keeps its measured words: %s", c->id, why);
}

static int take_reply(struct kl_wording_group *g, const char *reply)
{
	KL_AUTO(kl_words_release) struct kl_words words = { 0 };
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	int err = kl_words_parse(&words, reply, strlen(reply));

	if (err < 0 || (err = kl_wording_check(&card, g, &words)) < 0)
		return err;
	kl_card_free(g->r->card);
	g->r->card = kl_steal(&card);
	return 0;
}

static int open_session(struct kl_session **out, const struct kl_wording *w,
			const struct kl_wording_group *g)
{
	const char *lineage = kl_wording_first(g)->lineage;
	KL_AUTO(kl_freep) char *workload = kl_strndup(lineage, strcspn(lineage, "/"));

	return w->o.open(out, workload, w->o.payload);
}

/* 1: the card has its words */
static int run_conversation(struct kl_driver *driver, struct kl_wording_group *g)
{
	const char *reply;
	int err;

	while (kl_driver_next(driver)) {
		struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;

		kl_wording_compose(&turn, g, driver->dialogue.kind);
		if ((err = kl_driver_ask(&reply, driver, &turn)) < 0)
			return err;
		if ((err = kl_driver_accept(driver, take_reply(g, reply))) <= 0)
			return err < 0 ? err : 1;
	}
	return 0;
}

int kl_wording_do(struct kl_wording *w, size_t i)
{
	KL_AUTO(kl_wording_group_release) struct kl_wording_group g = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	KL_AUTO(kl_driver_release) struct kl_driver driver = { 0 };
	int err = kl_wording_group(&g, w, i);

	if (err < 0 || (err = kl_brief_system_plain(&texts, w->o.repo, "lift")) < 0)
		return err;
	kl_wording_driver(&driver, &g);
	if ((err = open_session(&driver.session, w, &g)) < 0 ||
	    (err = kl_driver_open(&driver, &texts)) < 0)
		return err;
	w->asked++;
	err = run_conversation(&driver, &g);
	if (err == KL_ENO) { /* no money */
		give_up(w, g.r->card, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	if (err)
		w->worded++;
	else
		give_up(w, g.r->card, driver.why ? driver.why : "");
	w->lift->v[i].worded = err ? w->o.who : NULL;
	return 0;
}

/* --- what it would cost ----------------------------------------------------------------------- */

static int add_costs(struct kl_wording_estimate *e, struct kl_wording *w,
		     const struct kl_strvec *instructions, size_t i)
{
	KL_AUTO(kl_wording_group_release) struct kl_wording_group g = { 0 };
	KL_AUTO(kl_driver_release) struct kl_driver driver = { 0 };
	KL_AUTO(kl_driver_turn_release) struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf user = KL_BUF_INIT;
	struct kl_session *session;
	int64_t bytes = 0, cost, spare;
	int err = kl_wording_group(&g, w, i);

	if (err < 0)
		return err;
	kl_wording_driver(&driver, &g);
	kl_wording_compose(&turn, &g, KL_DIALOGUE_STEP);
	if ((err = kl_driver_write(&user, &driver, &turn)) < 0 ||
	    (err = open_session(&session, w, &g)) < 0)
		return err;
	for (size_t k = 0; k < instructions->n; k++)
		bytes += (int64_t)strlen(instructions->v[k]);
	bytes += (int64_t)user.len;
	kl_session_cost(&cost, &spare, session, bytes, SHORT_REPLY);
	e->nano[0] += cost;
	for (int k = 0; k < KL_DIALOGUE_UNUSABLE; k++) {
		kl_session_cost(&spare, &cost, session, bytes / BYTES_PER_TOKEN, LONG_REPLY);
		e->nano[1] += cost;
		bytes += (int64_t)LONG_REPLY * BYTES_PER_TOKEN;
	}
	e->cards++;
	e->requests[0]++;
	e->requests[1] += KL_DIALOGUE_UNUSABLE;
	return 0;
}

int kl_wording_estimate(struct kl_wording_estimate *out, struct kl_wording *w)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec instructions = KL_STRVEC_INIT;
	int err = kl_brief_system_plain(&instructions, w->o.repo, "lift");

	*out = (struct kl_wording_estimate){ 0 };
	for (size_t i = 0; !err && i < w->lift->n; i++)
		if (kl_wording_wants(w, i))
			err = add_costs(out, w, &instructions, i);
	return err;
}
