/* SPDX-License-Identifier: Apache-2.0 */
/* materialize_agent - asks a model to apply the cards that fit a node, node by node */
#include <string.h>

#include "apply/materialize_climber.h"
#include "base/error.h"
#include "base/prefix.h"
#include "rewrite/feedback.h"

static void climber_release(struct kl_materialize_climber *climber)
{
	kl_driver_release(&climber->driver);
	kl_strvec_release(&climber->told);
	kl_map_release(&climber->closed);
	kl_strvec_release(&climber->only);
	kl_retrieval_release(&climber->pool);
	free(climber->class_);
	free(climber->outcome);
	kl_event_free(climber->event);
	kl_buf_release(&climber->offer);
	kl_buf_release(&climber->offered);
}

static struct kl_materialize_node *node_at(const struct kl_materialize_climber *climber, size_t i)
{
	return &climber->run->m->node[i];
}

static void set_text(char **to, char *text)
{
	free(*to);
	*to = text;
}

/* --- opening the conversation ----------------------------------------------------------------- */

static int open_conversation(struct kl_materialize_climber *climber)
{
	const struct kl_materialize_opts *opts = climber->run->o;
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf cards = KL_BUF_INIT;
	bool ok;
	int err = opts->arm == KL_CARDS_NONE ? 0 : kl_materialize_pool(&pool, climber->run, 0, 0);

	for (size_t i = 0; !err && i < pool.n; i++)
		err = kl_materialize_tell_card(&ok, &cards, climber, &pool.v[i]);
	if (err < 0)
		return err;
	if (!cards.len)
		kl_buf_adds(&cards, "No cards are given.\n");
	if ((err = kl_agent_open(&climber->driver, "materialize", cards.ptr, opts->root)) < 0)
		return err;
	kl_materialize_forget_untold(climber);
	return opts->go_on ? kl_driver_skip(&climber->driver, climber->driver.conversation.n) : 0;
}

/* --- moving between nodes -------------------------------------------------------------------- */

static void move_to(struct kl_materialize_climber *climber, size_t at, const struct kl_strvec *only,
		    int left)
{
	climber->at = at;
	climber->left = left;
	climber->pooled = false;
	kl_strvec_release(&climber->only);
	climber->only = (struct kl_strvec)KL_STRVEC_INIT;
	for (size_t i = 0; only && i < only->n; i++)
		kl_strvec_push(&climber->only, only->v[i]);
	kl_strvec_uniq(&climber->only);
	climber->driver.dialogue.repair = 0;
	climber->driver.dialogue.kind = KL_DIALOGUE_STEP;
}

/*
 * Ask for another card. If the current node is not the one that was last shown to the model, show
 * the current node first.
 */
static void ask_another(struct kl_materialize_climber *climber)
{
	climber->driver.dialogue.repair = 0;
	climber->driver.dialogue.kind = climber->at == climber->shown ? KL_DIALOGUE_ANOTHER :
									KL_DIALOGUE_STEP;
}

static void note_outcome(struct kl_materialize_climber *climber, const char *class_,
			 struct kl_event *event, char *outcome)
{
	set_text(&climber->class_, kl_strdup(class_));
	set_text(&climber->outcome, outcome);
	kl_event_free(climber->event);
	climber->event = kl_event_ref(event);
}

/*
 * Choose the node and the offer of the next turn. If no card is left to offer, the turn is about
 * the best node and offers none, because the model can still make a free step there.
 */
static int find_next(struct kl_materialize_climber *climber)
{
	int err = kl_materialize_make_offer(climber);

	if (err || climber->noffer || climber->run->o->arm == KL_CARDS_NONE ||
	    climber->at == climber->run->m->best)
		return err;
	move_to(climber, climber->run->m->best, NULL, KL_MATERIALIZE_BUILD_ON);
	return kl_materialize_make_offer(climber);
}

/* --- handling the result of a turn ------------------------------------------------------------ */

