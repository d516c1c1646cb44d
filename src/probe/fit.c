/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "probe/fit_parts.h"

#define CHANCE 0.001 /* a remainder is kept if chance gives so many failures less often */

#define LEAST_ROWS 12    /* a bound needs at least so many rows */
#define LEAST_FAILURES 8 /* alternatives are sought for at least so many failures */

/* --- the search ------------------------------------------------------------------------------- */

struct search {
	const struct kl_fit_table *table;
	const bool *use;
	bool *open; /* failing rows where no clause is false yet */
	struct kl_fit_clause best;
	size_t most; /* number of open rows where the best clause is false */
	int rank;    /* of the best clause: the smaller, the simpler */
	bool found;
};

static bool is_used(const struct search *search, size_t row)
{
	return !search->use || search->use[row];
}

/*
 * Return true if the clause is about an address and the row is loose: then a pass there does not
 * refute the clause.
 */
static bool is_loose(const struct search *search, const struct kl_fit_clause *clause, size_t row)
{
	return search->table->loose[row] && search->table->kind[clause->quantity] == KL_FIT_ALIGN;
}

/* Return the number of open rows where the clause is false, or 0 if a passing row refutes it. */
static size_t count_false(const struct search *search, const struct kl_fit_clause *clause)
{
	size_t n = 0;

	for (size_t row = 0; row < search->table->n; row++) {
		if (!is_used(search, row) || kl_fit_holds(clause, search->table, row))
			continue;
		if (search->table->pass[row] && !is_loose(search, clause, row))
			return 0;
		n += search->open[row];
	}
	return n;
}

static int rank_of(const struct search *search, const struct kl_fit_clause *clause)
{
	static const int form[] = {
		[KL_FIT_ZERO] = 0, [KL_FIT_MOD] = 0,   [KL_FIT_LEAST] = 1,
		[KL_FIT_MOST] = 1, [KL_FIT_ORDER] = 1, [KL_FIT_TAIL] = 4,
	};

	static const int kind[] = { [KL_FIT_BYTES] = 2, [KL_FIT_ALIGN] = 1, [KL_FIT_FLAG] = 0 };

	return form[clause->form] + kind[search->table->kind[clause->quantity]];
}

/* Return true if two rows have the same sizes and values. */
static bool is_same_point(const struct kl_fit_table *table, size_t left, size_t right)
{
	for (size_t i = 0; i < table->name.n; i++)
		if (table->kind[i] != KL_FIT_ALIGN &&
		    kl_fit_value_at(table, left, i) != kl_fit_value_at(table, right, i))
			return false;
	return true;
}

/*
 * Return true if two rows differ only in addresses and show the clause: the kernel fails at the one
 * where the clause is false and passes at the other. The sizes of a point determine the addresses
 * that the gate chooses. So without such a pair, a clause about an address may be about sizes.
 */
static bool has_own_pair(const struct search *search, const struct kl_fit_clause *clause)
{
	const struct kl_fit_table *table = search->table;

	for (size_t fail = 0; fail < table->n; fail++) {
		if (!is_used(search, fail) || table->pass[fail] || table->loose[fail] ||
		    kl_fit_holds(clause, table, fail))
			continue;
		for (size_t pass = 0; pass < table->n; pass++)
			if (is_used(search, pass) && table->pass[pass] && !table->loose[pass] &&
			    kl_fit_holds(clause, table, pass) && is_same_point(table, fail, pass))
				return true;
	}
	return false;
}

static void try_clause(struct search *search, const struct kl_fit_clause *clause)
{
	size_t n = count_false(search, clause);
	int rank = rank_of(search, clause);

	if (n && search->table->kind[clause->quantity] == KL_FIT_ALIGN &&
	    !has_own_pair(search, clause))
		return;

	if (!n || n < search->most || (n == search->most && rank >= search->rank))
		return;
	search->best = *clause;
	search->most = n;
	search->rank = rank;
	search->found = true;
}

