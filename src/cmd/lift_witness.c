/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/lift_witness.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/send_away.h"
#include "gate/wave.h"
#include "learn/witness.h"

static const char *word_of(enum kl_witness_end end)
{
	static const char *const word[] = {
		[KL_WITNESS_OPEN] = "open",
		[KL_WITNESS_FAILS] = "witnessed",
		[KL_WITNESS_PASSES] = "not-needed",
	};

	return word[end];
}

static json_t *words_json(const struct kl_strvec *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(array, json_string(list->v[i]));
	return array;
}

static json_t *clause_json(const struct kl_witness_clause *clause)
{
	json_t *value = json_object();

	kl_json_set_str(value, "text", clause->text);
	kl_json_set_str(value, "end", word_of(clause->end));
	kl_json_set_str(value, "class", *clause->class_ ? clause->class_ : NULL);
	kl_json_set_str(value, "event", clause->end == KL_WITNESS_OPEN ? NULL : clause->event);
	kl_json_set_str(value, "at", clause->end == KL_WITNESS_OPEN ? NULL : clause->at);
	kl_json_set_str(value, "why", clause->end == KL_WITNESS_OPEN ? clause->why : NULL);
	kl_json_set(value, "runs", words_json(&clause->plan));
	return value;
}

static json_t *result_json(const struct kl_witness_result *result)
{
	json_t *value = json_object(), *clauses = json_array();

	for (size_t i = 0; i < result->n; i++)
		json_array_append_new(clauses, clause_json(&result->clause[i]));
	kl_json_set_str(value, "card", result->card);
	kl_json_set_str(value, "condition", result->pre);
	kl_json_set_bool(value, "changed", result->put);
	kl_json_set(value, "clauses", clauses);
	return value;
}

/* Return the rows of --porcelain: one row per clause. */
static json_t *rows_json(const struct kl_witness *witness)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < witness->n; i++)
		for (size_t k = 0; k < witness->v[i].n; k++) {
			json_t *row = clause_json(&witness->v[i].clause[k]);

			kl_json_set_str(row, "card", witness->v[i].card);
			kl_json_set_str(row, "condition", witness->v[i].pre);
			json_array_append_new(rows, row);
		}
	return rows;
}

static void print_notes(const struct kl_witness *witness)
{
	for (size_t i = 0; i < witness->notes.n; i++)
		fprintf(stderr, "left out: %s\n", witness->notes.v[i]);
}

static void print_listing(const struct kl_listing *out, const struct kl_witness *witness, bool dry)
{
	static const char *const fields[] = { "card",  "condition", "text", "end", "class",
					      "event", "at",        "why",  NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < witness->n; i++)
		json_array_append_new(list, result_json(&witness->v[i]));
	kl_json_set_str(value, "schema", "klineage.witness/1");
	kl_json_set_bool(value, "dry_run", dry);
	kl_json_set_bool(value, "limited", witness->limited);
	kl_json_set_int(value, "runs", (int64_t)witness->runs);
	kl_json_set_int(value, "waiting", (int64_t)witness->waiting);
	kl_json_set(value, "conditions", list);
	kl_json_set(value, "left_out", words_json(&witness->notes));
	if (!out->json) {
		kl_json_set(value, "rows", rows_json(witness));
		print_notes(witness);
	}
	kl_listing_print(out, value, "rows", fields);
}

static void print_clause(const struct kl_witness_clause *clause, bool dry)
{
	printf("  %s: ", clause->text);
	if (clause->end == KL_WITNESS_FAILS)
		printf("witnessed, %s; %s; event %.12s\n", clause->class_, clause->at,
		       clause->event);
	else if (clause->end == KL_WITNESS_PASSES)
		printf("not needed; %s; event %.12s\n", clause->at, clause->event);
	else if (!dry)
		printf("open: %s\n", clause->why ? clause->why : "nothing was judged");
	else if (!clause->plan.n)
		printf("nothing to judge%s%s\n", clause->why ? ": " : "",
		       clause->why ? clause->why : "");
	else
		printf("would be judged\n");
	for (size_t i = 0; dry && clause->end == KL_WITNESS_OPEN && i < clause->plan.n; i++)
		printf("    %s\n", clause->plan.v[i]);
}

