/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/expr.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"

enum op {
	OP_CONST, OP_NAME, OP_NEG, OP_NOT,
	OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_MIN, OP_MAX, OP_CDIV,
	OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_AND, OP_OR,
};

struct kl_expr {
	enum op op;
	int64_t value;		/* OP_CONST: itself; OP_NAME: index */
	struct kl_expr *a, *b;
};

/* One node and its type: nothing is converted silently. */
struct typed {
	struct kl_expr *e;
	enum kl_expr_type type;
};

struct parser {
	const char *text;
	size_t pos;
	size_t start;		/* of the token last looked at, for messages */
	int depth;
	const struct kl_expr_names *names;
};

/* Binding strength; comparisons do not associate, so `a < b < c` is refused. */
static const struct binary {
	const char *sign;
	enum op op;
	int level;
	enum kl_expr_type takes, gives;
} binaries[] = {
	/* two-byte signs first: the first match wins */
	{ "||", OP_OR, 1, KL_EXPR_TRUTH, KL_EXPR_TRUTH },
	{ "&&", OP_AND, 2, KL_EXPR_TRUTH, KL_EXPR_TRUTH },
	{ "==", OP_EQ, 3, KL_EXPR_NUMBER, KL_EXPR_TRUTH },
	{ "!=", OP_NE, 3, KL_EXPR_NUMBER, KL_EXPR_TRUTH },
	{ "<=", OP_LE, 3, KL_EXPR_NUMBER, KL_EXPR_TRUTH },
	{ ">=", OP_GE, 3, KL_EXPR_NUMBER, KL_EXPR_TRUTH },
	{ "<", OP_LT, 3, KL_EXPR_NUMBER, KL_EXPR_TRUTH },
	{ ">", OP_GT, 3, KL_EXPR_NUMBER, KL_EXPR_TRUTH },
	{ "+", OP_ADD, 4, KL_EXPR_NUMBER, KL_EXPR_NUMBER },
	{ "-", OP_SUB, 4, KL_EXPR_NUMBER, KL_EXPR_NUMBER },
	{ "*", OP_MUL, 5, KL_EXPR_NUMBER, KL_EXPR_NUMBER },
	{ "/", OP_DIV, 5, KL_EXPR_NUMBER, KL_EXPR_NUMBER },
	{ "%", OP_MOD, 5, KL_EXPR_NUMBER, KL_EXPR_NUMBER },
};

#define LEVEL_COMPARE 3

void kl_expr_free(struct kl_expr *e)
{
	if (!e)
		return;
	kl_expr_free(e->a);
	kl_expr_free(e->b);
	free(e);
}

static void typed_release(struct typed *t)
{
	kl_expr_free(t->e);
	t->e = NULL;
}

static struct kl_expr *node(enum op op, int64_t value,
			    struct kl_expr *a, struct kl_expr *b)
{
	struct kl_expr *e = kl_calloc(1, sizeof(*e));

	e->op = op;
	e->value = value;
	e->a = a;
	e->b = b;
	return e;
}

static void skip_space(struct parser *p)
{
	while (p->text[p->pos] == ' ' || p->text[p->pos] == '\t')
		p->pos++;
	p->start = p->pos;
}

static int accept(struct parser *p, char c)
{
	skip_space(p);
	if (p->text[p->pos] != c)
		return 0;
	p->pos++;
	return 1;
}

static int expect(struct parser *p, char c)
{
	if (accept(p, c))
		return 0;
	if (!p->text[p->pos])
		return kl_error(KL_EINVALID, "the expression ends where '%c' is needed%s", c,
				c == ',' ? " (in a YAML list an expression with a comma needs quotes)" : "");
	return kl_error(KL_EINVALID, "'%c' is needed before '%.16s'", c, p->text + p->pos);
}

static int parse_level(struct typed *out, struct parser *p, int level);

static int parse_number(struct typed *out, struct parser *p)
{
	int64_t v = 0;

	while (isdigit((unsigned char)p->text[p->pos])) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, p->text[p->pos] - '0', &v))
			return kl_error(KL_EINVALID, "a number beyond 64 bits");
		p->pos++;
	}
	out->e = node(OP_CONST, v, NULL, NULL);
	out->type = KL_EXPR_NUMBER;
	return 0;
}

static int need_type(struct parser *p, size_t at, const struct typed *t,
		     enum kl_expr_type want)
{
	if (t->type == want)
		return 0;
	p->start = at;
	return kl_error(KL_EINVALID, want == KL_EXPR_NUMBER ?
			"a comparison stands where a number is needed" :
			"a number stands where a comparison is needed");
}

