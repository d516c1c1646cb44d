/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "cmd/table.h"
#include "skill/lift.h"

static const char synopsis[] = "lift [<options>] [<lineage or directory>...]";

static json_t *result_json(const struct kl_lift_result *r)
{
	json_t *j = json_object(), *from = json_array();

	for (size_t i = 0; i < r->n; i++) {
		json_t *t = json_object();

		kl_json_set_str(t, "lineage", r->t[i]->lineage);
		kl_json_set_int(t, "step", r->t[i]->step.number);
		json_array_append_new(from, t);
	}
	kl_json_set_str(j, "id", r->card->id);
	kl_json_set_bool(j, "new", !r->old);
	kl_json_set_str(j, "status", kl_card_status_name(r->card->status));
	kl_json_set_str(j, "mechanism", r->card->mechanism);
	kl_json_set_int(j, "gained", (int64_t)r->gained);
	kl_json_set_int(j, "evidence", (int64_t)r->card->evidence.n);
	kl_json_set(j, "from", from);
	return j;
}

static void print_json(const struct kl_lift *l, const struct kl_transitions *t, bool dry)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	json_t *cards = json_array(), *notes = json_array();

	for (size_t i = 0; i < l->n; i++)
		json_array_append_new(cards, result_json(&l->v[i]));
	for (size_t i = 0; i < l->notes.n; i++)
		json_array_append_new(notes, json_string(l->notes.v[i]));
	kl_json_set_str(j, "schema", "klineage.lift/1");
	kl_json_set_bool(j, "dry_run", dry);
	kl_json_set_int(j, "lineages", (int64_t)t->lineages.n);
	kl_json_set_int(j, "transitions", (int64_t)t->n);
	kl_json_set_int(j, "used", (int64_t)l->used);
	kl_json_set(j, "cards", cards);
	kl_json_set(j, "left_out", notes);
	kl_json_canonical(&b, j);
	puts(b.ptr);
}

static void print_table(const struct kl_lift *l, const struct kl_transitions *t)
{
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = 5 };

	kl_table_row(&table, (const char *[]){ "", "card", "evidence", "rows", "learned from" });
	for (size_t i = 0; i < l->n; i++) {
		const struct kl_lift_result *r = &l->v[i];
		KL_AUTO(kl_freep) char *evidence = kl_asprintf("%zu", r->card->evidence.n);
		KL_AUTO(kl_freep) char *rows = kl_asprintf("%zu", r->card->rows.n);
		KL_AUTO(kl_buf_release) struct kl_buf from = KL_BUF_INIT;

		for (size_t k = 0; k < r->n; k++)
			kl_buf_addf(&from, "%s%s %d", k ? ", " : "", r->t[k]->lineage, r->t[k]->step.number);
		kl_table_row(&table, (const char *[]){ r->old ? "gains" : "new", r->card->id, evidence, rows,
			     from.ptr });
	}
	if (l->n)
		kl_table_print(&table);
	for (size_t i = 0; i < l->notes.n; i++)
		fprintf(stderr, "left out: %s\n", l->notes.v[i]);
	printf("%zu lineage%s, %zu transition%s, %zu of them in %zu card%s that change\n", t->lineages.n,
	       t->lineages.n == 1 ? "" : "s", t->n, t->n == 1 ? "" : "s", l->used, l->n,
	       l->n == 1 ? "" : "s");
}

static void print_cards(const struct kl_lift *l)
{
	for (size_t i = 0; i < l->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

		kl_card_write(&b, l->v[i].card);
		printf("---\n%s", b.ptr);
	}
}

static int load(struct kl_transitions *t, struct kl_repo *r, int argc, char **argv)
{
	int err = argc ? 0 : kl_transitions_load(t, r, NULL);

	for (int i = 0; !err && i < argc; i++)
		err = kl_transitions_load(t, r, argv[i]);
	if (!err && !t->lineages.n)
		return kl_error_hint(kl_error(KL_ENOTFOUND, "there is no lineage in this repository yet"),
				     "'git klineage deopt' makes one; a directory of exported ones will do");
	return err;
}

static int lift(struct kl_lift *l, struct kl_transitions *t, struct kl_cmd_ctx *ctx, bool dry)
{
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	const char *who;
	int err;

	if (!dry && (err = kl_repo_identity(&who, ctx->repo)) < 0)
		return err;
	if ((err = kl_library_open(&lib, ctx->repo)) < 0 || (err = kl_lift_run(l, t, lib)) < 0)
		return err;
	for (size_t i = 0; !err && !dry && i < l->n; i++)
		err = kl_lift_put(l, i, lib);
	return err;
}

int cmd_lift(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_transitions_release) struct kl_transitions t = { 0 };
	KL_AUTO(kl_lift_release) struct kl_lift l = { 0 };
	bool dry = false, json = false, cards = false;
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "cards", &cards, "print the cards themselves, instead of a table"),
		KL_OPT_BOOL('n', "dry-run", &dry, "say what would be lifted, and write nothing"),
		KL_OPT_BOOL('\0', "json", &json, "print what was lifted as JSON"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = load(&t, ctx->repo, argc, argv)) < 0 || (err = lift(&l, &t, ctx, dry)) < 0)
		return err;
	if (json)
		print_json(&l, &t, dry);
	else if (cards)
		print_cards(&l);
	else
		print_table(&l, &t);
	return 0;
}
