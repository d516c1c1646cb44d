/* SPDX-License-Identifier: Apache-2.0 */
/* tokenpass_cuda - token passes for CUDA: launch bounds, unrolling, vector loads and stores */
#include <string.h>

#include "base/mem.h"
#include "rewrite/tokenpass_parts.h"

/* --- what is said to the compiler ------------------------------------------ */

void kl_tokenpass_drop_bounds(struct kl_cedits *out, const struct kl_ctokens *c)
{
	for (size_t i = 0; i + 1 < c->n; i++)
		if (kl_ctoken_is(c, i, "__launch_bounds__") && kl_ctoken_is(c, i + 1, "(") &&
		    c->t[i + 1].match > 0)
			kl_cedits_tokens(out, c, i, c->t[i + 1].match, "", out->nsite);
}

/* white space that the line of token `i` begins with; owned by the caller */
static char *indent_of(const struct kl_ctokens *c, size_t i)
{
	size_t from = c->t[i].off, n = 0;

	while (from > 0 && c->text[from - 1] != '\n')
		from--;
	while (c->text[from + n] == ' ' || c->text[from + n] == '\t')
		n++;
	return kl_strndup(c->text + from, n);
}

static void roll_loop(struct kl_cedits *out, const struct kl_ctokens *c, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *indent = indent_of(c, i);
	KL_AUTO(kl_freep) char *with = NULL;
	bool first = i == 0 || c->t[i - 1].line < c->t[i].line;

	if (i > 0 && c->t[i - 1].kind == KL_CT_DIRECTIVE)
		kl_tokenpass_directive(&words, c, i - 1);
	if (words.len && !strcmp(words.ptr, "#pragma unroll 1"))
		return;
	if (words.len && !strncmp(words.ptr, "#pragma unroll", strlen("#pragma unroll"))) {
		kl_cedits_tokens(out, c, i - 1, i - 1, "#pragma unroll 1", out->nsite);
		return;
	}
	with = kl_asprintf("%s#pragma unroll 1\n%sfor", first ? "" : "\n", indent);
	kl_cedits_tokens(out, c, i, i, with, out->nsite);
}

/* A directive may not stand within parentheses: a loop there is an argument of a macro. */
void kl_tokenpass_roll_loop(struct kl_cedits *out, const struct kl_ctokens *c)
{
	size_t i = 0;

	while (i < c->n) {
		if (kl_ctoken_is(c, i, "(") && c->t[i].match > 0) {
			i = c->t[i].match;
			continue;
		}
		if (c->t[i].fn >= 0 && kl_ctoken_is(c, i, "for") && kl_ctoken_is(c, i + 1, "("))
			roll_loop(out, c, i);
		i++;
	}
}

/* --- vectors ----------------------------------------------------------------- */

struct vector {
	const char *name, *of;
	int n;
};

static const struct vector *vector_at(const struct kl_ctokens *c, size_t i)
{
	static const struct vector known[] = {
		{ "float4", "float", 4 }, { "float2", "float", 2 },   { "int4", "int", 4 },
		{ "int2", "int", 2 },     { "uint4", "unsigned", 4 }, { "uint2", "unsigned", 2 },
	};

	for (size_t k = 0; k < KL_ARRAY_SIZE(known); k++)
		if (kl_ctoken_is(c, i, known[k].name))
			return &known[k];
	return NULL;
}

/* does the operator at `i` stand before its operand? After a value it is a product */
static bool is_unary(const struct kl_ctokens *c, size_t i)
{
	if (i == 0)
		return false;
	if (kl_ctoken_is(c, i - 1, "return"))
		return true;
	return c->t[i - 1].kind == KL_CT_DIRECTIVE ||
	       (c->t[i - 1].kind == KL_CT_PUNCT && !strchr(")]", c->text[c->t[i - 1].off]));
}

/* "(char *)" of "(char *)p": what follows a parenthesis is its operand, no operator */
static bool is_cast(const struct kl_ctokens *c, size_t open, long end)
{
	if (!kl_ctoken_is(c, open, "(") || end != c->t[open].match || end + 1 >= (long)c->n)
		return false;
	return c->t[end + 1].kind != KL_CT_PUNCT || strchr("&*~!", c->text[c->t[end + 1].off]);
}

/*
 * Last token of the operand that begins at `i`: names, members and elements, maybe
 * with & before. -1 where it is anything else, or evaluating it again would not be
 * the same: a call, an assignment, a step.
 */
static long operand_end(const struct kl_ctokens *c, size_t i)
{
	long end;

	if (kl_ctoken_is(c, i, "&"))
		i++;
	if (i >= c->n)
		return -1;
	if (c->t[i].kind == KL_CT_IDENT)
		end = (long)i;
	else if (kl_ctoken_is(c, i, "(") && c->t[i].match > 0)
		end = c->t[i].match;
	else
		return -1;
	for (;;) {
		if (kl_ctoken_is(c, end + 1, "[") && c->t[end + 1].match > 0)
			end = c->t[end + 1].match;
		else if (kl_ctoken_is(c, end + 1, ".") && end + 2 < (long)c->n)
			end += 2;
		else if (kl_ctoken_is(c, end + 1, "-") && kl_ctoken_is(c, end + 2, ">") &&
			 end + 3 < (long)c->n)
			end += 3;
		else
			break;
	}
	if (kl_ctoken_is(c, end + 1, "(") || is_cast(c, i, end))
		return -1;
	for (long k = (long)i; k <= end; k++) {
		bool twice = k > (long)i && c->t[k].off == c->t[k - 1].off + 1 &&
			     c->text[c->t[k].off] == c->text[c->t[k - 1].off];

		if (kl_ctoken_is(c, k, "=") || (twice && strchr("+-", c->text[c->t[k].off])) ||
		    (k > (long)i && kl_ctoken_is(c, k, "(") && c->t[k - 1].kind == KL_CT_IDENT))
			return -1;
	}
	return end;
}

