/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/affine.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define MAX_FACTOR ((int64_t)1 << 31)
#define MAX_NAMES 4  /* maximum number of names in a product */
#define MAX_DEPTH 16 /* maximum number of levels of nested parentheses */

/* --- terms ------------------------------------------------------------------------------------ */

/* Add one term. Remove the term of this product if its factor becomes 0. */
static bool add_term(struct kl_affine *sum, int64_t factor, const char *product)
{
	size_t at = 0;

	if (!factor)
		return true;
	while (at < sum->n && strcmp(sum->term[at].product, product) < 0)
		at++;
	if (at < sum->n && !strcmp(sum->term[at].product, product)) {
		sum->term[at].factor += factor;
		if (sum->term[at].factor)
			return sum->term[at].factor < MAX_FACTOR &&
			       sum->term[at].factor > -MAX_FACTOR;
		memmove(&sum->term[at], &sum->term[at + 1], (--sum->n - at) * sizeof(sum->term[0]));
		return true;
	}
	if (sum->n == KL_AFFINE_TERMS || strlen(product) >= KL_AFFINE_PRODUCT)
		return false;
	memmove(&sum->term[at + 1], &sum->term[at], (sum->n++ - at) * sizeof(sum->term[0]));
	sum->term[at].factor = factor;
	snprintf(sum->term[at].product, sizeof(sum->term[at].product), "%s", product);
	return true;
}

bool kl_affine_add(struct kl_affine *sum, const struct kl_affine *other, int64_t factor)
{
	for (size_t i = 0; i < other->n; i++)
		if (!add_term(sum, factor * other->term[i].factor, other->term[i].product))
			return false;
	return true;
}

/* Split a product into its names, which point into `text`. */
static size_t split_product(char *text, char *name[MAX_NAMES])
{
	size_t n = 0;
	char *rest = NULL;

	for (char *at = strtok_r(text, "*", &rest); at; at = strtok_r(NULL, "*", &rest)) {
		if (n == MAX_NAMES)
			return MAX_NAMES + 1; /* only a new product can have so many names */
		name[n++] = at;
	}
	return n;
}

/* Write the product of two products, with its names in order; false if it has too many names. */
static bool join_products(char out[KL_AFFINE_PRODUCT], const char *left, const char *right)
{
	char text[2 * KL_AFFINE_PRODUCT + 2], *name[MAX_NAMES];
	size_t n, len = 0;

	snprintf(text, sizeof(text), "%s*%s", left, right);
	n = split_product(text, name);
	if (n > MAX_NAMES || strlen(left) + strlen(right) + 1 >= KL_AFFINE_PRODUCT)
		return false;
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && strcmp(name[k - 1], name[k]) > 0; k--) {
			char *swap = name[k];

			name[k] = name[k - 1];
			name[k - 1] = swap;
		}
	out[0] = '\0';
	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(out + len, KL_AFFINE_PRODUCT - len, "%s%s", i ? "*" : "",
					name[i]);
	return true;
}

static bool multiply_sums(struct kl_affine *out, const struct kl_affine *left,
			  const struct kl_affine *right)
{
	char product[KL_AFFINE_PRODUCT];

	*out = (struct kl_affine){ 0 };
	for (size_t i = 0; i < left->n; i++)
		for (size_t k = 0; k < right->n; k++)
			if (!join_products(product, left->term[i].product,
					   right->term[k].product) ||
			    !add_term(out, left->term[i].factor * right->term[k].factor, product))
				return false;
	return true;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct reader {
	const struct kl_ctokens *tokens;
	size_t pos, end; /* the tokens are pos ... end - 1 */
	int depth;
};

static bool read_sum(struct kl_affine *out, struct reader *reader);

static bool at_text(const struct reader *reader, const char *text)
{
	return reader->pos < reader->end && kl_ctoken_is(reader->tokens, reader->pos, text);
}

static bool read_number(struct kl_affine *out, const struct reader *reader)
{
	const struct kl_ctok *token = &reader->tokens->t[reader->pos];
	int64_t value = 0;
	size_t i = 0;

	for (; i < token->len && reader->tokens->text[token->off + i] >= '0' &&
	       reader->tokens->text[token->off + i] <= '9';
	     i++)
		if ((value = 10 * value + reader->tokens->text[token->off + i] - '0') >= MAX_FACTOR)
			return false;
	/* refuse an octal number, and a number with a fraction or an exponent */
	if ((token->len > 1 && reader->tokens->text[token->off] == '0') ||
	    strspn(reader->tokens->text + token->off + i, "uUlL") < token->len - i)
		return false;
	return add_term(out, value, "");
}

/*
 * Return the number of tokens of a cast to an integer type that begins at `pos`; 0 if there is
 * none.
 */
static size_t cast_length(const struct reader *reader)
{
	static const char *const type[] = { "int",      "long",     "unsigned",  "size_t",
					    "int64_t",  "int32_t",  "ptrdiff_t", "ssize_t",
					    "uint64_t", "uint32_t", NULL };
	size_t n = 1;

	if (!at_text(reader, "("))
		return 0;
	for (; reader->pos + n < reader->end; n++) {
		bool known = false;

		for (const char *const *name = type; *name; name++)
			known |= kl_ctoken_is(reader->tokens, reader->pos + n, *name);
		if (!known)
			break;
	}
	return n > 1 && reader->pos + n < reader->end &&
			       kl_ctoken_is(reader->tokens, reader->pos + n, ")") ?
		       n + 1 :
		       0;
}

static bool read_factor(struct kl_affine *out, struct reader *reader)
{
	const struct kl_ctokens *tokens = reader->tokens;
	struct kl_affine inner = { 0 };
	char name[KL_AFFINE_PRODUCT];

	reader->pos += cast_length(reader);
	*out = (struct kl_affine){ 0 };
	if (at_text(reader, "-")) {
		reader->pos++;
		return reader->depth++ < MAX_DEPTH && read_factor(&inner, reader) &&
		       kl_affine_add(out, &inner, -1);
	}
	if (at_text(reader, "(")) {
		reader->pos++;
		if (reader->depth++ >= MAX_DEPTH || !read_sum(out, reader) || !at_text(reader, ")"))
			return false;
		reader->depth--;
		reader->pos++;
		return true;
	}
	if (reader->pos >= reader->end)
		return false;
	if (tokens->t[reader->pos].kind == KL_CT_NUMBER) {
		bool fine = read_number(out, reader);

		reader->pos++;
		return fine;
	}
	if (tokens->t[reader->pos].kind != KL_CT_IDENT ||
	    tokens->t[reader->pos].len >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)tokens->t[reader->pos].len,
		 tokens->text + tokens->t[reader->pos].off);
	reader->pos++;
	return !at_text(reader, "(") && !at_text(reader, "[") && add_term(out, 1, name);
}

