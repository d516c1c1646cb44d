/* SPDX-License-Identifier: Apache-2.0 */
#include "search/ask.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/utf8.h"
#include "rewrite/brief.h"
#include "rewrite/driver.h"
#include "rewrite/edits.h"
#include "rewrite/prompt.h"
#include "rewrite/reply/envelope.h"
#include "search/table/player.h"
#include "search/ticket.h"

/* Of a reply, at most this many bytes are shown to the next role. */
#define MOST_ADVICE ((size_t)32 << 10)
/* A note that is plain text is cut to this many bytes; a note that is JSON is refused beyond. */
#define MOST_NOTE ((size_t)8 << 10)
#define MOST_OBJECT ((size_t)64 << 10)

void kl_answer_release(struct kl_answer *answer)
{
	kl_surface_free(answer->to);
	free(answer->action);
	free(answer->why);
	json_decref(answer->note);
	*answer = (struct kl_answer){ 0 };
}

/* --- what is shown ------------------------------------------------------------------------- */

/*
 * Append a line such as "ticket 5: correct, 1.25 times as fast as the root". Round the speed, as
 * exact measurements do not belong in a prompt.
 */
static void add_result(struct kl_buf *out, const struct kl_cell_link *link)
{
	const struct kl_observation *seen = &link->seen;

	if (!seen->ticket)
		kl_buf_adds(out, "the root, where the search began");
	else if (seen->outcome == KL_OUTCOME_CORRECT)
		kl_buf_addf(out, "ticket %" PRId64 ": correct, %.2f times as fast as the root",
			    seen->ticket, (double)seen->speed_ppm / 1e6);
	else
		kl_buf_addf(out, "ticket %" PRId64 ": %s", seen->ticket,
			    link->class_ ? link->class_ : kl_outcome_name[seen->outcome]);
	if (link->why && *link->why && seen->ticket)
		kl_buf_addf(out, " (%.200s)", link->why);
}

static void add_note(struct kl_buf *out, const char *as, const struct kl_cell_link *link)
{
	const char *text = kl_json_str_or(link->seen.note, "text", NULL);
	KL_AUTO(kl_buf_release) struct kl_buf json = KL_BUF_INIT;

	if (!text)
		text = kl_json_str_or(link->seen.note, "rule", NULL);
	if (!text && link->seen.note) {
		kl_json_canonical(&json, link->seen.note);
		text = json.ptr;
	}
	kl_buf_addf(out, "%s of ticket %" PRId64 ":\n\n", as, link->seen.ticket);
	kl_prompt_excerpt(out, "", text ? text : "", MOST_NOTE);
	kl_buf_addch(out, '\n');
}

static int add_kernel(struct kl_buf *out, const char *as, const struct kl_cell *cell,
		      const struct kl_cell_link *link)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *sources = NULL;
	int err = kl_ticket_kernel(&surface, cell, link->seen.ticket);

	if (err < 0)
		return err;
	sources = kl_prompt_sources(surface, false);
	kl_buf_addf(out, "%s, ", as);
	add_result(out, link);
	kl_buf_addf(out, ":\n\n%s\n", sources);
	return 0;
}

static int add_shown(struct kl_buf *out, const struct kl_ask *ask)
{
	int err = 0;

	for (size_t i = 0; !err && i < ask->intent->nshown; i++) {
		const struct kl_shown *shown = &ask->intent->shown[i];
		const struct kl_cell_link *link = &ask->cell->chain.v[shown->ticket];

		if (link->seen.outcome == KL_OUTCOME_NOTE) {
			add_note(out, shown->as, link);
		} else if (!strcmp(shown->as, "result") || !strcmp(shown->as, "step")) {
			kl_buf_addf(out, "%s, ", shown->as);
			add_result(out, link);
			kl_buf_adds(out, "\n\n");
		} else {
			err = add_kernel(out, shown->as, ask->cell, link);
		}
	}
	return err;
}

static char *told_text(const struct kl_intent *intent)
{
	struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf json = KL_BUF_INIT;

	if (intent->told) {
		kl_json_pretty(&json, intent->told);
		kl_prompt_fence(&out, "json", json.ptr, json.len);
	}
	return kl_buf_detach(&out);
}

/* --- one conversation ---------------------------------------------------------------------- */

struct asking {
	const struct kl_ask *ask;
	struct kl_driver driver;
	const char *role;
	char *task; /* the text that tells the role what to do */
	char *advice;
	const char *class_; /* in a repair, failure class of the last candidate; else NULL */
	const struct kl_event *event;
};

static void asking_release(struct asking *asking)
{
	kl_driver_release(&asking->driver);
	free(asking->task);
}

/*
 * Write the text by which a recorded reply is found. It contains no measured numbers, because these
 * differ between runs.
 */
