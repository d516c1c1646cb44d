/* SPDX-License-Identifier: Apache-2.0 */
/* tokenpass_cuda - token passes for CUDA: launch bounds, unrolling, vector loads and stores */
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"
#include "rewrite/pass/tokenpass_parts.h"

/* --- hints to the compiler -------------------------------------------------- */

void kl_tokenpass_drop_bounds(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i + 1 < tokens->n; i++)
		if (kl_ctoken_is(tokens, i, "__launch_bounds__") &&
		    kl_ctoken_is(tokens, i + 1, "(") && tokens->t[i + 1].match > 0)
			kl_cedits_tokens(out, tokens, i, tokens->t[i + 1].match, "", out->nsite);
}

/* Return the indentation of the line of token `i`. Caller frees. */
static char *indent_of(const struct kl_ctokens *tokens, size_t i)
{
	size_t from = tokens->t[i].off, n = 0;

	while (from > 0 && tokens->text[from - 1] != '\n')
		from--;
	while (tokens->text[from + n] == ' ' || tokens->text[from + n] == '\t')
		n++;
	return kl_strndup(tokens->text + from, n);
}

static void roll_loop(struct kl_cedits *out, const struct kl_ctokens *tokens, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *indent = indent_of(tokens, i);
	KL_AUTO(kl_freep) char *with = NULL;
	bool first = i == 0 || tokens->t[i - 1].line < tokens->t[i].line;

	if (i > 0 && tokens->t[i - 1].kind == KL_CT_DIRECTIVE)
		kl_tokenpass_directive(&words, tokens, i - 1);
	if (words.len && kl_tokenpass_forbids_unroll(words.ptr))
		return;
	if (words.len && kl_prefix_has(words.ptr, "#pragma unroll")) {
		kl_cedits_tokens(out, tokens, i - 1, i - 1, "#pragma unroll 1", out->nsite);
		return;
	}
	with = kl_asprintf("%s#pragma unroll 1\n%sfor", first ? "" : "\n", indent);
	kl_cedits_tokens(out, tokens, i, i, with, out->nsite);
}

/*
 * Loops within parentheses are left alone: they are macro arguments, which cannot contain
 * directives.
 */
void kl_tokenpass_roll_loop(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	size_t i = 0;

	while (i < tokens->n) {
		if (kl_ctoken_is(tokens, i, "(") && tokens->t[i].match > 0) {
			i = tokens->t[i].match;
			continue;
		}
		if (tokens->t[i].fn >= 0 && kl_ctoken_is(tokens, i, "for") &&
		    kl_ctoken_is(tokens, i + 1, "("))
			roll_loop(out, tokens, i);
		i++;
	}
}

/* --- vectors ----------------------------------------------------------------- */

struct vector {
	const char *name, *of;
	int n;
};

static const struct vector *vector_at(const struct kl_ctokens *tokens, size_t i)
{
	static const struct vector known[] = {
		{ "float4", "float", 4 }, { "float2", "float", 2 },   { "int4", "int", 4 },
		{ "int2", "int", 2 },     { "uint4", "unsigned", 4 }, { "uint2", "unsigned", 2 },
	};

	for (size_t k = 0; k < KL_ARRAY_SIZE(known); k++)
		if (kl_ctoken_is(tokens, i, known[k].name))
			return &known[k];
	return NULL;
}

/* Check whether '*' at token `i` dereferences a pointer. After a value it multiplies. */
static bool is_unary(const struct kl_ctokens *tokens, size_t i)
{
	if (i == 0)
		return false;
	if (kl_ctoken_is(tokens, i - 1, "return"))
		return true;
	return tokens->t[i - 1].kind == KL_CT_DIRECTIVE ||
	       (tokens->t[i - 1].kind == KL_CT_PUNCT &&
		!strchr(")]", tokens->text[tokens->t[i - 1].off]));
}

/*
 * Check whether the parentheses from `open` to `end` are a cast, as in "(char *)p": an operand
 * follows them, not a binary operator.
 */
static bool is_cast(const struct kl_ctokens *tokens, size_t open, long end)
{
	if (!kl_ctoken_is(tokens, open, "(") || end != tokens->t[open].match ||
	    end + 1 >= (long)tokens->n)
		return false;
	return tokens->t[end + 1].kind != KL_CT_PUNCT ||
	       strchr("&*~!", tokens->text[tokens->t[end + 1].off]);
}

