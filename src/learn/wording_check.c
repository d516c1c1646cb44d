/* SPDX-License-Identifier: Apache-2.0 */
/* wording_check - checks the texts that a model wrote for a card against the data of its steps */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "card/predicate.h"
#include "learn/lift_parts.h"
#include "learn/wording_parts.h"

/* text of `construct` in a card that is about the launch plan only (lift_anchor.c) */
#define PLAN "the launch plan"

static int refuse_wording(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int refuse_wording(const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&buf, fmt, ap);
	va_end(ap);
	return kl_error(KL_EINVALID, "%s", buf.ptr);
}

/*
 * --- texts --------------------------------------------------------------------------
 */

/* Return true if the text has a number with a unit of speed: only measurements may state speeds. */
static bool tells_speed(const char *text)
{
	static const char *const unit[] = {
		"x",       "X",    "%",    "times", "fold",  "percent", "ns",     "us",     "ms",
		"seconds", "GB/s", "TB/s", "GFLOP", "TFLOP", "GFLOPS",  "TFLOPS", "cycles",
	};

	for (; *text; text++) {
		const char *at = text + 1;

		if (!isdigit((unsigned char)*text) || isdigit((unsigned char)*at) || *at == '.')
			continue;
		if (!strncmp(at, "\xc3\x97", 2)) /* U+00D7, the multiplication sign */
			return true;
		at += *at == '-' || *at == ' ';
		for (size_t i = 0; i < KL_ARRAY_SIZE(unit); i++) {
			size_t n = strlen(unit[i]);

			/* not a speed: "32 x 8" is a shape */
			if (!strncmp(at, unit[i], n) && !isalnum((unsigned char)at[n]) &&
			    !(n == 1 && at[n] == ' ' && isdigit((unsigned char)at[n + 1])))
				return true;
		}
	}
	return false;
}

static int check_text(const char *text, const char *what)
{
	if (tells_speed(text))
		return refuse_wording(
			"%s states a speed; leave it out, because the card lists the measured "
			"speeds: '%.80s'",
			what, text);
	return 0;
}

/*
 * Refuse a text that names a file of one of the group's kernels, because the text would not apply
 * to other kernels.
 */
static int check_portable(const struct kl_wording_group *group, const char *text, const char *what)
{
	for (size_t i = 0; i < group->n; i++)
		for (size_t k = 0; k < group->t[i]->from->nfile; k++)
			if (strstr(text, group->t[i]->from->file[k].path))
				return refuse_wording(
					"%s names the file '%s' of one kernel; write it so that it "
					"applies to any kernel",
					what, group->t[i]->from->file[k].path);
	return check_text(text, what);
}

/*
 * --- predicates ------------------------------------------------------------------------
 */

/*
 * Copy the argument of a call: "ldg.128" of "has(ldg.128)". Return NULL if `key` is not a call of
 * `function`.
 */
static char *member_of(const char *key, const char *function)
{
	size_t n = strlen(function), len = strlen(key);

	if (strncmp(key, function, n) || key[n] != '(' || key[len - 1] != ')')
		return NULL;
	return kl_strndup(key + n + 1, len - n - 2);
}

static bool known_somewhere(const struct kl_wording_group *group, const char *key)
{
	for (size_t i = 0; i < group->n; i++)
		if (kl_known_has(&group->before[i].known, key))
			return true;
	return false;
}

/*
 * Check that the key is a known fact. Check the argument of "has" and "cap" first, because the key
 * test accepts any argument of these functions.
 */
static int check_key(const struct kl_wording_group *group, const char *id, const char *key)
{
	KL_AUTO(kl_freep) char *has = member_of(key, "has");
	KL_AUTO(kl_freep) char *cap = member_of(key, "cap");

	if (has && !kl_strvec_has(&group->features, has))
		return refuse_wording(
			"the condition '%s' asks for the feature '%s', which no state here has and "
			"no mechanism lists",
			id, has);
	if (cap && kl_taxonomy_cap(group->w->tax, cap) < 0)
		return refuse_wording(
			"the condition '%s' asks for the capability '%s', which the table does not "
			"have",
			id, cap);
	if (!known_somewhere(group, key))
		return refuse_wording(
			"the condition '%s' asks for '%s', which is not known at any of the steps",
			id, key);
	return 0;
}

static int check_names(const struct kl_wording_group *group, const struct kl_words_pre *pre)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *parsed = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec keys = KL_STRVEC_INIT;
	int err = kl_predicate_parse(&parsed, pre->test, NULL);

	if (err < 0)
		return kl_error_in(err, "the test of '%s'", pre->id);
	kl_predicate_keys(&keys, parsed);
	if (!keys.n)
		return refuse_wording("the test of '%s' does not use any fact", pre->id);
	for (size_t i = 0; i < keys.n; i++)
		if ((err = check_key(group, pre->id, keys.v[i])) < 0)
			return err;
	return 0;
}

