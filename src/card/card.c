/* SPDX-License-Identifier: Apache-2.0 */
#include "card/card.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "card/shape.h"
#include "card/status.h"
#include "text/digest.h"

#define SLUG_MAX 40 /* of an id, before the event's seven digits */

/* --- life ------------------------------------------------------------------------------- */

struct kl_card *kl_card_new(void)
{
	struct kl_card *c = kl_calloc(1, sizeof(*c));

	kl_shape_clear(c, &kl_shape_card);
	c->schema = KL_CARD_SCHEMA;
	return c;
}

void kl_card_free(struct kl_card *c)
{
	if (!c)
		return;
	kl_shape_release(c, &kl_shape_card);
	free(c);
}

struct kl_card *kl_card_copy(const struct kl_card *c)
{
	struct kl_card *copy = kl_malloc(sizeof(*copy));

	kl_shape_copy(copy, c, &kl_shape_card);
	return copy;
}

/* --- reading and writing -------------------------------------------------------------------- */

/* a newer version may mean anything: said before any key is called unknown */
static int check_schema(const char *name, const struct kl_yaml *y)
{
	const struct kl_yaml *schema = kl_yaml_get(y, "schema");
	char *end;
	long n;

	if (!schema || schema->kind != KL_YAML_SCALAR || !schema->plain)
		return 0;
	n = strtol(schema->text, &end, 10);
	if (*end || n <= KL_CARD_SCHEMA)
		return 0;
	kl_yaml_error(name, schema,
		      "this card has schema %ld; this git-klineage knows %d: take a newer one", n,
		      KL_CARD_SCHEMA);
	return KL_ECANNOT;
}

int kl_card_from_yaml(struct kl_card **out, const char *name, const struct kl_yaml *y)
{
	KL_AUTO(kl_card_freep) struct kl_card *c = kl_card_new();
	int err;

	if ((err = check_schema(name, y)) < 0 ||
	    (err = kl_shape_read(c, &kl_shape_card, name, y)) < 0)
		return err;
	kl_card_normalize(c);
	*out = kl_steal(&c);
	return 0;
}

int kl_card_parse(struct kl_card **out, const char *name, const char *text, size_t len)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	int err;

	if (len > KL_CARD_MAX_BYTES)
		return kl_error(KL_EINVALID, "%s: a card has at most %u bytes", name,
				KL_CARD_MAX_BYTES);
	if ((err = kl_yaml_parse(&y, name, text, len)) < 0)
		return err;
	return kl_card_from_yaml(out, name, y);
}

int kl_card_from_json(struct kl_card **out, const char *name, const json_t *j)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	int err = kl_yaml_from_json(&y, j);

	return err < 0 ? kl_error_in(err, "%s", name) : kl_card_from_yaml(out, name, y);
}

void kl_card_write(struct kl_buf *out, const struct kl_card *c)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	struct kl_card now = *c;

	now.status = kl_status_of(c);
	y = kl_shape_write(&now, &kl_shape_card);
	kl_yaml_emit(out, y);
}

json_t *kl_card_to_json(const struct kl_card *c)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *y = NULL;
	struct kl_card now = *c;

	now.status = kl_status_of(c);
	y = kl_shape_write(&now, &kl_shape_card);
	return kl_yaml_to_json(y);
}

int kl_card_canonical_line(const struct kl_card *c, const char *text, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf want = KL_BUF_INIT;
	int line = 1;

	kl_card_write(&want, c);
	if (want.len == len && !memcmp(want.ptr, text, len))
		return 0;
	for (size_t i = 0; i < len && i < want.len && text[i] == want.ptr[i]; i++)
		line += text[i] == '\n';
	return line;
}

/* --- changing --------------------------------------------------------------------------------- */

void kl_card_normalize(struct kl_card *c)
{
	kl_shape_normalize(c, &kl_shape_card);
	c->status = kl_status_of(c);
}

static bool add_row(struct kl_card *c, void *list, void *row, const struct kl_shape *r)
{
	struct kl_list *l = list;
	size_t before = l->n;

	kl_shape_push(list, row, r);
	memset(row, 0, r->size);
	kl_card_normalize(c);
	return l->n > before;
}

bool kl_card_add_evidence(struct kl_card *c, struct kl_card_evidence *e)
{
	return add_row(c, &c->evidence, e, &kl_shape_evidence);
}

bool kl_card_add_row(struct kl_card *c, struct kl_card_row *r)
{
	return add_row(c, &c->rows, r, &kl_shape_row);
}

bool kl_card_add_trial(struct kl_card *c, struct kl_card_trial *t)
{
	return add_row(c, &c->ver, t, &kl_shape_trial);
}

bool kl_card_add_risk(struct kl_card *c, struct kl_card_risk *r)
{
	return add_row(c, &c->risk, r, &kl_shape_risk);
}

void kl_card_trial_init(struct kl_card_trial *t)
{
	memset(t, 0, sizeof(*t));
	kl_shape_clear(t, &kl_shape_trial);
}

