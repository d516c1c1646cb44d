/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/findings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "retrieve/constants.h"
#include "text/yaml.h"

#define HELD_SEED 15 /* a fixed seed, so that every run makes the same halves */

const char *const kl_probe_finding_state_names[] = {
	[KL_PROBE_FINDING_WITNESSED] = "witnessed",
	[KL_PROBE_FINDING_STRONGER] = "stronger",
	[KL_PROBE_FINDING_NOT_NEEDED] = "not-needed",
	[KL_PROBE_FINDING_NOT_TESTED] = "not-tested",
	NULL,
};

void kl_probe_findings_release(struct kl_probe_findings *findings)
{
	for (size_t i = 0; i < findings->n; i++) {
		free(findings->v[i].text);
		free(findings->v[i].same);
		free(findings->v[i].why);
	}
	free(findings->v);
	kl_strvec_release(&findings->reasons);
	kl_strvec_release(&findings->bands);
	*findings = (struct kl_probe_findings){ .n = 0 };
}

/* --- the points that count -------------------------------------------------------------------- */

static bool counts(const struct kl_probing *probe, size_t i, size_t point)
{
	return probe->state[i - 1].side[point].end == KL_PROBE_PASSES &&
	       probe->state[i].side[point].end != KL_PROBE_UNTESTED;
}

/* Find the tensors whose addresses were changed at points that count. */
static void find_varied(bool *varied, const struct kl_probing *probe, size_t i)
{
	for (size_t k = 0; k < probe->points.n; k++)
		if (probe->points.v[k].base && k < probe->drawn && counts(probe, i, k))
			varied[probe->points.v[k].tensor] = true;
}

/*
 * Set the addresses of tensors to the same value if no point changed them by themselves. The gate
 * chooses addresses by the sizes, so such addresses say nothing about the step.
 */
static void forget_addresses(int64_t *value, const struct kl_quantities *quantities,
			     const bool *varied)
{
	for (size_t k = 0; k < quantities->n; k++)
		if (quantities->v[k].of == KL_QUANTITY_ALIGN && !varied[quantities->v[k].at])
			value[k] = KL_QUANTITY_PAGE;
}

/* Fill the table with the listed or with the drawn points that count. */
static void fill_table(struct kl_fit_table *table, size_t **point,
		       const struct kl_quantities *quantities, const struct kl_probing *probe,
		       size_t i, bool drawn)
{
	KL_AUTO(kl_freep) int64_t *value = kl_calloc(quantities->n + 1, sizeof(*value));
	bool varied[KL_MAX_ARGS] = { false };

	*table = (struct kl_fit_table){ .n = 0 };
	*point = kl_calloc(probe->points.n + 1, sizeof(**point));
	find_varied(varied, probe, i);
	for (size_t k = 0; k < quantities->n; k++)
		kl_fit_table_add(table, quantities->v[k].name, quantities->v[k].kind);
	for (size_t k = 0; k < probe->points.n; k++) {
		if (!counts(probe, i, k) || (k >= probe->drawn) != drawn)
			continue;
		kl_quantities_at(value, quantities, &probe->points.v[k]);
		forget_addresses(value, quantities, varied);
		(*point)[table->n] = k;
		kl_fit_table_row(table, value, probe->state[i].side[k].end == KL_PROBE_PASSES);
		if (!probe->points.v[k].base)
			kl_fit_table_loosen(table);
	}
}

void kl_probe_findings_table(struct kl_fit_table *table, size_t **point,
			     const struct kl_quantities *quantities, const struct kl_probing *probe,
			     size_t i)
{
	fill_table(table, point, quantities, probe, i, false);
}

/* Count the drawn points that the condition predicts. */
static void check_drawn(struct kl_probe_findings *out, const struct kl_fit *fit,
			const struct kl_quantities *quantities, const struct kl_probing *probe,
			size_t i)
{
	KL_AUTO(kl_fit_table_release) struct kl_fit_table table = { .n = 0 };
	KL_AUTO(kl_freep) size_t *point = NULL;

	fill_table(&table, &point, quantities, probe, i, true);
	out->drawn = table.n;
	for (size_t row = 0; row < table.n; row++) {
		out->drawn_fails += !table.pass[row];
		out->drawn_right += kl_fit_expects(fit, &table, row) == table.pass[row];
	}
}

