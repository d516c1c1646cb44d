/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_LOOP_H
#define KL_REWRITE_LOOP_H

#include "base/vec.h"
#include "rewrite/source/affine.h"
#include "rewrite/source/cvar.h"

/*
 * loop - finds counted loops in C or CUDA code, and the variables that their bodies read and write.
 *
 * A loop is found only if it surely means "for (c = from; c < bound; c += step)" or, as the head of
 * an unrolled loop, "for (c = from; c + step <= bound; c += step)": nothing in its body changes the
 * counter or the bound or leaves the loop, and the body has no directives and no macros except
 * constants. The body is read separately, as statements (kl_loop_body()) and accesses
 * (kl_accesses_read()); both fail if the code has something that they do not know. Loops are found
 * by their code, never by the names that a project uses.
 */
struct kl_loop {
	size_t first, last;           /* tokens from "for" to the end of the body */
	size_t body_first, body_last; /* tokens of the body, without its braces */
	size_t from_first, from_last; /* tokens of the initial value */
	size_t bound_first, bound_last;
	char *counter;
	const char *type; /* type of the counter (cvar.h) */
	bool declares;    /* the loop declares its counter */
	/*
	 * the counter is only used in loops that declare or set it, so that its value after a loop
	 * does not matter
	 */
	bool owns;
	bool braces;   /* the body is in braces */
	bool hinted;   /* a directive stands before the loop */
	bool parallel; /* that directive of OpenMP lets threads share the rounds */
	int64_t step;
	int parent; /* index of the loop around it, in the same function; -1 if none was found */
	bool innermost; /* no loop of any kind is in its body */
	/*
	 * the loop runs the rounds that an unrolled loop left ("i = n / 4 * 4"), or is inside such
	 * a loop
	 */
	bool remainder;
	bool from_zero; /* the initial value is the constant 0 */
};

struct kl_loops {
	const struct kl_ctokens *tokens; /* borrowed */
	struct kl_cvars vars;
	struct kl_strvec macros; /* names of macros that are not constants */
	struct kl_loop *v; /* in the order of the text; a loop comes before the loops in its body */
	size_t n, alloc;
};

/** Find the loops of all functions. The caller releases `out`. */
void kl_loops_find(struct kl_loops *out, const struct kl_ctokens *tokens);
void kl_loops_release(struct kl_loops *loops);
/** Remove the loops of the functions that are not marked in `kept`, with an element for each. */
void kl_loops_keep(struct kl_loops *loops, const bool *kept);
/** Check that an assignment operator, "++" or "--" begins at token `i`. */
bool kl_loop_is_update(const struct kl_ctokens *tokens, size_t i);
/** Check that a '&' before token `i` takes its address: not "a & b" or "a && b". */
bool kl_loop_takes_address(const struct kl_ctokens *tokens, size_t i);
/** Check that tokens first ... last assign to `name`, or take its address. */
bool kl_loop_assigns(const struct kl_ctokens *tokens, size_t first, size_t last, const char *name);

/*
 * --- statements -------------------------------------------------------------------------------
 */

enum kl_cstmt_kind {
	KL_CSTMT_DECLARE, /* "type name = value;" */
	KL_CSTMT_ASSIGN,  /* "target = value;", also with "+=" and the like */
	KL_CSTMT_LOOP,    /* a loop that was found */
};

struct kl_cstmt {
	enum kl_cstmt_kind kind;
	size_t first, last; /* tokens of the statement, with the ';' */
	size_t name; /* of DECLARE: token of the name; of ASSIGN: first token of the target */
	size_t target_last; /* of ASSIGN: last token of the target */
	char op;            /* of ASSIGN: '=', or the operator before the '=' */
	size_t value_first, value_last;
	const struct kl_loop *loop; /* of LOOP */
};

struct kl_cstmts {
	struct kl_cstmt *v;
	size_t n, alloc;
};

/**
 * Read the statements of a loop's body. Return false if it has a statement of another kind. The
 * caller releases `out` in either case.
 */
bool kl_loop_body(struct kl_cstmts *out, const struct kl_loops *loops, const struct kl_loop *loop);
void kl_cstmts_release(struct kl_cstmts *stmts);

/* --- accesses --------------------------------------------------------------------------------- */

/** An element of an array that is read or written. */
struct kl_access {
	size_t first, last; /* tokens of "a[i]" */
	size_t index_first, index_last;
	const char *type; /* of the element */
	/*
	 * the array that the address begins at, a parameter, a local array or allocated memory,
	 * also if it is reached through local pointers; the index is counted from there, in
	 * elements
	 */
	const struct kl_cvar *root;
	struct kl_affine index;
	bool read, write;
	bool accumulates; /* the element is read and written by "+=" */
};

struct kl_accesses {
	struct kl_access *v;
	size_t n, alloc;
};

/**
 * Append the accesses of all statements, also in loops. Return false if an expression may have side
 * effects, or the place of an element is not known.
 */
bool kl_accesses_read(struct kl_accesses *out, const struct kl_loops *loops,
		      const struct kl_cstmts *stmts);
void kl_accesses_release(struct kl_accesses *accesses);

/** Check that a declared or assigned scalar is the sum of a reduction "s += value". */
bool kl_cstmt_is_sum(const struct kl_loops *loops, const struct kl_cstmt *stmt);

#endif