/*
 * Check a test against the steps. A `sound` test must not be false for any step, since all steps
 * were accepted. Any test must be true for at least one step. A `useful` test must be true for at
 * least one fast step, unless the group has a single step.
 */
static int check_steps(struct kl_wording_group *group, const struct kl_words_pre *pre)
{
	bool seen = false;

	for (size_t i = 0; i < group->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
		enum kl_truth truth = kl_target_test(&group->before[i], pre->test, pre->sound,
						     &why);

		if (pre->sound && truth == KL_FALSE)
			return refuse_wording(
				"'%s' cannot be sound: %s step %d was accepted, and there it is "
				"false "
				"(%s)",
				pre->id, group->t[i]->lineage, group->t[i]->step.number, why.ptr);
		seen |= truth == KL_TRUE && (pre->sound || group->n == 1 ||
					     kl_lift_speed_of(group->t[i]) == KL_SPEED_FAST);
	}
	if (!seen)
		return refuse_wording("'%s' is true of none of the steps%s: '%s'", pre->id,
				      pre->sound ? "" : " that were faster", pre->test);
	return 0;
}

/* --- labels ------------------------------------------------------------------------------- */

/*
 * Return the index that a label names (1 for "R2"); -1 if the text is not one of the `n` labels of
 * that kind.
 */
static long label_number(const char *text, char kind, size_t n)
{
	char rest;
	unsigned long i;

	if (*text != kind || !isdigit((unsigned char)text[1]) ||
	    sscanf(text + 1, "%4lu%c", &i, &rest) != 1 || i < 1 || i > n)
		return -1;
	return (long)i - 1;
}

static size_t shown_steps(const struct kl_wording_group *group)
{
	return group->n < KL_WORDING_STEPS ? group->n : KL_WORDING_STEPS;
}

static int find_witness(const struct kl_refusal **out, struct kl_wording_group *group,
			const struct kl_words_pre *pre)
{
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	long i = label_number(pre->witness, 'R', group->nrefused);

	if (i < 0)
		return refuse_wording(
			"the witness '%.20s' of '%s' is not one of the refused steps R1 to R%zu",
			pre->witness, pre->id, group->nrefused);
	if (pre->test && !group->known[i])
		return refuse_wording("%s cannot be the witness of '%s': its files are not here",
				      pre->witness, pre->id);
	if (pre->test && kl_target_test(&group->at[i], pre->test, true, &why) != KL_FALSE)
		return refuse_wording(
			"%s is not a witness of '%s': the test is not false there (%s)",
			pre->witness, pre->id, why.ptr);
	*out = group->refused[i];
	return 0;
}

/* --- adding the texts to the card ------------------------------------------------------------- */

static int add_pre(struct kl_card *card, struct kl_wording_group *group,
		   const struct kl_words_pre *words_pre)
{
	const struct kl_refusal *by = NULL;
	struct kl_card_pre pre;
	int err = check_text(words_pre->text, "a condition");

	if (kl_card_has_pre(card, words_pre->id))
		return refuse_wording("the card has a condition '%s' already", words_pre->id);
	if (!err && words_pre->test)
		err = check_names(group, words_pre);
	if (!err && words_pre->test)
		err = check_steps(group, words_pre);
	if (!err && words_pre->witness)
		err = find_witness(&by, group, words_pre);
	if (err < 0)
		return err;
	pre = (struct kl_card_pre){
		.id = kl_strdup(words_pre->id),
		.text = kl_strdup(words_pre->text),
		.test = words_pre->test ? kl_strdup(words_pre->test) : NULL,
		.state = by ? KL_PRE_WITNESSED : KL_PRE_ASSUMED,
		.by = by ? kl_strdup(by->event->id) : NULL,
		.class_ = by ? kl_strdup(kl_event_class(by->event)) : NULL,
	};
	if (words_pre->sound) {
		KL_GROW(card->sound.v, card->sound.n + 1, card->sound.alloc);
		card->sound.v[card->sound.n++] = pre;
	} else {
		KL_GROW(card->useful.v, card->useful.n + 1, card->useful.alloc);
		card->useful.v[card->useful.n++] = pre;
	}
	return 0;
}

/*
 * Add the event of a cited step. It must be a refused step of the risk's class or, for the class
 * "slower", a slower step.
 */
static int cite_events(struct kl_strvec *events, const struct kl_wording_group *group,
		       const char *word, const char *class_)
{
	long refused = label_number(word, 'R', group->nrefused),
	     step = label_number(word, 'T', shown_steps(group));
	const char *was = refused >= 0 ? kl_event_class(group->refused[refused]->event) :
			  step >= 0 && kl_lift_speed_of(group->t[step]) == KL_SPEED_SLOW ?
					 "slower" :
					 "";

	if (refused < 0 && step < 0)
		return refuse_wording("a risk cites '%.20s', which is not one of the steps shown",
				      word);
	if (!*was)
		return refuse_wording("a risk cites %s, which did not fail and was not slower",
				      word);
	if (strcmp(was, class_))
		return refuse_wording("a risk of class '%.40s' cites %s, which was '%s'", class_,
				      word, was);
	kl_strvec_push(events, refused >= 0 ? group->refused[refused]->event->id :
					      group->t[step]->event->id);
	return 0;
}

