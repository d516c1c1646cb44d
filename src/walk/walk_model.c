/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/walk_model.h"

#include "base/error.h"

const char *kl_model_of_list(const char *rewriters)
{
	return kl_rewriters_model(rewriters);
}

const char *kl_model_name(const struct kl_sequencer *s)
{
	const char *proposes = kl_rewriters_model(kl_walk_str(&s->op.walk, "rewriters"));
	const char *derives = kl_walk_str(&s->op.walk, "rederive");

	return proposes ? proposes : *derives ? derives : NULL;
}

int kl_model_session(struct kl_session **out, struct kl_sequencer *s)
{
	int err = 0;

	if (!s->session && !s->model.open)
		return kl_error(KL_EINVALID, "the walk needs a model, and none is at hand");
	if (!s->session)
		err = s->model.open(&s->session, kl_walk_str(&s->op.walk, "workload"), s->payload);
	*out = s->session;
	return err;
}

static const struct kl_event *find_event(const char *id, void *payload)
{
	struct kl_sequencer *s = payload;

	return kl_opstate_known(&s->op, id);
}

int kl_model_aim(struct kl_rewrite *rw, struct kl_sequencer *s)
{
	const struct kl_walk *w = &s->op.walk;
	const char *foreign = kl_json_str_or(kl_walk_held_proposal(w), "foreign", "");

	rw->session = NULL;
	rw->name = kl_walk_str(w, "name");
	rw->mechanisms = s->mechanisms;
	rw->facts = kl_walk_facts(w);
	rw->ns = kl_json_int_or(w->state, "ns", 0);
	rw->foreign = *foreign ? foreign : NULL;
	rw->event = find_event;
	if (s->op.dry || !kl_rewriters_model(kl_walk_str(w, "rewriters")))
		return 0;
	return kl_model_session(&rw->session, s);
}

int kl_model_audit(json_t **audited, struct kl_sequencer *s)
{
	const struct kl_walk *w = &s->op.walk;
	struct kl_trait_reading r = {
		.repo = s->repo,
		.name = kl_walk_str(w, "name"),
		.rewriter = kl_model_name(s),
		.step = (int)json_array_size(kl_walk_steps(w)) + 1,
		.state = s->op.pending,
		.claims = json_object_get(kl_walk_pending(w), "traits"),
	};
	int err;

	*audited = NULL;
	if (s->op.dry || !s->model.audit || !r.rewriter || !json_object_size(r.claims))
		return 0;
	if ((err = kl_model_session(&r.session, s)) < 0)
		return err;
	err = s->model.audit(audited, &r);
	/* no money, or a recording that has no reading of them: the claims stay what they are */
	if (err == KL_ENO || err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	return err;
}
