/* SPDX-License-Identifier: Apache-2.0 */
/* domain_narrow - narrows the values of one dim by conditions, once other dims have values */
#include "base/error.h"
#include "plan/expr_tree.h"
#include "worker/pool/domain.h"

#define LARGE ((int64_t)1 << 62) /* an interval's end at or beyond ±LARGE is no limit */
#define MAX_STEP 65536           /* larger steps are left to the final test of all conditions */

struct narrowing {
	struct kl_domain_range *range;
	size_t d;
	const int64_t *dim;
	const bool *known;
	struct kl_rng *rng;
};

/*
 * Return true if every dim in the expression has a value and the expression can be computed; *out
 * is then its value.
 */
static bool value_of(int64_t *out, const struct narrowing *narrowing, const struct kl_expr *expr)
{
	bool used[KL_MAX_DIMS] = { false };

	kl_expr_uses(expr, used);
	for (size_t i = 0; i < KL_MAX_DIMS; i++)
		if (used[i] && !narrowing->known[i])
			return false;
	if (kl_expr_eval(out, expr, narrowing->dim) == 0)
		return true;
	kl_error_clear();
	return false;
}

static bool is_dim(const struct narrowing *narrowing, const struct kl_expr *expr)
{
	return expr->op == KL_OP_NAME && (size_t)expr->number == narrowing->d;
}

static int64_t clamp_number(__int128 value)
{
	return value > LARGE ? LARGE : value < -LARGE ? -LARGE : (int64_t)value;
}

static __int128 floor_div(__int128 value, __int128 by)
{
	__int128 quotient = value / by;

	return quotient * by > value ? quotient - 1 : quotient;
}

static __int128 ceil_div(__int128 value, __int128 by)
{
	return -floor_div(-value, by);
}

/* The interval in which the value of an expression must lie; an end at ±LARGE is no limit. */
struct interval {
	int64_t lo, hi;
};

static struct interval shifted(struct interval in, int64_t by)
{
	return (struct interval){
		in.lo <= -LARGE ? -LARGE : clamp_number((__int128)in.lo + by),
		in.hi >= LARGE ? LARGE : clamp_number((__int128)in.hi + by),
	};
}

static struct interval mirrored(struct interval in)
{
	return (struct interval){ -in.hi, -in.lo };
}

/* Return the interval of x for which x * `by` lies in `in`; `by` is positive. */
static struct interval divided(struct interval in, int64_t by)
{
	return (struct interval){
		in.lo <= -LARGE ? -LARGE : clamp_number(ceil_div(in.lo, by)),
		in.hi >= LARGE ? LARGE : clamp_number(floor_div(in.hi, by)),
	};
}

/*
 * Return an interval that has every x for which x / `by` lies in `in`; `by` is positive. The
 * quotient is rounded towards zero, or upwards if `up`. If `in` reaches to zero or below, the
 * interval also has some x for which this is false; the final test of all conditions rejects them.
 */
static struct interval multiplied(struct interval in, int64_t by, bool up)
{
	__int128 lo = up ? ((__int128)in.lo - 1) * by + 1 : (__int128)in.lo * by;
	__int128 hi = up ? (__int128)in.hi * by : ((__int128)in.hi + 1) * by - 1;

	return (struct interval){
		in.lo <= -LARGE || in.lo <= 0 ? -LARGE : clamp_number(lo),
		in.hi >= LARGE ? LARGE : clamp_number(hi),
	};
}

static void narrow_to(const struct narrowing *narrowing, const struct kl_expr *expr,
		      struct interval in);

/*
 * Narrow the side of a sum, product, quotient, minimum or maximum whose other side has the value
 * `by`, so that the result lies in `in`.
 */
static void narrow_side(const struct narrowing *narrowing, const struct kl_expr *expr,
			bool left_known, int64_t by, struct interval in)
{
	const struct kl_expr *open = left_known ? expr->right : expr->left;

	switch (expr->op) {
	case KL_OP_ADD:
		narrow_to(narrowing, open, shifted(in, -by));
		break;
	case KL_OP_SUB:
		narrow_to(narrowing, open,
			  left_known ? shifted(mirrored(in), by) : shifted(in, by));
		break;
	case KL_OP_MUL:
		if (by > 0)
			narrow_to(narrowing, open, divided(in, by));
		else if (by < 0)
			narrow_to(narrowing, open, divided(mirrored(in), -by));
		break;
	case KL_OP_DIV:
	case KL_OP_CDIV:
		if (!left_known && by > 0)
			narrow_to(narrowing, open, multiplied(in, by, expr->op == KL_OP_CDIV));
		break;
	case KL_OP_MIN: /* if the known side is too large, the open side must be small enough */
		narrow_to(narrowing, open, (struct interval){ in.lo, by > in.hi ? in.hi : LARGE });
		break;
	case KL_OP_MAX:
		narrow_to(narrowing, open, (struct interval){ by < in.lo ? in.lo : -LARGE, in.hi });
		break;
	default:
		break;
	}
}

static void narrow_to(const struct narrowing *narrowing, const struct kl_expr *expr,
		      struct interval in)
{
	struct kl_domain_range *range = narrowing->range;
	int64_t by;

