/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/agent.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/brief.h"
#include "rewrite/edits.h"
#include "rewrite/envelope.h"
#include "rewrite/feedback.h"
#include "rewrite/layout.h"
#include "rewrite/prompt.h"

struct kl_agent {
	struct kl_agent_opts o;
	char *name, *phase, *rewriter;
	struct kl_strvec texts;
	struct kl_talk *talk;
};

void kl_agent_free(struct kl_agent *a)
{
	if (!a)
		return;
	kl_talk_free(a->talk);
	kl_strvec_release(&a->texts);
	free(a->name);
	free(a->phase);
	free(a->rewriter);
	free(a);
}

void kl_agent_answer_release(struct kl_agent_answer *a)
{
	kl_surface_free(a->to);
	free(a->why);
	free(a->card);
	free(a->action);
	free(a->mechanism);
	free(a->text);
	free(a->source);
	*a = (struct kl_agent_answer){ 0 };
}

int kl_agent_open(struct kl_agent **out, const struct kl_agent_opts *o)
{
	KL_AUTO(kl_agent_freep) struct kl_agent *a = kl_calloc(1, sizeof(*a));
	int err;

	a->o = *o;
	a->texts = (struct kl_strvec)KL_STRVEC_INIT;
	a->o.name = a->name = kl_strdup(o->name);
	a->o.phase = a->phase = kl_strdup(o->phase);
	a->o.rewriter = a->rewriter = kl_strdup(o->rewriter);
	if ((err = kl_brief_system_cards(&a->texts, o->repo, o->prompt, o->state, o->cards)) < 0 ||
	    (err = kl_talk_open(&a->talk, o->chat, a->name, a->phase, (const char *const *)a->texts.v,
				a->texts.n)) < 0)
		return err;
	a->o.cards = NULL;
	a->o.state = NULL;
	*out = kl_steal(&a);
	return 0;
}

size_t kl_agent_turns(const struct kl_agent *a)
{
	return kl_talk_turns(a->talk);
}

bool kl_agent_knows(const struct kl_agent *a, const char *card)
{
	KL_AUTO(kl_freep) char *whole = kl_asprintf("\nid: %s\n", card);
	KL_AUTO(kl_freep) char *label = kl_asprintf("\n%s: ", card);
	const char *text;

	for (size_t i = 0; (text = kl_talk_system(a->talk, i)); i++)
		if (strstr(text, whole) || strstr(text, label))
			return true;
	return false;
}

bool kl_agent_turn_state(char digest[13], enum kl_dialogue_kind *kind, const struct kl_agent *a, size_t turn)
{
	const char *user = kl_talk_user(a->talk, turn), *at = strstr(user, ", state "), *word;
	size_t n;

	if (!at || at > user + strcspn(user, "\n"))
		return false;
	at += strlen(", state ");
	n = strspn(at, "0123456789abcdef");
	if (n != 12 || strncmp(at + n, ": ", 2))
		return false;
	word = at + n + 2;
	memcpy(digest, at, 12);
	digest[12] = '\0';
	return kl_dialogue_kind(kind, word, strcspn(word, "]\n"));
}

/* --- what is said ------------------------------------------------------------------------- */

static char *quoted(const char *text)
{
	struct kl_buf b = KL_BUF_INIT;

	kl_prompt_excerpt(&b, "", text ? text : "", KL_FEEDBACK_MAX / 2);
	return kl_buf_detach(&b);
}

static void set_feedback(struct kl_map *v, const struct kl_agent_question *q)
{
	int64_t ns = kl_json_int_or(json_object_get(q->facts, "profile"), "ns", 0);
	struct kl_buf evidence = KL_BUF_INIT, meaning = KL_BUF_INIT;
	struct kl_feedback f = {
		.class_ = q->class_, .event = q->event, .before = q->facts, .ns = ns, .forward = true,
		.missing = q->missing,
	};

	kl_prompt_set(v, "FACTS", kl_prompt_facts(q->facts, NULL, ns));
	kl_feedback_write(&evidence, &f);
	kl_prompt_set(v, "EVIDENCE", kl_buf_detach(&evidence));
	kl_feedback_explain(&meaning, &f);
	kl_prompt_set(v, "MEANING", kl_buf_detach(&meaning));
}