/* Find the least and the greatest value of a quantity among the passing rows. */
static bool find_range(const struct search *search, size_t quantity, int64_t *least, int64_t *most)
{
	bool any = false;

	for (size_t row = 0; row < search->table->n; row++) {
		int64_t value = kl_fit_value_at(search->table, row, quantity);

		if (!is_used(search, row) || !search->table->pass[row])
			continue;
		*least = any && *least < value ? *least : value;
		*most = any && *most > value ? *most : value;
		any = true;
	}
	return any;
}

static void try_bounds(struct search *search, size_t quantity)
{
	struct kl_fit_clause clause = { .quantity = quantity };
	int64_t least = 0, most = 0;

	if (!find_range(search, quantity, &least, &most))
		return;
	clause.form = KL_FIT_LEAST;
	clause.bound = least;
	try_clause(search, &clause);
	clause.form = KL_FIT_MOST;
	clause.bound = most;
	try_clause(search, &clause);
}

/*
 * Try a clause about a remainder that counts only from some size on, because a kernel can treat
 * small sizes in another way. It counts from the least value at which the kernel fails.
 */
static void try_tail(struct search *search, size_t quantity, int64_t divisor)
{
	struct kl_fit_clause clause = { .form = KL_FIT_TAIL,
					.quantity = quantity,
					.bound = divisor };
	bool any = false;

	for (size_t row = 0; row < search->table->n; row++) {
		int64_t value = kl_fit_value_at(search->table, row, quantity);

		if (!is_used(search, row) || !search->open[row] || value % divisor == 0)
			continue;
		clause.from = any && clause.from < value ? clause.from : value;
		any = true;
	}
	if (any && clause.from > 1)
		try_clause(search, &clause);
}

static void try_divisor(struct search *search, size_t quantity, int64_t divisor)
{
	struct kl_fit_clause clause = { .form = KL_FIT_MOD,
					.quantity = quantity,
					.bound = divisor };

	if (divisor < 2)
		return;
	try_clause(search, &clause);
	if (search->table->kind[quantity] == KL_FIT_EXTENT)
		try_tail(search, quantity, divisor);
}

static void try_orders(struct search *search, size_t quantity)
{
	struct kl_fit_clause clause = { .form = KL_FIT_ORDER, .quantity = quantity };

	for (clause.other = 0; clause.other < search->table->name.n; clause.other++)
		if (clause.other != quantity && search->table->kind[clause.other] == KL_FIT_EXTENT)
			try_clause(search, &clause);
}

static void try_quantity(struct search *search, size_t quantity)
{
	static const int64_t odd[] = { 3, 5, 6, 7, 12, 24, 48, 96 };

	if (search->table->kind[quantity] == KL_FIT_FLAG) {
		try_clause(search,
			   &(struct kl_fit_clause){ .form = KL_FIT_ZERO, .quantity = quantity });
		return;
	}
	for (int64_t power = 2; power <= 4096; power *= 2)
		try_divisor(search, quantity, power);
	if (search->table->kind[quantity] == KL_FIT_ALIGN)
		return;
	for (size_t i = 0; i < KL_ARRAY_SIZE(odd); i++)
		try_divisor(search, quantity, odd[i]);
	for (size_t i = 0; i < search->table->ndivisor; i++)
		try_divisor(search, quantity, search->table->divisor[i]);
	try_bounds(search, quantity);
	if (search->table->kind[quantity] == KL_FIT_EXTENT)
		try_orders(search, quantity);
}

/* --- the condition ---------------------------------------------------------------------------- */

static void add_clause(struct kl_fit *out, struct search *search)
{
	KL_GROW(out->v, out->n + 1, out->alloc);
	search->best.fails = search->most;
	out->v[out->n++] = search->best;
	for (size_t row = 0; row < search->table->n; row++)
		if (!kl_fit_holds(&search->best, search->table, row))
			search->open[row] = false;
}

static bool find_next(struct search *search)
{
	search->found = false;
	search->most = 0;
	for (size_t i = 0; i < search->table->name.n; i++)
		try_quantity(search, i);
	return search->found;
}

