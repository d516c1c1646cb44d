/* SPDX-License-Identifier: Apache-2.0 */
/* lift_anchor - fills a card's anchor: the code it is about, and what to look for there */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "learn/lift_parts.h"
#include "retrieve/constants.h"

#define MAX_PLACES 4 /* named in the construct */
#define MAX_CALLS 6  /* words of loop_has */
#define MAX_CONSTANTS 6

/* "gemm.cu:consume:12-30 +1" as "consume in gemm.cu" */
static char *place_words(const char *locus)
{
	size_t file = strcspn(locus, ": "), n;
	const char *symbol = locus[file] == ':' ? locus + file + 1 : "";

	n = strcspn(symbol, ": ");
	if (n && !isdigit((unsigned char)*symbol))
		return kl_asprintf("%.*s in %.*s", (int)n, symbol, (int)file, locus);
	return kl_strndup(locus, file);
}

static char *construct_words(const struct kl_lift_group *g)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	struct kl_buf b = KL_BUF_INIT;

	if (g->plan_only)
		return kl_strdup("the launch plan");
	for (size_t i = 0; i < g->n; i++)
		if (g->t[i]->step.locus) {
			KL_AUTO(kl_freep) char *p = place_words(g->t[i]->step.locus);

			if (!kl_strvec_has(&places, p) && places.n < MAX_PLACES)
				kl_strvec_push(&places, p);
		}
	kl_buf_adds(&b, places.n ? "code like " : "the kernel");
	for (size_t i = 0; i < places.n; i++)
		kl_buf_addf(&b, "%s%s", i ? ", " : "", places.v[i]);
	return kl_buf_detach(&b);
}

