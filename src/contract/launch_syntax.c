/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/launch_syntax.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"

#define DEEPEST 6   /* variables that are set to variables, macros and calls, one in another */
#define LONGEST 480 /* bytes of an expression; a plan allows 512 */

/* --- translating expressions --------------------------------------------------------------- */

struct launch {
	const struct kl_tokens *tokens;
	const struct kl_proto *proto;
	size_t args; /* index of the first argument that is passed to the kernel */
	size_t end;  /* index of the bracket after the last one */
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

/* Return the kernel's parameter that gets the variable at `word`; NULL: none that is a number. */
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

/* Find what the variable at `word` is set to: [*from, *to); false: it is not set, or set twice. */
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

/* Translate the value of a macro: #define BLOCK 256. */
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

/* Translate a call: of a function that rounds a quotient up, or of sizeof. */
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

/* Append the tokens [from, to) as an expression of a plan; false: a plan cannot say this. */
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

/* Find the list of a dim3: dim3(a, b), or dim3 v(a, b) if `i` is v; false: it is a number. */
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

/* Return the expressions of a grid or block, separated by commas. */
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

/* Return the index after "<<<" of the first launch of the kernel; 0: there is none. */
static size_t find_launch(const struct kl_tokens *tokens, const char *name)
{
	for (size_t i = 0; i + 3 < tokens->n; i++)
		if (kl_token_is(tokens, i, name) && kl_token_is(tokens, i + 1, "<<") &&
		    kl_token_is(tokens, i + 2, "<"))
			return i + 3;
	return 0;
}

void kl_launch_syntax(struct kl_proto *proto, const struct kl_tokens *tokens)
{
	struct launch launch = { .tokens = tokens, .proto = proto };
	size_t at[4] = { find_launch(tokens, proto->name) }, n = 0, i = at[0];

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

/* --- mangled names ----------------------------------------------------------------------------------- */

/* Return the letter of a type of C; NULL: the type is another one. */
static const char *letter_of(const char *type)
{
	/* clang-format off */
	static const struct { const char *type, *letter; } letters[] = {
		{ "float", "f" }, { "double", "d" }, { "bool", "b" }, { "_Bool", "b" },
		{ "int8_t", "a" }, { "uint8_t", "h" }, { "int16_t", "s" }, { "uint16_t", "t" },
		{ "int32_t", "i" }, { "uint32_t", "j" }, { "uint", "j" }, { "int64_t", "l" },
		{ "ptrdiff_t", "l" }, { "ssize_t", "l" }, { "uint64_t", "m" }, { "size_t", "m" },
	};
	/* clang-format on */
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	bool is_unsigned, is_long;

	for (size_t i = 0; i < KL_ARRAY_SIZE(letters); i++)
		if (!strcmp(letters[i].type, type))
			return letters[i].letter;
	kl_strvec_split(&words, type, " ");
	is_unsigned = kl_strvec_has(&words, "unsigned");
	is_long = kl_strvec_has(&words, "long");
	if (kl_strvec_has(&words, "char"))
		return is_unsigned ? "h" : words.n > 1 ? "a" : "c";
	if (kl_strvec_has(&words, "short"))
		return is_unsigned ? "t" : "s";
	if (strstr(type, "long long"))
		return is_unsigned ? "y" : "x";
	if (is_long)
		return is_unsigned ? "m" : "l";
	if (is_unsigned)
		return "j";
	return kl_strvec_has(&words, "int") || kl_strvec_has(&words, "signed") ? "i" : NULL;
}

/* Append a type in its full form, "PK6__half"; one that occurred before is only referred to. */
static void add_type(struct kl_buf *out, struct kl_strvec *known, const char *full)
{
	if (full[0] && !full[1] && islower((unsigned char)full[0])) {
		kl_buf_adds(out, full);
		return;
	}
	for (size_t i = 0; i < known->n; i++) {
		if (strcmp(known->v[i], full))
			continue;
		if (i)
			kl_buf_addf(out, "S%c_", (int)(i - 1 < 10 ? '0' + i - 1 : 'A' + i - 11));
		else
			kl_buf_adds(out, "S_");
		return;
	}
	if (*full == 'P' || *full == 'K') {
		kl_buf_addch(out, *full);
		add_type(out, known, full + 1);
	} else {
		kl_buf_adds(out, full);
	}
	kl_strvec_push(known, full);
}

char *kl_launch_mangle(const struct kl_proto *proto)
{
	/* the headers of CUDA define these names for others */
	static const struct {
		const char *alias, *name;
	} aliases[] = { { "half", "__half" },
			{ "half2", "__half2" },
			{ "nv_bfloat16", "__nv_bfloat16" },
			{ "nv_bfloat162", "__nv_bfloat162" } };
	KL_AUTO(kl_strvec_release) struct kl_strvec known = KL_STRVEC_INIT;
	struct kl_buf out = KL_BUF_INIT;

	kl_buf_addf(&out, "_Z%zu%s", strlen(proto->name), proto->name);
	for (size_t i = 0; i < proto->n; i++) {
		const struct kl_param *param = &proto->param[i];
		const char *type = param->written, *letter = letter_of(type);
		KL_AUTO(kl_freep) char *full = NULL;

		/* the type that a typedef of the source names */
		if (!letter && param->dtype && strcmp(param->dtype, "f16") &&
		    strcmp(param->dtype, "bf16"))
			letter = letter_of(param->type);
		for (size_t k = 0; k < KL_ARRAY_SIZE(aliases); k++)
			if (!strcmp(aliases[k].alias, type))
				type = aliases[k].name;
		full = letter ? kl_asprintf("%s%s%s", param->pointer ? "P" : "",
					    param->pointer && param->is_const ? "K" : "", letter) :
				kl_asprintf("%s%s%zu%s", param->pointer ? "P" : "",
					    param->pointer && param->is_const ? "K" : "",
					    strlen(type), type);
		add_type(&out, &known, full);
	}
	return kl_buf_detach(&out);
}
