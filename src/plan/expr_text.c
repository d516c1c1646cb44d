/* SPDX-License-Identifier: Apache-2.0 */
/* expr_text - parses and writes expressions in every dialect */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "plan/expr_tree.h"

#define LEVEL_ANY 1
#define LEVEL_COMPARE 3
#define LEVEL_VALUE 6

/*
 * The signs of the operators, in the order of enum kl_expr_op. The first match is taken, so "<="
 * must come before "<". A higher level binds tighter.
 */
/* clang-format off */
static const struct sign { const char *text; enum kl_expr_op op; int level; } signs[] = {
	{ "+", KL_OP_ADD, 4 }, { "-", KL_OP_SUB, 4 },
	{ "*", KL_OP_MUL, 5 }, { "/", KL_OP_DIV, 5 }, { "%", KL_OP_MOD, 5 },
	{ "==", KL_OP_EQ, 3 }, { "!=", KL_OP_NE, 3 }, { "<=", KL_OP_LE, 3 }, { ">=", KL_OP_GE, 3 },
	{ "<", KL_OP_LT, 3 }, { ">", KL_OP_GT, 3 },
	{ "&&", KL_OP_AND, 2 }, { "||", KL_OP_OR, 1 },
};
/* clang-format on */

static const struct function {
	const char *name;
	enum kl_expr_op op;
} functions[] = {
	{ "min", KL_OP_MIN },
	{ "max", KL_OP_MAX },
	{ "cdiv", KL_OP_CDIV },
};

/*
 * --- tokens ----------------------------------------------------------------------------------
 */

struct parser {
	const struct kl_expr_dialect *dialect;
	const struct kl_expr_names *names;
	const char *text;
	size_t pos;
	size_t start; /* offset of the last token, where an error is reported */
	int depth;
};

static void skip_blanks(struct parser *parser)
{
	const char *text = parser->text + parser->pos;

	while (*text == ' ' || *text == '\t' || (*text == '\n' && parser->dialect->lines))
		text++;
	parser->start = parser->pos = (size_t)(text - parser->text);
}

/*
 * Return the number of bytes at the start of `text` that are letters, digits, '_' or bytes of
 * `also`.
 */
static size_t span_word(const char *text, const char *also)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_' ||
	       (text[n] && strchr(also, text[n])))
		n++;
	return n;
}

static bool is_word(const char *word, size_t len, const char *name)
{
	return !strncmp(word, name, len) && !name[len];
}

static bool accept_byte(struct parser *parser, char byte)
{
	skip_blanks(parser);
	if (parser->text[parser->pos] != byte)
		return false;
	parser->pos++;
	return true;
}

static int expect_byte(struct parser *parser, char byte)
{
	const char *here;

	if (accept_byte(parser, byte))
		return 0;
	here = parser->text + parser->pos;
	if (*here)
		return kl_error(KL_EINVALID, "expected '%c' before '%.16s'", byte, here);
	if (byte == ',')
		return kl_error(KL_EINVALID,
				"the expression ends where ',' is expected (in a YAML list, put an "
				"expression with a comma in quotes)");
	return kl_error(KL_EINVALID, "the expression ends where '%c' is expected", byte);
}

/* Return the type that both operands of a sign must have; == and != also accept texts. */
static enum kl_expr_type taken_by(const struct sign *sign)
{
	return sign->level < LEVEL_COMPARE ? KL_EXPR_TRUTH : KL_EXPR_NUMBER;
}

static const struct sign *sign_at(struct parser *parser)
{
	const char *string;

	skip_blanks(parser);
	string = parser->text + parser->pos;
	for (size_t i = 0; i < KL_ARRAY_SIZE(signs); i++) {
		const char *text = signs[i].text;

		if (string[0] == text[0] && (!text[1] || string[1] == text[1]))
			return &signs[i];
	}
	return NULL;
}

/*
 * --- terms -----------------------------------------------------------------------------------
 */

static struct kl_expr *new_node(enum kl_expr_op op, enum kl_expr_type type, int64_t number)
{
	struct kl_expr *expr = kl_calloc(1, sizeof(*expr));