/* Return true if another clause is false at every failing row where clause `i` is false. */
static bool is_spare(const struct kl_fit *fit, const struct search *search, size_t i)
{
	for (size_t row = 0; row < search->table->n; row++) {
		bool other = search->table->pass[row] || !is_used(search, row) ||
			     kl_fit_holds(&fit->v[i], search->table, row);

		for (size_t k = 0; k < fit->n && !other; k++)
			other = k != i && !kl_fit_holds(&fit->v[k], search->table, row);
		if (!other)
			return false;
	}
	return true;
}

/* Remove the clauses that later ones made superfluous. */
static void drop_spare(struct kl_fit *fit, const struct search *search)
{
	for (size_t i = 0; i < fit->n;)
		if (is_spare(fit, search, i)) {
			fit->n--;
			memmove(fit->v + i, fit->v + i + 1, (fit->n - i) * sizeof(*fit->v));
		} else {
			i++;
		}
}

/* Count the failing rows where the clause is false, and the passing ones where it is true. */
static void count_fails(struct kl_fit *fit, const struct search *search, size_t i)
{
	struct kl_fit_clause *clause = &fit->v[i];

	clause->fails = clause->passes = 0;
	for (size_t row = 0; row < search->table->n; row++) {
		bool holds = kl_fit_holds(clause, search->table, row);

		clause->fails += is_used(search, row) && !search->table->pass[row] && !holds;
		clause->passes += is_used(search, row) && search->table->pass[row] && holds;
	}
}

/* --- chance ----------------------------------------------------------------------------------- */

/*
 * Return true if the clause may be due to chance. A bound needs two failing rows, and some rows in
 * all. If the kernel also fails where all clauses are true, something else than the quantities
 * decides; then bounds say nothing, since failures can be more frequent at one end, and a remainder
 * counts only if failures at that rate would hardly ever be so many in a row.
 */
static bool is_chance(const struct kl_fit *fit, const struct kl_fit_clause *clause)
{
	bool firm = clause->form == KL_FIT_MOD || clause->form == KL_FIT_ZERO;
	double rate = (double)fit->unexplained / (double)(fit->unexplained + fit->passes);

	if (!fit->unexplained)
		return !firm && (clause->fails < 2 || fit->fails + fit->passes < LEAST_ROWS);
	return !firm || pow(rate, (double)clause->fails) > CHANCE;
}

static size_t count_unexplained(const struct kl_fit *fit, const struct search *search)
{
	size_t n = 0;

	for (size_t row = 0; row < search->table->n; row++)
		n += is_used(search, row) && !search->table->pass[row] &&
		     kl_fit_predicts(fit, search->table, row);
	return n;
}

/* Remove clauses that may be due to chance, until none is left that may. */
static void drop_chance(struct kl_fit *fit, const struct search *search)
{
	fit->unexplained = count_unexplained(fit, search);
	for (size_t i = 0; i < fit->n;) {
		if (!is_chance(fit, &fit->v[i])) {
			i++;
			continue;
		}
		fit->n--;
		memmove(fit->v + i, fit->v + i + 1, (fit->n - i) * sizeof(*fit->v));
		fit->unexplained = count_unexplained(fit, search);
		i = 0;
	}
}

/* --- alternatives ----------------------------------------------------------------------------- */

/* State of the search for alternatives that are false at all unexplained failures. */
struct alternatives {
	const struct search *search; /* its open rows are the unexplained failures */
	bool *bare;                  /* passing rows where no alternative is true yet */
	struct kl_fit_atom best;
	size_t most; /* number of bare rows where the best one is true */
};

static void try_atom(struct alternatives *alternatives, struct kl_fit_atom atom)
{
	const struct kl_fit_table *table = alternatives->search->table;
	size_t n = 0;

	for (size_t row = 0; row < table->n; row++) {
		bool open = alternatives->search->open[row];

		if ((!open && !alternatives->bare[row]) || !kl_fit_atom_holds(&atom, table, row))
			continue;
		if (open)
			return;
		n++;
	}
	if (n <= alternatives->most)
		return;
	alternatives->most = n;
	alternatives->best = atom;
}