static void write_key(struct kl_buf *key, const struct asking *asking)
{
	const struct kl_ask *ask = asking->ask;

	kl_buf_addf(key, "search %s\n%s\nticket %" PRId64 "\nstate %s\ncontract %s\n", asking->role,
		    kl_dialogue_name(asking->driver.dialogue.kind), ask->ticket,
		    ask->parent->digest, ask->parent->contract_digest);
	if (ask->intent->form)
		kl_buf_addf(key, "form %s\n", ask->intent->form);
	if (asking->class_)
		kl_buf_addf(key, "came %s\n", kl_feedback_key(asking->class_));
}

static int compose_turn(struct kl_driver_turn *turn, const struct asking *asking)
{
	const struct kl_ask *ask = asking->ask;
	const struct kl_cell_link *parent = &ask->cell->chain.v[ask->intent->parent];
	struct kl_buf shown = KL_BUF_INIT, result = KL_BUF_INIT, advice = KL_BUF_INIT;
	int err = add_shown(&shown, ask);

	turn->state = ask->parent;
	turn->feedback = (struct kl_feedback){ .class_ = asking->class_,
					       .event = asking->event,
					       .forward = true };
	add_result(&result, parent);
	if (asking->advice) {
		kl_buf_adds(&advice, "What was said of it before you:\n\n");
		kl_prompt_excerpt(&advice, "", asking->advice, MOST_ADVICE);
	}
	kl_prompt_set(&turn->values, "TASK", kl_strdup(asking->task));
	kl_prompt_set(&turn->values, "RESULT", kl_buf_detach(&result));
	kl_prompt_set(&turn->values, "SHOWN", kl_buf_detach(&shown));
	kl_prompt_set(&turn->values, "TOLD", told_text(ask->intent));
	kl_prompt_set(&turn->values, "ADVICE", kl_buf_detach(&advice));
	write_key(&turn->key, asking);
	return err;
}

static int open_asking(struct asking *asking, bool edits)
{
	static const char *const edit_prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "search-turn",
		[KL_DIALOGUE_REPAIR] = "search-repair",
	};
	static const char *const note_prompt[KL_DIALOGUE_END] = {
		[KL_DIALOGUE_STEP] = "search-note",
	};
	const struct kl_cell_opts *opts = asking->ask->cell->opts;
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *name = kl_asprintf("role-%s", asking->role);
	KL_AUTO(kl_map_release) struct kl_map none = KL_PROMPT_VALUES;
	struct kl_buf task = KL_BUF_INIT;
	int err;

	asking->driver = (struct kl_driver){
		.repo = opts->repo,
		.session = opts->session,
		.name = opts->name,
		.phase = kl_asprintf("t%" PRId64 "-%s", asking->ask->ticket, asking->role),
		.rewriter = opts->rewriter,
		.prompt = edits ? edit_prompt : note_prompt,
		.single = asking->ask->intent->tries <= 1,
		.edits = edits,
	};
	err = kl_prompt_fill(&task, opts->repo, name, &none);
	asking->task = kl_buf_detach(&task);
	if (!err)
		err = edits ? kl_brief_system_cards(&texts, opts->repo, "search", opts->root, "") :
			      kl_brief_system_cards(&texts, opts->repo, "search-notes", opts->root,
						    "");
	return err < 0 ? err : kl_driver_open(&asking->driver, &texts);
}

/* --- what is told beside a request --------------------------------------------------------- */

/* Say what the next request is about; the caller frees about->shown. */
static void tell_about(struct kl_player_about *about, const struct asking *asking, bool edits)
{
	const struct kl_ask *ask = asking->ask;
	const struct kl_intent *intent = ask->intent;

	*about = (struct kl_player_about){
		.key = ask->cell->setup.key,
		.ticket = ask->ticket,
		.turn = asking->driver.dialogue.turn,
		.role = asking->role,
		.edits = edits,
		.form = intent->form,
		.parent = ask->parent->digest,
		.failed = asking->class_,
		.told = intent->told,
		.shown = kl_calloc(intent->nshown + 1, sizeof(*about->shown)),
		.nshown = intent->nshown,
	};
	for (size_t i = 0; i < intent->nshown; i++) {
		const struct kl_cell_link *link = &ask->cell->chain.v[intent->shown[i].ticket];

		about->shown[i] = (struct kl_player_shown){
			.as = intent->shown[i].as,
			.ticket = intent->shown[i].ticket,
			.class_ = link->class_,
			.note = link->seen.note,
		};
	}
}

/* --- replies ------------------------------------------------------------------------------- */

static int read_edit(struct kl_answer *out, const char *reply, const struct kl_surface *state)
{
	KL_AUTO(kl_envelope_release) struct kl_envelope envelope = { 0 };
	struct kl_file *edit = NULL;
	size_t n = 0;
	int err;

	kl_answer_release(out);
	if ((err = kl_envelope_parse(&envelope, reply, strlen(reply))) < 0)
		return err;
	out->action = kl_steal(&envelope.action);
	out->why = kl_steal(&envelope.why);
	if (envelope.kind != KL_ENVELOPE_STEP)
		return 0;
	if (!(err = kl_edits_apply(&edit, &n, state, &envelope)))
		err = kl_surface_with(&out->to, state, edit, n);
	kl_edits_free(edit, n);
	return err;
}

