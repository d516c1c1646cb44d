/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/printable.h"
#include "cmd/cli/columns.h"

#define GAP 2   /* spaces between two columns */
#define LEAST 8 /* characters that a column without a description keeps */
#define LAST 4  /* characters that every column keeps, however narrow the terminal */

void kl_table_head(struct kl_table *table)
{
	KL_AUTO(kl_freep) const char **cell = kl_calloc(table->columns + 1, sizeof(*cell));

	for (size_t i = 0; i < table->columns; i++)
		cell[i] = table->column[i].head;
	kl_table_row(table, cell);
}

void kl_table_row(struct kl_table *table, const char *const *cell)
{
	for (size_t i = 0; i < table->columns; i++) {
		struct kl_buf text = KL_BUF_INIT;

		/*
		 * replace control characters now, because column widths are measured on the text as
		 * printed
		 */
		kl_printable_line(&text, cell[i], strlen(cell[i]));
		KL_GROW(table->paint, table->npaint + 1, table->paint_alloc);
		table->paint[table->npaint++] = table->cells.n < table->columns ? KL_PAINT_HEAD :
										  KL_PAINT_RESET;
		kl_strvec_take(&table->cells, kl_buf_detach(&text));
	}
}

void kl_table_paint(struct kl_table *table, size_t column, enum kl_paint paint)
{
	table->paint[table->npaint - table->columns + column] = (unsigned char)paint;
}

void kl_table_release(struct kl_table *table)
{
	kl_strvec_release(&table->cells);
	free(table->paint);
}

/* --- fitting ----------------------------------------------------------------- */

#define HIDDEN (-1)

/* How a table is printed. */
struct fit {
	const struct kl_table *table;
	int *wide; /* width of each column, or HIDDEN */
	bool *folded, *left_out;
};

static void fit_release(struct fit *fit)
{
	free(fit->wide);
	free(fit->folded);
	free(fit->left_out);
}

static void measure_columns(struct fit *fit)
{
	const struct kl_table *table = fit->table;

	for (size_t i = 0; i < table->cells.n; i++) {
		int *wide = &fit->wide[i % table->columns];
		int n = kl_columns_of(table->cells.v[i], strlen(table->cells.v[i]));

		*wide = n > *wide ? n : *wide;
	}
}

/* Return the text that each row has in the column; a "-" is as any text. NULL: rows differ. */
static const char *common_text(const struct kl_table *table, size_t column)
{
	const char *common = NULL;

	for (size_t i = table->columns + column; i < table->cells.n; i += table->columns) {
		const char *text = table->cells.v[i];

		if (!strcmp(text, "-"))
			continue;
		if (common && strcmp(common, text))
			return NULL;
		common = text;
	}
	return common ? common : "-";
}

static void fold_columns(struct fit *fit)
{
	const struct kl_table *table = fit->table;

	if (!table->column || table->cells.n < 3 * table->columns)
		return;
	for (size_t i = 0; i < table->columns; i++) {
		fit->folded[i] = table->column[i].fold && common_text(table, i);
		if (fit->folded[i])
			fit->wide[i] = HIDDEN;
	}
}

static int least_of(const struct fit *fit, size_t i)
{
	int least = fit->table->column ? fit->table->column[i].least : LEAST;

	return least && least < fit->wide[i] ? least : fit->wide[i];
}

/* Return the width of the table; `least`: if all texts are cut as far as they may be. */
static int total_width(const struct fit *fit, bool least)
{
	int n = -GAP;

	for (size_t i = 0; i < fit->table->columns; i++)
		if (fit->wide[i] != HIDDEN)
			n += GAP + (least ? least_of(fit, i) : fit->wide[i]);
	return n;
}

static bool leave_out_column(struct fit *fit)
{
	size_t last = 0;
	int rank = 0;

	for (size_t i = 0; fit->table->column && i < fit->table->columns; i++)
		if (fit->wide[i] != HIDDEN && fit->table->column[i].rank > rank) {
			rank = fit->table->column[i].rank;
			last = i;
		}
	if (rank) {
		fit->left_out[last] = true;
		fit->wide[last] = HIDDEN;
	}
	return rank > 0;
}

/* How far texts are cut: as their columns allow, then more, then also texts that should be whole. */
enum cut { CUT_ALLOWED, CUT_MORE, CUT_ANY };

static int floor_of(const struct fit *fit, size_t i, enum cut how)
{
	int least = least_of(fit, i);

	bool may = !fit->table->column || fit->table->column[i].least;

	return how == CUT_ALLOWED                         ? least :
	       how == CUT_ANY || (how == CUT_MORE && may) ? LAST :
							    fit->wide[i];
}

/* Cut one character of the widest column that may be cut. */
static bool cut_column(struct fit *fit, enum cut how)
{
	int *widest = NULL;

	for (size_t i = 0; i < fit->table->columns; i++)
		if (fit->wide[i] > floor_of(fit, i, how) && (!widest || fit->wide[i] > *widest))
			widest = &fit->wide[i];
	if (widest)
		(*widest)--;
	return widest;
}