/* Count one more point with this reason. Reasons that differ only in numbers are one reason. */
static void add_reason(struct kl_map *reasons, const char *why)
{
	size_t *n = kl_map_get(reasons, why);

	if (!n) {
		n = kl_calloc(1, sizeof(*n));
		kl_map_put(reasons, why, n);
	}
	++*n;
}

static char *blank_numbers(const char *why)
{
	char *out = kl_strndup(why, strcspn(why, "\n")), *to = out;

	for (const char *at = out; *at; at++)
		if (*at < '0' || *at > '9')
			*to++ = *at;
		else if (to == out || to[-1] != '#')
			*to++ = '#';
	*to = '\0';
	return out;
}

static void count_points(struct kl_probe_findings *out, const struct kl_probing *probe, size_t i)
{
	KL_AUTO(kl_map_release) struct kl_map reasons = { .free_value = free };

	out->before_fails_point = KL_PROBE_FINDING_NOWHERE;
	for (size_t k = 0; k < probe->points.n && k < probe->drawn; k++) {
		const struct kl_probe_side *before = &probe->state[i - 1].side[k],
					   *after = &probe->state[i].side[k];
		const char *why = before->why && before->end == KL_PROBE_UNTESTED ? before->why :
										    after->why;

		if (!before->asked || !after->asked)
			continue;
		if (before->end == KL_PROBE_FAILS) {
			out->before_fails++;
			out->repaired += after->end == KL_PROBE_PASSES;
			if (out->before_fails_point == KL_PROBE_FINDING_NOWHERE)
				out->before_fails_point = k;
		} else if (!counts(probe, i, k)) {
			KL_AUTO(kl_freep) char *same = blank_numbers(why ? why : "no reason");

			out->untested++;
			add_reason(&reasons, same);
		}
	}
	for (size_t k = 0; k < reasons.n; k++)
		kl_strvec_pushf(&out->reasons, "%zu: %s", *(size_t *)reasons.e[k].value,
				reasons.e[k].key);
}

/* --- measured clauses ------------------------------------------------------------------------- */

static struct kl_probe_finding *add_finding(struct kl_probe_findings *out, const char *text,
					    const char *source)
{
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n] = (struct kl_probe_finding){
		.text = kl_strdup(text),
		.source = source,
		.fail_point = KL_PROBE_FINDING_NOWHERE,
		.pass_point = KL_PROBE_FINDING_NOWHERE,
	};
	return &out->v[out->n++];
}

static void add_measured(struct kl_probe_findings *out, const struct kl_fit *fit,
			 const size_t *point)
{
	for (size_t i = 0; i < fit->n; i++) {
		const struct kl_fit_clause *clause = &fit->v[i];
		struct kl_probe_finding *finding = add_finding(out, clause->text, "measured");

		finding->same = clause->same ? kl_strdup(clause->same) : NULL;
		finding->fails = clause->fails;
		finding->passes = clause->passes;
		finding->fail_point = point[clause->fail_row];
		finding->pass_point = point[clause->pass_row];
	}
}

/* Name the inputs with which the step fails where all measured clauses are true. */
static void list_unexplained(struct kl_probe_findings *out, const struct kl_probing *probe,
			     size_t i, const struct kl_fit *fit, const struct kl_fit_table *table,
			     const size_t *point)
{
	KL_AUTO(kl_map_release) struct kl_map bands = { .free_value = free };

	out->unexplained_point = KL_PROBE_FINDING_NOWHERE;
	for (size_t row = 0; row < table->n && out->unexplained; row++) {
		const struct kl_probe_side *side = &probe->state[i].side[point[row]];

		if (table->pass[row] || !kl_fit_predicts(fit, table, row))
			continue;
		if (out->unexplained_point == KL_PROBE_FINDING_NOWHERE)
			out->unexplained_point = point[row];
		if (side->event)
			add_reason(&bands,
				   kl_json_str_or(json_object_get(side->event->correct, "failure"),
						  "band", "all"));
	}
	for (size_t k = 0; k < bands.n; k++)
		kl_strvec_pushf(&out->bands, "%zu: %s", *(size_t *)bands.e[k].value,
				bands.e[k].key);
}