	expr->op = op;
	expr->type = type;
	expr->number = number;
	return expr;
}

/* Make a node with a copy of `text`, which is stored behind the node in the same allocation. */
static struct kl_expr *new_text(enum kl_expr_op op, enum kl_expr_type type, const char *text,
				size_t len)
{
	struct kl_expr *expr = kl_calloc(1, sizeof(*expr) + len + 1);

	expr->op = op;
	expr->type = type;
	expr->text = memcpy(expr + 1, text, len);
	return expr;
}

/* Set the position of the expression: from `at` to the current position of the parser. */
static void set_place(struct kl_expr *expr, const struct parser *parser, size_t at)
{
	expr->at = at;
	expr->len = parser->pos - at;
}

static int need_type(struct parser *parser, const struct kl_expr *expr, enum kl_expr_type want)
{
	static const char *const types[] = {
		[KL_EXPR_NUMBER] = "a number",
		[KL_EXPR_TRUTH] = "a condition",
		[KL_EXPR_TEXT] = "a text",
	};

	if (expr->type == want || expr->type == KL_EXPR_ANY)
		return 0;
	parser->start = expr->at;
	return kl_error(KL_EINVALID, "found %s where %s is expected", types[expr->type],
			types[want]);
}

/*
 * Each parser below except parse_binary() is called with *out set to NULL. It sets *out to an
 * expression that the caller frees, even after a failure.
 */
static int parse_level(struct kl_expr **out, struct parser *parser, int level, int cost);

static int too_deep(void)
{
	return kl_error(KL_EINVALID, "the expression is nested deeper than %d levels",
			KL_EXPR_MAX_DEPTH);
}

/*
 * Parse an integer, or a decimal such as 0.75. A decimal has at most six places and is stored in
 * millionths.
 */
static int parse_number(struct kl_expr **out, struct parser *parser)
{
	const char *text = parser->text + parser->pos;
	int64_t value = 0, place = 1000000;
	bool over = false, decimal;

	for (; isdigit((unsigned char)*text); text++)
		over |= __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, *text - '0', &value);
	decimal = parser->dialect->decimals && *text == '.' && isdigit((unsigned char)text[1]);
	if (decimal)
		over |= __builtin_mul_overflow(value, place, &value);
	for (text += decimal; decimal && isdigit((unsigned char)*text); text++) {
		if (!(place /= 10))
			return kl_error(KL_EINVALID, "a number has more than six decimal places");
		over |= __builtin_add_overflow(value, (*text - '0') * place, &value);
	}
	if (over)
		return kl_error(KL_EINVALID, "a number does not fit into 64 bits");
	if (parser->dialect->fact && span_word(text, ""))
		return kl_error(KL_EINVALID, "a name cannot begin with a digit");
	parser->pos = (size_t)(text - parser->text);
	*out = new_node(decimal ? KL_OP_DECIMAL : KL_OP_INT, KL_EXPR_NUMBER, value);
	return 0;
}

/* Parse a quoted text; refuse characters that would make the key of a fact ambiguous. */
static int parse_quoted(const char **text, size_t *len, struct parser *parser)
{
	const char *string = parser->text + parser->pos + 1;
	size_t n = span_word(string, ".:*+/-");

	if (!string[n])
		return kl_error(KL_EINVALID, "a quoted text is not closed");
	if (string[n] != '\'')
		return kl_error(KL_EINVALID,
				"a quoted text can contain only letters, digits and _.:*+/-");
	if (!n)
		return kl_error(KL_EINVALID, "a quoted text is empty");
	parser->pos += n + 2;
	*text = string;
	*len = n;
	return 0;
}

static int parse_text(struct kl_expr **out, struct parser *parser)
{
	const char *text;
	size_t len;
	int err = parse_quoted(&text, &len, parser);

	if (!err)
		*out = new_text(KL_OP_TEXT, KL_EXPR_TEXT, text, len);
	return err;
}

static int parse_argument(struct kl_expr **out, struct parser *parser)
{
	int err = parse_level(out, parser, LEVEL_ANY, parser->dialect->depth.bracket);

	return err < 0 ? err : need_type(parser, *out, KL_EXPR_NUMBER);
}

