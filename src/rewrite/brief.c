/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/brief.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "event/judgement.h"
#include "rewrite/actions.h"
#include "rewrite/feedback.h"
#include "rewrite/prompt.h"
#include "rewrite/reply/envelope.h"

/* maximum number of records in a list; a longer list keeps only the last ones */
#define MOST_LISTED 48
#define MOST_REASON 160 /* bytes of the reason for one refusal */

/* --- system texts ---------------------------------------------------------------- */

static char *actions_text(void)
{
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_actions_release) struct kl_actions actions = { 0 };
	struct kl_buf buf = KL_BUF_INIT;

	if (kl_fs_share(&path, "templates/actions.yaml") < 0 || kl_actions_load(&actions, path) < 0)
		return NULL;
	kl_actions_list(&buf, &actions);
	return kl_buf_detach(&buf);
}

static char *mechanisms_text(const struct kl_mechanisms *mechanisms)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; mechanisms && i < mechanisms->n; i++)
		kl_buf_addf(&buf, "- `%s`: %s (`%s`)\n", mechanisms->m[i].name,
			    mechanisms->m[i].text, mechanisms->m[i].action);
	return kl_buf_detach(&buf);
}

void kl_brief_clean(struct kl_buf *out, const struct kl_buf *text)
{
	kl_utf8_clean(out, text->ptr, text->len);
}

static int push_filled(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
		       const struct kl_map *values)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_buf text = KL_BUF_INIT;
	int err = kl_prompt_fill(&buf, repo, prompt, values);

	if (err < 0)
		return err;
	kl_brief_clean(&text, &buf);
	kl_strvec_take(out, kl_buf_detach(&text));
	return 0;
}

static int set_common(struct kl_map *map, struct kl_repo *repo,
		      const struct kl_mechanisms *mechanisms)
{
	KL_AUTO(kl_map_release) struct kl_map none = KL_PROMPT_VALUES;
	KL_AUTO(kl_buf_release) struct kl_buf reply = KL_BUF_INIT;
	char *actions = actions_text();
	int err;

	if (!actions)
		return KL_EINVALID;
	kl_prompt_set(map, "ACTIONS", actions);
	kl_prompt_set(map, "MECHANISMS", mechanisms_text(mechanisms));
	kl_prompt_set(map, "MOST", kl_asprintf("%d", KL_DIALOGUE_REPAIRS));
	if ((err = kl_prompt_fill(&reply, repo, "reply", &none)) < 0)
		return err;
	kl_prompt_set(map, "REPLY", kl_buf_detach(&reply));
	return 0;
}

/* Set the placeholders of the system text about the workload. */
static int set_workload(struct kl_map *map, struct kl_repo *repo, const struct kl_surface *surface)
{
	KL_AUTO(kl_map_release) struct kl_map none = KL_PROMPT_VALUES;
	KL_AUTO(kl_freep) char *language = kl_asprintf("language-%s",
						       surface->contract->language->name);
	KL_AUTO(kl_buf_release) struct kl_buf rules = KL_BUF_INIT;
	struct kl_buf contract = KL_BUF_INIT, oracle = KL_BUF_INIT;
	int err = kl_prompt_fill(&rules, repo, language, &none);

	if (err < 0)
		return err;
	kl_prompt_set(map, "RULES", kl_buf_detach(&rules));
	kl_prompt_set(map, "WORKLOAD", kl_strdup(surface->contract->workload));
	kl_prompt_set(map, "LANGUAGE", kl_strdup(surface->contract->language->name));
	kl_prompt_files(&contract, &surface->contract_file, 1, false);
	kl_prompt_set(map, "CONTRACT", kl_buf_detach(&contract));
	if (surface->noracle)
		kl_buf_adds(&oracle, "The oracle says what is right. It stands as it is, too:\n\n");
	for (size_t i = 0; i < surface->contract->adapters.n; i++)
		kl_buf_addf(
			&oracle,
			"The file %s among them is an adapter: it calls the kernel, and it stands "
			"as it is as well.\n\n",
			surface->contract->adapters.v[i]);
	kl_prompt_files(&oracle, surface->oracle, surface->noracle, false);
	kl_prompt_set(map, "ORACLE", kl_buf_detach(&oracle));
	return 0;
}

