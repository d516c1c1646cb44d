/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/derive.h"

#include <string.h>

#include "base/error.h"
#include "event/speed.h"
#include "walk/judge.h"
#include "walk/walk_model.h"

static int save_walk(struct kl_sequencer *s, const char *what)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("klineage deopt: %s", what);

	return kl_opstate_save(&s->op, text);
}

static void drop_pending(struct kl_opstate *op)
{
	kl_surface_free(op->pending);
	op->pending = NULL;
}

static const char *member_word(const json_t *j, const char *key)
{
	return kl_json_str_or(j, key, "");
}

static const char *name_of(const json_t *record)
{
	return *member_word(record, "mechanism") ? member_word(record, "mechanism") :
						   member_word(record, "action");
}

static void tell_user(struct kl_sequencer *s, const char *what)
{
	const json_t *step = kl_walk_step(&s->op.walk);

	kl_progress_say(s->progress, "  %s in %s: %s", name_of(step), member_word(step, "locus"),
			what);
}

static void tell_title(struct kl_sequencer *s, const char *what)
{
	const struct kl_walk *w = &s->op.walk;
	const json_t *step = kl_walk_step(w);

	kl_progress_title(s->progress, "[%zu] restore %s in %s, attempt %zu: %s",
			  json_array_size(kl_walk_steps(w)), name_of(step),
			  member_word(step, "locus"), json_array_size(kl_walk_attempts(w)) + 1,
			  what);
}

/* --- asking ------------------------------------------------------------------ */

static const struct kl_event *find_known(const char *id, void *payload)
{
	return kl_opstate_known(payload, id);
}

static int ask_rewriter(struct kl_proposal **out, char **why, struct kl_sequencer *s)
{
	struct kl_walk *w = &s->op.walk;
	struct kl_rederive r = {
		.repo = s->repo,
		.name = kl_walk_str(w, "name"),
		.rewriter = kl_walk_rederiver(w),
		.step = (int)json_array_size(kl_walk_steps(w)),
		.before = s->op.state,
		.before_ns = kl_json_int_or(w->state, "ns", 0),
		.record = kl_walk_step(w),
		.goal = kl_opstate_known(&s->op, kl_walk_goal_event(w)),
		.attempts = kl_walk_attempts(w),
		.event = find_known,
		.payload = &s->op,
	};
	int err;

	*out = NULL;
	*why = NULL;
	if ((err = kl_model_session(&r.session, s)) < 0)
		return err;
	if (!s->model.rederive)
		return kl_error(KL_EINVALID,
				"the walk's steps are to be derived anew, and nobody can");
	return s->model.rederive(out, why, &r);
}

static int no_more(struct kl_sequencer *s, const char *class_, const char *what)
{
	tell_user(s, what);
	kl_walk_underived(&s->op.walk, class_, NULL);
	return save_walk(s, class_);
}

/* a reply that was no edit */
static int refuse_unusable(struct kl_sequencer *s, const char *why)
{
	static const struct kl_walk_seen nothing = { .class_ = "unusable" };
	KL_AUTO(kl_freep) char *text = kl_asprintf("not re-derived, the reply cannot be used: %s",
						   why);

	tell_user(s, text);
	kl_walk_attempted(&s->op.walk, &nothing, why);
	return save_walk(s, "unusable");
}

int kl_derive_ask(struct kl_sequencer *s)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = NULL;
	KL_AUTO(kl_freep) char *why = NULL;
	int err;

	tell_title(s, kl_walk_rederiver(&s->op.walk));
	err = ask_rewriter(&p, &why, s);
	if (err == KL_ENO) {
		KL_AUTO(kl_freep) char *text = kl_asprintf("no step is re-derived any more: %s",
							   kl_error_last());

		kl_error_clear();
		return no_more(s, "budget", text);
	}
	if (err == KL_ENOTFOUND) { /* a recording ends earlier than this machine asks */
		KL_AUTO(kl_freep) char *text = kl_asprintf("not re-derived: %s", kl_error_last());

		kl_error_clear();
		return no_more(s, "gave-up", text);
	}
	if (err == KL_ETIMEOUT) { /* counted, and asked again, by the sequencer */
		static const struct kl_walk_seen nothing = { .class_ = "timeout" };

		kl_walk_attempted(&s->op.walk, &nothing, NULL);
	}
	if (err < 0)
		return err;
	if (!p)
		return why ? refuse_unusable(s, why) :
			     no_more(s, "gave-up", "not re-derived, the model gave up");
	kl_walk_derived(&s->op.walk, kl_proposal_to_json(p));
	drop_pending(&s->op);
	s->op.pending = kl_steal(&p->candidate);
	return save_walk(s, "re-derivation");
}

