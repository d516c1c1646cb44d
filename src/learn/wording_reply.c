/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/wording_reply.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/envelope.h"
#include "rewrite/scan.h"

void kl_words_release(struct kl_words *w)
{
	free(w->intent);
	free(w->construct);
	free(w->acts_on);
	for (size_t i = 0; i < w->ncarrier; i++) {
		free(w->carrier[i].language);
		free(w->carrier[i].form);
		free(w->carrier[i].text);
	}
	for (size_t i = 0; i < w->npre; i++) {
		free(w->pre[i].id);
		free(w->pre[i].text);
		free(w->pre[i].test);
		free(w->pre[i].witness);
	}
	for (size_t i = 0; i < w->nrisk; i++) {
		free(w->risk[i].class_);
		free(w->risk[i].text);
		free(w->risk[i].violates);
		free(w->risk[i].events);
	}
	*w = (struct kl_words){ 0 };
}

/* "-" stands for nothing */
static void or_null(char **s)
{
	if (!strcmp(*s, "-") || !**s) {
		free(*s);
		*s = NULL;
	}
}

static int check_room(const struct kl_scan *s, size_t n, const char *what)
{
	return n < KL_WORDS_MOST ? 0 : kl_scan_bad(s, "more than %d %s", KL_WORDS_MOST, what);
}

static int no_empty(const struct kl_scan *s, const char *text, const char *key)
{
	return *text && strcmp(text, "-") ? 0 : kl_scan_bad(s, "'%s:' says nothing", key);
}

/* --- blocks ------------------------------------------------------------------------- */

static int take_card(struct kl_words *w, struct kl_scan *s, const struct kl_scan_tag *t)
{
	const struct kl_scan_field list[] = {
		{ "intent", &w->intent },
		{ "construct", &w->construct },
		{ "acts-on", &w->acts_on },
	};
	int err;

	if (w->intent)
		return kl_scan_bad(s, "a second <card>; one answer is one card");
	if ((err = kl_scan_alone(s, t)) < 0 ||
	    (err = kl_scan_keys(s, "card", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(list); i++)
		if ((err = no_empty(s, *list[i].value, list[i].key)) < 0)
			return err;
	return 0;
}

static int take_carrier(struct kl_words *w, struct kl_scan *s, const struct kl_scan_tag *t)
{
	int err = check_room(s, w->ncarrier, "carriers");
	struct kl_words_carrier *c = &w->carrier[w->ncarrier];
	const struct kl_scan_field list[] = { { "language", &c->language }, { "form", &c->form } };

	if (err < 0)
		return err;
	w->ncarrier++;
	if ((err = kl_scan_attributes(s, t, list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	return kl_scan_body(&c->text, s, "carrier");
}

static int take_pre(struct kl_words *w, struct kl_scan *s, const struct kl_scan_tag *t)
{
	KL_AUTO(kl_freep) char *kind = NULL;
	int err = check_room(s, w->npre, "conditions");
	struct kl_words_pre *p = &w->pre[w->npre];
	const struct kl_scan_field list[] = {
		{ "id", &p->id },           { "kind", &kind },    { "test", &p->test },
		{ "witness", &p->witness }, { "text", &p->text },
	};

	if (err < 0)
		return err;
	w->npre++;
	if ((err = kl_scan_alone(s, t)) < 0 ||
	    (err = kl_scan_keys(s, "pre", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	if (!kl_envelope_slug(p->id))
		return kl_scan_bad(
			s,
			"the id '%.60s' is not lower-case words joined by '-', at most 40 "
			"bytes",
			p->id);
	if (strcmp(kind, "sound") && strcmp(kind, "useful"))
		return kl_scan_bad(s, "a condition is 'sound' or 'useful', not '%.60s'", kind);
	p->sound = !strcmp(kind, "sound");
	or_null(&p->test);
	or_null(&p->witness);
	return no_empty(s, p->text, "text");
}

static int take_risk(struct kl_words *w, struct kl_scan *s, const struct kl_scan_tag *t)
{
	int err = check_room(s, w->nrisk, "risks");
	struct kl_words_risk *r = &w->risk[w->nrisk];
	const struct kl_scan_field list[] = {
		{ "class", &r->class_ },
		{ "violates", &r->violates },
		{ "events", &r->events },
		{ "text", &r->text },
	};

	if (err < 0)
		return err;
	w->nrisk++;
	if ((err = kl_scan_alone(s, t)) < 0 ||
	    (err = kl_scan_keys(s, "risk", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	or_null(&r->violates);
	return no_empty(s, r->text, "text");
}

static int take_tag(struct kl_words *w, struct kl_scan *s, const struct kl_scan_tag *t)
{
	static const struct {
		const char *name;
		int (*fn)(struct kl_words *w, struct kl_scan *s, const struct kl_scan_tag *t);
	} block[] = {
		{ "card", take_card },
		{ "carrier", take_carrier },
		{ "pre", take_pre },
		{ "risk", take_risk },
	};

	if (t->closing)
		return kl_scan_bad(s, "</%s> closes nothing", t->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(block); i++)
		if (!strcmp(block[i].name, t->name))
			return block[i].fn(w, s, t);
	return kl_scan_bad(s, "<%s> is no part of an answer", t->name);
}

int kl_words_parse(struct kl_words *out, const char *text, size_t len)
{
	static const char *const tags[] = { "card", "carrier", "pre", "risk", NULL };
	KL_AUTO(kl_words_release) struct kl_words w = { 0 };
	struct kl_scan s = { .text = text, .len = len, .tag = tags };
	struct kl_scan_line l;
	struct kl_scan_tag t;
	int err = kl_scan_check(text, len);

	while (!err && kl_scan_take(&l, &s))
		if (kl_scan_tag(&t, &s, l))
			err = take_tag(&w, &s, &t);
	if (!err && !w.intent)
		err = kl_error(KL_EINVALID, "the reply has no <card>");
	if (err < 0)
		return err;
	*out = w;
	w = (struct kl_words){ 0 };
	return 0;
}
