/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/skills_page.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/prefix.h"
#include "card/status.h"
#include "cmd/cli/table.h"

#define SHORT 12 /* digits of an event's id */

/* --- what ------------------------------------------------------------------------------------- */

static void print_list(const char *label, const struct kl_strvec *list)
{
	if (!list->n)
		return;
	printf("  %-12s", label);
	for (size_t i = 0; i < list->n; i++)
		printf("%s%s", i ? ", " : "", list->v[i]);
	putchar('\n');
}

/* Print the ways in which tools can apply the card in a language: "2 diffs, unroll-jam". */
static void print_ways(const struct kl_card *card, const char *language)
{
	size_t diffs = 0;

	for (size_t i = 0; i < card->carriers.n; i++)
		diffs += card->carriers.v[i].form == KL_CARRIER_DIFF &&
			 !strcmp(card->carriers.v[i].language, language);
	printf("  %-12s%s: ", "applied in", language);
	if (diffs)
		printf("%zu diff%s", diffs, diffs == 1 ? "" : "s");
	for (size_t i = 0; i < card->carriers.n; i++) {
		const struct kl_card_carrier *carrier = &card->carriers.v[i];

		if (strcmp(carrier->language, language) || carrier->form == KL_CARRIER_DIFF)
			continue;
		printf("%s%s", diffs++ ? ", " : "", kl_carrier_form_name(carrier->form));
		if (carrier->form == KL_CARRIER_TRANSFORM)
			printf(" %.*s", (int)strcspn(carrier->text, "\n"), carrier->text);
	}
	puts(diffs ? "" : "only by a person or a model");
}

static void print_what(const struct kl_card *card)
{
	printf("%s (%s)\n\n  %s\n\n", card->id, kl_card_status_name(card->status), card->intent);
	if (card->mechanism)
		printf("  %-12s%s%s\n", "mechanism", card->mechanism,
		       card->unlisted ? " (not in the list of mechanisms)" : "");
	printf("  %-12s%s\n", "where", card->anchor.construct);
	print_list("operators", &card->scope.cases);
	for (size_t i = 0; i < card->scope.languages.n; i++)
		print_ways(card, card->scope.languages.v[i]);
	print_list("brings", &card->provides);
	print_list("platform", &card->scope.needs);
	print_list("only after", &card->scope.requires);
	print_list("not with", &card->scope.conflicts);
	print_list("enables", &card->enables);
}

/* --- when ------------------------------------------------------------------------------------- */

/* Skip "<name> != '<value>' || " at *test, and return the value; NULL if it is not there. */
static char *skip_guard(const char **test, const char *name)
{
	KL_AUTO(kl_freep) char *guard = kl_asprintf("%s != '", name);
	const char *value = *test + strlen(guard), *end;

	if (!kl_prefix_has(*test, guard) || !(end = strstr(value, "' || ")) ||
	    memchr(value, '\'', (size_t)(end - value)))
		return NULL;
	*test = end + strlen("' || ");
	return kl_strndup(value, (size_t)(end - value));
}

/* Print a test with its guards in words: "cols % 4 == 0, in topk, in cuda". */
static void print_test(const char *test)
{
	KL_AUTO(kl_freep) char *language = skip_guard(&test, "language");
	KL_AUTO(kl_freep) char *op = skip_guard(&test, "op");
	size_t n = strlen(test);
	bool whole = *test == '(' && strchr(test, ')') == test + n - 1;

	printf("    %.*s", (int)(whole ? n - 2 : n), whole ? test + 1 : test);
	if (op)
		printf(", in %s", op);
	if (language)
		printf(", in %s", language);
	putchar('\n');
}

static void print_pre(const struct kl_card_pre *pre)
{
	if (pre->test)
		print_test(pre->test);
	else
		printf("    %s\n", pre->text);
	if (pre->test && pre->state != KL_PRE_NOT_TESTED)
		printf("      %s\n", pre->text);
	if (pre->source)
		printf("      written in %s\n", pre->source);
	if (pre->by && pre->state == KL_PRE_NOT_NEEDED)
		printf("      where it was false the code was right: event %.*s\n", SHORT, pre->by);
	else if (pre->by)
		printf("      where it was false: %s, event %.*s\n",
		       pre->class_ ? pre->class_ : "failed", SHORT, pre->by);
	if (pre->pair)
		printf("      the code before the step passed there: event %.*s\n", SHORT,
		       pre->pair);
}

