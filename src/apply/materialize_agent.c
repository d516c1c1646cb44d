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
 * the root, whole; each turn shows a node, or says what came of the last edit, and offers cards. What is
 * asked next follows from what came, and of a stored turn from its own first line: a run that was
 * killed goes through the same nodes again.
 */
#define PHASE "materialize"

struct climber {
	struct kl_mat *w;
	struct kl_agent *agent;
	struct kl_strvec told;		/* cards that it has seen whole */
	size_t told_bytes;
	struct kl_map closed;		/* "<node> <card>": had its tries there */
	/* where it stands */
	size_t at, shown;		/* nodes; shown: by the last turn that showed one */
	struct kl_strvec only;		/* building on: cards that may come; empty: all */
	int left;			/* steps more of that */
	struct kl_retrieval pool;
	bool pooled;			/* `pool` is of `at` */
	/* the turn */
	enum kl_dialogue_kind kind;
	char *class_, *outcome, *why;	/* of the last one */
	json_t *event;
	int repair, unusable;
	struct kl_buf offer, offered;
	size_t noffer;
};

static void climber_release(struct climber *c)
{
	kl_agent_free(c->agent);
	kl_strvec_release(&c->told);
	kl_map_release(&c->closed);
	kl_strvec_release(&c->only);
	kl_retrieval_release(&c->pool);
	free(c->class_);
	free(c->outcome);
	free(c->why);
	json_decref(c->event);
	kl_buf_release(&c->offer);
	kl_buf_release(&c->offered);
}

static struct kl_mat_node *node(const struct climber *c, size_t i)
{
	return &c->w->m->node[i];
}

static void set(char **s, char *value)
{
	free(*s);
	*s = value;
}

/* --- what it is told of cards ------------------------------------------------------------------ */

static int load_card(struct kl_card **out, const struct climber *c, size_t card)
{
	return kl_index_load(out, c->w->o->index, c->w->o->library, card);
}

/* the card whole, unless that is too much for one prefix; `*ok`: it is known to the model now */
static int tell(bool *ok, struct kl_buf *out, struct climber *c, const struct kl_retrieved *r)
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

/* a conversation that goes on keeps its system texts: cards that came since are told in a turn */
static void forget_untold(struct climber *c)
{
	struct kl_strvec told = c->told;

	c->told = (struct kl_strvec)KL_STRVEC_INIT;
	for (size_t i = 0; i < told.n; i++)
		if (kl_agent_knows(c->agent, told.v[i]))
			kl_strvec_push(&c->told, told.v[i]);
	kl_strvec_release(&told);
}

static int open_agent(struct climber *c)
{
	const struct kl_materialize_opts *o = c->w->o;
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf cards = KL_BUF_INIT;
	bool ok;
	int err = o->arm == KL_CARDS_NONE ? 0 : kl_mat_pool(&pool, c->w, 0);

	for (size_t i = 0; !err && i < pool.n; i++)
		err = tell(&ok, &cards, c, &pool.v[i]);
	if (err < 0)
		return err;
	if (!cards.len)
		kl_buf_adds(&cards, "No cards are given.\n");
	err = kl_agent_open(&c->agent, &(struct kl_agent_opts){
		.repo = o->repo, .chat = o->chat, .name = o->name, .phase = PHASE, .rewriter = o->rewriter,
		.prompt = "materialize", .cards = cards.ptr, .state = o->root,
	});
	if (!err)
		forget_untold(c);
	return err;
}

/* --- what is offered --------------------------------------------------------------------------- */

static char *closing(size_t at, const char *card)
{
	return kl_asprintf("%zu %s", at, card);
}

static void close_card(struct climber *c, const char *card)
{
	KL_AUTO(kl_freep) char *key = closing(c->at, card);

	kl_map_put(&c->closed, key, c);
}

