/* SPDX-License-Identifier: Apache-2.0 */
/* lift_anchor - fills a card's anchor: the code that the card is about, and how to find it */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "learn/lift_parts.h"
#include "retrieve/constants.h"

#define MAX_PLACES 4 /* maximum number of places that `construct` names */
#define MAX_CALLS 6  /* maximum number of entries of `loop_has` */
#define MAX_CONSTANTS 6

/* Name the place of a locus: "consume in gemm.cu" for "gemm.cu:consume:12-30 +1". */
static char *place_words(const char *locus)
{
	size_t file = strcspn(locus, ": "), n;
	const char *symbol = locus[file] == ':' ? locus + file + 1 : "";

	n = strcspn(symbol, ": ");
	if (n && !isdigit((unsigned char)*symbol))
		return kl_asprintf("%.*s in %.*s", (int)n, symbol, (int)file, locus);
	return kl_strndup(locus, file);
}

static char *construct_words(const struct kl_lift_group *group)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	struct kl_buf buf = KL_BUF_INIT;

	if (group->plan_only)
		return kl_strdup("the launch plan");
	for (size_t i = 0; i < group->n; i++)
		if (group->t[i]->step.locus) {
			KL_AUTO(kl_freep) char *at = place_words(group->t[i]->step.locus);

			if (!kl_strvec_has(&places, at) && places.n < MAX_PLACES)
				kl_strvec_push(&places, at);
		}
	kl_buf_adds(&buf, places.n ? "code like " : "the kernel");
	for (size_t i = 0; i < places.n; i++)
		kl_buf_addf(&buf, "%s%s", i ? ", " : "", places.v[i]);
	return kl_buf_detach(&buf);
}

/* Describe the size of a step's diff: "gemm.cu, launch.yaml: 12 lines come, 30 go". */
static char *acts_on(const struct kl_transition *transition)
{
	struct kl_buf files = KL_BUF_INIT;
	size_t come = 0, go = 0;
	char *out;

	for (const char *text = transition->diff; *text;) {
		size_t n = strcspn(text, "\n");

		if (!strncmp(text, "+++ b/", 6))
			kl_buf_addf(&files, "%s%.*s", files.len ? ", " : "", (int)(n - 6),
				    text + 6);
		else if (strncmp(text, "+++ ", 4) && strncmp(text, "--- ", 4)) {
			come += *text == '+';
			go += *text == '-';
		}
		text += n + (text[n] == '\n');
	}
	out = kl_asprintf("%s: %zu lines come, %zu go", files.ptr, come, go);
	kl_buf_release(&files);
	return out;
}

static bool matches_any(const struct kl_strvec *patterns, const char *fact)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (!fnmatch(patterns->v[i], fact, 0))
			return true;
	return false;
}

/*
 * List the facts of K_{i-1} by which the anchor is found: each fallback of the mechanism that
 * K_{i-1} has, and "!" with each sign of the mechanism that K_{i-1} lacks.
 */
static void find_facts(struct kl_strvec *out, const struct kl_transition *transition,
		       const struct kl_mechanism *mechanism)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec signs = KL_STRVEC_INIT;

	for (size_t i = 0; i < transition->had.n; i++)
		if (matches_any(&mechanism->fallbacks, transition->had.v[i]) &&
		    !kl_strvec_has(&mechanism->primary, transition->had.v[i]))
			kl_strvec_push(out, transition->had.v[i]);
	kl_lift_signs(&signs, transition, mechanism);
	for (size_t i = 0; i < signs.n; i++)
		kl_strvec_pushf(out, "!%s", signs.v[i]);
}

/* List the functions that the removed lines call. */
static void calls_that_go(struct kl_strvec *out, const struct kl_transition *transition,
			  const struct kl_mechanism *mechanism)
{
	static const char *const words[] = {
		"if", "for", "while", "switch", "return", "sizeof", "defined", NULL,
	};

	for (const char *text = transition->diff; *text;) {
		size_t n = strcspn(text, "\n");

		for (size_t i = 1; *text == '-' && strncmp(text, "--- ", 4) && i < n; i++) {
			size_t k = i;
			KL_AUTO(kl_freep) char *word = NULL;
			bool plain = false;

			while (k < n && (isalnum((unsigned char)text[k]) || text[k] == '_'))
				k++;
			if (k == i || text[k] != '(' || isdigit((unsigned char)text[i])) {
				i = k;
				continue;
			}
			word = kl_strndup(text + i, k - i);
			for (size_t j = 0; words[j]; j++)
				plain |= !strcmp(words[j], word);
			if (!plain && k - i > 2 && k - i < 64)
				kl_strvec_push(out, word);
			i = k;
		}
		text += n + (text[n] == '\n');
	}
	kl_strvec_uniq(out);
}