static int parse_argument(struct typed *out, struct parser *p)
{
	size_t at;
	int err;

	skip_space(p);
	at = p->pos;
	if ((err = parse_level(out, p, 1)) < 0)
		return err;
	return need_type(p, at, out, KL_EXPR_NUMBER);
}

static int parse_call(struct typed *out, struct parser *p, enum op op)
{
	KL_AUTO(typed_release) struct typed a = { 0 }, b = { 0 };
	int err;

	if ((err = expect(p, '(')) < 0 || (err = parse_argument(&a, p)) < 0 ||
	    (err = expect(p, ',')) < 0 || (err = parse_argument(&b, p)) < 0 ||
	    (err = expect(p, ')')) < 0)
		return err;
	out->e = node(op, 0, kl_steal(&a.e), kl_steal(&b.e));
	out->type = KL_EXPR_NUMBER;
	return 0;
}

static int parse_word(struct typed *out, struct parser *p)
{
	static const struct { const char *name; enum op op; } calls[] = {
		{ "min", OP_MIN }, { "max", OP_MAX }, { "cdiv", OP_CDIV },
	};
	const char *s = p->text + p->pos;
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	for (size_t i = 0; i < p->names->n; i++) {
		const char *name = p->names->name[i];

		if (strlen(name) == n && !memcmp(name, s, n)) {
			p->pos += n;
			out->e = node(OP_NAME, (int64_t)i, NULL, NULL);
			out->type = KL_EXPR_NUMBER;
			return 0;
		}
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(calls); i++) {
		if (strlen(calls[i].name) == n && !memcmp(calls[i].name, s, n)) {
			p->pos += n;
			return parse_call(out, p, calls[i].op);
		}
	}
	return kl_error(KL_EINVALID, "'%.*s' is not %s", (int)(n > 64 ? 64 : n), s,
			p->names->what ? p->names->what : "a dim of the case");
}

static int parse_unary(struct typed *out, struct parser *p)
{
	KL_AUTO(typed_release) struct typed t = { 0 };
	enum op op = p->text[p->pos++] == '-' ? OP_NEG : OP_NOT;
	enum kl_expr_type want = op == OP_NEG ? KL_EXPR_NUMBER : KL_EXPR_TRUTH;
	size_t at;
	int err;

	skip_space(p);
	at = p->pos;
	/* Binds tighter than every binary sign. */
	if ((err = parse_level(&t, p, 6)) < 0 ||
	    (err = need_type(p, at, &t, want)) < 0)
		return err;
	out->e = node(op, 0, kl_steal(&t.e), NULL);
	out->type = want;
	return 0;
}

static int parse_primary(struct typed *out, struct parser *p)
{
	unsigned char c;
	int err;

	skip_space(p);
	c = (unsigned char)p->text[p->pos];
	if (isdigit(c))
		return parse_number(out, p);
	if (isalpha(c) || c == '_')
		return parse_word(out, p);
	if (c == '-' || (c == '!' && p->text[p->pos + 1] != '='))
		return parse_unary(out, p);
	if (c == '(') {
		KL_AUTO(typed_release) struct typed t = { 0 };

		p->pos++;
		if ((err = parse_level(&t, p, 1)) < 0 || (err = expect(p, ')')) < 0)
			return err;
		out->e = kl_steal(&t.e);
		out->type = t.type;
		return 0;
	}
	if (!c)
		return kl_error(KL_EINVALID, "the expression ends too early");
	return kl_error(KL_EINVALID, "unexpected '%c' in an expression", isprint(c) ? c : '?');
}

static const struct binary *next_binary(struct parser *p)
{
	skip_space(p);
	for (size_t i = 0; i < KL_ARRAY_SIZE(binaries); i++) {
		const struct binary *b = &binaries[i];

		if (!strncmp(p->text + p->pos, b->sign, strlen(b->sign)))
			return b;
	}
	return NULL;
}

/* Precedence climbing: operands joined by signs of at least `level`. */
static int parse_binaries(struct typed *left, struct parser *p, int level)
{
	const struct binary *b;
	size_t at;
	int err;

	skip_space(p);
	at = p->pos;
	if ((err = parse_primary(left, p)) < 0)
		return err;
	while ((b = next_binary(p)) && b->level >= level) {
		KL_AUTO(typed_release) struct typed right = { 0 };
		size_t right_at;

		if ((err = need_type(p, at, left, b->takes)) < 0)
			return err;
		p->pos += strlen(b->sign);
		skip_space(p);
		right_at = p->pos;
		if ((err = parse_level(&right, p, b->level + 1)) < 0 ||
		    (err = need_type(p, right_at, &right, b->takes)) < 0)
			return err;
		left->e = node(b->op, 0, left->e, kl_steal(&right.e));
		left->type = b->gives;
		if (b->level == LEVEL_COMPARE && (b = next_binary(p)) &&
		    b->level == LEVEL_COMPARE)
			return kl_error(KL_EINVALID, "comparisons do not chain: join them with &&");
	}
	return 0;
}