static bool may_offer(const struct climber *c, const struct kl_retrieved *r)
{
	KL_AUTO(kl_freep) char *key = closing(c->at, r->id);

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
		err = tell(&ok, &cards, c, &c->pool.v[i]);
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

/* --- where it goes ------------------------------------------------------------------------------ */

static void stand(struct climber *c, size_t at, const struct kl_strvec *only, int left)
{
	c->at = at;
	c->left = left;
	c->pooled = false;
	kl_strvec_release(&c->only);
	c->only = (struct kl_strvec)KL_STRVEC_INIT;
	for (size_t i = 0; only && i < only->n; i++)
		kl_strvec_push(&c->only, only->v[i]);
	kl_strvec_uniq(&c->only);
	c->repair = 0;
	c->kind = KL_DIALOGUE_STEP;
}

/* another card, on the node that is shown, or on another one */
static void go_on(struct climber *c)
{
	c->repair = 0;
	c->kind = c->at == c->shown ? KL_DIALOGUE_ANOTHER : KL_DIALOGUE_STEP;
}

static void came(struct climber *c, const char *class_, json_t *event, char *outcome)
{
	set(&c->class_, kl_strdup(class_));
	set(&c->outcome, outcome);
	json_decref(c->event);
	c->event = json_incref(event);
}

/* the next turn's node and offer; false: nothing is left to offer */
static int find_next(bool *more, struct climber *c)
{
	bool none = c->w->o->arm == KL_CARDS_NONE;
	int err = make_offer(c);

	if (!err && !none && !c->noffer && c->at != c->w->m->best) {
		stand(c, c->w->m->best, NULL, KL_MAT_BUILD_ON);
		err = make_offer(c);
	}
	*more = none || c->noffer;
	return err;
}

/* --- what came of a turn ------------------------------------------------------------------------ */

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

/* the card that a reply names: one of those that were offered; when it was said, they may have been others */
static int named_card(struct kl_card **out, struct kl_mat_try *t, const struct climber *c, const char *id,
		      bool stored)
{
	const struct kl_index *ix = c->w->o->index;
	const struct kl_retrieved *r;
	size_t card;

	if (c->w->o->arm == KL_CARDS_NONE)
		return 0;
	if (!id || !*id)
		return kl_error(KL_EINVALID, "the <step> does not name the card that it is by: add the line "
				"'card: <id>'");
	r = pool_find(c, id);
	card = r ? r->card : stored ? index_find(ix, id) : SIZE_MAX;
	if (card == SIZE_MAX || (!stored && (!may_offer(c, r) || !kl_strvec_has(&c->told, id))))
		return kl_error(KL_EINVALID, "the card '%.64s' is not among those that are offered", id);
	t->status = (enum kl_card_status)kl_index_card(ix, card)->status;
	kl_oid_hex(t->blob, &kl_index_card(ix, card)->blob);
	return load_card(out, c, card);
}

static int unusable(struct climber *c, const char *why, bool *end)
{
	set(&c->why, kl_strdup(why));
	kl_error_clear();
	c->kind = KL_DIALOGUE_AGAIN;
	*end = ++c->unusable >= KL_DIALOGUE_UNUSABLE;
	if (*end)
		set(&c->w->m->ended, kl_asprintf("%d replies in a row could not be used; the last: %s",
						 c->unusable, why));
	return 0;
}

static char *sentence(const struct kl_mat_try *t)
{
	if (t->ratio.ppm)
		return kl_asprintf("That is right, and %.3f times as fast as the kernel that it was made "
				   "from (%.3f to %.3f): %s.", (double)t->ratio.ppm / 1e6,
				   (double)t->ratio.lo / 1e6, (double)t->ratio.hi / 1e6, t->speed);
	return kl_strdup("That is right, and was not timed.");
}

/* right, but not the best: is it built on? */
static int after_node(struct climber *c, const struct kl_mat_try *t, const struct kl_card *card)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	bool enables = false;
	int err = 0;

	came(c, "not-faster", node(c, t->node)->event, sentence(t));
	if (card && card->enables.n && c->left) {
		err = kl_mat_pool(&pool, c->w, t->node);
		for (size_t i = 0; !err && i < pool.n; i++)
			enables |= kl_strvec_has(&card->enables, pool.v[i].id);
	}
	if (enables)
		stand(c, t->node, &card->enables, c->left - 1);
	else
		go_on(c);
	return err;
}

