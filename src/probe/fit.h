/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_FIT_H
#define KL_PROBE_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/*
 * fit - finds the smallest condition that separates failing points from passing ones.
 *
 * A condition is a conjunction of clauses over the quantities of a point, such as
 * extents and pitches:
 *
 *	extent(cols) % 8 == 0, extent(rows) >= 4, extent(cols) <= extent(reduction),
 *	extent(cols) < 16 || extent(cols) % 8 == 0, values != 'denormal'
 *
 * No clause is false at a point where the kernel passes (but see `loose`), and each is false at
 * some point where it fails. Of the clauses that are false at the most failing points, the
 * simplest is taken first: extents before bytes, remainders before bounds, small constants before
 * large ones. Clauses that chance can explain are left out. If failures are left then, a clause
 * of alternatives is sought: `extent(reduction) <= 256 || extent(rows) <= 5`, each false at all
 * of these failures, and together true wherever the kernel passes.
 *
 *	kl_fit_table_add(&table, "extent(cols)", KL_FIT_EXTENT);	all quantities, then
 *	kl_fit_table_row(&table, value, pass);			a row for each point
 *	kl_fit_find(&fit, &table, NULL);
 *	kl_fit_check(&right, &n, &table, seed);		fit one half, predict the other
 */
enum kl_fit_kind {
	KL_FIT_EXTENT, /* an extent, which can also be compared with other extents */
	KL_FIT_BYTES,  /* a size that follows from extents: a pitch, a number of elements */
	/*
	 * a power of two that divides an address; only remainders are sought, and each must be
	 * shown by two rows that differ only in addresses
	 */
	KL_FIT_ALIGN,
	KL_FIT_FLAG, /* 1 or 0; `name` is the condition under which it is 0 */
};

struct kl_fit_table {
	struct kl_strvec name;
	enum kl_fit_kind *kind;
	const int64_t *divisor; /* divisors to try besides the usual ones; borrowed */
	size_t ndivisor;
	int64_t *value; /* name.n values for each row */
	bool *pass;
	/*
	 * loose[row] is true if the row's quantities of kind KL_FIT_ALIGN are the least of several
	 * calls, of which some may not have been made; then a pass there does not refute a clause
	 */
	bool *loose;
	size_t n, kind_alloc, value_alloc, pass_alloc, loose_alloc;
};

/** Add a quantity, before any row. */
void kl_fit_table_add(struct kl_fit_table *table, const char *name, enum kl_fit_kind kind);
void kl_fit_table_row(struct kl_fit_table *table, const int64_t *value, bool pass);
/** Mark the last row as loose. */
void kl_fit_table_loosen(struct kl_fit_table *table);
void kl_fit_table_release(struct kl_fit_table *table);

enum kl_fit_form {
	KL_FIT_MOD,
	KL_FIT_LEAST,
	KL_FIT_MOST,
	KL_FIT_ORDER,
	KL_FIT_TAIL,
	KL_FIT_ZERO,
	KL_FIT_ANY,
};

/* One alternative of KL_FIT_ANY: KL_FIT_MOD, KL_FIT_LEAST or KL_FIT_MOST. */
struct kl_fit_atom {
	enum kl_fit_form form;
	size_t quantity;
	int64_t bound;
};
#define KL_FIT_ATOMS 3

struct kl_fit_clause {
	enum kl_fit_form form;
	size_t quantity, other;                /* indices of quantities; `other` of KL_FIT_ORDER */
	int64_t bound;                         /* of KL_FIT_MOD and KL_FIT_TAIL: the divisor */
	int64_t from;                          /* of KL_FIT_TAIL: the divisor counts from here on */
	struct kl_fit_atom atom[KL_FIT_ATOMS]; /* of KL_FIT_ANY */
	size_t natom;
	char *text; /* as a predicate (card/predicate.h) */
	char *same; /* another clause, of another quantity, that is false at the same rows; or NULL */
	size_t fails;  /* number of failing rows where the clause is false */
	size_t passes; /* number of passing rows where it is true */
	/*
	 * rows that witness the clause: the kernel fails at the first, where this clause alone is
	 * false if there is such a row, and passes at the other, which differs as little as
	 * possible
	 */
	size_t fail_row, pass_row;
};

struct kl_fit {
	struct kl_fit_clause *v;
	size_t n, alloc;
	size_t fails, passes; /* number of rows */
	size_t unexplained;   /* number of failing rows where no clause is false */
};

/**
 * Find a condition. `use` has an element for each row, false for rows to ignore; NULL to use all.
 */
void kl_fit_find(struct kl_fit *out, const struct kl_fit_table *table, const bool *use);
/**
 * Do the same as kl_fit_find(), but keep clauses that chance can explain, so that more points can
 * be added to decide whether they hold.
 */
void kl_fit_draft(struct kl_fit *out, const struct kl_fit_table *table);
void kl_fit_release(struct kl_fit *fit);
/** Return true if all clauses are true at the row. */
bool kl_fit_predicts(const struct kl_fit *fit, const struct kl_fit_table *table, size_t row);
/**
 * Return true if the kernel is expected to pass at a row, that is, if all clauses are true at the
 * row and the kernel passed at some row.
 */
bool kl_fit_expects(const struct kl_fit *fit, const struct kl_fit_table *table, size_t row);
/** Return true if the clause is true at the row. */
bool kl_fit_holds(const struct kl_fit_clause *clause, const struct kl_fit_table *table, size_t row);
/**
 * Fit a random half of the rows, and count how many rows of the other half, `*n` in all, the fit
 * predicts. The same seed gives the same halves, which have about as many failing rows each.
 */
void kl_fit_check(size_t *right, size_t *n, const struct kl_fit_table *table, uint64_t seed);

#endif
