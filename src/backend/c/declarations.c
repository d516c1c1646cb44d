/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/declarations.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "backend/c/spelling.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "plan/lexer.h"

/* A declaration: tokens [from, to) of a unit. */
struct declaration {
	size_t unit, from, to;
	/* token with the name of a plain function or prototype; NONE if it is neither */
	size_t name;
	bool reached;
};
#define NONE SIZE_MAX

/* The units in one form (one of the two texts), split into declarations. */
struct form {
	const struct kl_strvec *text;
	struct kl_tokens *unit;
	struct declaration *v;
	size_t n, alloc;
	struct kl_map names;   /* word -> struct places * */
	struct kl_strvec todo; /* reached words, in the order in which they are followed */
	struct kl_map seen;    /* words that were in `todo` */
	bool all;              /* everything counts as reached */
	bool doubtful;         /* a compiler may split the text into other tokens */
};

/* Indices of declarations. */
struct places {
	size_t *v, n, alloc;
};

static void free_places(void *data)
{
	struct places *places = data;

	free(places->v);
	free(places);
}

static void form_release(struct form *form)
{
	for (size_t i = 0; form->unit && i < form->text->n; i++)
		kl_tokens_release(&form->unit[i]);
	free(form->unit);
	free(form->v);
	kl_map_release(&form->names);
	kl_map_release(&form->seen);
	kl_strvec_release(&form->todo);
}

/*
 * --- splitting a unit ---------------------------------------------------------------------------
 */

/* Keywords, which are never names. Keywords that parentheses follow are in lists of their own. */
static const char keywords[] =
	" auto break case char const continue default do double else enum extern float for goto if"
	" inline int long register restrict return short signed sizeof static struct switch typedef"
	" union unsigned void volatile while _Bool _Complex _Imaginary _Noreturn _Thread_local"
	" __inline __inline__ __const __restrict __restrict__ __signed__ __volatile__ __extension__"
	" __int128 _Float16 _Float32 _Float64 _Float128 __float128 __bf16 __builtin_va_list ";
static const char attributes[] =
	" __attribute__ __attribute __asm__ __asm asm __declspec _Alignas ";
static const char with_parentheses[] =
	" typeof __typeof__ __typeof _Atomic _BitInt _Static_assert _Generic _Alignof ";

static const char assembler[] = " asm __asm__ __asm ";

static bool is_listed(const char *list, const struct kl_token *token)
{
	char word[80];

	if (token->kind != KL_TOKEN_WORD || token->n + 3 > sizeof(word))
		return false;
	word[0] = ' ';
	memcpy(word + 1, token->s, token->n);
	word[token->n + 1] = ' ';
	word[token->n + 2] = '\0';
	return strstr(list, word) != NULL;
}

/* Return the index after attributes such as __attribute__((...)) that begin at `i`. */
static size_t skip_attributes(const struct kl_tokens *tokens, size_t i)
{
	while (i < tokens->n && is_listed(attributes, &tokens->t[i]) &&
	       kl_token_is(tokens, i + 1, "("))
		i = kl_token_skip(tokens, i + 1);
	return i;
}

/*
 * Return true if the tokens contain a brace. An attribute that does can define a name that other
 * declarations use: aligned(sizeof(enum { N = 1 })).
 */
static bool has_brace(const struct kl_tokens *tokens, size_t from, size_t to)
{
	while (from < to && !kl_token_is(tokens, from, "{"))
		from++;
	return from < to;
}

/*
 * Return the index of the name of a plain function or prototype, which consists of words, stars and
 * attributes, then the name, its parameters and attributes up to `stop`. Return NONE if the
 * declaration is something else.
 */
static size_t plain_name(const struct kl_tokens *tokens, size_t from, size_t stop)
{
	for (size_t i = from; i < stop; i++) {
		size_t next = skip_attributes(tokens, i), at;

		if (next != i) {
			if (has_brace(tokens, i, next))
				return NONE;
			i = next - 1;
			continue;
		}
		if (kl_token_is(tokens, i, "*"))
			continue;
		if (tokens->t[i].kind != KL_TOKEN_WORD)
			return NONE;
		if (!kl_token_is(tokens, i + 1, "("))
			continue;
		if (is_listed(keywords, &tokens->t[i]) ||
		    is_listed(with_parentheses, &tokens->t[i]))
			return NONE;
		at = kl_token_skip(tokens, i + 1);
		next = skip_attributes(tokens, at);
		return next == stop && !has_brace(tokens, at, next) ? i : NONE;
	}
	return NONE;
}

