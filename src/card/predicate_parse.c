/* SPDX-License-Identifier: Apache-2.0 */
/* predicate_parse - parser of predicates, with the type of each part */
#include "card/predicate_parts.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"

/* What an expression is before anything is known; ANY: a fact decides. */
enum type { ANY, NUMBER, TRUTH, TEXT };

struct parser {
	const char *text;
	size_t pos;
	size_t start;		/* of the token last looked at, for messages */
	int depth;
};

struct typed {
	struct kl_pred_expr *e;
	enum type type;
};

static void expr_free(struct kl_pred_expr *e)
{
	if (!e)
		return;
	expr_free(e->a);
	expr_free(e->b);
	free(e->text);
	free(e);
}

static void typed_release(struct typed *t)
{
	expr_free(t->e);
	t->e = NULL;
}

void kl_predicate_free(struct kl_predicate *p)
{
	if (!p)
		return;
	expr_free(p->top);
	free(p);
}

static struct kl_pred_expr *node(enum kl_pred_op op, struct kl_pred_expr *a, struct kl_pred_expr *b)
{
	struct kl_pred_expr *e = kl_calloc(1, sizeof(*e));

	e->op = op;
	e->a = a;
	e->b = b;
	return e;
}

static void skip_space(struct parser *p)
{
	while (p->text[p->pos] == ' ' || p->text[p->pos] == '\t' || p->text[p->pos] == '\n')
		p->pos++;
	p->start = p->pos;
}

static bool accept(struct parser *p, char c)
{
	skip_space(p);
	if (p->text[p->pos] != c)
		return false;
	p->pos++;
	return true;
}

static int expect(struct parser *p, char c)
{
	if (accept(p, c))
		return 0;
	if (!p->text[p->pos])
		return kl_error(KL_EINVALID, "it ends where '%c' is needed", c);
	return kl_error(KL_EINVALID, "'%c' is needed before '%.16s'", c, p->text + p->pos);
}

static int parse_level(struct typed *out, struct parser *p, int level);

static int need(struct parser *p, size_t at, const struct typed *t, enum type want)
{
	static const char *const words[] = { "", "a number", "a condition", "a text" };

	if (t->type == want || t->type == ANY)
		return 0;
	p->start = at;
	return kl_error(KL_EINVALID, "%s stands where %s is needed", words[t->type], words[want]);
}

/* 12, or 0.75: at most six places */
static int parse_number(struct typed *out, struct parser *p)
{
	int64_t v = 0, scale = 1000000;
	bool ratio = false;

	for (; isdigit((unsigned char)p->text[p->pos]); p->pos++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, p->text[p->pos] - '0', &v))
			return kl_error(KL_EINVALID, "a number beyond 64 bits");
	if (p->text[p->pos] == '.' && isdigit((unsigned char)p->text[p->pos + 1])) {
		ratio = true;
		if (__builtin_mul_overflow(v, scale, &v))
			return kl_error(KL_EINVALID, "a number beyond 64 bits");
		for (p->pos++; isdigit((unsigned char)p->text[p->pos]); p->pos++) {
			if (scale == 1)
				return kl_error(KL_EINVALID, "a number with more than six places");
			if (__builtin_add_overflow(v, (p->text[p->pos] - '0') * (scale /= 10), &v))
				return kl_error(KL_EINVALID, "a number beyond 64 bits");
		}
	}
	if (isalnum((unsigned char)p->text[p->pos]) || p->text[p->pos] == '_')
		return kl_error(KL_EINVALID, "a name cannot begin with a digit");
	out->e = node(ratio ? OP_RATIO : OP_INT, NULL, NULL);
	out->e->n = v;
	out->type = NUMBER;
	return 0;
}

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

/* what stands in quotes: a fact, a dtype, ...; nothing that a key could be misread by */
static int parse_quoted(const char **s, size_t *n, struct parser *p)
{
	*s = p->text + ++p->pos;
	*n = strspn(*s, NAME_CHARS ":*+/-");
	if ((*s)[*n] != '\'')
		return kl_error(KL_EINVALID, (*s)[*n] ? "a text holds letters, digits and _.:*+/- alone" :
				"a text without its end");
	if (!*n)
		return kl_error(KL_EINVALID, "an empty text");
	p->pos += *n + 1;
	return 0;
}

static int parse_text(struct typed *out, struct parser *p)
{
	const char *s;
	size_t n;
	int err = parse_quoted(&s, &n, p);

	if (err < 0)
		return err;
	out->e = node(OP_TEXT, NULL, NULL);
	out->e->text = kl_strndup(s, n);
	out->type = TEXT;
	return 0;
}

