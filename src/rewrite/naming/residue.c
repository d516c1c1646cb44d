/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/naming/residue.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "rewrite/source/ctoken.h"

#define MAX_PASSES 200

static char *word_at(const struct kl_ctokens *tokens, size_t i)
{
	return kl_strndup(tokens->text + tokens->t[i].off, tokens->t[i].len);
}

/* Add a word to a map that is used as a set. */
static void add_word(struct kl_map *set, const char *key)
{
	static char there[] = "";

	kl_map_put(set, key, there);
}

/* --- constants --------------------------------------------------------------- */

static bool is_constant(const struct kl_ctokens *tokens, size_t i)
{
	static const char *const list[] = { "0", "1", "false", "true", "0u", "1u" };

	for (size_t k = 0; k < KL_ARRAY_SIZE(list); k++)
		if (kl_ctoken_is(tokens, i, list[k]))
			return true;
	return false;
}

/* Add NAME to `names` if directive `i` is "#define NAME 0" (or 1, true, ...). */
static void note_define(struct kl_map *names, const struct kl_ctokens *tokens, size_t i)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens line = { 0 };

	kl_ctoken_lex(&line, tokens->text + tokens->t[i].off + 1, tokens->t[i].len - 1);
	if (line.n == 3 && kl_ctoken_is(&line, 0, "define") && line.t[1].kind == KL_CT_IDENT &&
	    is_constant(&line, 2)) {
		KL_AUTO(kl_freep) char *name = word_at(&line, 1);

		add_word(names, name);
	}
}

/* Add NAME to `names` if token `i` begins "const ... NAME = 0;" (or 1, true, ...). */
static void note_const(struct kl_map *names, const struct kl_ctokens *tokens, size_t i)
{
	for (size_t k = i + 1; k + 3 < tokens->n && k < i + 8; k++) {
		if (kl_ctoken_is(tokens, k, ";") || kl_ctoken_is(tokens, k, "{"))
			return;
		if (tokens->t[k].kind == KL_CT_IDENT && kl_ctoken_is(tokens, k + 1, "=") &&
		    is_constant(tokens, k + 2) && kl_ctoken_is(tokens, k + 3, ";")) {
			KL_AUTO(kl_freep) char *name = word_at(tokens, k);

			add_word(names, name);
			return;
		}
	}
}

static void note_names(struct kl_map *names, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i < tokens->n; i++) {
		if (tokens->t[i].kind == KL_CT_DIRECTIVE)
			note_define(names, tokens, i);
		else if (kl_ctoken_is(tokens, i, "const") || kl_ctoken_is(tokens, i, "constexpr"))
			note_const(names, tokens, i);
	}
}

/* --- constant conditions --------------------------------------------------------- */

static bool is_conditional(const struct kl_ctokens *tokens, size_t i)
{
	const char *text = tokens->text + tokens->t[i].off + 1;
	size_t n = tokens->t[i].len - 1, skip = 0;

	if (tokens->t[i].kind != KL_CT_DIRECTIVE)
		return false;
	while (skip < n && strchr(" \t", text[skip]))
		skip++;
	text += skip;
	n -= skip;
	return (n >= 2 && !memcmp(text, "if", 2)) || (n >= 4 && !memcmp(text, "elif", 4));
}

/* Return the index of the constant in "if (0)" or "if constexpr (!NAME &&"; 0 if there is none. */
static size_t constant_of_if(const struct kl_ctokens *tokens, size_t i, const struct kl_map *names)
{
	KL_AUTO(kl_freep) char *name = NULL;

	if (!kl_ctoken_is(tokens, i, "if"))
		return 0;
	i += kl_ctoken_is(tokens, i + 1, "constexpr") ? 2 : 1;
	if (!kl_ctoken_is(tokens, i++, "("))
		return 0;
	if (kl_ctoken_is(tokens, i, "!"))
		i++;
	if (i + 1 >= tokens->n ||
	    !(kl_ctoken_is(tokens, i + 1, ")") || kl_ctoken_is(tokens, i + 1, "&") ||
	      kl_ctoken_is(tokens, i + 1, "|")))
		return 0;
	if (is_constant(tokens, i))
		return i;
	name = word_at(tokens, i);
	return kl_map_get(names, name) ? i : 0;
}

/* --- functions that are reachable by name ----------------------------------------- */

struct seen {
	struct kl_map constants; /* names that stand for a constant 0 or 1 */
	struct kl_map defined;   /* function -> "" */
	struct kl_map calls;     /* "caller\ncallee" -> ""; caller "" outside of functions */
	struct kl_map live;      /* functions reachable from the entry -> "" */
	bool unsure;             /* `live` is incomplete: the calls are too deep to follow */
	size_t directives, conditions;
	char *directive, *condition; /* the last directive and condition, for messages */
};

static void seen_release(struct seen *seen)
{
	kl_map_release(&seen->constants);
	kl_map_release(&seen->defined);
	kl_map_release(&seen->calls);
	kl_map_release(&seen->live);
	free(seen->directive);
	free(seen->condition);
}

static char *describe_run(const struct kl_file *file, const struct kl_ctokens *tokens, size_t first,
			  size_t last)
{
	size_t off = tokens->t[first].off, n = tokens->t[last].off + tokens->t[last].len - off;
	const char *nl = memchr(tokens->text + off, '\n', n);

	if (nl)
		n = (size_t)(nl - (tokens->text + off));
	return kl_asprintf("'%.*s' in %s, line %d", (int)(n < 60 ? n : 60), tokens->text + off,
			   file->path, tokens->t[first].line);
}