/* Print the conditions of a list that are in one state, below a heading. */
static size_t print_state(const struct kl_card_pre *pre, size_t n, enum kl_pre_state state,
			  const char *heading)
{
	size_t printed = 0;

	for (size_t i = 0; i < n; i++) {
		if (pre[i].state != state)
			continue;
		if (!printed++)
			printf("  %s\n", heading);
		print_pre(&pre[i]);
	}
	return printed;
}

static void print_when(const struct kl_card *card)
{
	size_t n = 0;

	puts("\nWhen");
	n += print_state(card->sound.v, card->sound.n, KL_PRE_WITNESSED,
			 "right only if (a kernel failed without it)");
	n += print_state(card->sound.v, card->sound.n, KL_PRE_ASSUMED,
			 "right only if (assumed: no kernel was seen to fail without it)");
	n += print_state(card->useful.v, card->useful.n, KL_PRE_WITNESSED,
			 "faster only if (a kernel was slower without it)");
	n += print_state(card->useful.v, card->useful.n, KL_PRE_ASSUMED,
			 "faster only if (assumed: it was so wherever it was measured)");
	n += print_state(card->sound.v, card->sound.n, KL_PRE_NOT_NEEDED, "not needed");
	n += print_state(card->sound.v, card->sound.n, KL_PRE_NOT_TESTED,
			 "not tested (the kernels that it was learned from promise it; it may be "
			 "more than is needed)");
	if (!n)
		puts("  no condition is known");
}

/* --- how much --------------------------------------------------------------------------------- */

static const char *row_source(const struct kl_card *card, const struct kl_card_row *row)
{
	if (row->by == KL_ROW_REDERIVED)
		return "re-derived";
	if (row->by == KL_ROW_TRIAL)
		return kl_card_row_is_verified(card, row) ? "trial" : "trial elsewhere";
	return "its own step";
}

static char *sizes_text(const struct kl_card_dims *dims)
{
	struct kl_buf text = KL_BUF_INIT;

	for (size_t i = 0; i < dims->n; i++)
		kl_buf_addf(&text, "%s%s %lld", i ? ", " : "", dims->v[i].name,
			    (long long)dims->v[i].v);
	return kl_buf_detach(&text);
}

static void add_ratio(struct kl_buf *out, const struct kl_ratio *ratio)
{
	if (!ratio->ppm) {
		kl_buf_adds(out, "-");
		return;
	}
	kl_buf_addf(out, "%.2fx", (double)ratio->ppm / 1e6);
	if (ratio->hi)
		kl_buf_addf(out, " [%.2f, %.2f]", (double)ratio->lo / 1e6, (double)ratio->hi / 1e6);
}

static void print_gains(const struct kl_card *card)
{
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 6 };

	puts("\nHow much");
	kl_table_row(&table, (const char *[]){ "  operator", "sizes", "dtype", "platform",
					       "gain [interval]", "measured by" });
	for (size_t i = 0; i < card->rows.n; i++) {
		const struct kl_card_row *row = &card->rows.v[i];
		KL_AUTO(kl_freep) char *op = kl_asprintf("  %s", row->case_);
		KL_AUTO(kl_freep) char *sizes = sizes_text(&row->dims);
		KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;

		add_ratio(&ratio, &row->ratio);
		kl_table_row(&table, (const char *[]){ op, sizes, row->dtype, row->platform,
						       ratio.ptr, row_source(card, row) });
	}
	if (card->rows.n)
		kl_table_print(&table);
	else
		puts("  nothing was measured");
}

/* --- proof ------------------------------------------------------------------------------------ */