static char *outcome_sentence(const struct kl_materialize_attempt *attempt)
{
	if (attempt->ratio.ppm)
		return kl_asprintf(
			"That is right, and %.3f times as fast as the kernel that it was made "
			"from (%.3f to %.3f): %s.",
			(double)attempt->ratio.ppm / 1e6, (double)attempt->ratio.lo / 1e6,
			(double)attempt->ratio.hi / 1e6, kl_speed_name(attempt->speed));
	return kl_strdup("That is right, and was not timed.");
}

/*
 * Handle a correct edit that is not a new best. If its card enables cards that fit the edited
 * state, continue from that state.
 */
static int handle_node(struct kl_materialize_climber *climber,
		       const struct kl_materialize_attempt *attempt, const struct kl_card *card)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	bool enables = false;
	int err = 0;

	note_outcome(climber, "not-faster", node_at(climber, attempt->node)->event,
		     outcome_sentence(attempt));
	if (card && card->enables.n && climber->left) {
		err = kl_materialize_pool(&pool, climber->run, attempt->node, 0);
		for (size_t i = 0; !err && i < pool.n; i++)
			enables |= kl_strvec_has(&card->enables, pool.v[i].id);
	}
	if (enables)
		move_to(climber, attempt->node, &card->enables, climber->left - 1);
	else
		ask_another(climber);
	return err;
}

/* Handle a new best: first try the mechanical carriers on it, because they cost nothing. */
static int handle_best(struct kl_materialize_climber *climber,
		       const struct kl_materialize_attempt *attempt)
{
	KL_AUTO(kl_freep) char *sentence = outcome_sentence(attempt);
	size_t was = climber->run->m->best;
	int err = climber->run->o->arm == KL_CARDS_FULL ? kl_materialize_climb(climber->run) : 0;

	note_outcome(climber, "", NULL,
		     kl_asprintf("%s%s", sentence,
				 climber->run->m->best == was ?
					 "" :
					 " Since then patches of "
					 "cards were applied that made it faster still."));
	move_to(climber, climber->run->m->best, NULL, KL_MATERIALIZE_BUILD_ON);
	return err;
}

static void handle_failure(struct kl_materialize_climber *climber,
			   const struct kl_materialize_attempt *attempt)
{
	struct kl_dialogue *dialogue = &climber->driver.dialogue;

	note_outcome(climber, attempt->why, node_at(climber, attempt->node)->event,
		     kl_strdup("That was refused."));
	if (kl_feedback_repairs(attempt->why) && dialogue->repair < KL_DIALOGUE_REPAIRS) {
		dialogue->repair++;
		dialogue->kind = KL_DIALOGUE_REPAIR;
		return;
	}
	kl_materialize_close_card(climber, climber->at, attempt->card);
	ask_another(climber);
}

static int handle_edit(struct kl_materialize_climber *climber,
		       const struct kl_materialize_attempt *attempt, const struct kl_card *card)
{
	climber->driver.dialogue.unusable = 0;
	switch (attempt->outcome) {
	case KL_MATERIALIZE_FAIL:
		handle_failure(climber, attempt);
		return 0;
	case KL_MATERIALIZE_BEST:
		return handle_best(climber, attempt);
	case KL_MATERIALIZE_NODE:
		kl_materialize_close_card(climber, climber->at, attempt->card);
		return handle_node(climber, attempt, card);
	case KL_MATERIALIZE_WAITS:
		return 0;
	default:
		kl_materialize_close_card(climber, climber->at, attempt->card);
		note_outcome(climber, "known", NULL,
			     kl_strdup("That very kernel was there before."));
		ask_another(climber);
		return 0;
	}
}

static int end_run(struct kl_materialize_climber *climber, char *why)
{
	set_text(&climber->run->m->ended, why);
	kl_error_clear();
	climber->driver.dialogue.kind = KL_DIALOGUE_END;
	return 0;
}