static void try_atoms(struct alternatives *alternatives, size_t quantity)
{
	const struct search *search = alternatives->search;
	int64_t least = INT64_MAX, most = 0;

	for (size_t row = 0; row < search->table->n; row++)
		if (search->open[row]) {
			int64_t value = kl_fit_value_at(search->table, row, quantity);

			least = value < least ? value : least;
			most = value > most ? value : most;
		}
	try_atom(alternatives, (struct kl_fit_atom){ KL_FIT_MOST, quantity, least - 1 });
	try_atom(alternatives, (struct kl_fit_atom){ KL_FIT_LEAST, quantity, most + 1 });
	for (int64_t power = 2; power <= 1024; power *= 2)
		try_atom(alternatives, (struct kl_fit_atom){ KL_FIT_MOD, quantity, power });
}

/* Find alternatives until they are true at all passing rows. Each must add at least two rows. */
static bool find_alternatives(struct kl_fit_clause *clause, struct alternatives *alternatives)
{
	const struct kl_fit_table *table = alternatives->search->table;
	size_t left = 0;

	for (size_t row = 0; row < table->n; row++)
		left += alternatives->bare[row];
	for (clause->natom = 0; left && clause->natom < KL_FIT_ATOMS;) {
		alternatives->most = 1;
		for (size_t i = 0; i < table->name.n; i++)
			if (table->kind[i] == KL_FIT_EXTENT)
				try_atoms(alternatives, i);
		if (alternatives->most < 2)
			return false;
		clause->atom[clause->natom++] = alternatives->best;
		for (size_t row = 0; row < table->n; row++)
			if (alternatives->bare[row] && kl_fit_holds(clause, table, row)) {
				alternatives->bare[row] = false;
				left--;
			}
	}
	return !left && clause->natom > 1;
}

static void add_alternatives(struct kl_fit *out, struct search *search)
{
	struct alternatives alternatives = { .search = search };
	struct kl_fit_clause clause = { .form = KL_FIT_ANY };

	if (count_unexplained(out, search) < LEAST_FAILURES)
		return;
	alternatives.bare = kl_calloc(search->table->n + 1, sizeof(*alternatives.bare));
	for (size_t row = 0; row < search->table->n; row++) {
		bool pass = search->table->pass[row];

		alternatives.bare[row] = is_used(search, row) && pass;
		search->open[row] = is_used(search, row) && !pass &&
				    kl_fit_predicts(out, search->table, row);
	}
	if (find_alternatives(&clause, &alternatives)) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = clause;
		count_fails(out, search, out->n - 1);
	}
	free(alternatives.bare);
}

/* --- witnesses -------------------------------------------------------------------------------- */

/*
 * Count the quantities in which two rows differ, without sizes in bytes, which follow from extents.
 */
static size_t distance_of(const struct kl_fit_table *table, size_t left, size_t right)
{
	size_t n = 0;

	for (size_t i = 0; i < table->name.n; i++)
		n += table->kind[i] != KL_FIT_BYTES &&
		     kl_fit_value_at(table, left, i) != kl_fit_value_at(table, right, i);
	return n;
}

/* Count the other clauses that are false at the row. */
static size_t others_false(const struct kl_fit *fit, const struct search *search, size_t i,
			   size_t row)
{
	size_t n = 0;

	for (size_t k = 0; k < fit->n; k++)
		n += k != i && !kl_fit_holds(&fit->v[k], search->table, row);
	return n;
}

static void find_pair(struct kl_fit *fit, const struct search *search, size_t i)
{
	struct kl_fit_clause *clause = &fit->v[i];
	size_t least = SIZE_MAX;

	for (size_t fail = 0; fail < search->table->n; fail++) {
		size_t others = others_false(fit, search, i, fail);

		if (!is_used(search, fail) || search->table->pass[fail] ||
		    kl_fit_holds(clause, search->table, fail))
			continue;
		for (size_t pass = 0; pass < search->table->n; pass++) {
			size_t far = distance_of(search->table, fail, pass) +
				     others * search->table->name.n;

			if (!is_used(search, pass) || !search->table->pass[pass] || far >= least ||
			    !kl_fit_holds(clause, search->table, pass))
				continue;
			least = far;
			clause->fail_row = fail;
			clause->pass_row = pass;
		}
	}
}