static int system_texts(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
			const struct kl_surface *surface, const struct kl_mechanisms *mechanisms,
			const char *cards)
{
	KL_AUTO(kl_map_release) struct kl_map map = KL_PROMPT_VALUES;
	int err = set_common(&map, repo, mechanisms);

	kl_prompt_set(&map, "CARDS", kl_strdup(cards));
	if (!err)
		err = push_filled(out, repo, prompt, &map);
	if (!err)
		err = set_workload(&map, repo, surface);
	return err < 0 ? err : push_filled(out, repo, "workload", &map);
}

int kl_brief_system(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
		    const struct kl_surface *surface, const struct kl_mechanisms *mechanisms)
{
	return system_texts(out, repo, prompt, surface, mechanisms, "");
}

int kl_brief_system_plain(struct kl_strvec *out, struct kl_repo *repo, const char *prompt)
{
	KL_AUTO(kl_map_release) struct kl_map none = KL_PROMPT_VALUES;

	return push_filled(out, repo, prompt, &none);
}

int kl_brief_system_cards(struct kl_strvec *out, struct kl_repo *repo, const char *prompt,
			  const struct kl_surface *surface, const char *cards)
{
	return system_texts(out, repo, prompt, surface, NULL, cards);
}

/* --- records ----------------------------------------------------------------------- */

char *kl_brief_source(const char *phase, size_t turn)
{
	return kl_asprintf("%s.%zu", phase, turn);
}

/* Return the turn that proposed a rejected step; -1 if another conversation proposed it. */
static long turn_of(const struct kl_driver *driver, const json_t *rec)
{
	const char *source = kl_json_str_or(rec, "source", "");
	size_t n = strlen(driver->phase);
	char *end;
	long turn;

	if (strcmp(kl_json_str_or(rec, "rewriter", ""), driver->rewriter) ||
	    strncmp(source, driver->phase, n) || source[n] != '.')
		return -1;
	turn = strtol(source + n + 1, &end, 10);
	return end != source + n + 1 && (!*end || *end == '@') ? turn : -1;
}

const json_t *kl_brief_record(const struct kl_rewrite *rw, const struct kl_driver *driver,
			      size_t turn)
{
	size_t i;
	json_t *rec;

	json_array_foreach(rw->rejections, i, rec)
		if (turn_of(driver, rec) == (long)turn)
			return rec;
	return NULL;
}

/* Count the rejections before the first rejection of a step from this turn or a later one. */
static size_t count_known(const struct kl_rewrite *rw, const struct kl_driver *driver)
{
	size_t i;
	json_t *rec;

	json_array_foreach(rw->rejections, i, rec)
		if (turn_of(driver, rec) >= (long)driver->dialogue.turn)
			return i;
	return i;
}

static void tip_hex(char out[KL_OID_HEX], const struct kl_rewrite *rw)
{
	size_t n = json_array_size(rw->steps);

	if (n)
		snprintf(out, KL_OID_HEX, "%s",
			 kl_json_str_or(json_array_get(rw->steps, n - 1), "commit", ""));
	else
		kl_oid_hex(out, &rw->expert);
}

static void add_record(struct kl_buf *out, const json_t *rec, bool timed)
{
	const char *mechanism = kl_proposal_claimed(rec);

	kl_buf_addf(out, "%s in %s", kl_json_str_or(rec, "action", "?"),
		    kl_json_str_or(rec, "locus", "?"));
	if (*mechanism)
		kl_buf_addf(out, " (%s)", mechanism);
	if (*kl_json_str_or(rec, "class", ""))
		kl_buf_addf(out, ": %s", kl_json_str_or(rec, "class", ""));
	if (timed && kl_json_int_or(rec, "ns", 0) > 0) {
		kl_buf_adds(out, ", ");
		kl_prompt_time(out, kl_json_int_or(rec, "ns", 0));
	}
	kl_buf_addch(out, '\n');
}

static char *fence_list(struct kl_buf *list)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_prompt_fence(&buf, "", list->ptr, list->len);
	kl_buf_release(list);
	return kl_buf_detach(&buf);
}

static char *list_steps(const struct kl_rewrite *rw)
{
	struct kl_buf list = KL_BUF_INIT;
	size_t n = json_array_size(rw->steps), i = n > MOST_LISTED ? n - MOST_LISTED : 0;

	if (!n)
		kl_buf_adds(&list, "none: this is the expert's kernel\n");
	for (; i < n; i++) {
		kl_buf_addf(&list, "%zu. ", i + 1);
		add_record(&list, json_array_get(rw->steps, i), true);
	}
	return fence_list(&list);
}