static void gives_up(struct kl_materialize_climber *climber, const char *card, const char *text)
{
	struct kl_dialogue *dialogue = &climber->driver.dialogue;

	if (dialogue->kind == KL_DIALOGUE_REPAIR) {
		kl_materialize_close_card(climber, climber->at, card);
		set_text(&climber->outcome, kl_strdup("You left it."));
		ask_another(climber);
	} else if (climber->at != climber->run->m->best) {
		move_to(climber, climber->run->m->best, NULL, KL_MATERIALIZE_BUILD_ON);
		note_outcome(climber, "", NULL, kl_strdup("You left it."));
	} else {
		end_run(climber, kl_asprintf("nothing left: %.300s", text));
	}
	kl_dialogue_next(dialogue, dialogue->kind);
}

/* --- running a turn --------------------------------------------------------------------------- */

static bool is_node(const struct kl_materialize_climber *climber, size_t i, const char *digest)
{
	return node_at(climber, i)->correct &&
	       kl_prefix_has(node_at(climber, i)->state->digest, digest);
}

/* Move to the node that a stored turn is about. It can differ from the current node. */
static int follow_stored(struct kl_materialize_climber *climber)
{
	enum kl_dialogue_kind kind = climber->driver.dialogue.kind;
	size_t turn = climber->driver.dialogue.turn, i = climber->run->m->nnode;
	const char *digest = climber->driver.state;

	if (!*digest)
		return kl_error(KL_EINVALID,
				"stored turn %zu does not record the kernel that it is "
				"about",
				turn + 1);
	if (is_node(climber, climber->at, digest))
		return 0;
	while (i > 0 && !is_node(climber, i - 1, digest))
		i--;
	if (!i)
		return kl_error_hint(kl_error(KL_EEXISTS,
					      "stored turn %zu is about a kernel that "
					      "this run did not make: %s",
					      turn + 1, digest),
				     "choose another name with --name");
	move_to(climber, i - 1, NULL, KL_MATERIALIZE_BUILD_ON);
	climber->driver.dialogue.kind = kind;
	return 0;
}

static int take_edit(struct kl_materialize_climber *climber, struct kl_materialize_attempt *attempt,
		     struct kl_agent_answer *answer, const struct kl_card *card)
{
	const char *text = answer->text ? answer->text : "";
	KL_AUTO(kl_freep) char *how = kl_asprintf("by %s: %s", attempt->by, text);
	int err = kl_materialize_settle(attempt, climber->run,
					&(struct kl_materialize_edit){
						.card = card,
						.action = card && card->action ? NULL :
										 answer->action,
						.mechanism = card ? NULL : answer->mechanism,
						.how = how,
						.to = &answer->to,
					});

	attempt->how[0] = '\0';
	kl_materialize_add_attempt(climber->run, attempt);
	if (!err)
		err = handle_edit(climber, attempt, card);
	kl_dialogue_next(&climber->driver.dialogue, climber->driver.dialogue.kind);
	return err;
}

static int use_answer(struct kl_materialize_climber *climber, struct kl_agent_answer *answer,
		      bool usable)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct kl_driver *driver = &climber->driver;
	struct kl_materialize_attempt attempt = {
		.card = kl_strdup(answer->card ? answer->card : ""),
		.source = kl_strdup(answer->source),
		.on = climber->at,
		.by = driver->rewriter,
		.outcome = KL_MATERIALIZE_UNUSED,
	};
	const char *text = answer->text ? answer->text : "";
	int err = 0;

	if (usable && answer->to) {
		err = kl_materialize_named_card(&card, &attempt, climber, answer->card);
		err = kl_driver_accept(driver, err);
		if (!err)
			return take_edit(climber, &attempt, answer, card);
	}
	attempt.why = kl_strdup(driver->why ? driver->why : text);
	kl_materialize_add_attempt(climber->run, &attempt);
	if (usable && !answer->to)
		gives_up(climber, attempt.card, text);
	return err < 0 ? err : 0;
}

