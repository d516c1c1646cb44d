/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/residue.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "rewrite/ctoken.h"

#define MAX_PASSES 200

static char *word_at(const struct kl_ctokens *c, size_t i)
{
	return kl_strndup(c->text + c->t[i].off, c->t[i].len);
}

/* a map as a set */
static void add_word(struct kl_map *set, const char *key)
{
	static char there[] = "";

	kl_map_put(set, key, there);
}

/* --- constants --------------------------------------------------------------- */

static bool is_constant(const struct kl_ctokens *c, size_t i)
{
	static const char *const list[] = { "0", "1", "false", "true", "0u", "1u" };

	for (size_t k = 0; k < KL_ARRAY_SIZE(list); k++)
		if (kl_ctoken_is(c, i, list[k]))
			return true;
	return false;
}

/* "#define NAME 0" */
static void note_define(struct kl_map *names, const struct kl_ctokens *c, size_t i)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens d = { 0 };

	kl_ctoken_lex(&d, c->text + c->t[i].off + 1, c->t[i].len - 1);
	if (d.n == 3 && kl_ctoken_is(&d, 0, "define") && d.t[1].kind == KL_CT_IDENT &&
	    is_constant(&d, 2)) {
		KL_AUTO(kl_freep) char *name = word_at(&d, 1);

		add_word(names, name);
	}
}

/* "const ... NAME = 0;" */
static void note_const(struct kl_map *names, const struct kl_ctokens *c, size_t i)
{
	for (size_t k = i + 1; k + 3 < c->n && k < i + 8; k++) {
		if (kl_ctoken_is(c, k, ";") || kl_ctoken_is(c, k, "{"))
			return;
		if (c->t[k].kind == KL_CT_IDENT && kl_ctoken_is(c, k + 1, "=") &&
		    is_constant(c, k + 2) && kl_ctoken_is(c, k + 3, ";")) {
			KL_AUTO(kl_freep) char *name = word_at(c, k);

			add_word(names, name);
			return;
		}
	}
}

static void note_names(struct kl_map *names, const struct kl_ctokens *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->t[i].kind == KL_CT_DIRECTIVE)
			note_define(names, c, i);
		else if (kl_ctoken_is(c, i, "const") || kl_ctoken_is(c, i, "constexpr"))
			note_const(names, c, i);
	}
}

/* --- conditions that are none -------------------------------------------------- */

static bool is_conditional(const struct kl_ctokens *c, size_t i)
{
	const char *s = c->text + c->t[i].off + 1;
	size_t n = c->t[i].len - 1, skip = 0;

	if (c->t[i].kind != KL_CT_DIRECTIVE)
		return false;
	while (skip < n && strchr(" \t", s[skip]))
		skip++;
	s += skip;
	n -= skip;
	return (n >= 2 && !memcmp(s, "if", 2)) || (n >= 4 && !memcmp(s, "elif", 4));
}

/* token of the constant of "if (0)", "if constexpr (!NAME &&", or 0 */
static size_t constant_of_if(const struct kl_ctokens *c, size_t i, const struct kl_map *names)
{
	KL_AUTO(kl_freep) char *name = NULL;

	if (!kl_ctoken_is(c, i, "if"))
		return 0;
	i += kl_ctoken_is(c, i + 1, "constexpr") ? 2 : 1;
	if (!kl_ctoken_is(c, i++, "("))
		return 0;
	if (kl_ctoken_is(c, i, "!"))
		i++;
	if (i + 1 >= c->n || !(kl_ctoken_is(c, i + 1, ")") || kl_ctoken_is(c, i + 1, "&") ||
			       kl_ctoken_is(c, i + 1, "|")))
		return 0;
	if (is_constant(c, i))
		return i;
	name = word_at(c, i);
	return kl_map_get(names, name) ? i : 0;
}

/* --- functions that are reached by name ------------------------------------------ */

struct seen {
	struct kl_map constants; /* names that are 0 or 1 */
	struct kl_map defined;   /* function -> "" */
	struct kl_map calls;     /* "caller\ncallee" -> ""; caller "" outside of functions */
	struct kl_map live;
	bool unsure; /* of what is live: too deep to follow */
	size_t directives, conditions;
	char *directive, *condition; /* the last one, for a person */
};

static void seen_release(struct seen *s)
{
	kl_map_release(&s->constants);
	kl_map_release(&s->defined);
	kl_map_release(&s->calls);
	kl_map_release(&s->live);
	free(s->directive);
	free(s->condition);
}

static char *describe_run(const struct kl_file *f, const struct kl_ctokens *c, size_t first,
			  size_t last)
{
	size_t off = c->t[first].off, n = c->t[last].off + c->t[last].len - off;
	const char *nl = memchr(c->text + off, '\n', n);

	if (nl)
		n = (size_t)(nl - (c->text + off));
	return kl_asprintf("'%.*s' in %s, line %d", (int)(n < 60 ? n : 60), c->text + off, f->path,
			   c->t[first].line);
}