static bool read_product(struct kl_affine *out, struct reader *reader)
{
	if (!read_factor(out, reader))
		return false;
	while (at_text(reader, "*")) {
		struct kl_affine left = *out, right;

		reader->pos++;
		if (!read_factor(&right, reader) || !multiply_sums(out, &left, &right))
			return false;
	}
	return true;
}

static bool read_sum(struct kl_affine *out, struct reader *reader)
{
	if (!read_product(out, reader))
		return false;
	while (at_text(reader, "+") || at_text(reader, "-")) {
		int64_t sign = at_text(reader, "+") ? 1 : -1;
		struct kl_affine next;

		reader->pos++;
		if (!read_product(&next, reader) || !kl_affine_add(out, &next, sign))
			return false;
	}
	return true;
}

bool kl_affine_read(struct kl_affine *out, const struct kl_ctokens *tokens, size_t first,
		    size_t last)
{
	struct reader reader = { .tokens = tokens, .pos = first, .end = last + 1 };

	*out = (struct kl_affine){ 0 };
	return first <= last && last < tokens->n && read_sum(out, &reader) &&
	       reader.pos == reader.end;
}

/* --- questions -------------------------------------------------------------------------------- */

bool kl_affine_equal(const struct kl_affine *left, const struct kl_affine *right)
{
	if (left->n != right->n)
		return false;
	for (size_t i = 0; i < left->n; i++)
		if (left->term[i].factor != right->term[i].factor ||
		    strcmp(left->term[i].product, right->term[i].product))
			return false;
	return true;
}

bool kl_affine_is(const struct kl_affine *sum, int64_t value)
{
	if (!value)
		return !sum->n;
	return sum->n == 1 && !*sum->term[0].product && sum->term[0].factor == value;
}

/* Count how often a name occurs in a product; `rest` gets the other names. */
static size_t count_name(char rest[KL_AFFINE_PRODUCT], const char *product, const char *name)
{
	char text[KL_AFFINE_PRODUCT], *part[MAX_NAMES];
	size_t n, found = 0, len = 0;

	snprintf(text, sizeof(text), "%s", product);
	n = split_product(text, part);
	rest[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(part[i], name))
			found++;
		else
			len += (size_t)snprintf(rest + len, KL_AFFINE_PRODUCT - len, "%s%s",
						len ? "*" : "", part[i]);
	}
	return found;
}

bool kl_affine_has(const struct kl_affine *sum, const char *name)
{
	char rest[KL_AFFINE_PRODUCT];

	for (size_t i = 0; i < sum->n; i++)
		if (count_name(rest, sum->term[i].product, name))
			return true;
	return false;
}

bool kl_affine_stride(struct kl_affine *out, const struct kl_affine *sum, const char *name)
{
	char rest[KL_AFFINE_PRODUCT];

	*out = (struct kl_affine){ 0 };
	for (size_t i = 0; i < sum->n; i++) {
		size_t found = count_name(rest, sum->term[i].product, name);

		if (found > 1 || (found && !add_term(out, sum->term[i].factor, rest)))
			return false;
	}
	return true;
}

bool kl_affine_replace(struct kl_affine *sum, const char *name, const struct kl_affine *value)
{
	struct kl_affine out = { 0 };
	char rest[KL_AFFINE_PRODUCT], product[KL_AFFINE_PRODUCT];

	for (size_t i = 0; i < sum->n; i++) {
		size_t found = count_name(rest, sum->term[i].product, name);

		if (found > 1)
			return false;
		if (!found && !add_term(&out, sum->term[i].factor, sum->term[i].product))
			return false;
		for (size_t k = 0; found && k < value->n; k++)
			if (!join_products(product, rest, value->term[k].product) ||
			    !add_term(&out, sum->term[i].factor * value->term[k].factor, product))
				return false;
	}
	*sum = out;
	return true;
}

bool kl_affine_name(char out[KL_AFFINE_PRODUCT], const struct kl_affine *sum, size_t k)
{
	for (size_t i = 0; i < sum->n; i++) {
		char text[KL_AFFINE_PRODUCT], *name[MAX_NAMES];
		size_t n;

		snprintf(text, sizeof(text), "%s", sum->term[i].product);
		n = split_product(text, name);
		if (k < n) {
			snprintf(out, KL_AFFINE_PRODUCT, "%s", name[k]);
			return true;
		}
		k -= n;
	}
	return false;
}
