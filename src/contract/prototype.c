/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/prototype.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "contract/c_type.h"
#include "contract/launch_syntax.h"
#include "contract/prototype_parts.h"
#include "plan/lexer.h"

#define MAX_PARAMS 32

static void founds_release(struct kl_founds *founds)
{
	for (size_t i = 0; founds->macro && i < founds->tokens->macros.n; i++)
		kl_tokens_release(&founds->macro[i]);
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

/* Skip __attribute__((...)), __launch_bounds__(...) and their like. */
static size_t skip_attribute(const struct kl_tokens *tokens, size_t i)
{
	static const char *const words[] = {
		"__attribute__", "__attribute", "__declspec",        "_Alignas",         "alignas",
		"__asm__",       "asm",         "__launch_bounds__", "__cluster_dims__", NULL
	};

	if (!kl_token_is_any(tokens, i, words) || !kl_token_is(tokens, i + 1, "("))
		return i;
	return kl_token_skip(tokens, i + 1);
}

/* --- finding function definitions ------------------------------------------- */

static bool is_storage(const struct kl_tokens *tokens, size_t i)
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

/* Return true if a type stands in [from, to). */
static bool has_type(const struct kl_tokens *tokens, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		KL_AUTO(kl_freep) char *word = kl_strndup(tokens->t[i].s, tokens->t[i].n);

		if (kl_found_is_word(tokens, i) && !is_storage(tokens, i) &&
		    !kl_found_is_qualifier(tokens, i) && !kl_c_type_is_macro(word))
			return true;
	}
	return false;
}

/*
 * Return true if the brackets at `i` belong to a macro, not to the function: another name with
 * brackets follows before the body, and a type or parameters are missing here, as in EXPORT(void)
 * f(int n) or void ALIGNED(64) f(int n).
 */
static bool is_macro_call(const struct kl_tokens *tokens, size_t from, size_t i)
{
	size_t close = kl_token_skip(tokens, i), next = close, skipped;

	while ((skipped = skip_attribute(tokens, next)) != next || kl_token_is(tokens, next, "*") ||
	       (kl_found_is_word(tokens, next) && !kl_token_is(tokens, next + 1, "(")))
		next = skipped != next ? skipped : next + 1;
	if (!kl_found_is_word(tokens, next))
		return false;
	return !has_type(tokens, from, i - 1) || !are_parameters(tokens, i + 1, close - 1);
}

