/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_ask - asks rewriters, or a person, for the next step */
#include <string.h>

#include "base/error.h"
#include "walk/sequencer_parts.h"
#include "walk/walk_model.h"

static bool was_tried(const char *id, const char *surface, const char *edit, bool again,
		      void *payload)
{
	const struct kl_sequencer *s = payload;

	return kl_walk_tried(&s->op.walk, id, surface, edit, again);
}

static void say_reason(const char *text, void *payload)
{
	struct kl_sequencer *s = payload;

	kl_progress_say(s->progress, "%s", text);
}

int kl_sequencer_aim(struct kl_sequencer *s)
{
	struct kl_rewrite *rw = &s->rw;
	int err;

	rw->repo = s->repo;
	rw->jail = s->jail;
	rw->state = s->op.state;
	rw->tree = s->op.tree;
	rw->edit_dir = s->edit_dir;
	rw->steps = kl_walk_steps(&s->op.walk);
	rw->rejections = kl_walk_rejections(&s->op.walk);
	rw->tried = was_tried;
	rw->say = s->op.dry ? NULL : say_reason;
	rw->payload = s;
	if ((err = kl_model_aim(rw, s)) < 0)
		return err;
	return kl_oid_parse(&rw->expert, kl_walk_str(&s->op.walk, "expert"));
}

static int load_held(struct kl_proposal **out, struct kl_sequencer *s)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *copy = NULL;
	int err = kl_surface_with(&copy, s->op.held, NULL, 0);

	if (!err)
		err = kl_proposal_from_json(out, kl_walk_held_proposal(&s->op.walk), copy);
	if (!err)
		copy = NULL;
	return err;
}

int kl_sequencer_propose(struct kl_sequencer *s, struct kl_proposal *p)
{
	kl_walk_proposed(&s->op.walk, kl_proposal_to_json(p));
	kl_surface_free(s->op.pending);
	s->op.pending = kl_steal(&p->candidate);
	return kl_sequencer_save(s, "proposal");
}

/* a person is not asked what would be if */
static char *who_is_asked(const struct kl_sequencer *s)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	struct kl_buf list = KL_BUF_INIT;

	kl_strvec_split(&words, kl_walk_str(&s->op.walk, "rewriters"), ", ");
	for (size_t i = 0; i < words.n; i++)
		if (!s->op.dry || strcmp(words.v[i], "stepwise"))
			kl_buf_addf(&list, "%s%s", list.len ? "," : "", words.v[i]);
	return kl_buf_detach(&list);
}

/* a part of the held proposal; when there is none it stands as it is */
static int ask_for_part(struct kl_sequencer *s)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *whole = NULL, *p = NULL;
	int err = load_held(&whole, s);

	if (!err)
		err = kl_rewrite_split(&p, &s->rw, whole);
	if (err == KL_ENO) { /* no money to ask how it might be split */
		kl_error_clear();
		err = 0;
	}
	if (err < 0)
		return err;
	if (p)
		return kl_sequencer_propose(s, p);
	kl_walk_exhausted(&s->op.walk);
	s->op.pending = kl_steal(&s->op.held);
	return kl_sequencer_save(s, "compound");
}

int kl_sequencer_ask(struct kl_sequencer *s)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = NULL;
	KL_AUTO(kl_freep) char *list = who_is_asked(s);
	const char *limit = kl_walk_limit(&s->op.walk);
	bool stop = false;
	int err;

	if ((err = kl_sequencer_aim(s)) < 0)
		return err;
	if (kl_walk_held_proposal(&s->op.walk))
		return ask_for_part(s);
	if (limit)
		return kl_sequencer_end(s, limit);
	kl_progress_step(s->progress, "looking for something to remove");
	err = kl_rewrite_next(&p, &stop, &s->rw, list);
	if (err == KL_ENO && kl_rewriters_model(list)) {
		kl_progress_say(s->progress, "%s", kl_error_last());
		kl_error_clear();
		return kl_sequencer_end(s, "budget");
	}
	if (err < 0)
		return err;
	if (p)
		return kl_sequencer_propose(s, p);
	if (!stop)
		return kl_sequencer_end(s, s->rw.limited ? "rejection-limit" : "complete");
	kl_walk_waiting(&s->op.walk);
	return kl_sequencer_save(s, "waiting for an edit");
}

/* --- what a person proposes -------------------------------------------------- */

int kl_sequencer_collect(struct kl_sequencer *s, const struct kl_claim *claim)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = NULL;
	int err;

	if (kl_walk_next(&s->op.walk) != KL_WALK_WAIT)
		return 0; /* it was not waiting: just go on */
	if ((err = kl_sequencer_aim(s)) < 0 || (err = kl_stepwise_collect(&p, &s->rw, claim)) < 0)
		return err;
	if (p)
		return kl_sequencer_propose(s, p);
	err = kl_error(KL_EINVALID,
		       "nothing new in '%s': it is the state as it was, or one that was judged",
		       s->edit_dir);
	return kl_error_hint(err,
			     "edit a source there and --continue; '--quit' ends the walk here");
}

int kl_sequencer_take(struct kl_sequencer *s, const struct kl_envelope *step)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = NULL;
	int err;

	if (kl_walk_next(&s->op.walk) != KL_WALK_WAIT)
		return kl_error(KL_EINVALID,
				"the walk does not wait for a step; --continue alone goes "
				"on with it");
	if ((err = kl_sequencer_aim(s)) < 0 || (err = kl_rewrite_check_names(&s->rw, step)) < 0 ||
	    (err = kl_rewrite_take(&p, &s->rw, step, "stepwise", "step")) < 0)
		return err;
	return kl_sequencer_propose(s, p);
}
