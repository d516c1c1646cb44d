/* SPDX-License-Identifier: Apache-2.0 */
/* chat - rewriters chat and exec: a model or a command proposes steps, one dialogue a state */
#include <string.h>

#include "base/error.h"
#include "model/conversation.h"
#include "rewrite/brief.h"
#include "rewrite/envelope.h"
#include "rewrite/layout.h"

/*
 * chat, exec - a model proposes: for each state one conversation, back-<number of accepted steps>.
 * Each time it is gone through from its first turn: stored replies cost nothing and say what
 * was proposed; the records of the walk say what became of that; dialogue.h says what comes next.
 * The first step that was not judged yet is the proposal.
 *
 * exec is the same conversation with a command, which finds the state in a directory.
 */
struct talker {
	struct kl_rewrite *rw;
	const char *rewriter;		/* "chat" or "exec" */
	char *phase;
	struct kl_strvec texts;
	struct kl_talk *talk;
	struct kl_dialogue dialogue;
	struct kl_brief brief;
	struct kl_brief_of of;
	char *why;			/* of.why */
	bool fresh;			/* the reply of this turn came just now */
	bool nothing;			/* it said that nothing is left */
	size_t split_at;		/* turn whose step is to be split; SIZE_MAX: none */
};

static void talker_release(struct talker *t)
{
	kl_talk_free(t->talk);
	kl_strvec_release(&t->texts);
	kl_dialogue_release(&t->dialogue);
	free(t->phase);
	free(t->why);
}

static int talker_open(struct talker *t, struct kl_rewrite *rw, const char *rewriter)
{
	int err;

	t->rw = rw;
	t->rewriter = rewriter;
	t->phase = kl_asprintf("back-%zu", json_array_size(rw->steps));
	t->dialogue = (struct kl_dialogue)KL_DIALOGUE_INIT;
	t->brief = (struct kl_brief){ .rw = rw, .phase = t->phase, .rewriter = rewriter };
	t->split_at = SIZE_MAX;
	if ((err = kl_brief_system(&t->texts, rw->repo, "deoptimize", rw->state, rw->mechanisms)) < 0)
		return err;
	return kl_talk_open(&t->talk, rw->chat, rw->name, t->phase, (const char *const *)t->texts.v,
			    t->texts.n);
}

/* --- one question ---------------------------------------------------------------- */

static int ask_turn(const char **reply, struct talker *t)
{
	KL_AUTO(kl_buf_release) struct kl_buf user = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	struct kl_dialogue *c = &t->dialogue;
	struct kl_ask ask = { 0 };
	int err;

	t->fresh = c->turn >= kl_talk_turns(t->talk);
	/* what a stored turn asked for stands, whatever would be asked now */
	if (!t->fresh &&
	    (err = kl_brief_head_read(&c->kind, kl_talk_user(t->talk, c->turn), t->phase, c->turn,
				      t->rw->state)) < 0)
		return err;
	if ((err = kl_brief_turn(&user, &key, &t->brief, c, &t->of)) < 0)
		return err;
	ask.user = user.ptr;
	ask.key = key.ptr;
	return kl_layout_ask(reply, t->talk, c->turn, &ask, t->rewriter, t->rw->state, true);
}

/* --- one reply -------------------------------------------------------------------- */

/* names that have to be those of something */
static int check_place(const struct talker *t, const struct kl_envelope *e)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(e->locus);

	if (kl_dialogue_closed(&t->dialogue, place))
		return kl_error(KL_EINVALID, "%s was tried %d times; act somewhere else", place,
				KL_DIALOGUE_PLACE);
	return 0;
}

/* KL_EINVALID, KL_ENO: of this reply nothing comes; the message is for its author */
static int take_step(struct kl_proposal **out, struct talker *t, const struct kl_envelope *e)
{
	KL_AUTO(kl_freep) char *at = kl_brief_source(t->phase, t->dialogue.turn);
	KL_AUTO(kl_freep) char *source = kl_asprintf("%s%s", at, t->dialogue.kind == KL_DIALOGUE_SPLIT ?
							       "@split" : "");
	int err;

	if ((err = kl_rewrite_check_names(t->rw, e)) < 0 || (err = check_place(t, e)) < 0)
		return err;
	return kl_rewrite_take(out, t->rw, e, t->rewriter, source);
}