/* Check that tokens first ... last can be evaluated twice: no call, assignment, ++ or --. */
static bool is_pure(const struct kl_ctokens *tokens, size_t first, size_t last)
{
	for (size_t k = first; k <= last; k++) {
		bool twice = k > first && tokens->t[k].off == tokens->t[k - 1].off + 1 &&
			     tokens->text[tokens->t[k].off] == tokens->text[tokens->t[k - 1].off];

		if (kl_ctoken_is(tokens, k, "=") ||
		    (twice && strchr("+-", tokens->text[tokens->t[k].off])) ||
		    (k > first && kl_ctoken_is(tokens, k, "(") &&
		     tokens->t[k - 1].kind == KL_CT_IDENT))
			return false;
	}
	return true;
}

/*
 * Return the last token of the operand that begins at `i`: a name, member or element, with or
 * without &. Return -1 for anything else, and for an operand with a call, an assignment, ++ or --,
 * which must not be evaluated more than once.
 */
static long operand_end(const struct kl_ctokens *tokens, size_t i)
{
	long end;

	if (kl_ctoken_is(tokens, i, "&"))
		i++;
	if (i >= tokens->n)
		return -1;
	if (tokens->t[i].kind == KL_CT_IDENT)
		end = (long)i;
	else if (kl_ctoken_is(tokens, i, "(") && tokens->t[i].match > 0)
		end = tokens->t[i].match;
	else
		return -1;
	for (;;) {
		if (kl_ctoken_is(tokens, end + 1, "[") && tokens->t[end + 1].match > 0)
			end = tokens->t[end + 1].match;
		else if (kl_ctoken_is(tokens, end + 1, ".") && end + 2 < (long)tokens->n)
			end += 2;
		else if (kl_ctoken_is(tokens, end + 1, "-") && kl_ctoken_is(tokens, end + 2, ">") &&
			 end + 3 < (long)tokens->n)
			end += 3;
		else
			break;
	}
	if (kl_ctoken_is(tokens, end + 1, "(") || is_cast(tokens, i, end))
		return -1;
	if (!is_pure(tokens, i, (size_t)end))
		return -1;
	return end;
}

/* Append an element of a vector: "((const float *)&x[i])[2]". */
static void add_element(struct kl_buf *out, const char *qualifier, const struct vector *vector,
			const struct kl_ctokens *tokens, size_t first, size_t last, int k)
{
	kl_buf_addf(out, "((%s%s *)", qualifier, vector->of);
	kl_buf_add(out, tokens->text + tokens->t[first].off,
		   tokens->t[last].off + tokens->t[last].len - tokens->t[first].off);
	kl_buf_addf(out, ")[%d]", k);
}

/* A vector that is loaded or stored through a cast. */
struct access {
	const struct vector *vector;
	size_t begin, end;  /* tokens of the access: "*(float4 *)&x[i]" */
	size_t type;        /* token of the vector's type */
	size_t first, last; /* tokens of the address */
};

/* Replace "*(const float4 *)&x[i]" by "make_float4(((const float *)&x[i])[0], ...)". */
static void split_load(struct kl_cedits *out, const struct kl_ctokens *tokens,
		       const struct access *access)
{
	const struct vector *vector = access->vector;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *indent = indent_of(tokens, access->begin);
	bool is_const = kl_ctoken_is(tokens, access->type - 1, "const");

	kl_buf_addf(&buf, "make_%s(", vector->name);
	for (int k = 0; k < vector->n; k++) {
		if (k)
			kl_buf_addf(&buf, ",\n%s\t", indent);
		add_element(&buf, is_const ? "const " : "", vector, tokens, access->first,
			    access->last, k);
	}
	kl_buf_addch(&buf, ')');
	kl_cedits_tokens(out, tokens, access->begin, access->end, buf.ptr, out->nsite);
}

/* Check whether a statement begins at token `i`. */
static bool begins_statement(const struct kl_ctokens *tokens, size_t i)
{
	if (i == 0 || kl_ctoken_is(tokens, i - 1, "else") ||
	    tokens->t[i - 1].kind == KL_CT_DIRECTIVE)
		return i > 0;
	return kl_ctoken_is(tokens, i - 1, ";") || kl_ctoken_is(tokens, i - 1, "{") ||
	       kl_ctoken_is(tokens, i - 1, "}");
}

/* Check whether the parentheses that end before `i` belong to an if, for or while. */
static bool after_head(const struct kl_ctokens *tokens, size_t i)
{
	static const char *const word[] = { "if", "for", "while" };
	long open = i > 0 && kl_ctoken_is(tokens, i - 1, ")") ? tokens->t[i - 1].match : -1;

	for (size_t k = 0; open > 0 && k < KL_ARRAY_SIZE(word); k++)
		if (kl_ctoken_is(tokens, open - 1, word[k]))
			return true;
	return false;
}

