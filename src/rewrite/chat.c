/* SPDX-License-Identifier: Apache-2.0 */
/* chat - rewriters chat and exec: a model or a command proposes steps in a dialogue */
#include <string.h>

#include "base/error.h"
#include "model/conversation.h"
#include "rewrite/brief.h"
#include "rewrite/reply/envelope.h"

/*
 * Each state has one conversation, back-<number of accepted steps>. Every call replays the
 * conversation from its first turn. Stored replies, which cost nothing, contain the steps proposed
 * so far; the walk's records have the verdicts on these steps; dialogue.h decides which turn
 * follows. The first step that is not judged yet becomes the proposal.
 *
 * The rewriter exec has the same conversation with a command, which finds the state in a directory.
 */
struct proposer {
	struct kl_driver driver;
	struct kl_rewrite *rw;
	struct kl_brief_of of;
	bool nothing;    /* the dialogue ended because the model says that nothing is left */
	size_t split_at; /* turn whose step must be split; SIZE_MAX if there is none */
};

static void proposer_release(struct proposer *proposer)
{
	kl_driver_release(&proposer->driver);
}

static int proposer_open(struct proposer *proposer, struct kl_rewrite *rw, const char *rewriter)
{
	/* clang-format off */
	static const char *const prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "deoptimize-turn", [KL_DIALOGUE_REPAIR] = "repair",
		[KL_DIALOGUE_ANOTHER] = "another", [KL_DIALOGUE_ELSEWHERE] = "another",
		[KL_DIALOGUE_SPLIT] = "split",
	};
	/* clang-format on */
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	int err = kl_brief_system(&texts, rw->repo, "deoptimize", rw->state, rw->mechanisms);

	if (err < 0)
		return err;
	proposer->rw = rw;
	proposer->split_at = SIZE_MAX;
	proposer->driver = (struct kl_driver){
		.repo = rw->repo,
		.session = rw->session,
		.name = rw->name,
		.rewriter = rewriter,
		.phase = kl_asprintf("back-%zu", json_array_size(rw->steps)),
		.prompt = prompt,
		.edits = true,
	};
	return kl_driver_open(&proposer->driver, &texts);
}

/* --- one reply -------------------------------------------------------------------- */

/* Refuse a step at a place that is closed after too many refusals. */
static int check_place(const struct proposer *proposer, const struct kl_envelope *envelope)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(envelope->locus);

	if (kl_dialogue_closed(&proposer->driver.dialogue, place))
		return kl_error(KL_EINVALID, "%s was tried %d times; act somewhere else", place,
				KL_DIALOGUE_PLACE);
	return 0;
}

/*
 * Make a proposal from a step. Return KL_EINVALID or KL_ENO if the step is unusable. The message
 * tells its author why.
 */
static int take_step(struct kl_proposal **out, struct proposer *proposer,
		     const struct kl_envelope *envelope)
{
	const struct kl_driver *driver = &proposer->driver;
	KL_AUTO(kl_freep) char *at = kl_brief_source(driver->phase, driver->dialogue.turn);
	const char *part = driver->dialogue.kind == KL_DIALOGUE_SPLIT ? "@split" : "";
	KL_AUTO(kl_freep) char *source = kl_asprintf("%s%s", at, part);
	int err;

	if ((err = kl_rewrite_check_names(proposer->rw, envelope)) < 0 ||
	    (err = check_place(proposer, envelope)) < 0)
		return err;
	return kl_rewrite_take(out, proposer->rw, envelope, driver->rewriter, source);
}

static void end_idea(struct proposer *proposer, const char *why)
{
	struct kl_dialogue *dialogue = &proposer->driver.dialogue;

	if (dialogue->kind != KL_DIALOGUE_SPLIT && proposer->driver.fresh)
		kl_rewrite_print(proposer->rw, "%s: nothing left: %.300s", proposer->driver.phase,
				 why);
	kl_dialogue_end(dialogue);
	proposer->nothing = dialogue->kind == KL_DIALOGUE_END;
}

static int read_reply(struct kl_proposal **out, struct proposer *proposer, const char *reply)
{
	KL_AUTO(kl_envelope_release) struct kl_envelope envelope = { 0 };
	struct kl_driver *driver = &proposer->driver;
	int err = kl_envelope_parse(&envelope, reply, strlen(reply));

	if (!err && envelope.kind == KL_ENVELOPE_NOTHING)
		end_idea(proposer, envelope.why);
	else if (!err)
		err = take_step(out, proposer, &envelope);
	return kl_driver_accept(driver, err);
}

