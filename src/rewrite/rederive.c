/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/rederive.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/brief.h"
#include "rewrite/edits.h"
#include "rewrite/envelope.h"
#include "rewrite/feedback.h"
#include "rewrite/layout.h"
#include "rewrite/prompt.h"

/*
 * What is said here is made of K_{i-1}, the contract, the step's action, mechanism and place, and
 * K_i's time and features. K_i's source is not among what this file is given; the step's own words (its
 * text, its lines) are, and are kept out, for they may tell of that source. A command could still look
 * into the repository: it is hidden from it, or the step is called unisolated.
 */
struct deriver {
	const struct kl_rederive *r;
	char *phase;
	struct kl_mechanisms mechanisms;
	struct kl_strvec texts;
	struct kl_talk *talk;
	size_t turn;
};

static void deriver_release(struct deriver *d)
{
	kl_talk_free(d->talk);
	kl_strvec_release(&d->texts);
	kl_mechanisms_release(&d->mechanisms);
	free(d->phase);
}

/* one to which no reply came */
static bool is_silent(const json_t *attempt)
{
	return !strcmp(kl_json_str_or(attempt, "class", ""), "timeout");
}

/* the last attempt that had a reply, and how many had one */
static const json_t *last_attempt(size_t *n, const json_t *attempts)
{
	const json_t *last = NULL;
	size_t i;
	json_t *a;

	*n = 0;
	json_array_foreach(attempts, i, a)
		if (!is_silent(a)) {
			last = a;
			++*n;
		}
	return last;
}

static int deriver_open(struct deriver *d, const struct kl_rederive *r)
{
	int err;

	d->r = r;
	last_attempt(&d->turn, r->attempts);
	d->phase = kl_asprintf("forward-%d", r->step);
	if ((err = kl_mechanisms_load_shipped(&d->mechanisms)) < 0 ||
	    (err = kl_brief_system(&d->texts, r->repo, "rederive", r->before, NULL)) < 0 ||
	    (err = kl_talk_open(&d->talk, r->chat, r->name, d->phase, (const char *const *)d->texts.v,
				d->texts.n)) < 0)
		return err;
	if (d->turn > kl_talk_turns(d->talk))
		return kl_error(KL_EINVALID, "the conversation %s of '%s' has %zu turns, not %zu",
				d->phase, r->name, kl_talk_turns(d->talk), d->turn);
	return 0;
}

/* --- what is said ------------------------------------------------------------------ */

static char *goal(const struct deriver *d)
{
	const json_t *rec = d->r->record;
	KL_AUTO(kl_freep) char *place = kl_envelope_place(kl_json_str_or(rec, "locus", "?"));
	const char *name = kl_json_str_or(rec, "mechanism", "");
	const struct kl_mechanism *m = kl_mechanisms_find(&d->mechanisms, name);
	int64_t ns = kl_json_int_or(json_object_get(d->r->goal, "profile"), "ns", 0);
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_addf(&b, "action: %s\n(the word for taking it out, kept though it is put in here)\n",
		    kl_json_str_or(rec, "action", "?"));
	if (*name)
		kl_buf_addf(&b, "mechanism: %s%s%s\n", name, m ? ": " : "", m ? m->text : "");
	kl_buf_addf(&b, "place: %s\nfacts of the compiled code that has it:", place);
	kl_prompt_features(&b, d->r->goal);
	kl_buf_addch(&b, '\n');
	if (d->r->before_ns > 0) {
		kl_buf_adds(&b, "time of this kernel: ");
		kl_prompt_time(&b, d->r->before_ns);
		kl_buf_addch(&b, '\n');
	}
	if (ns > 0) {
		kl_buf_adds(&b, "time to be matched: ");
		kl_prompt_time(&b, ns);
		kl_buf_addch(&b, '\n');
	}
	kl_prompt_fence(&out, "", b.ptr, b.len);
	return kl_buf_detach(&out);
}

static void set_feedback(struct kl_map *v, const struct deriver *d, const json_t *attempt)
{
	struct kl_buf evidence = KL_BUF_INIT, meaning = KL_BUF_INIT;
	const char *id = kl_json_str_or(attempt, "event", "");
	struct kl_feedback f = {
		.class_ = kl_json_str_or(attempt, "class", ""), .goal = d->r->goal, .ns = d->r->before_ns,
		.event = *id && d->r->event ? d->r->event(id, d->r->payload) : NULL, .forward = true,
	};

	kl_feedback_write(&evidence, &f);
	kl_prompt_set(v, "EVIDENCE", kl_buf_detach(&evidence));
	kl_feedback_explain(&meaning, &f);
	kl_prompt_set(v, "MEANING", kl_buf_detach(&meaning));
}

static void values(struct kl_map *v, const struct deriver *d, const json_t *attempt, const char *why)
{
	struct kl_buf quoted = KL_BUF_INIT;

	kl_prompt_set(v, "FILES", kl_prompt_sources(d->r->before, false));
	kl_prompt_set(v, "GOAL", goal(d));
	set_feedback(v, d, attempt);
	kl_prompt_set(v, "NUMBER", kl_asprintf("%zu", d->turn));
	kl_prompt_set(v, "MOST", kl_asprintf("%d", KL_DIALOGUE_REPAIRS));
	kl_prompt_excerpt(&quoted, "", why ? why : "", KL_FEEDBACK_MAX / 2);
	kl_prompt_set(v, "WHY", kl_buf_detach(&quoted));
}