static int parse_function(struct kl_expr **out, struct parser *parser, enum kl_expr_op op)
{
	struct kl_expr *expr = *out = new_node(op, KL_EXPR_NUMBER, 0);
	int err;

	if ((err = expect_byte(parser, '(')) < 0 ||
	    (err = parse_argument(&expr->left, parser)) < 0 ||
	    (err = expect_byte(parser, ',')) < 0 ||
	    (err = parse_argument(&expr->right, parser)) < 0)
		return err;
	return expect_byte(parser, ')');
}

/* Parse one argument of a fact, quoted or not, and append it to the key. */
static int parse_member(struct kl_buf *key, struct parser *parser)
{
	const char *text;
	size_t len;
	int err;

	skip_blanks(parser);
	text = parser->text + parser->pos;
	if (*text == '\'') {
		if ((err = parse_quoted(&text, &len, parser)) < 0)
			return err;
	} else {
		if (!(len = span_word(text, ".")))
			return kl_error(KL_EINVALID, "expected a name before '%.16s'", text);
		parser->pos += len;
	}
	kl_buf_add(key, text, len);
	return 0;
}

static int parse_fact(struct kl_expr **out, struct parser *parser, const char *name, size_t len)
{
	KL_AUTO(kl_buf_release) struct kl_buf key = KL_BUF_INIT;
	const struct kl_expr_fact *fact = parser->dialect->fact;
	size_t args = 0;
	int err;

	kl_buf_add(&key, name, len);
	parser->pos++;
	do {
		kl_buf_addch(&key, args++ ? ',' : '(');
		if ((err = parse_member(&key, parser)) < 0)
			return err;
	} while (accept_byte(parser, ','));
	if ((err = expect_byte(parser, ')')) < 0)
		return err;
	kl_buf_addch(&key, ')');
	while (fact->name && !is_word(name, len, fact->name))
		fact++;
	if (fact->name && args != fact->args)
		return kl_error(KL_EINVALID, "%s() takes %zu name%s", fact->name, fact->args,
				fact->args == 1 ? "" : "s");
	*out = new_text(KL_OP_FACT, fact->type, key.ptr, key.len);
	return 0;
}

/* Return the index of a word in the list of names, or -1. */
static int64_t find_name(const struct parser *parser, const char *word, size_t len)
{
	for (size_t i = 0; i < parser->names->n; i++)
		if (is_word(word, len, parser->names->name[i]))
			return (int64_t)i;
	return -1;
}

/*
 * Parse a name, a fact or a function. In a dialect with a list of names, a name takes precedence
 * over a function. In a dialect with facts, a word is a function only if a bracket follows it.
 */
static int parse_word(struct kl_expr **out, struct parser *parser)
{
	bool open = parser->dialect->fact != NULL;
	const char *word = parser->text + parser->pos;
	size_t len = span_word(word, open ? "." : "");
	int64_t name = open ? -1 : find_name(parser, word, len);

	if (word[len - 1] == '.')
		return kl_error(KL_EINVALID, "a name cannot end with '.'");
	parser->pos += len;
	if (name >= 0 || (open && word[len] != '(')) {
		*out = open ? new_text(KL_OP_FACT, KL_EXPR_ANY, word, len) :
			      new_node(KL_OP_NAME, KL_EXPR_NUMBER, name);
		return 0;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(functions); i++)
		if (is_word(word, len, functions[i].name))
			return parse_function(out, parser, functions[i].op);
	if (open)
		return parse_fact(out, parser, word, len);
	return kl_error(KL_EINVALID, "'%.*s' is not %s", (int)(len > 64 ? 64 : len), word,
			parser->names->what ? parser->names->what : "a dim of the case");
}

/*
 * --- the grammar ------------------------------------------------------------------------------
 */