static void fit_table(struct fit *fit, int room)
{
	measure_columns(fit);
	if (!room)
		return;
	fold_columns(fit);
	while (total_width(fit, true) > room && leave_out_column(fit))
		;
	for (int how = CUT_ALLOWED; how <= CUT_ANY; how++)
		while (total_width(fit, false) > room && cut_column(fit, how))
			;
}

/* --- printing ---------------------------------------------------------------- */

/* Print text in at most `wide` columns; return how many were printed. */
static int print_cut(const char *text, int wide)
{
	size_t len = strlen(text);
	int n = kl_columns_of(text, len);

	if (n > wide) {
		len = kl_columns_cut(text, wide - 2);
		n = kl_columns_of(text, len) + 2;
	}
	printf("%.*s%s", (int)len, text, text[len] ? ".." : "");
	return n;
}

/* Print the columns that have the same text in each row. */
static void print_folded(const struct fit *fit, int room)
{
	const struct kl_table *table = fit->table;
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

	for (size_t i = 0; i < table->columns; i++) {
		const char *text = fit->folded[i] ? common_text(table, i) : "-";

		if (strcmp(text, "-"))
			kl_buf_addf(&line, "%s %s %s",
				    line.len ? "," : "each row:", table->column[i].head, text);
	}
	if (!line.len)
		return;
	print_cut(line.ptr, room);
	putchar('\n');
}

static void print_left_out(const struct fit *fit, int room)
{
	const struct kl_table *table = fit->table;
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;

	for (size_t i = 0; i < table->columns; i++)
		if (fit->left_out[i])
			kl_buf_addf(&line, "%s %s",
				    line.len ? "," : "more with --wide:", table->column[i].head);
	if (!line.len)
		return;
	print_cut(line.ptr, room);
	putchar('\n');
}

static void print_row(const struct fit *fit, size_t first)
{
	const struct kl_table *table = fit->table;
	int owed = 0; /* spaces before the next text */

	for (size_t i = 0; i < table->columns; i++) {
		const char *paint = table->term ? kl_paint(table->term, table->paint[first + i]) :
						  "";
		bool painted = table->paint[first + i] != KL_PAINT_RESET && *paint;

		if (fit->wide[i] == HIDDEN)
			continue;
		printf("%*s%s", owed, "", painted ? paint : "");
		owed = fit->wide[i] - print_cut(table->cells.v[first + i], fit->wide[i]) + GAP;
		if (painted)
			fputs(kl_paint(table->term, KL_PAINT_RESET), stdout);
	}
	putchar('\n');
}

void kl_table_print(const struct kl_table *table)
{
	KL_AUTO(fit_release) struct fit fit = {
		.table = table,
		.wide = kl_calloc(table->columns + 1, sizeof(*fit.wide)),
		.folded = kl_calloc(table->columns + 1, sizeof(*fit.folded)),
		.left_out = kl_calloc(table->columns + 1, sizeof(*fit.left_out)),
	};
	int room = kl_term_room();

	fit_table(&fit, room);
	print_folded(&fit, room);
	for (size_t i = 0; i < table->cells.n; i += table->columns)
		print_row(&fit, i);
	print_left_out(&fit, room);
}

/* --- texts of cells ---------------------------------------------------------------- */

void kl_table_time(char out[32], int64_t ns)
{
	if (ns <= 0)
		snprintf(out, 32, "-");
	else if (ns >= 1000000000)
		snprintf(out, 32, "%.3f s", (double)ns / 1e9);
	else if (ns >= 1000000)
		snprintf(out, 32, "%.3f ms", (double)ns / 1e6);
	else
		snprintf(out, 32, "%.2f us", (double)ns / 1e3);
}

/* Append a factor with three digits, because timings are no more precise. */
static void add_factor(struct kl_buf *out, int64_t ppm)
{
	double value = (double)ppm / 1e6;

	kl_buf_addf(out, "%.*f", value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
}

void kl_table_ratio(struct kl_buf *out, const struct kl_ratio *ratio)
{
	int64_t above = ratio->hi - ratio->ppm, below = ratio->ppm - ratio->lo;
	double half = ratio->ppm > 0 ?
			      (double)(above > below ? above : below) / (double)ratio->ppm * 100 :
			      0;

	if (ratio->ppm <= 0) {
		kl_buf_addch(out, '-');
		return;
	}
	add_factor(out, ratio->ppm);
	if (kl_term_room()) {
		kl_buf_addf(out, "x ±%.*f%%", half < 10 ? 1 : 0, ceil(half * 10) / 10);
		return;
	}
	kl_buf_adds(out, "x [");
	add_factor(out, ratio->lo);
	kl_buf_adds(out, ", ");
	add_factor(out, ratio->hi);
	kl_buf_addch(out, ']');
}