static void write_key(struct kl_buf *key, const struct deriver *d)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(kl_json_str_or(d->r->record, "locus", ""));
	size_t i;
	json_t *a;

	kl_buf_addf(key, "state %s\ncontract %s\nrestore %s %s\n", d->r->before->digest,
		    d->r->before->contract_digest, kl_json_str_or(d->r->record, "action", "-"), place);
	json_array_foreach(d->r->attempts, i, a)
		if (!is_silent(a))
			kl_buf_addf(key, "refused %s\n", kl_feedback_key(kl_json_str_or(a, "class", "-")));
}

/* `why`: the last reply could not be used; else `attempt`, if there was one, is what came of it */
static int ask_turn(const char **reply, struct deriver *d, const json_t *attempt, const char *why)
{
	static const char *const prompt[] = {
		[KL_DIALOGUE_STEP] = "rederive-turn", [KL_DIALOGUE_REPAIR] = "rederive-repair",
		[KL_DIALOGUE_AGAIN] = "again",
	};
	enum kl_dialogue_kind kind = why ? KL_DIALOGUE_AGAIN :
				     attempt ? KL_DIALOGUE_REPAIR : KL_DIALOGUE_STEP;
	enum kl_dialogue_kind stored;
	KL_AUTO(kl_map_release) struct kl_map v = KL_PROMPT_VALUES;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf user = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	struct kl_ask ask = { 0 };
	int err;

	if (d->turn < kl_talk_turns(d->talk) &&
	    (err = kl_brief_head_read(&stored, kl_talk_user(d->talk, d->turn), d->phase, d->turn,
				      d->r->before)) < 0)
		return err;
	values(&v, d, attempt, why);
	kl_brief_head(&text, d->phase, d->turn, d->r->before, kind);
	if ((err = kl_prompt_fill(&text, d->r->repo, prompt[kind], &v)) < 0)
		return err;
	kl_brief_clean(&user, &text);
	write_key(&key, d);
	ask.user = user.ptr;
	ask.key = key.ptr;
	ask.alone = true;
	return kl_layout_ask(reply, d->talk, d->turn, &ask, d->r->rewriter, d->r->before, true);
}

/* --- what came ----------------------------------------------------------------------- */

/* KL_EINVALID: the reply cannot be used. KL_ENO: it says that there is nothing to be done. */
static int read_reply(struct kl_proposal **out, const struct deriver *d, const char *reply, size_t turn)
{
	struct kl_rewrite rw = { .repo = d->r->repo, .state = d->r->before };
	KL_AUTO(kl_freep) char *source = kl_brief_source(d->phase, turn);
	KL_AUTO(kl_envelope_release) struct kl_envelope e = { 0 };
	struct kl_claim claim = {
		.rewriter = d->r->rewriter, .source = source, .origin = "induced",
		.action = kl_json_str_or(d->r->record, "action", ""),
		.mechanism = kl_json_str_or(d->r->record, "mechanism", ""),
	};
	struct kl_file *edit = NULL;
	size_t n = 0;
	int err;

	if ((err = kl_envelope_parse(&e, reply, strlen(reply))) < 0)
		return err;
	if (e.kind == KL_ENVELOPE_NOTHING)
		return kl_error(KL_ENO, "it is given up: %.300s", e.why);
	if ((err = kl_edits_apply(&edit, &n, d->r->before, &e)) < 0)
		return err;
	claim.text = e.why;
	claim.traits = e.traits;
	err = kl_rewrite_offer(out, &rw, edit, n, &claim);
	kl_edits_free(edit, n);
	return err;
}

/* why the reply to the turn before could not be used, or NULL: it could */
static char *why_not(const struct deriver *d, const json_t *attempt)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = NULL;
	char *why = NULL;

	if (!attempt || *kl_json_str_or(attempt, "event", ""))
		return NULL;
	if (read_reply(&p, d, kl_talk_reply(d->talk, d->turn - 1), d->turn - 1) < 0)
		why = kl_strdup(kl_error_last());
	kl_error_clear();
	return why;
}

int kl_rederive_next(struct kl_proposal **out, char **why, const struct kl_rederive *r)
{
	KL_AUTO(deriver_release) struct deriver d = { 0 };
	KL_AUTO(kl_freep) char *last = NULL;
	size_t n;
	const json_t *attempt = last_attempt(&n, r->attempts);
	const char *reply;
	int err;

	*out = NULL;
	*why = NULL;
	if (json_array_size(r->attempts) > KL_DIALOGUE_REPAIRS)
		return 0;
	if ((err = deriver_open(&d, r)) < 0)
		return err;
	last = why_not(&d, attempt);
	if ((err = ask_turn(&reply, &d, attempt, last)) < 0)
		return err;
	err = read_reply(out, &d, reply, d.turn);
	if (!err && *out)
		(*out)->unisolated = !kl_talk_alone(d.talk, d.turn);
	if (err == KL_EINVALID)
		*why = kl_strdup(kl_error_last());
	if (err != KL_EINVALID && err != KL_ENO)
		return err;
	kl_error_clear();
	return 0;
}
