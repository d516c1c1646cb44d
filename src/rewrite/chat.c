/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "chat/conversation.h"
#include "rewrite/brief.h"
#include "rewrite/edits.h"
#include "rewrite/envelope.h"
#include "rewrite/layout.h"
#include "rewrite/residue.h"

/*
 * chat, exec - a model proposes: for each state one conversation, back-<number of accepted steps>.
 * Each time it is gone through from its first turn: stored replies cost nothing and say what
 * was proposed; the records of the walk say what became of that; course.h says what comes next.
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
	struct kl_course course;
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
	kl_course_release(&t->course);
	free(t->phase);
	free(t->why);
}

static int talker_open(struct talker *t, struct kl_rewrite *rw, const char *rewriter)
{
	int err;

	t->rw = rw;
	t->rewriter = rewriter;
	t->phase = kl_asprintf("back-%zu", json_array_size(rw->steps));
	t->course = (struct kl_course)KL_COURSE_INIT;
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
	struct kl_course *c = &t->course;
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
static int check_names(const struct talker *t, const struct kl_envelope *e)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(e->locus);
	KL_AUTO(kl_freep) char *path = kl_strndup(place, strcspn(place, ":"));
	const struct kl_mechanisms *m = t->rw->mechanisms;
	const struct kl_file *f;
	int err = kl_edits_path(&f, t->rw->state, path);

	if (err < 0)
		return kl_error_in(err, "the locus");
	if (*e->mechanism && m && !kl_mechanisms_find(m, e->mechanism))
		return kl_error(KL_EINVALID, "there is no mechanism '%s'; take one of the list, or - if none "
				"fits", e->mechanism);
	if (kl_course_closed(&t->course, place))
		return kl_error(KL_EINVALID, "%s was tried %d times; act somewhere else", place,
				KL_COURSE_PLACE);
	return 0;
}

/* why a state is none that can be proposed, when kl_rewrite_offer has nothing */
static int judged_before(const struct talker *t, const char *id)
{
	size_t i;
	json_t *rec;

	json_array_foreach(t->rw->rejections, i, rec)
		if (!strcmp(kl_json_str_or(rec, "id", ""), id))
			return kl_error(KL_EINVALID, "the very same was proposed before, and refused: %s",
					kl_json_str_or(rec, "class", ""));
	return kl_error(KL_EINVALID, "this kernel was there before: it is one that the walk came through, or "
			"that was refused");
}

static int offer(struct kl_proposal **out, struct talker *t, const struct kl_envelope *e,
		 const struct kl_file *edit, size_t n)
{
	KL_AUTO(kl_freep) char *at = kl_brief_source(t->phase, t->course.turn);
	KL_AUTO(kl_freep) char *source = kl_asprintf("%s%s", at, t->course.kind == KL_COURSE_SPLIT ?
							       "@split" : "");
	KL_AUTO(kl_surface_freep) struct kl_surface *after = NULL;
	struct kl_claim claim = {
		.rewriter = t->rewriter, .source = source, .action = e->action, .mechanism = e->mechanism,
		.text = e->why, .origin = "induced", .traits = e->traits, .locus = e->locus,
	};
	char id[KL_DIGEST_HEX];
	int err;

	if ((err = kl_surface_with(&after, t->rw->state, edit, n)) < 0 ||
	    (err = kl_residue_check(t->rw->state, after)) < 0)
		return err;
	/* whoever says it of this state means this state: nothing is put off to a second round */
	t->rw->again = true;
	err = kl_rewrite_offer(out, t->rw, edit, n, &claim);
	t->rw->again = false;
	if (err < 0 || *out)
		return err;
	kl_proposal_id(id, t->rw->state->digest, after->digest);
	return judged_before(t, id);
}

/* KL_EINVALID, KL_ENO: of this reply nothing comes; the message is for its author */
static int take_step(struct kl_proposal **out, struct talker *t, const struct kl_envelope *e)
{
	struct kl_file *edit = NULL;
	size_t n = 0;
	int err;

	if ((err = check_names(t, e)) < 0 || (err = kl_edits_apply(&edit, &n, t->rw->state, e)) < 0)
		return err;
	err = offer(out, t, e, edit, n);
	kl_edits_free(edit, n);
	return err;
}

static void unusable(struct talker *t)
{
	free(t->why);
	t->why = kl_strdup(kl_error_last());
	kl_error_clear();
	t->of = (struct kl_brief_of){ .why = t->why };
	kl_course_unusable(&t->course);
	if (t->course.kind == KL_COURSE_END && t->fresh)
		kl_rewrite_say(t->rw, "%s: %d replies in a row could not be used; the last: %s", t->phase,
			       t->course.unusable, t->why);
}

/* the step of this turn was judged: what came of it leads on */
static void was_refused(struct talker *t, const json_t *rec)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(kl_json_str_or(rec, "locus", ""));

	t->of = (struct kl_brief_of){ .refused = rec };
	kl_course_refused(&t->course, kl_json_str_or(rec, "class", ""), place);
}

static void is_held(struct talker *t)
{
	t->of = (struct kl_brief_of){ .foreign = t->rw->foreign ? t->rw->foreign : "" };
	kl_course_split(&t->course);
}

/* one turn: a proposal, or the course is a turn further on */
static int one_turn(struct kl_proposal **out, struct talker *t)
{
	const json_t *rec = kl_brief_record(&t->brief, t->course.turn);
	struct kl_envelope e;
	const char *reply;
	int err = ask_turn(&reply, t);

	if (err < 0)
		return err;
	if (rec) {
		was_refused(t, rec);
		return 0;
	}
	if (t->course.turn == t->split_at) {
		is_held(t);
		return 0;
	}
	err = kl_envelope_parse(&e, reply, strlen(reply));
	if (!err && e.kind == KL_ENVELOPE_NOTHING) {
		if (t->course.kind != KL_COURSE_SPLIT && t->fresh)
			kl_rewrite_say(t->rw, "%s: nothing left: %.300s", t->phase, e.why);
		kl_course_end(&t->course);
		t->nothing = t->course.kind == KL_COURSE_END;
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
	enum kl_course_kind kind;
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
	while (!err && !*out && t.course.kind != KL_COURSE_END)
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
	while (!err && !*out && t.course.kind != KL_COURSE_END && t.course.turn <= t.split_at)
		err = one_turn(out, &t);
	if (err < 0 || *out || t.course.kind != KL_COURSE_SPLIT)
		return err;
	return one_turn(out, &t);
}
