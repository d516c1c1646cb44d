/* SPDX-License-Identifier: Apache-2.0 */
/* materialize_agent - the model's part of a run: cards it is offered, commits it works on */
#include <stdio.h>
#include <string.h>

#include "apply/materialize_parts.h"
#include "base/error.h"
#include "base/map.h"
#include "rewrite/feedback.h"
#include "rewrite/prompt.h"

/*
 * materialize_agent - the model's part: one conversation for the whole run. Its system texts hold
 * the cards that fit
 * the root, whole; each turn shows a node, or says what came of the last edit, and offers cards.
 * What is asked next follows from what came, and of a stored turn from its own first line: a run
 * that was killed goes through the same nodes again.
 */
struct climber {
	struct kl_driver driver;
	struct kl_mat *w;
	struct kl_strvec told; /* cards that it has seen whole */
	size_t told_bytes;
	struct kl_map closed; /* "<node> <card>": had its tries there */
	/* where it stands */
	size_t at, shown;      /* nodes; shown: by the last turn that showed one */
	struct kl_strvec only; /* building on: cards that may come; empty: all */
	int left;              /* steps more of that */
	struct kl_retrieval pool;
	bool pooled; /* `pool` is of `at` */
	/* the turn */
	char *class_, *outcome; /* of the last one */
	struct kl_event *event;
	struct kl_buf offer, offered;
	size_t noffer;
};

static void climber_release(struct climber *c)
{
	kl_driver_release(&c->driver);
	kl_strvec_release(&c->told);
	kl_map_release(&c->closed);
	kl_strvec_release(&c->only);
	kl_retrieval_release(&c->pool);
	free(c->class_);
	free(c->outcome);
	kl_event_free(c->event);
	kl_buf_release(&c->offer);
	kl_buf_release(&c->offered);
}

static struct kl_mat_node *node_at(const struct climber *c, size_t i)
{
	return &c->w->m->node[i];
}

static void set_text(char **s, char *value)
{
	free(*s);
	*s = value;
}

/* --- what it is told of cards ----------------------------------------------------------------- */

static int load_card(struct kl_card **out, const struct climber *c, size_t card)
{
	return kl_index_load(out, c->w->o->index, c->w->o->library, card);
}

/* the card whole, unless that is too much for one prefix; `*ok`: it is known to the model now */
static int tell_card(bool *ok, struct kl_buf *out, struct climber *c, const struct kl_retrieved *r)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	*ok = kl_strvec_has(&c->told, r->id);
	if (*ok || kl_strvec_has(&c->w->m->left_out, r->id))
		return 0;
	if ((err = load_card(&card, c, r->card)) < 0)
		return err;
	kl_agent_card(&text, card, c->w->o->arm);
	*ok = c->told_bytes + text.len <= KL_MAT_PREFIX_MAX;
	kl_strvec_push(*ok ? &c->told : &c->w->m->left_out, r->id);
	kl_strvec_uniq(*ok ? &c->told : &c->w->m->left_out);
	if (!*ok)
		return 0;
	c->told_bytes += text.len;
	kl_buf_add(out, text.ptr, text.len);
	kl_buf_addch(out, '\n');
	return 0;
}

/* system texts that are stored stand, whatever was to be told now */
static bool is_told(const struct climber *climber, const char *card)
{
	KL_AUTO(kl_freep) char *whole = kl_asprintf("\nid: %s\n", card);
	KL_AUTO(kl_freep) char *label = kl_asprintf("\n%s: ", card);
	const struct kl_conversation *conversation = &climber->driver.conversation;

	for (size_t i = 0; i < conversation->nsystem; i++)
		if (strstr(conversation->system[i], whole) ||
		    strstr(conversation->system[i], label))
			return true;
	return false;
}

/* a conversation that goes on keeps its system texts: cards that came since are told in a turn */
static void forget_untold(struct climber *c)
{
	struct kl_strvec told = c->told;

	c->told = (struct kl_strvec)KL_STRVEC_INIT;
	for (size_t i = 0; i < told.n; i++)
		if (is_told(c, told.v[i]))
			kl_strvec_push(&c->told, told.v[i]);
	kl_strvec_release(&told);
}

