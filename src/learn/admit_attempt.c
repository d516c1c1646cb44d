/* SPDX-License-Identifier: Apache-2.0 */
/* admit_attempt - one attempt to apply a card to a state, by a tool or a model, and its verdict */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apply/agent.h"
#include "apply/carrier.h"
#include "apply/materialize_log.h"
#include "base/error.h"
#include "learn/admit_parts.h"
#include "learn/lift_parts.h"
#include "rewrite/feedback.h"
#include "rewrite/prompt.h"
#include "rewrite/rederive.h"

/* least log(gain of the edit) / log(known gain) of a passing trial, in millionths */
#define HALF 500000

void kl_attempt_release(struct kl_attempt *attempt)
{
	kl_surface_free(attempt->to);
	kl_event_free(attempt->event);
	free(attempt->model);
	free(attempt->missing);
	*attempt = (struct kl_attempt){ 0 };
}

static void set_class(struct kl_attempt *attempt, const char *class_)
{
	snprintf(attempt->class_, sizeof(attempt->class_), "%s", class_);
}

/* --- judging an edit -------------------------------------------------------------------------- */

/*
 * Return which part of the gain of the state's own next step an edit gained, whose speed relative
 * to the state is `ratio`: log(ratio) / log(gain of that step), in millionths; 0 if the edit gained
 * nothing. Return -1 if the step's mechanism is not that of the card, or if the step was measured
 * on a platform other than `platform`, or if it gained nothing.
 */
static int64_t part_of(const struct kl_admit_state *state, const struct kl_ratio *ratio,
		       const char *platform)
{
	int64_t known;
	double part;

	if (!state->like || strcmp(state->next->platform, platform))
		return -1;
	known = kl_lift_ratio_of(state->next);
	if (known <= 1000000 || ratio->ppm <= 0)
		return -1;
	part = log((double)ratio->ppm / 1e6) / log((double)known / 1e6);
	return part <= 0 ? 0 : part > 1000 ? 1000000000 : (int64_t)(part * 1e6);
}

/*
 * Ask a model, in a separate conversation, which of the card's traits the source has. Add those
 * that the model does not confirm to `missing`.
 */
static int read_traits(struct kl_strvec *missing, struct kl_admit *work, const struct kl_card *card,
		       const struct kl_surface *surface)
{
	KL_AUTO(json_decrefp) json_t *claims = json_object(), *audited = NULL;
	struct kl_trait_reading reading = {
		.repo = work->o->repo,
		.session = work->session,
		.name = work->name,
		.rewriter = work->o->rewriter,
		.state = surface,
		.claims = claims,
	};
	char prefix[8];
	const char *name;
	json_t *value;
	int err;

	for (size_t i = 0; i < card->provides.n; i++)
		if (!strncmp(card->provides.v[i], "trait:", 6))
			kl_json_set_str(claims, card->provides.v[i] + 6, "yes");
	if (!json_object_size(claims))
		return 0;
	/*
	 * the step number depends only on the state, so that a repeated run finds the same
	 * conversation
	 */
	snprintf(prefix, sizeof(prefix), "%.6s", surface->digest);
	reading.step = (int)strtol(prefix, NULL, 16);
	err = kl_trait_audit(&audited, &reading);
	json_object_foreach(claims, name, value)
		if (!err && !json_object_get(audited, name))
			kl_strvec_pushf(missing, "trait:%s", name);
	return err;
}

/*
 * List the facts that the card provides and the edited kernel lacks. Traits are checked only if no
 * feature is missing, since reading traits takes a model.
 */
static int find_missing(struct kl_strvec *missing, struct kl_admit *work,
			const struct kl_card *card, const struct kl_surface *surface,
			const struct kl_facts *facts)
{
	for (size_t i = 0; i < card->provides.n; i++)
		if (strncmp(card->provides.v[i], "trait:", 6) &&
		    !kl_strvec_has(&facts->features, card->provides.v[i]))
			kl_strvec_push(missing, card->provides.v[i]);
	return missing->n ? 0 : read_traits(missing, work, card, surface);
}

static char *join_words(const struct kl_strvec *list)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < list->n; i++)
		kl_buf_addf(&buf, "%s%s", i ? ", " : "", list->v[i]);
	return kl_buf_detach(&buf);
}