/*
 * Stop offering a card at a node if a mechanical carrier already applied it there without a gain.
 */
static void close_tried(struct kl_materialize_climber *climber)
{
	for (size_t i = 0; i < climber->run->m->n; i++) {
		const struct kl_materialize_attempt *attempt = &climber->run->m->v[i];

		if (!strcmp(attempt->by, "card") && (attempt->outcome == KL_MATERIALIZE_NODE ||
						     attempt->outcome == KL_MATERIALIZE_KNOWN))
			kl_materialize_close_card(climber, attempt->on, attempt->card);
	}
}

static int one_turn(struct kl_materialize_climber *climber)
{
	KL_AUTO(kl_agent_answer_release) struct kl_agent_answer answer = { 0 };
	struct kl_driver *driver = &climber->driver;
	int err;

	close_tried(climber);
	if (driver->fresh)
		err = find_next(climber);
	else if (!(err = follow_stored(climber)))
		err = kl_materialize_make_offer(climber);
	if (err < 0)
		return err;
	if (driver->dialogue.kind == KL_DIALOGUE_STEP)
		climber->shown = climber->at;
	kl_progress_title(climber->run->o->progress, "turn %zu: %s", driver->dialogue.turn + 1,
			  driver->rewriter);
	err = kl_agent_ask(&answer, driver,
			   &(struct kl_agent_question){
				   .state = node_at(climber, climber->at)->state,
				   .facts = node_at(climber, climber->at)->event,
				   .offer = climber->offer.ptr,
				   .offered = climber->offered.ptr,
				   .class_ = climber->class_,
				   .outcome = climber->outcome,
				   .event = climber->event,
			   });
	/*
	 * if the budget is spent, the recording lacks the reply or the model does not answer, only
	 * the conversation ends
	 */
	if (err == KL_ENO || err == KL_ENOTFOUND || err == KL_ETIMEOUT)
		return end_run(climber, kl_strdup(kl_error_last()));
	return err < 0 ? err : use_answer(climber, &answer, !err);
}

static char *say_end(const struct kl_driver *driver)
{
	if (kl_driver_gave_up(driver))
		return kl_asprintf(
			"%d replies in a row could not be used; the last was refused because: %s",
			driver->dialogue.unusable, driver->why);
	return kl_strdup("the conversation has reached its limit of turns");
}

int kl_materialize_ask(struct kl_materialize_run *run)
{
	static const char *const prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "materialize-turn",
		[KL_DIALOGUE_REPAIR] = "materialize-repair",
		[KL_DIALOGUE_ANOTHER] = "materialize-another",
	};
	const struct kl_materialize_opts *opts = run->o;
	KL_AUTO(climber_release) struct kl_materialize_climber climber = {
		.run = run, .told = KL_STRVEC_INIT, .only = KL_STRVEC_INIT, .shown = SIZE_MAX,
		.outcome = kl_strdup("This is where it begins."), .offer = KL_BUF_INIT,
		.offered = KL_BUF_INIT, .driver = {
			.repo = opts->repo, .session = opts->session,
			.name = opts->name, .rewriter = opts->rewriter,
			.phase = kl_strdup("materialize"), .prompt = prompt, .edits = true,
		},
	};
	const char *model;
	int err;

	move_to(&climber, run->m->best, NULL, KL_MATERIALIZE_BUILD_ON);
	err = open_conversation(&climber);
	while (!err && !run->m->waiting && run->m->n < KL_MATERIALIZE_ATTEMPTS &&
	       kl_driver_next(&climber.driver))
		err = one_turn(&climber);
	if (!err && run->m->waiting)
		set_text(&run->m->ended, kl_strdup("the gate has no verdict yet"));
	else if (!err && !run->m->ended)
		set_text(&run->m->ended, say_end(&climber.driver));
	if (climber.driver.conversation.session)
		run->m->nano = kl_conversation_cost(&model, &climber.driver.conversation);
	return err;
}