static void add_declaration(struct form *form, size_t unit, size_t from, size_t stop, size_t to)
{
	KL_GROW(form->v, form->n + 1, form->alloc);
	form->v[form->n++] = (struct declaration){
		.unit = unit,
		.from = from,
		.to = to,
		.name = plain_name(&form->unit[unit], from, stop),
	};
}

static void split_unit(struct form *form, size_t unit)
{
	const struct kl_tokens *tokens = &form->unit[unit];
	size_t from = 0;

	for (size_t i = 0; i < tokens->n;) {
		if (kl_token_is(tokens, i, ";")) {
			add_declaration(form, unit, from, i, i + 1);
			from = ++i;
		} else if (kl_token_is(tokens, i, "{")) {
			size_t end = kl_token_skip(tokens, i);

			/* after the body of a plain function the next declaration begins */
			if (plain_name(tokens, from, i) != NONE) {
				add_declaration(form, unit, from, i, end);
				from = end;
			}
			i = end;
		} else if (kl_token_is(tokens, i, "(") || kl_token_is(tokens, i, "[")) {
			i = kl_token_skip(tokens, i);
		} else {
			i++;
		}
	}
	if (from < tokens->n)
		add_declaration(form, unit, from, tokens->n, tokens->n);
}

/*
 * --- words of declarations -----------------------------------------------------------------------
 */

typedef void (*word_fn)(struct form *form, const char *word, size_t index);

/* Call a function with each word of a text. */
static void split_words(struct form *form, const char *text, size_t len, word_fn call, size_t index)
{
	for (size_t at = 0, n; at < len; at += n + !n) {
		for (n = 0; at + n < len && (isalnum((unsigned char)text[at + n]) ||
					     text[at + n] == '_' || text[at + n] == '$');)
			n++;
		if (n) {
			KL_AUTO(kl_freep) char *word = kl_strndup(text + at, n);

			call(form, word, index);
		}
	}
}

static int digit_of(char ch)
{
	return isdigit((unsigned char)ch) ? ch - '0' : tolower((unsigned char)ch) - 'a' + 10;
}

/*
 * Append the character of an octal or hexadecimal escape, or a blank for any other escape. Return
 * the length of the escape.
 */
static size_t add_escape(struct kl_buf *out, const char *text, size_t len)
{
	int base = len > 1 && text[1] == 'x' ? 16 : 8;
	size_t n = base == 16 ? 2 : 1;
	int value = 0;
	char ch;

	if (len > 1 && base == 8 && !isdigit((unsigned char)text[1])) {
		kl_buf_adds(out, " ");
		return 2;
	}
	for (; n < len && isxdigit((unsigned char)text[n]) && digit_of(text[n]) < base; n++)
		value = (value * base + digit_of(text[n])) & 0xff;
	ch = (char)(value ? value : ' ');
	kl_buf_add(out, &ch, 1);
	return n;
}

/*
 * Join the strings that begin at `i`, as the compiler does, and call a function with each word.
 * Return the index after the strings.
 */
static size_t join_strings(struct form *form, const struct kl_tokens *tokens, size_t i,
			   word_fn call, size_t index)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_buf_adds(&text, "");
	for (; i < tokens->n && tokens->t[i].kind == KL_TOKEN_STRING; i++)
		for (size_t k = 1; k + 1 < tokens->t[i].n;) {
			const char *at = tokens->t[i].s + k;

			if (*at == '\\') {
				k += add_escape(&text, at, tokens->t[i].n - k - 1);
				continue;
			}
			kl_buf_add(&text, at, 1);
			k++;
		}
	split_words(form, text.ptr, text.len, call, index);
	return i;
}

/*
 * Call a function with each word of the tokens [from, to) that is not a keyword or, if `strings` is
 * true, only with the words in strings.
 */
