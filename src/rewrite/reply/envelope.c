/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/reply/envelope.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/reply/scan.h"

/* --- words ------------------------------------------------------------------ */

bool kl_envelope_slug(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n && !text[n] && n <= 40 && text[0] != '-' && text[n - 1] != '-';
}

static bool is_none(const char *text)
{
	return !*text || !strcmp(text, "-") || !strcmp(text, "none");
}

char *kl_envelope_place(const char *locus)
{
	const char *colon = strchr(locus, ':'), *second;

	if (!colon)
		return kl_strdup(locus);
	if (colon[1] >= '0' && colon[1] <= '9')
		return kl_strndup(locus, colon - locus);
	second = strchr(colon + 1, ':');
	return second ? kl_strndup(locus, second - locus) : kl_strdup(locus);
}

static int one_trait(json_t *out, struct kl_scan_line line, const struct kl_scan *scan)
{
	KL_AUTO(kl_freep) char *word = kl_strndup(line.s, line.n);
	char *value = strchr(word, '=');

	if (!value)
		return kl_scan_bad(
			scan,
			"a trait must be written as name=yes, name=no or name=unknown, not '%.60s'",
			word);
	*value++ = '\0';
	if (!kl_envelope_slug(word))
		return kl_scan_bad(
			scan, "'%.60s' is not the name of a trait (lower-case words joined by '-')",
			word);
	if (strcmp(value, "yes") && strcmp(value, "no") && strcmp(value, "unknown"))
		return kl_scan_bad(scan, "the trait %s must be yes, no or unknown, not '%.60s'",
				   word, value);
	if (json_object_get(out, word))
		return kl_scan_bad(scan, "the trait %s is given twice", word);
	kl_json_set_str(out, word, value);
	return 0;
}

/* Parse "tiled=no, staged=no", or "-" for none. */
static int parse_traits(json_t **out, const char *text, const struct kl_scan *scan)
{
	KL_AUTO(json_decrefp) json_t *traits = json_object();

	while (!is_none(text)) {
		size_t n = strcspn(text, ",");
		struct kl_scan_line line = kl_scan_trim((struct kl_scan_line){ text, n });
		int err = one_trait(traits, line, scan);

		if (err < 0)
			return err;
		text += n + (text[n] == ',');
		while (*text == ' ' || *text == '\t')
			text++;
	}
	*out = kl_steal(&traits);
	return 0;
}

