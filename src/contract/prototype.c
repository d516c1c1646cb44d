/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/prototype.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "plan/lexer.h"

#define MAX_PARAMS 32

/* Token indices of a function definition: [from, name] '(' [open, close) ')' '{' [body, end). */
struct found {
	size_t from, name, open, close, body, end;
	bool is_static;
};

struct founds {
	struct found *f;
	size_t n, alloc;
};

static void founds_release(struct founds *founds)
{
	free(founds->f);
}

static bool is_word(const struct kl_tokens *tokens, size_t i)
{
	return i < tokens->n && tokens->t[i].kind == KL_TOKEN_WORD;
}

static bool is_one_of(const struct kl_tokens *tokens, size_t i, const char *const *words)
{
	for (; *words; words++)
		if (kl_token_is(tokens, i, *words))
			return true;
	return false;
}

/* Skip __attribute__((...)), __declspec(...), _Alignas(...) or __asm__("..."). */
static size_t skip_attribute(const struct kl_tokens *tokens, size_t i)
{
	static const char *const words[] = {
		"__attribute__", "__attribute", "__declspec", "_Alignas", "__asm__", "asm", NULL
	};

	if (!is_one_of(tokens, i, words) || !kl_token_is(tokens, i + 1, "("))
		return i;
	return kl_token_skip(tokens, i + 1);
}

/* --- finding function definitions ------------------------------------------- */

/* Read a declaration at file scope into `found`, and return the index of the token after it. */
static size_t read_declaration(struct found *found, bool *defines, const struct kl_tokens *tokens,
			       size_t i)
{
	size_t next;

	*found = (struct found){ .from = i };
	*defines = false;
	while (i < tokens->n) {
		next = skip_attribute(tokens, i);
		if (next != i) {
			i = next;
		} else if (kl_token_is(tokens, i, ";")) {
			return i + 1;
		} else if (kl_token_is(tokens, i, "(") && !found->open && i > found->from &&
			   is_word(tokens, i - 1)) {
			found->name = i - 1;
			found->open = i + 1;
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
			found->is_static |= kl_token_is(tokens, i, "static") ||
					    kl_token_is(tokens, i, "inline") ||
					    kl_token_is(tokens, i, "__inline") ||
					    kl_token_is(tokens, i, "__inline__");
			i++;
		}
	}
	return i;
}

static void find_functions(struct founds *out, const struct kl_tokens *tokens)
{
	for (size_t i = 0; i < tokens->n;) {
		struct found found;
		bool defines;

		/* skip extern "C" { and its closing brace */
		if (kl_token_is(tokens, i, "extern") && kl_token_is(tokens, i + 1, "\"C\"")) {
			i += kl_token_is(tokens, i + 2, "{") ? 3 : 2;
			continue;
		}
		if (kl_token_is(tokens, i, "}")) {
			i++;
			continue;
		}
		i = read_declaration(&found, &defines, tokens, i);
		if (!defines)
			continue;
		KL_GROW(out->f, out->n + 1, out->alloc);
		out->f[out->n++] = found;
	}
}

static char *text_of(const struct kl_tokens *tokens, size_t i)
{
	return kl_strndup(tokens->t[i].s, tokens->t[i].n);
}

static int choose_found(const struct found **out, const struct founds *all,
			const struct kl_tokens *tokens, const char *entry)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	const struct found *chosen = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct found *found = &all->f[i];

		if (entry ? !kl_token_is(tokens, found->name, entry) :
			    found->is_static || kl_token_is(tokens, found->name, "main"))
			continue;
		kl_buf_addf(&names, "%s%.*s", n++ ? ", " : "", (int)tokens->t[found->name].n,
			    tokens->t[found->name].s);
		chosen = found;
	}
	if (!n && entry)
		return kl_error(KL_ENOTFOUND, "the file defines no function '%s'", entry);
	if (!n)
		return kl_error(KL_ENOTFOUND, "the file defines no function, or only static ones");
	if (n > 1 && !entry) {
		kl_error(KL_EINVALID, "there are several functions that are not static: %.400s",
			 names.ptr);
		return kl_error_hint(KL_EINVALID, "name the kernel with --entry <function>");
	}
	if (chosen->is_static)
		return kl_error(
			KL_EINVALID,
			"'%s' is static, but the gate must call the kernel from another file",
			entry);
	*out = chosen;
	return 0;
}

/* --- reading parameters -------------------------------------------------------- */

