/* SPDX-License-Identifier: Apache-2.0 */
/* predicate_relate - decides whether one predicate implies another, and lists lost conjuncts */
#include <string.h>

#include "card/predicate.h"
#include "plan/expr_tree.h"

/*
 * maximum number of steps of a comparison; two untrusted texts can have very many pairs of parts to
 * compare
 */
#define MAX_STEPS 20000

typedef __int128 wide; /* holds the millionths of any 64-bit number */

static bool is_commutative(enum kl_expr_op op)
{
	return op == KL_OP_ADD || op == KL_OP_MUL || op == KL_OP_MIN || op == KL_OP_MAX ||
	       op == KL_OP_EQ || op == KL_OP_NE || op == KL_OP_AND || op == KL_OP_OR;
}

static bool same_tree(const struct kl_expr *one, const struct kl_expr *other, int *steps)
{
	if (!one || !other)
		return one == other;
	if (one->op != other->op || one->number != other->number || --*steps < 0)
		return false;
	if (one->text && strcmp(one->text, other->text))
		return false;
	if (same_tree(one->left, other->left, steps) && same_tree(one->right, other->right, steps))
		return true;
	return is_commutative(one->op) && same_tree(one->left, other->right, steps) &&
	       same_tree(one->right, other->left, steps);
}

/* --- comparisons with a constant ---------------------------------------------------- */

/* Comparison of an expression with a constant: `subject` `op` `value`. */
struct atom {
	const struct kl_expr *subject;
	enum kl_expr_op op;
	wide value;
	/* the constant if it is a text; NULL if the constant is the number `value` */
	const char *text;
};

static bool read_constant(wide *out, const struct kl_expr *expr)
{
	bool negative = expr->op == KL_OP_NEG;

	if (negative)
		expr = expr->left;
	*out = (wide)expr->number * (expr->op == KL_OP_INT ? 1000000 : 1) * (negative ? -1 : 1);
	return expr->op == KL_OP_INT || expr->op == KL_OP_DECIMAL;
}

static enum kl_expr_op mirror_op(enum kl_expr_op op)
{
	switch (op) {
	case KL_OP_LT:
		return KL_OP_GT;
	case KL_OP_LE:
		return KL_OP_GE;
	case KL_OP_GT:
		return KL_OP_LT;
	case KL_OP_GE:
		return KL_OP_LE;
	default:
		return op;
	}
}

static bool set_atom(struct atom *out, const struct kl_expr *subject, enum kl_expr_op op,
		     const struct kl_expr *value)
{
	*out = (struct atom){ .subject = subject, .op = op, .text = value->text };
	return value->op == KL_OP_TEXT || read_constant(&out->value, value);
}

static bool as_atom(struct atom *out, const struct kl_expr *expr)
{
	if (!kl_expr_compares(expr))
		return false;
	return set_atom(out, expr->left, expr->op, expr->right) ||
	       set_atom(out, expr->right, mirror_op(expr->op), expr->left);
}

static bool holds_at(wide number, const struct atom *atom)
{
	return kl_expr_holds(atom->op, (number > atom->value) - (number < atom->value));
}

/* Check that every number that satisfies `from` also satisfies `to`. Both have the same subject. */
static bool bound_implies(const struct atom *from, const struct atom *to)
{
	bool from_up = from->op == KL_OP_GT || from->op == KL_OP_GE;
	bool to_up = to->op == KL_OP_GT || to->op == KL_OP_GE;
	bool from_open = from->op == KL_OP_GT || from->op == KL_OP_LT;

	if (from->op == KL_OP_EQ)
		return holds_at(from->value, to);
	if (to->op == KL_OP_NE)
		return !holds_at(to->value, from);
	if (from->op == KL_OP_NE || to->op == KL_OP_EQ || from_up != to_up)
		return false;
	/* both are bounds in the same direction */
	return holds_at(from->value, to) || (from_open && from->value == to->value);
}

/* Return the modulus m if the atom has the form X % m == 0; otherwise 0. */
static int64_t modulus_of(const struct atom *atom)
{
	const struct kl_expr *expr = atom->subject;
	bool divides = atom->op == KL_OP_EQ && !atom->text && !atom->value &&
		       expr->op == KL_OP_MOD && expr->right->op == KL_OP_INT;

	return divides ? expr->right->number : 0;
}

static bool atom_implies(const struct atom *from, const struct atom *to, int *steps)
{
	int64_t from_modulus = modulus_of(from), to_modulus = modulus_of(to);

	if (to_modulus > 0 && from_modulus > 0 &&
	    same_tree(from->subject->left, to->subject->left, steps))
		return from_modulus % to_modulus == 0;
	if (to_modulus > 0 && from->op == KL_OP_EQ && !from->text &&
	    same_tree(from->subject, to->subject->left, steps))
		return from->value % ((wide)to_modulus * 1000000) == 0;
	if (!from->text != !to->text || !same_tree(from->subject, to->subject, steps))
		return false;
	if (!from->text)
		return bound_implies(from, to);
	if (from->op == KL_OP_EQ)
		return !strcmp(from->text, to->text) == (to->op == KL_OP_EQ);
	return from->op == to->op && !strcmp(from->text, to->text);
}

/* --- conditions ----------------------------------------------------------------------- */

static bool tree_implies(const struct kl_expr *from, const struct kl_expr *to, int *steps)
{
	struct atom from_atom, to_atom;

	if (--*steps < 0)
		return false;
	if (to->op == KL_OP_AND)
		return tree_implies(from, to->left, steps) && tree_implies(from, to->right, steps);
	if (from->op == KL_OP_OR)
		return tree_implies(from->left, to, steps) && tree_implies(from->right, to, steps);
	if (same_tree(from, to, steps))
		return true;
	if (from->op == KL_OP_AND &&
	    (tree_implies(from->left, to, steps) || tree_implies(from->right, to, steps)))
		return true;
	if (to->op == KL_OP_OR)
		return tree_implies(from, to->left, steps) || tree_implies(from, to->right, steps);
	if (from->op == KL_OP_NOT && to->op == KL_OP_NOT)
		return tree_implies(to->left, from->left, steps);
	return as_atom(&from_atom, from) && as_atom(&to_atom, to) &&
	       atom_implies(&from_atom, &to_atom, steps);
}

static bool follows_from(const struct kl_expr *to, const struct kl_expr *from)
{
	int steps = MAX_STEPS;

	return tree_implies(from, to, &steps);
}

static void add_lost(struct kl_strvec *lost, const struct kl_expr *old, const struct kl_expr *now)
{
	struct kl_buf buf = KL_BUF_INIT;

	if (old->op == KL_OP_AND) {
		add_lost(lost, old->left, now);
		add_lost(lost, old->right, now);
		return;
	}
	if (follows_from(old, now))
		return;
	kl_expr_write(&buf, old);
	kl_strvec_take(lost, kl_buf_detach(&buf));
}

enum kl_relation kl_predicate_relation(const struct kl_predicate *old,
				       const struct kl_predicate *now, struct kl_strvec *lost)
{
	bool weaker = follows_from(now->top, old->top);
	bool stronger = follows_from(old->top, now->top);

	if (lost && !stronger)
		add_lost(lost, old->top, now->top);
	return weaker && stronger ? KL_RELATION_SAME :
	       stronger           ? KL_RELATION_STRONGER :
	       weaker             ? KL_RELATION_WEAKER :
				    KL_RELATION_OTHER;
}