/* Set the error for a result that is too noisy to be recorded as a trial. */
static int noisy_result(const struct kl_attempt *attempt)
{
	return kl_error_hint(kl_error(KL_ECANNOT,
				      "too noisy to tell whether the edit is faster (%.3f to %.3f "
				      "times the speed), so no trial was recorded",
				      (double)attempt->ratio.lo / 1e6,
				      (double)attempt->ratio.hi / 1e6),
			     "try again when the machine is quiet");
}

/* Return the card whose optimization the author was asked for. */
static const struct kl_card *asked_for(const struct kl_attempt_of *of)
{
	return of->shown ? of->shown : of->card;
}

static int classify_attempt(struct kl_attempt *attempt, struct kl_admit *work,
			    const struct kl_attempt_of *of, const struct kl_judgement *judgement)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec missing = KL_STRVEC_INIT;
	enum kl_speed speed = kl_card_commit_speed(&attempt->ratio, judgement->event);
	bool same = false;
	int err;

	kl_freep(&attempt->missing);
	set_class(attempt, kl_event_class(judgement->event));
	if (judgement->event->verdict == KL_VERDICT_FAIL)
		return 0;
	if (judgement->event->verdict != KL_VERDICT_PASS)
		return kl_error(KL_ECANNOT, "the gate was inconclusive: %s",
				judgement->event->message);
	if (of->against &&
	    (err = kl_card_commit_same_code(&same, work->o->gate, judgement, of->against)) < 0)
		return err;
	/*
	 * the edit did not change the compiled code, so that neither its speed nor its facts can
	 * differ
	 */
	if (same) {
		set_class(attempt, "no-change");
		return 0;
	}
	err = find_missing(&missing, work, asked_for(of), attempt->to, &judgement->event->facts);
	if (err < 0)
		return err;
	if (missing.n) {
		set_class(attempt, "not-there");
		attempt->missing = join_words(&missing);
		return 0;
	}
	set_class(attempt, "");
	if (!of->against)
		return 0;
	if (speed == KL_SPEED_AMBIGUOUS)
		return noisy_result(attempt);
	if (of->known && !of->shown)
		attempt->recovered = part_of(of->known, &attempt->ratio,
					     judgement->event->place.id);
	if (speed != KL_SPEED_FAST)
		set_class(attempt, "not-faster");
	else if (attempt->recovered >= 0 && attempt->recovered < HALF)
		set_class(attempt, "not-enough");
	return 0;
}

/*
 * Judge an edit with a runner that judges elsewhere. Take the known verdict if it counts in this
 * trial; otherwise have the edit measured, for the first time or again.
 */
static int judge_elsewhere(struct kl_judgement **out, struct kl_attempt *attempt,
			   struct kl_admit *work, const struct kl_attempt_of *of, bool anew)
{
	const struct kl_surface *parent = of->against ? of->against : of->on;
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	struct kl_ratio ratio;
	bool noisy = false, stale;
	int err, asked = kl_card_commit_try(&judgement, work->o->gate, attempt->to, parent, false);

	if (asked < 0)
		return asked;
	if (!asked && of->against && judgement->event->verdict == KL_VERDICT_PASS)
		noisy = kl_card_commit_speed(&ratio, judgement->event) == KL_SPEED_AMBIGUOUS;
	err = kl_admit_progress_stale(&stale, work, attempt, of,
				      judgement ? judgement->event : NULL, noisy, anew);
	if (err < 0 || asked)
		return err < 0 ? err : asked;
	if (stale)
		return kl_card_commit_try(out, work->o->gate, attempt->to, parent, true);
	*out = kl_steal(&judgement);
	return 0;
}