/* Replace "*(float4 *)&y[i] = v;" by "{ float4 kl_v = v; ((float *)&y[i])[0] = kl_v.x; ... }". */
static void split_store(struct kl_cedits *out, const struct kl_ctokens *tokens,
			const struct access *access)
{
	const struct vector *vector = access->vector;
	KL_AUTO(kl_buf_release) struct kl_buf head = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf tail = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *indent = indent_of(tokens, access->begin);
	size_t last = access->end, end = last + 2;

	while (end < tokens->n && !kl_ctoken_is(tokens, end, ";")) {
		if (tokens->t[end].match > (int)end)
			end = tokens->t[end].match;
		else if (strchr(")]}", tokens->text[tokens->t[end].off]))
			return;
		end++;
	}
	if (end >= tokens->n || end == last + 2)
		return;
	kl_buf_addf(&head, "{\n%s\t%s kl_v =", indent, vector->name);
	kl_buf_adds(&tail, ";\n");
	for (int k = 0; k < vector->n; k++) {
		kl_buf_addf(&tail, "\n%s\t", indent);
		add_element(&tail, "", vector, tokens, access->first, access->last, k);
		kl_buf_addf(&tail, " = kl_v.%c;", "xyzw"[k]);
	}
	kl_buf_addf(&tail, "\n%s}", indent);
	kl_cedits_tokens(out, tokens, access->begin, last + 1, head.ptr, out->nsite);
	kl_cedits_tokens(out, tokens, end, end, tail.ptr, out->nsite - 1);
}

/* Read "*(const float4 *)&x[i]" at token `i`. */
static bool read_cast(struct access *out, const struct kl_ctokens *tokens, size_t i)
{
	size_t type = i + 2 + kl_ctoken_is(tokens, i + 2, "const");
	const struct vector *vector = vector_at(tokens, type);
	long last;

	if (!vector || !kl_ctoken_is(tokens, i, "*") || !kl_ctoken_is(tokens, i + 1, "(") ||
	    !kl_ctoken_is(tokens, type + 1, "*") || !kl_ctoken_is(tokens, type + 2, ")") ||
	    (last = operand_end(tokens, type + 3)) < 0)
		return false;
	*out = (struct access){ vector, i, (size_t)last, type, type + 3, (size_t)last };
	return true;
}

/*
 * Read "reinterpret_cast<const float4 *>(p)[0]" or "*reinterpret_cast<const float4 *>(p)" at token
 * `i`. The address is its parentheses.
 */
static bool read_reinterpret(struct access *out, const struct kl_ctokens *tokens, size_t i)
{
	bool star = kl_ctoken_is(tokens, i, "*");
	size_t name = i + star, type = name + 2 + kl_ctoken_is(tokens, name + 2, "const");
	const struct vector *vector = vector_at(tokens, type);
	size_t open = type + 3, close, end;

	if (!vector || !kl_ctoken_is(tokens, name, "reinterpret_cast") ||
	    !kl_ctoken_is(tokens, name + 1, "<") || !kl_ctoken_is(tokens, type + 1, "*") ||
	    !kl_ctoken_is(tokens, type + 2, ">") || !kl_ctoken_is(tokens, open, "(") ||
	    tokens->t[open].match < 0)
		return false;
	close = (size_t)tokens->t[open].match;
	end = star ? close : close + 3;
	if (!star && !(kl_ctoken_is(tokens, close + 1, "[") &&
		       kl_ctoken_is(tokens, close + 2, "0") && kl_ctoken_is(tokens, end, "]")))
		return false;
	*out = (struct access){ vector, i, end, type, open, close };
	return is_pure(tokens, open + 1, close);
}

void kl_tokenpass_scalar_load(struct kl_cedits *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i + 5 < tokens->n; i++) {
		struct access access;
		bool assigned, whole, begins;

		if (!read_cast(&access, tokens, i) && !read_reinterpret(&access, tokens, i))
			continue;
		assigned = kl_ctoken_is(tokens, access.end + 1, "=") &&
			   !kl_ctoken_is(tokens, access.end + 2, "=");
		whole = begins_statement(tokens, i) || after_head(tokens, i);
		begins = !kl_ctoken_is(tokens, i, "*") || is_unary(tokens, i);
		if (assigned && whole)
			split_store(out, tokens, &access);
		else if (!assigned && !whole && begins)
			split_load(out, tokens, &access);
	}
}
