/* SPDX-License-Identifier: Apache-2.0 */
#include "card/predicate.h"

#include <string.h>

#include "plan/expr_tree.h"

/*
 * --- known facts -----------------------------------------------------------------------
 */

enum value_kind { VALUE_UNKNOWN, VALUE_INT, VALUE_RATIO, VALUE_TRUTH, VALUE_TEXT };

struct value {
	enum value_kind kind;
	/* the number for VALUE_INT, millionths for VALUE_RATIO, enum kl_truth for VALUE_TRUTH */
	int64_t n;
	const char *text; /* VALUE_TEXT: borrowed */
};

/* A fact's value, with its text (if it has one) in the same allocation. */
struct fact {
	struct value value;
	char text[];
};

static void put_fact(struct kl_known *known, const char *key, struct value value)
{
	size_t n = value.text ? strlen(value.text) + 1 : 0;
	struct fact *fact = kl_malloc(sizeof(*fact) + n);

	fact->value = value;
	if (n) {
		memcpy(fact->text, value.text, n);
		fact->value.text = fact->text;
	}
	kl_map_put(&known->facts, key, fact);
}

void kl_known_release(struct kl_known *known)
{
	kl_map_release(&known->facts);
	kl_strvec_release(&known->closed);
}

void kl_known_int(struct kl_known *known, const char *key, int64_t value)
{
	put_fact(known, key, (struct value){ VALUE_INT, value, NULL });
}

void kl_known_ratio(struct kl_known *known, const char *key, int64_t ppm)
{
	put_fact(known, key, (struct value){ VALUE_RATIO, ppm, NULL });
}

void kl_known_text(struct kl_known *known, const char *key, const char *value)
{
	put_fact(known, key, (struct value){ VALUE_TEXT, 0, value });
}

void kl_known_truth(struct kl_known *known, const char *key, enum kl_truth value)
{
	enum value_kind kind = value == KL_UNKNOWN ? VALUE_UNKNOWN : VALUE_TRUTH;

	put_fact(known, key, (struct value){ kind, value, NULL });
}

void kl_known_member(struct kl_known *known, const char *function, const char *member)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("%s(%s)", function, member);

	kl_known_truth(known, key, KL_TRUE);
}

void kl_known_close(struct kl_known *known, const char *function)
{
	if (!kl_strvec_has(&known->closed, function))
		kl_strvec_push(&known->closed, function);
}

static struct value look_up(const struct kl_known *known, const char *key)
{
	const struct fact *fact = kl_map_get(&known->facts, key);
	const char *open = strchr(key, '(');

	if (fact)
		return fact->value;
	for (size_t i = 0; open && i < known->closed.n; i++) {
		const char *function = known->closed.v[i];

		if (!strncmp(function, key, open - key) && !function[open - key])
			return (struct value){ VALUE_TRUTH, KL_FALSE, NULL };
	}
	return (struct value){ 0 };
}

bool kl_known_has(const struct kl_known *known, const char *key)
{
	return look_up(known, key).kind != VALUE_UNKNOWN;
}

bool kl_known_number(int64_t *millionths, const struct kl_known *known, const char *key)
{
	struct value value = look_up(known, key);

	if (value.kind == VALUE_RATIO)
		*millionths = value.n;
	return value.kind == VALUE_RATIO ||
	       (value.kind == VALUE_INT && !__builtin_mul_overflow(value.n, 1000000, millionths));
}

static void write_value(struct kl_buf *out, const char *key, const struct value *value)
{
	kl_buf_addf(out, "%s ", key);
	if (value->kind == VALUE_INT)
		kl_buf_addf(out, "= %lld", (long long)value->n);
	else if (value->kind == VALUE_RATIO)
		kl_buf_addf(out, "= %.6g", (double)value->n / 1e6);
	else if (value->kind == VALUE_TEXT)
		kl_buf_addf(out, "= '%s'", value->text);
	else if (value->kind == VALUE_TRUTH)
		kl_buf_addf(out, "is %s", kl_truth_name(value->n));
	else
		kl_buf_adds(out, "is not known");
}

void kl_known_write(struct kl_buf *out, const struct kl_known *known)
{
	for (size_t i = 0; i < known->facts.n; i++) {
		struct value value = look_up(known, known->facts.e[i].key);

		write_value(out, known->facts.e[i].key, &value);
		kl_buf_addch(out, '\n');
	}
}

/* --- reading ----------------------------------------------------------------------------- */

int kl_predicate_parse(struct kl_predicate **out, const char *text, size_t *at)
{
	static const struct kl_expr_fact sets[] = {
		{ "cap", 1, KL_EXPR_TRUTH },
		{ "has", 1, KL_EXPR_TRUTH },
		{ "trait", 1, KL_EXPR_TRUTH },
		{ NULL, 0, KL_EXPR_ANY },
	};
	/*
	 * a pair of brackets adds six levels to the depth, because operators have six levels of
	 * precedence; a right operand adds none
	 */
	static const struct kl_expr_dialect open = {
		.fact = sets,
		.decimals = true,
		.texts = true,
		.lines = true,
		.longest = KL_PREDICATE_MAX_TEXT,
		.depth = { .bracket = 6, .sign = 1, .operand = 0, .most = 6 * KL_EXPR_MAX_DEPTH },
	};
	struct kl_expr *top;
	int err = kl_expr_read(&top, text, &open, NULL, KL_EXPR_TRUTH, at);

	if (err < 0)
		return err;
	*out = kl_malloc(sizeof(**out));
	(*out)->top = top;
	return 0;
}