/* "((const float *)&x[i])[2]" */
static void add_element(struct kl_buf *out, const char *qualifier, const struct vector *v,
			const struct kl_ctokens *c, size_t first, size_t last, int k)
{
	kl_buf_addf(out, "((%s%s *)", qualifier, v->of);
	kl_buf_add(out, c->text + c->t[first].off,
		   c->t[last].off + c->t[last].len - c->t[first].off);
	kl_buf_addf(out, ")[%d]", k);
}

/* "*(const float4 *)&x[i]" -> "make_float4(((const float *)&x[i])[0], ...)" */
static void split_load(struct kl_cedits *out, const struct kl_ctokens *c, size_t star,
		       const struct vector *v, size_t first, size_t last)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *indent = indent_of(c, star);
	bool is_const = kl_ctoken_is(c, star + 2, "const");

	kl_buf_addf(&b, "make_%s(", v->name);
	for (int k = 0; k < v->n; k++) {
		if (k)
			kl_buf_addf(&b, ",\n%s\t", indent);
		add_element(&b, is_const ? "const " : "", v, c, first, last, k);
	}
	kl_buf_addch(&b, ')');
	kl_cedits_tokens(out, c, star, last, b.ptr, out->nsite);
}

/* does a statement begin at `i`? */
static bool begins_vector(const struct kl_ctokens *c, size_t i)
{
	if (i == 0 || kl_ctoken_is(c, i - 1, "else") || c->t[i - 1].kind == KL_CT_DIRECTIVE)
		return i > 0;
	return kl_ctoken_is(c, i - 1, ";") || kl_ctoken_is(c, i - 1, "{") ||
	       kl_ctoken_is(c, i - 1, "}");
}

/* is the parenthesis that ends before `i` the head of an if or a loop? */
static bool after_head(const struct kl_ctokens *c, size_t i)
{
	static const char *const word[] = { "if", "for", "while" };
	long open = i > 0 && kl_ctoken_is(c, i - 1, ")") ? c->t[i - 1].match : -1;

	for (size_t k = 0; open > 0 && k < KL_ARRAY_SIZE(word); k++)
		if (kl_ctoken_is(c, open - 1, word[k]))
			return true;
	return false;
}

/* "*(float4 *)&y[i] = v;" -> "{ float4 kl_v = v; ((float *)&y[i])[0] = kl_v.x; ... }" */
static void split_store(struct kl_cedits *out, const struct kl_ctokens *c, size_t star,
			const struct vector *v, size_t first, size_t last)
{
	KL_AUTO(kl_buf_release) struct kl_buf head = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf tail = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *indent = indent_of(c, star);
	size_t end = last + 2;

	while (end < c->n && !kl_ctoken_is(c, end, ";")) {
		if (c->t[end].match > (int)end)
			end = c->t[end].match;
		else if (strchr(")]}", c->text[c->t[end].off]))
			return;
		end++;
	}
	if (end >= c->n || end == last + 2)
		return;
	kl_buf_addf(&head, "{\n%s\t%s kl_v =", indent, v->name);
	kl_buf_adds(&tail, ";\n");
	for (int k = 0; k < v->n; k++) {
		kl_buf_addf(&tail, "\n%s\t", indent);
		add_element(&tail, "", v, c, first, last, k);
		kl_buf_addf(&tail, " = kl_v.%c;", "xyzw"[k]);
	}
	kl_buf_addf(&tail, "\n%s}", indent);
	kl_cedits_tokens(out, c, star, last + 1, head.ptr, out->nsite);
	kl_cedits_tokens(out, c, end, end, tail.ptr, out->nsite - 1);
}

void kl_tokenpass_scalar_load(struct kl_cedits *out, const struct kl_ctokens *c)
{
	for (size_t i = 0; i + 5 < c->n; i++) {
		size_t type = i + 2 + kl_ctoken_is(c, i + 2, "const");
		const struct vector *v = vector_at(c, type);
		bool cast = v && kl_ctoken_is(c, i, "*") && kl_ctoken_is(c, i + 1, "(") &&
			    kl_ctoken_is(c, type + 1, "*") && kl_ctoken_is(c, type + 2, ")");
		bool assigned, whole;
		long last;

		if (!cast || (last = operand_end(c, type + 3)) < 0)
			continue;
		assigned = kl_ctoken_is(c, last + 1, "=") && !kl_ctoken_is(c, last + 2, "=");
		whole = begins_vector(c, i) || after_head(c, i);
		if (assigned && whole)
			split_store(out, c, i, v, type + 3, last);
		else if (!assigned && !whole && is_unary(c, i))
			split_load(out, c, i, v, type + 3, last);
	}
}
