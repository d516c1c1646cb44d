/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/prototype.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "plan/lexer.h"

#define MAX_PARAMS 32

/* A function definition: tokens [from, name] '(' [open ... close) '{' [body ... end). */
struct found {
	size_t from, name, open, close, body, end;
	bool is_static;
};

struct founds {
	struct found *f;
	size_t n, alloc;
};

static void founds_release(struct founds *f)
{
	free(f->f);
}

static bool is_word(const struct kl_tokens *t, size_t i)
{
	return i < t->n && t->t[i].kind == KL_TOKEN_WORD;
}

static bool is_one_of(const struct kl_tokens *t, size_t i, const char *const *words)
{
	for (; *words; words++)
		if (kl_token_is(t, i, *words))
			return true;
	return false;
}

/* __attribute__((...)), __declspec(...), _Alignas(...), __asm__("...") and their arguments. */
static size_t skip_attribute(const struct kl_tokens *t, size_t i)
{
	static const char *const words[] = {
		"__attribute__", "__attribute", "__declspec", "_Alignas", "__asm__", "asm", NULL
	};

	if (!is_one_of(t, i, words) || !kl_token_is(t, i + 1, "("))
		return i;
	return kl_token_skip(t, i + 1);
}

/* --- where functions are ---------------------------------------------------- */

/* From one external declaration to the next; fills `f` if it defines a function. */
static size_t read_declaration(struct found *f, bool *defines, const struct kl_tokens *t, size_t i)
{
	size_t next;

	*f = (struct found){ .from = i };
	*defines = false;
	while (i < t->n) {
		next = skip_attribute(t, i);
		if (next != i) {
			i = next;
		} else if (kl_token_is(t, i, ";")) {
			return i + 1;
		} else if (kl_token_is(t, i, "(") && !f->open && i > f->from && is_word(t, i - 1)) {
			f->name = i - 1;
			f->open = i + 1;
			i = kl_token_skip(t, i);
			f->close = i - 1;
		} else if (kl_token_is(t, i, "{") && f->open && f->close + 1 <= i) {
			f->body = i + 1;
			f->end = kl_token_skip(t, i);
			*defines = true;
			return f->end;
		} else if (kl_token_is(t, i, "=")) {
			/* a variable: what follows is no function's body */
			f->open = 0;
			f->name = 0;
			while (i < t->n && !kl_token_is(t, i, ";"))
				i = kl_token_is(t, i, "{") || kl_token_is(t, i, "(") ?
					    kl_token_skip(t, i) :
					    i + 1;
		} else if (kl_token_is(t, i, "{") || kl_token_is(t, i, "(") ||
			   kl_token_is(t, i, "[")) {
			i = kl_token_skip(t, i);
		} else {
			f->is_static |= kl_token_is(t, i, "static") ||
					kl_token_is(t, i, "inline") ||
					kl_token_is(t, i, "__inline") ||
					kl_token_is(t, i, "__inline__");
			i++;
		}
	}
	return i;
}

static void find_functions(struct founds *out, const struct kl_tokens *t)
{
	for (size_t i = 0; i < t->n;) {
		struct found f;
		bool defines;

		/* extern "C" { ... } is as if it were not there */
		if (kl_token_is(t, i, "extern") && kl_token_is(t, i + 1, "\"C\"")) {
			i += kl_token_is(t, i + 2, "{") ? 3 : 2;
			continue;
		}
		if (kl_token_is(t, i, "}")) {
			i++;
			continue;
		}
		i = read_declaration(&f, &defines, t, i);
		if (!defines)
			continue;
		KL_GROW(out->f, out->n + 1, out->alloc);
		out->f[out->n++] = f;
	}
}

static char *text_of(const struct kl_tokens *t, size_t i)
{
	return kl_strndup(t->t[i].s, t->t[i].n);
}

static int choose_found(const struct found **out, const struct founds *all,
			const struct kl_tokens *t, const char *entry)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	const struct found *one = NULL;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct found *f = &all->f[i];

		if (entry ? !kl_token_is(t, f->name, entry) :
			    f->is_static || kl_token_is(t, f->name, "main"))
			continue;
		kl_buf_addf(&names, "%s%.*s", n++ ? ", " : "", (int)t->t[f->name].n,
			    t->t[f->name].s);
		one = f;
	}
	if (!n && entry)
		return kl_error(KL_ENOTFOUND, "no function '%s' is defined here", entry);
	if (!n)
		return kl_error(KL_ENOTFOUND, "no function is defined here that is not static");
	if (n > 1 && !entry) {
		kl_error(KL_EINVALID, "several functions are not static: %.400s", names.ptr);
		return kl_error_hint(KL_EINVALID,
				     "say which one is the kernel: --entry <function>");
	}
	if (one->is_static)
		return kl_error(KL_EINVALID, "'%s' is static: the gate calls a kernel from outside",
				entry);
	*out = one;
	return 0;
}