static int parse_argument(struct typed *out, struct parser *p)
{
	size_t at;
	int err;

	skip_space(p);
	at = p->pos;
	if ((err = parse_level(out, p, 1)) < 0)
		return err;
	return need(p, at, out, NUMBER);
}

static int parse_arithmetic(struct typed *out, struct parser *p, enum kl_pred_op op)
{
	KL_AUTO(typed_release) struct typed a = { 0 }, b = { 0 };
	int err;

	if ((err = parse_argument(&a, p)) < 0 || (err = expect(p, ',')) < 0 ||
	    (err = parse_argument(&b, p)) < 0 || (err = expect(p, ')')) < 0)
		return err;
	out->e = node(op, kl_steal(&a.e), kl_steal(&b.e));
	out->type = NUMBER;
	return 0;
}

/* a call asks for one fact: names or quoted texts in its brackets, no expressions */
static int parse_call(struct typed *out, struct parser *p, const char *name, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	bool is_set = (n == 3 && (!memcmp(name, "cap", 3) || !memcmp(name, "has", 3))) ||
		      (n == 5 && !memcmp(name, "trait", 5));
	int err, args = 0;

	kl_buf_add(&key, name, n);
	kl_buf_addch(&key, '(');
	do {
		const char *s;
		size_t len;

		skip_space(p);
		s = p->text + p->pos;
		if (*s == '\'') {
			if ((err = parse_quoted(&s, &len, p)) < 0)
				return err;
		} else {
			len = strspn(s, NAME_CHARS);
			if (!len)
				return kl_error(KL_EINVALID, "a name is needed before '%.16s'", s);
			p->pos += len;
		}
		if (args++)
			kl_buf_addch(&key, ',');
		kl_buf_add(&key, s, len);
	} while (accept(p, ','));
	if ((err = expect(p, ')')) < 0)
		return err;
	if (is_set && args != 1)
		return kl_error(KL_EINVALID, "%.*s() takes one name", (int)n, name);
	kl_buf_addch(&key, ')');
	out->e = node(OP_FACT, NULL, NULL);
	out->e->text = kl_buf_detach(&key);
	out->type = is_set ? TRUTH : ANY;
	return 0;
}

static int parse_word(struct typed *out, struct parser *p)
{
	static const struct { const char *name; enum kl_pred_op op; } arithmetic[] = {
		{ "min", OP_MIN }, { "max", OP_MAX }, { "cdiv", OP_CDIV },
	};
	const char *s = p->text + p->pos;
	size_t n = strspn(s, NAME_CHARS);

	if (s[n - 1] == '.')
		return kl_error(KL_EINVALID, "a name cannot end with '.'");
	p->pos += n;
	if (p->text[p->pos] == '(') {
		p->pos++;
		for (size_t i = 0; i < KL_ARRAY_SIZE(arithmetic); i++)
			if (strlen(arithmetic[i].name) == n && !memcmp(arithmetic[i].name, s, n))
				return parse_arithmetic(out, p, arithmetic[i].op);
		return parse_call(out, p, s, n);
	}
	out->e = node(OP_FACT, NULL, NULL);
	out->e->text = kl_strndup(s, n);
	out->type = ANY;
	return 0;
}

static int parse_unary(struct typed *out, struct parser *p)
{
	KL_AUTO(typed_release) struct typed t = { 0 };
	enum kl_pred_op op = p->text[p->pos++] == '-' ? OP_NEG : OP_NOT;
	size_t at;
	int err;

	skip_space(p);
	at = p->pos;
	if ((err = parse_level(&t, p, 6)) < 0 || (err = need(p, at, &t, op == OP_NEG ? NUMBER : TRUTH)) < 0)
		return err;
	out->e = node(op, kl_steal(&t.e), NULL);
	out->type = op == OP_NEG ? NUMBER : TRUTH;
	return 0;
}

static int parse_primary(struct typed *out, struct parser *p)
{
	char c;
	int err;

	skip_space(p);
	c = p->text[p->pos];
	if (c == '(') {
		p->pos++;
		if ((err = parse_level(out, p, 1)) < 0)
			return err;
		return expect(p, ')');
	}
	if (c == '-' || c == '!')
		return parse_unary(out, p);
	if (c == '\'')
		return parse_text(out, p);
	if (isdigit((unsigned char)c))
		return parse_number(out, p);
	if (isalpha((unsigned char)c) || c == '_')
		return parse_word(out, p);
	if (!c)
		return kl_error(KL_EINVALID, "it ends where a value is needed");
	return kl_error(KL_EINVALID, "'%.16s' is no value", p->text + p->pos);
}

