/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/rederive.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/brief.h"
#include "rewrite/edits.h"
#include "rewrite/feedback.h"
#include "rewrite/prompt.h"
#include "rewrite/reply/envelope.h"

/*
 * The texts are made from K_{i-1}, the contract, the step's action, mechanism and place, and K_i's
 * time and features. The code in this file gets no source of K_i. It gets the step's text and
 * lines, but does not send these, since they can reveal the source. A command (exec) runs on the
 * user's machine: if the repository cannot be hidden from it, the step is marked as unisolated.
 */
struct deriver {
	struct kl_driver driver;
	const struct kl_rederive *r;
	struct kl_mechanisms mechanisms;
	const json_t *attempt; /* the last attempt that had a reply, or NULL */
};

static void deriver_release(struct deriver *deriver)
{
	kl_driver_release(&deriver->driver);
	kl_mechanisms_release(&deriver->mechanisms);
}

/* Check whether an attempt had no reply. */
static bool is_silent(const json_t *attempt)
{
	return !strcmp(kl_json_str_or(attempt, "class", ""), "timeout");
}

/* Return the last attempt that had a reply, or NULL. Set *n to the number of such attempts. */
static const json_t *last_attempt(size_t *n, const json_t *attempts)
{
	const json_t *last = NULL;
	size_t i;
	json_t *attempt;

	*n = 0;
	json_array_foreach(attempts, i, attempt)
		if (!is_silent(attempt)) {
			last = attempt;
			++*n;
		}
	return last;
}

/* --- a turn ------------------------------------------------------------------------ */

static char *goal_name(const struct deriver *deriver)
{
	const json_t *rec = deriver->r->record;
	KL_AUTO(kl_freep) char *place = kl_envelope_place(kl_json_str_or(rec, "locus", "?"));
	const char *name = kl_proposal_claimed(rec);
	const struct kl_mechanism *mechanism = kl_mechanisms_find(&deriver->mechanisms, name);
	const struct kl_event *reached = deriver->r->goal;
	int64_t ns = reached ? reached->profile.ns : 0;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_addf(&buf,
		    "action: %s\n(the word for taking it out, kept though it is put in here)\n",
		    kl_json_str_or(rec, "action", "?"));
	if (*name)
		kl_buf_addf(&buf, "mechanism: %s%s%s\n", name, mechanism ? ": " : "",
			    mechanism ? mechanism->text : "");
	kl_buf_addf(&buf, "place: %s\nfacts of the compiled code that has it:", place);
	if (reached)
		kl_prompt_features(&buf, &reached->facts.features);
	kl_buf_addch(&buf, '\n');
	if (deriver->r->before_ns > 0) {
		kl_buf_adds(&buf, "time of this kernel: ");
		kl_prompt_time(&buf, deriver->r->before_ns);
		kl_buf_addch(&buf, '\n');
	}
	if (ns > 0) {
		kl_buf_adds(&buf, "time to be matched: ");
		kl_prompt_time(&buf, ns);
		kl_buf_addch(&buf, '\n');
	}
	kl_prompt_fence(&out, "", buf.ptr, buf.len);
	return kl_buf_detach(&out);
}

static void write_key(struct kl_buf *key, const struct deriver *deriver)
{
	const struct kl_rederive *rederive = deriver->r;
	KL_AUTO(kl_freep) char *place = kl_envelope_place(
		kl_json_str_or(rederive->record, "locus", ""));
	size_t i;
	json_t *attempt;

	kl_buf_addf(key, "state %s\ncontract %s\nrestore %s %s\n", rederive->before->digest,
		    rederive->before->contract_digest,
		    kl_json_str_or(rederive->record, "action", "-"), place);
	json_array_foreach(rederive->attempts, i, attempt)
		if (!is_silent(attempt))
			kl_buf_addf(key, "refused %s\n",
				    kl_feedback_key(kl_json_str_or(attempt, "class", "-")));
}

static void compose_turn(struct kl_driver_turn *turn, const struct deriver *deriver)
{
	const struct kl_rederive *rederive = deriver->r;
	const char *id = kl_json_str_or(deriver->attempt, "event", "");

	turn->state = rederive->before;
	turn->feedback = (struct kl_feedback){
		.class_ = kl_json_str_or(deriver->attempt, "class", ""),
		.forward = true,
		.event = *id && rederive->event ? rederive->event(id, rederive->payload) : NULL,
		.goal = rederive->goal,
		.ns = rederive->before_ns,
	};
	kl_prompt_set(&turn->values, "GOAL", goal_name(deriver));
	write_key(&turn->key, deriver);
}

/* --- a reply ----------------------------------------------------------------------- */