static int parse_unary(struct kl_expr **out, struct parser *parser)
{
	bool negative = parser->text[parser->pos++] == '-';
	enum kl_expr_type type = negative ? KL_EXPR_NUMBER : KL_EXPR_TRUTH;
	struct kl_expr *expr = *out = new_node(negative ? KL_OP_NEG : KL_OP_NOT, type, 0);
	int err = parse_level(&expr->left, parser, LEVEL_VALUE, parser->dialect->depth.sign);

	return err < 0 ? err : need_type(parser, expr->left, type);
}

static int parse_bracket(struct kl_expr **out, struct parser *parser)
{
	int err;

	/* report the bracket that exceeds the limit, not its content */
	if (parser->depth >= parser->dialect->depth.most)
		return too_deep();
	parser->pos++;
	if ((err = parse_level(out, parser, LEVEL_ANY, parser->dialect->depth.bracket)) < 0)
		return err;
	(*out)->brackets++;
	return expect_byte(parser, ')');
}

static int parse_value(struct kl_expr **out, struct parser *parser)
{
	const char *here = parser->text + parser->pos;

	if (isdigit((unsigned char)*here))
		return parse_number(out, parser);
	if (isalpha((unsigned char)*here) || *here == '_')
		return parse_word(out, parser);
	if (*here == '-' || (*here == '!' && here[1] != '='))
		return parse_unary(out, parser);
	if (*here == '(')
		return parse_bracket(out, parser);
	if (*here == '\'' && parser->dialect->texts)
		return parse_text(out, parser);
	if (!*here)
		return kl_error(KL_EINVALID, "the expression ends where a value is expected");
	return kl_error(KL_EINVALID, "expected a value before '%.16s'", here);
}

/*
 * Check the types of the operands. A text can only be compared for equality with a text or a fact.
 */
static int check_sides(struct parser *parser, const struct sign *sign, const struct kl_expr *left,
		       const struct kl_expr *right)
{
	bool texts = left->type == KL_EXPR_TEXT || right->type == KL_EXPR_TEXT;
	bool equality = sign->op == KL_OP_EQ || sign->op == KL_OP_NE;
	enum kl_expr_type want = texts && equality ? KL_EXPR_TEXT : taken_by(sign);
	int err = need_type(parser, left, want);

	return err < 0 ? err : need_type(parser, right, want);
}

/* Parse an operator and its right side. *out is the left side, and becomes the whole expression. */
static int parse_binary(struct kl_expr **out, struct parser *parser, const struct sign *sign)
{
	struct kl_expr *left = *out, *expr;
	int next = sign->level + 1, err;
	enum kl_expr_type type;

	/*
	 * in a dialect without facts, the type of the left side is known: check this type before
	 * the right side is parsed
	 */
	if (!parser->dialect->fact && (err = need_type(parser, left, taken_by(sign))) < 0)
		return err;
	type = sign->level > LEVEL_COMPARE ? KL_EXPR_NUMBER : KL_EXPR_TRUTH;
	*out = expr = new_node(sign->op, type, 0);
	expr->left = left;
	parser->pos += strlen(sign->text);
	if ((err = parse_level(&expr->right, parser, next, parser->dialect->depth.operand)) < 0 ||
	    (err = check_sides(parser, sign, left, expr->right)) < 0)
		return err;
	set_place(expr, parser, left->at);
	if (sign->level == LEVEL_COMPARE && (sign = sign_at(parser)) &&
	    sign->level == LEVEL_COMPARE)
		return kl_error(KL_EINVALID, "comparisons cannot be chained; join them with &&");
	return 0;
}

/*
 * Parse values joined by operators of at least `level` (precedence climbing). `cost` is the number
 * of levels by which these values are nested deeper than the values around them.
 */
static int parse_level(struct kl_expr **out, struct parser *parser, int level, int cost)
{
	const struct sign *sign;
	size_t at;
	int err;

	skip_blanks(parser);
	at = parser->pos;
	if (parser->depth + cost > parser->dialect->depth.most)
		return too_deep();
	parser->depth += cost;
	if ((err = parse_value(out, parser)) < 0)
		return err;
	set_place(*out, parser, at);
	while ((sign = sign_at(parser)) && sign->level >= level)
		if ((err = parse_binary(out, parser, sign)) < 0)
			return err;
	parser->depth -= cost;
	return 0;
}