/* what a tool can put in on top is put in first: it is free */
static int after_best(struct climber *c, const struct kl_mat_try *t)
{
	KL_AUTO(kl_freep) char *said = sentence(t);
	size_t was = c->w->m->best;
	int err = c->w->o->arm == KL_CARDS_FULL ? kl_mat_climb(c->w) : 0;

	came(c, "", NULL, kl_asprintf("%s%s", said, c->w->m->best == was ? "" : " Since then patches of "
				      "cards were applied that made it faster still."));
	stand(c, c->w->m->best, NULL, KL_MAT_BUILD_ON);
	return err;
}

static void after_failure(struct climber *c, const struct kl_mat_try *t)
{
	came(c, t->why, node(c, t->node)->event, kl_strdup("That was refused."));
	if (kl_feedback_repairs(t->why) && c->repair < KL_DIALOGUE_REPAIRS) {
		c->repair++;
		c->kind = KL_DIALOGUE_REPAIR;
		return;
	}
	close_card(c, t->card);
	go_on(c);
}

static int after_edit(struct climber *c, const struct kl_mat_try *t, const struct kl_card *card)
{
	c->unusable = 0;
	switch (t->outcome) {
	case KL_MAT_FAIL:
		after_failure(c, t);
		return 0;
	case KL_MAT_BEST:
		return after_best(c, t);
	case KL_MAT_NODE:
		close_card(c, t->card);
		return after_node(c, t, card);
	default:
		close_card(c, t->card);
		came(c, "known", NULL, kl_strdup("That very kernel was there before."));
		go_on(c);
		return 0;
	}
}

static void gives_up(struct climber *c, const struct kl_agent_answer *a, const char *card, bool *end)
{
	if (c->kind == KL_DIALOGUE_REPAIR) {
		close_card(c, card);
		set(&c->outcome, kl_strdup("You left it."));
		go_on(c);
	} else if (c->at != c->w->m->best) {
		stand(c, c->w->m->best, NULL, KL_MAT_BUILD_ON);
		came(c, "", NULL, kl_strdup("You left it."));
	} else {
		*end = true;
		set(&c->w->m->ended, kl_asprintf("nothing left: %.300s", a->text ? a->text : ""));
	}
}

/* --- a turn ---------------------------------------------------------------------------------------- */

static bool is_at(const struct climber *c, size_t i, const char *digest)
{
	return node(c, i)->correct && !strncmp(node(c, i)->state->digest, digest, strlen(digest));
}

/* the node that a stored turn was about: it may have stood on another one, at another time */
static int follow(struct climber *c, size_t turn)
{
	char digest[13];
	enum kl_dialogue_kind kind;

	if (!kl_agent_turn_state(digest, &kind, c->agent, turn))
		return kl_error(KL_EINVALID, "turn %zu of the stored conversation does not say what it is "
				"about", turn + 1);
	if (!is_at(c, c->at, digest)) {
		size_t i = c->w->m->nnode;

		while (i > 0 && !is_at(c, i - 1, digest))
			i--;
		if (!i)
			return kl_error_hint(kl_error(KL_EEXISTS, "turn %zu of the stored conversation is "
						      "about a kernel that this run does not come to: %s",
						      turn + 1, digest), "choose another name with --name");
		stand(c, i - 1, NULL, KL_MAT_BUILD_ON);
	}
	c->kind = kind;
	return 0;
}

static int ask(struct kl_agent_answer *a, struct climber *c, size_t turn)
{
	static const char *const prompt[] = {
		[KL_DIALOGUE_STEP] = "materialize-turn", [KL_DIALOGUE_REPAIR] = "materialize-repair",
		[KL_DIALOGUE_ANOTHER] = "materialize-another", [KL_DIALOGUE_AGAIN] = "again",
	};
	struct kl_agent_question q = {
		.kind = c->kind, .state = node(c, c->at)->state, .facts = node(c, c->at)->event,
		.offer = c->offer.ptr, .offered = c->offered.ptr, .class_ = c->class_, .outcome = c->outcome,
		.event = c->event, .why = c->why, .repair = c->repair,
	};

	if (c->kind >= KL_ARRAY_SIZE(prompt) || !prompt[c->kind])
		return kl_error(KL_EINVALID, "turn %zu of the stored conversation asks for something else",
				turn + 1);
	q.prompt = prompt[c->kind];
	if (c->kind == KL_DIALOGUE_STEP)
		c->shown = c->at;
	kl_progress_title(c->w->o->progress, "turn %zu: %s", turn + 1, c->w->o->rewriter);
	return kl_agent_ask(a, c->agent, turn, &q);
}