static void print_table(const struct kl_witness *witness, bool dry)
{
	size_t n[3] = { 0 };

	for (size_t i = 0; i < witness->n; i++) {
		const struct kl_witness_result *result = &witness->v[i];

		printf("%s '%s'%s\n", result->card, result->pre, result->put ? ", changed" : "");
		for (size_t k = 0; k < result->n; k++) {
			n[result->clause[k].end]++;
			print_clause(&result->clause[k], dry);
		}
	}
	print_notes(witness);
	printf("%zu clause%s of %zu condition%s: %zu witnessed, %zu not needed, %zu open; %zu gate run%s%s\n",
	       n[0] + n[1] + n[2], n[0] + n[1] + n[2] == 1 ? "" : "s", witness->n,
	       witness->n == 1 ? "" : "s", n[KL_WITNESS_FAILS], n[KL_WITNESS_PASSES],
	       n[KL_WITNESS_OPEN], witness->runs, witness->runs == 1 ? "" : "s",
	       witness->limited ? " (the limit)" : "");
}

/* What a wave of the search needs (gate/wave.h). */
struct seeking {
	struct kl_witness *witness;
	struct kl_witness_opts opts;
};

/* The library may have got conditions from an earlier wave, so open it in each. */
static int seek_wave(void *payload)
{
	struct seeking *seeking = payload;
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	int err = kl_library_open(&library, seeking->opts.repo);

	if (err < 0)
		return err;
	kl_witness_release(seeking->witness);
	seeking->opts.library = library;
	return kl_witness_seek(seeking->witness, &seeking->opts);
}

/* Without a gate the search still finds what existing events decide. */
static int run_waves(struct kl_wave *wave, struct seeking *seeking)
{
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	KL_AUTO(kl_freep) char *why = NULL;
	struct kl_witness_opts *opts = &seeking->opts;
	int err = opts->dry ? 0 : kl_witness_gate(&gate, opts->repo, NULL, opts->progress);

	if (err == KL_ECANNOT) {
		opts->no_gate = why = kl_strdup(kl_error_last());
		kl_error_clear();
	} else if (err < 0) {
		return err;
	}
	opts->gate = gate;
	return gate ? kl_wave_run(wave, gate, seek_wave, seeking) : seek_wave(seeking);
}

static int seek_witness(struct kl_witness *witness, struct kl_wave *wave, struct kl_repo *repo,
			const struct kl_strvec *cards, const struct kl_lift_witness *args)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = args->quiet ?
									  NULL :
									  kl_progress_new(
										  KL_PROGRESS_AUTO);
	KL_AUTO(kl_transitions_release) struct kl_transitions transitions = { 0 };
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	struct seeking seeking = {
		.witness = witness,
		.opts = {
			.repo = repo,
			.t = &transitions,
			.cards = cards,
			.dry = args->dry,
			.limit = args->runs ? (size_t)args->runs : KL_WITNESS_RUNS,
			.progress = progress,
		},
	};
	const char *who;
	int err = args->dry ? 0 : kl_repo_identity(&who, repo);

	if (err < 0 || (err = kl_taxonomy_load(&tax)) < 0 ||
	    (err = kl_transitions_load(&transitions, repo, NULL)) < 0)
		return err;
	seeking.opts.tax = tax;
	return run_waves(wave, &seeking);
}

int kl_lift_witness(struct kl_repo *repo, int argc, char **argv, const struct kl_lift_witness *args)
{
	KL_AUTO(kl_witness_release) struct kl_witness witness = { 0 };
	KL_AUTO(kl_wave_release) struct kl_wave wave = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec cards = KL_STRVEC_INIT;
	int err;

	if (args->runs < 0)
		return kl_error(KL_EUSAGE, "--runs must not be negative");
	for (int i = 0; i < argc; i++)
		kl_strvec_push(&cards, argv[i]);
	if ((err = seek_witness(&witness, &wave, repo, &cards, args)) < 0)
		return err;
	if (kl_listing_asked(&args->out))
		print_listing(&args->out, &witness, args->dry);
	else
		print_table(&witness, args->dry);
	if (witness.waiting)
		return kl_send_away_wait(&wave.sent, "this command again");
	if (witness.cannot && !witness.verdicts)
		return kl_error(KL_ECANNOT, "nothing could be judged here: %s", witness.cannot);
	return 0;
}
