/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/pointer_use.h"

#include <string.h>

#include "base/mem.h"
#include "contract/pointer_use_parts.h"

/*
 * Limits, so that no source takes long: the number of tokens and functions that are read for one
 * pointer, and the number of tokens of a statement.
 */
#define MOST_READ ((size_t)1 << 22)
#define LONGEST 4096

static bool find_open(size_t *out, const struct pointer_range *range, size_t i);

/*
 * Count `n` more tokens to read. Return false if that is too many; the use of the pointer is then
 * unknown.
 */
static bool may_read(struct pointer_search *search, size_t n)
{
	search->read += n;
	search->unknown |= search->read > MOST_READ;
	return search->read <= MOST_READ;
}

/* --- tokens around a use ------------------------------------------------------------------ */

static bool is_keyword(const struct kl_tokens *tokens, size_t i)
{
	static const char *const words[] = { "if",     "while",  "for",  "switch",
					     "return", "sizeof", "else", NULL };

	return kl_token_is_any(tokens, i, words);
}

static bool is_step(const struct kl_tokens *tokens, size_t i)
{
	return kl_token_is(tokens, i, "++") || kl_token_is(tokens, i, "--");
}

/* Return true if an assignment is at `i`; *plain is set if it is "=". */
static bool is_assignment(const struct kl_tokens *tokens, size_t i, bool *plain)
{
	static const char *const words[] = { "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", NULL };
	bool shift = kl_token_is(tokens, i, "<<") || kl_token_is(tokens, i, ">>");

	*plain = kl_token_is(tokens, i, "=");
	return *plain || kl_token_is_any(tokens, i, words) ||
	       (shift && kl_token_is(tokens, i + 1, "="));
}

/* Return true if the sign at `i` has no operand on its left: *p, &p. */
static bool is_unary(const struct pointer_range *range, size_t i, const char *sign)
{
	const struct kl_tokens *tokens = range->tokens;

	if (i < range->from || i >= range->to || !kl_token_is(tokens, i, sign))
		return false;
	if (i == range->from || is_keyword(tokens, i - 1))
		return true;
	return tokens->t[i - 1].kind == KL_TOKEN_SIGN && !kl_token_is(tokens, i - 1, ")") &&
	       !kl_token_is(tokens, i - 1, "]");
}

static bool mentions_name(struct pointer_search *search, const struct pointer_range *range,
			  size_t from, const char *end, const char *name)
{
	for (size_t i = from; i < range->to && !kl_token_is(range->tokens, i, end); i++) {
		search->read++;
		if (kl_token_is(range->tokens, i, name))
			return true;
	}
	return false;
}

bool kl_pointer_mentions(struct pointer_search *search, const struct pointer_range *range,
			 size_t from, const char *end)
{
	return mentions_name(search, range, from, end, range->name);
}

/* --- uses of an element --------------------------------------------------------------------- */

void kl_pointer_note_first(struct pointer_search *search, bool read)
{
	if (!search->any)
		search->read_first = read;
	search->any = true;
}

/*
 * Return true if the macro's text can write to the macro's arguments: it assigns, or passes an
 * address.
 */
static bool can_write(const char *text)
{
	KL_AUTO(kl_tokens_release) struct kl_tokens tokens = { 0 };
	bool address = false, call = false, plain;

	kl_lexer_read(&tokens, text, strlen(text));
	for (size_t i = kl_token_skip(&tokens, 1); i < tokens.n; i++) {
		if (is_assignment(&tokens, i, &plain) || is_step(&tokens, i))
			return true;
		address |= kl_token_is(&tokens, i, "&");
		call |= kl_found_is_word(&tokens, i) && kl_token_is(&tokens, i + 1, "(");
	}
	return address && call;
}

const char *kl_pointer_macro(const struct kl_tokens *tokens, size_t i)
{
	const struct kl_token *word = &tokens->t[i];

	for (size_t k = 0; kl_found_is_word(tokens, i) && k < tokens->macros.n; k++) {
		const char *text = tokens->macros.v[k];

		if (!strncmp(text, word->s, word->n) && text[word->n] == '(')
			return text;
	}
	return NULL;
}