/* clang-format off */
static const struct { const char *type, *dtype; } types[] = {
	{ "float", "f32" }, { "double", "f64" }, { "_Float16", "f16" }, { "__fp16", "f16" },
	{ "__bf16", "bf16" }, { "int", "i32" }, { "signed", "i32" }, { "signed int", "i32" },
	{ "int32_t", "i32" }, { "unsigned", "u32" }, { "unsigned int", "u32" },
	{ "uint32_t", "u32" }, { "int64_t", "i64" }, { "long", "i64" }, { "long int", "i64" },
	{ "long long", "i64" }, { "long long int", "i64" }, { "ptrdiff_t", "i64" },
	{ "ssize_t", "i64" }, { "intptr_t", "i64" }, { "uint64_t", "u64" }, { "size_t", "u64" },
	{ "unsigned long", "u64" }, { "unsigned long long", "u64" }, { "uintptr_t", "u64" },
	{ "int16_t", "i16" }, { "short", "i16" }, { "uint16_t", "u16" },
	{ "unsigned short", "u16" },
	{ "int8_t", "i8" }, { "signed char", "i8" }, { "uint8_t", "u8" }, { "unsigned char", "u8" },
	{ "char", "i8" },
};
/* clang-format on */

static const char *dtype_of(const char *type)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].type, type))
			return types[i].dtype;
	return NULL;
}

static bool is_qualifier(const struct kl_tokens *tokens, size_t i)
{
	static const char *const words[] = { "const",      "volatile",     "restrict",
					     "__restrict", "__restrict__", "register",
					     "static",     "__const",      NULL };

	return is_one_of(tokens, i, words);
}

/* Add the extent between a pair of brackets: a name or a number, or else "". */
static void add_extent(struct kl_param *param, const struct kl_tokens *tokens, size_t from,
		       size_t to)
{
	while (from < to && is_qualifier(tokens, from))
		from++;
	if (from + 1 == to && (is_word(tokens, from) || tokens->t[from].kind == KL_TOKEN_NUMBER))
		kl_strvec_take(&param->extent, text_of(tokens, from));
	else
		kl_strvec_push(&param->extent, "");
}

static void read_brackets(struct kl_param *param, const struct kl_tokens *tokens, size_t i,
			  size_t to)
{
	while (i < to && kl_token_is(tokens, i, "[")) {
		size_t end = kl_token_skip(tokens, i);

		add_extent(param, tokens, i + 1, end - 1);
		param->pointer = true;
		i = end;
	}
}

/* Read a parameter. It must consist of a type, stars, a name and brackets, in this order. */
static int read_param(struct kl_param *param, const struct kl_tokens *tokens, size_t i, size_t to,
		      size_t nth)
{
	KL_AUTO(kl_buf_release) struct kl_buf type = KL_BUF_INIT;
	size_t stars = 0, name = to;

	for (size_t k = i; k < to && !kl_token_is(tokens, k, "["); k++)
		if (is_word(tokens, k) && !is_qualifier(tokens, k))
			name = k;
	for (; i < to && i != name; i++) {
		size_t next = skip_attribute(tokens, i);

		if (next != i) {
			i = next - 1;
		} else if (kl_token_is(tokens, i, "*")) {
			stars++;
		} else if (kl_token_is(tokens, i, "const") || kl_token_is(tokens, i, "__const")) {
			/* a const after a star applies to the pointer, not to its target */
			param->is_const |= !stars;
		} else if (is_word(tokens, i) && !is_qualifier(tokens, i)) {
			kl_buf_addf(&type, "%s%.*s", type.len ? " " : "", (int)tokens->t[i].n,
				    tokens->t[i].s);
		} else if (!is_qualifier(tokens, i)) {
			return kl_error(
				KL_EINVALID,
				"line %d: cannot parse parameter %zu: it must be a type, stars, a "
				"name and brackets",
				tokens->t[i].line, nth);
		}
	}
	if (name == to || !type.len)
		return kl_error(KL_EINVALID, "parameter %zu has no name or no type", nth);
	param->name = text_of(tokens, name);
	param->pointer = stars > 0;
	read_brackets(param, tokens, name + 1, to);
	param->type = kl_buf_detach(&type);
	if (stars + (param->extent.n > 0) < 2) /* not a pointer to pointers */
		param->dtype = dtype_of(param->type);
	return 0;
}

static size_t param_end(const struct kl_tokens *tokens, size_t i, size_t close)
{
	while (i < close && !kl_token_is(tokens, i, ","))
		i = kl_token_is(tokens, i, "(") || kl_token_is(tokens, i, "[") ?
			    kl_token_skip(tokens, i) :
			    i + 1;
	return i < close ? i : close;
}