/* --- stated clauses --------------------------------------------------------------------------- */

/* Everything that is needed to compare a clause with the points. */
struct asking {
	const struct kl_fit *fit;
	const struct kl_fit_table *table;
	const size_t *point;
	struct kl_known *known; /* the facts of each row */
};

static enum kl_truth *truths_of(const struct asking *asking, const char *text)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *predicate = NULL;
	enum kl_truth *out = kl_calloc(asking->table->n + 1, sizeof(*out));

	if (kl_predicate_parse(&predicate, text, NULL) < 0)
		kl_error_clear();
	for (size_t row = 0; row < asking->table->n; row++)
		out[row] = predicate ? kl_predicate_eval(predicate, &asking->known[row]) :
				       KL_UNKNOWN;
	return out;
}

static bool is_true_somewhere(const enum kl_truth *truth, size_t n)
{
	for (size_t row = 0; row < n; row++)
		if (truth[row] == KL_TRUE)
			return true;
	return false;
}

/*
 * Return the first measured clause that is false only where the stated clause is false; NULL if
 * there is none, or the stated clause is true nowhere, which says nothing.
 */
static const struct kl_fit_clause *implied_clause(const struct asking *asking,
						  const enum kl_truth *truth)
{
	for (size_t i = 0; i < asking->fit->n; i++) {
		bool implied = is_true_somewhere(truth, asking->table->n);

		for (size_t row = 0; row < asking->table->n && implied; row++)
			implied = truth[row] == KL_FALSE ||
				  kl_fit_holds(&asking->fit->v[i], asking->table, row);
		if (implied)
			return &asking->fit->v[i];
	}
	return NULL;
}

/* Count the rows of each kind and remember one of each. */
static bool count_rows(struct kl_probe_finding *finding, const struct asking *asking,
		       const enum kl_truth *truth)
{
	size_t free_point = KL_PROBE_FINDING_NOWHERE;
	bool known = false;

	for (size_t row = 0; row < asking->table->n; row++) {
		bool pass = asking->table->pass[row];

		known = known || truth[row] != KL_UNKNOWN;
		if (truth[row] == KL_TRUE && pass) {
			finding->passes++;
			finding->pass_point = asking->point[row];
		} else if (truth[row] == KL_FALSE && pass) {
			finding->free++;
			free_point = asking->point[row];
		} else if (truth[row] == KL_FALSE) {
			finding->fails++;
			finding->fail_point = asking->point[row];
		}
	}
	if (finding->free)
		finding->pass_point = free_point;
	return known;
}

static void ask_clause(struct kl_probe_findings *out, const struct asking *asking,
		       const struct kl_probe_finding_question *question)
{
	struct kl_probe_finding *finding = add_finding(out, question->text, question->source);
	KL_AUTO(kl_freep) enum kl_truth *truth = truths_of(asking, question->text);
	const struct kl_fit_clause *implied = implied_clause(asking, truth);
	bool known = count_rows(finding, asking, truth);

	finding->state = KL_PROBE_FINDING_NOT_TESTED;
	if (!known && asking->table->n) {
		finding->why = kl_strdup("it is about more than a point: a probe cannot decide it");
	} else if (!finding->fails && !finding->free) {
		finding->why = kl_strdup(
			"at no point where it is false could both states be judged");
	} else if (implied && finding->free) {
		finding->state = KL_PROBE_FINDING_STRONGER;
		finding->why = kl_asprintf("'%s' is enough", implied->text);
	} else if (finding->free) {
		finding->state = KL_PROBE_FINDING_NOT_NEEDED;
	} else if (implied) {
		finding->state = KL_PROBE_FINDING_WITNESSED;
		finding->fail_point = asking->point[implied->fail_row];
		finding->pass_point = asking->point[implied->pass_row];
	} else {
		finding->why = kl_strdup("wherever it is false a measured clause is false as well");
	}
}