/*
 * Note an element that is passed to a macro: FLOAT4(p[i]) = v writes through the pointer, and
 * SWAP(p[i], p[j]) may write. A function gets only the value of the element. Return true if the
 * element is written before it is read.
 */
static bool pass_element(struct pointer_search *search, const struct pointer_range *range, size_t i)
{
	const struct kl_tokens *tokens = range->tokens;
	size_t open;

	for (; find_open(&open, range, i) && open > range->from; i = open) {
		const char *text = kl_pointer_macro(tokens, open - 1);
		size_t after = kl_token_skip(tokens, open);
		bool plain;

		if (text && is_assignment(tokens, after, &plain)) {
			search->written = true;
			return plain && !kl_pointer_mentions(search, range, after, ";");
		}
		search->unknown |= text && can_write(text);
	}
	return false;
}

/* Return the index after the members and brackets that follow an element: p[i].re, p[i][j]. */
static size_t skip_members(const struct pointer_range *range, size_t after)
{
	const struct kl_tokens *tokens = range->tokens;

	while (after < range->to) {
		if (kl_token_is(tokens, after, "["))
			after = kl_token_skip(tokens, after);
		else if (kl_token_is(tokens, after, ".") && kl_found_is_word(tokens, after + 1))
			after += 2;
		else
			break;
	}
	return after;
}

/*
 * Return true if the bracket "(" at `i` only groups an expression: it does not belong to a call or
 * an `if`.
 */
static bool is_group(const struct pointer_range *range, size_t i)
{
	static const char *const words[] = { "return", "else", "do", NULL };

	if (i < range->from || i >= range->to || !kl_token_is(range->tokens, i, "("))
		return false;
	return i == range->from || !kl_found_is_word(range->tokens, i - 1) ||
	       kl_token_is_any(range->tokens, i - 1, words);
}

/* Note a use of an element. The tokens before `before` and from `after` on show what the use is. */
static void use_element(struct pointer_search *search, const struct pointer_range *range,
			size_t before, size_t after)
{
	const struct kl_tokens *tokens = range->tokens;
	size_t from = after;
	bool plain = false, assigned, first;

	after = skip_members(range, after);
	while (before > range->from && is_group(range, before - 1) &&
	       kl_token_is(tokens, after, ")")) {
		before--;
		after = skip_members(range, after + 1);
	}
	search->read += after - from;
	search->seen = true;
	/* an element that is a pointer leads to other memory, and so can the element's address */
	search->unknown |= kl_token_is(tokens, after, "->") ||
			   (before > range->from && is_unary(range, before - 1, "&"));
	assigned = after < range->to && is_assignment(tokens, after, &plain);
	/* the right side is evaluated before the assignment */
	first = assigned && plain && !kl_pointer_mentions(search, range, after, ";");
	if (assigned || is_step(tokens, after) ||
	    (before > range->from && is_step(tokens, before - 1)))
		search->written = true;
	else
		first = pass_element(search, range, before);
	kl_pointer_note_first(search, !first);
}

/* --- uses of the pointer itself --------------------------------------------------------------- */

/*
 * Find the innermost bracket "(" that is open at `i`. Return false if there is none in this
 * statement.
 */
static bool find_open(size_t *out, const struct pointer_range *range, size_t i)
{
	size_t least = i > LONGEST ? i - LONGEST : 0;
	int depth = 0;

	while (i-- > range->from && i >= least) {
		const struct kl_tokens *tokens = range->tokens;

		if (kl_token_is(tokens, i, ")") || kl_token_is(tokens, i, "]"))
			depth++;
		else if (depth && (kl_token_is(tokens, i, "(") || kl_token_is(tokens, i, "[")))
			depth--;
		else if (!depth && (kl_token_is(tokens, i, ";") || kl_token_is(tokens, i, "{") ||
				    kl_token_is(tokens, i, "}")))
			return false;
		else if (!depth && kl_token_is(tokens, i, "(")) {
			*out = i;
			return true;
		}
	}
	return false;
}

/*
 * Return the index before the token at `i` or, if the token is a closing bracket, before the open
 * bracket.
 */
static size_t skip_back(const struct pointer_range *range, size_t i)
{
	int depth = 0;

	do {
		depth += kl_token_is(range->tokens, i, ")") || kl_token_is(range->tokens, i, "]");
		depth -= kl_token_is(range->tokens, i, "(") || kl_token_is(range->tokens, i, "[");
		i--;
	} while (depth > 0 && i > range->from);
	return i;
}