static void tell_end(const struct proposer *proposer)
{
	const struct kl_driver *driver = &proposer->driver;

	if (driver->dialogue.kind == KL_DIALOGUE_END && driver->fresh)
		kl_rewrite_print(proposer->rw,
				 "%s: %d replies in a row could not be used; the last was refused "
				 "because: %s",
				 driver->phase, driver->dialogue.unusable, driver->why);
}

/* Advance after a refused step: the class of its record `rec` decides which turn follows. */
static void refuse_step(struct proposer *proposer, const json_t *rec)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(kl_json_str_or(rec, "locus", ""));

	proposer->of.refused = rec;
	kl_dialogue_refused(&proposer->driver.dialogue, kl_json_str_or(rec, "class", ""), place);
}

/*
 * Choose the next turn. `rec` is the record of a refused step; NULL if the step is compound, so the
 * next turn asks the model to split it.
 */
static void take_verdict(struct proposer *proposer, const json_t *rec)
{
	if (rec) {
		refuse_step(proposer, rec);
		return;
	}
	proposer->of.foreign = proposer->rw->foreign ? proposer->rw->foreign : "";
	kl_dialogue_split(&proposer->driver.dialogue);
}

/* Run one turn. Set *out to a proposal, or advance the dialogue to the next turn. */
static int one_turn(struct kl_proposal **out, struct proposer *proposer)
{
	struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
	size_t number = proposer->driver.dialogue.turn;
	const json_t *rec = kl_brief_record(proposer->rw, &proposer->driver, number);
	const char *reply;
	int err;

	kl_brief_turn(&turn, proposer->rw, &proposer->driver, &proposer->of);
	if ((err = kl_driver_ask(&reply, &proposer->driver, &turn)) < 0)
		return err;
	proposer->of = (struct kl_brief_of){ 0 };
	if (!err && !rec && number != proposer->split_at)
		err = read_reply(out, proposer, reply);
	else if (!err)
		take_verdict(proposer, rec);
	if (err > 0)
		tell_end(proposer);
	return err < 0 ? err : 0;
}

/* --- the conversation --------------------------------------------------------------- */

int kl_chat_begun(struct kl_repo *repo, const char *name, const struct kl_surface *expert)
{
	KL_AUTO(kl_conversation_release) struct kl_conversation conversation = { 0 };
	enum kl_dialogue_kind kind;
	char state[13];
	int err = kl_conversation_load(&conversation, repo, expert->contract->workload, name,
				       "back-0");

	if (err < 0 || !conversation.n)
		return err;
	kl_brief_head_read(&kind, state, conversation.turn[0].user, "back-0", 0);
	return kl_brief_head_check(state, "back-0", 0, expert);
}

static int propose_step(struct kl_proposal **out, struct kl_rewrite *rw, const char *rewriter)
{
	KL_AUTO(proposer_release) struct proposer proposer = { 0 };
	int err;

	/* the second round (rw->again) would only repeat the conversation of the first */
	if (!rw->session || rw->again)
		return 0;
	err = proposer_open(&proposer, rw, rewriter);
	while (!err && !*out && kl_driver_next(&proposer.driver))
		err = one_turn(out, &proposer);
	rw->limited |= !err && !*out && !proposer.nothing;
	return err;
}

int kl_chat_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	return propose_step(out, rw, "chat");
}

int kl_exec_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg)
{
	return propose_step(out, rw, "exec");
}

/*
 * Ask the author of a compound step, once, to split it. If a model's edit were split mechanically,
 * one changed function at a time, the parts would rarely compile, and each part that fails would
 * count as a rejection.
 */
int kl_chat_split(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_proposal *whole)
{
	KL_AUTO(proposer_release) struct proposer proposer = { 0 };
	const struct kl_dialogue *dialogue = &proposer.driver.dialogue;
	const char *dot = strrchr(whole->source, '.');
	int err;

	if (!rw->session || !dot || strchr(whole->source, '@'))
		return 0;
	err = proposer_open(&proposer, rw, whole->rewriter);
	proposer.split_at = strtoul(dot + 1, NULL, 10);
	while (!err && !*out && dialogue->turn <= proposer.split_at &&
	       kl_driver_next(&proposer.driver))
		err = one_turn(out, &proposer);
	if (!err && !*out && dialogue->kind == KL_DIALOGUE_SPLIT &&
	    kl_driver_next(&proposer.driver))
		err = one_turn(out, &proposer);
	return err;
}
