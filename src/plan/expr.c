/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "plan/expr_tree.h"

void kl_expr_free(struct kl_expr *expr)
{
	if (!expr)
		return;
	kl_expr_free(expr->left);
	kl_expr_free(expr->right);
	free(expr);
}

void kl_expr_uses(const struct kl_expr *expr, bool *used)
{
	if (!expr)
		return;
	if (expr->op == KL_OP_NAME)
		used[expr->number] = true;
	kl_expr_uses(expr->left, used);
	kl_expr_uses(expr->right, used);
}

static const char *divide_numbers(int64_t *out, enum kl_expr_op op, int64_t left, int64_t right)
{
	if (!right)
		return "division by zero";
	if (left == INT64_MIN && right == -1)
		return "overflow beyond 64 bits";
	*out = op == KL_OP_MOD ? left % right : left / right;
	/* cdiv rounds up: add one if the division truncated a positive quotient */
	if (op == KL_OP_CDIV && left % right && (left < 0) == (right < 0))
		*out += 1;
	return NULL;
}

const char *kl_expr_calculate(int64_t *out, enum kl_expr_op op, int64_t left, int64_t right)
{
	bool over = false;

	switch (op) {
	case KL_OP_ADD:
		over = __builtin_add_overflow(left, right, out);
		break;
	case KL_OP_SUB:
		over = __builtin_sub_overflow(left, right, out);
		break;
	case KL_OP_MUL:
		over = __builtin_mul_overflow(left, right, out);
		break;
	case KL_OP_MIN:
		*out = left < right ? left : right;
		break;
	case KL_OP_MAX:
		*out = left > right ? left : right;
		break;
	case KL_OP_DIV:
	case KL_OP_MOD:
	case KL_OP_CDIV:
		return divide_numbers(out, op, left, right);
	default:
		KL_BUG("expression sign %d", op);
	}
	return over ? "overflow beyond 64 bits" : NULL;
}

static int need_value(const char *why_none)
{
	return why_none ? kl_error(KL_EINVALID, "%s", why_none) : 0;
}

int kl_expr_eval(int64_t *out, const struct kl_expr *expr, const int64_t *value)
{
	int64_t left = 0, right = 0;
	int err;

	if (expr->op == KL_OP_INT || expr->op == KL_OP_NAME) {
		*out = expr->op == KL_OP_INT ? expr->number : value[expr->number];
		return 0;
	}
	if (expr->op < KL_OP_NEG)
		KL_BUG("an exact value of term %d", expr->op);
	if ((err = kl_expr_eval(&left, expr->left, value)) < 0)
		return err;
	if (expr->op == KL_OP_NEG)
		return need_value(kl_expr_calculate(out, KL_OP_SUB, 0, left));
	if (expr->op == KL_OP_NOT) {
		*out = !left;
		return 0;
	}
	if ((expr->op == KL_OP_AND && !left) || (expr->op == KL_OP_OR && left)) {
		*out = left;
		return 0;
	}
	if ((err = kl_expr_eval(&right, expr->right, value)) < 0)
		return err;
	if (expr->op < KL_OP_EQ)
		return need_value(kl_expr_calculate(out, expr->op, left, right));
	*out = right;
	if (kl_expr_compares(expr))
		*out = kl_expr_holds(expr->op, (left > right) - (left < right));
	return 0;
}