static int parse_level(struct typed *out, struct parser *p, int level)
{
	KL_AUTO(typed_release) struct typed t = { 0 };
	int err;

	if (p->depth >= KL_EXPR_MAX_DEPTH)
		return kl_error(KL_EINVALID, "the expression nests deeper than %d",
				KL_EXPR_MAX_DEPTH);
	p->depth++;
	err = parse_binaries(&t, p, level);
	p->depth--;
	if (err < 0)
		return err;
	out->e = kl_steal(&t.e);
	out->type = t.type;
	return 0;
}

static int parse_all(struct typed *t, struct parser *p, enum kl_expr_type want)
{
	int err = parse_level(t, p, 1);

	if (err < 0)
		return err;
	skip_space(p);
	if (p->text[p->pos])
		return kl_error(KL_EINVALID, "unexpected '%.16s' after the expression",
				p->text + p->pos);
	return need_type(p, 0, t, want);
}

int kl_expr_parse(struct kl_expr **out, const char *text,
		  const struct kl_expr_names *names, enum kl_expr_type want,
		  size_t *at)
{
	KL_AUTO(typed_release) struct typed t = { 0 };
	struct parser p = { .text = text, .names = names };
	int err;

	if (at)
		*at = 0;
	if (strlen(text) > KL_EXPR_MAX_TEXT)
		return kl_error(KL_EINVALID, "an expression longer than %d bytes",
				KL_EXPR_MAX_TEXT);
	err = parse_all(&t, &p, want);
	if (err < 0) {
		if (at)
			*at = p.start;
		return err;
	}
	*out = kl_steal(&t.e);
	return 0;
}

void kl_expr_uses(const struct kl_expr *e, bool *used)
{
	if (!e)
		return;
	if (e->op == OP_NAME)
		used[e->value] = true;
	kl_expr_uses(e->a, used);
	kl_expr_uses(e->b, used);
}

static int divide(int64_t *out, enum op op, int64_t a, int64_t b)
{
	if (!b)
		return kl_error(KL_EINVALID, "division by zero");
	if (a == INT64_MIN && b == -1)
		return kl_error(KL_EINVALID, "overflow beyond 64 bits");
	if (op == OP_MOD)
		*out = a % b;
	else
		*out = a / b;
	/* cdiv rounds up: one more when the exact quotient lies above. */
	if (op == OP_CDIV && a % b && (a < 0) == (b < 0))
		*out += 1;
	return 0;
}

static int apply(int64_t *out, enum op op, int64_t a, int64_t b)
{
	bool over = false;

	switch (op) {
	case OP_ADD: over = __builtin_add_overflow(a, b, out); break;
	case OP_SUB: over = __builtin_sub_overflow(a, b, out); break;
	case OP_MUL: over = __builtin_mul_overflow(a, b, out); break;
	case OP_DIV:
	case OP_MOD:
	case OP_CDIV: return divide(out, op, a, b);
	case OP_MIN: *out = a < b ? a : b; break;
	case OP_MAX: *out = a > b ? a : b; break;
	case OP_EQ: *out = a == b; break;
	case OP_NE: *out = a != b; break;
	case OP_LT: *out = a < b; break;
	case OP_LE: *out = a <= b; break;
	case OP_GT: *out = a > b; break;
	case OP_GE: *out = a >= b; break;
	default: KL_BUG("expression sign %d", op);
	}
	return over ? kl_error(KL_EINVALID, "overflow beyond 64 bits") : 0;
}

int kl_expr_eval(int64_t *out, const struct kl_expr *e, const int64_t *value)
{
	int64_t a = 0, b = 0;
	int err;

	if (e->op == OP_CONST || e->op == OP_NAME) {
		*out = e->op == OP_CONST ? e->value : value[e->value];
		return 0;
	}
	if ((err = kl_expr_eval(&a, e->a, value)) < 0)
		return err;
	if (e->op == OP_NEG)
		return apply(out, OP_SUB, 0, a);
	if (e->op == OP_NOT || (e->op == OP_AND && !a) || (e->op == OP_OR && a)) {
		*out = e->op == OP_NOT ? !a : a;
		return 0;
	}
	if ((err = kl_expr_eval(&b, e->b, value)) < 0)
		return err;
	if (e->op == OP_AND || e->op == OP_OR) {
		*out = b;
		return 0;
	}
	return apply(out, e->op, a, b);
}
