/* SPDX-License-Identifier: Apache-2.0 */
/* predicate_relate - whether one predicate implies another, and what a changed one lost */
#include <string.h>

#include "card/predicate.h"
#include "plan/expr_tree.h"

/* Both sides are hostile, and pairs of parts are many: what is not shown by so many steps is not shown.
 */
#define MAX_STEPS 20000

typedef __int128 wide; /* millionths of what 64 bits hold */

static bool is_commutative(enum kl_expr_op op)
{
	return op == KL_OP_ADD || op == KL_OP_MUL || op == KL_OP_MIN || op == KL_OP_MAX || op == KL_OP_EQ ||
	       op == KL_OP_NE || op == KL_OP_AND || op == KL_OP_OR;
}

static bool same(const struct kl_expr *a, const struct kl_expr *b, int *steps)
{
	if (!a || !b)
		return a == b;
	if (a->op != b->op || a->number != b->number || !a->text != !b->text || --*steps < 0)
		return false;
	if (a->text && strcmp(a->text, b->text))
		return false;
	return (same(a->left, b->left, steps) && same(a->right, b->right, steps)) ||
	       (is_commutative(a->op) && same(a->left, b->right, steps) && same(a->right, b->left, steps));
}

/* --- comparisons with a constant ---------------------------------------------------- */

/* `subject` is compared with a number or a text: subject op value */
struct atom {
	const struct kl_expr *subject;
	enum kl_expr_op op;
	wide value;
	const char *text; /* NULL: a number */
};

static bool constant(wide *out, const struct kl_expr *e)
{
	if (e->op == KL_OP_NEG && (e->left->op == KL_OP_INT || e->left->op == KL_OP_DECIMAL)) {
		constant(out, e->left);
		*out = -*out;
		return true;
	}
	*out = e->op == KL_OP_INT ? (wide)e->number * 1000000 : e->number;
	return e->op == KL_OP_INT || e->op == KL_OP_DECIMAL;
}

static enum kl_expr_op turned(enum kl_expr_op op)
{
	switch (op) {
	case KL_OP_LT: return KL_OP_GT;
	case KL_OP_LE: return KL_OP_GE;
	case KL_OP_GT: return KL_OP_LT;
	case KL_OP_GE: return KL_OP_LE;
	default: return op;
	}
}

static bool as_atom(struct atom *out, const struct kl_expr *e)
{
	if (!kl_expr_compares(e))
		return false;
	*out = (struct atom){ .subject = e->left, .op = e->op };
	if (e->right->op == KL_OP_TEXT)
		out->text = e->right->text;
	else if (!constant(&out->value, e->right)) {
		*out = (struct atom){ .subject = e->right, .op = turned(e->op) };
		if (e->left->op == KL_OP_TEXT)
			out->text = e->left->text;
		else if (!constant(&out->value, e->left))
			return false;
	}
	return true;
}

static bool holds(wide x, const struct atom *b)
{
	return kl_expr_holds(b->op, (x > b->value) - (x < b->value));
}

/* Of one subject: does every number that satisfies a satisfy b? */
static bool bound_implies(const struct atom *a, const struct atom *b)
{
	bool up = b->op == KL_OP_GT || b->op == KL_OP_GE;

	switch (a->op) {
	case KL_OP_EQ: return holds(a->value, b);
	case KL_OP_NE: return b->op == KL_OP_NE && a->value == b->value;
	case KL_OP_GT:
	case KL_OP_GE:
		if (b->op == KL_OP_NE)
			return a->op == KL_OP_GT ? b->value <= a->value : b->value < a->value;
		return up && (a->value > b->value ||
			      (a->value == b->value && (a->op == KL_OP_GT || b->op == KL_OP_GE)));
	default:
		if (b->op == KL_OP_NE)
			return a->op == KL_OP_LT ? b->value >= a->value : b->value > a->value;
		return (b->op == KL_OP_LT || b->op == KL_OP_LE) &&
		       (a->value < b->value ||
			(a->value == b->value && (a->op == KL_OP_LT || b->op == KL_OP_LE)));
	}
}

/* X % m == 0: its modulus, else 0 */
static int64_t modulus(const struct atom *a)
{
	const struct kl_expr *s = a->subject;

	return a->op == KL_OP_EQ && !a->text && !a->value && s->op == KL_OP_MOD && s->right->op == KL_OP_INT
		       ? s->right->number
		       : 0;
}

static bool atom_implies(const struct atom *a, const struct atom *b, int *steps)
{
	int64_t m = modulus(a), k = modulus(b);

	if (k > 0 && m > 0 && same(a->subject->left, b->subject->left, steps))
		return m % k == 0;
	if (k > 0 && a->op == KL_OP_EQ && !a->text && same(a->subject, b->subject->left, steps))
		return a->value % ((wide)k * 1000000) == 0;
	if (!a->text != !b->text || !same(a->subject, b->subject, steps))
		return false;
	if (!a->text)
		return bound_implies(a, b);
	if (a->op == KL_OP_EQ)
		return !strcmp(a->text, b->text) == (b->op == KL_OP_EQ);
	return a->op == b->op && !strcmp(a->text, b->text);
}

/* --- conditions ----------------------------------------------------------------------- */

static bool implies(const struct kl_expr *a, const struct kl_expr *b, int *steps)
{
	struct atom x, y;

	if (--*steps < 0)
		return false;
	if (b->op == KL_OP_AND)
		return implies(a, b->left, steps) && implies(a, b->right, steps);
	if (a->op == KL_OP_OR)
		return implies(a->left, b, steps) && implies(a->right, b, steps);
	if (same(a, b, steps))
		return true;
	if (a->op == KL_OP_AND && (implies(a->left, b, steps) || implies(a->right, b, steps)))
		return true;
	if (b->op == KL_OP_OR)
		return implies(a, b->left, steps) || implies(a, b->right, steps);
	if (a->op == KL_OP_NOT && b->op == KL_OP_NOT)
		return implies(b->left, a->left, steps);
	return as_atom(&x, a) && as_atom(&y, b) && atom_implies(&x, &y, steps);
}

static bool follows(const struct kl_expr *a, const struct kl_expr *b)
{
	int steps = MAX_STEPS;

	return implies(a, b, &steps);
}

static void add_lost(struct kl_strvec *lost, const struct kl_expr *old,
		     const struct kl_expr *now)
{
	struct kl_buf b = KL_BUF_INIT;

	if (old->op == KL_OP_AND) {
		add_lost(lost, old->left, now);
		add_lost(lost, old->right, now);
		return;
	}
	if (follows(now, old))
		return;
	kl_expr_write(&b, old);
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