void kl_predicate_free(struct kl_predicate *predicate)
{
	if (!predicate)
		return;
	kl_expr_free(predicate->top);
	free(predicate);
}

/* --- evaluating -------------------------------------------------------------------------- */

static const struct value unknown = { 0 };

static struct value truth_value(bool yes)
{
	return (struct value){ VALUE_TRUTH, yes ? KL_TRUE : KL_FALSE, NULL };
}

static bool is_number(struct value value)
{
	return value.kind == VALUE_INT || value.kind == VALUE_RATIO;
}

static struct value negate_number(struct value value)
{
	if (!is_number(value) || value.n == INT64_MIN)
		return unknown;
	value.n = -value.n;
	return value;
}

static struct value calculate_value(enum kl_expr_op op, struct value left, struct value right)
{
	struct value value = { .kind = VALUE_INT };

	if (left.kind != VALUE_INT || right.kind != VALUE_INT ||
	    kl_expr_calculate(&value.n, op, left.n, right.n))
		return unknown;
	return value;
}

/*
 * Compare two values: return a number below, equal to or above 0. For texts and truth values, only
 * equality (0) has a meaning.
 */
static int order_of(struct value left, struct value right)
{
	__int128 x = left.n, y = right.n;

	if (left.kind == VALUE_TEXT)
		return strcmp(left.text, right.text);
	if (left.kind == VALUE_INT && right.kind == VALUE_RATIO)
		x *= 1000000;
	if (right.kind == VALUE_INT && left.kind == VALUE_RATIO)
		y *= 1000000;
	return (x > y) - (x < y);
}

/*
 * Compare two values. Numbers have an order; values of any other kind are only equal or not equal.
 */
static struct value compare_values(enum kl_expr_op op, struct value left, struct value right)
{
	bool equality = op == KL_OP_EQ || op == KL_OP_NE;
	bool same_kind = left.kind == right.kind && left.kind != VALUE_UNKNOWN;

	if (!(is_number(left) && is_number(right)) && !(same_kind && equality))
		return unknown;
	return truth_value(kl_expr_holds(op, order_of(left, right)));
}

static enum kl_truth as_truth(struct value value)
{
	return value.kind == VALUE_TRUTH ? (enum kl_truth)value.n : KL_UNKNOWN;
}

static struct value deny_truth(enum kl_truth truth)
{
	return truth == KL_UNKNOWN ? unknown : truth_value(truth == KL_FALSE);
}

static struct value eval_tree(const struct kl_expr *expr, const struct kl_known *known);

/*
 * Evaluate Kleene's && or ||. One false operand of &&, or one true operand of ||, decides the
 * result.
 */
static struct value connect_truths(const struct kl_expr *expr, const struct kl_known *known)
{
	enum kl_truth decisive = expr->op == KL_OP_AND ? KL_FALSE : KL_TRUE;
	enum kl_truth left = as_truth(eval_tree(expr->left, known)), right;

	if (left == decisive)
		return truth_value(decisive == KL_TRUE);
	right = as_truth(eval_tree(expr->right, known));
	if (right == decisive || (left != KL_UNKNOWN && right != KL_UNKNOWN))
		return truth_value(right == KL_TRUE);
	return unknown;
}

static struct value eval_tree(const struct kl_expr *expr, const struct kl_known *known)
{
	struct value left, right;

	switch (expr->op) {
	case KL_OP_INT:
		return (struct value){ .kind = VALUE_INT, .n = expr->number };
	case KL_OP_DECIMAL:
		return (struct value){ .kind = VALUE_RATIO, .n = expr->number };
	case KL_OP_TEXT:
		return (struct value){ .kind = VALUE_TEXT, .text = expr->text };
	case KL_OP_FACT:
		return look_up(known, expr->text);
	case KL_OP_NEG:
		return negate_number(eval_tree(expr->left, known));
	case KL_OP_NOT:
		return deny_truth(as_truth(eval_tree(expr->left, known)));
	case KL_OP_AND:
	case KL_OP_OR:
		return connect_truths(expr, known);
	default:
		break;
	}
	left = eval_tree(expr->left, known);
	right = eval_tree(expr->right, known);
	if (kl_expr_compares(expr))
		return compare_values(expr->op, left, right);
	return calculate_value(expr->op, left, right);
}

enum kl_truth kl_predicate_eval(const struct kl_predicate *predicate, const struct kl_known *known)
{
	return as_truth(eval_tree(predicate->top, known));
}

/* --- explaining ------------------------------------------------------------------------------- */

static void collect_keys(struct kl_strvec *out, const struct kl_expr *expr)
{
	if (!expr)
		return;
	if (expr->op == KL_OP_FACT)
		kl_strvec_push(out, expr->text);
	collect_keys(out, expr->left);
	collect_keys(out, expr->right);
}

void kl_predicate_keys(struct kl_strvec *out, const struct kl_predicate *predicate)
{
	collect_keys(out, predicate->top);
	kl_strvec_uniq(out);
}

void kl_predicate_explain(struct kl_buf *out, const struct kl_predicate *predicate,
			  const struct kl_known *known)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;

	kl_predicate_keys(&names, predicate);
	for (size_t i = 0; i < names.n; i++) {
		struct value value = look_up(known, names.v[i]);

		kl_buf_adds(out, i ? ", " : "");
		write_value(out, names.v[i], &value);
	}
}

const char *kl_truth_name(enum kl_truth truth)
{
	static const char *const names[] = { "false", "true", "unknown" };

	return names[truth];
}