static void each_word(struct form *form, const struct kl_tokens *tokens, size_t from, size_t to,
		      bool strings, word_fn call, size_t index)
{
	for (size_t i = from; i < to;) {
		const struct kl_token *token = &tokens->t[i];

		if (token->kind == KL_TOKEN_STRING) {
			i = join_strings(form, tokens, i, call, index);
			continue;
		}
		if (!strings && token->kind == KL_TOKEN_WORD && !is_listed(keywords, token))
			split_words(form, token->s, token->n, call, index);
		i++;
	}
}

static void add_name(struct form *form, const char *word, size_t index)
{
	struct places *places = kl_map_get(&form->names, word);

	if (!places) {
		places = kl_calloc(1, sizeof(*places));
		kl_map_put(&form->names, word, places);
	}
	if (places->n && places->v[places->n - 1] == index)
		return;
	KL_GROW(places->v, places->n + 1, places->alloc);
	places->v[places->n++] = index;
}

static void add_todo(struct form *form, const char *word, size_t index)
{
	static char mark[] = "";

	if (!kl_map_put(&form->seen, word, mark))
		kl_strvec_push(&form->todo, word);
}

/* Return the index of the first token that is a word of `list`, or `to` if there is none. */
static size_t find_word(const struct kl_tokens *tokens, size_t from, size_t to, const char *list)
{
	while (from < to && !is_listed(list, &tokens->t[from]))
		from++;
	return from;
}

/*
 * Return true if the assembler code at `i` can define a name, because it may contain a label, a
 * directive or an assignment.
 */
static bool defines_name(const struct kl_tokens *tokens, size_t i)
{
	while (i < tokens->n && tokens->t[i].kind == KL_TOKEN_WORD)
		i++;
	if (!kl_token_is(tokens, i, "(") || i + 1 >= tokens->n ||
	    tokens->t[i + 1].kind != KL_TOKEN_STRING)
		return true;
	for (i++; i < tokens->n && tokens->t[i].kind == KL_TOKEN_STRING; i++)
		for (size_t k = 0; k < tokens->t[i].n; k++) {
			const char *at = tokens->t[i].s + k;

			if (strchr(":.=", *at) || (*at == '\\' && !strchr("nt", at[1])))
				return true;
		}
	return false;
}

static size_t body_of(const struct kl_tokens *tokens, const struct declaration *declaration)
{
	size_t i = declaration->from;

	while (i < declaration->to && !kl_token_is(tokens, i, "{"))
		i++;
	return i;
}

/*
 * Return the index of the word that names the type of a declaration, as T in "static T x, *y". It
 * is the first word that is no keyword, if a word or a star follows it. Otherwise that word may be
 * the declared name: return NONE.
 */
static size_t type_name(const struct kl_tokens *tokens, size_t from, size_t to)
{
	size_t i = from;

	while (i < to && (is_listed(keywords, &tokens->t[i]) || skip_attributes(tokens, i) != i))
		i = skip_attributes(tokens, i) != i ? skip_attributes(tokens, i) : i + 1;
	if (i + 1 >= to || tokens->t[i].kind != KL_TOKEN_WORD)
		return NONE;
	if (kl_token_is(tokens, i + 1, "*"))
		return i;
	return tokens->t[i + 1].kind == KL_TOKEN_WORD && !is_listed(attributes, &tokens->t[i + 1]) ?
		       i :
		       NONE;
}

/*
 * Add the names of a declaration that is not a plain function or prototype. Outside braces and
 * attributes, these are all words except the type at the beginning. Inside them, and in a static
 * assertion, only enumerators and the tags of types that are defined there are names. Members and
 * designators name nothing at file scope: code that uses a member also names its type, or something
 * declared with that type.
 */
