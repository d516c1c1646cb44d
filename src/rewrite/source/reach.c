/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/reach.h"

#include <ctype.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

/* The functions that are reached, and those of them whose tokens have not been looked at. */
struct reach {
	const struct kl_ctokens *tokens;
	struct kl_map first; /* name -> element of `next` for the first function of that name */
	size_t *next; /* for each function the next one of the same name; SIZE_MAX if there is none */
	bool *reached;
	size_t *todo;
	size_t ntodo;
};

static void reach_init(struct reach *reach, const struct kl_ctokens *tokens)
{
	*reach = (struct reach){ .tokens = tokens };
	reach->next = kl_calloc(tokens->nfn + 1, sizeof(*reach->next));
	reach->todo = kl_calloc(tokens->nfn + 1, sizeof(*reach->todo));
	reach->reached = kl_calloc(tokens->nfn + 1, sizeof(*reach->reached));
	for (size_t fn = tokens->nfn; fn-- > 0;) {
		KL_AUTO(kl_freep)
		char *name = kl_strndup(tokens->text + tokens->fn[fn].name_off,
					tokens->fn[fn].name_len);
		const size_t *other = kl_map_get(&reach->first, name);

		reach->next[fn] = other ? (size_t)(other - reach->next) : SIZE_MAX;
		kl_map_put(&reach->first, name, &reach->next[fn]);
	}
}

static void reach_release(struct reach *reach)
{
	kl_map_release(&reach->first);
	free(reach->next);
	free(reach->todo);
	free(reach->reached);
}

/* Mark the functions that have this name. Return true if there are any. */
static bool mark_name(struct reach *reach, const char *name)
{
	const size_t *first = kl_map_get(&reach->first, name);
	size_t fn = first ? (size_t)(first - reach->next) : SIZE_MAX;

	for (; fn != SIZE_MAX; fn = reach->next[fn])
		if (!reach->reached[fn]) {
			reach->reached[fn] = true;
			reach->todo[reach->ntodo++] = fn;
		}
	return first;
}

/* Find the next word in a text from *at on, and set *at to the byte after it. The caller frees. */
static char *next_word(const char *text, size_t len, size_t *at)
{
	size_t from = *at;

	while (from < len && !isalnum((unsigned char)text[from]) && text[from] != '_')
		from++;
	*at = from;
	while (*at < len && (isalnum((unsigned char)text[*at]) || text[*at] == '_'))
		++*at;
	return from < *at ? kl_strndup(text + from, *at - from) : NULL;
}

/* Mark the functions whose names occur in a text. */
static void mark_text(struct reach *reach, const char *text, size_t len)
{
	char *word;

	for (size_t at = 0; (word = next_word(text, len, &at));) {
		mark_name(reach, word);
		free(word);
	}
}

/* Return true if token `i` is a name outside of functions that does not declare a function. */
static bool is_value(const struct kl_ctokens *tokens, size_t i)
{
	return tokens->t[i].kind == KL_CT_IDENT && tokens->t[i].fn < 0 &&
	       !kl_ctoken_is(tokens, i + 1, "(");
}

/* Mark the functions that macros and global variables name, as they may be called from anywhere. */
static void mark_indirect(struct reach *reach)
{
	const struct kl_ctokens *tokens = reach->tokens;
	struct kl_cdefine macro;

	for (size_t i = 0; i < tokens->n; i++) {
		const struct kl_ctok *token = &tokens->t[i];

		if (token->kind == KL_CT_DIRECTIVE && kl_ctoken_define(&macro, tokens, i))
			mark_text(reach, tokens->text + macro.body, macro.end - macro.body);
		else if (is_value(tokens, i))
			mark_text(reach, tokens->text + token->off, token->len);
	}
}

bool *kl_reach_mark(const struct kl_ctokens *tokens, const char *const *entries)
{
	KL_AUTO(reach_release) struct reach reach;
	bool any = false;

	reach_init(&reach, tokens);
	for (const char *const *entry = entries; entry && *entry; entry++)
		any |= mark_name(&reach, *entry);
	if (any)
		mark_indirect(&reach);
	while (reach.ntodo) {
		const struct kl_cfn *fn = &tokens->fn[reach.todo[--reach.ntodo]];

		for (size_t i = fn->first; i <= fn->last; i++)
			if (tokens->t[i].kind == KL_CT_IDENT)
				mark_text(&reach, tokens->text + tokens->t[i].off,
					  tokens->t[i].len);
	}
	for (size_t fn = 0; !any && fn < tokens->nfn; fn++)
		reach.reached[fn] = true;
	return kl_steal(&reach.reached);
}
