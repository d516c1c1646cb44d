/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/agent.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/brief.h"
#include "rewrite/edits.h"
#include "rewrite/feedback.h"
#include "rewrite/prompt.h"
#include "rewrite/reply/envelope.h"

void kl_agent_answer_release(struct kl_agent_answer *answer)
{
	kl_surface_free(answer->to);
	free(answer->card);
	free(answer->action);
	free(answer->mechanism);
	free(answer->text);
	free(answer->source);
	*answer = (struct kl_agent_answer){ 0 };
}

int kl_agent_open(struct kl_driver *driver, const char *prompt, const char *cards,
		  const struct kl_surface *state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	int err = kl_brief_system_cards(&texts, driver->repo, prompt, state, cards);

	return err < 0 ? err : kl_driver_open(driver, &texts);
}

/* --- a turn ------------------------------------------------------------------------------- */

/*
 * Write the request's key (kl_request.key). The key leaves out times, random indices and compiler
 * output, because these differ between runs.
 */
static void write_key(struct kl_buf *key, const struct kl_agent_question *question,
		      enum kl_dialogue_kind kind)
{
	kl_buf_addf(key, "%s\nstate %s\ncontract %s\n", kl_dialogue_name(kind),
		    question->state->digest, question->state->contract_digest);
	if (question->offered && *question->offered)
		kl_buf_addf(key, KL_AGENT_OFFERED " %s\n", question->offered);
	if (question->class_)
		kl_buf_addf(key, "came %s\n", kl_feedback_key(question->class_));
}

static void compose_turn(struct kl_driver_turn *turn, const struct kl_agent_question *question,
			 enum kl_dialogue_kind kind)
{
	const struct kl_event *facts = question->facts;
	int64_t ns = facts ? facts->profile.ns : 0;

	turn->state = question->state;
	turn->feedback = (struct kl_feedback){
		.class_ = question->class_,
		.event = question->event,
		.ns = ns,
		.before = facts && facts->compiled ? &facts->facts.features : NULL,
		.forward = true,
		.missing = question->missing,
	};
	kl_prompt_set(&turn->values, "FACTS",
		      kl_prompt_facts(facts ? &facts->facts.features : NULL, NULL, ns));
	kl_prompt_set(&turn->values, "OFFER", kl_strdup(question->offer ? question->offer : ""));
	kl_prompt_set(&turn->values, "OUTCOME",
		      kl_strdup(question->outcome ? question->outcome : ""));
	write_key(&turn->key, question, kind);
}

/* --- a reply ------------------------------------------------------------------------------- */

static int read_edits(struct kl_agent_answer *out, const struct kl_surface *state,
		      const struct kl_envelope *envelope)
{
	struct kl_file *edit = NULL;
	size_t n = 0;
	int err = kl_edits_apply(&edit, &n, state, envelope);

	if (!err)
		err = kl_surface_with(&out->to, state, edit, n);
	kl_edits_free(edit, n);
	return err;
}

static int read_reply(struct kl_agent_answer *out, const char *reply,
		      const struct kl_surface *state)
{
	KL_AUTO(kl_envelope_release) struct kl_envelope envelope = { 0 };
	int err = kl_envelope_parse(&envelope, reply, strlen(reply));

	if (err < 0)
		return err;
	out->card = kl_steal(&envelope.card);
	out->action = kl_steal(&envelope.action);
	out->mechanism = kl_steal(&envelope.mechanism);
	out->text = kl_steal(&envelope.why);
	return envelope.kind == KL_ENVELOPE_STEP ? read_edits(out, state, &envelope) : 0;
}

int kl_agent_ask(struct kl_agent_answer *out, struct kl_driver *driver,
		 const struct kl_agent_question *question)
{
	struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
	const char *reply;
	int err;

	*out = (struct kl_agent_answer){ .source = kl_brief_source(driver->phase,
								   driver->dialogue.turn) };
	compose_turn(&turn, question, driver->dialogue.kind);
	if ((err = kl_driver_ask(&reply, driver, &turn)))
		return err;
	return kl_driver_accept(driver, read_reply(out, reply, question->state));
}

/* --- showing cards ---------------------------------------------------------------------------- */

const char *kl_cards_arm_name(enum kl_cards_arm arm)
{
	static const char *const name[] = { "full", "labels", "none" };

	return (size_t)arm < KL_ARRAY_SIZE(name) ? name[arm] : NULL;
}

/* Return the greatest measured gain of the step that the carrier was taken from, or 0. */
static int64_t gain_of(const struct kl_card *card, const struct kl_card_carrier *carrier)
{
	int64_t best = 0;

	for (size_t i = 0; carrier->of && i < card->rows.n; i++) {
		const struct kl_card_row *row = &card->rows.v[i];

		if (!strcmp(row->event, carrier->of) && row->ratio.ppm > best)
			best = row->ratio.ppm;
	}
	return best;
}

/*
 * Check whether a model is shown the carrier. It is not shown transformations, which are names of
 * this program's own tools, and of several diffs for a language only that with the greatest gain.
 */
static bool is_shown(const struct kl_card *card, size_t at)
{
	const struct kl_card_carrier *carrier = &card->carriers.v[at];

	if (carrier->form != KL_CARRIER_DIFF)
		return carrier->form != KL_CARRIER_TRANSFORM;
	for (size_t i = 0; i < card->carriers.n; i++) {
		const struct kl_card_carrier *other = &card->carriers.v[i];
		int64_t more;

		if (i == at || other->form != KL_CARRIER_DIFF ||
		    strcmp(other->language, carrier->language))
			continue;
		more = gain_of(card, other) - gain_of(card, carrier);
		if (more > 0 || (!more && i < at))
			return false;
	}
	return true;
}

/* Write a card as a model is shown it. */
static void write_card(struct kl_buf *out, const struct kl_card *card)
{
	KL_AUTO(kl_card_freep) struct kl_card *shown = kl_card_copy(card);
	size_t n = 0;

	for (size_t i = 0; i < shown->carriers.n; i++) {
		struct kl_card_carrier carrier = shown->carriers.v[i];

		if (!is_shown(card, i)) {
			free(carrier.language);
			free(carrier.of);
			free(carrier.text);
		} else {
			shown->carriers.v[n++] = carrier;
		}
	}
	shown->carriers.n = n;
	kl_card_normalize(shown);
	kl_card_write(out, shown);
}

void kl_agent_card(struct kl_buf *out, const struct kl_card *card, enum kl_cards_arm arm)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (arm == KL_CARDS_FULL)
		write_card(&text, card);
	else
		kl_buf_addf(&text, "%s: %s\n", card->id, card->intent);
	kl_prompt_fence(out, arm == KL_CARDS_FULL ? "yaml" : "", text.ptr, text.len);
}