/*
 * Follow a copy of the pointer: T *q = p, or q = p + n. Return false if the use at `i` is not a
 * copy that can be followed.
 */
static bool use_copy(struct pointer_search *search, const struct pointer_range *range, size_t i)
{
	static const char *const ends[] = { ";", "{", "}", "(", ",", NULL };
	const struct kl_tokens *tokens = range->tokens;
	KL_AUTO(kl_freep) char *name = NULL;
	struct pointer_range copy = *range;
	size_t equals = i, begin;

	while (equals > range->from && equals + LONGEST > i && !kl_token_is(tokens, equals, "=") &&
	       (equals == i || !kl_token_is_any(tokens, equals, ends)))
		equals = skip_back(range, equals);
	search->read += i - equals;
	if (equals <= range->from || !kl_token_is(tokens, equals, "=") ||
	    !kl_found_is_word(tokens, equals - 1) || kl_token_is(tokens, equals - 2, ".") ||
	    kl_token_is(tokens, equals - 2, "->"))
		return false;
	search->seen = true;
	if (kl_token_is(tokens, equals - 1, range->name))
		return true;
	for (begin = equals - 1; begin > range->from && !kl_token_is_any(tokens, begin - 1, ends);
	     begin--)
		;
	if (search->depth == KL_POINTER_DEEPEST)
		return false;
	name = kl_strndup(tokens->t[equals - 1].s, tokens->t[equals - 1].n);
	copy.name = name;
	copy.origin = range->name;
	copy.made = equals - 1;
	copy.is_const = kl_pointer_has_const(tokens, begin, equals);
	copy.axes = 1;
	search->depth++;
	kl_pointer_search(search, &copy);
	search->depth--;
	return true;
}

/*
 * Return true if the assignment to the name at `i` sets it to another pointer, as p = r does, but
 * not p = p + n.
 */
static bool is_replaced(struct pointer_search *search, const struct pointer_range *range, size_t i)
{
	if (range->origin &&
	    (i == range->made || mentions_name(search, range, i + 2, ";", range->origin)))
		return false;
	return !kl_pointer_mentions(search, range, i + 2, ";");
}

/* Return true if the pointer is only compared or moved. */
static bool is_tested(const struct pointer_range *range, size_t i)
{
	static const char *const tests[] = { "==", "!=", "&&", "||", "<", ">", "<=", ">=", NULL };
	static const char *const after[] = { "?", "+=", "-=", NULL };
	const struct kl_tokens *tokens = range->tokens;

	if (kl_token_is_any(tokens, i + 1, tests) || kl_token_is_any(tokens, i + 1, after) ||
	    is_step(tokens, i + 1))
		return true;
	return i > range->from && (kl_token_is_any(tokens, i - 1, tests) ||
				   kl_token_is(tokens, i - 1, "!") || is_step(tokens, i - 1));
}

/* Note a use of the pointer itself: in a condition, in a call, in *(p + i), or in a copy. */
static void use_pointer(struct pointer_search *search, const struct pointer_range *range, size_t i)
{
	const struct kl_tokens *tokens = range->tokens;
	size_t open, at = i;

	if (kl_token_is(tokens, i + 1, "=")) {
		search->lost |= is_replaced(search, range, i);
		return;
	}
	if (is_tested(range, i))
		return;
	for (; find_open(&open, range, at); at = open) {
		search->read += at - open;
		if (open > range->from && is_unary(range, open - 1, "*")) {
			at = kl_token_skip(tokens, open);
			search->read += at - open;
			use_element(search, range, open - 1, at);
			return;
		}
		if (open > range->from && is_keyword(tokens, open - 1)) {
			if (kl_token_is(tokens, open - 1, "for"))
				break;
			/*
			 * in if (p) or sizeof(p) nothing is written, but a returned pointer may be
			 * used anywhere
			 */
			search->unknown |= kl_token_is(tokens, open - 1, "return");
			return;
		}
		if (open > range->from && kl_found_is_word(tokens, open - 1) &&
		    !kl_token_is(tokens, open - 1, "__builtin_assume_aligned")) {
			kl_pointer_call(search, range, open, i);
			return;
		}
	}
	search->unknown |= !use_copy(search, range, at);
}