	if (is_dim(narrowing, expr)) {
		range->lo = in.lo > range->lo ? in.lo : range->lo;
		range->hi = in.hi < range->hi ? in.hi : range->hi;
	} else if (expr->op == KL_OP_NEG) {
		narrow_to(narrowing, expr->left, mirrored(in));
	} else if (expr->op > KL_OP_NOT && !kl_expr_compares(expr) && expr->op != KL_OP_MOD) {
		if (value_of(&by, narrowing, expr->left))
			narrow_side(narrowing, expr, true, by, in);
		else if (value_of(&by, narrowing, expr->right))
			narrow_side(narrowing, expr, false, by, in);
	}
}

/* Narrow the range to values that also leave the remainder `rest` when divided by `step`. */
static void narrow_step(struct kl_domain_range *range, int64_t step, int64_t rest)
{
	int64_t value = range->rest, lcm;

	if (step < 2 || step > MAX_STEP)
		return;
	rest = (rest % step + step) % step;
	for (int64_t k = 0; k < step && value % step != rest; k++)
		value += range->step;
	if (value % step != rest) { /* no value leaves both remainders */
		range->hi = range->lo - 1;
		return;
	}
	for (lcm = range->step; lcm % step; lcm += range->step)
		;
	if (lcm > MAX_STEP)
		return;
	range->step = lcm;
	range->rest = value % lcm;
}

/* Narrow the range so that the remainder `expr` has the value `rest`. */
static void narrow_remainder(const struct narrowing *narrowing, const struct kl_expr *expr,
			     int64_t rest)
{
	const struct kl_expr *of = expr->left;
	int64_t step, shift = 0, value;

	if (is_dim(narrowing, expr->right)) {
		if (!rest && value_of(&value, narrowing, of) && value > 0)
			narrowing->range->multiple = value;
		return;
	}
	if (!value_of(&step, narrowing, expr->right))
		return;
	if ((of->op == KL_OP_ADD || of->op == KL_OP_SUB) && is_dim(narrowing, of->left) &&
	    value_of(&shift, narrowing, of->right)) {
		shift = of->op == KL_OP_ADD ? shift : -shift;
		of = of->left;
	}
	if (is_dim(narrowing, of) && step > 0)
		narrow_step(narrowing->range, step, rest - shift % step);
}

static enum kl_expr_op turned(enum kl_expr_op op)
{
	switch (op) {
	case KL_OP_LE:
		return KL_OP_GE;
	case KL_OP_GE:
		return KL_OP_LE;
	case KL_OP_LT:
		return KL_OP_GT;
	case KL_OP_GT:
		return KL_OP_LT;
	default:
		return op;
	}
}

static void narrow_comparison(const struct narrowing *narrowing, const struct kl_expr *expr)
{
	const struct kl_expr *open = expr->left;
	enum kl_expr_op op = expr->op;
	struct interval in = { -LARGE, LARGE };
	int64_t value;

	if (value_of(&value, narrowing, expr->left)) {
		open = expr->right;
		op = turned(op);
	} else if (!value_of(&value, narrowing, expr->right)) {
		return;
	}
	if (op == KL_OP_EQ && open->op == KL_OP_MOD) {
		narrow_remainder(narrowing, open, value);
		return;
	}
	if (op == KL_OP_EQ || op == KL_OP_GE || op == KL_OP_GT)
		in.lo = clamp_number((__int128)value + (op == KL_OP_GT));
	if (op == KL_OP_EQ || op == KL_OP_LE || op == KL_OP_LT)
		in.hi = clamp_number((__int128)value - (op == KL_OP_LT));
	narrow_to(narrowing, open, in);
}

static void narrow_condition(const struct narrowing *narrowing, const struct kl_expr *expr)
{
	int64_t value;

	if (expr->op == KL_OP_AND) {
		narrow_condition(narrowing, expr->left);
		narrow_condition(narrowing, expr->right);
	} else if (expr->op == KL_OP_OR) {
		/*
		 * set `value` to 2 if the condition holds already, to 1 to narrow by its right side
		 * or to 0 to narrow by its left side
		 */
		if (value_of(&value, narrowing, expr->left))
			value = value ? 2 : 1;
		else if (value_of(&value, narrowing, expr->right))
			value = value ? 2 : 0;
		else
			value = (int64_t)kl_rng_below(narrowing->rng, 2);
		if (value < 2)
			narrow_condition(narrowing, value ? expr->right : expr->left);
	} else if (kl_expr_compares(expr)) {
		narrow_comparison(narrowing, expr);
	}
}

bool kl_domain_narrow(struct kl_domain_range *range, struct kl_expr *const *condition,
		      size_t ncondition, size_t d, const int64_t *dim, const bool *known,
		      struct kl_rng *rng)
{
	const struct narrowing narrowing = {
		.range = range, .d = d, .dim = dim, .known = known, .rng = rng
	};

	for (size_t i = 0; i < ncondition; i++)
		narrow_condition(&narrowing, condition[i]);
	return range->lo <= range->hi;
}