static void ask_clauses(struct kl_probe_findings *out, struct asking *asking,
			const struct kl_probing *probe, size_t i,
			const struct kl_quantities *quantities,
			const struct kl_probe_finding_question *question, size_t n)
{
	KL_AUTO(kl_constants_release) struct kl_card_dims constants = { 0 };
	size_t rows = asking->table->n;

	kl_constants_read(&constants, probe->state[i].surface);
	asking->known = kl_calloc(rows + 1, sizeof(*asking->known));
	for (size_t row = 0; row < rows; row++) {
		asking->known[row] = (struct kl_known)KL_KNOWN_INIT;
		for (size_t k = 0; k < constants.n; k++)
			kl_known_int(&asking->known[row], constants.v[k].name, constants.v[k].v);
		kl_quantities_facts(&asking->known[row], quantities,
				    &probe->points.v[asking->point[row]]);
	}
	for (size_t k = 0; k < n; k++)
		ask_clause(out, asking, &question[k]);
	for (size_t row = 0; row < rows; row++)
		kl_known_release(&asking->known[row]);
	free(asking->known);
}

/* --- one step --------------------------------------------------------------------------------- */

void kl_probe_findings_make(struct kl_probe_findings *out, const struct kl_probing *probe, size_t i,
			    const struct kl_probe_finding_question *question, size_t n)
{
	KL_AUTO(kl_quantities_release) struct kl_quantities quantities = { .n = 0 };
	KL_AUTO(kl_fit_table_release) struct kl_fit_table table = { .n = 0 };
	KL_AUTO(kl_fit_release) struct kl_fit fit = { .n = 0 };
	KL_AUTO(kl_freep) size_t *point = NULL;
	struct asking asking = { .fit = &fit, .table = &table };

	*out = (struct kl_probe_findings){ .n = 0 };
	count_points(out, probe, i);
	kl_step_facts_make(&out->facts, probe, i, NULL);
	kl_quantities_find(&quantities, probe->tax, probe->state[i].surface->contract);
	kl_probe_findings_table(&table, &point, &quantities, probe, i);
	kl_fit_find(&fit, &table, NULL);
	out->tested = table.n;
	out->fails = fit.fails;
	out->unexplained = fit.unexplained;
	add_measured(out, &fit, point);
	list_unexplained(out, probe, i, &fit, &table, point);
	check_drawn(out, &fit, &quantities, probe, i);
	if (fit.fails)
		kl_fit_check(&out->held_right, &out->held, &table, HELD_SEED);
	asking.point = point;
	ask_clauses(out, &asking, probe, i, &quantities, question, n);
}

/* --- what contract and plan state ------------------------------------------------------------- */

/* Append the texts of `require` of the surface's launch plan. */
static int read_require(struct kl_strvec *out, const struct kl_surface *surface)
{
	KL_AUTO(kl_yaml_freep) struct kl_yaml *top = NULL;
	const struct kl_yaml *require;
	int err = 0;

	for (size_t i = 0; surface->contract->launch && i < surface->nfile && !top && !err; i++)
		if (!strcmp(surface->file[i].path, surface->contract->launch))
			err = kl_yaml_parse(&top, surface->file[i].path, surface->file[i].data,
					    surface->file[i].len);
	if (err < 0 || !top)
		return err;
	require = kl_yaml_get(top, "require");
	for (size_t i = 0; require && require->kind == KL_YAML_SEQ && i < require->n; i++)
		if (require->item[i]->kind == KL_YAML_SCALAR)
			kl_strvec_push(out, require->item[i]->text);
	return 0;
}

int kl_probe_findings_stated(struct kl_strvec *texts, struct kl_strvec *sources,
			     const struct kl_surface *before, const struct kl_surface *after)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec had = KL_STRVEC_INIT, has = KL_STRVEC_INIT;
	const struct kl_contract *contract = after->contract;
	int err;

	if ((err = read_require(&had, before)) < 0 || (err = read_require(&has, after)) < 0)
		return err;
	for (size_t i = 0; i < has.n; i++)
		if (!kl_strvec_has(&had, has.v[i]))
			kl_strvec_push(texts, has.v[i]);
	while (sources->n < texts->n)
		kl_strvec_push(sources, "launch plan");
	for (size_t i = 0; i < contract->ndomain; i++)
		if (strchr(contract->domain_text[i], '%') || strstr(contract->domain_text[i], "=="))
			kl_strvec_push(texts, contract->domain_text[i]);
	while (sources->n < texts->n)
		kl_strvec_push(sources, "domain");
	return 0;
}