static void use_at(struct pointer_search *search, const struct pointer_range *range, size_t i)
{
	const struct kl_tokens *tokens = range->tokens;
	size_t before = i, after = i + 1;

	if (i > range->from &&
	    (kl_token_is(tokens, i - 1, ".") || kl_token_is(tokens, i - 1, "->")))
		return; /* a member with the same name */
	if (kl_token_is(tokens, i + 1, "[")) {
		size_t axes = 0;

		while (kl_token_is(tokens, after, "[")) {
			after = kl_token_skip(tokens, after);
			axes++;
		}
		search->read += after - i;
		if (i > range->from && is_unary(range, i - 1, "&"))
			use_pointer(search, range, i - 1);
		else if (axes < range->axes)
			use_pointer(search, range, i);
		else
			use_element(search, range, i, after);
		return;
	}
	if (i > range->from && is_step(tokens, i - 1))
		before--;
	if (before > range->from && is_unary(range, before - 1, "*")) {
		after += is_step(tokens, after);
		use_element(search, range, before - 1, after);
		return;
	}
	use_pointer(search, range, i);
}

/* --- macros -------------------------------------------------------------------------------------- */

/* Search for uses of the macro `name`, whose text is an element of the pointer. */
static void search_macro_uses(struct pointer_search *search, const struct pointer_range *range,
			      const char *name)
{
	for (size_t i = range->from; i < range->to && may_read(search, 1); i++) {
		if (!kl_token_is(range->tokens, i, name) || !kl_token_is(range->tokens, i + 1, "("))
			continue;
		if (i > range->from && is_unary(range, i - 1, "&"))
			use_pointer(search, range, i - 1);
		else
			use_element(search, range, i, kl_token_skip(range->tokens, i + 1));
	}
}

/*
 * Search the text of a macro, `tokens`: "A(i, j) a[(j) * lda + (i)]". If the text is one element,
 * the uses of the macro show what happens to the element.
 */
static void search_macro(struct pointer_search *search, const struct pointer_range *range,
			 const struct kl_tokens *tokens)
{
	size_t from = kl_token_is(tokens, 1, "(") ? kl_token_skip(tokens, 1) : 1;
	struct pointer_range text = { tokens,      from, tokens->n, range->name,
				      range->axes, NULL, 0,         range->is_const };
	bool used = false;
	KL_AUTO(kl_freep) char *name = NULL;

	if (!kl_found_is_word(tokens, 0) || !kl_pointer_mentions(search, &text, from, ""))
		return;
	name = kl_strndup(tokens->t[0].s, tokens->t[0].n);
	for (size_t i = range->from; i < range->to && may_read(search, 1); i++)
		used |= kl_token_is(range->tokens, i, name);
	if (!used)
		return;
	if (from > 1 && kl_token_is(tokens, from, range->name) &&
	    kl_token_is(tokens, from + 1, "[") && kl_token_skip(tokens, from + 1) == tokens->n)
		search_macro_uses(search, range, name);
	else
		search->unknown = true;
}

void kl_pointer_search(struct pointer_search *search, const struct pointer_range *range)
{
	const struct kl_founds *all = search->all;

	for (size_t i = range->from; i < range->to && may_read(search, 1); i++)
		if (kl_token_is(range->tokens, i, range->name))
			use_at(search, range, i);
	for (size_t i = 0; i < all->tokens->macros.n && may_read(search, all->macro[i].n); i++)
		search_macro(search, range, &all->macro[i]);
}

enum kl_pointer_use kl_pointer_use(bool *read_first, const struct kl_founds *all,
				   const struct kl_found *found, const char *name, size_t axes)
{
	struct pointer_search search = { .all = all };
	const struct pointer_range range = { all->tokens, found->body, found->end, name,
					     axes,        NULL,        0,          false };

	kl_pointer_search(&search, &range);
	*read_first = search.any && search.read_first;
	if (search.lost)
		return KL_POINTER_UNKNOWN;
	if (search.written)
		return KL_POINTER_WRITTEN;
	return search.unknown || !search.seen ? KL_POINTER_UNKNOWN : KL_POINTER_READ;
}
