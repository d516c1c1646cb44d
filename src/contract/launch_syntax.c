/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/launch_syntax.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "contract/c_type.h"
#include "contract/prototype_parts.h"

#define DEEPEST 6   /* deepest nesting of variables, macros and calls that is followed */
#define LONGEST 480 /* maximum number of bytes of an expression; a plan allows 512 */

/* --- translating expressions --------------------------------------------------------------- */

struct launch {
	const struct kl_tokens *tokens;
	const struct kl_proto *proto;
	size_t args; /* index of the first argument that is passed to the kernel */
	size_t end;  /* index after the bracket that closes the arguments */
};

/* Return the end of the item that begins at `i`: the index of its comma, semicolon or bracket. */
static size_t item_end(const struct kl_tokens *tokens, size_t i)
{
	while (i < tokens->n && !kl_token_is(tokens, i, ",") && !kl_token_is(tokens, i, ";") &&
	       !kl_token_is(tokens, i, ")") && !kl_token_is(tokens, i, "}") &&
	       !(kl_token_is(tokens, i, ">>") && kl_token_is(tokens, i + 1, ">")))
		i = kl_token_is(tokens, i, "(") || kl_token_is(tokens, i, "{") ||
				    kl_token_is(tokens, i, "[") ?
			    kl_token_skip(tokens, i) :
			    i + 1;
	return i;
}

/*
 * Return the name of the parameter to which the launch passes the variable at `word`, or NULL.
 * Pointers do not count.
 */
static const char *passed_as(const struct launch *launch, size_t word)
{
	const struct kl_tokens *tokens = launch->tokens;
	size_t i = launch->args;

	for (size_t k = 0; k < launch->proto->n && i < launch->end; k++) {
		size_t end = item_end(tokens, i);

		if (end == i + 1 && kl_token_same(&tokens->t[i], &tokens->t[word]) &&
		    !launch->proto->param[k].pointer)
			return launch->proto->param[k].name;
		i = end + 1;
	}
	return NULL;
}

static bool translate(struct kl_buf *out, const struct launch *launch, size_t from, size_t to,
		      int depth);

/*
 * Find the value that the variable at `word` is set to: [*from, *to). Return false if it is not set
 * exactly once.
 */
static bool find_value(size_t *from, size_t *to, const struct launch *launch, size_t word)
{
	const struct kl_tokens *tokens = launch->tokens;
	size_t n = 0;

	for (size_t i = 1; i + 1 < tokens->n; i++) {
		if (!kl_token_is(tokens, i + 1, "=") ||
		    !kl_token_same(&tokens->t[i], &tokens->t[word]) ||
		    kl_token_is(tokens, i - 1, ".") || kl_token_is(tokens, i - 1, "->"))
			continue;
		n++;
		*from = i + 2;
		*to = item_end(tokens, i + 2);
	}
	return n == 1;
}

/* Translate a macro to its value, such as 256 for "#define BLOCK 256". */
static bool translate_macro(struct kl_buf *out, const struct launch *launch, size_t word, int depth)
{
	const struct kl_token *name = &launch->tokens->t[word];

	for (size_t i = 0; i < launch->tokens->macros.n; i++) {
		KL_AUTO(kl_tokens_release) struct kl_tokens text = { 0 };
		const char *macro = launch->tokens->macros.v[i];
		struct launch inner = { .tokens = &text, .proto = launch->proto };

		if (strncmp(macro, name->s, name->n) || !isspace((unsigned char)macro[name->n]))
			continue;
		kl_lexer_read(&text, macro + name->n, strlen(macro + name->n));
		return text.n && translate(out, &inner, 0, text.n, depth + 1);
	}
	return false;
}