static int open_conversation(struct climber *climber)
{
	const struct kl_materialize_opts *o = climber->w->o;
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf cards = KL_BUF_INIT;
	bool ok;
	int err = o->arm == KL_CARDS_NONE ? 0 : kl_mat_pool(&pool, climber->w, 0);

	for (size_t i = 0; !err && i < pool.n; i++)
		err = tell_card(&ok, &cards, climber, &pool.v[i]);
	if (err < 0)
		return err;
	if (!cards.len)
		kl_buf_adds(&cards, "No cards are given.\n");
	if ((err = kl_agent_open(&climber->driver, "materialize", cards.ptr, o->root)) < 0)
		return err;
	forget_untold(climber);
	return o->go_on ? kl_driver_skip(&climber->driver, climber->driver.conversation.n) : 0;
}

/* --- what is offered -------------------------------------------------------------------------- */

static char *closing_text(size_t at, const char *card)
{
	return kl_asprintf("%zu %s", at, card);
}

static void close_card(struct climber *climber, size_t at, const char *card)
{
	KL_AUTO(kl_freep) char *key = closing_text(at, card);

	kl_map_put(&climber->closed, key, climber);
}

static bool may_offer(const struct climber *c, const struct kl_retrieved *r)
{
	KL_AUTO(kl_freep) char *key = closing_text(c->at, r->id);

	return !kl_map_get(&c->closed, key) && (!c->only.n || kl_strvec_has(&c->only, r->id));
}

static void offer_card(struct climber *c, const struct kl_retrieved *r, struct kl_buf *list)
{
	kl_buf_addf(list, "%zu. %s (%s", ++c->noffer, r->id, kl_card_status_name(r->status));
	for (size_t i = 0; i < r->needs.n; i++)
		kl_buf_addf(list, "%s%s", i ? ", " : "; after ", r->needs.v[i]);
	kl_buf_addf(list, ")\n");
	kl_buf_addf(&c->offered, "%s%s", c->offered.len ? " " : "", r->id);
}

/* the cards for where it stands, those that it has not seen yet whole */
static int make_offer(struct climber *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf cards = KL_BUF_INIT;
	int err = 0;

	kl_buf_release(&c->offer);
	kl_buf_release(&c->offered);
	c->offer = c->offered = (struct kl_buf)KL_BUF_INIT;
	c->noffer = 0;
	if (c->w->o->arm == KL_CARDS_NONE)
		return 0;
	if (!c->pooled) {
		kl_retrieval_release(&c->pool);
		c->pool = (struct kl_retrieval){ 0 };
		err = kl_mat_pool(&c->pool, c->w, c->at);
		c->pooled = !err;
	}
	for (size_t i = 0; !err && i < c->pool.n; i++) {
		bool ok = false;

		if (!may_offer(c, &c->pool.v[i]))
			continue;
		err = tell_card(&ok, &cards, c, &c->pool.v[i]);
		if (ok)
			offer_card(c, &c->pool.v[i], &list);
	}
	if (err < 0 || !c->noffer)
		return err;
	if (cards.len)
		kl_buf_addf(&c->offer, "More cards, which fit it now:\n\n%s\n", cards.ptr);
	kl_buf_adds(&c->offer, "Cards that fit it, in the order to try:\n\n");
	kl_prompt_fence(&c->offer, "", list.ptr, list.len);
	return 0;
}

/* --- where it goes ---------------------------------------------------------------------------- */

static void stand_at(struct climber *c, size_t at, const struct kl_strvec *only, int left)
{
	c->at = at;
	c->left = left;
	c->pooled = false;
	kl_strvec_release(&c->only);
	c->only = (struct kl_strvec)KL_STRVEC_INIT;
	for (size_t i = 0; only && i < only->n; i++)
		kl_strvec_push(&c->only, only->v[i]);
	kl_strvec_uniq(&c->only);
	c->driver.dialogue.repair = 0;
	c->driver.dialogue.kind = KL_DIALOGUE_STEP;
}

/* another card, on the node that is shown, or on another one */
static void go_on(struct climber *c)
{
	c->driver.dialogue.repair = 0;
	c->driver.dialogue.kind = c->at == c->shown ? KL_DIALOGUE_ANOTHER : KL_DIALOGUE_STEP;
}