/* Read a declaration at file scope into `found`, and return the index of the token after it. */
static size_t read_declaration(struct kl_found *found, bool *defines,
			       const struct kl_tokens *tokens, size_t i)
{
	size_t next;

	*found = (struct kl_found){ .from = i };
	*defines = false;
	while (i < tokens->n) {
		next = skip_attribute(tokens, i);
		if (next != i) {
			i = next;
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
			found->is_template |= kl_token_is(tokens, i, "template");
			found->is_static |= kl_token_is(tokens, i, "static") ||
					    kl_token_is(tokens, i, "inline") ||
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

static void find_functions(struct kl_founds *out, const struct kl_tokens *tokens)
{
	bool plain = false, block = false; /* in extern "C", or in its braces */

	out->tokens = tokens;
	for (size_t i = 0; i < tokens->n;) {
		struct kl_found found;
		bool defines;

		/* skip extern "C" { and its closing brace */
		if (kl_token_is(tokens, i, "extern") && kl_token_is(tokens, i + 1, "\"C\"")) {
			plain = true;
			block |= kl_token_is(tokens, i + 2, "{");
			i += kl_token_is(tokens, i + 2, "{") ? 3 : 2;
			continue;
		}
		if (kl_token_is(tokens, i, "}")) {
			plain = block = false;
			i++;
			continue;
		}
		i = read_declaration(&found, &defines, tokens, i);
		found.plain_name = plain;
		plain = block;
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

static int refuse_none(const char *entry, bool kernel)
{
	const char *what = kernel ? "kernel (__global__)" : "function";

	if (entry)
		return kl_error(KL_ENOTFOUND, "the file defines no %s '%s'", what, entry);
	return kl_error(KL_ENOTFOUND, "the file defines no %s%s", what,
			kernel ? "" : ", or only static ones");
}

static int refuse_several(const char *names, bool kernel)
{
	kl_error(KL_EINVALID, "there are several %s: %.400s",
		 kernel ? "kernels" : "functions that are not static", names);
	return kl_error_hint(KL_EINVALID, "name the kernel with --entry <function>");
}

/* Return true if `init` can mean the function: the one called `entry` or, if that is NULL, any. */
static bool is_meant(const struct kl_tokens *tokens, const struct kl_found *found,
		     const char *entry, bool kernel)
{
	if (kernel && !found->is_kernel)
		return false;
	if (entry)
		return kl_token_is(tokens, found->name, entry);
	return kernel || (!found->is_static && !kl_token_is(tokens, found->name, "main"));
}

static int choose_found(const struct kl_found **out, const struct kl_founds *all, const char *entry,
			bool kernel)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	const struct kl_tokens *tokens = all->tokens;
	const struct kl_found *chosen = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct kl_found *found = &all->f[i];

		if (!is_meant(tokens, found, entry, kernel))
			continue;
		kl_buf_addf(&names, "%s%.*s", n++ ? ", " : "", (int)tokens->t[found->name].n,
			    tokens->t[found->name].s);
		chosen = found;
	}
	if (!n)
		return refuse_none(entry, kernel);
	if (n > 1 && !entry)
		return refuse_several(names.ptr, kernel);
	if (chosen->is_static && !kernel)
		return kl_error(
			KL_EINVALID,
			"'%s' is static, but the gate must call the kernel from another file",
			entry);
	*out = chosen;
	return 0;
}

/* --- reading parameters -------------------------------------------------------- */

/* Add the extent between a pair of brackets: a name or a number, or else "". */
static void add_extent(struct kl_param *param, const struct kl_tokens *tokens, size_t from,
		       size_t to)
{
	while (from < to && kl_found_is_qualifier(tokens, from))
		from++;
	if (from + 1 == to &&
	    (kl_found_is_word(tokens, from) || tokens->t[from].kind == KL_TOKEN_NUMBER))
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

size_t kl_found_param_name(const struct kl_tokens *tokens, size_t from, size_t to)
{
	size_t name = to;

	for (size_t i = from; i < to && !kl_token_is(tokens, i, "["); i++)
		if (kl_found_is_word(tokens, i) && !kl_found_is_qualifier(tokens, i))
			name = i;
	return name;
}

/* Set the type of a parameter: its words, or the C type that they are a name of. */
static void set_type(struct kl_param *param, const struct kl_tokens *tokens,
		     const struct kl_strvec *words, bool known)
{
	KL_AUTO(kl_buf_release) struct kl_buf type = KL_BUF_INIT;

	if (known)
		param->dtype = kl_c_type_dtype(tokens, words);
	/* contracts have no tensors of bool */
	if (param->dtype && param->pointer && !strcmp(param->dtype, "bool"))
		param->dtype = "u8";
	for (size_t i = 0; i < words->n; i++)
		kl_buf_addf(&type, "%s%s", type.len ? " " : "", words->v[i]);
	param->type = kl_strdup(param->dtype && !kl_c_type_is_standard(words) ?
					kl_c_type_name(param->dtype) :
					type.ptr);
	param->written = kl_buf_detach(&type);
}

/* Read a parameter. It must consist of a type, stars, a name and brackets, in this order. */
static int read_param(struct kl_param *param, const struct kl_tokens *tokens, size_t i, size_t to,
		      size_t nth)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	size_t stars = 0, name = kl_found_param_name(tokens, i, to);

	for (; i < to && i != name; i++) {
		size_t next = skip_attribute(tokens, i);

		if (next != i) {
			i = next - 1;
		} else if (kl_token_is(tokens, i, "*")) {
			stars++;
		} else if (kl_token_is(tokens, i, "const") || kl_token_is(tokens, i, "__const")) {
			/* a const after a star applies to the pointer, not to its target */
			param->is_const |= !stars;
		} else if (kl_found_is_word(tokens, i) && !kl_found_is_qualifier(tokens, i)) {
			kl_strvec_take(&words, text_of(tokens, i));
		} else if (!kl_found_is_qualifier(tokens, i)) {
			return kl_error(
				KL_EINVALID,
				"line %d: cannot parse parameter %zu: it must be a type, stars, a "
				"name and brackets",
				tokens->t[i].line, nth);
		}
	}
	if (name == to || !words.n)
		return kl_error(KL_EINVALID, "parameter %zu has no name or no type", nth);
	param->name = text_of(tokens, name);
	param->pointer = stars > 0;
	read_brackets(param, tokens, name + 1, to);
	/* the type of a pointer to pointers is unknown */
	set_type(param, tokens, &words, stars + (param->extent.n > 0) < 2);
	return 0;
}

size_t kl_found_param_end(const struct kl_tokens *tokens, size_t i, size_t close)
{
	while (i < close && !kl_token_is(tokens, i, ","))
		i = kl_token_is(tokens, i, "(") || kl_token_is(tokens, i, "[") ?
			    kl_token_skip(tokens, i) :
			    i + 1;
	return i < close ? i : close;
}

static int read_params(struct kl_proto *proto, const struct kl_tokens *tokens,
		       const struct kl_found *found)
{
	size_t i = found->open;

	if (i == found->close || (i + 1 == found->close && kl_token_is(tokens, i, "void")))
		return kl_error(KL_EINVALID,
				"'%s' has no parameters, so it has no outputs to judge",
				proto->name);
	proto->param = kl_calloc(MAX_PARAMS, sizeof(*proto->param));
	while (i < found->close) {
		size_t end = kl_found_param_end(tokens, i, found->close);
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

/* --- reading a whole prototype ------------------------------------------------- */

static bool is_extent(const struct kl_proto *proto, const char *name)
{
	for (size_t i = 0; i < proto->n; i++)
		if (kl_strvec_has(&proto->param[i].extent, name))
			return true;
	return false;
}

static bool is_size_sign(const struct kl_tokens *tokens, size_t i)
{
	static const char *const signs[] = { "<", ">", "<=", ">=", "!=", "==", "-", "*",
					     "/", "%", "--", "++", "-=", "[",  "]", NULL };

	return kl_token_is_any(tokens, i, signs);
}

/*
 * Guess whether an integer is a size: it is compared, counted, or part of an index, or it is passed
 * to another function. A seed or a key is only added or shifted.
 */
static bool is_size(const struct kl_tokens *tokens, const struct kl_found *found, const char *name)
{
	static const char *const others[] = {
		"seed", "key", "mask", "flag", "mode", "value", NULL
	};
	bool used = false;
	int brackets = 0;

	for (size_t i = 0; others[i]; i++)
		if (strstr(name, others[i]))
			return false;
	for (size_t i = found->body; i < found->end; i++) {
		brackets += kl_token_is(tokens, i, "[");
		brackets -= kl_token_is(tokens, i, "]");
		if (!kl_token_is(tokens, i, name))
			continue;
		used = true;
		if (brackets || is_size_sign(tokens, i + 1) || is_size_sign(tokens, i - 1) ||
		    kl_token_is(tokens, i + 1, ",") || kl_token_is(tokens, i - 1, ","))
			return true;
	}
	return !used;
}

/* Find out how the body uses its sizes, and its pointers that are not const. */
static void read_uses(struct kl_proto *proto, const struct kl_founds *all,
		      const struct kl_found *found)
{
	for (size_t i = 0; i < proto->n; i++) {
		struct kl_param *param = &proto->param[i];

		if (param->pointer && !param->is_const)
			param->use = kl_pointer_use(&param->read_first, all, found, param->name,
						    param->extent.n > 1 ? param->extent.n : 1);
		else if (!param->pointer)
			param->size = is_size(all->tokens, found, param->name) ||
				      is_extent(proto, param->name);
	}
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

/* Read what the function returns, which may be an argument of a macro: EXPORT(int) f(int n). */
static void read_returned(struct kl_proto *proto, const struct kl_tokens *tokens,
			  const struct kl_found *found)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	struct kl_param *returned = &proto->returned;

	for (size_t i = found->from; i < found->name; i++) {
		size_t next = skip_attribute(tokens, i);

		if (next != i)
			i = next - 1;
		else if (kl_token_is(tokens, i, "(") && has_type(tokens, found->from, i - 1))
			i = kl_token_skip(tokens, i) - 1;
		else if (kl_token_is(tokens, i, "*"))
			returned->pointer = true;
		else if (kl_found_is_word(tokens, i) && !is_storage(tokens, i) &&
			 !kl_found_is_qualifier(tokens, i) && !kl_token_is(tokens, i + 1, "("))
			kl_strvec_take(&words, text_of(tokens, i));
	}
	if (!returned->pointer && kl_strvec_has(&words, "void"))
		return;
	set_type(returned, tokens, &words, !returned->pointer);
	proto->returns = true;
}

void kl_proto_free(struct kl_proto *proto)
{
	if (!proto)
		return;
	for (size_t i = 0; i < proto->n; i++) {
		free(proto->param[i].name);
		free(proto->param[i].type);
		free(proto->param[i].written);
		kl_strvec_release(&proto->param[i].extent);
	}
	free(proto->param);
	free(proto->returned.type);
	free(proto->returned.written);
	free(proto->grid);
	free(proto->block);
	free(proto->smem);
	free(proto->name);
	free(proto->text);
	kl_strvec_release(&proto->headers);
	free(proto);
}

int kl_proto_read(struct kl_proto **out, const char *text, size_t len, const char *entry,
		  bool kernel)
{
	KL_AUTO(kl_tokens_release) struct kl_tokens tokens = { 0 };
	KL_AUTO(founds_release) struct kl_founds all = { 0 };
	KL_AUTO(kl_proto_freep) struct kl_proto *proto = kl_calloc(1, sizeof(*proto));
	const struct kl_found *found = NULL;
	int err;

	kl_lexer_read(&tokens, text, len);
	find_functions(&all, &tokens);
	read_macros(&all, &tokens.macros);
	if ((err = choose_found(&found, &all, entry, kernel)) < 0)
		return err;
	proto->name = text_of(&tokens, found->name);
	proto->text = one_line(&tokens, found->from, found->close + 1);
	read_returned(proto, &tokens, found);
	if ((err = read_params(proto, &tokens, found)) < 0)
		return err;
	read_uses(proto, &all, found);
	proto->plain_name = found->plain_name;
	proto->is_template = found->is_template;
	if (kernel)
		kl_launch_syntax(proto, &tokens);
	kl_strvec_copy(&proto->headers, &tokens.headers);
	*out = kl_steal(&proto);
	return 0;
}
