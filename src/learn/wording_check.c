/* SPDX-License-Identifier: Apache-2.0 */
/* wording_check - checks a model's words for a card against the data of its steps */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "card/predicate.h"
#include "learn/lift_parts.h"
#include "learn/wording_parts.h"

#define PLAN "the launch plan" /* of a card that is about it alone (lift_fill.c) */

static int refuse_wording(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int refuse_wording(const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	return kl_error(KL_EINVALID, "%s", b.ptr);
}

/* --- texts -------------------------------------------------------------------------- */

/* a number with a unit of speed: it would be evidence, and nobody measured it here */
static bool tells_speed(const char *s)
{
	static const char *const unit[] = {
		"x",       "X",    "%",    "times", "fold",  "percent", "ns",     "us",     "ms",
		"seconds", "GB/s", "TB/s", "GFLOP", "TFLOP", "GFLOPS",  "TFLOPS", "cycles",
	};

	for (; *s; s++) {
		const char *p = s + 1;

		if (!isdigit((unsigned char)*s) || isdigit((unsigned char)*p) || *p == '.')
			continue;
		if (!strncmp(p, "\xc3\x97", 2)) /* the sign for times */
			return true;
		p += *p == '-' || *p == ' ';
		for (size_t i = 0; i < KL_ARRAY_SIZE(unit); i++) {
			size_t n = strlen(unit[i]);

			/* "32 x 8" is a shape */
			if (!strncmp(p, unit[i], n) && !isalnum((unsigned char)p[n]) &&
			    !(n == 1 && p[n] == ' ' && isdigit((unsigned char)p[n + 1])))
				return true;
		}
	}
	return false;
}

static int check_text(const char *text, const char *what)
{
	if (tells_speed(text))
		return refuse_wording(
			"%s tells a speed; how much it gained stands in the card as it was measured: "
			"'%.80s'",
			what, text);
	return 0;
}

/* words that are only of the kernels it was learned from are not portable */
static int check_portable(const struct kl_wording_group *g, const char *text, const char *what)
{
	for (size_t i = 0; i < g->n; i++)
		for (size_t k = 0; k < g->t[i]->from->nfile; k++)
			if (strstr(text, g->t[i]->from->file[k].path))
				return refuse_wording(
					"%s names the file '%s' of one kernel; say it for any kernel",
					what, g->t[i]->from->file[k].path);
	return check_text(text, what);
}

/* --- predicates ------------------------------------------------------------------------ */

/* "has(ldg.128)": the member, if the key is a call of that function */
static char *member_of(const char *key, const char *function)
{
	size_t n = strlen(function), len = strlen(key);

	if (strncmp(key, function, n) || key[n] != '(' || key[len - 1] != ')')
		return NULL;
	return kl_strndup(key + n + 1, len - n - 2);
}

static bool known_somewhere(const struct kl_wording_group *g, const char *key)
{
	for (size_t i = 0; i < g->n; i++)
		if (kl_known_has(&g->before[i].known, key))
			return true;
	return false;
}

/* does the data know what it names? What is closed knows of everything that it is not there. */
static int check_key(const struct kl_wording_group *g, const char *id, const char *key)
{
	KL_AUTO(kl_freep) char *has = member_of(key, "has");
	KL_AUTO(kl_freep) char *cap = member_of(key, "cap");

	if (has && !kl_strvec_has(&g->features, has))
		return refuse_wording(
			"the condition '%s' asks for the feature '%s', which no state here has and no "
			"mechanism knows",
			id, has);
	if (cap && kl_taxonomy_cap(g->w->tax, cap) < 0)
		return refuse_wording(
			"the condition '%s' asks for the capability '%s', which the table does not have",
			id, cap);
	if (!known_somewhere(g, key))
		return refuse_wording(
			"the condition '%s' asks for '%s', of which nothing is known at any of the steps",
			id, key);
	return 0;
}

static int check_names(const struct kl_wording_group *g, const struct kl_words_pre *p)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *parsed = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec keys = KL_STRVEC_INIT;
	int err = kl_predicate_parse(&parsed, p->test, NULL);

	if (err < 0)
		return kl_error_in(err, "the test of '%s'", p->id);
	kl_predicate_keys(&keys, parsed);
	if (!keys.n)
		return refuse_wording("the test of '%s' asks for nothing", p->id);
	for (size_t i = 0; i < keys.n; i++)
		if ((err = check_key(g, p->id, keys.v[i])) < 0)
			return err;
	return 0;
}

/*
 * every step here was accepted: what is false of one is not needed; what is true of none was not
 * seen
 */