void kl_card_retract(struct kl_card *c, const char *why, const char *by, const char *time)
{
	struct kl_card_trial t;

	kl_card_trial_init(&t);
	t.retracted = kl_strdup(why);
	t.by = kl_strdup(by);
	t.time = kl_strdup(time);
	kl_card_add_trial(c, &t);
}

void kl_card_pre_release(struct kl_card_pre *p)
{
	kl_shape_release(p, &kl_shape_pre);
}

/* kept sorted by name */
void kl_card_dims_add(struct kl_card_dims *d, const char *name, int64_t v)
{
	size_t i = d->n;

	KL_GROW(d->v, d->n + 1, d->alloc);
	while (i && strcmp(d->v[i - 1].name, name) > 0) {
		d->v[i] = d->v[i - 1];
		i--;
	}
	d->v[i] = (struct kl_card_dim){ .name = kl_strdup(name), .v = v };
	d->n++;
}

void kl_card_dims_copy(struct kl_card_dims *to, const struct kl_card_dims *from)
{
	for (size_t i = 0; i < from->n; i++)
		kl_card_dims_add(to, from->v[i].name, from->v[i].v);
}

bool kl_card_dims_get(int64_t *out, const struct kl_card_dims *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++) {
		if (strcmp(d->v[i].name, name))
			continue;
		*out = d->v[i].v;
		return true;
	}
	return false;
}

/* --- asking ----------------------------------------------------------------------------------- */

bool kl_card_row_is_verified(const struct kl_card *c, const struct kl_card_row *r)
{
	if (r->by != KL_ROW_TRIAL)
		return r->by == KL_ROW_REDERIVED;
	for (size_t i = 0; i < c->ver.n; i++)
		if (kl_status_counts(&c->ver.v[i]) && !strcmp(c->ver.v[i].event, r->event))
			return true;
	return false;
}

static void push_text(const char *s, void *payload)
{
	kl_strvec_push(payload, s);
}

void kl_card_events(struct kl_strvec *out, const struct kl_card *c)
{
	kl_shape_each(c, &kl_shape_card, KL_FIELD_EVENT, push_text, out);
	kl_shape_each(c, &kl_shape_card, KL_FIELD_EVENTS, push_text, out);
	kl_strvec_uniq(out);
}

void kl_card_commits(struct kl_strvec *out, const struct kl_card *c)
{
	kl_shape_each(c, &kl_shape_card, KL_FIELD_COMMIT, push_text, out);
	kl_strvec_uniq(out);
}

bool kl_card_has_state(const struct kl_card *c, const char *commit)
{
	for (size_t i = 0; i < c->evidence.n; i++) {
		const struct kl_card_evidence *e = &c->evidence.v[i];

		if (!strcmp(e->before, commit) || !strcmp(e->after, commit) ||
		    (e->rederived && !strcmp(e->rederived, commit)))
			return true;
	}
	return false;
}

const struct kl_card_pre *kl_card_find_pre(const struct kl_card *c, const char *id, bool *sound)
{
	if (sound)
		*sound = true;
	for (size_t i = 0; i < c->sound.n; i++)
		if (!strcmp(c->sound.v[i].id, id))
			return &c->sound.v[i];
	if (sound)
		*sound = false;
	for (size_t i = 0; i < c->useful.n; i++)
		if (!strcmp(c->useful.v[i].id, id))
			return &c->useful.v[i];
	return NULL;
}

bool kl_card_has_pre(const struct kl_card *c, const char *id)
{
	return kl_card_find_pre(c, id, NULL);
}

const struct kl_card_carrier *kl_card_carrier(const struct kl_card *c, const char *language)
{
	for (size_t i = 0; i < c->carriers.n; i++)
		if (!strcmp(c->carriers.v[i].language, language))
			return &c->carriers.v[i];
	return NULL;
}

bool kl_carrier_is_mechanical(const struct kl_card_carrier *c)
{
	return c->form == KL_CARRIER_DIFF || c->form == KL_CARRIER_COCCI;
}

/* words of the text joined by '-', as many as fit */
static void make_slug(struct kl_buf *out, const char *text)
{
	for (const char *s = text; *s;) {
		size_t n = 0;

		while (*s && !isalnum((unsigned char)*s))
			s++;
		while (isalnum((unsigned char)s[n]))
			n++;
		if (!n || out->len + n + 1 > SLUG_MAX)
			break;
		if (out->len)
			kl_buf_addch(out, '-');
		for (size_t i = 0; i < n; i++)
			kl_buf_addch(out, (char)tolower((unsigned char)s[i]));
		s += n;
	}
	if (!out->len)
		kl_buf_adds(out, "card");
}

char *kl_card_make_id(const char *intent, const char *event)
{
	struct kl_buf b = KL_BUF_INIT;
	char digest[KL_DIGEST_HEX];

	make_slug(&b, intent);
	kl_digest_hex(digest, intent, strlen(intent));
	kl_buf_addf(&b, "-%.7s", event ? event : digest);
	return kl_buf_detach(&b);
}
