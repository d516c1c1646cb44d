/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/probe_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/table.h"
#include "cmd/probe_steps.h"

/* The clauses of one card, or of all cards. */
struct tally {
	size_t steps,
		tested; /* number of steps that are here, and of those with points that count */
	size_t points;
	size_t state[KL_PROBE_FINDING_NOT_TESTED + 1];
	size_t unexplained;
	size_t held, held_right, drawn, drawn_right, drawn_fails;
};

struct tabling {
	struct kl_repo *repo;
	const struct kl_probe_table *args;
	struct kl_taxonomy *tax;
	struct kl_progress *progress;
	struct kl_gate *gate; /* opened for the first step; else NULL */
	struct kl_table table;
	json_t *cards; /* NULL to print for people */
	struct tally all;
	size_t n, absent; /* number of cards, and of those without a step here */
	int64_t end_ns;
	bool interrupted;
	char *stopped; /* why the gate could not judge some step, or NULL */
};

static void tabling_release(struct tabling *tabling)
{
	kl_gate_free(tabling->gate);
	kl_progress_free(tabling->progress);
	kl_taxonomy_free(tabling->tax);
	kl_table_release(&tabling->table);
	free(tabling->stopped);
}

/* --- counting --------------------------------------------------------------------------------- */

static void add_tally(struct tally *to, const struct tally *from)
{
	to->steps += from->steps;
	to->tested += from->tested;
	to->points += from->points;
	for (size_t i = 0; i < KL_ARRAY_SIZE(to->state); i++)
		to->state[i] += from->state[i];
	to->unexplained += from->unexplained;
	to->held += from->held;
	to->held_right += from->held_right;
	to->drawn += from->drawn;
	to->drawn_right += from->drawn_right;
	to->drawn_fails += from->drawn_fails;
}

/* Return the counts of one step's findings. */
static struct tally tally_of(const struct kl_probe_findings *findings)
{
	struct tally out = {
		.steps = 1,
		.tested = findings->tested > 0,
		.points = findings->tested,
		.unexplained = findings->unexplained,
		.held = findings->held,
		.held_right = findings->held_right,
		.drawn = findings->drawn,
		.drawn_right = findings->drawn_right,
		.drawn_fails = findings->drawn_fails,
	};

	for (size_t i = 0; i < findings->n; i++)
		out.state[findings->v[i].state]++;
	return out;
}

static int count_step(struct tally *to, struct tabling *tabling, const struct kl_probe_steps *steps,
		      size_t i, int64_t ms)
{
	const struct kl_probe_step *step = &steps->v[i];
	const struct kl_surface *state[] = { step->before, step->after };
	KL_AUTO(kl_probing_release) struct kl_probing probe = { .n = 0 };
	KL_AUTO(kl_probe_findings_release) struct kl_probe_findings findings = { .n = 0 };
	struct tally tally;
	struct kl_probing_opts opts = {
		.repo = tabling->repo,
		.tax = tabling->tax,
		.progress = tabling->progress,
		.jail = tabling->args->jail,
		.platform = tabling->args->platform,
		.ms = ms,
		.check = tabling->args->check,
	};
	int err = tabling->gate ? 0 : kl_probing_gate(&tabling->gate, &opts);

	/* A table does not wait for results from elsewhere. They count once they are imported. */
	if (!err && kl_gate_is_remote(tabling->gate))
		opts.ms = 0;
	if (!err)
		err = kl_probing_run(&probe, tabling->gate, state, 2, &opts);
	if (!err)
		err = kl_probe_step_learn(&findings, &probe, step, steps->card);
	if (err < 0)
		return err;
	tally = tally_of(&findings);
	add_tally(to, &tally);
	tabling->interrupted = probe.interrupted;
	if (probe.stopped && !tabling->stopped)
		tabling->stopped = kl_strdup(probe.stopped);
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void add_share(struct kl_strvec *cells, size_t part, size_t whole)
{
	if (whole)
		kl_strvec_pushf(cells, "%zu of %zu", part, whole);
	else
		kl_strvec_push(cells, "-");
}

static void add_row(struct tabling *tabling, const char *name, const struct tally *tally)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec cells = KL_STRVEC_INIT;

	kl_strvec_push(&cells, name);
	add_share(&cells, tally->tested, tally->steps);
	kl_strvec_pushf(&cells, "%zu", tally->points);
	for (size_t i = 0; i < KL_ARRAY_SIZE(tally->state); i++)
		kl_strvec_pushf(&cells, "%zu", tally->state[i]);
	kl_strvec_pushf(&cells, "%zu", tally->unexplained);
	add_share(&cells, tally->held_right, tally->held);
	add_share(&cells, tally->drawn_right, tally->drawn);
	kl_strvec_pushf(&cells, "%zu", tally->drawn_fails);
	kl_table_row(&tabling->table, (const char *const *)cells.v);
}