/* Translate sizeof, or a call of a function that rounds a quotient up. */
static bool translate_call(struct kl_buf *out, const struct launch *launch, size_t word, int depth)
{
	static const char *const names[] = { "cdiv",       "ceil_div", "ceildiv", "div_ceil",
					     "divceil",    "divup",    "div_up",  "div_round_up",
					     "ceildivide", NULL };
	const struct kl_tokens *tokens = launch->tokens;
	KL_AUTO(kl_freep) char *name = kl_strndup(tokens->t[word].s, tokens->t[word].n);
	size_t middle = item_end(tokens, word + 2), end;

	if (!strcmp(name, "sizeof")) {
		bool wide = kl_token_is(tokens, word + 2, "double");

		if (!wide && !kl_token_is(tokens, word + 2, "float") &&
		    !kl_token_is(tokens, word + 2, "int"))
			return false;
		kl_buf_adds(out, wide ? "8" : "4");
		return kl_token_is(tokens, word + 3, ")");
	}
	for (char *ch = name; *ch; ch++)
		*ch = (char)tolower((unsigned char)*ch);
	for (size_t i = 0; names[i]; i++) {
		if (strcmp(name, names[i]) || !kl_token_is(tokens, middle, ","))
			continue;
		end = item_end(tokens, middle + 1);
		kl_buf_adds(out, "cdiv(");
		if (!translate(out, launch, word + 2, middle, depth + 1))
			return false;
		kl_buf_adds(out, ", ");
		if (!translate(out, launch, middle + 1, end, depth + 1))
			return false;
		kl_buf_adds(out, ")");
		return kl_token_is(tokens, end, ")");
	}
	return false;
}

static bool translate_word(struct kl_buf *out, const struct launch *launch, size_t word, int depth)
{
	const char *param = launch->args ? passed_as(launch, word) : NULL;
	size_t from, to;

	if (param) {
		kl_buf_adds(out, param);
		return true;
	}
	if (find_value(&from, &to, launch, word)) {
		bool one = to == from + 1;

		kl_buf_adds(out, one ? "" : "(");
		if (!translate(out, launch, from, to, depth + 1))
			return false;
		kl_buf_adds(out, one ? "" : ")");
		return true;
	}
	return translate_macro(out, launch, word, depth);
}

/*
 * Append the tokens [from, to) as an expression of a plan. Return false if a plan cannot express
 * them.
 */
static bool translate(struct kl_buf *out, const struct launch *launch, size_t from, size_t to,
		      int depth)
{
	const struct kl_tokens *tokens = launch->tokens;

	if (depth > DEEPEST || out->len > LONGEST)
		return false;
	for (size_t i = from; i < to; i++) {
		const struct kl_token *token = &tokens->t[i];
		size_t digits = 0;

		while (digits < token->n && isdigit((unsigned char)token->s[digits]))
			digits++;
		if (token->kind == KL_TOKEN_NUMBER) {
			for (size_t k = digits; k < token->n; k++)
				if (!strchr("uUlL", token->s[k]))
					return false;
			kl_buf_addf(out, "%.*s", (int)digits, token->s);
		} else if (token->kind == KL_TOKEN_WORD && kl_token_is(tokens, i + 1, "(")) {
			if (!translate_call(out, launch, i, depth))
				return false;
			i = kl_token_skip(tokens, i + 1) - 1;
		} else if (token->kind == KL_TOKEN_WORD) {
			if (!translate_word(out, launch, i, depth))
				return false;
		} else if (token->n == 1 && strchr("+-*/%()", *token->s)) {
			bool tight = *token->s == '(' || *token->s == ')';

			kl_buf_addf(out, tight ? "%c" : " %c ", *token->s);
		} else {
			return false;
		}
	}
	return from < to && out->len <= LONGEST;
}

/* --- the three dimensions of a grid or block ------------------------------------------------------- */

/*
 * Find the list of a dim3 at `i`: dim3(a, b), or a variable v that is declared as dim3 v(a, b).
 * Return false if there is no list, since the value is a number.
 */
static bool find_list(size_t *out, const struct launch *launch, size_t i)
{
	const struct kl_tokens *tokens = launch->tokens;

	if (kl_token_is(tokens, i, "dim3") || kl_token_is(tokens, i, "{")) {
		*out = i + (kl_token_is(tokens, i, "{") ? 1 : 2);
		return true;
	}
	for (size_t k = 1; k + 2 < tokens->n; k++) {
		if (!kl_token_is(tokens, k - 1, "dim3") ||
		    !kl_token_same(&tokens->t[k], &tokens->t[i]))
			continue;
		if (kl_token_is(tokens, k + 1, "=")) {
			*out = k + (kl_token_is(tokens, k + 2, "{") ? 3 : 4);
			return kl_token_is(tokens, k + 2, "{") ||
			       kl_token_is(tokens, k + 2, "dim3");
		}
		*out = k + 2;
		return kl_token_is(tokens, k + 1, "(") || kl_token_is(tokens, k + 1, "{");
	}
	return false;
}