/*
 * Read a note. If the reply begins with '{', with or without a code fence before it, parse it as a
 * JSON object. Store any other reply as {"text": reply}.
 */
static int read_note(struct kl_answer *out, const char *reply)
{
	const char *text = reply + strspn(reply, " \t\r\n"), *end = strrchr(reply, '}');
	KL_AUTO(kl_freep) char *clipped = NULL;

	kl_answer_release(out);
	if (!strncmp(text, "```", 3))
		text += strcspn(text, "\n");
	text += strspn(text, " \t\r\n");
	if (*text == '{' && end > text) {
		if ((size_t)(end - text) >= MOST_OBJECT)
			return kl_error(KL_EINVALID, "the object has more than %zu bytes",
					MOST_OBJECT);
		return kl_json_parse(&out->note, text, (size_t)(end - text) + 1);
	}
	if (!*text)
		return kl_error(KL_EINVALID, "the reply is empty");
	clipped = kl_strndup(reply, kl_utf8_cut(reply, strlen(reply), MOST_NOTE));
	out->note = json_object();
	kl_json_set_str(out->note, "text", clipped);
	return 0;
}

/* --- asking -------------------------------------------------------------------------------- */

/*
 * Ask until a reply is usable, and read it into `out`. Return 1 if no reply was usable; then
 * out->why says why. If `said` is not NULL, set *said to the reply; the caller frees it.
 */
static int ask_usable(struct kl_answer *out, char **said, struct asking *asking, bool edits)
{
	struct kl_driver *driver = &asking->driver;

	while (kl_driver_next(driver)) {
		struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
		struct kl_player_about about;
		const char *reply = NULL;
		int err = compose_turn(&turn, asking);

		if (err < 0) {
			kl_driver_turn_release(&turn);
			return err;
		}
		tell_about(&about, asking, edits);
		driver->about = &about;
		err = kl_driver_ask(&reply, driver, &turn);
		free(about.shown);
		if (err < 0)
			return err;
		if (!err)
			err = kl_driver_accept(driver,
					       edits ? read_edit(out, reply, asking->ask->parent) :
						       read_note(out, reply));
		if (err <= 0) {
			if (said)
				*said = kl_strdup(reply);
			return err;
		}
	}
	kl_answer_release(out);
	out->why = kl_strdup(driver->why ? driver->why : "no usable reply");
	return 1;
}

/*
 * Ask for an edit and have it judged. As long as it fails in a way that a model can repair and a
 * try is left, ask for a repair.
 */
static int ask_edit(struct kl_answer *out, struct asking *asking)
{
	const struct kl_ask *ask = asking->ask;
	struct kl_dialogue *dialogue = &asking->driver.dialogue;
	int err = 0;

	for (int64_t tries = 0; tries < ask->intent->tries; tries++) {
		err = ask_usable(out, NULL, asking, true);
		if (err || !out->to)
			break;
		if ((err = KL_FAULT("cell-called")) < 0 ||
		    (err = ask->judge(&asking->class_, &asking->event, out, ask->payload)) < 0)
			return err;
		if (out->deferred || !asking->class_ || !kl_feedback_repairs(asking->class_))
			break;
		dialogue->unusable = 0;
		dialogue->repair++;
		kl_dialogue_next(dialogue, KL_DIALOGUE_REPAIR);
	}
	return err < 0 ? err : 0;
}

static int ask_role(struct kl_answer *out, char **said, const struct kl_ask *ask, size_t at,
		    char *advice)
{
	bool is_last = at == ask->intent->nrole - 1;
	bool edits = is_last && ask->intent->kind == KL_TICKET_EDIT;
	KL_AUTO(asking_release) struct asking asking = { .ask = ask,
							 .role = ask->intent->role[at],
							 .advice = advice };
	int err = open_asking(&asking, edits);

	if (err < 0)
		return err;
	kl_progress_title(ask->cell->opts->progress, "ticket %" PRId64 ": %s", ask->ticket,
			  asking.role);
	return edits ? ask_edit(out, &asking) : ask_usable(out, said, &asking, false);
}

int kl_ask_ticket(struct kl_answer *out, const struct kl_ask *ask)
{
	KL_AUTO(kl_freep) char *advice = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < ask->intent->nrole; i++) {
		char *said = NULL;

		err = ask_role(out, &said, ask, i, advice);
		free(advice);
		advice = said;
	}
	/* If a role gave no usable reply, the ticket has no candidate. This is not an error. */
	return err < 0 ? err : 0;
}