/* Binding strength as in C; comparisons do not associate. Two-byte signs first. */
static const struct binary { const char *sign; enum kl_pred_op op; int level; } binaries[] = {
	{ "||", OP_OR, 1 }, { "&&", OP_AND, 2 },
	{ "==", OP_EQ, 3 }, { "!=", OP_NE, 3 }, { "<=", OP_LE, 3 }, { ">=", OP_GE, 3 },
	{ "<", OP_LT, 3 }, { ">", OP_GT, 3 },
	{ "+", OP_ADD, 4 }, { "-", OP_SUB, 4 },
	{ "*", OP_MUL, 5 }, { "/", OP_DIV, 5 }, { "%", OP_MOD, 5 },
};
#define LEVEL_COMPARE 3
#define LEVEL_PRIMARY 6

static const struct binary *binary_at(struct parser *p, int level)
{
	skip_space(p);
	for (size_t i = 0; i < KL_ARRAY_SIZE(binaries); i++) {
		const struct binary *b = &binaries[i];

		if (!strncmp(p->text + p->pos, b->sign, strlen(b->sign)))
			return b->level == level ? b : NULL;
	}
	return NULL;
}

/* a condition, or numbers on both sides, or one kind of thing to compare for equality */
static int check_binary(struct parser *p, const struct binary *b, size_t at, const struct typed *left,
			size_t right_at, const struct typed *right)
{
	enum type want = b->level < LEVEL_COMPARE ? TRUTH : NUMBER;
	int err;

	if (b->op == OP_EQ || b->op == OP_NE) {
		if (left->type == TEXT || right->type == TEXT)
			want = TEXT;
		else if (left->type == ANY && right->type == ANY)
			return 0;
	}
	if ((err = need(p, at, left, want)) < 0)
		return err;
	return need(p, right_at, right, want);
}

static int parse_level(struct typed *out, struct parser *p, int level)
{
	KL_AUTO(typed_release) struct typed left = { 0 };
	const struct binary *b;
	size_t at;
	int err;

	if (++p->depth > KL_PREDICATE_MAX_DEPTH * LEVEL_PRIMARY)
		return kl_error(KL_EINVALID, "it is nested too deeply");
	skip_space(p);
	at = p->pos;
	err = level == LEVEL_PRIMARY ? parse_primary(&left, p) : parse_level(&left, p, level + 1);
	while (!err && level < LEVEL_PRIMARY && (b = binary_at(p, level))) {
		KL_AUTO(typed_release) struct typed right = { 0 };
		size_t right_at;

		p->pos += strlen(b->sign);
		skip_space(p);
		right_at = p->pos;
		if ((err = parse_level(&right, p, level + 1)) < 0 ||
		    (err = check_binary(p, b, at, &left, right_at, &right)) < 0)
			break;
		left.e = node(b->op, left.e, kl_steal(&right.e));
		left.type = level <= LEVEL_COMPARE ? TRUTH : NUMBER;
		if (level == LEVEL_COMPARE && binary_at(p, level))
			err = kl_error(KL_EINVALID, "comparisons do not chain: write a < b && b < c");
	}
	p->depth--;
	if (err < 0)
		return err;
	*out = left;
	left.e = NULL;
	return 0;
}

int kl_predicate_parse(struct kl_predicate **out, const char *text, size_t *at)
{
	struct parser p = { .text = text };
	KL_AUTO(typed_release) struct typed top = { 0 };
	int err;

	if (strlen(text) > KL_PREDICATE_MAX_TEXT) {
		err = kl_error(KL_EINVALID, "it is longer than %d bytes", KL_PREDICATE_MAX_TEXT);
	} else if (!(err = parse_level(&top, &p, 1))) {
		skip_space(&p);
		if (text[p.pos])
			err = kl_error(KL_EINVALID, "'%.16s' is left over", text + p.pos);
		else if ((err = need(&p, 0, &top, TRUTH)) == 0)
			p.start = 0;
	}
	if (err < 0) {
		if (at)
			*at = p.start;
		return err;
	}
	*out = kl_calloc(1, sizeof(**out));
	(*out)->top = kl_steal(&top.e);
	return 0;
}