/* --- parameters --------------------------------------------------------------- */

/* clang-format off */
static const struct { const char *type, *dtype; } types[] = {
	{ "float", "f32" }, { "double", "f64" }, { "_Float16", "f16" }, { "__fp16", "f16" },
	{ "__bf16", "bf16" }, { "int", "i32" }, { "signed", "i32" }, { "signed int", "i32" },
	{ "int32_t", "i32" }, { "unsigned", "u32" }, { "unsigned int", "u32" },
	{ "uint32_t", "u32" }, { "int64_t", "i64" }, { "long", "i64" }, { "long int", "i64" },
	{ "long long", "i64" }, { "long long int", "i64" }, { "ptrdiff_t", "i64" },
	{ "ssize_t", "i64" }, { "intptr_t", "i64" }, { "uint64_t", "u64" }, { "size_t", "u64" },
	{ "unsigned long", "u64" }, { "unsigned long long", "u64" }, { "uintptr_t", "u64" },
	{ "int16_t", "i16" }, { "short", "i16" }, { "uint16_t", "u16" }, { "unsigned short", "u16" },
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

static bool is_qualifier(const struct kl_tokens *t, size_t i)
{
	static const char *const words[] = { "const",      "volatile",     "restrict",
					     "__restrict", "__restrict__", "register",
					     "static",     "__const",      NULL };

	return is_one_of(t, i, words);
}

/* The inside of one [...]: "N" or "64" when it is that plain, else nothing. */
static void add_extent(struct kl_param *p, const struct kl_tokens *t, size_t from, size_t to)
{
	while (from < to && is_qualifier(t, from))
		from++;
	if (from + 1 == to && (is_word(t, from) || t->t[from].kind == KL_TOKEN_NUMBER))
		kl_strvec_take(&p->extent, text_of(t, from));
	else
		kl_strvec_push(&p->extent, "");
}

static void read_brackets(struct kl_param *p, const struct kl_tokens *t, size_t i, size_t to)
{
	while (i < to && kl_token_is(t, i, "[")) {
		size_t end = kl_token_skip(t, i);

		add_extent(p, t, i + 1, end - 1);
		p->pointer = true;
		i = end;
	}
}

/* Type words, then stars, then the name, then brackets: everything else is beyond us. */
static int read_param(struct kl_param *p, const struct kl_tokens *t, size_t i, size_t to,
		      size_t nth)
{
	KL_AUTO(kl_buf_release) struct kl_buf type = KL_BUF_INIT;
	size_t stars = 0, name = to;

	for (size_t k = i; k < to && !kl_token_is(t, k, "["); k++)
		if (is_word(t, k) && !is_qualifier(t, k))
			name = k;
	for (; i < to && i != name; i++) {
		size_t next = skip_attribute(t, i);

		if (next != i) {
			i = next - 1;
		} else if (kl_token_is(t, i, "*")) {
			stars++;
		} else if (kl_token_is(t, i, "const") || kl_token_is(t, i, "__const")) {
			/* behind the star it is the pointer that is const */
			p->is_const |= !stars;
		} else if (is_word(t, i) && !is_qualifier(t, i)) {
			kl_buf_addf(&type, "%s%.*s", type.len ? " " : "", (int)t->t[i].n,
				    t->t[i].s);
		} else if (!is_qualifier(t, i)) {
			return kl_error(KL_EINVALID,
					"line %d: parameter %zu is beyond what can be read",
					t->t[i].line, nth);
		}
	}
	if (name == to || !type.len)
		return kl_error(KL_EINVALID, "parameter %zu has no name or no type", nth);
	p->name = text_of(t, name);
	p->pointer = stars > 0;
	read_brackets(p, t, name + 1, to);
	p->type = kl_buf_detach(&type);
	if (stars + (p->extent.n > 0) < 2) /* no arrays of pointers */
		p->dtype = dtype_of(p->type);
	return 0;
}

static size_t param_end(const struct kl_tokens *t, size_t i, size_t close)
{
	while (i < close && !kl_token_is(t, i, ","))
		i = kl_token_is(t, i, "(") || kl_token_is(t, i, "[") ? kl_token_skip(t, i) : i + 1;
	return i < close ? i : close;
}

static int read_params(struct kl_proto *p, const struct kl_tokens *t, const struct found *f)
{
	size_t i = f->open;

	if (i == f->close || (i + 1 == f->close && kl_token_is(t, i, "void")))
		return kl_error(KL_EINVALID,
				"'%s' takes no arguments: a kernel is judged by its outputs",
				p->name);
	p->param = kl_calloc(MAX_PARAMS, sizeof(*p->param));
	while (i < f->close) {
		size_t end = param_end(t, i, f->close);
		int err;

		if (p->n == MAX_PARAMS)
			return kl_error(KL_EINVALID, "'%s' has more than %d parameters", p->name,
					MAX_PARAMS);
		p->n++;
		if ((err = read_param(&p->param[p->n - 1], t, i, end, p->n)) < 0)
			return kl_error_in(err, "'%s'", p->name);
		i = end + 1;
	}
	return 0;
}

/* --- what the body does ------------------------------------------------------- */

/*
 * Does the first use of p[...] read it? "p[i] = x" does not, anything else
 * (p[i] += x, y = p[i]) does. A guess, and written out as one.
 */
static bool reads_first(const struct kl_tokens *t, const struct found *f, const char *name)
{
	for (size_t i = f->body; i < f->end; i++) {
		size_t after;

		if (!kl_token_is(t, i, name) || !kl_token_is(t, i + 1, "["))
			continue;
		after = kl_token_skip(t, i + 1);
		while (kl_token_is(t, after, "["))
			after = kl_token_skip(t, after);
		/* "&p[i]": an address, for something else to use */
		if (i && kl_token_is(t, i - 1, "&"))
			continue;
		if (!kl_token_is(t, after, "="))
			return true;
		/* the right side comes first */
		for (size_t k = after; k < f->end && !kl_token_is(t, k, ";"); k++)
			if (kl_token_is(t, k, name) && kl_token_is(t, k + 1, "["))
				return true;
		return false;
	}
	return false;
}

static char *one_line(const struct kl_tokens *t, size_t from, size_t to)
{
	struct kl_buf b = KL_BUF_INIT;

	for (size_t i = from; i < to; i++) {
		bool tight = i == from || kl_token_is(t, i, ",") || kl_token_is(t, i, ")") ||
			     kl_token_is(t, i, "(") || kl_token_is(t, i, "[") ||
			     kl_token_is(t, i, "]") || kl_token_is(t, i - 1, "(") ||
			     kl_token_is(t, i - 1, "*") || kl_token_is(t, i - 1, "[");

		kl_buf_addf(&b, "%s%.*s", tight ? "" : " ", (int)t->t[i].n, t->t[i].s);
	}
	return kl_buf_detach(&b);
}

static bool returns_value(const struct kl_tokens *t, const struct found *f)
{
	for (size_t i = f->from; i < f->name; i++)
		if (kl_token_is(t, i, "void"))
			return kl_token_is(t, i + 1, "*");
	return true;
}

void kl_proto_free(struct kl_proto *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++) {
		free(p->param[i].name);
		free(p->param[i].type);
		kl_strvec_release(&p->param[i].extent);
	}
	free(p->param);
	free(p->name);
	free(p->text);
	kl_strvec_release(&p->headers);
	free(p);
}

int kl_proto_read(struct kl_proto **out, const char *text, size_t len, const char *entry)
{
	KL_AUTO(kl_tokens_release) struct kl_tokens t = { 0 };
	KL_AUTO(founds_release) struct founds all = { 0 };
	KL_AUTO(kl_proto_freep) struct kl_proto *p = kl_calloc(1, sizeof(*p));
	const struct found *f = NULL;
	int err;

	kl_lexer_read(&t, text, len);
	find_functions(&all, &t);
	if ((err = choose_found(&f, &all, &t, entry)) < 0)
		return err;
	p->name = text_of(&t, f->name);
	p->text = one_line(&t, f->from, f->close + 1);
	p->returns = returns_value(&t, f);
	if ((err = read_params(p, &t, f)) < 0)
		return err;
	for (size_t i = 0; i < p->n; i++)
		if (p->param[i].pointer && !p->param[i].is_const)
			p->param[i].read_first = reads_first(&t, f, p->param[i].name);
	kl_strvec_copy(&p->headers, &t.headers);
	*out = kl_steal(&p);
	return 0;
}
