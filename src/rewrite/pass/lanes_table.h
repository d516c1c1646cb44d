/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_LANES_TABLE_H
#define KL_REWRITE_LANES_TABLE_H

#include <stddef.h>

/* lanes_table - what each vector intrinsic does, as C. Private to src/rewrite/pass. */

/* A suffix of intrinsics: the type of the elements. */
struct kl_lane_kind {
	const char *suffix; /* "ps" */
	const char *array;  /* of the union: "f32" */
	const char *type;   /* of a parameter that is an element: "float" */
	int bits;
};

/*
 * The functions of one operation. In `each` and `code`, '@' is the array of the kind, ".%" the
 * array of unsigned numbers of that size, '#' the number of elements. Parameters are named a, b,
 * c ...; the result is r. A letter of `params` or `result` is a type: v vector, h one of half the width, w
 * one of twice the width, x one of 128 bits, e element, p address to read, P address to write, n
 * int, m mask, q long long, f float, d double, 0 nothing.
 */
struct kl_lane_row {
	const char *op;    /* "add": the part of the name before the suffix */
	const char *kinds; /* suffixes, separated by blanks; "" if the operation has none */
	int width;         /* in bits; 0: any */
	const char *params;
	char result;
	const char *each; /* a statement for each element i; NULL if there is none */
	const char *code; /* the statements after it; NULL if there are none */
	/* 1 if the parameters are the elements in order, -1 if in reverse order */
	int setter;
};

extern const struct kl_lane_row kl_lane_rows[];
extern const size_t kl_lane_rows_n;

/* Find a kind by its suffix, or NULL. */
const struct kl_lane_kind *kl_lane_kind_find(const char *suffix);

#endif