/* --- constants -------------------------------------------------------------------------------- */

static bool is_word(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_';
}

/* Check that a removed line of the diff contains the name as a whole word. */
static bool stands_in(const char *diff, const char *name)
{
	size_t len = strlen(name);

	for (const char *text = diff; *text;) {
		size_t n = strcspn(text, "\n");

		for (size_t i = 1; *text == '-' && strncmp(text, "--- ", 4) && i + len <= n; i++)
			if (!is_word(text[i - 1]) && !strncmp(text + i, name, len) &&
			    !is_word(text[i + len]))
				return true;
		text += n + (text[n] == '\n');
	}
	return false;
}

static void constants_of(struct kl_strvec *out, const struct kl_transition *transition,
			 bool changed)
{
	KL_AUTO(kl_constants_release) struct kl_card_dims before = { 0 }, after = { 0 };

	kl_constants_read(&before, transition->from);
	kl_constants_read(&after, transition->to);
	for (size_t i = 0; i < before.n; i++) {
		int64_t now;
		bool same = kl_card_dims_get(&now, &after, before.v[i].name) &&
			    now == before.v[i].v;

		if (changed ? !same : same && stands_in(transition->diff, before.v[i].name))
			kl_strvec_pushf(out, "%s=%lld", before.v[i].name, (long long)before.v[i].v);
	}
}

static void changed_constants(struct kl_strvec *out, const struct kl_transition *transition,
			      const struct kl_mechanism *mechanism)
{
	constants_of(out, transition, true);
}

static void used_constants(struct kl_strvec *out, const struct kl_transition *transition,
			   const struct kl_mechanism *mechanism)
{
	constants_of(out, transition, false);
}

static void add_constants(struct kl_card_find *find, const struct kl_lift_group *group)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT, used = KL_STRVEC_INIT;

	kl_lift_common(&list, group, find->language, changed_constants);
	kl_lift_common(&used, group, find->language, used_constants);
	for (size_t i = 0; i < used.n; i++)
		kl_strvec_push(&list, used.v[i]);
	for (size_t i = 0; i < list.n && i < MAX_CONSTANTS; i++) {
		char name[64];
		long long value;

		if (sscanf(list.v[i], "%63[^=]=%lld", name, &value) == 2)
			kl_card_dims_add(&find->constant, name, value);
	}
}

/* --- find ------------------------------------------------------------------------------------- */

void kl_lift_find(struct kl_card *card, const struct kl_lift_group *group, const char *language)
{
	struct kl_card_find find = { .language = kl_strdup(language) };

	kl_lift_common(&find.facts, group, language, find_facts);
	kl_lift_common(&find.loop_has, group, language, calls_that_go);
	while (find.loop_has.n > MAX_CALLS)
		kl_freep(&find.loop_has.v[--find.loop_has.n]);
	KL_GROW(card->anchor.find.v, card->anchor.find.n + 1, card->anchor.find.alloc);
	card->anchor.find.v[card->anchor.find.n++] = find;
}

static bool has_event(const struct kl_lift_group *group, const char *event)
{
	for (size_t i = 0; i < group->n; i++)
		if (!strcmp(group->t[i]->event->id, event))
			return true;
	return false;
}

void kl_lift_constants(struct kl_card *card, const struct kl_lift_group *group,
		       const char *language)
{
	for (size_t i = 0; i < card->evidence.n; i++)
		if (!strcmp(card->evidence.v[i].language, language) &&
		    !has_event(group, card->evidence.v[i].event))
			return;
	for (size_t i = 0; i < card->anchor.find.n; i++)
		if (!strcmp(card->anchor.find.v[i].language, language) &&
		    !card->anchor.find.v[i].constant.n)
			add_constants(&card->anchor.find.v[i], group);
}

void kl_lift_anchor(struct kl_card *card, const struct kl_lift_group *group)
{
	card->anchor.construct = construct_words(group);
	card->anchor.acts_on = acts_on(group->t[0]);
}