static void add_names(struct form *form, const struct declaration *declaration, size_t index)
{
	const struct kl_tokens *tokens = &form->unit[declaration->unit];
	size_t to = declaration->to, inside = 0, enumerators = 0;
	size_t type = type_name(tokens, declaration->from, to);

	if (is_listed(" _Static_assert ", &tokens->t[declaration->from]))
		inside = to;
	for (size_t i = declaration->from; i < to; i++) {
		if (is_listed(" struct union enum ", &tokens->t[i])) {
			size_t tag = skip_attributes(tokens, i + 1), body = tag;

			if (tag < to && tokens->t[tag].kind == KL_TOKEN_WORD)
				body = skip_attributes(tokens, tag + 1);
			if (body != tag && kl_token_is(tokens, body, "{"))
				each_word(form, tokens, tag, tag + 1, false, add_name, index);
			if (kl_token_is(tokens, i, "enum") && kl_token_is(tokens, body, "{") &&
			    kl_token_skip(tokens, body) > enumerators)
				enumerators = kl_token_skip(tokens, body);
		}
		if (kl_token_is(tokens, i, "{") && i >= inside)
			inside = kl_token_skip(tokens, i);
		if (is_listed(" __attribute__ __attribute __declspec _Alignas ", &tokens->t[i]) &&
		    i >= inside)
			inside = skip_attributes(tokens, i);
		if (i != type && (i >= inside || i < enumerators))
			each_word(form, tokens, i, i + 1, false, add_name, index);
	}
}

static void name_declaration(struct form *form, size_t index)
{
	/* attributes that give a function another name, or cause calls that do not name it */
	static const char renames[] =
		" alias __alias__ weakref __weakref__ ifunc __ifunc__ symver __symver__"
		" constructor __constructor__ destructor __destructor__ ";
	const struct declaration *declaration = &form->v[index];
	const struct kl_tokens *tokens = &form->unit[declaration->unit];
	size_t from = declaration->from, to = declaration->to, body;

	form->all |= find_word(tokens, from, to, renames) < to;
	if (declaration->name == NONE) {
		add_names(form, declaration, index);
		return;
	}
	each_word(form, tokens, declaration->name, declaration->name + 1, false, add_name, index);
	/* only the string of an asm label is a name, as in: int f(void) __asm__("g") */
	body = body_of(tokens, declaration);
	while ((from = find_word(tokens, from, body, assembler)) < body) {
		size_t end = skip_attributes(tokens, from);

		each_word(form, tokens, from, end, true, add_name, index);
		from = end + (end == from);
	}
	while ((body = find_word(tokens, body, to, assembler)) < to)
		form->all |= defines_name(tokens, body++);
}

static void reach_declaration(struct form *form, size_t index)
{
	struct declaration *declaration = &form->v[index];
	const struct kl_tokens *tokens = &form->unit[declaration->unit];
	size_t body = declaration->name == NONE ? declaration->from : body_of(tokens, declaration);

	if (declaration->reached)
		return;
	declaration->reached = true;
	/* assembler code can compose the name of a function */
	form->all |= find_word(tokens, body, declaration->to, assembler) < declaration->to;
	each_word(form, tokens, declaration->from, declaration->to, false, add_todo, index);
}

/* --- lines of the preprocessor ---------------------------------------------------------------------- */

/* Return the next line that begins with '#', after blanks; NULL if there is none. */
static const char *next_directive(const char *at, size_t *len)
{
	while (at && *at) {
		const char *from = at + strspn(at, " \t");
		const char *end = strchrnul(from, '\n');

		if (*from == '#') {
			*len = (size_t)(end - from);
			return from;
		}
		at = *end ? end + 1 : NULL;
	}
	return NULL;
}

static void reach_directives(struct form *form, const char *text)
{
	size_t n = 0;

	while ((text = next_directive(text, &n))) {
		split_words(form, text, n, add_todo, 0);
		text += n;
	}
}

/* --- comparing ---------------------------------------------------------------------------------------- */

/*
 * Return true if the declaration always counts as reached, because no name leads to it: it has
 * assembler code, or does not begin with a word (the body of a function with old-style parameters).
 */
static bool is_root(const struct form *form, const struct declaration *declaration)
{
	const struct kl_tokens *tokens = &form->unit[declaration->unit];

	if (declaration->name != NONE)
		return false;
	if (tokens->t[declaration->from].kind != KL_TOKEN_WORD)
		return true;
	return find_word(tokens, declaration->from, declaration->to, assembler) < declaration->to;
}