static void print_evidence(const struct kl_card *card)
{
	printf("  learned from %zu step%s\n", card->evidence.n, card->evidence.n == 1 ? "" : "s");
	for (size_t i = 0; i < card->evidence.n; i++) {
		const struct kl_card_evidence *evidence = &card->evidence.v[i];

		printf("    %s step %lld on %s: %s, event %.*s\n", evidence->lineage,
		       (long long)evidence->step, evidence->platform,
		       evidence->derivation == KL_DERIVED_INVERSE ? "the history, read forward" :
		       evidence->derivation == KL_DERIVED_ANEW    ? "derived anew in isolation" :
								    "derived anew",
		       SHORT, evidence->event);
		for (size_t k = 0; k < evidence->also.n; k++)
			printf("      %s\n", evidence->also.v[k]);
		for (size_t k = 0; k < evidence->measured.n; k++)
			printf("      measured: %s\n", evidence->measured.v[k]);
	}
}

static void print_trial(const struct kl_card_trial *trial)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_buf_addf(&text, "    %s state %.10s: %s",
		    trial->lineage ? trial->lineage : trial->workload, trial->state,
		    trial->result == KL_RESULT_PASS ? "passed" : trial->class_);
	if (trial->ratio.ppm) {
		kl_buf_adds(&text, ", ");
		add_ratio(&text, &trial->ratio);
	}
	kl_buf_addf(&text, ", %s%s", trial->how == KL_HOW_AGENT ? "by a model" : "by a tool",
		    trial->foreign ? ", in another library" : "");
	if (trial->control.there) {
		kl_buf_addf(&text, "; the intent alone: %s",
			    trial->control.result == KL_RESULT_PASS ? "passed" :
								      trial->control.class_);
		if (trial->control.ratio.ppm) {
			kl_buf_adds(&text, ", ");
			add_ratio(&text, &trial->control.ratio);
		}
	}
	puts(text.ptr);
}

/* Print the trials of one level; a level without trials is not printed. */
static void print_level(const struct kl_card *card, enum kl_level level)
{
	size_t trials = 0, passed = 0;

	for (size_t i = 0; i < card->ver.n; i++)
		if (!card->ver.v[i].retracted && card->ver.v[i].level == level) {
			trials++;
			passed += card->ver.v[i].result == KL_RESULT_PASS;
		}
	if (!trials)
		return;
	printf("  trials, %s: %zu of %zu passed\n", kl_level_name(level), passed, trials);
	for (size_t i = 0; i < card->ver.n; i++)
		if (!card->ver.v[i].retracted && card->ver.v[i].level == level)
			print_trial(&card->ver.v[i]);
}

static void print_proof(const struct kl_card *card)
{
	bool tried = false;

	puts("\nProof");
	print_evidence(card);
	for (int level = KL_LEVEL_OTHER_PLATFORM; level >= KL_LEVEL_OTHER_STATE; level--)
		print_level(card, level);
	for (size_t i = 0; i < card->ver.n; i++) {
		if (card->ver.v[i].retracted)
			printf("  retracted by %s: %s\n", card->ver.v[i].by,
			       card->ver.v[i].retracted);
		else
			tried = true;
	}
	if (!tried)
		puts("  not tried on another kernel yet");
	if (card->risk.n)
		puts("\nRisks");
	for (size_t i = 0; i < card->risk.n; i++)
		printf("  %s: %s\n", card->risk.v[i].class_, card->risk.v[i].text);
}

/* --- how -------------------------------------------------------------------------------------- */

/* Name the step that a carrier was taken from. */
static void print_origin(const struct kl_card *card, const struct kl_card_carrier *carrier)
{
	for (size_t i = 0; carrier->of && i < card->evidence.n; i++)
		if (!strcmp(card->evidence.v[i].event, carrier->of))
			printf(", of %s step %lld", card->evidence.v[i].lineage,
			       (long long)card->evidence.v[i].step);
}

static void print_how(const struct kl_card *card)
{
	for (size_t i = 0; i < card->carriers.n; i++) {
		const struct kl_card_carrier *carrier = &card->carriers.v[i];
		size_t n = strlen(carrier->text);

		if (carrier->form == KL_CARRIER_TRANSFORM)
			continue; /* its name is above */
		printf("\nHow: %s, %s", carrier->language, kl_carrier_form_name(carrier->form));
		print_origin(card, carrier);
		printf("\n\n%s%s", carrier->text, n && carrier->text[n - 1] == '\n' ? "" : "\n");
	}
}

void kl_skills_page(const struct kl_card *card)
{
	print_what(card);
	print_when(card);
	print_gains(card);
	print_proof(card);
	print_how(card);
}
