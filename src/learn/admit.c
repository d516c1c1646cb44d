/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/admit.h"

#include <stdlib.h>
#include <string.h>

#include "apply/carrier.h"
#include "base/error.h"
#include "learn/admit_parts.h"

void kl_admission_release(struct kl_admission *a)
{
	for (size_t i = 0; i < a->n; i++) {
		kl_surface_free(a->v[i].own);
		free(a->v[i].why);
	}
	free(a->v);
	kl_card_free(a->card);
	free(a->partner);
	kl_transitions_release(&a->t);
}

static void admit_release(struct kl_admit *w)
{
	kl_strvec_release(&w->seen);
	kl_card_free(w->old);
	kl_card_free(w->partner);
	kl_event_free(w->facts);
	free(w->conversation);
	free(w->chain);
	kl_keep_release(&w->keep);
}

/* --- may it be tried at all? ------------------------------------------------------------- */

static int can_by_tools(const struct kl_card *c)
{
	bool mechanical = false;

	for (size_t i = 0; i < c->carriers.n; i++)
		mechanical |= kl_carrier_is_mechanical(&c->carriers.v[i]);
	if (!mechanical)
		return kl_error(KL_ECANNOT,
				"card '%s' has no diff and no semantic patch: without a model "
				"there is nothing to try",
				c->id);
	for (size_t i = 0; i < c->provides.n; i++)
		if (!strncmp(c->provides.v[i], "trait:", 6))
			return kl_error(KL_ECANNOT,
					"card '%s' provides '%s', which only a reader can "
					"confirm: without a model it cannot be admitted",
					c->id, c->provides.v[i]);
	return 0;
}

static int can_try(const struct kl_admit *w)
{
	const struct kl_card *c = w->old;
	int err = 0;

	if (c->status == KL_CARD_RETRACTED)
		return kl_error(KL_EINVALID, "card '%s' is retracted, for good", c->id);
	if (!w->o->rewriter)
		err = can_by_tools(c);
	if (!err && !c->provides.n)
		err = kl_error(KL_ECANNOT,
			       "card '%s' does not say what it provides, so nobody can see "
			       "whether it is there",
			       c->id);
	return err;
}

/* the first card that it makes room for, of those that are here and can be tried as it is tried */
static int find_partner(struct kl_admit *w)
{
	for (size_t i = 0; i < w->old->enables.n; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
		int err = kl_library_card(&c, w->o->library, w->old->enables.v[i]);

		if (!err && c->status != KL_CARD_RETRACTED && c->provides.n &&
		    (w->o->rewriter || !can_by_tools(c))) {
			w->a->partner = kl_strdup(c->id);
			w->partner = kl_steal(&c);
			return 0;
		}
		if (err < 0 && err != KL_ENOTFOUND)
			return err;
		kl_error_clear();
	}
	if (!w->old->enables.n)
		return 0;
	return kl_error(KL_ECANNOT,
			"card '%s' makes room for '%s', and no such card can be tried here: it "
			"is no gain by itself",
			w->old->id, w->old->enables.v[0]);
}

/* --- which state ---------------------------------------------------------------------------- */

/* does the carrier make an edit of it? */
static int check_carrier(struct kl_admit_state *s, const struct kl_admit *w)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *to = NULL;
	const char *how;
	int err = kl_carrier_apply(&to, &how,
				   &(struct kl_carrier_try){
					   .repo = w->o->repo,
					   .library = w->o->repo,
					   .jail = kl_gate_jail(w->o->gate),
					   .card = w->old,
					   .state = s->state,
				   });

	if (err != KL_ENO)
		return err;
	s->why = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

static int choose_state(struct kl_admit *w)
{
	struct kl_admission *a = w->a;

	for (a->chosen = 0; a->chosen < a->n; a->chosen++) {
		struct kl_admit_state *s = &a->v[a->chosen];
		int err = 0;

		if (s->why)
			continue;
		if (!w->o->rewriter)
			err = check_carrier(s, w);
		if (!err && !s->why)
			err = kl_admit_facts(&s->why, &w->facts, w, s);
		if (err || !s->why)
			return err;
	}
	return 0;
}

int kl_admit(struct kl_admission *out, const struct kl_admit_opts *o)
{
	KL_AUTO(admit_release) struct kl_admit w = { .o = o, .a = out };
	int err;

	*out = (struct kl_admission){ 0 };
	if ((err = kl_library_card(&w.old, o->library, o->card)) < 0 || (err = can_try(&w)) < 0 ||
	    (err = find_partner(&w)) < 0)
		return err;
	out->card = kl_card_copy(w.old);
	out->before = w.old->status;
	if ((err = kl_transitions_load(&out->t, o->repo, NULL)) < 0 ||
	    (err = kl_admit_states(&w)) < 0 || (err = choose_state(&w)) < 0)
		return err;
	return o->dry || out->chosen == out->n ? 0 : kl_admit_trial(&w);
}