static json_t *tally_json(const char *name, const struct tally *tally)
{
	json_t *out = json_object();

	kl_json_set_str(out, "card", name);
	kl_json_set_int(out, "steps", (int64_t)tally->steps);
	kl_json_set_int(out, "tested", (int64_t)tally->tested);
	kl_json_set_int(out, "points", (int64_t)tally->points);
	for (size_t i = 0; i < KL_ARRAY_SIZE(tally->state); i++)
		kl_json_set_int(out, kl_probe_finding_state_names[i], (int64_t)tally->state[i]);
	kl_json_set_int(out, "unexplained", (int64_t)tally->unexplained);
	kl_json_set_int(out, "held", (int64_t)tally->held);
	kl_json_set_int(out, "held_right", (int64_t)tally->held_right);
	kl_json_set_int(out, "drawn", (int64_t)tally->drawn);
	kl_json_set_int(out, "drawn_right", (int64_t)tally->drawn_right);
	kl_json_set_int(out, "drawn_fails", (int64_t)tally->drawn_fails);
	return out;
}

static void begin_table(struct tabling *tabling)
{
	static const char *const heading[] = { "card",       "steps",        "points",
					       "witnessed",  "too strong",   "not needed",
					       "not tested", "unexplained",  "held back",
					       "drawn",      "of these fail" };

	tabling->table.columns = KL_ARRAY_SIZE(heading);
	kl_table_row(&tabling->table, heading);
}

/* --- all cards -------------------------------------------------------------------------------- */

/* Probe the steps of a card in `ms`, and add its row. A card without steps here is only counted. */
static int count_card(struct tabling *tabling, const char *id, int64_t ms)
{
	KL_AUTO(kl_probe_steps_release) struct kl_probe_steps steps = { .n = 0 };
	struct tally tally = { 0 };
	char *operand[] = { (char *)(uintptr_t)id };
	int err = kl_probe_steps_find(&steps, tabling->repo, 1, operand, NULL);

	if (err == KL_ECANNOT) {
		kl_error_clear();
		tabling->absent++;
		return 0;
	}
	for (size_t i = 0; i < steps.n && !err && !tabling->interrupted; i++) {
		kl_progress_title(tabling->progress, "%s, %s", id, steps.v[i].label);
		err = count_step(&tally, tabling, &steps, i, ms / (int64_t)steps.n);
	}
	if (err < 0)
		return kl_error_in(err, "card %s", id);
	add_tally(&tabling->all, &tally);
	if (tabling->cards)
		json_array_append_new(tabling->cards, tally_json(id, &tally));
	else
		add_row(tabling, id, &tally);
	tabling->n++;
	return 0;
}

static int count_cards(struct tabling *tabling)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec ids = KL_STRVEC_INIT;
	int err = kl_library_open(&library, tabling->repo);

	for (size_t i = 0; !err && i < kl_library_count(library); i++)
		kl_strvec_push(&ids, kl_library_id(library, i));
	if (!err && !ids.n)
		err = kl_error_hint(kl_error(KL_ENOTFOUND, "the library has no cards"),
				    "learn some with 'git klineage lift', or take those of this "
				    "program: git klineage skills import --shipped");
	for (size_t i = 0; i < ids.n && !err && !tabling->interrupted; i++) {
		int64_t rest = (tabling->end_ns - kl_clock_ns()) / 1000000;

		err = count_card(tabling, ids.v[i], rest > 0 ? rest / (int64_t)(ids.n - i) : 0);
	}
	return err;
}

static void print_end(struct tabling *tabling)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%zu cards", tabling->n);

	add_row(tabling, name, &tabling->all);
	kl_table_print(&tabling->table);
	if (tabling->absent)
		printf("%zu cards have no step in this repository\n", tabling->absent);
	if (tabling->stopped)
		printf("some steps were not judged: %s\n", tabling->stopped);
}

int kl_probe_table(struct kl_repo *repo, const struct kl_probe_table *args)
{
	KL_AUTO(tabling_release) struct tabling tabling = {
		.repo = repo,
		.args = args,
		.end_ns = kl_clock_ns() + args->seconds * 1000000000,
	};
	KL_AUTO(json_decrefp) json_t *document = args->json ? json_object() : NULL;
	int err = kl_taxonomy_load(&tabling.tax);

	if (document) {
		tabling.cards = json_array();
		kl_json_set_str(document, "schema", "klineage.probe-table/1");
		kl_json_set(document, "cards", tabling.cards);
	}
	if (!args->quiet)
		tabling.progress = kl_progress_new(args->progress ? KL_PROGRESS_ALWAYS :
								    KL_PROGRESS_AUTO);
	begin_table(&tabling);
	if (!err)
		err = count_cards(&tabling);
	kl_gate_free(kl_steal(&tabling.gate)); /* before the progress, which the gate uses */
	kl_progress_free(kl_steal(&tabling.progress));
	if (err < 0)
		return err;
	if (document) {
		kl_json_set(document, "all", tally_json(NULL, &tabling.all));
		kl_json_set_int(document, "absent", (int64_t)tabling.absent);
		kl_json_set_bool(document, "interrupted", tabling.interrupted);
		kl_json_set_str(document, "stopped", tabling.stopped);
		kl_listing_put(document);
	} else {
		print_end(&tabling);
	}
	return tabling.interrupted ? kl_error(KL_EINTR, "interrupted; what was judged is kept") : 0;
}
