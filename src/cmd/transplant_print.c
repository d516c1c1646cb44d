/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/transplant_print.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cli/table.h"
#include "event/speed.h"

void kl_transplant_add_ratio(struct kl_buf *out, const struct kl_ratio *ratio)
{
	if (ratio->ppm > 0 && kl_speed_is_useless(ratio))
		kl_buf_adds(out, "too noisy");
	else
		kl_table_ratio(out, ratio);
}

/* --- the table of steps and states ----------------------------------------------------------- */

/* Append what one cell of the table says, in few characters. */
static void add_cell(struct kl_buf *out, const struct kl_transplant *transplant, size_t step,
		     size_t place)
{
	const struct kl_transplant_cell *cell = kl_transplant_at(transplant, step, place);
	struct kl_comparison gain;
	char factor[24];

	if (cell->state == KL_CELL_UNMERGED) {
		kl_buf_addch(out, '-');
		return;
	}
	if (cell->state == KL_CELL_OPEN) {
		kl_buf_addch(out, '?');
		return;
	}
	switch (kl_transplant_finding(cell)) {
	case KL_CELL_FAILS:
		kl_buf_adds(out, "fails");
		return;
	case KL_CELL_SAME_CODE:
		kl_buf_addch(out, '=');
		return;
	default:
		break;
	}
	kl_transplant_gain(&gain, transplant, step, place);
	if (gain.ratio.ppm <= 0 || kl_speed_is_useless(&gain.ratio)) {
		kl_buf_adds(out, "noisy");
		return;
	}
	kl_view_factor(factor, (double)gain.ratio.ppm / 1e6);
	kl_buf_addf(out, "%s%s", gain.speed == KL_SPEED_AMBIGUOUS ? "~" : "", factor);
}

static const char *mechanism_of(const struct kl_transplant *transplant, size_t step)
{
	const struct kl_step *of = &transplant->view.step[step].step;

	return of->mechanism && *of->mechanism ? of->mechanism : of->action ? of->action : "-";
}

static void add_row(struct kl_table *table, const struct kl_transplant *transplant, size_t step)
{
	size_t n = kl_transplant_steps(transplant);
	KL_AUTO(kl_strvec_release) struct kl_strvec cells = KL_STRVEC_INIT;

	kl_strvec_pushf(&cells, "K_%zu", step);
	kl_strvec_push(&cells, mechanism_of(transplant, step));
	for (size_t place = 0; place <= n; place++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		if (place < step || place == n)
			add_cell(&text, transplant, step, place);
		kl_strvec_push(&cells, text.ptr);
	}
	kl_table_row(table, (const char *const *)cells.v);
}

static void print_cells(const struct kl_transplant *transplant, size_t first, size_t last)
{
	size_t n = kl_transplant_steps(transplant);
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = n + 3 };
	KL_AUTO(kl_strvec_release) struct kl_strvec head = KL_STRVEC_INIT;

	kl_strvec_push(&head, "step");
	kl_strvec_push(&head, "mechanism");
	for (size_t place = 0; place < n; place++)
		kl_strvec_pushf(&head, "K_%zu", place);
	kl_strvec_push(&head, "K*");
	kl_table_row(&table, (const char *const *)head.v);
	for (size_t step = first; step <= last; step++)
		add_row(&table, transplant, step);
	printf("how many times as fast K_j is with the step put in; at K*, with the step instead of "
	       "without it\n\n");
	kl_table_print(&table);
	printf("\n-: does not merge  fails: wrong or refused  =: same code  ~: noise hides it  "
	       "?: not judged yet\n");
}

/* --- the steps at K* ------------------------------------------------------------------------- */

/* Find the first step after `step` on whose code it depends at K*; 0: none is known. */
static size_t first_needer(const struct kl_relations *relations, size_t step)
{
	size_t first = 0;

	for (size_t i = 0; i < relations->n; i++) {
		const struct kl_relation *relation = &relations->v[i];

		if (relation->kind == KL_RELATION_REQUIRES && relation->other == step &&
		    (!first || relation->step < first))
			first = relation->step;
	}
	return first;
}

/* Append what undoing the step at K* shows. */
static void add_finding(struct kl_buf *out, const struct kl_transplant *transplant,
			const struct kl_relations *relations, size_t step, int64_t within_ppm)
{
	const struct kl_transplant_cell *cell = kl_transplant_at(transplant, step,
								 kl_transplant_steps(transplant));
	enum kl_cell_finding finding = kl_transplant_finding(cell);
	size_t needer = first_needer(relations, step);

	if (cell->state == KL_CELL_UNMERGED)
		kl_buf_adds(out, "cannot be undone alone: does not merge");
	else if (finding == KL_CELL_FAILS)
		kl_buf_addf(out, "cannot be undone alone: fails (%s)", kl_event_class(cell->event));
	else if (kl_transplant_is_idle(transplant, step, within_ppm))
		kl_buf_addf(out, "worth nothing here%s",
			    finding == KL_CELL_SAME_CODE ? ": the code is the same without it" :
							   "");
	else if (finding == KL_CELL_PASSES && kl_speed_is_slower(&cell->event->profile))
		kl_buf_adds(out, "pays");
	else
		kl_buf_adds(out, cell->state == KL_CELL_OPEN ? "not judged yet" :
							       "not shown: too noisy");
	if (needer && (cell->state == KL_CELL_UNMERGED || finding == KL_CELL_FAILS))
		kl_buf_addf(out, ", K_%zu builds on it", needer);
}

