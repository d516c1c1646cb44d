/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/prototype.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "contract/c_type.h"
#include "contract/launch_syntax.h"
#include "contract/prototype_parts.h"
#include "contract/surface.h"
#include "plan/lexer.h"

#define MAX_PARAMS 32
#define MAX_LISTED 12 /* maximum number of names of functions in a message */

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

/* Return true if `entry` names the function: "tile", "ns::tile" or "ns::tile<float>". */
static bool is_called(const struct kl_tokens *tokens, const struct kl_found *found,
		      const char *entry)
{
	size_t n = strcspn(entry, "<"), name = tokens->t[found->name].n, scope;

	if (n < name || strncmp(entry + n - name, tokens->t[found->name].s, name) != 0)
		return false;
	scope = n - name;
	return !scope || (scope <= strlen(found->scope) &&
			  !strncmp(found->scope + strlen(found->scope) - scope, entry, scope));
}

/*
 * Return true if the function can be the kernel: the one called `entry` or, if `entry` is NULL, any
 * kernel on a GPU or any function that is not static.
 */
static bool is_meant(const struct kl_tokens *tokens, const struct kl_found *found,
		     const char *entry, bool kernel)
{
	if (kernel && !found->is_kernel)
		return false;
	if (entry)
		return is_called(tokens, found, entry);
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

/* Add the extent between a pair of brackets: a name or a number, or "" for anything else. */
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

/* Copy the words of a type, replacing template parameters by the arguments of the instance. */
static void replace_given(struct kl_strvec *out, const struct kl_strvec *words,
			  const struct kl_proto *proto)
{
	for (size_t i = 0; i < words->n; i++) {
		size_t at = 0;

		while (at < proto->argument.n && strcmp(proto->given.v[at], words->v[i]) != 0)
			at++;
		if (at < proto->argument.n && *proto->argument.v[at])
			kl_strvec_split(out, proto->argument.v[at], " ");
		else
			kl_strvec_push(out, words->v[i]);
	}
}

/*
 * Set the type of a parameter to the words of its declaration or, if they name a typedef, to the C
 * type behind it.
 */
static void set_type(struct kl_param *param, const struct kl_proto *proto,
		     const struct kl_tokens *tokens, const struct kl_strvec *words, bool known)
{
	KL_AUTO(kl_buf_release) struct kl_buf type = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec instance = KL_STRVEC_INIT;

	replace_given(&instance, words, proto);
	words = &instance;
	if (known)
		param->dtype = kl_c_type_dtype(tokens, words);
	/* contracts have no tensors of bool */
	if (param->dtype && param->pointer && !strcmp(param->dtype, "bool"))
		param->dtype = "u8";
	for (size_t i = 0; i < words->n; i++)
		kl_buf_addf(&type, "%s%s", type.len ? " " : "", words->v[i]);
	param->type = param->dtype && !kl_c_type_is_standard(words) ?
			      kl_strdup(kl_c_type_name(param->dtype)) :
			      kl_buf_detach(&type);
}

/* What the function reads of a pointer to const void are bytes. */
static void set_bytes(struct kl_param *param)
{
	param->dtype = "u8";
	free(param->type);
	param->type = kl_strdup(kl_c_type_name(param->dtype));
}

/* Return true if the word at `i` is the scope of the next word, as in std::size_t. */
static bool is_scope(const struct kl_tokens *tokens, size_t i)
{
	return kl_found_is_word(tokens, i) && kl_token_is(tokens, i + 1, ":") &&
	       kl_token_is(tokens, i + 2, ":");
}

/* Read a parameter. It must consist of a type, stars, a name and brackets, in this order. */
static int read_param(struct kl_proto *proto, const struct kl_tokens *tokens, size_t i, size_t to)
{
	struct kl_param *param = &proto->param[proto->n - 1];
	size_t nth = proto->n;
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	size_t stars = 0, name = kl_found_param_name(tokens, i, to);

	for (; i < to && i != name; i++) {
		size_t next = kl_found_skip_attribute(tokens, i);

		if (next != i) {
			i = next - 1;
		} else if (is_scope(tokens, i)) {
			i += 2;
		} else if (kl_token_is(tokens, i, "*")) {
			stars++;
		} else if (kl_token_is(tokens, i, "const") || kl_token_is(tokens, i, "__const")) {
			/* a const after a star applies to the pointer, not to its target */
			param->is_const |= !stars;
		} else if (kl_found_is_word(tokens, i) && !kl_found_is_qualifier(tokens, i)) {
			kl_strvec_take(&words, text_of(tokens, i));
		} else if (!kl_found_is_qualifier(tokens, i)) {
			return kl_error(KL_EINVALID,
					"line %d: cannot parse parameter %zu; expected a type, "
					"stars, a name and brackets",
					tokens->t[i].line, nth);
		}
	}
	if (name == to || !words.n)
		return kl_error(KL_EINVALID, "parameter %zu has no name or no type", nth);
	param->name = text_of(tokens, name);
	param->pointer = stars > 0;
	read_brackets(param, tokens, name + 1, to);
	param->stars = stars + (param->extent.n > 0);
	/* the type of a pointer to pointers is unknown */
	set_type(param, proto, tokens, &words, param->stars < 2);
	if (param->stars == 1 && param->is_const && words.n == 1 && !strcmp(words.v[0], "void"))
		set_bytes(param);
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
		if ((err = read_param(proto, tokens, i, end)) < 0)
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
 * Guess whether an integer is a size. A size is compared, counted, part of an index, or passed to
 * another function, whereas a seed or a key is only added or shifted. An integer that the body does
 * not use counts as a size.
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

/*
 * Find out which values the body uses as sizes, and how it uses the pointers that are not to const.
 */
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

/*
 * Return the name of the template parameter [from, to), such as "N" for "int N = 4"; "" if it has
 * no name.
 */
static char *given_name(const struct kl_tokens *tokens, size_t from, size_t to)
{
	size_t name = to;

	for (size_t i = from; i < to && !kl_token_is(tokens, i, "="); i++)
		if (kl_found_is_word(tokens, i))
			name = i;
	return name < to ? text_of(tokens, name) : kl_strdup("");
}

/* Read the names of the parameters of a template. */
static void read_given(struct kl_proto *proto, const struct kl_tokens *tokens,
		       const struct kl_found *found)
{
	size_t i = found->given + 1, end;

	if (!found->is_template)
		return;
	for (end = kl_found_skip_angles(tokens, found->given) - 1; i < end;) {
		size_t to = kl_found_given_end(tokens, i, end);

		kl_strvec_take(&proto->given, given_name(tokens, i, to));
		i = to + 1;
	}
}

/* Set the template arguments to those in `entry`, such as "tile<float, 8>". */
static void take_arguments(struct kl_proto *proto, const char *entry)
{
	const char *from = strchr(entry, '<');
	int depth = 0;

	if (!from)
		return;
	kl_strvec_release(&proto->argument);
	for (const char *at = ++from; *at && depth >= 0; at++) {
		depth += *at == '<' || *at == '(' ? 1 : *at == '>' || *at == ')' ? -1 : 0;
		if (depth > 0 || (*at != ',' && depth == 0))
			continue;
		from += strspn(from, " ");
		kl_strvec_take(&proto->argument, kl_strndup(from, (size_t)(at - from)));
		from = at + 1;
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
			     kl_token_is(tokens, i - 1, "[") || kl_token_is(tokens, i, ":") ||
			     kl_token_is(tokens, i - 1, ":") || kl_token_is(tokens, i, "<") ||
			     kl_token_is(tokens, i - 1, "<") || kl_token_is(tokens, i, ">");

		kl_buf_addf(&buf, "%s%.*s", tight ? "" : " ", (int)tokens->t[i].n, tokens->t[i].s);
	}
	return kl_buf_detach(&buf);
}

/*
 * Read the return type of the function, which may be the argument of a macro: EXPORT(int) f(int n).
 */
static void read_returned(struct kl_proto *proto, const struct kl_tokens *tokens,
			  const struct kl_found *found)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	struct kl_param *returned = &proto->returned;

	for (size_t i = found->given ? kl_found_skip_angles(tokens, found->given) : found->from;
	     i < found->name; i++) {
		size_t next = kl_found_skip_attribute(tokens, i);

		if (next != i)
			i = next - 1;
		else if (is_scope(tokens, i))
			i += 2;
		else if (kl_token_is(tokens, i, "(") &&
			 kl_found_has_type(tokens, found->from, i - 1))
			i = kl_token_skip(tokens, i) - 1;
		else if (kl_token_is(tokens, i, "*"))
			returned->pointer = true;
		else if (kl_found_is_word(tokens, i) && !kl_found_is_storage(tokens, i) &&
			 !kl_found_is_qualifier(tokens, i) && !kl_token_is(tokens, i + 1, "("))
			kl_strvec_take(&words, text_of(tokens, i));
	}
	if (!returned->pointer && kl_strvec_has(&words, "void"))
		return;
	set_type(returned, proto, tokens, &words, !returned->pointer);
	proto->returns = true;
}

void kl_proto_names(struct kl_strvec *out, const char *text, size_t len, bool kernel)
{
	KL_AUTO(kl_tokens_release) struct kl_tokens tokens = { 0 };
	KL_AUTO(kl_founds_release) struct kl_founds all = { 0 };

	kl_lexer_read(&tokens, text, len);
	kl_founds_read(&all, &tokens);
	for (size_t i = 0; i < all.n; i++) {
		const struct kl_found *found = &all.f[i];
		KL_AUTO(kl_freep) char *name = text_of(&tokens, found->name);
		KL_AUTO(kl_freep) char *given = NULL;

		if (kernel && !found->is_kernel)
			continue;
		if (found->is_template)
			given = one_line(&tokens, found->given + 1,
					 kl_found_skip_angles(&tokens, found->given) - 1);
		kl_strvec_pushf(out, given ? "%s%s<%s>" : "%s%s", found->scope, name, given);
	}
}

void kl_proto_list(struct kl_buf *out, const struct kl_file *file, size_t nfile, bool kernel)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec all = KL_STRVEC_INIT;

	for (size_t i = 0; i < nfile; i++)
		kl_proto_names(&all, file[i].data, file[i].len, kernel);
	for (size_t i = 0; i < all.n && i < MAX_LISTED; i++)
		kl_buf_addf(out, "%s'%.100s'", i ? ", " : "", all.v[i]);
	if (all.n > MAX_LISTED)
		kl_buf_adds(out, " ...");
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
	free(proto->returned.type);
	free(proto->scope);
	kl_strvec_release(&proto->given);
	kl_strvec_release(&proto->argument);
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
	KL_AUTO(kl_founds_release) struct kl_founds all = { 0 };
	KL_AUTO(kl_proto_freep) struct kl_proto *proto = kl_calloc(1, sizeof(*proto));
	const struct kl_found *found = NULL;
	int err;

	kl_lexer_read(&tokens, text, len);
	kl_founds_read(&all, &tokens);
	if ((err = choose_found(&found, &all, entry, kernel)) < 0)
		return err;
	proto->name = text_of(&tokens, found->name);
	proto->text = one_line(&tokens, found->from, found->close + 1);
	proto->scope = kl_strdup(found->scope);
	read_given(proto, &tokens, found);
	if (proto->given.n)
		kl_launch_instance(proto, &tokens);
	if (proto->given.n && entry)
		take_arguments(proto, entry);
	read_returned(proto, &tokens, found);
	if ((err = read_params(proto, &tokens, found)) < 0)
		return err;
	read_uses(proto, &all, found);
	proto->plain_name = found->plain_name;
	if (kernel)
		kl_launch_syntax(proto, &tokens);
	kl_strvec_copy(&proto->headers, &tokens.headers);
	*out = kl_steal(&proto);
	return 0;
}