static int check_steps(struct kl_wording_group *g, const struct kl_words_pre *p)
{
	bool seen = false;

	for (size_t i = 0; i < g->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
		enum kl_truth truth = kl_target_test(&g->before[i], p->test, p->sound, &why);

		if (p->sound && truth == KL_FALSE)
			return refuse_wording(
				"'%s' cannot be sound: %s step %d was accepted, and there it is false "
				"(%s)",
				p->id, g->t[i]->lineage, g->t[i]->step.number, why.ptr);
		seen |= truth == KL_TRUE &&
			(p->sound || g->n == 1 || kl_lift_speed_of(g->t[i]) == KL_SPEED_FAST);
	}
	if (!seen)
		return refuse_wording("'%s' is true of none of the steps%s: '%s'", p->id,
				      p->sound ? "" : " that were faster", p->test);
	return 0;
}

/* --- labels ------------------------------------------------------------------------------- */

/* "R2": its index; -1 */
static long label_number(const char *s, char kind, size_t n)
{
	char rest;
	unsigned long i;

	if (*s != kind || !isdigit((unsigned char)s[1]) ||
	    sscanf(s + 1, "%4lu%c", &i, &rest) != 1 || i < 1 || i > n)
		return -1;
	return (long)i - 1;
}

static size_t shown_steps(const struct kl_wording_group *g)
{
	return g->n < KL_WORDING_STEPS ? g->n : KL_WORDING_STEPS;
}

static int find_witness(const struct kl_refusal **out, struct kl_wording_group *g,
			const struct kl_words_pre *p)
{
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	long i = label_number(p->witness, 'R', g->nrefused);

	if (i < 0)
		return refuse_wording(
			"the witness '%.20s' of '%s' is none of the refused steps R1 to R%zu",
			p->witness, p->id, g->nrefused);
	if (p->test && !g->known[i])
		return refuse_wording("%s cannot be the witness of '%s': its files are not here",
				      p->witness, p->id);
	if (p->test && kl_target_test(&g->at[i], p->test, true, &why) != KL_FALSE)
		return refuse_wording("%s is no witness of '%s': the test is not false there (%s)",
				      p->witness, p->id, why.ptr);
	*out = g->refused[i];
	return 0;
}

/* --- into the card --------------------------------------------------------------------------- */

static int add_pre(struct kl_card *c, struct kl_wording_group *g, const struct kl_words_pre *p)
{
	const struct kl_refusal *by = NULL;
	struct kl_card_pre pre;
	int err = check_text(p->text, "a condition");

	if (kl_card_has_pre(c, p->id))
		return refuse_wording("the card has a condition '%s' already", p->id);
	if (!err && p->test)
		err = check_names(g, p);
	if (!err && p->test)
		err = check_steps(g, p);
	if (!err && p->witness)
		err = find_witness(&by, g, p);
	if (err < 0)
		return err;
	pre = (struct kl_card_pre){
		.id = kl_strdup(p->id),
		.text = kl_strdup(p->text),
		.test = p->test ? kl_strdup(p->test) : NULL,
		.state = by ? KL_PRE_WITNESSED : KL_PRE_ASSUMED,
		.by = by ? kl_strdup(by->event->id) : NULL,
		.class_ = by ? kl_strdup(kl_event_class(by->event)) : NULL,
	};
	if (p->sound) {
		KL_GROW(c->sound.v, c->sound.n + 1, c->sound.alloc);
		c->sound.v[c->sound.n++] = pre;
	} else {
		KL_GROW(c->useful.v, c->useful.n + 1, c->useful.alloc);
		c->useful.v[c->useful.n++] = pre;
	}
	return 0;
}

/* what a risk cites failed so, or was slower */
static int cite_events(struct kl_strvec *events, const struct kl_wording_group *g, const char *word,
		       const char *class_)
{
	long r = label_number(word, 'R', g->nrefused), t = label_number(word, 'T', shown_steps(g));
	const char *was = r >= 0 ? kl_event_class(g->refused[r]->event) :
			  t >= 0 && kl_lift_speed_of(g->t[t]) == KL_SPEED_SLOW ? "slower" :
										 "";

	if (r < 0 && t < 0)
		return refuse_wording("a risk cites '%.20s', which is none of the steps shown",
				      word);
	if (!*was)
		return refuse_wording("a risk cites %s, which did not fail and was not slower",
				      word);
	if (strcmp(was, class_))
		return refuse_wording("a risk of class '%.40s' cites %s, which was '%s'", class_,
				      word, was);
	kl_strvec_push(events, r >= 0 ? g->refused[r]->event->id : g->t[t]->event->id);
	return 0;
}