int kl_derive_skip(struct kl_sequencer *s)
{
	drop_pending(&s->op);
	return no_more(s, "skipped", "not re-derived, skipped");
}

/* --- judging ----------------------------------------------------------------- */

/* one attempt, as it is judged */
struct trial {
	struct kl_sequencer *s;
	struct kl_surface *goal; /* K_i */
	struct kl_judgement *v;
	const struct kl_event *event; /* borrowed: the judgement's, or K_i's own */
	struct kl_walk_derived_ruling r;
};

static void trial_release(struct trial *t)
{
	kl_surface_free(t->goal);
	kl_judgement_free(t->v);
}

static bool is_counted(const struct kl_walk *w, const struct kl_event *event)
{
	size_t i;
	json_t *e;

	json_array_foreach(kl_walk_measurements(w), i, e)
		if (!strcmp(member_word(e, "id"), event->id))
			return true;
	return false;
}

static int judge_against(struct trial *t, const struct kl_surface *parent)
{
	struct kl_sequencer *s = t->s;
	int err;

	kl_judgement_free(kl_steal(&t->v));
	err = s->judge(&t->v, s->op.pending, parent, s->payload);
	/* a measurement that was seen to say nothing is not another one */
	if (!err && !t->v->deferred && s->judge_anew && is_counted(&s->op.walk, t->v->event)) {
		kl_judgement_free(kl_steal(&t->v));
		err = s->judge_anew(&t->v, s->op.pending, parent, s->payload);
	}
	if (err < 0)
		return err;
	if (t->v->deferred)
		return KL_JUDGE_LATER;
	t->event = t->v->event;
	if (t->event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "cannot test here: %s", t->event->message);
	return 0;
}

/* Where its machine code is K_i's there is nothing to compare: it is judged for itself. */
static int judge_trial(struct trial *t)
{
	struct kl_opstate *op = &t->s->op;
	const char *before = kl_json_str_or(kl_walk_facts(&op->walk), "code", "");
	int err;

	if (!strcmp(op->pending->digest, t->goal->digest)) {
		t->event = kl_opstate_known(op, kl_walk_goal_event(&op->walk));
		t->r.verdict = KL_VERDICT_PASS;
		t->r.class_ = "";
		t->r.same_code = true;
		return t->event ? 0 :
				  kl_error(KL_EINVALID, "the operation has lost the event of K_i; "
							"use --abort");
	}
	if ((err = judge_against(t, t->goal)))
		return err;
	if (t->event->failure == KL_FAILURE_NO_CHANGE) {
		t->r.same_code = true;
		if ((err = judge_against(t, NULL)))
			return err;
	}
	t->r.verdict = t->event->verdict;
	t->r.class_ = kl_event_class(t->event);
	t->r.unchanged = *before && !strcmp(before, t->event->facts.code_digest);
	if (kl_event_is_against(t->event, t->goal->digest)) {
		t->r.not_slower = kl_speed_is_not_slower(&t->event->profile);
		t->r.slower = kl_speed_is_slower(&t->event->profile);
	}
	return 0;
}