static void keep_text(char **at, char *text)
{
	free(*at);
	*at = text;
}

static void read_file(struct seen *seen, const struct kl_file *file,
		      const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i < tokens->nfn; i++) {
		KL_AUTO(kl_freep) char *name = kl_strndup(tokens->text + tokens->fn[i].name_off,
							  tokens->fn[i].name_len);

		add_word(&seen->defined, name);
	}
	for (size_t i = 0; i < tokens->n; i++) {
		size_t at = constant_of_if(tokens, i, &seen->constants);

		if (at) {
			seen->conditions++;
			keep_text(&seen->condition, describe_run(file, tokens, i, at));
		}
		if (is_conditional(tokens, i)) {
			seen->directives++;
			keep_text(&seen->directive, describe_run(file, tokens, i, i));
		}
		if (tokens->t[i].kind == KL_CT_IDENT) {
			KL_AUTO(kl_freep) char *caller = kl_ctoken_function(tokens, i);
			KL_AUTO(kl_freep) char *callee = word_at(tokens, i);
			KL_AUTO(kl_freep) char *key = kl_asprintf("%s\n%s", caller, callee);

			add_word(&seen->calls, key);
		}
	}
}

/* Count every word of a launch plan or directive as a call of a function of that name. */
static void read_words(struct seen *seen, const char *text, size_t len)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	for (size_t i = 0; i < len;) {
		size_t n = 0;

		while (i + n < len && text[i + n] && strchr(letters, text[i + n]))
			n++;
		if (n) {
			KL_AUTO(kl_freep) char *key = kl_asprintf("\n%.*s", (int)n, text + i);

			add_word(&seen->calls, key);
		}
		i += n + 1;
	}
}

/* Mark as live every function that the entry names, directly or through other functions. */
static void mark_live(struct seen *seen, const char *entry)
{
	bool more = true;

	add_word(&seen->live, entry);
	add_word(&seen->live, "");
	for (int pass = 0; more; pass++) {
		seen->unsure = pass == MAX_PASSES;
		if (seen->unsure)
			return;
		more = false;
		for (size_t i = 0; i < seen->calls.n; i++) {
			const char *key = seen->calls.e[i].key, *nl = strchr(key, '\n');
			KL_AUTO(kl_freep) char *caller = kl_strndup(key, nl - key);

			if (!kl_map_get(&seen->defined, nl + 1) ||
			    kl_map_get(&seen->live, nl + 1) || !kl_map_get(&seen->live, caller))
				continue;
			add_word(&seen->live, nl + 1);
			more = true;
		}
	}
}

static void read_surface(struct seen *out, const struct kl_surface *surface)
{
	const char *const *texts = surface->contract->language->texts;
	struct kl_ctokens *tokens = kl_calloc(surface->nfile + 1, sizeof(*tokens));

	for (size_t i = 0; i < surface->nfile; i++) {
		if (!kl_suffix_in(surface->file[i].path, texts)) {
			read_words(out, surface->file[i].data, surface->file[i].len);
			continue;
		}
		kl_ctoken_lex(&tokens[i], surface->file[i].data, surface->file[i].len);
		note_names(&out->constants, &tokens[i]);
		for (size_t k = 0; k < tokens[i].n; k++)
			if (tokens[i].t[k].kind == KL_CT_DIRECTIVE)
				read_words(out, tokens[i].text + tokens[i].t[k].off,
					   tokens[i].t[k].len);
	}
	for (size_t i = 0; i < surface->nfile; i++) {
		if (kl_suffix_in(surface->file[i].path, texts))
			read_file(out, &surface->file[i], &tokens[i]);
		kl_ctokens_release(&tokens[i]);
	}
	free(tokens);
	/* the contract's adapter calls these, too */
	for (size_t i = 0; i < surface->contract->prepares.n; i++)
		add_word(&out->live, surface->contract->prepares.v[i]);
	mark_live(out, surface->contract->entry ? surface->contract->entry : "");
}

static int compare_seen(const struct seen *before, const struct seen *after)
{
	if (after->directives > before->directives)
		return kl_error(
			KL_ENO,
			"the edit leaves a conditional directive behind: %s; delete removed code "
			"completely",
			after->directive);
	if (after->conditions > before->conditions)
		return kl_error(
			KL_ENO,
			"the edit leaves code behind a condition that never changes: %s; delete "
			"removed code completely",
			after->condition);
	for (size_t i = 0; i < after->defined.n && !before->unsure && !after->unsure; i++) {
		const char *name = after->defined.e[i].key;

		if (kl_map_get(&before->live, name) && !kl_map_get(&after->live, name))
			return kl_error(
				KL_ENO,
				"the edit leaves the function '%.60s' behind, which is no longer "
				"used; delete it as well",
				name);
	}
	return 0;
}

int kl_residue_check(const struct kl_surface *before, const struct kl_surface *after)
{
	KL_AUTO(seen_release) struct seen seen_before = { 0 };
	KL_AUTO(seen_release) struct seen seen_after = { 0 };

	read_surface(&seen_before, before);
	read_surface(&seen_after, after);
	return compare_seen(&seen_before, &seen_after);
}