static int parse_end(struct parser *parser, const struct kl_expr *top, enum kl_expr_type want)
{
	int err;

	if (parser->text[parser->pos])
		return kl_error(KL_EINVALID, "unexpected '%.16s' after the expression",
				parser->text + parser->pos);
	if ((err = need_type(parser, top, want)) < 0)
		parser->start = 0;
	return err;
}

int kl_expr_read(struct kl_expr **out, const char *text, const struct kl_expr_dialect *dialect,
		 const struct kl_expr_names *names, enum kl_expr_type want, size_t *at)
{
	KL_AUTO(kl_expr_freep) struct kl_expr *top = NULL;
	struct parser parser = { .dialect = dialect, .names = names, .text = text };
	int err;

	if (strlen(text) > dialect->longest)
		err = kl_error(KL_EINVALID, "the expression is longer than %zu bytes",
			       dialect->longest);
	else if (!(err = parse_level(&top, &parser, LEVEL_ANY, dialect->depth.bracket)))
		err = parse_end(&parser, top, want);
	if (at)
		*at = err < 0 ? parser.start : 0;
	if (!err)
		*out = kl_steal(&top);
	return err;
}

int kl_expr_parse(struct kl_expr **out, const char *text, const struct kl_expr_names *names,
		  enum kl_expr_type want, size_t *at)
{
	static const struct kl_expr_dialect exact = {
		.longest = KL_EXPR_MAX_TEXT,
		.depth = { .bracket = 1, .sign = 1, .operand = 1, .most = KL_EXPR_MAX_DEPTH },
	};

	return kl_expr_read(out, text, &exact, names, want, at);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void write_level(struct kl_buf *out, const struct kl_expr *expr, int outer);

static void write_value(struct kl_buf *out, const struct kl_expr *expr)
{
	switch (expr->op) {
	case KL_OP_INT:
		kl_buf_addf(out, "%lld", (long long)expr->number);
		break;
	case KL_OP_DECIMAL:
		kl_buf_addf(out, "%.6g", (double)expr->number / 1e6);
		break;
	case KL_OP_TEXT:
		kl_buf_addf(out, "'%s'", expr->text);
		break;
	case KL_OP_FACT:
		kl_buf_adds(out, expr->text);
		break;
	case KL_OP_NEG:
	case KL_OP_NOT:
		kl_buf_addch(out, expr->op == KL_OP_NEG ? '-' : '!');
		write_level(out, expr->left, LEVEL_VALUE);
		break;
	case KL_OP_MIN:
	case KL_OP_MAX:
	case KL_OP_CDIV:
		kl_buf_addf(out, "%s(", functions[expr->op - KL_OP_MIN].name);
		write_level(out, expr->left, LEVEL_ANY);
		kl_buf_adds(out, ", ");
		write_level(out, expr->right, LEVEL_ANY);
		kl_buf_addch(out, ')');
		break;
	default:
		KL_BUG("writing term %d", expr->op);
	}
}

static void write_sign(struct kl_buf *out, const struct sign *sign)
{
	bool tight = sign->op == KL_OP_MUL || sign->op == KL_OP_DIV;

	if (!tight)
		kl_buf_addch(out, ' ');
	kl_buf_adds(out, sign->text);
	if (!tight)
		kl_buf_addch(out, ' ');
}

static void write_level(struct kl_buf *out, const struct kl_expr *expr, int outer)
{
	const struct sign *sign;

	if (expr->op < KL_OP_ADD) {
		write_value(out, expr);
		return;
	}
	sign = &signs[expr->op - KL_OP_ADD];
	if (sign->level < outer)
		kl_buf_addch(out, '(');
	write_level(out, expr->left, sign->level + (sign->level == LEVEL_COMPARE));
	write_sign(out, sign);
	write_level(out, expr->right, sign->level + 1);
	if (sign->level < outer)
		kl_buf_addch(out, ')');
}

void kl_expr_write(struct kl_buf *out, const struct kl_expr *expr)
{
	write_level(out, expr, LEVEL_ANY);
}