static int read_params(struct kl_proto *proto, const struct kl_tokens *tokens,
		       const struct found *found)
{
	size_t i = found->open;

	if (i == found->close || (i + 1 == found->close && kl_token_is(tokens, i, "void")))
		return kl_error(KL_EINVALID,
				"'%s' has no parameters, so it has no outputs to judge",
				proto->name);
	proto->param = kl_calloc(MAX_PARAMS, sizeof(*proto->param));
	while (i < found->close) {
		size_t end = param_end(tokens, i, found->close);
		int err;

		if (proto->n == MAX_PARAMS)
			return kl_error(KL_EINVALID, "'%s' has more than %d parameters",
					proto->name, MAX_PARAMS);
		proto->n++;
		if ((err = read_param(&proto->param[proto->n - 1], tokens, i, end, proto->n)) < 0)
			return kl_error_in(err, "'%s'", proto->name);
		i = end + 1;
	}
	return 0;
}

/* --- guessing how the body uses a parameter ------------------------------------ */

/*
 * Guess whether the first use of p[...] reads from p. "p[i] = x" does not, unless x contains
 * p[...]; "&p[i]" is skipped; any other use (p[i] += x, y = p[i]) does. The skeleton says that this
 * is a guess.
 */
static bool reads_first(const struct kl_tokens *tokens, const struct found *found, const char *name)
{
	for (size_t i = found->body; i < found->end; i++) {
		size_t after;

		if (!kl_token_is(tokens, i, name) || !kl_token_is(tokens, i + 1, "["))
			continue;
		after = kl_token_skip(tokens, i + 1);
		while (kl_token_is(tokens, after, "["))
			after = kl_token_skip(tokens, after);
		/* "&p[i]" takes an address, and how that is used is unknown */
		if (i && kl_token_is(tokens, i - 1, "&"))
			continue;
		if (!kl_token_is(tokens, after, "="))
			return true;
		/* the right side is evaluated before the assignment */
		for (size_t k = after; k < found->end && !kl_token_is(tokens, k, ";"); k++)
			if (kl_token_is(tokens, k, name) && kl_token_is(tokens, k + 1, "["))
				return true;
		return false;
	}
	return false;
}

static char *one_line(const struct kl_tokens *tokens, size_t from, size_t to)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = from; i < to; i++) {
		bool tight = i == from || kl_token_is(tokens, i, ",") ||
			     kl_token_is(tokens, i, ")") || kl_token_is(tokens, i, "(") ||
			     kl_token_is(tokens, i, "[") || kl_token_is(tokens, i, "]") ||
			     kl_token_is(tokens, i - 1, "(") || kl_token_is(tokens, i - 1, "*") ||
			     kl_token_is(tokens, i - 1, "[");

		kl_buf_addf(&buf, "%s%.*s", tight ? "" : " ", (int)tokens->t[i].n, tokens->t[i].s);
	}
	return kl_buf_detach(&buf);
}

static bool returns_value(const struct kl_tokens *tokens, const struct found *found)
{
	for (size_t i = found->from; i < found->name; i++)
		if (kl_token_is(tokens, i, "void"))
			return kl_token_is(tokens, i + 1, "*");
	return true;
}

void kl_proto_free(struct kl_proto *proto)
{
	if (!proto)
		return;
	for (size_t i = 0; i < proto->n; i++) {
		free(proto->param[i].name);
		free(proto->param[i].type);
		kl_strvec_release(&proto->param[i].extent);
	}
	free(proto->param);
	free(proto->name);
	free(proto->text);
	kl_strvec_release(&proto->headers);
	free(proto);
}

int kl_proto_read(struct kl_proto **out, const char *text, size_t len, const char *entry)
{
	KL_AUTO(kl_tokens_release) struct kl_tokens tokens = { 0 };
	KL_AUTO(founds_release) struct founds all = { 0 };
	KL_AUTO(kl_proto_freep) struct kl_proto *proto = kl_calloc(1, sizeof(*proto));
	const struct found *found = NULL;
	int err;

	kl_lexer_read(&tokens, text, len);
	find_functions(&all, &tokens);
	if ((err = choose_found(&found, &all, &tokens, entry)) < 0)
		return err;
	proto->name = text_of(&tokens, found->name);
	proto->text = one_line(&tokens, found->from, found->close + 1);
	proto->returns = returns_value(&tokens, found);
	if ((err = read_params(proto, &tokens, found)) < 0)
		return err;
	for (size_t i = 0; i < proto->n; i++)
		if (proto->param[i].pointer && !proto->param[i].is_const)
			proto->param[i].read_first = reads_first(&tokens, found,
								 proto->param[i].name);
	kl_strvec_copy(&proto->headers, &tokens.headers);
	*out = kl_steal(&proto);
	return 0;
}
