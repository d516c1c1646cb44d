/* SPDX-License-Identifier: Apache-2.0 */
/* fit_clause - the table of points, and clauses: their truth at a point, and their texts */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "probe/fit_parts.h"

/* --- the table -------------------------------------------------------------------------------- */

void kl_fit_table_add(struct kl_fit_table *table, const char *name, enum kl_fit_kind kind)
{
	KL_GROW(table->kind, table->name.n + 1, table->kind_alloc);
	table->kind[table->name.n] = kind;
	kl_strvec_push(&table->name, name);
}

void kl_fit_table_row(struct kl_fit_table *table, const int64_t *value, bool pass)
{
	size_t width = table->name.n;

	KL_GROW(table->value, (table->n + 1) * width, table->value_alloc);
	KL_GROW(table->pass, table->n + 1, table->pass_alloc);
	memcpy(table->value + table->n * width, value, width * sizeof(*value));
	KL_GROW(table->loose, table->n + 1, table->loose_alloc);
	table->loose[table->n] = false;
	table->pass[table->n++] = pass;
}

void kl_fit_table_loosen(struct kl_fit_table *table)
{
	table->loose[table->n - 1] = true;
}

void kl_fit_table_release(struct kl_fit_table *table)
{
	kl_strvec_release(&table->name);
	free(table->kind);
	free(table->value);
	free(table->pass);
	free(table->loose);
	*table = (struct kl_fit_table){ .n = 0 };
}

int64_t kl_fit_value_at(const struct kl_fit_table *table, size_t row, size_t quantity)
{
	return table->value[row * table->name.n + quantity];
}

/* --- clauses ---------------------------------------------------------------------------------- */

bool kl_fit_atom_holds(const struct kl_fit_atom *atom, const struct kl_fit_table *table, size_t row)
{
	int64_t value = kl_fit_value_at(table, row, atom->quantity);

	if (atom->form == KL_FIT_MOD)
		return value % atom->bound == 0;
	return atom->form == KL_FIT_LEAST ? value >= atom->bound : value <= atom->bound;
}

static bool any_holds(const struct kl_fit_clause *clause, const struct kl_fit_table *table,
		      size_t row)
{
	for (size_t i = 0; i < clause->natom; i++)
		if (kl_fit_atom_holds(&clause->atom[i], table, row))
			return true;
	return false;
}

bool kl_fit_holds(const struct kl_fit_clause *clause, const struct kl_fit_table *table, size_t row)
{
	int64_t value = kl_fit_value_at(table, row, clause->quantity);

	switch (clause->form) {
	case KL_FIT_MOD:
		return value % clause->bound == 0;
	case KL_FIT_LEAST:
		return value >= clause->bound;
	case KL_FIT_MOST:
		return value <= clause->bound;
	case KL_FIT_ORDER:
		return value <= kl_fit_value_at(table, row, clause->other);
	case KL_FIT_TAIL:
		return value < clause->from || value % clause->bound == 0;
	case KL_FIT_ZERO:
		return value == 0;
	case KL_FIT_ANY:
		return any_holds(clause, table, row);
	}
	return true;
}

bool kl_fit_predicts(const struct kl_fit *fit, const struct kl_fit_table *table, size_t row)
{
	for (size_t i = 0; i < fit->n; i++)
		if (!kl_fit_holds(&fit->v[i], table, row))
			return false;
	return true;
}

bool kl_fit_expects(const struct kl_fit *fit, const struct kl_fit_table *table, size_t row)
{
	return (fit->passes || !fit->fails) && kl_fit_predicts(fit, table, row);
}

static char *any_text(const struct kl_fit_clause *clause, const struct kl_fit_table *table)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < clause->natom; i++) {
		const struct kl_fit_atom *atom = &clause->atom[i];
		const char *name = table->name.v[atom->quantity];

		kl_buf_adds(&buf, i ? " || " : "");
		if (atom->form == KL_FIT_MOD)
			kl_buf_addf(&buf, "%s %% %" PRId64 " == 0", name, atom->bound);
		else
			kl_buf_addf(&buf, "%s %s %" PRId64, name,
				    atom->form == KL_FIT_LEAST ? ">=" : "<=", atom->bound);
	}
	return kl_buf_detach(&buf);
}

char *kl_fit_clause_text(const struct kl_fit_clause *clause, const struct kl_fit_table *table)
{
	const char *name = table->name.v[clause->quantity];

	switch (clause->form) {
	case KL_FIT_MOD:
		return kl_asprintf("%s %% %" PRId64 " == 0", name, clause->bound);
	case KL_FIT_LEAST:
		return kl_asprintf("%s >= %" PRId64, name, clause->bound);
	case KL_FIT_MOST:
		return kl_asprintf("%s <= %" PRId64, name, clause->bound);
	case KL_FIT_ORDER:
		return kl_asprintf("%s <= %s", name, table->name.v[clause->other]);
	case KL_FIT_TAIL:
		return kl_asprintf("%s < %" PRId64 " || %s %% %" PRId64 " == 0", name, clause->from,
				   name, clause->bound);
	case KL_FIT_ANY:
		return any_text(clause, table);
	case KL_FIT_ZERO:
		break;
	}
	return kl_strdup(name);
}
