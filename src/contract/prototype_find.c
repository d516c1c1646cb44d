/* SPDX-License-Identifier: Apache-2.0 */
/* prototype_find - finds the function definitions of a source */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "contract/c_type.h"
#include "contract/prototype_parts.h"

void kl_founds_release(struct kl_founds *founds)
{
	for (size_t i = 0; founds->macro && i < founds->tokens->macros.n; i++)
		kl_tokens_release(&founds->macro[i]);
	for (size_t i = 0; i < founds->n; i++)
		free(founds->f[i].scope);
	free(founds->macro);
	free(founds->f);
}

bool kl_found_is_qualifier(const struct kl_tokens *tokens, size_t i)
{
	static const char *const words[] = { "const",      "volatile",     "restrict",
					     "__restrict", "__restrict__", "register",
					     "static",     "__const",      NULL };

	return kl_token_is_any(tokens, i, words);
}

size_t kl_found_skip_attribute(const struct kl_tokens *tokens, size_t i)
{
	static const char *const words[] = {
		"__attribute__", "__attribute", "__declspec",        "_Alignas",         "alignas",
		"__asm__",       "asm",         "__launch_bounds__", "__cluster_dims__", NULL
	};

	if (!kl_token_is_any(tokens, i, words) || !kl_token_is(tokens, i + 1, "("))
		return i;
	return kl_token_skip(tokens, i + 1);
}

size_t kl_found_skip_angles(const struct kl_tokens *tokens, size_t i)
{
	int depth = 0;

	while (i < tokens->n) {
		if (kl_token_is(tokens, i, "(") || kl_token_is(tokens, i, "[") ||
		    kl_token_is(tokens, i, "{")) {
			i = kl_token_skip(tokens, i);
			continue;
		}
		if (kl_token_is(tokens, i, ";") || kl_token_is(tokens, i, "}"))
			return i;
		depth += kl_token_is(tokens, i, "<") ? 1 : kl_token_is(tokens, i, "<<") ? 2 : 0;
		depth -= kl_token_is(tokens, i, ">") ? 1 : kl_token_is(tokens, i, ">>") ? 2 : 0;
		i++;
		if (depth <= 0)
			return i;
	}
	return i;
}

size_t kl_found_given_end(const struct kl_tokens *tokens, size_t i, size_t close)
{
	while (i < close && !kl_token_is(tokens, i, ","))
		i = kl_token_is(tokens, i, "(") ? kl_token_skip(tokens, i) :
		    kl_token_is(tokens, i, "<") ? kl_found_skip_angles(tokens, i) :
						  i + 1;
	return i < close ? i : close;
}

/* --- finding function definitions ------------------------------------------- */

bool kl_found_is_storage(const struct kl_tokens *tokens, size_t i)
{
	static const char *const words[] = { "static",       "extern",        "inline",
					     "__inline",     "__inline__",    "__global__",
					     "__device__",   "__host__",      "__forceinline__",
					     "__noinline__", "__extension__", NULL };

	return kl_token_is_any(tokens, i, words) || tokens->t[i].kind == KL_TOKEN_STRING;
}

/* Return true if the tokens can be parameters: none, void, or a type with a name. */
static bool are_parameters(const struct kl_tokens *tokens, size_t from, size_t to)
{
	if (from == to || (from + 1 == to && kl_token_is(tokens, from, "void")))
		return true;
	for (size_t i = from; i + 1 < to; i++)
		if (kl_found_is_word(tokens, i) &&
		    (kl_found_is_word(tokens, i + 1) || kl_token_is(tokens, i + 1, "*")))
			return true;
	return false;
}

bool kl_found_has_type(const struct kl_tokens *tokens, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		KL_AUTO(kl_freep) char *word = kl_strndup(tokens->t[i].s, tokens->t[i].n);

		if (kl_found_is_word(tokens, i) && !kl_found_is_storage(tokens, i) &&
		    !kl_found_is_qualifier(tokens, i) && !kl_c_type_is_macro(word))
			return true;
	}
	return false;
}

/*
 * Return true if the brackets at `i` belong to a macro, not to the function. Then another name with
 * brackets follows before the body, and either no type stands before the macro or no parameters are
 * in its brackets, as in EXPORT(void) f(int n) or void ALIGNED(64) f(int n).
 */
static bool is_macro_call(const struct kl_tokens *tokens, size_t from, size_t i)
{
	size_t close = kl_token_skip(tokens, i), next = close, skipped;

	while ((skipped = kl_found_skip_attribute(tokens, next)) != next ||
	       kl_token_is(tokens, next, "*") ||
	       (kl_found_is_word(tokens, next) && !kl_token_is(tokens, next + 1, "(")))
		next = skipped != next ? skipped : next + 1;
	if (!kl_found_is_word(tokens, next))
		return false;
	return !kl_found_has_type(tokens, from, i - 1) || !are_parameters(tokens, i + 1, close - 1);
}