/* the attempt as a commit, and all events of it */
static int keep_trial(char hex[KL_OID_HEX], struct trial *t, const char *class_)
{
	struct kl_opstate *op = &t->s->op;
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	bool own = t->v != NULL;
	git_oid oid, tree;
	size_t i;
	json_t *e;
	int err;

	kl_step_from_attempt(&step, kl_walk_step(&op->walk), kl_walk_pending(&op->walk));
	step.kind = class_ ? KL_STEP_REJECTED : KL_STEP_FORWARD;
	step.forward = class_ != NULL;
	step.class_ = class_ ? kl_strdup(class_) : NULL;
	step.derivation = kl_strdup(kl_walk_derivation(kl_walk_pending(&op->walk)));
	if (own && *t->event->message) {
		char *text = kl_asprintf("%s\n\n%s", step.text, t->event->message);

		free(step.text);
		step.text = text;
	}
	if ((err = kl_opstate_commit(&oid, &tree, op, &step)) < 0)
		return err;
	kl_oid_hex(hex, &oid);
	json_array_foreach(kl_walk_measurements(&op->walk), i, e) {
		KL_AUTO(kl_event_freep) struct kl_event *measured = kl_event_from_json(e);

		if ((err = kl_opstate_event(op, measured, hex)) < 0)
			return err;
	}
	if (own && !is_counted(&op->walk, t->event))
		err = kl_opstate_event(op, t->v->event, hex);
	return err;
}

static int take_trial(struct trial *t)
{
	struct kl_opstate *op = &t->s->op;
	char hex[KL_OID_HEX];
	struct kl_walk_seen seen = {
		.commit = hex,
		.surface = op->pending->digest,
		.event = t->event->id,
		.ns = t->event->profile.ns,
	};
	int err = keep_trial(hex, t, NULL);

	if (err < 0)
		return err;
	tell_user(t->s, !t->v          ? "re-derived, the same files" :
			t->r.same_code ? "re-derived, the same machine code" :
					 "re-derived");
	if (kl_json_bool_or(kl_walk_pending(&op->walk), "unisolated", false))
		tell_user(t->s, "the command could see the repository: unisolated");
	kl_walk_rederived(&op->walk, &seen);
	drop_pending(op);
	return save_walk(t->s, "re-derived");
}

static int refuse_trial(struct trial *t, const char *class_, bool last)
{
	struct kl_opstate *op = &t->s->op;
	KL_AUTO(kl_freep) char *what = kl_asprintf("not re-derived: %s", class_);
	char hex[KL_OID_HEX];
	struct kl_walk_seen seen = {
		.commit = hex,
		.surface = op->pending->digest,
		.event = t->event->id,
		.class_ = class_,
		.ns = t->v ? t->event->profile.ns : 0,
	};
	int err = keep_trial(hex, t, class_);

	if (err < 0)
		return err;
	tell_user(t->s, what);
	if (last)
		kl_walk_underived(&op->walk, class_, &seen);
	else
		kl_walk_attempted(&op->walk, &seen, NULL);
	drop_pending(op);
	return save_walk(t->s, what);
}

static int measure_again(struct trial *t)
{
	kl_walk_measured(&t->s->op.walk, kl_event_json(t->event));
	tell_user(t->s, "measured, and noise hides which is faster; once more");
	return save_walk(t->s, "measured");
}

int kl_derive_judge(struct kl_sequencer *s)
{
	KL_AUTO(trial_release) struct trial t = { .s = s };
	enum kl_walk_derivation what;
	const char *class_;
	int err;

	tell_title(s, "gate");
	if (!s->op.pending)
		return kl_error(KL_EINVALID,
				"the operation has lost the files of its proposal; use --abort");
	if ((err = kl_opstate_goal(&t.goal, &s->op)) < 0 || (err = judge_trial(&t)))
		return err;
	what = kl_walk_decide_derived(&class_, &s->op.walk, &t.r);
	if (what == KL_DERIVED_MEASURE && (!s->judge_anew || is_counted(&s->op.walk, t.event))) {
		what = KL_DERIVED_UNSHOWN; /* there is no other measurement to be had */
		class_ = "not-shown";
	}
	switch (what) {
	case KL_DERIVED_TAKE:
		return take_trial(&t);
	case KL_DERIVED_MEASURE:
		return measure_again(&t);
	default:
		return refuse_trial(&t, class_, what == KL_DERIVED_UNSHOWN);
	}
}
