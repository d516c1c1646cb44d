/* SPDX-License-Identifier: Apache-2.0 */
/* predicate_relate - whether one predicate implies another, and what a changed one lost */
#include <string.h>

#include "card/predicate_parts.h"

/* Both sides are hostile, and pairs of parts are many: what is not shown by so many steps is not shown.
 */
#define MAX_STEPS 20000

typedef __int128 wide; /* millionths of what 64 bits hold */

static bool is_commutative(enum kl_pred_op op)
{
	return op == OP_ADD || op == OP_MUL || op == OP_MIN || op == OP_MAX || op == OP_EQ ||
	       op == OP_NE || op == OP_AND || op == OP_OR;
}

static bool same(const struct kl_pred_expr *a, const struct kl_pred_expr *b, int *steps)
{
	if (!a || !b)
		return a == b;
	if (a->op != b->op || a->n != b->n || !a->text != !b->text || --*steps < 0)
		return false;
	if (a->text && strcmp(a->text, b->text))
		return false;
	return (same(a->a, b->a, steps) && same(a->b, b->b, steps)) ||
	       (is_commutative(a->op) && same(a->a, b->b, steps) && same(a->b, b->a, steps));
}

/* --- comparisons with a constant ---------------------------------------------------- */

/* `subject` is compared with a number or a text: subject op value */
struct atom {
	const struct kl_pred_expr *subject;
	enum kl_pred_op op;
	wide value;
	const char *text; /* NULL: a number */
};

static bool constant(wide *out, const struct kl_pred_expr *e)
{
	if (e->op == OP_NEG && (e->a->op == OP_INT || e->a->op == OP_RATIO)) {
		constant(out, e->a);
		*out = -*out;
		return true;
	}
	*out = e->op == OP_INT ? (wide)e->n * 1000000 : e->n;
	return e->op == OP_INT || e->op == OP_RATIO;
}

static enum kl_pred_op turned(enum kl_pred_op op)
{
	switch (op) {
	case OP_LT: return OP_GT;
	case OP_LE: return OP_GE;
	case OP_GT: return OP_LT;
	case OP_GE: return OP_LE;
	default: return op;
	}
}

static bool as_atom(struct atom *out, const struct kl_pred_expr *e)
{
	if (e->op < OP_EQ || e->op > OP_GE)
		return false;
	*out = (struct atom){ .subject = e->a, .op = e->op };
	if (e->b->op == OP_TEXT)
		out->text = e->b->text;
	else if (!constant(&out->value, e->b)) {
		*out = (struct atom){ .subject = e->b, .op = turned(e->op) };
		if (e->a->op == OP_TEXT)
			out->text = e->a->text;
		else if (!constant(&out->value, e->a))
			return false;
	}
	return true;
}

static bool holds(wide x, const struct atom *b)
{
	switch (b->op) {
	case OP_EQ: return x == b->value;
	case OP_NE: return x != b->value;
	case OP_LT: return x < b->value;
	case OP_LE: return x <= b->value;
	case OP_GT: return x > b->value;
	default: return x >= b->value;
	}
}

/* Of one subject: does every number that satisfies a satisfy b? */
static bool bound_implies(const struct atom *a, const struct atom *b)
{
	bool up = b->op == OP_GT || b->op == OP_GE;

	switch (a->op) {
	case OP_EQ: return holds(a->value, b);
	case OP_NE: return b->op == OP_NE && a->value == b->value;
	case OP_GT:
	case OP_GE:
		if (b->op == OP_NE)
			return a->op == OP_GT ? b->value <= a->value : b->value < a->value;
		return up && (a->value > b->value ||
			      (a->value == b->value && (a->op == OP_GT || b->op == OP_GE)));
	default:
		if (b->op == OP_NE)
			return a->op == OP_LT ? b->value >= a->value : b->value > a->value;
		return (b->op == OP_LT || b->op == OP_LE) &&
		       (a->value < b->value ||
			(a->value == b->value && (a->op == OP_LT || b->op == OP_LE)));
	}
}

/* X % m == 0: its modulus, else 0 */
static int64_t modulus(const struct atom *a)
{
	const struct kl_pred_expr *s = a->subject;

	return a->op == OP_EQ && !a->text && !a->value && s->op == OP_MOD && s->b->op == OP_INT
		       ? s->b->n
		       : 0;
}

static bool atom_implies(const struct atom *a, const struct atom *b, int *steps)
{
	int64_t m = modulus(a), k = modulus(b);

	if (k > 0 && m > 0 && same(a->subject->a, b->subject->a, steps))
		return m % k == 0;
	if (k > 0 && a->op == OP_EQ && !a->text && same(a->subject, b->subject->a, steps))
		return a->value % ((wide)k * 1000000) == 0;
	if (!a->text != !b->text || !same(a->subject, b->subject, steps))
		return false;
	if (!a->text)
		return bound_implies(a, b);
	if (a->op == OP_EQ)
		return !strcmp(a->text, b->text) == (b->op == OP_EQ);
	return a->op == b->op && !strcmp(a->text, b->text);
}