/* Append the start of the gate's message, its reason: one line, at most MOST_REASON bytes. */
static void add_reason(struct kl_buf *out, const struct kl_rewrite *rw, const json_t *rec)
{
	const char *id = kl_json_str_or(rec, "event", "");
	const struct kl_event *event = *id && rw->event ? rw->event(id, rw->payload) : NULL;
	const char *message = event ? event->message : "";
	size_t n = strcspn(message, "\n"), reason = kl_judgement_reason(message);

	n = n < reason ? n : reason;
	if (!n)
		return;
	kl_buf_adds(out, "    ");
	kl_buf_add(out, message, kl_utf8_cut(message, n, MOST_REASON));
	kl_buf_addch(out, '\n');
}

/*
 * List the last MOST_LISTED of the first `n` rejections: those on this state, then those on earlier
 * states.
 */
static char *list_refused(const struct kl_rewrite *rw, size_t n)
{
	struct kl_buf list = KL_BUF_INIT, before = KL_BUF_INIT;
	size_t i = n > MOST_LISTED ? n - MOST_LISTED : 0;
	char here[KL_OID_HEX];

	tip_hex(here, rw);
	for (; i < n; i++) {
		const json_t *rec = json_array_get(rw->rejections, i);
		bool of_here = !strcmp(kl_json_str_or(rec, "on", ""), here);

		add_record(of_here ? &list : &before, rec, false);
		if (of_here)
			add_reason(&list, rw, rec);
	}
	if (!list.len)
		kl_buf_adds(&list, "nothing on this kernel\n");
	if (before.len)
		kl_buf_addf(&list, "\non earlier kernels of this walk:\n%s", before.ptr);
	kl_buf_release(&before);
	return fence_list(&list);
}

/* --- facts of the state -------------------------------------------------------------- */

static bool is_there(const struct kl_rewrite *rw, const char *fact)
{
	const json_t *features = json_object_get(rw->facts, "features");
	const json_t *traits = json_object_get(rw->facts, "traits");
	size_t i;
	json_t *value;

	if (!strncmp(fact, "trait:", 6))
		return !strncmp(kl_json_str_or(traits, fact + 6, ""), "yes", 3);
	json_array_foreach(features, i, value)
		if (json_is_string(value) && !strcmp(json_string_value(value), fact))
			return true;
	return false;
}

static char *list_mechanisms(const struct kl_rewrite *rw)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; rw->mechanisms && i < rw->mechanisms->n; i++) {
		const struct kl_mechanism *mechanism = &rw->mechanisms->m[i];
		bool there = false;

		for (size_t k = 0; k < mechanism->primary.n && !there; k++)
			there = is_there(rw, mechanism->primary.v[k]);
		if (there)
			kl_buf_addf(&buf, "%s%s", buf.len ? ", " : "", mechanism->name);
	}
	kl_buf_adds(&buf, buf.len ? "\n" : "none that is known\n");
	return fence_list(&buf);
}

static char *describe_distance(const struct kl_rewrite *rw)
{
	size_t n = json_array_size(rw->steps);

	return n ? kl_asprintf("%zu step%s away from the expert's", n, n == 1 ? "" : "s") :
		   kl_strdup("as the expert wrote it");
}

/* --- the first line --------------------------------------------------------------------- */

void kl_brief_head(struct kl_buf *out, const char *phase, size_t turn,
		   const struct kl_surface *surface, enum kl_dialogue_kind kind)
{
	kl_buf_addf(out, "[%s, turn %zu, state %.12s: %s]\n\n", phase, turn + 1, surface->digest,
		    kl_dialogue_name(kind));
}

void kl_brief_head_read(enum kl_dialogue_kind *kind, char state[13], const char *user,
			const char *phase, size_t turn)
{
	KL_AUTO(kl_freep) char *want = kl_asprintf("[%s, turn %zu, state ", phase, turn + 1);
	size_t n = strlen(want), end = strcspn(user, "]\n");

	*state = '\0';
	if (end < n + 14 || user[end] != ']' || strncmp(user, want, n) ||
	    strspn(user + n, "0123456789abcdef") != 12 || strncmp(user + n + 12, ": ", 2) ||
	    !kl_dialogue_kind(kind, user + n + 14, end - n - 14))
		return;
	memcpy(state, user + n, 12);
	state[12] = '\0';
}

int kl_brief_head_check(const char *state, const char *phase, size_t turn,
			const struct kl_surface *surface)
{
	int err;

	if (*state && !strncmp(surface->digest, state, 12))
		return 0;
	err = kl_error(KL_EEXISTS,
		       "turn %zu of the stored conversation %s is about another state than "
		       "%.12s",
		       turn + 1, phase, surface->digest);
	kl_error_hint(
		err, "the conversation is from an earlier walk of this name; its replies cannot be "
		     "used for another state");
	return kl_error_hint(err,
			     "give this walk another name with 'git klineage deopt --name <name>', "
			     "after '--abort' if it is in progress");
}