static bool add_expr(struct kl_buf *out, const struct launch *launch, size_t from, size_t to)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	bool plain;

	if (!translate(&text, launch, from, to, 0))
		return false;
	plain = !text.ptr[strspn(text.ptr, "abcdefghijklmnopqrstuvwxyz_"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")];
	kl_buf_addf(out, plain ? "%s" : "\"%s\"", text.ptr);
	return true;
}

/* Return the expressions of a grid or block, separated by commas, or NULL; the caller frees. */
static char *read_extents(const struct launch *launch, size_t from, size_t to)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	size_t i;

	if ((to != from + 1 && !kl_token_is(launch->tokens, from, "dim3")) ||
	    !find_list(&i, launch, from))
		return add_expr(&out, launch, from, to) ? kl_buf_detach(&out) : NULL;
	for (int axis = 0; axis < 3; axis++) {
		size_t end = item_end(launch->tokens, i);

		kl_buf_adds(&out, axis ? ", " : "");
		if (!add_expr(&out, launch, i, end))
			return NULL;
		if (!kl_token_is(launch->tokens, end, ","))
			break;
		i = end + 1;
	}
	return kl_buf_detach(&out);
}

/*
 * Return the index after "<<<" of the first launch of the kernel; 0 if there is none. *angle is the
 * index of the "<" of template arguments; 0 if there are none.
 */
static size_t find_launch(size_t *angle, const struct kl_tokens *tokens, const char *name)
{
	for (size_t i = 0; i + 3 < tokens->n; i++) {
		size_t at = i + 1;

		if (!kl_token_is(tokens, i, name))
			continue;
		*angle = kl_token_is(tokens, at, "<") ? at : 0;
		if (*angle)
			at = kl_found_skip_angles(tokens, at);
		if (kl_token_is(tokens, at, "<<") && kl_token_is(tokens, at + 1, "<"))
			return at + 2;
	}
	*angle = 0;
	return 0;
}

/* --- the instance of a template that is launched ------------------------------------------------ */

/*
 * Return the template argument [from, to), a number or a type; "" if it is neither. The caller
 * frees.
 */
static char *read_argument(const struct launch *launch, size_t from, size_t to)
{
	KL_AUTO(kl_buf_release) struct kl_buf number = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	const struct kl_tokens *tokens = launch->tokens;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (to == from + 1 &&
	    (kl_token_is(tokens, from, "true") || kl_token_is(tokens, from, "false")))
		return kl_strndup(tokens->t[from].s, tokens->t[from].n);
	if (translate(&number, launch, from, to, 0))
		return kl_buf_detach(&number);
	for (size_t i = from; i < to; i++) {
		kl_strvec_take(&words, kl_strndup(tokens->t[i].s, tokens->t[i].n));
		kl_buf_addf(&text, "%s%s", i > from ? " " : "", words.v[words.n - 1]);
	}
	return kl_c_type_dtype(tokens, &words) ? kl_buf_detach(&text) : kl_strdup("");
}

void kl_launch_instance(struct kl_proto *proto, const struct kl_tokens *tokens)
{
	const struct launch launch = { .tokens = tokens, .proto = proto };
	size_t angle, end, i;

	if (!find_launch(&angle, tokens, proto->name) || !angle)
		return;
	end = kl_found_skip_angles(tokens, angle) - 1;
	for (i = angle + 1; i < end && proto->argument.n < proto->given.n;) {
		size_t to = kl_found_given_end(tokens, i, end);

		kl_strvec_take(&proto->argument, read_argument(&launch, i, to));
		i = to + 1;
	}
}

void kl_launch_syntax(struct kl_proto *proto, const struct kl_tokens *tokens)
{
	struct launch launch = { .tokens = tokens, .proto = proto };
	size_t angle, at[4] = { find_launch(&angle, tokens, proto->name) }, n = 0, i = at[0];

	if (!i)
		return;
	while (n < 3 && i < tokens->n) {
		at[n++] = i;
		i = item_end(tokens, i) + 1;
		if (!kl_token_is(tokens, i - 1, ","))
			break;
	}
	at[n] = i;
	while (i < tokens->n && !kl_token_is(tokens, i, "("))
		i++;
	launch.args = i + 1;
	launch.end = i < tokens->n ? kl_token_skip(tokens, i) : i;
	if (n < 2)
		return;
	proto->grid = read_extents(&launch, at[0], at[1] - 1);
	proto->block = read_extents(&launch, at[1], at[2] - 1);
	if (n > 2) {
		KL_AUTO(kl_buf_release) struct kl_buf smem = KL_BUF_INIT;

		if (add_expr(&smem, &launch, at[2], at[3] - 1) && strcmp(smem.ptr, "0"))
			proto->smem = kl_buf_detach(&smem);
	}
}
