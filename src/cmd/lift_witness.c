/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/lift_witness.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
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

static json_t *words_json(const struct kl_strvec *v)
{
	json_t *a = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(a, json_string(v->v[i]));
	return a;
}

static json_t *clause_json(const struct kl_witness_clause *c)
{
	json_t *j = json_object();

	kl_json_set_str(j, "text", c->text);
	kl_json_set_str(j, "end", word_of(c->end));
	kl_json_set_str(j, "class", *c->class_ ? c->class_ : NULL);
	kl_json_set_str(j, "event", c->end == KL_WITNESS_OPEN ? NULL : c->event);
	kl_json_set_str(j, "at", c->end == KL_WITNESS_OPEN ? NULL : c->at);
	kl_json_set_str(j, "why", c->end == KL_WITNESS_OPEN ? c->why : NULL);
	kl_json_set(j, "runs", words_json(&c->plan));
	return j;
}

static json_t *result_json(const struct kl_witness_result *r)
{
	json_t *j = json_object(), *clauses = json_array();

	for (size_t i = 0; i < r->n; i++)
		json_array_append_new(clauses, clause_json(&r->clause[i]));
	kl_json_set_str(j, "card", r->card);
	kl_json_set_str(j, "condition", r->pre);
	kl_json_set_bool(j, "changed", r->put);
	kl_json_set(j, "clauses", clauses);
	return j;
}

/* One for each clause, where a program wants lines. */
static json_t *rows_json(const struct kl_witness *w)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->v[i].n; k++) {
			json_t *row = clause_json(&w->v[i].clause[k]);

			kl_json_set_str(row, "card", w->v[i].card);
			kl_json_set_str(row, "condition", w->v[i].pre);
			json_array_append_new(rows, row);
		}
	return rows;
}

static void print_notes(const struct kl_witness *w)
{
	for (size_t i = 0; i < w->notes.n; i++)
		fprintf(stderr, "left out: %s\n", w->notes.v[i]);
}

static void print_listing(const struct kl_listing *out, const struct kl_witness *w, bool dry)
{
	static const char *const fields[] = { "card",  "condition", "text", "end", "class",
					      "event", "at",        "why",  NULL };
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < w->n; i++)
		json_array_append_new(list, result_json(&w->v[i]));
	kl_json_set_str(j, "schema", "klineage.witness/1");
	kl_json_set_bool(j, "dry_run", dry);
	kl_json_set_bool(j, "limited", w->limited);
	kl_json_set_int(j, "runs", (int64_t)w->runs);
	kl_json_set(j, "conditions", list);
	kl_json_set(j, "left_out", words_json(&w->notes));
	if (!out->json) {
		kl_json_set(j, "rows", rows_json(w));
		print_notes(w);
	}
	kl_listing_print(out, j, "rows", fields);
}

static void print_clause(const struct kl_witness_clause *c, bool dry)
{
	printf("  %s: ", c->text);
	if (c->end == KL_WITNESS_FAILS)
		printf("witnessed, %s; %s; event %.12s\n", c->class_, c->at, c->event);
	else if (c->end == KL_WITNESS_PASSES)
		printf("not needed; %s; event %.12s\n", c->at, c->event);
	else if (!dry)
		printf("open: %s\n", c->why ? c->why : "nothing was judged");
	else if (!c->plan.n)
		printf("nothing to judge%s%s\n", c->why ? ": " : "", c->why ? c->why : "");
	else
		printf("would be judged\n");
	for (size_t i = 0; dry && c->end == KL_WITNESS_OPEN && i < c->plan.n; i++)
		printf("    %s\n", c->plan.v[i]);
}

static void print_table(const struct kl_witness *w, bool dry)
{
	size_t n[3] = { 0 };

	for (size_t i = 0; i < w->n; i++) {
		const struct kl_witness_result *r = &w->v[i];

		printf("%s '%s'%s\n", r->card, r->pre, r->put ? ", changed" : "");
		for (size_t k = 0; k < r->n; k++) {
			n[r->clause[k].end]++;
			print_clause(&r->clause[k], dry);
		}
	}
	print_notes(w);
	printf("%zu clause%s of %zu condition%s: %zu witnessed, %zu not needed, %zu open; %zu gate run%s%s\n",
	       n[0] + n[1] + n[2], n[0] + n[1] + n[2] == 1 ? "" : "s", w->n, w->n == 1 ? "" : "s",
	       n[KL_WITNESS_FAILS], n[KL_WITNESS_PASSES], n[KL_WITNESS_OPEN], w->runs,
	       w->runs == 1 ? "" : "s", w->limited ? ", which was the limit" : "");
}

static int seek_witness(struct kl_witness *w, struct kl_repo *r, const struct kl_strvec *cards,
			const struct kl_lift_witness *o)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = o->quiet ?
									  NULL :
									  kl_progress_new(
										  KL_PROGRESS_AUTO);
	KL_AUTO(kl_transitions_release) struct kl_transitions t = { 0 };
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *tax = NULL;
	const char *who;
	int err = o->dry ? 0 : kl_repo_identity(&who, r);

	if (err < 0 || (err = kl_library_open(&lib, r)) < 0 || (err = kl_taxonomy_load(&tax)) < 0 ||
	    (err = kl_transitions_load(&t, r, NULL)) < 0)
		return err;
	return kl_witness_seek(w, &(struct kl_witness_opts){
					  .repo = r,
					  .library = lib,
					  .tax = tax,
					  .t = &t,
					  .cards = cards,
					  .dry = o->dry,
					  .limit = o->runs ? (size_t)o->runs : KL_WITNESS_RUNS,
					  .progress = progress,
				  });
}

int kl_lift_witness(struct kl_repo *r, int argc, char **argv, const struct kl_lift_witness *o)
{
	KL_AUTO(kl_witness_release) struct kl_witness w = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec cards = KL_STRVEC_INIT;
	int err;

	if (o->runs < 0)
		return kl_error(KL_EUSAGE, "--runs takes a number from 1 on");
	for (int i = 0; i < argc; i++)
		kl_strvec_push(&cards, argv[i]);
	if ((err = seek_witness(&w, r, &cards, o)) < 0)
		return err;
	if (kl_listing_asked(&o->out))
		print_listing(&o->out, &w, o->dry);
	else
		print_table(&w, o->dry);
	if (w.cannot && !w.verdicts)
		return kl_error(KL_ECANNOT, "nothing could be judged here: %s", w.cannot);
	return 0;
}