static int add_risk(struct kl_card *card, const struct kl_wording_group *group,
		    const struct kl_words_risk *words_risk)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec labels = KL_STRVEC_INIT,
						    events = KL_STRVEC_INIT;
	struct kl_card_risk risk = { 0 };
	int err = check_text(words_risk->text, "a risk");

	if (words_risk->violates && !kl_card_has_pre(card, words_risk->violates))
		return refuse_wording("a risk violates '%.40s', but the card has no such condition",
				      words_risk->violates);
	kl_strvec_split(&labels, words_risk->events, ", ");
	if (!labels.n || !strcmp(words_risk->events, "-"))
		return refuse_wording(
			"a risk cites no step: cite one that failed or was slower, or leave the "
			"risk out");
	for (size_t i = 0; !err && i < labels.n; i++)
		err = cite_events(&events, group, labels.v[i], words_risk->class_);
	if (err < 0)
		return err;
	risk.class_ = kl_strdup(words_risk->class_);
	risk.text = kl_strdup(words_risk->text);
	risk.violates = words_risk->violates ? kl_strdup(words_risk->violates) : NULL;
	kl_strvec_copy(&risk.events, &events);
	kl_card_add_risk(card, &risk);
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
		"the form of a carrier must be annotated-snippet, schedule, pseudocode or prose, "
		"not '%.40s'; diffs and semantic patches are taken from the steps",
		word);
}

/* Return the best step in the language; the carrier cites this step in `of`. */
static const struct kl_transition *step_in(const struct kl_wording_group *group,
					   const char *language)
{
	for (size_t i = 0; i < group->n; i++)
		if (!strcmp(group->t[i]->from->contract->language->name, language))
			return group->t[i];
	return NULL;
}

static int add_carrier(struct kl_card *card, const struct kl_wording_group *group,
		       const struct kl_words_carrier *carrier)
{
	const struct kl_transition *transition = step_in(group, carrier->language);
	enum kl_carrier_form form = KL_CARRIER_PROSE;
	int err = form_of(&form, carrier->form);

	if (!err && !transition)
		err = refuse_wording(
			"a carrier is in the language '%.40s', but none of the steps is",
			carrier->language);
	if (!err && !*carrier->text)
		err = refuse_wording("a carrier is empty");
	if (!err && form == KL_CARRIER_PROSE)
		err = check_text(carrier->text, "a carrier");
	for (size_t i = 0; !err && i < card->carriers.n; i++)
		if (!strcmp(card->carriers.v[i].language, carrier->language) &&
		    card->carriers.v[i].form == form)
			err = refuse_wording(
				"there are two carriers of the form '%s' in '%s'; keep one of them",
				carrier->form, carrier->language);
	if (err < 0)
		return err;
	KL_GROW(card->carriers.v, card->carriers.n + 1, card->carriers.alloc);
	card->carriers.v[card->carriers.n++] = (struct kl_card_carrier){
		.language = kl_strdup(carrier->language),
		.form = form,
		.of = kl_strdup(transition->event->id),
		.text = kl_strdup(carrier->text),
	};
	return 0;
}

static void replace_text(char **field, const char *text)
{
	free(*field);
	*field = kl_strdup(text);
}

/* Write the card and parse it again, so that it is checked like a card read from a file. */
static int read_again(struct kl_card **out, const struct kl_card *card)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_card_write(&text, card);
	return kl_card_parse(out, card->id, text.ptr, text.len);
}

int kl_wording_check(struct kl_card **out, struct kl_wording_group *group,
		     const struct kl_words *words)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = kl_card_copy(group->r->card);
	int err = check_portable(group, words->intent, "the intent");

	if (!err)
		err = check_portable(group, words->construct, "the construct");
	if (!err)
		err = check_portable(group, words->acts_on, "'acts-on'");
	if (!err && !strcmp(words->construct, PLAN) && strcmp(card->anchor.construct, PLAN))
		err = refuse_wording(
			"the construct cannot be the launch plan alone, because the steps also "
			"change code");
	for (size_t i = 0; !err && i < words->npre; i++)
		err = add_pre(card, group, &words->pre[i]);
	for (size_t i = 0; !err && i < words->nrisk; i++)
		err = add_risk(card, group, &words->risk[i]);
	for (size_t i = 0; !err && i < words->ncarrier; i++)
		err = add_carrier(card, group, &words->carrier[i]);
	if (err < 0)
		return err;
	replace_text(&card->intent, words->intent);
	/* keep PLAN: this text marks cards that are about the launch plan only */
	if (strcmp(card->anchor.construct, PLAN))
		replace_text(&card->anchor.construct, words->construct);
	replace_text(&card->anchor.acts_on, words->acts_on);
	kl_card_normalize(card);
	return read_again(out, card);
}