static void keep_text(char **at, char *text)
{
	free(*at);
	*at = text;
}

static void read_file(struct seen *s, const struct kl_file *f, const struct kl_ctokens *c)
{
	for (size_t i = 0; i < c->nfn; i++) {
		KL_AUTO(kl_freep) char *name = kl_strndup(c->text + c->fn[i].name_off,
							  c->fn[i].name_len);

		add_word(&s->defined, name);
	}
	for (size_t i = 0; i < c->n; i++) {
		size_t at = constant_of_if(c, i, &s->constants);

		if (at) {
			s->conditions++;
			keep_text(&s->condition, describe_run(f, c, i, at));
		}
		if (is_conditional(c, i)) {
			s->directives++;
			keep_text(&s->directive, describe_run(f, c, i, i));
		}
		if (c->t[i].kind == KL_CT_IDENT) {
			KL_AUTO(kl_freep) char *caller = kl_ctoken_function(c, i);
			KL_AUTO(kl_freep) char *callee = word_at(c, i);
			KL_AUTO(kl_freep) char *key = kl_asprintf("%s\n%s", caller, callee);

			add_word(&s->calls, key);
		}
	}
}

/* words of a launch plan or of directives name functions, too */
static void read_words(struct seen *s, const char *text, size_t len)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (size_t i = 0; i < len;) {
		size_t n = 0;

		while (i + n < len && text[i + n] && strchr(letters, text[i + n]))
			n++;
		if (n) {
			KL_AUTO(kl_freep) char *key = kl_asprintf("\n%.*s", (int)n, text + i);

			add_word(&s->calls, key);
		}
		i += n + 1;
	}
}

/* what the live ones name is live, until nothing new comes */
static void spread_entry(struct seen *s, const char *entry)
{
	bool more = true;

	add_word(&s->live, entry);
	add_word(&s->live, "");
	for (int pass = 0; more; pass++) {
		s->unsure = pass == MAX_PASSES;
		if (s->unsure)
			return;
		more = false;
		for (size_t i = 0; i < s->calls.n; i++) {
			const char *key = s->calls.e[i].key, *nl = strchr(key, '\n');
			KL_AUTO(kl_freep) char *caller = kl_strndup(key, nl - key);

			if (!kl_map_get(&s->defined, nl + 1) || kl_map_get(&s->live, nl + 1) ||
			    !kl_map_get(&s->live, caller))
				continue;
			add_word(&s->live, nl + 1);
			more = true;
		}
	}
}

static void read_surface(struct seen *out, const struct kl_surface *s)
{
	const char *const *texts = s->contract->language->texts;
	struct kl_ctokens *c = kl_calloc(s->nfile + 1, sizeof(*c));

	for (size_t i = 0; i < s->nfile; i++) {
		if (!kl_suffix_in(s->file[i].path, texts)) {
			read_words(out, s->file[i].data, s->file[i].len);
			continue;
		}
		kl_ctoken_lex(&c[i], s->file[i].data, s->file[i].len);
		note_names(&out->constants, &c[i]);
		for (size_t k = 0; k < c[i].n; k++)
			if (c[i].t[k].kind == KL_CT_DIRECTIVE)
				read_words(out, c[i].text + c[i].t[k].off, c[i].t[k].len);
	}
	for (size_t i = 0; i < s->nfile; i++) {
		if (kl_suffix_in(s->file[i].path, texts))
			read_file(out, &s->file[i], &c[i]);
		kl_ctokens_release(&c[i]);
	}
	free(c);
	spread_entry(out, s->contract->entry ? s->contract->entry : "");
}

static int compare_seen(const struct seen *a, const struct seen *b)
{
	if (b->directives > a->directives)
		return kl_error(KL_ENO,
				"the edit leaves a conditional directive behind: %s; what is "
				"removed goes altogether",
				b->directive);
	if (b->conditions > a->conditions)
		return kl_error(KL_ENO,
				"the edit leaves code behind a condition that never changes: %s; "
				"what is removed goes altogether",
				b->condition);
	for (size_t i = 0; i < b->defined.n && !a->unsure && !b->unsure; i++) {
		const char *name = b->defined.e[i].key;

		if (kl_map_get(&a->live, name) && !kl_map_get(&b->live, name))
			return kl_error(
				KL_ENO,
				"the edit leaves the function '%.60s' behind, which nothing "
				"uses any more; it goes as well",
				name);
	}
	return 0;
}

int kl_residue_check(const struct kl_surface *before, const struct kl_surface *after)
{
	KL_AUTO(seen_release) struct seen a = { 0 };
	KL_AUTO(seen_release) struct seen b = { 0 };

	read_surface(&a, before);
	read_surface(&b, after);
	return compare_seen(&a, &b);
}