/* "12 lines of gemm.cu, launch.yaml come, 30 go" */
static char *acts_on(const struct kl_transition *t)
{
	struct kl_buf files = KL_BUF_INIT;
	size_t come = 0, go = 0;
	char *out;

	for (const char *s = t->diff; *s;) {
		size_t n = strcspn(s, "\n");

		if (!strncmp(s, "+++ b/", 6))
			kl_buf_addf(&files, "%s%.*s", files.len ? ", " : "", (int)(n - 6), s + 6);
		else if (strncmp(s, "+++ ", 4) && strncmp(s, "--- ", 4)) {
			come += *s == '+';
			go += *s == '-';
		}
		s += n + (s[n] == '\n');
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

/* what stands in for the mechanism before it is there, and that it is not there */
static void find_facts(struct kl_strvec *out, const struct kl_transition *t,
		       const struct kl_mechanism *m)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec signs = KL_STRVEC_INIT;

	for (size_t i = 0; i < t->had.n; i++)
		if (matches_any(&m->fallbacks, t->had.v[i]) &&
		    !kl_strvec_has(&m->primary, t->had.v[i]))
			kl_strvec_push(out, t->had.v[i]);
	kl_lift_signs(&signs, t, m);
	for (size_t i = 0; i < signs.n; i++)
		kl_strvec_pushf(out, "!%s", signs.v[i]);
}

/* functions called in lines that go */
static void calls_that_go(struct kl_strvec *out, const struct kl_transition *t,
			  const struct kl_mechanism *m)
{
	static const char *const words[] = {
		"if", "for", "while", "switch", "return", "sizeof", "defined", NULL,
	};

	for (const char *s = t->diff; *s;) {
		size_t n = strcspn(s, "\n");

		for (size_t i = 1; *s == '-' && strncmp(s, "--- ", 4) && i < n; i++) {
			size_t k = i;
			KL_AUTO(kl_freep) char *word = NULL;
			bool plain = false;

			while (k < n && (isalnum((unsigned char)s[k]) || s[k] == '_'))
				k++;
			if (k == i || s[k] != '(' || isdigit((unsigned char)s[i])) {
				i = k;
				continue;
			}
			word = kl_strndup(s + i, k - i);
			for (size_t w = 0; words[w]; w++)
				plain |= !strcmp(words[w], word);
			if (!plain && k - i > 2 && k - i < 64)
				kl_strvec_push(out, word);
			i = k;
		}
		s += n + (s[n] == '\n');
	}
	kl_strvec_uniq(out);
}

/* --- constants -------------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* does the name stand in a line that goes? */
static bool stands_in(const char *diff, const char *name)
{
	size_t len = strlen(name);

	for (const char *s = diff; *s;) {
		size_t n = strcspn(s, "\n");

		for (size_t i = 1; *s == '-' && strncmp(s, "--- ", 4) && i + len <= n; i++)
			if (!is_word(s[i - 1]) && !strncmp(s + i, name, len) &&
			    !is_word(s[i + len]))
				return true;
		s += n + (s[n] == '\n');
	}
	return false;
}

static void constants_of(struct kl_strvec *out, const struct kl_transition *t, bool changed)
{
	KL_AUTO(kl_constants_release) struct kl_card_dims before = { 0 }, after = { 0 };

	kl_constants_read(&before, t->from);
	kl_constants_read(&after, t->to);
	for (size_t i = 0; i < before.n; i++) {
		int64_t now;
		bool same = kl_card_dims_get(&now, &after, before.v[i].name) &&
			    now == before.v[i].v;

		if (changed ? !same : same && stands_in(t->diff, before.v[i].name))
			kl_strvec_pushf(out, "%s=%lld", before.v[i].name, (long long)before.v[i].v);
	}
}

static void changed_constants(struct kl_strvec *out, const struct kl_transition *t,
			      const struct kl_mechanism *m)
{
	constants_of(out, t, true);
}

static void used_constants(struct kl_strvec *out, const struct kl_transition *t,
			   const struct kl_mechanism *m)
{
	constants_of(out, t, false);
}

static void add_constants(struct kl_card_find *f, const struct kl_lift_group *g)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT, used = KL_STRVEC_INIT;

	kl_lift_common(&list, g, f->language, changed_constants);
	kl_lift_common(&used, g, f->language, used_constants);
	for (size_t i = 0; i < used.n; i++)
		kl_strvec_push(&list, used.v[i]);
	for (size_t i = 0; i < list.n && i < MAX_CONSTANTS; i++) {
		char name[64];
		long long value;

		if (sscanf(list.v[i], "%63[^=]=%lld", name, &value) == 2)
			kl_card_dims_add(&f->constant, name, value);
	}
}

/* --- find ------------------------------------------------------------------------------------- */

void kl_lift_find(struct kl_card *c, const struct kl_lift_group *g, const char *language)
{
	struct kl_card_find f = { .language = kl_strdup(language) };

	kl_lift_common(&f.facts, g, language, find_facts);
	kl_lift_common(&f.loop_has, g, language, calls_that_go);
	while (f.loop_has.n > MAX_CALLS)
		kl_freep(&f.loop_has.v[--f.loop_has.n]);
	KL_GROW(c->anchor.find.v, c->anchor.find.n + 1, c->anchor.find.alloc);
	c->anchor.find.v[c->anchor.find.n++] = f;
}

static bool has_event(const struct kl_lift_group *g, const char *event)
{
	for (size_t i = 0; i < g->n; i++)
		if (!strcmp(g->t[i]->event->id, event))
			return true;
	return false;
}

void kl_lift_constants(struct kl_card *c, const struct kl_lift_group *g, const char *language)
{
	for (size_t i = 0; i < c->evidence.n; i++)
		if (!strcmp(c->evidence.v[i].language, language) &&
		    !has_event(g, c->evidence.v[i].event))
			return;
	for (size_t i = 0; i < c->anchor.find.n; i++)
		if (!strcmp(c->anchor.find.v[i].language, language) &&
		    !c->anchor.find.v[i].constant.n)
			add_constants(&c->anchor.find.v[i], g);
}

void kl_lift_anchor(struct kl_card *c, const struct kl_lift_group *g)
{
	c->anchor.construct = construct_words(g);
	c->anchor.acts_on = acts_on(g->t[0]);
}