static void note_outcome(struct climber *c, const char *class_, struct kl_event *event,
			 char *outcome)
{
	set_text(&c->class_, kl_strdup(class_));
	set_text(&c->outcome, outcome);
	kl_event_free(c->event);
	c->event = kl_event_ref(event);
}

/* the next turn's node and offer; false: nothing is left to offer */
static int find_next(bool *more, struct climber *c)
{
	bool none = c->w->o->arm == KL_CARDS_NONE;
	int err = make_offer(c);

	if (!err && !none && !c->noffer && c->at != c->w->m->best) {
		stand_at(c, c->w->m->best, NULL, KL_MAT_BUILD_ON);
		err = make_offer(c);
	}
	*more = none || c->noffer;
	return err;
}

/* --- what came of a turn ---------------------------------------------------------------------- */

static const struct kl_retrieved *pool_find(const struct climber *c, const char *id)
{
	for (size_t i = 0; i < c->pool.n; i++)
		if (!strcmp(c->pool.v[i].id, id))
			return &c->pool.v[i];
	return NULL;
}

static size_t index_find(const struct kl_index *ix, const char *id)
{
	for (size_t i = 0; i < kl_index_count(ix); i++)
		if (!strcmp(kl_index_string(ix, kl_index_card(ix, i)->id), id))
			return i;
	return SIZE_MAX;
}

/*
 * the card that a reply names: one of those that were offered; when it was said, they may have been
 * others
 */
static int named_card(struct kl_card **out, struct kl_mat_try *t, const struct climber *c,
		      const char *id, bool stored)
{
	const struct kl_index *ix = c->w->o->index;
	const struct kl_retrieved *r;
	size_t card;

	if (c->w->o->arm == KL_CARDS_NONE)
		return 0;
	if (!id || !*id)
		return kl_error(KL_EINVALID,
				"the <step> does not name the card that it is by: add the line "
				"'card: <id>'");
	r = pool_find(c, id);
	card = r ? r->card : stored ? index_find(ix, id) : SIZE_MAX;
	if (card == SIZE_MAX || (!stored && (!may_offer(c, r) || !kl_strvec_has(&c->told, id))))
		return kl_error(KL_EINVALID, "the card '%.64s' is not among those that are offered",
				id);
	t->status = (enum kl_card_status)kl_index_card(ix, card)->status;
	kl_oid_hex(t->blob, &kl_index_card(ix, card)->blob);
	return load_card(out, c, card);
}

static char *outcome_sentence(const struct kl_mat_try *t)
{
	if (t->ratio.ppm)
		return kl_asprintf(
			"That is right, and %.3f times as fast as the kernel that it was made "
			"from (%.3f to %.3f): %s.",
			(double)t->ratio.ppm / 1e6, (double)t->ratio.lo / 1e6,
			(double)t->ratio.hi / 1e6, kl_speed_name(t->speed));
	return kl_strdup("That is right, and was not timed.");
}

/* right, but not the best: is it built on? */
static int after_node(struct climber *c, const struct kl_mat_try *t, const struct kl_card *card)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	bool enables = false;
	int err = 0;

	note_outcome(c, "not-faster", node_at(c, t->node)->event, outcome_sentence(t));
	if (card && card->enables.n && c->left) {
		err = kl_mat_pool(&pool, c->w, t->node);
		for (size_t i = 0; !err && i < pool.n; i++)
			enables |= kl_strvec_has(&card->enables, pool.v[i].id);
	}
	if (enables)
		stand_at(c, t->node, &card->enables, c->left - 1);
	else
		go_on(c);
	return err;
}

/* what a tool can put in on top is put in first: it is free */
static int after_best(struct climber *c, const struct kl_mat_try *t)
{
	KL_AUTO(kl_freep) char *said = outcome_sentence(t);
	size_t was = c->w->m->best;
	int err = c->w->o->arm == KL_CARDS_FULL ? kl_mat_climb(c->w) : 0;

	note_outcome(c, "", NULL,
		     kl_asprintf("%s%s", said,
				 c->w->m->best == was ?
					 "" :
					 " Since then patches of "
					 "cards were applied that made it faster still."));
	stand_at(c, c->w->m->best, NULL, KL_MAT_BUILD_ON);
	return err;
}