/* Find a clause about another quantity that is true at the same rows. */
static void find_same(struct kl_fit_clause *clause, const struct search *search)
{
	const struct kl_fit_table *table = search->table;

	for (size_t i = 0; i < table->name.n && !clause->same; i++) {
		struct kl_fit_clause other = { .form = KL_FIT_MOD, .quantity = i };

		for (other.bound = 2; other.bound <= 4096; other.bound *= 2) {
			bool same = i != clause->quantity && table->kind[i] == KL_FIT_BYTES;

			for (size_t row = 0; row < table->n && same; row++)
				same = !is_used(search, row) ||
				       kl_fit_holds(&other, table, row) ==
					       kl_fit_holds(clause, table, row);
			if (!same)
				continue;
			clause->same = kl_fit_clause_text(&other, table);
			break;
		}
	}
}

static void count_rows(struct kl_fit *out, struct search *search)
{
	for (size_t row = 0; row < search->table->n; row++) {
		bool pass = search->table->pass[row];

		search->open[row] = is_used(search, row) && !pass;
		out->fails += is_used(search, row) && !pass;
		out->passes += is_used(search, row) && pass;
	}
}

static void find_fit(struct kl_fit *out, const struct kl_fit_table *table, const bool *use,
		     bool draft)
{
	struct search search = { .table = table, .use = use };

	*out = (struct kl_fit){ .n = 0 };
	search.open = kl_calloc(table->n + 1, sizeof(*search.open));
	count_rows(out, &search);
	/* Without a passing row, every clause would separate the rows, and none has a witness. */
	while (out->passes && find_next(&search))
		add_clause(out, &search);
	drop_spare(out, &search);
	for (size_t i = 0; i < out->n; i++)
		count_fails(out, &search, i);
	if (!draft)
		drop_chance(out, &search);
	add_alternatives(out, &search);
	out->unexplained = count_unexplained(out, &search);
	for (size_t i = 0; i < out->n; i++) {
		find_pair(out, &search, i);
		out->v[i].text = kl_fit_clause_text(&out->v[i], table);
		if (out->v[i].form == KL_FIT_MOD &&
		    table->kind[out->v[i].quantity] == KL_FIT_EXTENT)
			find_same(&out->v[i], &search);
	}
	free(search.open);
}

void kl_fit_find(struct kl_fit *out, const struct kl_fit_table *table, const bool *use)
{
	find_fit(out, table, use, false);
}

void kl_fit_draft(struct kl_fit *out, const struct kl_fit_table *table)
{
	find_fit(out, table, NULL, true);
}

void kl_fit_release(struct kl_fit *fit)
{
	for (size_t i = 0; i < fit->n; i++) {
		free(fit->v[i].text);
		free(fit->v[i].same);
	}
	free(fit->v);
	*fit = (struct kl_fit){ .n = 0 };
}

/* --- the check on held-back rows -------------------------------------------------------------- */

void kl_fit_check(size_t *right, size_t *n, const struct kl_fit_table *table, uint64_t seed)
{
	KL_AUTO(kl_fit_release) struct kl_fit fit = { .n = 0 };
	KL_AUTO(kl_freep) bool *use = kl_calloc(table->n + 1, sizeof(*use));
	KL_AUTO(kl_freep) size_t *order = kl_calloc(table->n + 1, sizeof(*order));
	struct kl_rng rng;
	size_t turn[2] = { 0 };

	for (size_t i = 0; i < table->n; i++)
		order[i] = i;
	kl_rng_seed(&rng, seed);
	kl_rng_shuffle(&rng, order, table->n, sizeof(*order));
	for (size_t i = 0; i < table->n; i++)
		use[order[i]] = turn[table->pass[order[i]]]++ % 2 == 0;
	kl_fit_find(&fit, table, use);
	*right = *n = 0;
	for (size_t row = 0; row < table->n; row++)
		if (!use[row]) {
			++*n;
			*right += kl_fit_expects(&fit, table, row) == table->pass[row];
		}
}
