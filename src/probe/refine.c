/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/refine.h"

#include "probe/findings.h"

#define MULTIPLES 5
/* If at most this many points fail, any quantity can be the reason; add points around them. */
#define LONELY 3

struct refining {
	struct kl_probe_points *points;
	const struct kl_probing *probe;
	const struct kl_quantities *quantities;
	const struct kl_fit_table *table;
	const size_t *point;
	int64_t between; /* most points to add between a pass and a failure */
};

/* Add the point of the clause's passing row, with another value of the clause's quantity. */
static bool add_point(const struct refining *refining, const struct kl_fit_clause *clause,
		      int64_t value)
{
	struct kl_probe_point point = refining->points->v[refining->point[clause->pass_row]];
	const struct kl_contract *contract =
		refining->probe->state[refining->probe->n - 1].surface->contract;

	if (refining->points->n >= KL_PROBE_MOST || value < 1)
		return false;
	point.dims.v[refining->quantities->v[clause->quantity].dim] = value;
	return kl_probe_points_add(refining->points, contract, &point);
}

/* Find the failing value next to the bound, among the rows where the clause is false. */
static int64_t nearest_failure(const struct refining *refining, const struct kl_fit_clause *clause)
{
	const struct kl_fit_table *table = refining->table;
	int64_t near = 0;
	bool any = false;

	for (size_t row = 0; row < table->n; row++) {
		int64_t value = table->value[row * table->name.n + clause->quantity];

		if (table->pass[row] || kl_fit_holds(clause, table, row))
			continue;
		if (!any || (clause->form == KL_FIT_LEAST ? value > near : value < near))
			near = value;
		any = true;
	}
	return any ? near : clause->bound;
}

/* Find the passing value next to an alternative's bound, among rows where it alone is true. */
static bool nearest_pass(int64_t *near, const struct refining *refining,
			 const struct kl_fit_clause *clause, size_t at)
{
	const struct kl_fit_atom *atom = &clause->atom[at];
	const struct kl_fit_table *table = refining->table;
	bool any = false;

	for (size_t row = 0; row < table->n; row++) {
		struct kl_fit_clause others = *clause;
		int64_t value = table->value[row * table->name.n + atom->quantity];

		others.atom[at] = others.atom[--others.natom];
		if (!table->pass[row] || kl_fit_holds(&others, table, row))
			continue;
		if (!any || (atom->form == KL_FIT_MOST ? value > *near : value < *near))
			*near = value;
		any = true;
	}
	return any;
}

/* Add failing points whose quantity lies between the last pass and the first failure. */
static void refine_alternatives(const struct refining *refining, const struct kl_fit_clause *clause)
{
	const struct kl_contract *contract =
		refining->probe->state[refining->probe->n - 1].surface->contract;

	for (size_t i = 0; i < clause->natom; i++) {
		const struct kl_fit_atom *atom = &clause->atom[i];
		int dim = refining->quantities->v[atom->quantity].dim;
		struct kl_probe_point point =
			refining->points->v[refining->point[clause->fail_row]];
		int64_t near = 0;

		if (dim < 0 || atom->form == KL_FIT_MOD ||
		    !nearest_pass(&near, refining, clause, i))
			continue;
		for (int64_t k = 1; k <= refining->between; k++) {
			point.dims.v[dim] = near +
					    (atom->bound - near + 1) * k / (refining->between + 1);
			if (refining->points->n < KL_PROBE_MOST)
				kl_probe_points_add(refining->points, contract, &point);
		}
	}
}

static void refine_clause(const struct refining *refining, const struct kl_fit_clause *clause)
{
	int64_t near;

	if (clause->form == KL_FIT_ANY) {
		refine_alternatives(refining, clause);
		return;
	}
	if (refining->quantities->v[clause->quantity].dim < 0)
		return;
	switch (clause->form) {
	case KL_FIT_LEAST:
	case KL_FIT_MOST:
		near = nearest_failure(refining, clause);
		/* the failure may have another reason: does this size fail at the passing point, too? */
		add_point(refining, clause, near);
		for (int64_t k = 1; k <= refining->between; k++)
			if (near - clause->bound > 1 || clause->bound - near > 1)
				add_point(refining, clause,
					  near + (clause->bound - near) * k /
							  (refining->between + 1));
		break;
	case KL_FIT_MOD:
	case KL_FIT_TAIL:
		for (int64_t times = 1; times <= MULTIPLES; times += 2)
			if (add_point(refining, clause, times * clause->bound))
				break;
		break;
	case KL_FIT_ORDER:
	case KL_FIT_ZERO:
	case KL_FIT_ANY:
		break;
	}
}

/* Add the points around each failure: one dim is doubled, halved, or changed by one. */
static void surround_failures(const struct refining *refining)
{
	const struct kl_contract *contract =
		refining->probe->state[refining->probe->n - 1].surface->contract;

	for (size_t row = 0; row < refining->table->n; row++)
		for (size_t dim = 0; !refining->table->pass[row] && dim < contract->dims.n; dim++) {
			struct kl_probe_point point = refining->points->v[refining->point[row]];
			int64_t value = point.dims.v[dim];
			const int64_t near[] = { value * 2, value / 2, value + 1, value - 1 };

			for (size_t i = 0; i < KL_ARRAY_SIZE(near); i++) {
				point.dims.v[dim] = near[i];
				if (near[i] >= 1 && refining->points->n < KL_PROBE_MOST)
					kl_probe_points_add(refining->points, contract, &point);
			}
		}
}

void kl_probe_refine(struct kl_probe_points *points, const struct kl_probing *probe, size_t step,
		     size_t between)
{
	KL_AUTO(kl_quantities_release) struct kl_quantities quantities = { .n = 0 };
	KL_AUTO(kl_fit_table_release) struct kl_fit_table table = { .n = 0 };
	KL_AUTO(kl_fit_release) struct kl_fit fit = { .n = 0 };
	KL_AUTO(kl_freep) size_t *point = NULL;
	struct refining refining = {
		.points = points,
		.probe = probe,
		.quantities = &quantities,
		.table = &table,
		.between = (int64_t)between,
	};

	kl_quantities_find(&quantities, probe->tax, probe->state[step].surface->contract);
	kl_probe_findings_table(&table, &point, &quantities, probe, step);
	kl_fit_draft(&fit, &table);
	refining.point = point;
	if (fit.fails && fit.fails <= LONELY)
		surround_failures(&refining);
	for (size_t i = 0; i < fit.n; i++)
		refine_clause(&refining, &fit.v[i]);
}