static void after_failure(struct climber *climber, const struct kl_mat_try *attempt)
{
	struct kl_dialogue *dialogue = &climber->driver.dialogue;

	note_outcome(climber, attempt->why, node_at(climber, attempt->node)->event,
		     kl_strdup("That was refused."));
	if (kl_feedback_repairs(attempt->why) && dialogue->repair < KL_DIALOGUE_REPAIRS) {
		dialogue->repair++;
		dialogue->kind = KL_DIALOGUE_REPAIR;
		return;
	}
	close_card(climber, climber->at, attempt->card);
	go_on(climber);
}

static int after_edit(struct climber *c, const struct kl_mat_try *t, const struct kl_card *card)
{
	c->driver.dialogue.unusable = 0;
	switch (t->outcome) {
	case KL_MAT_FAIL:
		after_failure(c, t);
		return 0;
	case KL_MAT_BEST:
		return after_best(c, t);
	case KL_MAT_NODE:
		close_card(c, c->at, t->card);
		return after_node(c, t, card);
	default:
		close_card(c, c->at, t->card);
		note_outcome(c, "known", NULL, kl_strdup("That very kernel was there before."));
		go_on(c);
		return 0;
	}
}

static int end_run(struct climber *climber, char *why)
{
	set_text(&climber->w->m->ended, why);
	kl_error_clear();
	climber->driver.dialogue.kind = KL_DIALOGUE_END;
	return 0;
}

static void gives_up(struct climber *climber, const char *card, const char *text)
{
	struct kl_dialogue *dialogue = &climber->driver.dialogue;

	if (dialogue->kind == KL_DIALOGUE_REPAIR) {
		close_card(climber, climber->at, card);
		set_text(&climber->outcome, kl_strdup("You left it."));
		go_on(climber);
	} else if (climber->at != climber->w->m->best) {
		stand_at(climber, climber->w->m->best, NULL, KL_MAT_BUILD_ON);
		note_outcome(climber, "", NULL, kl_strdup("You left it."));
	} else {
		end_run(climber, kl_asprintf("nothing left: %.300s", text));
	}
	kl_dialogue_next(dialogue, dialogue->kind);
}

/* --- a turn ----------------------------------------------------------------------------------- */

static bool is_at(const struct climber *c, size_t i, const char *digest)
{
	return node_at(c, i)->correct &&
	       !strncmp(node_at(c, i)->state->digest, digest, strlen(digest));
}

/* the node that a stored turn was about: it may have stood on another one, at another time */
static int follow_stored(struct climber *climber)
{
	enum kl_dialogue_kind kind = climber->driver.dialogue.kind;
	size_t turn = climber->driver.dialogue.turn, i = climber->w->m->nnode;
	const char *digest = climber->driver.state;

	if (!*digest)
		return kl_error(KL_EINVALID,
				"turn %zu of the stored conversation does not say what it is "
				"about",
				turn + 1);
	if (is_at(climber, climber->at, digest))
		return 0;
	while (i > 0 && !is_at(climber, i - 1, digest))
		i--;
	if (!i)
		return kl_error_hint(kl_error(KL_EEXISTS,
					      "turn %zu of the stored conversation is "
					      "about a kernel that this run does not come to: %s",
					      turn + 1, digest),
				     "choose another name with --name");
	stand_at(climber, i - 1, NULL, KL_MAT_BUILD_ON);
	climber->driver.dialogue.kind = kind;
	return 0;
}

static int take_edit(struct climber *climber, struct kl_mat_try *attempt,
		     struct kl_agent_answer *answer, const struct kl_card *card)
{
	const char *text = answer->text ? answer->text : "";
	KL_AUTO(kl_freep) char *how = kl_asprintf("by %s: %s", attempt->by, text);
	int err = kl_mat_settle(attempt, climber->w,
				&(struct kl_mat_edit){
					.card = card,
					.action = card && card->action ? NULL : answer->action,
					.mechanism = card ? NULL : answer->mechanism,
					.how = how,
					.to = &answer->to,
				});

