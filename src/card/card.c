/* SPDX-License-Identifier: Apache-2.0 */
#include "card/card.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "card/card_types.h"
#include "card/status.h"
#include "text/digest.h"
#include "text/yaml_json.h"

/* maximum number of bytes of an intent's slug, without the '-' and the seven digits of the event */
#define SLUG_MAX 40

/* --- allocation ------------------------------------------------------------------------- */

struct kl_card *kl_card_new(void)
{
	struct kl_card *card = kl_calloc(1, sizeof(*card));

	kl_schema_clear(card, &kl_card_schema);
	card->schema = 1;
	return card;
}

void kl_card_free(struct kl_card *card)
{
	if (!card)
		return;
	kl_schema_release(card, &kl_card_schema);
	free(card);
}

struct kl_card *kl_card_copy(const struct kl_card *card)
{
	struct kl_card *copy = kl_malloc(sizeof(*copy));

	kl_schema_copy(copy, card, &kl_card_schema);
	return copy;
}

/* --- reading and writing -------------------------------------------------------------------- */

/*
 * Check the schema before all other fields, so that a newer card is not reported as having unknown
 * keys.
 */
static int check_schema(const char *name, const struct kl_yaml *node)
{
	const struct kl_yaml *schema = kl_yaml_get(node, "schema");
	char *end;
	long n;

	if (!schema || schema->kind != KL_YAML_SCALAR || !schema->plain)
		return 0;
	n = strtol(schema->text, &end, 10);
	if (*end || n <= KL_CARD_SCHEMA)
		return 0;
	kl_yaml_error(
		name, schema,
		"card schema %ld is newer than %d, the newest supported; upgrade git-klineage", n,
		KL_CARD_SCHEMA);
	return KL_ECANNOT;
}

int kl_card_from_yaml(struct kl_card **out, const char *name, const struct kl_yaml *node)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_new();
	int err;

	if ((err = check_schema(name, node)) < 0 ||
	    (err = kl_schema_read(card, &kl_card_schema, name, node)) < 0)
		return err;
	kl_card_normalize(card);
	*out = kl_steal(&card);
	return 0;
}

int kl_card_parse(struct kl_card **out, const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	int err;

	if (len > KL_CARD_MAX_BYTES)
		return kl_error(KL_EINVALID, "%s: card is larger than %u bytes", name,
				KL_CARD_MAX_BYTES);
	if ((err = kl_yaml_parse(&node, name, text, len)) < 0)
		return err;
	return kl_card_from_yaml(out, name, node);
}

int kl_card_from_json(struct kl_card **out, const char *name, const json_t *value)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	int err = kl_yaml_from_json(&node, value);

	return err < 0 ? kl_error_in(err, "%s", name) : kl_card_from_yaml(out, name, node);
}

void kl_card_write(struct kl_buf *out, const struct kl_card *card)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	struct kl_card now = *card;

	now.status = kl_status_of(card);
	node = kl_schema_write(&now, &kl_card_schema);
	kl_yaml_emit(out, node);
}

json_t *kl_card_to_json(const struct kl_card *card)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	struct kl_card now = *card;

	now.status = kl_status_of(card);
	node = kl_schema_write(&now, &kl_card_schema);
	return kl_yaml_to_json(node);
}

int kl_card_canonical_line(const struct kl_card *card, const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf want = KL_BUF_INIT;
	int line = 1;

	kl_card_write(&want, card);
	if (want.len == len && !memcmp(want.ptr, text, len))
		return 0;
	for (size_t i = 0; i < len && i < want.len && text[i] == want.ptr[i]; i++)
		line += text[i] == '\n';
	return line;
}

/* --- changing --------------------------------------------------------------------------------- */

/* Check that the precondition has something that schema 1 does not have. */
static bool pre_is_newer(const struct kl_card_pre *pre)
{
	return pre->state > KL_PRE_WITNESSED || pre->pair || pre->source;
}

/* Return the least schema that can hold the card; the lists are sorted. */
static int64_t least_schema(const struct kl_card *card)
{
	bool newer = card->unlisted;

	for (size_t i = 0; i < card->sound.n; i++)
		newer |= pre_is_newer(&card->sound.v[i]);
	for (size_t i = 0; i < card->useful.n; i++)
		newer |= pre_is_newer(&card->useful.v[i]);
	for (size_t i = 0; i < card->evidence.n; i++)
		newer |= card->evidence.v[i].also.n > 0 || card->evidence.v[i].measured.n > 0;
	for (size_t i = 1; i < card->carriers.n; i++)
		newer |= card->carriers.v[i].form == card->carriers.v[i - 1].form &&
			 !strcmp(card->carriers.v[i].language, card->carriers.v[i - 1].language);
	return newer ? 2 : 1;
}

void kl_card_normalize(struct kl_card *card)
{
	kl_schema_normalize(card, &kl_card_schema);
	card->status = kl_status_of(card);
	card->schema = least_schema(card);
}

static bool add_row(struct kl_card *card, void *list, void *row, const struct kl_schema *schema)
{
	struct kl_list *rows = list;
	size_t before = rows->n;

	kl_schema_push(list, row, schema);
	memset(row, 0, schema->size);
	kl_card_normalize(card);
	return rows->n > before;
}

bool kl_card_add_evidence(struct kl_card *card, struct kl_card_evidence *evidence)
{
	return add_row(card, &card->evidence, evidence, &kl_card_evidence_schema);
}

bool kl_card_add_row(struct kl_card *card, struct kl_card_row *row)
{
	return add_row(card, &card->rows, row, &kl_card_row_schema);
}

bool kl_card_add_trial(struct kl_card *card, struct kl_card_trial *trial)
{
	return add_row(card, &card->ver, trial, &kl_card_trial_schema);
}