/* --- a turn ------------------------------------------------------------------------------- */

/* List the places where no step is accepted any more, because too many were refused there. */
static char *list_closed(const struct kl_dialogue *dialogue)
{
	struct kl_buf list = KL_BUF_INIT, buf = KL_BUF_INIT;

	for (size_t i = 0; i < dialogue->place.n; i++)
		if (kl_dialogue_closed(dialogue, dialogue->place.e[i].key))
			kl_buf_addf(&list, "%s\n", dialogue->place.e[i].key);
	if (!list.len)
		return kl_buf_detach(&buf);
	kl_buf_adds(
		&buf,
		"\nAct somewhere else: these places were tried often enough, and a step there is "
		"refused.\n\n");
	kl_prompt_fence(&buf, "", list.ptr, list.len);
	kl_buf_release(&list);
	return kl_buf_detach(&buf);
}

static char *quote_text(const char *text)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_prompt_excerpt(&buf, "", text, KL_FEEDBACK_MAX / 2);
	return kl_buf_detach(&buf);
}

/* Read the features in `facts` into `out` and return `out`; return NULL if they are unknown. */
static const struct kl_strvec *read_features(struct kl_strvec *out, const json_t *facts)
{
	const json_t *list = json_object_get(facts, "features");

	kl_json_strings(out, list);
	return json_is_array(list) ? out : NULL;
}

static void set_values(struct kl_driver_turn *turn, const struct kl_rewrite *rw,
		       const struct kl_driver *driver, const struct kl_brief_of *of)
{
	struct kl_map *map = &turn->values;
	KL_AUTO(json_decrefp) json_t *none = json_object();
	const json_t *traits = json_object_get(rw->facts, "traits");

	if (driver->dialogue.kind != KL_DIALOGUE_STEP)
		kl_prompt_set(map, "FILES", kl_strdup(""));
	kl_prompt_set(map, "DISTANCE", describe_distance(rw));
	kl_prompt_set(map, "FACTS",
		      kl_prompt_facts(&turn->features, traits ? traits : none, rw->ns));
	kl_prompt_set(map, "PRESENT", list_mechanisms(rw));
	kl_prompt_set(map, "DONE", list_steps(rw));
	kl_prompt_set(map, "REJECTED", list_refused(rw, count_known(rw, driver)));
	kl_prompt_set(map, "AWAY", list_closed(&driver->dialogue));
	kl_prompt_set(map, "FOREIGN", quote_text(of->foreign ? of->foreign : ""));
}

static void add_key_record(struct kl_buf *key, const char *word, const json_t *rec)
{
	KL_AUTO(kl_freep) char *place = kl_envelope_place(kl_json_str_or(rec, "locus", ""));

	kl_buf_addf(key, "%s %s %s %s\n", word, kl_feedback_key(kl_json_str_or(rec, "class", "-")),
		    kl_json_str_or(rec, "action", "-"), place);
}

static void write_key(struct kl_buf *key, const struct kl_rewrite *rw,
		      const struct kl_driver *driver)
{
	size_t n = count_known(rw, driver), i;
	char here[KL_OID_HEX];
	json_t *rec;

	tip_hex(here, rw);
	kl_buf_addf(key, "%s\nstate %s\ncontract %s\n", kl_dialogue_name(driver->dialogue.kind),
		    rw->state->digest, rw->state->contract_digest);
	json_array_foreach(rw->steps, i, rec)
		add_key_record(key, "done", rec);
	json_array_foreach(rw->rejections, i, rec)
		if (i < n && !strcmp(kl_json_str_or(rec, "on", ""), here))
			add_key_record(key, "refused", rec);
}

void kl_brief_turn(struct kl_driver_turn *out, const struct kl_rewrite *rw,
		   const struct kl_driver *driver, const struct kl_brief_of *of)
{
	const char *id = kl_json_str_or(of->refused, "event", "");

	out->state = rw->state;
	out->feedback = (struct kl_feedback){
		.class_ = kl_json_str_or(of->refused, "class", ""),
		.ns = rw->ns,
		.before = read_features(&out->features, rw->facts),
		.event = *id && rw->event ? rw->event(id, rw->payload) : NULL,
	};
	set_values(out, rw, driver, of);
	write_key(&out->key, rw, driver);
}