/* --- conditions ----------------------------------------------------------------------- */

static bool implies(const struct kl_pred_expr *a, const struct kl_pred_expr *b, int *steps)
{
	struct atom x, y;

	if (--*steps < 0)
		return false;
	if (b->op == OP_AND)
		return implies(a, b->a, steps) && implies(a, b->b, steps);
	if (a->op == OP_OR)
		return implies(a->a, b, steps) && implies(a->b, b, steps);
	if (same(a, b, steps))
		return true;
	if (a->op == OP_AND && (implies(a->a, b, steps) || implies(a->b, b, steps)))
		return true;
	if (b->op == OP_OR)
		return implies(a, b->a, steps) || implies(a, b->b, steps);
	if (a->op == OP_NOT && b->op == OP_NOT)
		return implies(b->a, a->a, steps);
	return as_atom(&x, a) && as_atom(&y, b) && atom_implies(&x, &y, steps);
}

static bool follows(const struct kl_pred_expr *a, const struct kl_pred_expr *b)
{
	int steps = MAX_STEPS;

	return implies(a, b, &steps);
}

/* --- as text ----------------------------------------------------------------------------- */

static const char *sign(enum kl_pred_op op)
{
	static const char *const signs[] = {
		[OP_ADD] = " + ", [OP_SUB] = " - ", [OP_MUL] = "*",   [OP_DIV] = "/",
		[OP_MOD] = " % ", [OP_EQ] = " == ", [OP_NE] = " != ", [OP_LT] = " < ",
		[OP_LE] = " <= ", [OP_GT] = " > ",  [OP_GE] = " >= ", [OP_AND] = " && ",
		[OP_OR] = " || ",
	};

	return signs[op];
}

static int level(enum kl_pred_op op)
{
	return op == OP_OR				      ? 1
	       : op == OP_AND				      ? 2
	       : op >= OP_EQ				      ? 3
	       : op == OP_ADD || op == OP_SUB		      ? 4
	       : op == OP_MUL || op == OP_DIV || op == OP_MOD ? 5
							      : 6;
}

static void write(struct kl_buf *out, const struct kl_pred_expr *e, int outer)
{
	static const char *const calls[] = { [OP_MIN] = "min", [OP_MAX] = "max", [OP_CDIV] = "cdiv" };
	int own = level(e->op);
	bool brackets = own < outer;

	switch (e->op) {
	case OP_INT: kl_buf_addf(out, "%lld", (long long)e->n); return;
	case OP_RATIO: kl_buf_addf(out, "%.6g", (double)e->n / 1e6); return;
	case OP_TEXT: kl_buf_addf(out, "'%s'", e->text); return;
	case OP_FACT: kl_buf_adds(out, e->text); return;
	case OP_NEG:
	case OP_NOT:
		kl_buf_addch(out, e->op == OP_NEG ? '-' : '!');
		write(out, e->a, 6);
		return;
	case OP_MIN:
	case OP_MAX:
	case OP_CDIV:
		kl_buf_addf(out, "%s(", calls[e->op]);
		write(out, e->a, 0);
		kl_buf_adds(out, ", ");
		write(out, e->b, 0);
		kl_buf_addch(out, ')');
		return;
	default: break;
	}
	if (brackets)
		kl_buf_addch(out, '(');
	write(out, e->a, own == 3 ? 4 : own);
	kl_buf_adds(out, sign(e->op));
	write(out, e->b, own + 1);
	if (brackets)
		kl_buf_addch(out, ')');
}

static void add_lost(struct kl_strvec *lost, const struct kl_pred_expr *old,
		     const struct kl_pred_expr *now)
{
	struct kl_buf b = KL_BUF_INIT;

	if (old->op == OP_AND) {
		add_lost(lost, old->a, now);
		add_lost(lost, old->b, now);
		return;
	}
	if (follows(now, old))
		return;
	write(&b, old, 0);
	kl_strvec_take(lost, kl_buf_detach(&b));
}

enum kl_relation kl_predicate_relation(const struct kl_predicate *old, const struct kl_predicate *now,
				       struct kl_strvec *lost)
{
	bool weaker = follows(old->top, now->top), stronger = follows(now->top, old->top);

	if (lost && !stronger)
		add_lost(lost, old->top, now->top);
	return weaker && stronger ? KL_RELATION_SAME
	       : stronger	  ? KL_RELATION_STRONGER
	       : weaker		  ? KL_RELATION_WEAKER
				  : KL_RELATION_OTHER;
}