static int add_risk(struct kl_card *c, const struct kl_wording_group *g,
		    const struct kl_words_risk *r)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec labels = KL_STRVEC_INIT,
						    events = KL_STRVEC_INIT;
	struct kl_card_risk risk = { 0 };
	int err = check_text(r->text, "a risk");

	if (r->violates && !kl_card_has_pre(c, r->violates))
		return refuse_wording("a risk violates '%.40s', and the card has no such condition",
				      r->violates);
	kl_strvec_split(&labels, r->events, ", ");
	if (!labels.n || !strcmp(r->events, "-"))
		return refuse_wording("a risk cites no step: what nobody saw fail is no risk here");
	for (size_t i = 0; !err && i < labels.n; i++)
		err = cite_events(&events, g, labels.v[i], r->class_);
	if (err < 0)
		return err;
	risk.class_ = kl_strdup(r->class_);
	risk.text = kl_strdup(r->text);
	risk.violates = r->violates ? kl_strdup(r->violates) : NULL;
	kl_strvec_copy(&risk.events, &events);
	kl_card_add_risk(c, &risk);
	return 0;
}

static int form_of(enum kl_carrier_form *out, const char *word)
{
	static const enum kl_carrier_form form[] = {
		KL_CARRIER_SNIPPET,
		KL_CARRIER_SCHEDULE,
		KL_CARRIER_PSEUDOCODE,
		KL_CARRIER_PROSE,
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(form); i++)
		if (!strcmp(kl_carrier_form_name(form[i]), word)) {
			*out = form[i];
			return 0;
		}
	return refuse_wording(
		"a carrier has the form annotated-snippet, schedule, pseudocode or prose, not '%.40s'; "
		"what tools apply is taken from the steps",
		word);
}

/* the best step of the language: it is what the carrier tells of */
static const struct kl_transition *step_in(const struct kl_wording_group *g, const char *language)
{
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(g->t[i]->from->contract->language->name, language))
			return g->t[i];
	return NULL;
}

static int add_carrier(struct kl_card *c, const struct kl_wording_group *g,
		       const struct kl_words_carrier *k)
{
	const struct kl_transition *t = step_in(g, k->language);
	enum kl_carrier_form form = KL_CARRIER_PROSE;
	int err = form_of(&form, k->form);

	if (!err && !t)
		err = refuse_wording("a carrier is in '%.40s', and none of the steps is",
				     k->language);
	if (!err && !*k->text)
		err = refuse_wording("a carrier is empty");
	if (!err && form == KL_CARRIER_PROSE)
		err = check_text(k->text, "a carrier");
	for (size_t i = 0; !err && i < c->carriers.n; i++)
		if (!strcmp(c->carriers.v[i].language, k->language) &&
		    c->carriers.v[i].form == form)
			err = refuse_wording("a second carrier of the form '%s' in '%s'", k->form,
					     k->language);
	if (err < 0)
		return err;
	KL_GROW(c->carriers.v, c->carriers.n + 1, c->carriers.alloc);
	c->carriers.v[c->carriers.n++] = (struct kl_card_carrier){
		.language = kl_strdup(k->language),
		.form = form,
		.of = kl_strdup(t->event->id),
		.text = kl_strdup(k->text),
	};
	return 0;
}

static void replace_text(char **field, const char *text)
{
	free(*field);
	*field = kl_strdup(text);
}

/* as its reader will see it; the same limits for all */
static int read_again(struct kl_card **out, const struct kl_card *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_card_write(&text, c);
	return kl_card_parse(out, c->id, text.ptr, text.len);
}

int kl_wording_check(struct kl_card **out, struct kl_wording_group *g, const struct kl_words *w)
{
	KL_AUTO(kl_card_freep) struct kl_card *c = kl_card_copy(g->r->card);
	int err = check_portable(g, w->intent, "the intent");

	if (!err)
		err = check_portable(g, w->construct, "the construct");
	if (!err)
		err = check_portable(g, w->acts_on, "'acts-on'");
	if (!err && !strcmp(w->construct, PLAN) && strcmp(c->anchor.construct, PLAN))
		err = refuse_wording("the construct is not the launch plan alone");
	for (size_t i = 0; !err && i < w->npre; i++)
		err = add_pre(c, g, &w->pre[i]);
	for (size_t i = 0; !err && i < w->nrisk; i++)
		err = add_risk(c, g, &w->risk[i]);
	for (size_t i = 0; !err && i < w->ncarrier; i++)
		err = add_carrier(c, g, &w->carrier[i]);
	if (err < 0)
		return err;
	replace_text(&c->intent, w->intent);
	/* what the launch plan alone is about tells cards apart, and stays */
	if (strcmp(c->anchor.construct, PLAN))
		replace_text(&c->anchor.construct, w->construct);
	replace_text(&c->anchor.acts_on, w->acts_on);
	kl_card_normalize(c);
	return read_again(out, c);
}