bool kl_envelope_locus_ok(const char *text)
{
	static const char some[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/:<>,~";

	return *text && strlen(text) <= 512 && !text[strspn(text, some)];
}

static int check_words(struct kl_envelope *envelope, const char *traits, const struct kl_scan *scan)
{
	if (!kl_envelope_slug(envelope->action))
		return kl_scan_bad(scan,
				   "the action '%.60s' is not lower-case words joined by '-', "
				   "at most 40 bytes",
				   envelope->action);
	if (is_none(envelope->mechanism))
		envelope->mechanism[0] = '\0';
	else if (!kl_envelope_slug(envelope->mechanism))
		return kl_scan_bad(scan,
				   "the mechanism '%.60s' is not lower-case words joined by '-'",
				   envelope->mechanism);
	if (!kl_envelope_locus_ok(envelope->locus))
		return kl_scan_bad(scan,
				   "the locus '%.60s' is not path, path:function or "
				   "path:function:lines",
				   envelope->locus);
	if (envelope->card &&
	    (strlen(envelope->card) > 64 ||
	     envelope->card[strspn(envelope->card, "abcdefghijklmnopqrstuvwxyz0123456789._-")]))
		return kl_scan_bad(scan, "'card:' must be the id of one card, not '%.60s'",
				   envelope->card);
	if (!*envelope->why || strlen(envelope->why) > KL_ENVELOPE_WHY)
		return kl_scan_bad(scan, "'why:' must be one line of at most %d bytes",
				   KL_ENVELOPE_WHY);
	return parse_traits(&envelope->traits, traits, scan);
}

/* --- the envelope ------------------------------------------------------------ */

struct parser {
	struct kl_scan s;
	struct kl_envelope *out;
	int step, nothing; /* lines of the tags <step> and <nothing-left>; 0 if not seen */
};

static struct kl_envelope_edit *add_edit(struct parser *parser, enum kl_edit_kind kind)
{
	struct kl_envelope *envelope = parser->out;

	KL_GROW(envelope->edit, envelope->n + 1, envelope->alloc);
	envelope->edit[envelope->n] = (struct kl_envelope_edit){ .kind = kind,
								 .line = parser->s.line };
	return &envelope->edit[envelope->n++];
}

static int take_step(struct parser *parser, const struct kl_scan_tag *tag)
{
	struct kl_envelope *envelope = parser->out;
	KL_AUTO(kl_freep) char *traits = NULL;
	const struct kl_scan_field list[] = {
		{ "action", &envelope->action }, { "mechanism", &envelope->mechanism },
		{ "locus", &envelope->locus },   { "traits", &traits },
		{ "why", &envelope->why },       { "?card", &envelope->card },
	};
	int err;

	if (parser->step)
		return kl_scan_bad(
			&parser->s,
			"the reply has a second <step>; the first is in line %d. Write only one "
			"step",
			parser->step);
	parser->step = parser->s.line;
	if ((err = kl_scan_alone(&parser->s, tag)) < 0 ||
	    (err = kl_scan_keys(&parser->s, "step", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	return check_words(envelope, traits, &parser->s);
}

static int take_file(struct parser *parser, const struct kl_scan_tag *tag)
{
	struct kl_envelope_edit *edit = add_edit(parser, KL_EDIT_FILE);
	const struct kl_scan_field list[] = { { "path", &edit->path } };
	int err = kl_scan_attributes(&parser->s, tag, list, 1);

	return err < 0 ? err : kl_scan_body(&edit->text, &parser->s, "file");
}

static int take_function(struct parser *parser, const struct kl_scan_tag *tag)
{
	struct kl_envelope_edit *edit = add_edit(parser, KL_EDIT_FUNCTION);
	const struct kl_scan_field list[] = { { "path", &edit->path }, { "name", &edit->name } };
	int err = kl_scan_attributes(&parser->s, tag, list, 2);

	return err < 0 ? err : kl_scan_body(&edit->text, &parser->s, "function");
}

/* Check that the next line that is not blank is this tag. */
static int expect_tag(struct parser *parser, const char *name, bool closing)
{
	struct kl_scan_line line;
	struct kl_scan_tag tag;

	while (kl_scan_take(&line, &parser->s)) {
		if (!kl_scan_trim(line).n)
			continue;
		if (!kl_scan_tag(&tag, &parser->s, line) || strcmp(tag.name, name) ||
		    tag.closing != closing)
			return kl_scan_bad(&parser->s, "expected <%s%s> here", closing ? "/" : "",
					   name);
		return kl_scan_alone(&parser->s, &tag);
	}
	return kl_error(KL_EINVALID, "the reply ends where <%s%s> is expected; was it cut short?",
			closing ? "/" : "", name);
}

static int take_edit(struct parser *parser, const struct kl_scan_tag *tag)
{
	struct kl_envelope_edit *edit = add_edit(parser, KL_EDIT_SEARCH);
	const struct kl_scan_field list[] = { { "path", &edit->path } };
	int err;

	if ((err = kl_scan_attributes(&parser->s, tag, list, 1)) < 0 ||
	    (err = expect_tag(parser, "search", false)) < 0 ||
	    (err = kl_scan_body(&edit->search, &parser->s, "search")) < 0 ||
	    (err = expect_tag(parser, "replace", false)) < 0 ||
	    (err = kl_scan_body(&edit->text, &parser->s, "replace")) < 0)
		return err;
	return expect_tag(parser, "edit", true);
}

static int take_nothing(struct parser *parser, const struct kl_scan_tag *tag)
{
	if (parser->nothing)
		return kl_scan_bad(&parser->s, "the reply has a second <nothing-left>");
	parser->nothing = parser->s.line;
	return kl_scan_phrase(&parser->out->why, &parser->s, tag);
}

/* Fail with the text of <refused>, which kl_layout_collect() adds for a file it cannot take. */
static int take_refused(struct parser *parser, const struct kl_scan_tag *tag)
{
	KL_AUTO(kl_freep) char *why = NULL;
	int err = kl_scan_phrase(&why, &parser->s, tag);

	return err < 0 ? err : kl_error(KL_EINVALID, "%.400s", why);
}

static int take_tag(struct parser *parser, const struct kl_scan_tag *tag)
{
	static const struct {
		const char *name;
		int (*fn)(struct parser *parser, const struct kl_scan_tag *tag);
	} handler[] = {
		{ "step", take_step },
		{ "file", take_file },
		{ "function", take_function },
		{ "edit", take_edit },
		{ "nothing-left", take_nothing },
		{ "refused", take_refused },
	};

	if (tag->closing)
		return kl_scan_bad(&parser->s, "</%s> has no opening tag", tag->name);
	if (parser->out->n >= KL_ENVELOPE_EDITS)
		return kl_scan_bad(&parser->s, "the reply has more than %d edits",
				   KL_ENVELOPE_EDITS);
	if (parser->nothing && strcmp(tag->name, "nothing-left"))
		return kl_scan_bad(
			&parser->s,
			"the reply has both <%s> and <nothing-left>; write only one of them",
			tag->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(handler); i++)
		if (!strcmp(handler[i].name, tag->name)) {
			if (handler[i].fn == take_nothing && (parser->step || parser->out->n))
				return kl_scan_bad(
					&parser->s,
					"the reply has both a step and <nothing-left>; write only "
					"one of them");
			return handler[i].fn(parser, tag);
		}
	return kl_scan_bad(&parser->s, "<%s> is outside of an <edit>", tag->name);
}

static int parse_envelope(struct parser *parser)
{
	struct kl_scan_line line;
	struct kl_scan_tag tag;
	int err;

	while (kl_scan_take(&line, &parser->s))
		if (kl_scan_tag(&tag, &parser->s, line) && (err = take_tag(parser, &tag)) < 0)
			return err;
	if (parser->nothing)
		return 0;
	if (!parser->step && !parser->out->n)
		return kl_error(KL_EINVALID, "the reply has no <step> and no <nothing-left>");
	if (!parser->step)
		return kl_error(KL_EINVALID,
				"the reply has edits, but no <step> that describes them");
	if (!parser->out->n)
		return kl_error(
			KL_EINVALID,
			"the reply has a <step>, but no edit (<file>, <function> or <edit>)");
	return 0;
}

int kl_envelope_parse(struct kl_envelope *out, const char *text, size_t len)
{
	static const char *const tags[] = { "step",    "file",         "function", "edit", "search",
					    "replace", "nothing-left", "refused",  NULL };
	struct parser parser = { .s = { .text = text, .len = len, .tag = tags }, .out = out };
	int err;

	*out = (struct kl_envelope){ 0 };
	if ((err = kl_scan_check(text, len)) < 0)
		return err;
	if ((err = parse_envelope(&parser)) < 0) {
		kl_envelope_release(out);
		return err;
	}
	out->kind = parser.nothing ? KL_ENVELOPE_NOTHING : KL_ENVELOPE_STEP;
	return 0;
}

void kl_envelope_release(struct kl_envelope *envelope)
{
	for (size_t i = 0; i < envelope->n; i++) {
		free(envelope->edit[i].path);
		free(envelope->edit[i].name);
		free(envelope->edit[i].search);
		free(envelope->edit[i].text);
	}
	free(envelope->edit);
	free(envelope->action);
	free(envelope->mechanism);
	free(envelope->locus);
	free(envelope->why);
	free(envelope->card);
	json_decref(envelope->traits);
	*envelope = (struct kl_envelope){ 0 };
}