static void reach_all(struct form *form, const char *const *entries)
{
	for (; *entries; entries++)
		add_todo(form, *entries, 0);
	for (size_t i = 0; i < form->text->n; i++)
		reach_directives(form, form->text->v[i]);
	for (size_t i = 0; i < form->n; i++)
		if (is_root(form, &form->v[i]))
			reach_declaration(form, i);
	for (size_t k = 0; k < form->todo.n; k++) {
		const struct places *places = kl_map_get(&form->names, form->todo.v[k]);

		for (size_t i = 0; places && i < places->n; i++)
			reach_declaration(form, places->v[i]);
	}
}

static void read_form(struct form *form, const struct kl_strvec *text, const char *const *entries)
{
	*form = (struct form){ .text = text };
	form->names.free_value = free_places;
	form->unit = kl_calloc(text->n + 1, sizeof(*form->unit));
	for (size_t i = 0; i < text->n; i++) {
		form->doubtful |= !kl_spelling_is_plain(text->v[i]);
		kl_lexer_read(&form->unit[i], text->v[i], strlen(text->v[i]));
		split_unit(form, i);
	}
	for (size_t i = 0; i < form->n; i++)
		name_declaration(form, i);
	for (size_t i = 0; entries[i]; i++)
		form->doubtful |= !kl_map_get(&form->names, entries[i]);
	reach_all(form, entries);
}

/* A place in a form: the token there, and the last declaration that begins before it. */
struct place {
	size_t unit, token, declaration;
};

/*
 * Advance to the directive at `text`. Return how many tokens of its declaration are before the
 * directive; 0 if the declaration does not count as reached.
 */
static size_t advance(struct place *place, const struct form *form, const char *text)
{
	const struct kl_tokens *tokens = &form->unit[place->unit];
	size_t i = place->declaration;

	while (place->token < tokens->n && tokens->t[place->token].s < text)
		place->token++;
	while (i < form->n && (form->v[i].unit < place->unit ||
			       (form->v[i].unit == place->unit && form->v[i].to < place->token)))
		i++;
	place->declaration = i;
	if (i == form->n || form->v[i].unit != place->unit)
		return 0;
	return form->all || form->v[i].reached ? place->token - form->v[i].from : 0;
}

static bool same_directives(const struct form *one, const struct form *other, size_t unit)
{
	const char *left = one->text->v[unit], *right = other->text->v[unit];
	struct place place = { .unit = unit }, twin = { .unit = unit };
	size_t n = 0, len = 0;

	for (;;) {
		left = next_directive(left, &n);
		right = next_directive(right, &len);
		if (!left || !right)
			return !left && !right;
		if (n != len || memcmp(left, right, n) ||
		    advance(&place, one, left) != advance(&twin, other, right) ||
		    place.declaration != twin.declaration)
			return false;
		left += n;
		right += n;
	}
}

static bool same_texts(const struct kl_strvec *left, const struct kl_strvec *right)
{
	for (size_t i = 0; i < left->n; i++)
		if (strcmp(left->v[i], right->v[i]))
			return false;
	return true;
}

static bool same_tokens(const struct form *left, const struct form *right, size_t index)
{
	const struct declaration *one = &left->v[index], *other = &right->v[index];

	if (one->unit != other->unit || one->to - one->from != other->to - other->from)
		return false;
	for (size_t i = 0; i < one->to - one->from; i++) {
		if (!kl_token_same(&left->unit[one->unit].t[one->from + i],
				   &right->unit[other->unit].t[other->from + i]))
			return false;
	}
	return true;
}

bool kl_declarations_alike(const struct kl_strvec *left, const struct kl_strvec *right,
			   const char *const *entries)
{
	KL_AUTO(form_release) struct form one = { .n = 0 };
	KL_AUTO(form_release) struct form other = { .n = 0 };
	bool alike = left->n == right->n;

	read_form(&one, left, entries);
	read_form(&other, right, entries);
	if (alike && (one.doubtful || other.doubtful))
		return same_texts(left, right);
	alike = alike && one.n == other.n;
	for (size_t i = 0; alike && i < left->n; i++)
		alike = same_directives(&one, &other, i);
	for (size_t i = 0; alike && i < one.n; i++)
		alike = same_tokens(&one, &other, i) ||
			(!one.all && !other.all && !one.v[i].reached && !other.v[i].reached);
	return alike;
}