static int use_answer(struct climber *c, struct kl_agent_answer *a, bool stored, bool *end)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct kl_mat_try t = { .on = c->at, .by = c->w->o->rewriter, .how = "", .outcome = KL_MAT_UNUSED };
	KL_AUTO(kl_freep) char *how = kl_asprintf("by %s: %s", t.by, a->text ? a->text : "");
	int err;

	t.card = kl_strdup(a->card ? a->card : "");
	t.source = kl_strdup(a->source);
	if (!a->to) {
		t.why = kl_strdup(a->why ? a->why : a->text ? a->text : "");
		kl_mat_add_try(c->w, &t);
		if (a->why)
			return unusable(c, a->why, end);
		gives_up(c, a, t.card, end);
		return 0;
	}
	err = named_card(&card, &t, c, a->card, stored);
	if (err == KL_EINVALID) {
		t.why = kl_strdup(kl_error_last());
		err = unusable(c, kl_error_last(), end);
		kl_mat_add_try(c->w, &t);
		return err;
	}
	if (!err)
		err = kl_mat_settle(&t, c->w, &(struct kl_mat_edit){
			.card = card, .action = card && card->action ? NULL : a->action,
			.mechanism = card ? NULL : a->mechanism, .how = how, .to = &a->to,
		});
	t.how = "";
	kl_mat_add_try(c->w, &t);
	return err < 0 ? err : after_edit(c, &c->w->m->v[c->w->m->n - 1], card);
}

/* what the budget or a recording does not give ends the conversation, and not the run */
static int ends(struct climber *c, int err, bool *end)
{
	if (err != KL_ENO && err != KL_ENOTFOUND)
		return err;
	set(&c->w->m->ended, kl_strdup(kl_error_last()));
	kl_error_clear();
	*end = true;
	return 0;
}

static int one_turn(struct climber *c, size_t turn, bool *end)
{
	bool stored = turn < kl_agent_turns(c->agent), more = true;
	struct kl_agent_answer a;
	int err = stored ? follow(c, turn) : 0;

	if (!err)
		err = stored ? make_offer(c) : find_next(&more, c);
	if (err < 0)
		return err;
	if (!more) {
		*end = true;
		set(&c->w->m->ended, kl_strdup("every card that fits was tried"));
		return 0;
	}
	err = ask(&a, c, turn);
	if (err < 0) {
		kl_agent_answer_release(&a);
		return ends(c, err, end);
	}
	err = use_answer(c, &a, stored, end);
	kl_agent_answer_release(&a);
	return err;
}

/* what a tool has put in, right and no faster, is not asked for again on the same node */
static void close_tried(struct climber *c)
{
	for (size_t i = 0; i < c->w->m->n; i++) {
		const struct kl_mat_try *t = &c->w->m->v[i];

		if (!strcmp(t->by, "card") && (t->outcome == KL_MAT_NODE || t->outcome == KL_MAT_KNOWN)) {
			KL_AUTO(kl_freep) char *key = closing(t->on, t->card);

			kl_map_put(&c->closed, key, c);
		}
	}
}

int kl_mat_ask(struct kl_mat *w)
{
	KL_AUTO(climber_release) struct climber c = {
		.w = w, .told = KL_STRVEC_INIT, .only = KL_STRVEC_INIT, .shown = SIZE_MAX,
		.outcome = kl_strdup("This is where it begins."), .offer = KL_BUF_INIT,
		.offered = KL_BUF_INIT,
	};
	const char *model;
	bool end = false;
	size_t turn;
	int err = open_agent(&c);

	stand(&c, w->m->best, NULL, KL_MAT_BUILD_ON);
	turn = w->o->go_on && !err ? kl_agent_turns(c.agent) : 0;
	for (; !err && !end && turn < KL_DIALOGUE_TURNS && w->m->n < KL_MAT_TRIES; turn++) {
		close_tried(&c);
		err = one_turn(&c, turn, &end);
	}
	if (!err && !end)
		set(&w->m->ended, kl_strdup("a conversation has no more turns"));
	if (c.agent)
		w->m->nano = kl_agent_cost(&model, c.agent);
	return err;
}
