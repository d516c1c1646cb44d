/* SPDX-License-Identifier: Apache-2.0 */
/* traits - audits claimed traits: a model that does not know the claims reads the source */
#include <string.h>

#include "base/error.h"
#include "rewrite/brief.h"
#include "rewrite/edits.h"
#include "rewrite/prompt.h"
#include "rewrite/rederive.h"
#include "rewrite/reply/envelope.h"

/*
 * The author of a step claims which traits the source now has or no longer has. A model is asked
 * for the same traits in a conversation of its own, and is not told the claims.
 */
struct reader {
	struct kl_driver driver;
	const struct kl_trait_reading *r;
	struct kl_strvec names; /* traits to audit, sorted */
	struct kl_mechanisms mechanisms;
};

static void reader_release(struct reader *reader)
{
	kl_driver_release(&reader->driver);
	kl_strvec_release(&reader->names);
	kl_mechanisms_release(&reader->mechanisms);
}

/*
 * Return the claim about a trait: "yes" or "no", also for a marked one such as "yes unaudited".
 * Return "" if there is no claim.
 */
static const char *claim_of(const json_t *claims, const char *name)
{
	const char *value = kl_json_str_or(claims, name, "");

	return !strncmp(value, "yes", 3) ? "yes" : !strncmp(value, "no", 2) ? "no" : "";
}

/* --- a turn ------------------------------------------------------------------------ */

/* Append a line that describes a trait by the texts of the mechanisms with this trait. */
static void describe_trait(struct kl_buf *out, const struct reader *reader, const char *name)
{
	KL_AUTO(kl_freep) char *fact = kl_asprintf("trait:%s", name);
	const char *sep = ": ";

	kl_buf_addf(out, "- %s", name);
	for (size_t i = 0; i < reader->mechanisms.n; i++)
		if (kl_strvec_has(&reader->mechanisms.m[i].primary, fact)) {
			kl_buf_addf(out, "%s%s", sep, reader->mechanisms.m[i].text);
			sep = "; or ";
		}
	kl_buf_addch(out, '\n');
}

static void compose_turn(struct kl_driver_turn *turn, const struct reader *reader)
{
	bool again = reader->driver.dialogue.kind == KL_DIALOGUE_AGAIN;
	struct kl_buf list = KL_BUF_INIT;

	turn->state = reader->r->state;
	kl_prompt_set(&turn->values, "FILES", kl_prompt_sources(reader->r->state, true));
	kl_buf_addf(&turn->key, "%s\nstate %s\n", again ? "again" : "traits",
		    reader->r->state->digest);
	for (size_t i = 0; i < reader->names.n; i++) {
		describe_trait(&list, reader, reader->names.v[i]);
		kl_buf_addf(&turn->key, "%s\n", reader->names.v[i]);
	}
	kl_prompt_set(&turn->values, "TRAITS", kl_buf_detach(&list));
}

/* --- a reply ----------------------------------------------------------------------- */

static int count_lines(const struct kl_file *file)
{
	int n = 0;

	for (size_t i = 0; i < file->len; i++)
		n += file->data[i] == '\n';
	return n + (file->len && file->data[file->len - 1] != '\n');
}

static int check_one(const struct reader *reader, const char *name, const json_t *said)
{
	const char *path = kl_json_str_or(said, "path", "");
	const json_t *lines = json_object_get(said, "lines");
	const struct kl_file *file;
	int err, n;

	if (!kl_strvec_has(&reader->names, name))
		return kl_error(KL_EINVALID, "the trait '%s' was not asked for", name);
	if (!lines)
		return 0;
	if ((err = kl_edits_path(&file, reader->r->state, path)) < 0)
		return kl_error_in(err, "trait %s", name);
	n = count_lines(file);
	if (json_integer_value(json_array_get(lines, 1)) > n)
		return kl_error(KL_EINVALID, "trait %s: %s has %d lines", name, path, n);
	return 0;
}

static int read_reply(json_t **out, const struct reader *reader, const char *reply)
{
	KL_AUTO(json_decrefp) json_t *all = NULL;
	KL_AUTO(json_decrefp) json_t *audited = json_object();
	const char *name;
	json_t *said;
	int err = kl_envelope_traits(&all, reply, strlen(reply));

	if (err < 0)
		return err;
	json_object_foreach(all, name, said)
		if ((err = check_one(reader, name, said)) < 0)
			return err;
	for (size_t i = 0; i < reader->names.n; i++) {
		name = reader->names.v[i];
		said = json_object_get(all, name);
		if (!said)
			return kl_error(KL_EINVALID, "there is no <trait> for '%s'", name);
		if (!strcmp(kl_json_str_or(said, "value", ""), claim_of(reader->r->claims, name)))
			json_object_set(audited, name, said);
	}
	*out = kl_steal(&audited);
	return 0;
}

/* --- the conversation --------------------------------------------------------------- */

static int reader_open(struct reader *reader)
{
	static const char *const prompt[KL_DIALOGUE_END] = { [KL_DIALOGUE_STEP] = "traits-turn" };
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	const struct kl_trait_reading *reading = reader->r;
	int err;

	reader->driver = (struct kl_driver){
		.repo = reading->repo,
		.session = reading->session,
		.name = reading->name,
		.rewriter = reading->rewriter,
		.phase = kl_asprintf("traits-%d", reading->step),
		.prompt = prompt,
		.single = true,
	};
	if ((err = kl_mechanisms_load_shipped(&reader->mechanisms)) < 0 ||
	    (err = kl_brief_system_plain(&texts, reading->repo, "traits")) < 0)
		return err;
	return kl_driver_open(&reader->driver, &texts);
}

static int run_reader(json_t **audited, struct reader *reader)
{
	int err = reader_open(reader);

	while (err >= 0 && !*audited && kl_driver_next(&reader->driver)) {
		struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
		const char *reply;

		compose_turn(&turn, reader);
		if (!(err = kl_driver_ask(&reply, &reader->driver, &turn)))
			err = kl_driver_accept(&reader->driver, read_reply(audited, reader, reply));
	}
	return err < 0 ? err : 0;
}

int kl_trait_audit(json_t **audited, const struct kl_trait_reading *reading)
{
	KL_AUTO(reader_release) struct reader reader = { .r = reading };
	const char *name;
	json_t *value;
	int err;

	*audited = NULL;
	json_object_foreach((json_t *)reading->claims, name, value)
		if (*claim_of(reading->claims, name))
			kl_strvec_push(&reader.names, name);
	kl_strvec_uniq(&reader.names);
	if (reader.names.n && (err = run_reader(audited, &reader)) < 0)
		return err;
	if (!*audited)
		*audited = json_object();
	return 0;
}
