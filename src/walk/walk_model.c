/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/walk_model.h"

#include "base/error.h"

const char *kl_model_of_list(const char *rewriters)
{
	return kl_rewriters_model(rewriters);
}

const char *kl_model_name(const struct kl_sequencer *sequencer)
{
	const char *proposes = kl_rewriters_model(kl_walk_str(&sequencer->op.walk, "rewriters"));
	const char *derives = kl_walk_str(&sequencer->op.walk, "rederive");

	return proposes ? proposes : *derives ? derives : NULL;
}

int kl_model_session(struct kl_session **out, struct kl_sequencer *sequencer)
{
	int err = 0;

	if (!sequencer->session && !sequencer->model.open)
		return kl_error(KL_EINVALID, "the walk needs a model, but none is available");
	if (!sequencer->session)
		err = sequencer->model.open(&sequencer->session,
					    kl_walk_str(&sequencer->op.walk, "workload"),
					    sequencer->payload);
	*out = sequencer->session;
	return err;
}

static const struct kl_event *find_event(const char *id, void *payload)
{
	struct kl_sequencer *sequencer = payload;

	return kl_opstate_known(&sequencer->op, id);
}

int kl_model_aim(struct kl_rewrite *rw, struct kl_sequencer *sequencer)
{
	const struct kl_walk *walk = &sequencer->op.walk;
	const char *foreign = kl_json_str_or(kl_walk_held_proposal(walk), "foreign", "");

	rw->session = NULL;
	rw->name = kl_walk_str(walk, "name");
	rw->mechanisms = sequencer->mechanisms;
	rw->facts = kl_walk_facts(walk);
	rw->ns = kl_json_int_or(walk->state, "ns", 0);
	rw->foreign = *foreign ? foreign : NULL;
	rw->event = find_event;
	if (sequencer->op.dry || !kl_rewriters_model(kl_walk_str(walk, "rewriters")))
		return 0;
	return kl_model_session(&rw->session, sequencer);
}

int kl_model_audit(json_t **audited, struct kl_sequencer *sequencer)
{
	const struct kl_walk *walk = &sequencer->op.walk;
	struct kl_trait_reading reading = {
		.repo = sequencer->repo,
		.name = kl_walk_str(walk, "name"),
		.rewriter = kl_model_name(sequencer),
		.step = (int)json_array_size(kl_walk_steps(walk)) + 1,
		.state = sequencer->op.pending,
		.claims = json_object_get(kl_walk_pending(walk), "traits"),
	};
	int err;

	*audited = NULL;
	if (sequencer->op.dry || !sequencer->model.audit || !reading.rewriter ||
	    !json_object_size(reading.claims))
		return 0;
	if ((err = kl_model_session(&reading.session, sequencer)) < 0)
		return err;
	err = sequencer->model.audit(audited, &reading);
	/*
	 * no error: if no money is left or the recording lacks this audit, the claims stay
	 * unaudited
	 */
	if (err == KL_ENO || err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	return err;
}
