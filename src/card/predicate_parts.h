/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_PREDICATE_PARTS_H
#define KL_CARD_PREDICATE_PARTS_H

#include "card/predicate.h"

/* predicate_parts - a parsed predicate, for the files that read it. Inside src/card only. */
enum kl_pred_op {
	OP_INT, OP_RATIO, OP_TEXT, OP_FACT,
	OP_NEG, OP_NOT,
	OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD, OP_MIN, OP_MAX, OP_CDIV,
	OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_AND, OP_OR,
};

struct kl_pred_expr {
	enum kl_pred_op op;
	int64_t n;		/* OP_INT; OP_RATIO: millionths */
	char *text;		/* OP_TEXT; OP_FACT: its key */
	struct kl_pred_expr *a, *b;
};

struct kl_predicate { struct kl_pred_expr *top; };

#endif
