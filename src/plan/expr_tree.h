/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_EXPR_TREE_H
#define KL_PLAN_EXPR_TREE_H

#include "base/buf.h"
#include "plan/expr.h"

/*
 * expr_tree - declares the tree of a parsed expression, and the dialects of the language. Only code
 * that evaluates or compares expressions itself needs this header; plan/expr.h is enough for other
 * code.
 *
 * All dialects have the operators, functions and precedences of plan/expr.h; they differ in the
 * values. One dialect has a fixed list of names, which are all numbers. Another has facts, whose
 * names are not fixed, and can have decimals and texts:
 *
 *	fact	K    sol.dram    cap('cp.async')    stride_bytes(A, K)
 *	decimal	0.75		at most six places
 *	text	'f16'		letters, digits and _.:*+/-
 */
enum kl_expr_op {
	KL_OP_INT,
	KL_OP_DECIMAL,
	KL_OP_TEXT,
	KL_OP_NAME,
	KL_OP_FACT,
	KL_OP_NEG,
	KL_OP_NOT,
	KL_OP_MIN,
	KL_OP_MAX,
	KL_OP_CDIV,
	/* operators between two values; KL_OP_EQ to KL_OP_GT are the comparisons */
	KL_OP_ADD,
	KL_OP_SUB,
	KL_OP_MUL,
	KL_OP_DIV,
	KL_OP_MOD,
	KL_OP_EQ,
	KL_OP_NE,
	KL_OP_LE,
	KL_OP_GE,
	KL_OP_LT,
	KL_OP_GT,
	KL_OP_AND,
	KL_OP_OR,
};

struct kl_expr {
	enum kl_expr_op op;
	enum kl_expr_type type;
	size_t at, len;   /* offset and length in the text, brackets included */
	size_t brackets;  /* number of pairs of brackets around the expression */
	int64_t number;   /* INT: the number; DECIMAL: in millionths; NAME: index of the name */
	const char *text; /* TEXT; FACT: its key, "stride_bytes(A,K)"; freed with the node */
	/* operands, owned; NEG and NOT have only `left`, and values have none (NULL) */
	struct kl_expr *left, *right;
};

/*
 * A fact with a fixed type and number of arguments. All other facts can have any number of
 * arguments.
 */
struct kl_expr_fact {
	const char *name;
	size_t args;
	enum kl_expr_type type;
};

struct kl_expr_dialect {
	/*
	 * the facts with a fixed type; the last row has no name, and its type is that of all other
	 * facts; NULL if the dialect has a list of names and no facts
	 */
	const struct kl_expr_fact *fact;
	bool decimals, texts;
	bool lines;     /* a newline counts as a blank */
	size_t longest; /* maximum bytes of an expression */
	/*
	 * numbers of levels that a bracket, a sign and an operand add to the depth; `most` is the
	 * maximum depth
	 */
	struct {
		int bracket, sign, operand, most;
	} depth;
};

/** Parse as kl_expr_parse() does, in a dialect; `names` is NULL if the dialect has facts. */
int kl_expr_read(struct kl_expr **out, const char *text, const struct kl_expr_dialect *dialect,
		 const struct kl_expr_names *names, enum kl_expr_type want, size_t *at);

static inline bool kl_expr_compares(const struct kl_expr *expr)
{
	return expr->op >= KL_OP_EQ && expr->op <= KL_OP_GT;
}

/**
 * Return true if the comparison `op` holds. `order` is less than, equal to or greater than 0 if the
 * left operand is less than, equal to or greater than the right one.
 */
static inline bool kl_expr_holds(enum kl_expr_op op, int order)
{
	switch (op) {
	case KL_OP_EQ:
		return order == 0;
	case KL_OP_NE:
		return order != 0;
	case KL_OP_LE:
		return order <= 0;
	case KL_OP_GE:
		return order >= 0;
	case KL_OP_LT:
		return order < 0;
	default:
		return order > 0;
	}
}

/**
 * Compute `left op right`, where `op` is from KL_OP_MIN to KL_OP_MOD. Return NULL, or the reason
 * why there is no result: overflow or division by zero.
 */
const char *kl_expr_calculate(int64_t *out, enum kl_expr_op op, int64_t left, int64_t right);

/**
 * Append the expression as text, with the brackets that it needs. Facts are written as their keys.
 */
void kl_expr_write(struct kl_buf *out, const struct kl_expr *expr);

#endif