	attempt->how = "";
	kl_mat_add_try(climber->w, attempt);
	if (!err)
		err = after_edit(climber, attempt, card);
	kl_dialogue_next(&climber->driver.dialogue, climber->driver.dialogue.kind);
	return err;
}

static int use_answer(struct climber *climber, struct kl_agent_answer *answer, bool usable)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct kl_driver *driver = &climber->driver;
	struct kl_mat_try attempt = {
		.card = kl_strdup(answer->card ? answer->card : ""),
		.source = kl_strdup(answer->source),
		.on = climber->at,
		.by = driver->rewriter,
		.how = "",
		.outcome = KL_MAT_UNUSED,
	};
	const char *text = answer->text ? answer->text : "";
	int err = 0;

	if (usable && answer->to) {
		err = named_card(&card, &attempt, climber, answer->card, !driver->fresh);
		err = kl_driver_accept(driver, err);
		if (!err)
			return take_edit(climber, &attempt, answer, card);
	}
	attempt.why = kl_strdup(driver->why ? driver->why : text);
	kl_mat_add_try(climber->w, &attempt);
	if (usable && !answer->to)
		gives_up(climber, attempt.card, text);
	return err < 0 ? err : 0;
}

/* what a tool has put in, right and no faster, is not asked for again on the same node */
static void close_tried(struct climber *climber)
{
	for (size_t i = 0; i < climber->w->m->n; i++) {
		const struct kl_mat_try *t = &climber->w->m->v[i];

		if (!strcmp(t->by, "card") &&
		    (t->outcome == KL_MAT_NODE || t->outcome == KL_MAT_KNOWN))
			close_card(climber, t->on, t->card);
	}
}

static int one_turn(struct climber *climber)
{
	KL_AUTO(kl_agent_answer_release) struct kl_agent_answer answer = { 0 };
	struct kl_driver *driver = &climber->driver;
	bool more = true;
	int err;

	close_tried(climber);
	if (driver->fresh)
		err = find_next(&more, climber);
	else if (!(err = follow_stored(climber)))
		err = make_offer(climber);
	if (err < 0)
		return err;
	if (!more)
		return end_run(climber, kl_strdup("every card that fits was tried"));
	if (driver->dialogue.kind == KL_DIALOGUE_STEP)
		climber->shown = climber->at;
	kl_progress_title(climber->w->o->progress, "turn %zu: %s", driver->dialogue.turn + 1,
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
	/* what the budget or a recording does not give ends the conversation, and not the run */
	if (err == KL_ENO || err == KL_ENOTFOUND)
		return end_run(climber, kl_strdup(kl_error_last()));
	return err < 0 ? err : use_answer(climber, &answer, !err);
}

static char *say_end(const struct kl_driver *driver)
{
	if (kl_driver_gave_up(driver))
		return kl_asprintf("%d replies in a row could not be used; the last: %s",
				   driver->dialogue.unusable, driver->why);
	return kl_strdup("a conversation has no more turns");
}

int kl_mat_ask(struct kl_mat *w)
{
	static const char *const prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "materialize-turn",
		[KL_DIALOGUE_REPAIR] = "materialize-repair",
		[KL_DIALOGUE_ANOTHER] = "materialize-another",
	};
	const struct kl_materialize_opts *o = w->o;
	KL_AUTO(climber_release) struct climber c = {
		.w = w, .told = KL_STRVEC_INIT, .only = KL_STRVEC_INIT, .shown = SIZE_MAX,
		.outcome = kl_strdup("This is where it begins."), .offer = KL_BUF_INIT,
		.offered = KL_BUF_INIT, .driver = {
			.repo = o->repo, .session = o->session, .name = o->name, .rewriter = o->rewriter,
			.phase = kl_strdup("materialize"), .prompt = prompt, .edits = true,
		},
	};
	const char *model;
	int err;

	stand_at(&c, w->m->best, NULL, KL_MAT_BUILD_ON);
	err = open_conversation(&c);
	while (!err && w->m->n < KL_MAT_TRIES && kl_driver_next(&c.driver))
		err = one_turn(&c);
	if (!err && !w->m->ended)
		set_text(&w->m->ended, say_end(&c.driver));
	if (c.driver.conversation.session)
		w->m->nano = kl_conversation_cost(&model, &c.driver.conversation);
	return err;
}