static void unusable(struct talker *t)
{
	free(t->why);
	t->why = kl_strdup(kl_error_last());
	kl_error_clear();
	t->of = (struct kl_brief_of){ .why = t->why };
	kl_dialogue_unusable(&t->dialogue);
	if (t->dialogue.kind == KL_DIALOGUE_END && t->fresh)
		kl_rewrite_say(t->rw, "%s: %d replies in a row could not be used; the last: %s", t->phase,
			       t->dialogue.unusable, t->why);
}

/* the step of this turn was judged: what came of it leads on */
static void was_refused(struct talker *t, const json_t *rec)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(kl_json_str_or(rec, "locus", ""));

	t->of = (struct kl_brief_of){ .refused = rec };
	kl_dialogue_refused(&t->dialogue, kl_json_str_or(rec, "class", ""), place);
}

static void is_held(struct talker *t)
{
	t->of = (struct kl_brief_of){ .foreign = t->rw->foreign ? t->rw->foreign : "" };
	kl_dialogue_split(&t->dialogue);
}

/* one turn: a proposal, or the dialogue is a turn further on */
static int one_turn(struct kl_proposal **out, struct talker *t)
{
	const json_t *rec = kl_brief_record(&t->brief, t->dialogue.turn);
	struct kl_envelope e;
	const char *reply;
	int err = ask_turn(&reply, t);

	if (err < 0)
		return err;
	if (rec) {
		was_refused(t, rec);
		return 0;
	}
	if (t->dialogue.turn == t->split_at) {
		is_held(t);
		return 0;
	}
	err = kl_envelope_parse(&e, reply, strlen(reply));
	if (!err && e.kind == KL_ENVELOPE_NOTHING) {
		if (t->dialogue.kind != KL_DIALOGUE_SPLIT && t->fresh)
			kl_rewrite_say(t->rw, "%s: nothing left: %.300s", t->phase, e.why);
		kl_dialogue_end(&t->dialogue);
		t->nothing = t->dialogue.kind == KL_DIALOGUE_END;
	} else if (!err) {
		err = take_step(out, t, &e);
	}
	kl_envelope_release(&e);
	if (err != KL_EINVALID && err != KL_ENO)
		return err;
	unusable(t);
	return 0;
}

int kl_chat_begun(struct kl_repo *repo, const char *name, const struct kl_surface *expert)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation c = { 0 };
	enum kl_dialogue_kind kind;
	int err = kl_conversation_load(&c, repo, expert->contract->workload, name, "back-0");

	if (err < 0 || !c.n)
		return err;
	return kl_brief_head_read(&kind, c.turn[0].user, "back-0", 0, expert);
}

static int propose(struct kl_proposal **out, struct kl_rewrite *rw, const char *rewriter)
{
	KL_AUTO(talker_release) struct talker t = { 0 };
	int err;

	/* the second round has nothing that the first had not */
	if (!rw->chat || rw->again)
		return 0;
	err = talker_open(&t, rw, rewriter);
	while (!err && !*out && t.dialogue.kind != KL_DIALOGUE_END)
		err = one_turn(out, &t);
	rw->limited |= !err && !*out && !t.nothing;
	return err;
}

int kl_chat_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	return propose(out, rw, "chat");
}

int kl_exec_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	return propose(out, rw, "exec");
}

/*
 * Its author splits a compound step, being asked once. The mechanical parts of a model's edit (one of the
 * functions changed, the others not) would rarely compile, and each would count as a refusal.
 */
int kl_chat_split(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_proposal *whole)
{
	KL_AUTO(talker_release) struct talker t = { 0 };
	const char *dot = strrchr(whole->source, '.');
	int err;

	if (!rw->chat || !dot || strchr(whole->source, '@'))
		return 0;
	if ((err = talker_open(&t, rw, whole->rewriter)) < 0)
		return err;
	t.split_at = strtoul(dot + 1, NULL, 10);
	while (!err && !*out && t.dialogue.kind != KL_DIALOGUE_END && t.dialogue.turn <= t.split_at)
		err = one_turn(out, &t);
	if (err < 0 || *out || t.dialogue.kind != KL_DIALOGUE_SPLIT)
		return err;
	return one_turn(out, &t);
}