static int offer_edit(struct kl_proposal **out, const struct deriver *deriver,
		      const struct kl_envelope *envelope)
{
	const struct kl_rederive *rederive = deriver->r;
	const struct kl_driver *driver = &deriver->driver;
	struct kl_rewrite rw = { .repo = rederive->repo, .state = rederive->before };
	KL_AUTO(kl_freep) char *source = kl_brief_source(driver->phase, driver->dialogue.turn);
	struct kl_claim claim = {
		.rewriter = rederive->rewriter,
		.source = source,
		.origin = "induced",
		.text = envelope->why,
		.action = kl_json_str_or(rederive->record, "action", ""),
		.traits = envelope->traits,
		.mechanism = kl_json_str_or(rederive->record, "mechanism", ""),
	};
	struct kl_file *edit = NULL;
	size_t n = 0;
	int err = kl_edits_apply(&edit, &n, deriver->r->before, envelope);

	if (!err)
		err = kl_rewrite_offer(out, &rw, edit, n, &claim);
	kl_edits_free(edit, n);
	return err;
}

/* Make a proposal from a reply; *out stays NULL if the reply says that nothing is left to do. */
static int read_reply(struct kl_proposal **out, const struct deriver *deriver, const char *reply)
{
	KL_AUTO(kl_envelope_release) struct kl_envelope envelope = { 0 };
	int err = kl_envelope_parse(&envelope, reply, strlen(reply));

	return err < 0 || envelope.kind == KL_ENVELOPE_NOTHING ?
		       err :
		       offer_edit(out, deriver, &envelope);
}

/* --- the conversation ----------------------------------------------------------------- */

/* Append why the reply of a stored turn was unusable; return false if it was usable. */
static bool was_unusable(struct kl_buf *why, const struct deriver *deriver, size_t turn)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
	const struct kl_driver *driver = &deriver->driver;

	if (kl_driver_flaw(why, driver, turn))
		return true;
	if (!read_reply(&proposal, deriver, driver->conversation.turn[turn].reply))
		return false;
	kl_buf_adds(why, kl_error_last());
	kl_error_clear();
	return true;
}

/* Choose the kind of the turn: a repair of a refused edit, or a retry after an unusable reply. */
static void find_kind(struct deriver *deriver)
{
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	struct kl_driver *driver = &deriver->driver;
	size_t turn = driver->dialogue.turn;

	driver->dialogue.repair = (int)turn;
	if (turn)
		driver->dialogue.kind = KL_DIALOGUE_REPAIR;
	if (!turn || *kl_json_str_or(deriver->attempt, "event", "") ||
	    !was_unusable(&why, deriver, turn - 1))
		return;
	driver->dialogue.kind = KL_DIALOGUE_AGAIN;
	driver->why = kl_buf_detach(&why);
}

static int deriver_open(struct deriver *deriver, const struct kl_rederive *rederive)
{
	static const char *const prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "rederive-turn",
		[KL_DIALOGUE_REPAIR] = "rederive-repair",
	};
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	size_t turn;
	int err;

	deriver->r = rederive;
	deriver->attempt = last_attempt(&turn, rederive->attempts);
	deriver->driver = (struct kl_driver){
		.repo = rederive->repo,
		.session = rederive->session,
		.name = rederive->name,
		.rewriter = rederive->rewriter,
		.phase = kl_asprintf("forward-%d", rederive->step),
		.prompt = prompt,
		.edits = true,
		.alone = true,
	};
	if ((err = kl_mechanisms_load_shipped(&deriver->mechanisms)) < 0 ||
	    (err = kl_brief_system(&texts, rederive->repo, "rederive", rederive->before, NULL)) <
		    0 ||
	    (err = kl_driver_open(&deriver->driver, &texts)) < 0 ||
	    (err = kl_driver_skip(&deriver->driver, turn)) < 0)
		return err;
	find_kind(deriver);
	return 0;
}

int kl_rederive_next(struct kl_proposal **out, char **why, const struct kl_rederive *rederive)
{
	KL_AUTO(deriver_release) struct deriver deriver = { 0 };
	struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
	const char *reply;
	size_t number;
	int err;

	*out = NULL;
	*why = NULL;
	if (json_array_size(rederive->attempts) > KL_DIALOGUE_REPAIRS)
		return 0;
	if ((err = deriver_open(&deriver, rederive)) < 0 || !kl_driver_next(&deriver.driver))
		return err;
	number = deriver.driver.dialogue.turn;
	compose_turn(&turn, &deriver);
	err = kl_driver_ask(&reply, &deriver.driver, &turn);
	if (!err)
		err = kl_driver_accept(&deriver.driver, read_reply(out, &deriver, reply));
	if (err < 0)
		return err;
	if (*out)
		(*out)->unisolated = !kl_conversation_alone(&deriver.driver.conversation, number);
	*why = kl_steal(&deriver.driver.why);
	return 0;
}
