/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/wording_reply.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/reply/envelope.h"
#include "rewrite/reply/scan.h"

void kl_words_release(struct kl_words *words)
{
	free(words->intent);
	free(words->construct);
	free(words->acts_on);
	for (size_t i = 0; i < words->ncarrier; i++) {
		free(words->carrier[i].language);
		free(words->carrier[i].form);
		free(words->carrier[i].text);
	}
	for (size_t i = 0; i < words->npre; i++) {
		free(words->pre[i].id);
		free(words->pre[i].text);
		free(words->pre[i].test);
		free(words->pre[i].witness);
	}
	for (size_t i = 0; i < words->nrisk; i++) {
		free(words->risk[i].class_);
		free(words->risk[i].text);
		free(words->risk[i].violates);
		free(words->risk[i].events);
	}
	*words = (struct kl_words){ 0 };
}

/* Set *text to NULL if it is empty or "-". Either means that the model gives no text. */
static void or_null(char **text)
{
	if (!strcmp(*text, "-") || !**text) {
		free(*text);
		*text = NULL;
	}
}

static int check_room(const struct kl_scan *scan, size_t n, const char *what)
{
	return n < KL_WORDS_MOST ? 0 : kl_scan_bad(scan, "more than %d %s", KL_WORDS_MOST, what);
}

static int no_empty(const struct kl_scan *scan, const char *text, const char *key)
{
	return *text && strcmp(text, "-") ? 0 : kl_scan_bad(scan, "'%s:' is empty", key);
}

/* --- blocks ------------------------------------------------------------------------- */

static int take_card(struct kl_words *words, struct kl_scan *scan, const struct kl_scan_tag *tag)
{
	const struct kl_scan_field list[] = {
		{ "intent", &words->intent },
		{ "construct", &words->construct },
		{ "acts-on", &words->acts_on },
	};
	int err;

	if (words->intent)
		return kl_scan_bad(scan, "the reply has a second <card>; write exactly one");
	if ((err = kl_scan_alone(scan, tag)) < 0 ||
	    (err = kl_scan_keys(scan, "card", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(list); i++)
		if ((err = no_empty(scan, *list[i].value, list[i].key)) < 0)
			return err;
	return 0;
}

static int take_carrier(struct kl_words *words, struct kl_scan *scan, const struct kl_scan_tag *tag)
{
	int err = check_room(scan, words->ncarrier, "carriers");
	struct kl_words_carrier *carrier = &words->carrier[words->ncarrier];
	const struct kl_scan_field list[] = { { "language", &carrier->language },
					      { "form", &carrier->form } };

	if (err < 0)
		return err;
	words->ncarrier++;
	if ((err = kl_scan_attributes(scan, tag, list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	return kl_scan_body(&carrier->text, scan, "carrier");
}

static int take_pre(struct kl_words *words, struct kl_scan *scan, const struct kl_scan_tag *tag)
{
	KL_AUTO(kl_freep) char *kind = NULL;
	int err = check_room(scan, words->npre, "conditions");
	struct kl_words_pre *pre = &words->pre[words->npre];
	const struct kl_scan_field list[] = {
		{ "id", &pre->id },           { "kind", &kind },      { "test", &pre->test },
		{ "witness", &pre->witness }, { "text", &pre->text },
	};

	if (err < 0)
		return err;
	words->npre++;
	if ((err = kl_scan_alone(scan, tag)) < 0 ||
	    (err = kl_scan_keys(scan, "pre", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	if (!kl_envelope_slug(pre->id))
		return kl_scan_bad(
			scan,
			"the id '%.60s' is not lower-case words joined by '-', at most 40 "
			"bytes",
			pre->id);
	if (strcmp(kind, "sound") && strcmp(kind, "useful"))
		return kl_scan_bad(
			scan, "the kind of a condition must be 'sound' or 'useful', not '%.60s'",
			kind);
	pre->sound = !strcmp(kind, "sound");
	or_null(&pre->test);
	or_null(&pre->witness);
	return no_empty(scan, pre->text, "text");
}

static int take_risk(struct kl_words *words, struct kl_scan *scan, const struct kl_scan_tag *tag)
{
	int err = check_room(scan, words->nrisk, "risks");
	struct kl_words_risk *risk = &words->risk[words->nrisk];
	const struct kl_scan_field list[] = {
		{ "class", &risk->class_ },
		{ "violates", &risk->violates },
		{ "events", &risk->events },
		{ "text", &risk->text },
	};

	if (err < 0)
		return err;
	words->nrisk++;
	if ((err = kl_scan_alone(scan, tag)) < 0 ||
	    (err = kl_scan_keys(scan, "risk", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	or_null(&risk->violates);
	return no_empty(scan, risk->text, "text");
}

static int take_tag(struct kl_words *words, struct kl_scan *scan, const struct kl_scan_tag *tag)
{
	static const struct {
		const char *name;
		int (*fn)(struct kl_words *words, struct kl_scan *scan,
			  const struct kl_scan_tag *tag);
	} block[] = {
		{ "card", take_card },
		{ "carrier", take_carrier },
		{ "pre", take_pre },
		{ "risk", take_risk },
	};

	if (tag->closing)
		return kl_scan_bad(scan, "</%s> has no opening tag", tag->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(block); i++)
		if (!strcmp(block[i].name, tag->name))
			return block[i].fn(words, scan, tag);
	return kl_scan_bad(scan, "<%s> is not a tag of the answer format", tag->name);
}

int kl_words_parse(struct kl_words *out, const char *text, size_t len)
{
	static const char *const tags[] = { "card", "carrier", "pre", "risk", NULL };
	KL_AUTO(kl_words_release) struct kl_words words = { 0 };
	struct kl_scan scan = { .text = text, .len = len, .tag = tags };
	struct kl_scan_line line;
	struct kl_scan_tag tag;
	int err = kl_scan_check(text, len);

	while (!err && kl_scan_take(&line, &scan))
		if (kl_scan_tag(&tag, &scan, line))
			err = take_tag(&words, &scan, &tag);
	if (!err && !words.intent)
		err = kl_error(KL_EINVALID, "the reply has no <card>");
	if (err < 0)
		return err;
	*out = words;
	words = (struct kl_words){ 0 };
	return 0;
}