bool kl_card_add_risk(struct kl_card *card, struct kl_card_risk *risk)
{
	return add_row(card, &card->risk, risk, &kl_card_risk_schema);
}

void kl_card_trial_init(struct kl_card_trial *trial)
{
	memset(trial, 0, sizeof(*trial));
	kl_schema_clear(trial, &kl_card_trial_schema);
}

void kl_card_retract(struct kl_card *card, const char *why, const char *by, const char *time)
{
	struct kl_card_trial trial;

	kl_card_trial_init(&trial);
	trial.retracted = kl_strdup(why);
	trial.by = kl_strdup(by);
	trial.time = kl_strdup(time);
	kl_card_add_trial(card, &trial);
}

void kl_card_pre_release(struct kl_card_pre *pre)
{
	kl_schema_release(pre, &kl_card_pre_schema);
}

/* Insert a dim; the dims stay sorted by name. */
void kl_card_dims_add(struct kl_card_dims *dims, const char *name, int64_t value)
{
	size_t i = dims->n;

	KL_GROW(dims->v, dims->n + 1, dims->alloc);
	while (i && strcmp(dims->v[i - 1].name, name) > 0) {
		dims->v[i] = dims->v[i - 1];
		i--;
	}
	dims->v[i] = (struct kl_card_dim){ .name = kl_strdup(name), .v = value };
	dims->n++;
}

void kl_card_dims_copy(struct kl_card_dims *to, const struct kl_card_dims *from)
{
	for (size_t i = 0; i < from->n; i++)
		kl_card_dims_add(to, from->v[i].name, from->v[i].v);
}

bool kl_card_dims_get(int64_t *out, const struct kl_card_dims *dims, const char *name)
{
	for (size_t i = 0; i < dims->n; i++) {
		if (strcmp(dims->v[i].name, name))
			continue;
		*out = dims->v[i].v;
		return true;
	}
	return false;
}

/* --- queries ---------------------------------------------------------------------------------- */

bool kl_card_row_is_verified(const struct kl_card *card, const struct kl_card_row *row)
{
	if (row->by != KL_ROW_TRIAL)
		return row->by == KL_ROW_REDERIVED;
	for (size_t i = 0; i < card->ver.n; i++)
		if (kl_status_counts(&card->ver.v[i]) && !strcmp(card->ver.v[i].event, row->event))
			return true;
	return false;
}

static void push_text(const char *text, void *payload)
{
	kl_strvec_push(payload, text);
}

void kl_card_events(struct kl_strvec *out, const struct kl_card *card)
{
	kl_schema_each(card, &kl_card_schema, &kl_card_event_id, push_text, out);
	kl_strvec_uniq(out);
}

void kl_card_commits(struct kl_strvec *out, const struct kl_card *card)
{
	kl_schema_each(card, &kl_card_schema, &kl_card_commit_id, push_text, out);
	kl_strvec_uniq(out);
}

bool kl_card_has_state(const struct kl_card *card, const char *commit)
{
	for (size_t i = 0; i < card->evidence.n; i++) {
		const struct kl_card_evidence *evidence = &card->evidence.v[i];

		if (!strcmp(evidence->before, commit) || !strcmp(evidence->after, commit) ||
		    (evidence->rederived && !strcmp(evidence->rederived, commit)))
			return true;
	}
	return false;
}

const struct kl_card_pre *kl_card_find_pre(const struct kl_card *card, const char *id, bool *sound)
{
	if (sound)
		*sound = true;
	for (size_t i = 0; i < card->sound.n; i++)
		if (!strcmp(card->sound.v[i].id, id))
			return &card->sound.v[i];
	if (sound)
		*sound = false;
	for (size_t i = 0; i < card->useful.n; i++)
		if (!strcmp(card->useful.v[i].id, id))
			return &card->useful.v[i];
	return NULL;
}

bool kl_card_has_pre(const struct kl_card *card, const char *id)
{
	return kl_card_find_pre(card, id, NULL);
}

bool kl_card_pre_counts(const struct kl_card_pre *pre)
{
	return pre->state == KL_PRE_ASSUMED || pre->state == KL_PRE_WITNESSED;
}

const struct kl_card_carrier *kl_card_carrier(const struct kl_card *card, const char *language)
{
	for (size_t i = 0; i < card->carriers.n; i++)
		if (!strcmp(card->carriers.v[i].language, language))
			return &card->carriers.v[i];
	return NULL;
}

bool kl_carrier_is_mechanical(const struct kl_card_carrier *carrier)
{
	return carrier->form == KL_CARRIER_DIFF || carrier->form == KL_CARRIER_COCCI ||
	       carrier->form == KL_CARRIER_TRANSFORM;
}

/*
 * Append the first words of `text`, as many as fit into SLUG_MAX, in lower case and joined by '-'.
 */
static void make_slug(struct kl_buf *out, const char *text)
{
	for (const char *at = text; *at;) {
		size_t n = 0;

		while (*at && !isalnum((unsigned char)*at))
			at++;
		while (isalnum((unsigned char)at[n]))
			n++;
		if (!n || out->len + n + 1 > SLUG_MAX)
			break;
		if (out->len)
			kl_buf_addch(out, '-');
		for (size_t i = 0; i < n; i++)
			kl_buf_addch(out, (char)tolower((unsigned char)at[i]));
		at += n;
	}
	if (!out->len)
		kl_buf_adds(out, "card");
}

char *kl_card_make_id(const char *intent, const char *event)
{
	struct kl_buf buf = KL_BUF_INIT;
	char digest[KL_DIGEST_HEX];

	make_slug(&buf, intent);
	kl_digest_hex(digest, intent, strlen(intent));
	kl_buf_addf(&buf, "-%.7s", event ? event : digest);
	return kl_buf_detach(&buf);
}