int kl_admit_judge(struct kl_attempt *attempt, struct kl_admit *work,
		   const struct kl_attempt_of *of)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	/* if the state was tried before, measure again instead of using a cached verdict */
	bool anew = work->a->v[work->a->chosen].trials > 0;
	int err;

	attempt->recovered = -1;
	if (kl_admit_progress_find(attempt, work, of))
		return 0;
	if (kl_gate_is_remote(work->o->gate))
		err = judge_elsewhere(&judgement, attempt, work, of, anew);
	else
		err = kl_card_commit_judge(&judgement, work->o->gate, attempt->to,
					   of->against ? of->against : of->on, anew);
	attempt->waits = err == KL_CARD_COMMIT_LATER;
	if (attempt->waits) {
		work->a->waiting++;
		return 0;
	}
	if (err < 0 || (err = classify_attempt(attempt, work, of, judgement)) < 0)
		return err;
	kl_event_free(attempt->event);
	attempt->event = kl_event_ref(judgement->event);
	return kl_admit_progress_put(work, attempt, of);
}

/* --- keeping the edit as a commit ------------------------------------------------------------- */

static int keep_attempt(struct kl_attempt *attempt, struct kl_admit *work,
			const struct kl_attempt_of *of, const char *how, const char *source)
{
	char blob[KL_OID_HEX];
	struct kl_card_commit card_commit = {
		.repo = work->o->repo,
		.parent = *of->commit,
		.from = of->on,
		.to = attempt->to,
		.card = of->arm == KL_ADMIT_CARD ? of->card : NULL,
		.blob = blob,
		.how = how,
		.source = source,
		.rewriter = work->session ? work->o->rewriter : "card",
		.number = of->number,
		.class_ = attempt->class_,
		.action = asked_for(of)->action,
		.mechanism = asked_for(of)->mechanism,
		.event = attempt->event,
	};
	size_t at;
	int err = kl_library_find(&at, work->o->library, of->card->id);

	if (err < 0)
		return err;
	kl_oid_hex(blob, kl_library_blob(work->o->library, at));
	if ((err = kl_card_commit_write(&attempt->commit, NULL, &card_commit)) < 0)
		return err;
	return kl_keep_add(&work->keep, &attempt->commit, &card_commit);
}

/* --- an edit made by a tool ------------------------------------------------------------------- */

static int by_tool(struct kl_attempt *attempt, struct kl_admit *work,
		   const struct kl_attempt_of *of)
{
	char how[KL_CARRIER_HOW];
	int err = kl_carrier_apply_first(&attempt->to, how,
					 &(struct kl_carrier_try){
						 .repo = work->o->repo,
						 .library = work->o->repo,
						 .jail = kl_gate_jail(work->o->gate),
						 .card = of->card,
						 .state = of->on,
					 });

	if (err == KL_ENO) {
		kl_error_clear();
		set_class(attempt, "no-edit");
		return 0;
	}
	if (err < 0 || (err = kl_admit_judge(attempt, work, of)) < 0 || attempt->waits)
		return err;
	return keep_attempt(attempt, work, of, how, NULL);
}

/* --- an edit made by a model ------------------------------------------------------------------ */

static int open_conversation(struct kl_driver *driver, const struct kl_attempt_of *of)
{
	KL_AUTO(kl_buf_release) struct kl_buf cards = KL_BUF_INIT;
	const char *prompt = kl_admit_arm_write(&cards, of);
	int err = kl_agent_open(driver, prompt, cards.ptr, of->on);

	driver->dialogue.most_turns = KL_DIALOGUE_REPAIRS + 1;
	driver->dialogue.most_unusable = KL_DIALOGUE_REPAIRS + 1;
	return err;
}

/*
 * Return KL_ECANNOT if the model gave no answer, and any other error unchanged. The next `admit`
 * continues from the stored replies.
 */
static int no_answer(int err)
{
	return err == KL_ENO || err == KL_ETIMEOUT ?
		       kl_error_in(KL_ECANNOT, "the trial is not finished") :
		       err;
}

static bool may_repair(const struct kl_attempt *attempt)
{
	return kl_card_commit_is_correct(attempt->class_) || !strcmp(attempt->class_, "no-edit") ||
	       kl_feedback_repairs(attempt->class_);
}

/* Return a text that says how the edit was made. It names a card that the model was not shown. */
static char *how_made(const struct kl_admit *work, const struct kl_attempt_of *of,
		      const struct kl_agent_answer *answer)
{
	const char *shown = of->arm == KL_ADMIT_INTENT ? "" :
			    of->shown                  ? of->shown->id :
							 of->card->id;
	const char *text = answer->text ? answer->text : "";

	if (!answer->card || !*answer->card || !strcmp(answer->card, shown))
		return kl_asprintf("by %s: %s", work->o->rewriter, text);
	return kl_asprintf("by %s: %s\n\nThe reply names the card '%.80s', which was not shown.",
			   work->o->rewriter, text, answer->card);
}