static void print_findings(const struct kl_transplant *transplant,
			   const struct kl_relations *relations, size_t first, size_t last,
			   int64_t within_ppm)
{
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 5 };

	kl_table_row(&table, (const char *[]){ "step", "mechanism", "gain at its place",
					       "gain at K*", "at K*" });
	for (size_t step = first; step <= last; step++) {
		KL_AUTO(kl_buf_release) struct kl_buf own = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf late = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf finding = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *name = kl_asprintf("K_%zu", step);
		struct kl_comparison gain;

		kl_transplant_gain(&gain, transplant, step, step - 1);
		kl_transplant_add_ratio(&own, &gain.ratio);
		kl_transplant_gain(&gain, transplant, step, kl_transplant_steps(transplant));
		kl_transplant_add_ratio(&late, &gain.ratio);
		add_finding(&finding, transplant, relations, step, within_ppm);
		kl_table_row(&table, (const char *[]){ name, mechanism_of(transplant, step),
						       own.ptr, late.ptr, finding.ptr });
	}
	putchar('\n');
	kl_table_print(&table);
}

/* --- what follows ---------------------------------------------------------------------------- */

static void print_relation(const struct kl_transplant *transplant,
			   const struct kl_relation *relation)
{
	bool requires = relation->kind == KL_RELATION_REQUIRES;

	printf("K_%zu (%s) %s K_%zu (%s): ", relation->step,
	       mechanism_of(transplant, relation->step),
	       relation->by_merge ? (requires ? "is written on" : "is written beside") :
	       requires           ? "requires" :
				    "conflicts with",
	       relation->other, mechanism_of(transplant, relation->other));
	if (relation->by_merge)
		printf("%s %s it\n", relation->class_, requires ? "without" : "with");
	else
		printf("fails (%s) %s it, passes %s it\n", relation->class_,
		       requires ? "without" : "with", requires ? "with" : "without");
}

/* Print the relations that were judged, or those that rest on the text alone. */
static void print_relations(const struct kl_transplant *transplant,
			    const struct kl_relations *relations, size_t step, bool by_merge)
{
	bool any = false;

	for (size_t i = 0; i < relations->n; i++) {
		const struct kl_relation *relation = &relations->v[i];

		if (relation->by_merge != by_merge ||
		    (step && relation->step != step && relation->other != step))
			continue;
		if (!any)
			putchar('\n');
		any = true;
		print_relation(transplant, relation);
	}
}

static void print_interactions(const struct kl_transplant *transplant, size_t first, size_t last)
{
	bool any = false;

	for (size_t step = first; step <= last; step++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		struct kl_ratio ratio;

		if (step == kl_transplant_steps(transplant) ||
		    !kl_relations_interaction(&ratio, transplant, step))
			continue;
		kl_transplant_add_ratio(&text, &ratio);
		if (!any)
			putchar('\n');
		any = true;
		printf("K_%zu (%s) gains %s at K*: %s of its gain at its own place\n", step,
		       mechanism_of(transplant, step), ratio.lo > 1000000 ? "more" : "less",
		       text.ptr);
	}
}

static void print_counts(const struct kl_transplant *transplant)
{
	printf("\n%zu verdict%s reached, %zu known from earlier runs\n", transplant->judged,
	       transplant->judged == 1 ? "" : "s", transplant->known);
	if (transplant->late)
		printf("the time of --seconds is spent: run the command again to judge the rest\n");
}

void kl_transplant_print(const struct kl_transplant *transplant, size_t step, int64_t within_ppm)
{
	size_t first = step ? step : 1, last = step ? step : kl_transplant_steps(transplant);
	KL_AUTO(kl_relations_release) struct kl_relations relations = { 0 };

	kl_relations_find(&relations, transplant);
	printf("%s/%s: %zu steps on %s\n\n", transplant->view.workload, transplant->view.name,
	       kl_transplant_steps(transplant),
	       transplant->view.step[0].step.platform ? transplant->view.step[0].step.platform :
							"an unknown platform");
	print_cells(transplant, first, last);
	print_findings(transplant, &relations, first, last, within_ppm);
	print_relations(transplant, &relations, step, false);
	print_relations(transplant, &relations, step, true);
	print_interactions(transplant, first, last);
	print_counts(transplant);
}
