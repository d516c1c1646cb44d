/* SPDX-License-Identifier: Apache-2.0 */
/* traits - checks claimed traits: a model reads the source a second time */
#include <string.h>

#include "base/error.h"
#include "rewrite/brief.h"
#include "rewrite/edits.h"
#include "rewrite/envelope.h"
#include "rewrite/feedback.h"
#include "rewrite/layout.h"
#include "rewrite/prompt.h"
#include "rewrite/rederive.h"

/*
 * traits - the second reading: who proposed a step says what its source no longer is; another reader, in a
 * conversation of his own, is asked for the same traits without being told what was said.
 */
struct reader {
	const struct kl_trait_reading *r;
	char *phase;
	struct kl_strvec names;		/* to be judged, sorted */
	struct kl_mechanisms mechanisms;
	struct kl_strvec texts;
	struct kl_talk *talk;
};

static void reader_release(struct reader *d)
{
	kl_talk_free(d->talk);
	kl_strvec_release(&d->texts);
	kl_strvec_release(&d->names);
	kl_mechanisms_release(&d->mechanisms);
	free(d->phase);
}

/* "yes" and "no" can be confirmed; "yes unaudited" is what it began as */
static const char *claim_of(const json_t *claims, const char *name)
{
	const char *value = kl_json_str_or(claims, name, "");

	return !strncmp(value, "yes", 3) ? "yes" : !strncmp(value, "no", 2) ? "no" : "";
}

static int reader_open(struct reader *d)
{
	KL_AUTO(kl_map_release) struct kl_map none = KL_PROMPT_VALUES;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf clean = KL_BUF_INIT;
	int err;

	d->phase = kl_asprintf("traits-%d", d->r->step);
	if ((err = kl_mechanisms_load_shipped(&d->mechanisms)) < 0 ||
	    (err = kl_prompt_fill(&text, d->r->repo, "traits", &none)) < 0)
		return err;
	kl_brief_clean(&clean, &text);
	kl_strvec_take(&d->texts, kl_buf_detach(&clean));
	return kl_talk_open(&d->talk, d->r->chat, d->r->name, d->phase, (const char *const *)d->texts.v,
			    d->texts.n);
}

/* --- what is said ------------------------------------------------------------------ */

/* what a trait is, in the words of the mechanisms that show it */
static void describe(struct kl_buf *out, const struct reader *d, const char *name)
{
	KL_AUTO(kl_freep) char *fact = kl_asprintf("trait:%s", name);
	const char *sep = ": ";

	kl_buf_addf(out, "- %s", name);
	for (size_t i = 0; i < d->mechanisms.n; i++)
		if (kl_strvec_has(&d->mechanisms.m[i].primary, fact)) {
			kl_buf_addf(out, "%s%s", sep, d->mechanisms.m[i].text);
			sep = "; or ";
		}
	kl_buf_addch(out, '\n');
}

static int compose(struct kl_buf *user, struct kl_buf *key, const struct reader *d, size_t turn,
		   const char *why)
{
	KL_AUTO(kl_map_release) struct kl_map v = KL_PROMPT_VALUES;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_buf quoted = KL_BUF_INIT, list = KL_BUF_INIT;
	int err;

	kl_prompt_set(&v, "FILES", kl_prompt_sources(d->r->state, true));
	for (size_t i = 0; i < d->names.n; i++)
		describe(&list, d, d->names.v[i]);
	kl_prompt_set(&v, "TRAITS", kl_buf_detach(&list));
	kl_prompt_excerpt(&quoted, "", why ? why : "", KL_FEEDBACK_MAX / 2);
	kl_prompt_set(&v, "WHY", kl_buf_detach(&quoted));
	kl_brief_head(&text, d->phase, turn, d->r->state, why ? KL_DIALOGUE_AGAIN : KL_DIALOGUE_STEP);
	if ((err = kl_prompt_fill(&text, d->r->repo, why ? "again" : "traits-turn", &v)) < 0)
		return err;
	kl_brief_clean(user, &text);
	kl_buf_addf(key, "%s\nstate %s\n", why ? "again" : "traits", d->r->state->digest);
	for (size_t i = 0; i < d->names.n; i++)
		kl_buf_addf(key, "%s\n", d->names.v[i]);
	return 0;
}