/* Judge an edit and keep it as a commit. The edit replaces the previous one in `attempt`. */
static int take_edit(struct kl_attempt *attempt, struct kl_admit *work,
		     const struct kl_attempt_of *of, struct kl_agent_answer *answer)
{
	KL_AUTO(kl_freep) char *how = how_made(work, of, answer);
	int err;

	kl_surface_free(attempt->to);
	attempt->to = kl_steal(&answer->to);
	if ((err = kl_admit_judge(attempt, work, of)) < 0 || attempt->waits)
		return no_answer(err);
	return keep_attempt(attempt, work, of, how, answer->source);
}

static int one_turn(struct kl_attempt *attempt, struct kl_admit *work, struct kl_driver *driver,
		    const struct kl_attempt_of *of)
{
	KL_AUTO(kl_agent_answer_release) struct kl_agent_answer answer = { 0 };
	size_t turn = driver->dialogue.turn;
	struct kl_agent_question question = {
		.state = of->on,
		.facts = work->facts,
		.class_ = turn ? attempt->class_ : NULL,
		.missing = turn ? attempt->missing : NULL,
		.event = attempt->event,
	};
	bool over;
	int err;

	kl_progress_title(work->o->progress, "%s: %s, attempt %zu", of->card->id, of->phase,
			  turn + 1);
	attempt->repairs = driver->dialogue.repair = (int)turn;
	if ((err = kl_agent_ask(&answer, driver, &question)))
		return err < 0 ? no_answer(err) : 0;
	over = !answer.to;
	if (answer.to && ((err = take_edit(attempt, work, of, &answer)) < 0 || attempt->waits))
		return err;
	over |= attempt->event && (!*attempt->class_ || !may_repair(attempt));
	kl_dialogue_next(&driver->dialogue, over ? KL_DIALOGUE_END : KL_DIALOGUE_REPAIR);
	return 0;
}

/* Return the tokens of all turns, or -1 if a turn's usage is not known. */
static int64_t tokens_of(const struct kl_conversation *conversation)
{
	int64_t sum = 0;

	for (size_t i = 0; i < conversation->n; i++) {
		const struct kl_usage *usage = &conversation->turn[i].usage;

		if (!usage->known)
			return -1;
		sum += usage->input + usage->output + usage->cache_read + usage->cache_write_5m +
		       usage->cache_write_1h;
	}
	return conversation->n ? sum : -1;
}

static int by_model(struct kl_attempt *attempt, struct kl_admit *work,
		    const struct kl_attempt_of *of)
{
	static const char *const prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "admit-turn",
		[KL_DIALOGUE_REPAIR] = "admit-repair",
	};
	KL_AUTO(kl_driver_release) struct kl_driver driver = {
		.repo = work->o->repo,
		.session = work->session,
		.name = work->name,
		.phase = kl_strdup(of->phase),
		.rewriter = work->o->rewriter,
		.prompt = prompt,
		.edits = true,
		.alone = true,
	};
	const char *model;
	int err = open_conversation(&driver, of);

	set_class(attempt, "no-edit");
	while (!err && !attempt->waits && kl_driver_next(&driver))
		err = one_turn(attempt, work, &driver, of);
	if (err < 0)
		return err;
	attempt->nano = kl_conversation_cost(&model, &driver.conversation);
	attempt->model = model ? kl_strdup(model) : NULL;
	attempt->tokens = tokens_of(&driver.conversation);
	attempt->seen = driver.conversation.n &&
			!kl_conversation_alone(&driver.conversation, driver.conversation.n - 1);
	return 0;
}

int kl_admit_attempt(struct kl_attempt *out, struct kl_admit *work, const struct kl_attempt_of *of)
{
	*out = (struct kl_attempt){ .recovered = -1, .nano = -1, .tokens = -1 };
	return work->session ? by_model(out, work, of) : by_tool(out, work, of);
}
