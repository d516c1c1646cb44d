/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/envelope.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/scan.h"

/* --- words ------------------------------------------------------------------ */

bool kl_envelope_slug(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n && !s[n] && n <= 40 && s[0] != '-' && s[n - 1] != '-';
}

static bool is_none(const char *s)
{
	return !*s || !strcmp(s, "-") || !strcmp(s, "none");
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

static int one_trait(json_t *out, struct kl_scan_line l, const struct kl_scan *s)
{
	KL_AUTO(kl_freep) char *word = kl_strndup(l.s, l.n);
	char *value = strchr(word, '=');

	if (!value)
		return kl_scan_bad(s, "a trait is said as name=yes, =no or =unknown, not '%.60s'",
				   word);
	*value++ = '\0';
	if (!kl_envelope_slug(word))
		return kl_scan_bad(s,
				   "'%.60s' is no name of a trait: lower-case words joined by "
				   "'-'",
				   word);
	if (strcmp(value, "yes") && strcmp(value, "no") && strcmp(value, "unknown"))
		return kl_scan_bad(s, "the trait %s is yes, no or unknown, not '%.60s'", word,
				   value);
	if (json_object_get(out, word))
		return kl_scan_bad(s, "the trait %s is said twice", word);
	kl_json_set_str(out, word, value);
	return 0;
}

/* "tiled=no, staged=no", or "-" */
static int parse_traits(json_t **out, const char *text, const struct kl_scan *s)
{
	KL_AUTO(json_decrefp) json_t *traits = json_object();

	while (!is_none(text)) {
		size_t n = strcspn(text, ",");
		struct kl_scan_line l = kl_scan_trim((struct kl_scan_line){ text, n });
		int err = one_trait(traits, l, s);

		if (err < 0)
			return err;
		text += n + (text[n] == ',');
		while (*text == ' ' || *text == '\t')
			text++;
	}
	*out = kl_steal(&traits);
	return 0;
}

bool kl_envelope_locus_ok(const char *s)
{
	static const char some[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+/:<>,~";

	return *s && strlen(s) <= 512 && !s[strspn(s, some)];
}

static int check_words(struct kl_envelope *r, const char *traits, const struct kl_scan *s)
{
	if (!kl_envelope_slug(r->action))
		return kl_scan_bad(s,
				   "the action '%.60s' is not lower-case words joined by '-', "
				   "at most 40 bytes",
				   r->action);
	if (is_none(r->mechanism))
		r->mechanism[0] = '\0';
	else if (!kl_envelope_slug(r->mechanism))
		return kl_scan_bad(s, "the mechanism '%.60s' is not lower-case words joined by '-'",
				   r->mechanism);
	if (!kl_envelope_locus_ok(r->locus))
		return kl_scan_bad(s,
				   "the locus '%.60s' is not path, path:function or "
				   "path:function:lines",
				   r->locus);
	if (r->card && (strlen(r->card) > 64 ||
			r->card[strspn(r->card, "abcdefghijklmnopqrstuvwxyz0123456789._-")]))
		return kl_scan_bad(s, "'card:' takes the id of one card, not '%.60s'", r->card);
	if (!*r->why || strlen(r->why) > KL_ENVELOPE_WHY)
		return kl_scan_bad(s, "'why:' is one line of at most %d bytes", KL_ENVELOPE_WHY);
	return parse_traits(&r->traits, traits, s);
}

/* --- the envelope ------------------------------------------------------------ */

struct parser {
	struct kl_scan s;
	struct kl_envelope *out;
	int step, nothing; /* lines of the reply, 0: not seen */
};

static struct kl_envelope_edit *add_edit(struct parser *p, enum kl_edit_kind kind)
{
	struct kl_envelope *r = p->out;

	KL_GROW(r->edit, r->n + 1, r->alloc);
	r->edit[r->n] = (struct kl_envelope_edit){ .kind = kind, .line = p->s.line };
	return &r->edit[r->n++];
}

static int take_step(struct parser *p, const struct kl_scan_tag *t)
{
	struct kl_envelope *r = p->out;
	KL_AUTO(kl_freep) char *traits = NULL;
	const struct kl_scan_field list[] = {
		{ "action", &r->action }, { "mechanism", &r->mechanism },
		{ "locus", &r->locus },   { "traits", &traits },
		{ "why", &r->why },       { "?card", &r->card },
	};
	int err;

	if (p->step)
		return kl_scan_bad(&p->s,
				   "a second <step>; the first is in line %d, and one answer is "
				   "one step",
				   p->step);
	p->step = p->s.line;
	if ((err = kl_scan_alone(&p->s, t)) < 0 ||
	    (err = kl_scan_keys(&p->s, "step", list, KL_ARRAY_SIZE(list))) < 0)
		return err;
	return check_words(r, traits, &p->s);
}

static int take_file(struct parser *p, const struct kl_scan_tag *t)
{
	struct kl_envelope_edit *e = add_edit(p, KL_EDIT_FILE);
	const struct kl_scan_field list[] = { { "path", &e->path } };
	int err = kl_scan_attributes(&p->s, t, list, 1);

	return err < 0 ? err : kl_scan_body(&e->text, &p->s, "file");
}

static int take_function(struct parser *p, const struct kl_scan_tag *t)
{
	struct kl_envelope_edit *e = add_edit(p, KL_EDIT_FUNCTION);
	const struct kl_scan_field list[] = { { "path", &e->path }, { "name", &e->name } };
	int err = kl_scan_attributes(&p->s, t, list, 2);

	return err < 0 ? err : kl_scan_body(&e->text, &p->s, "function");
}

/* the next line that says something has to be this tag */
static int expect_tag(struct parser *p, const char *name, bool closing)
{
	struct kl_scan_line l;
	struct kl_scan_tag t;

	while (kl_scan_take(&l, &p->s)) {
		if (!kl_scan_trim(l).n)
			continue;
		if (!kl_scan_tag(&t, &p->s, l) || strcmp(t.name, name) || t.closing != closing)
			return kl_scan_bad(&p->s, "<%s%s> is wanted here", closing ? "/" : "",
					   name);
		return kl_scan_alone(&p->s, &t);
	}
	return kl_error(KL_EINVALID, "the reply ends where <%s%s> is wanted; was it cut short?",
			closing ? "/" : "", name);
}

static int take_edit(struct parser *p, const struct kl_scan_tag *t)
{
	struct kl_envelope_edit *e = add_edit(p, KL_EDIT_SEARCH);
	const struct kl_scan_field list[] = { { "path", &e->path } };
	int err;

	if ((err = kl_scan_attributes(&p->s, t, list, 1)) < 0 ||
	    (err = expect_tag(p, "search", false)) < 0 ||
	    (err = kl_scan_body(&e->search, &p->s, "search")) < 0 ||
	    (err = expect_tag(p, "replace", false)) < 0 ||
	    (err = kl_scan_body(&e->text, &p->s, "replace")) < 0)
		return err;
	return expect_tag(p, "edit", true);
}

static int take_nothing(struct parser *p, const struct kl_scan_tag *t)
{
	if (p->nothing)
		return kl_scan_bad(&p->s, "a second <nothing-left>");
	p->nothing = p->s.line;
	return kl_scan_phrase(&p->out->why, &p->s, t);
}

/* whoever collected the reply could not take what it led to */
static int take_refused(struct parser *p, const struct kl_scan_tag *t)
{
	KL_AUTO(kl_freep) char *why = NULL;
	int err = kl_scan_phrase(&why, &p->s, t);

	return err < 0 ? err : kl_error(KL_EINVALID, "%.400s", why);
}

static int take_tag(struct parser *p, const struct kl_scan_tag *t)
{
	static const struct {
		const char *name;
		int (*fn)(struct parser *p, const struct kl_scan_tag *t);
	} handler[] = {
		{ "step", take_step },
		{ "file", take_file },
		{ "function", take_function },
		{ "edit", take_edit },
		{ "nothing-left", take_nothing },
		{ "refused", take_refused },
	};

	if (t->closing)
		return kl_scan_bad(&p->s, "</%s> closes nothing", t->name);
	if (p->out->n >= KL_ENVELOPE_EDITS)
		return kl_scan_bad(&p->s, "more than %d edits", KL_ENVELOPE_EDITS);
	if (p->nothing && strcmp(t->name, "nothing-left"))
		return kl_scan_bad(&p->s, "<%s> and <nothing-left> in one reply", t->name);
	for (size_t i = 0; i < KL_ARRAY_SIZE(handler); i++)
		if (!strcmp(handler[i].name, t->name)) {
			if (handler[i].fn == take_nothing && (p->step || p->out->n))
				return kl_scan_bad(&p->s, "<nothing-left> and a step in one reply");
			return handler[i].fn(p, t);
		}
	return kl_scan_bad(&p->s, "<%s> stands outside of an <edit>", t->name);
}

static int parse_envelope(struct parser *p)
{
	struct kl_scan_line l;
	struct kl_scan_tag t;
	int err;

	while (kl_scan_take(&l, &p->s))
		if (kl_scan_tag(&t, &p->s, l) && (err = take_tag(p, &t)) < 0)
			return err;
	if (p->nothing)
		return 0;
	if (!p->step && !p->out->n)
		return kl_error(KL_EINVALID, "the reply has no <step> and no <nothing-left>");
	if (!p->step)
		return kl_error(KL_EINVALID, "the reply has edits and no <step> that says what "
					     "they are");
	if (!p->out->n)
		return kl_error(KL_EINVALID, "the reply has a <step> and no edit: <file>, "
					     "<function> or <edit>");
	return 0;
}

int kl_envelope_parse(struct kl_envelope *out, const char *text, size_t len)
{
	static const char *const tags[] = { "step",    "file",         "function", "edit", "search",
					    "replace", "nothing-left", "refused",  NULL };
	struct parser p = { .s = { .text = text, .len = len, .tag = tags }, .out = out };
	int err;

	*out = (struct kl_envelope){ 0 };
	if ((err = kl_scan_check(text, len)) < 0)
		return err;
	if ((err = parse_envelope(&p)) < 0) {
		kl_envelope_release(out);
		return err;
	}
	out->kind = p.nothing ? KL_ENVELOPE_NOTHING : KL_ENVELOPE_STEP;
	return 0;
}

void kl_envelope_release(struct kl_envelope *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->edit[i].path);
		free(r->edit[i].name);
		free(r->edit[i].search);
		free(r->edit[i].text);
	}
	free(r->edit);
	free(r->action);
	free(r->mechanism);
	free(r->locus);
	free(r->why);
	free(r->card);
	json_decref(r->traits);
	*r = (struct kl_envelope){ 0 };
}