/* --- what came ----------------------------------------------------------------------- */

static int count_lines(const struct kl_file *f)
{
	int n = 0;

	for (size_t i = 0; i < f->len; i++)
		n += f->data[i] == '\n';
	return n + (f->len && f->data[f->len - 1] != '\n');
}

static int check_one(const struct reader *d, const char *name, const json_t *said)
{
	const char *path = kl_json_str_or(said, "path", "");
	const json_t *lines = json_object_get(said, "lines");
	const struct kl_file *f;
	int err, n;

	if (!kl_strvec_has(&d->names, name))
		return kl_error(KL_EINVALID, "nobody asked for the trait '%s'", name);
	if (!lines)
		return 0;
	if ((err = kl_edits_path(&f, d->r->state, path)) < 0)
		return kl_error_in(err, "trait %s", name);
	n = count_lines(f);
	if (json_integer_value(json_array_get(lines, 1)) > n)
		return kl_error(KL_EINVALID, "trait %s: %s has %d lines", name, path, n);
	return 0;
}

static int read_reply(json_t **out, const struct reader *d, const char *reply)
{
	KL_AUTO(json_decrefp) json_t *all = NULL;
	KL_AUTO(json_decrefp) json_t *audited = json_object();
	const char *name;
	json_t *said;
	int err = kl_envelope_traits(&all, reply, strlen(reply));

	if (err < 0)
		return err;
	json_object_foreach(all, name, said)
		if ((err = check_one(d, name, said)) < 0)
			return err;
	for (size_t i = 0; i < d->names.n; i++) {
		said = json_object_get(all, d->names.v[i]);
		if (!said)
			return kl_error(KL_EINVALID, "there is no <trait> for '%s'", d->names.v[i]);
		if (!strcmp(kl_json_str_or(said, "value", ""), claim_of(d->r->claims, d->names.v[i])))
			json_object_set(audited, d->names.v[i], said);
	}
	*out = kl_steal(&audited);
	return 0;
}

static int ask_turn(const char **reply, struct reader *d, size_t turn, const char *why)
{
	KL_AUTO(kl_buf_release) struct kl_buf user = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	struct kl_ask ask = { 0 };
	enum kl_dialogue_kind stored;
	int err;

	if (turn < kl_talk_turns(d->talk) &&
	    (err = kl_brief_head_read(&stored, kl_talk_user(d->talk, turn), d->phase, turn, d->r->state)) < 0)
		return err;
	if ((err = compose(&user, &key, d, turn, why)) < 0)
		return err;
	ask.user = user.ptr;
	ask.key = key.ptr;
	return kl_layout_ask(reply, d->talk, turn, &ask, d->r->rewriter, d->r->state, false);
}

int kl_trait_audit(json_t **audited, const struct kl_trait_reading *r)
{
	KL_AUTO(reader_release) struct reader d = { .r = r };
	KL_AUTO(kl_freep) char *why = NULL;
	const char *name, *reply;
	json_t *value;
	int err;

	*audited = NULL;
	json_object_foreach((json_t *)r->claims, name, value)
		if (*claim_of(r->claims, name))
			kl_strvec_push(&d.names, name);
	kl_strvec_uniq(&d.names);
	if (d.names.n && (err = reader_open(&d)) < 0)
		return err;
	for (size_t turn = 0; d.names.n && turn < KL_DIALOGUE_UNUSABLE; turn++) {
		if ((err = ask_turn(&reply, &d, turn, why)) < 0)
			return err;
		err = read_reply(audited, &d, reply);
		if (err != KL_EINVALID)
			return err;
		free(why);
		why = kl_strdup(kl_error_last());
		kl_error_clear();
	}
	*audited = json_object();
	return 0;
}