/* Read a declaration at file scope into `found`, and return the index of the token after it. */
static size_t read_declaration(struct kl_found *found, bool *defines,
			       const struct kl_tokens *tokens, size_t i)
{
	size_t next;

	*found = (struct kl_found){ .from = i };
	*defines = false;
	while (i < tokens->n) {
		next = kl_found_skip_attribute(tokens, i);
		if (next != i) {
			i = next;
		} else if (kl_token_is(tokens, i, "template") && kl_token_is(tokens, i + 1, "<")) {
			found->given = i + 1;
			i = kl_found_skip_angles(tokens, i + 1);
			found->is_template |= i > found->given + 2;
		} else if (kl_token_is(tokens, i, ";")) {
			return i + 1;
		} else if (kl_token_is(tokens, i, "(") && !found->open && i > found->from &&
			   kl_found_is_word(tokens, i - 1)) {
			if (!is_macro_call(tokens, found->from, i)) {
				found->name = i - 1;
				found->open = i + 1;
			}
			i = kl_token_skip(tokens, i);
			found->close = i - 1;
		} else if (kl_token_is(tokens, i, "{") && found->open && found->close + 1 <= i) {
			found->body = i + 1;
			found->end = kl_token_skip(tokens, i);
			*defines = true;
			return found->end;
		} else if (kl_token_is(tokens, i, "=")) {
			/* a variable: the braces that follow are not a function body */
			found->open = 0;
			found->name = 0;
			while (i < tokens->n && !kl_token_is(tokens, i, ";"))
				i = kl_token_is(tokens, i, "{") || kl_token_is(tokens, i, "(") ?
					    kl_token_skip(tokens, i) :
					    i + 1;
		} else if (kl_token_is(tokens, i, "{") || kl_token_is(tokens, i, "(") ||
			   kl_token_is(tokens, i, "[")) {
			i = kl_token_skip(tokens, i);
		} else {
			found->is_kernel |= kl_token_is(tokens, i, "__global__");
			found->is_static |= kl_token_is(tokens, i, "static");
			found->is_inline |= kl_token_is(tokens, i, "inline") ||
					    kl_token_is(tokens, i, "__inline") ||
					    kl_token_is(tokens, i, "__inline__");
			i++;
		}
	}
	return i;
}

static void read_macros(struct kl_founds *out, const struct kl_strvec *text)
{
	out->macro = kl_calloc(text->n + 1, sizeof(*out->macro));
	for (size_t i = 0; i < text->n; i++)
		kl_lexer_read(&out->macro[i], text->v[i], strlen(text->v[i]));
}

/* --- the scopes that a definition stands in --------------------------------------------------- */

#define DEEPEST 32 /* maximum depth of nested scopes */

/* The open scopes: namespaces, and the braces of extern "C". */
struct scopes {
	bool plain[DEEPEST];    /* extern "C" */
	size_t length[DEEPEST]; /* length of `name` before the scope was opened */
	size_t n;
	struct kl_buf name; /* "ns::inner::" */
};

static void open_scope(struct scopes *scopes, bool plain)
{
	if (scopes->n == DEEPEST)
		return;
	scopes->plain[scopes->n] = plain;
	scopes->length[scopes->n++] = scopes->name.len;
}

static void close_scope(struct scopes *scopes)
{
	if (!scopes->n)
		return;
	scopes->name.len = scopes->length[--scopes->n];
	if (scopes->name.ptr)
		scopes->name.ptr[scopes->name.len] = '\0';
}

/*
 * If "namespace a::b {" is at `i`, open the namespace, and return the index after the brace.
 * Otherwise return `i`.
 */
static size_t enter_namespace(struct scopes *scopes, const struct kl_tokens *tokens, size_t i)
{
	size_t at = i + kl_token_is(tokens, i, "inline"), first;

	if (!kl_token_is(tokens, at, "namespace"))
		return i;
	first = ++at;
	while (kl_found_is_word(tokens, at) || kl_token_is(tokens, at, ":"))
		at++;
	if (!kl_token_is(tokens, at, "{") || scopes->n == DEEPEST)
		return i;
	open_scope(scopes, false);
	for (size_t k = first; k < at; k++)
		kl_buf_add(&scopes->name, tokens->t[k].s, tokens->t[k].n);
	if (at > first)
		kl_buf_adds(&scopes->name, "::");
	return at + 1;
}

static void take_found(struct kl_founds *out, const struct kl_found *found,
		       const struct scopes *scopes)
{
	KL_GROW(out->f, out->n + 1, out->alloc);
	out->f[out->n] = *found;
	out->f[out->n++].scope = kl_strdup(scopes->name.len ? scopes->name.ptr : "");
}

void kl_founds_read(struct kl_founds *out, const struct kl_tokens *tokens)
{
	struct scopes scopes = { .name = KL_BUF_INIT };
	bool plain = false; /* after extern "C", without braces */

	out->tokens = tokens;
	for (size_t i = 0; i < tokens->n;) {
		size_t next = enter_namespace(&scopes, tokens, i);
		struct kl_found found;
		bool defines;

		if (next != i) {
			i = next;
			continue;
		}
		if (kl_token_is(tokens, i, "extern") && kl_token_is(tokens, i + 1, "\"C\"")) {
			plain = !kl_token_is(tokens, i + 2, "{");
			if (!plain)
				open_scope(&scopes, true);
			i += plain ? 2 : 3;
			continue;
		}
		if (kl_token_is(tokens, i, "}")) {
			close_scope(&scopes);
			i++;
			continue;
		}
		i = read_declaration(&found, &defines, tokens, i);
		found.plain_name = plain || (scopes.n && scopes.plain[scopes.n - 1]);
		/*
		 * in C++, other files can call an inline function; a template or a namespace shows
		 * that the source is C++
		 */
		found.is_static |= found.is_inline && !found.is_template && !scopes.name.len;
		plain = false;
		if (defines)
			take_found(out, &found, &scopes);
	}
	kl_buf_release(&scopes.name);
	read_macros(out, &tokens->macros);
}