static void values(struct kl_map *v, const struct kl_agent_question *q)
{
	kl_prompt_set(v, "FILES", kl_prompt_sources(q->state, false));
	kl_prompt_set(v, "OFFER", kl_strdup(q->offer ? q->offer : ""));
	kl_prompt_set(v, "OUTCOME", kl_strdup(q->outcome ? q->outcome : ""));
	set_feedback(v, q);
	kl_prompt_set(v, "NUMBER", kl_asprintf("%d", q->repair));
	kl_prompt_set(v, "MOST", kl_asprintf("%d", KL_DIALOGUE_REPAIRS));
	kl_prompt_set(v, "WHY", quoted(q->why));
}

/* no time, no drawn index, no compiler's word: chat.h, kl_ask.key */
static void write_key(struct kl_buf *key, const struct kl_agent_question *q)
{
	kl_buf_addf(key, "%s\nstate %s\ncontract %s\n", kl_dialogue_name(q->kind), q->state->digest,
		    q->state->contract_digest);
	if (q->offered && *q->offered)
		kl_buf_addf(key, "cards %s\n", q->offered);
	if (q->class_)
		kl_buf_addf(key, "came %s\n", kl_feedback_key(q->class_));
}

static int ask(const char **reply, struct kl_agent *a, size_t turn, const struct kl_agent_question *q)
{
	KL_AUTO(kl_map_release) struct kl_map v = KL_PROMPT_VALUES;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf user = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	struct kl_ask ask = { 0 };
	int err;

	values(&v, q);
	kl_brief_head(&text, a->phase, turn, q->state, q->kind);
	err = kl_prompt_fill(&text, a->o.repo, q->kind == KL_DIALOGUE_AGAIN ? "again" : q->prompt, &v);
	if (err < 0)
		return err;
	kl_brief_clean(&user, &text);
	write_key(&key, q);
	ask.user = user.ptr;
	ask.key = key.ptr;
	return kl_layout_ask(reply, a->talk, turn, &ask, a->rewriter, q->state, true);
}

/* --- what came ------------------------------------------------------------------------------ */

static int read_edits(struct kl_agent_answer *out, const struct kl_surface *state,
		      const struct kl_envelope *e)
{
	struct kl_file *edit = NULL;
	size_t n = 0;
	int err = kl_edits_apply(&edit, &n, state, e);

	if (!err)
		err = kl_surface_with(&out->to, state, edit, n);
	kl_edits_free(edit, n);
	return err;
}

int kl_agent_ask(struct kl_agent_answer *out, struct kl_agent *a, size_t turn,
		 const struct kl_agent_question *q)
{
	struct kl_envelope e = { 0 };
	const char *reply;
	int err;

	*out = (struct kl_agent_answer){ 0 };
	if ((err = ask(&reply, a, turn, q)) < 0)
		return err;
	out->source = kl_brief_source(a->phase, turn);
	err = kl_envelope_parse(&e, reply, strlen(reply));
	if (!err) {
		out->card = kl_steal(&e.card);
		out->action = kl_steal(&e.action);
		out->mechanism = kl_steal(&e.mechanism);
		out->text = kl_steal(&e.why);
		if (e.kind == KL_ENVELOPE_STEP)
			err = read_edits(out, q->state, &e);
	}
	kl_envelope_release(&e);
	if (err != KL_EINVALID && err != KL_ENO)
		return err;
	out->why = kl_strdup(kl_error_last());
	kl_error_clear();
	return 0;
}

/* --- money ------------------------------------------------------------------------------------ */

int64_t kl_agent_cost(const char **model, const struct kl_agent *a)
{
	return kl_talk_cost(model, a->talk);
}

/* --- cards -------------------------------------------------------------------------------------- */

const char *kl_cards_arm_name(enum kl_cards_arm arm)
{
	static const char *const name[] = { "full", "labels", "none" };

	return (size_t)arm < KL_ARRAY_SIZE(name) ? name[arm] : NULL;
}

void kl_agent_card(struct kl_buf *out, const struct kl_card *c, enum kl_cards_arm arm)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (arm == KL_CARDS_FULL)
		kl_card_write(&text, c);
	else
		kl_buf_addf(&text, "%s: %s\n", c->id, c->intent);
	kl_prompt_fence(out, arm == KL_CARDS_FULL ? "yaml" : "", text.ptr, text.len);
}
