/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_retrieve - git klineage retrieve: the cards that fit a kernel, ranked */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "cmd/skills.h"
#include "cmd/table.h"
#include "contract/select.h"
#include "retrieve/retrieve.h"

static const char synopsis[] = "retrieve [<options>] [<workload>]";

struct args {
	const char *workload, *rev, *platform, *status;
	bool explain, repair, worktree;
	struct kl_listing out;
	int64_t limit;
};

struct answer {
	struct kl_repo *repo;
	struct kl_taxonomy *tax;
	struct kl_index *ix;
	struct kl_selection sel;
	struct kl_target target;
	struct kl_retrieval found;
};

static void answer_release(struct answer *a)
{
	kl_retrieval_release(&a->found);
	kl_target_release(&a->target);
	kl_selection_release(&a->sel);
	kl_index_free(a->ix);
	kl_taxonomy_free(a->tax);
}

static void add_decimal(struct kl_buf *b, int64_t ppm)
{
	int64_t thousandths = (ppm + 500) / 1000;

	kl_buf_addf(b, "%lld.%03lld", (long long)(thousandths / 1000),
		    (long long)(thousandths % 1000));
}

/* --- the target ------------------------------------------------------------------- */

static void print_target(const struct answer *a)
{
	const struct kl_target *t = &a->target;

	printf("%s: %s %s", t->workload, t->op, t->dtype);
	for (size_t i = 0; i < t->dims.n; i++)
		printf(" %s=%lld", t->dims.v[i].name, (long long)t->dims.v[i].v);
	printf(", in %s on %s\n", t->language, t->platform);
	if (t->measured)
		printf("measured by event %.12s; there already:", t->event);
	else
		printf("not measured: no passing gate event of this state; there already:");
	for (size_t i = 0; i < t->prior.n; i++)
		printf(" %s", t->prior.v[i]);
	puts(t->prior.n ? "" : " nothing known");
}

static json_t *strings_json(const struct kl_strvec *v)
{
	json_t *j = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(j, json_string(v->v[i]));
	return j;
}

static json_t *target_json(const struct kl_target *t)
{
	json_t *j = json_object(), *dims = json_object();

	for (size_t i = 0; i < t->dims.n; i++)
		kl_json_set_int(dims, t->dims.v[i].name, t->dims.v[i].v);
	kl_json_set_str(j, "workload", t->workload);
	kl_json_set_str(j, "case", t->op);
	kl_json_set(j, "dims", dims);
	kl_json_set_str(j, "dtype", t->dtype);
	kl_json_set_str(j, "language", t->language);
	kl_json_set_str(j, "platform", t->platform);
	kl_json_set_str(j, "event", t->measured && *t->event ? t->event : NULL);
	kl_json_set(j, "prior", strings_json(&t->prior));
	return j;
}

/* --- as a table --------------------------------------------------------------------- */

static void add_row(struct kl_table *table, const struct kl_retrieved *v, size_t rank)
{
	KL_AUTO(kl_buf_release) struct kl_buf score = KL_BUF_INIT, needs = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf trials = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *number = kl_asprintf("%zu", rank);
	struct kl_buf axis[KL_AXES];
	const char *cell[10];
	size_t n = 0;

	add_decimal(&score, v->score);
	kl_buf_addf(&trials, "%zu/%zu", v->passed, v->trials);
	for (size_t i = 0; i < v->needs.n; i++)
		kl_buf_addf(&needs, "%s%s", i ? " " : "after ", v->needs.v[i]);
	if (v->needed_by)
		kl_buf_addf(&needs, "%sfor %s", needs.len ? "; " : "", v->needed_by);
	cell[n++] = number;
	cell[n++] = v->id;
	cell[n++] = kl_card_status_name(v->status);
	cell[n++] = score.ptr;
	for (int i = 0; i < KL_AXES; i++) {
		axis[i] = (struct kl_buf)KL_BUF_INIT;
		add_decimal(&axis[i], v->axis[i]);
		cell[n++] = axis[i].ptr;
	}
	cell[n] = trials.ptr;
	cell[n + 1] = needs.len ? needs.ptr : "-";
	kl_table_row(table, cell);
	for (int i = 0; i < KL_AXES; i++)
		kl_buf_release(&axis[i]);
}

static void print_table(const struct answer *a)
{
	static const char *const head[] = { "#",        "card",     "status", "score",  "case",
					    "language", "platform", "prior",  "passed", "order" };
	KL_AUTO(kl_table_release) struct kl_table t = { .columns = KL_ARRAY_SIZE(head) };

	putchar('\n');
	kl_table_row(&t, head);
	for (size_t i = 0; i < a->found.n; i++)
		add_row(&t, &a->found.v[i], i + 1);
	kl_table_print(&t);
}

static void print_paths(const struct kl_retrieval *r)
{
	if (r->npath)
		puts("\nlearned from:");
	for (size_t i = 0; i < r->npath; i++) {
		printf("  %s:", r->path[i].lineage);
		for (size_t k = 0; k < r->path[i].n; k++)
			printf("%s step %lld %s", k ? "," : "", (long long)r->path[i].v[k].step,
			       r->path[i].v[k].id);
		putchar('\n');
	}
}

/* --- explained ---------------------------------------------------------------------------- */

static void print_pres(const char *kind, const struct kl_retrieved_pres *p)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct kl_retrieved_pre *one = &p->v[i];

		printf("    %-6s %-7s %s: %s", kind, kl_truth_name(one->truth), one->id,
		       *one->test ? one->test : "(for readers)");
		printf("%s%s%s\n", one->why && *one->why ? "  [" : "", one->why ? one->why : "",
		       one->why && *one->why ? "]" : "");
	}
}

/* The row that the score is from, part by part. */
static void print_row(const struct answer *a, const struct kl_card *c, const struct kl_retrieved *v)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	const struct kl_card_row *r;
	struct kl_case point;

	if (v->row < 0 || (size_t)v->row >= c->rows.n)
		return;
	r = &c->rows.v[v->row];
	kl_case_init(&point, a->tax, r->case_, r->dtype);
	for (size_t i = 0; i < r->dims.n; i++)
		kl_case_dim(&point, a->tax, r->dims.v[i].name, r->dims.v[i].v);
	kl_buf_addf(&b, "    nearest point: %s %s in %s on %s, ", r->case_, r->dtype, r->language,
		    r->platform);
	kl_card_decimal(&b, r->ratio.ppm);
	kl_buf_adds(&b, " times the speed; operator ");
	add_decimal(&b, kl_similarity_operator(a->tax, &point, &a->target.point));
	kl_buf_adds(&b, ", extents ");
	add_decimal(&b, kl_similarity_extents(&point, &a->target.point));
	kl_buf_adds(&b, ", dtype ");
	add_decimal(&b, kl_similarity_dtype(&point, &a->target.point));
	puts(b.ptr);
}

static void print_scores(const struct kl_retrieved *v)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	kl_buf_adds(&b, "    score ");
	add_decimal(&b, v->score);
	kl_buf_adds(&b, " =");
	for (int i = 0; i < KL_AXES; i++) {
		kl_buf_addf(&b, "%s %s ", i ? "," : "", kl_axis_name((enum kl_axis)i));
		add_decimal(&b, v->axis[i]);
		if (v->best[i] != v->axis[i]) {
			kl_buf_adds(&b, " (best ");
			add_decimal(&b, v->best[i]);
			kl_buf_addch(&b, ')');
		}
		if (v->top >> i & 1)
			kl_buf_addch(&b, '*');
	}
	kl_buf_addf(&b, "; passed %zu of %zu", v->passed, v->trials);
	puts(b.ptr);
}

static int explain_one(struct answer *a, const struct kl_retrieved *v)
{
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_retrieved_pres_release) struct kl_retrieved_pres useful = { 0 };
	int err = kl_index_load(&c, a->ix, a->repo, v->card);

	if (err < 0)
		return err;
	printf("\n%s: %s%s\n", v->id, v->why ? "not offered: " : "", v->why ? v->why : c->intent);
	print_scores(v);
	print_row(a, c, v);
	if (v->needs.n) {
		printf("    after");
		for (size_t i = 0; i < v->needs.n; i++)
			printf(" %s", v->needs.v[i]);
		putchar('\n');
	}
	if (v->needed_by)
		printf("    it is here for %s\n", v->needed_by);
	kl_retrieve_useful(&useful, c, &a->target);
	print_pres("sound", &v->sound);
	print_pres("useful", &useful);
	return 0;
}

static int print_explained(struct answer *a)
{
	int err = 0;

	for (size_t i = 0; !err && i < a->found.n; i++)
		err = explain_one(a, &a->found.v[i]);
	for (size_t i = 0; !err && i < a->found.ndropped; i++)
		err = explain_one(a, &a->found.dropped[i]);
	if (!err)
		puts("\n*: among the best of that axis");
	return err;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *pres_json(const struct kl_retrieved_pres *p)
{
	json_t *list = json_array();

	for (size_t i = 0; i < p->n; i++) {
		json_t *j = json_object();

		kl_json_set_str(j, "id", p->v[i].id);
		kl_json_set_str(j, "test", *p->v[i].test ? p->v[i].test : NULL);
		kl_json_set_str(j, "truth", kl_truth_name(p->v[i].truth));
		kl_json_set_str(j, "why", p->v[i].why);
		json_array_append_new(list, j);
	}
	return list;
}

static int card_json(json_t **out, struct answer *a, const struct kl_retrieved *v, bool explain)
{
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;
	KL_AUTO(kl_retrieved_pres_release) struct kl_retrieved_pres useful = { 0 };
	json_t *j, *axes = json_object(), *top = json_array();
	char hex[KL_OID_HEX];
	int err = explain ? kl_index_load(&c, a->ix, a->repo, v->card) : 0;

	if (err < 0) {
		json_decref(axes);
		json_decref(top);
		return err;
	}
	*out = j = json_object();
	for (int i = 0; i < KL_AXES; i++) {
		kl_json_set_int(axes, kl_axis_name((enum kl_axis)i), v->axis[i]);
		if (v->top >> i & 1)
			json_array_append_new(top, json_string(kl_axis_name((enum kl_axis)i)));
	}
	kl_oid_hex(hex, &kl_index_card(a->ix, v->card)->blob);
	kl_json_set_str(j, "id", v->id);
	kl_json_set_str(j, "blob", hex);
	kl_json_set_str(j, "status", kl_card_status_name(v->status));
	kl_json_set_int(j, "score_ppm", v->score);
	kl_json_set(j, "axes_ppm", axes);
	kl_json_set(j, "best_of", top);
	kl_json_set_int(j, "passed", (int64_t)v->passed);
	kl_json_set_int(j, "trials", (int64_t)v->trials);
	kl_json_set(j, "after", strings_json(&v->needs));
	kl_json_set_str(j, "for", v->needed_by);
	kl_json_set(j, "sound", pres_json(&v->sound));
	if (v->why)
		kl_json_set_str(j, "why", v->why);
	if (c) {
		kl_retrieve_useful(&useful, c, &a->target);
		kl_json_set(j, "useful", pres_json(&useful));
	}
	return 0;
}

static int cards_json(json_t *into, const char *key, struct answer *a, const struct kl_retrieved *v,
		      size_t n, bool explain)
{
	json_t *list = json_array();
	int err = 0;

	kl_json_set(into, key, list);
	for (size_t i = 0; !err && i < n; i++) {
		json_t *one = NULL;

		err = card_json(&one, a, &v[i], explain);
		if (!err)
			json_array_append_new(list, one);
	}
	return err;
}

static json_t *paths_json(const struct kl_retrieval *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->npath; i++) {
		json_t *j = json_object(), *steps = json_array();

		for (size_t k = 0; k < r->path[i].n; k++) {
			json_t *step = json_object();

			kl_json_set_int(step, "step", r->path[i].v[k].step);
			kl_json_set_str(step, "card", r->path[i].v[k].id);
			json_array_append_new(steps, step);
		}
		kl_json_set_str(j, "lineage", r->path[i].lineage);
		kl_json_set(j, "steps", steps);
		json_array_append_new(list, j);
	}
	return list;
}

static int print_listing(const struct kl_listing *out, struct answer *a, bool explain)
{
	static const char *const fields[] = { "id",     "blob",  "status", "score_ppm", "passed",
					      "trials", "after", "for",    NULL };
	KL_AUTO(json_decrefp) json_t *j = json_object();
	int err;

	kl_json_set_str(j, "schema", "klineage.retrieve/1");
	kl_json_set(j, "target", target_json(&a->target));
	kl_json_set_int(j, "looked_at", (int64_t)a->found.cards);
	kl_json_set(j, "paths", paths_json(&a->found));
	err = cards_json(j, "cards", a, a->found.v, a->found.n, explain);
	if (!err && explain)
		err = cards_json(j, "dropped", a, a->found.dropped, a->found.ndropped, true);
	if (err < 0)
		return err;
	kl_listing_print(out, j, "cards", fields);
	return 0;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int make_target(struct answer *a, const struct args *o)
{
	git_oid head = { { 0 } };
	int err = kl_select(&a->sel, a->repo, o->worktree ? KL_STATE_WORKTREE : KL_STATE_REV,
			    o->rev ? o->rev : "HEAD", o->workload);

	if (!err && o->worktree) /* what was done before is what the commits below it say */
		err = kl_repo_resolve(&head, a->repo, "HEAD");
	else if (!err)
		head = a->sel.commit;
	if (!err)
		err = kl_target_of_commit(&a->target, a->tax, a->repo, a->sel.candidate, &head,
					  o->platform);
	return err;
}

static int find_answer(struct answer *a, const struct args *o)
{
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;
	int err = o->status ? kl_skills_statuses(&opts.statuses, synopsis, o->status) : 0;

	opts.limit = (size_t)o->limit;
	opts.repair = o->repair;
	opts.explain = o->explain;
	if (!err)
		err = kl_taxonomy_load(&a->tax);
	if (!err)
		err = make_target(a, o);
	if (!err)
		err = kl_index_open(&a->ix, a->repo, a->tax);
	return err ? err : kl_retrieve(&a->found, a->ix, &a->target, &opts);
}

static void print_answer(const struct answer *a, const struct args *o)
{
	if (kl_index_bad(a->ix))
		fprintf(stderr, "warning: %zu card%s cannot be read: git klineage skills lint\n",
			kl_index_bad(a->ix), kl_index_bad(a->ix) == 1 ? "" : "s");
	if (!a->target.measured)
		fprintf(stderr, "hint: with a gate event of this state more is known: "
				"git klineage gate\n");
	if (!kl_index_count(a->ix))
		fprintf(stderr, "hint: the library is empty: git klineage lift, "
				"git klineage skills import, git klineage sync\n");
	else if (!a->found.n && !o->explain)
		fprintf(stderr,
			"hint: of %zu cards none fits; --explain says why, --status hypothesis "
			"asks for those that nothing verified\n",
			kl_index_count(a->ix));
}

int cmd_retrieve(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(answer_release) struct answer a = { .repo = ctx->repo };
	struct args o = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "explain", &o.explain, "print every score and every condition"),
		KL_OPT_INT('\0', "limit", &o.limit, "<n>",
			   "offer at most n cards, and those that they require"),
		KL_OPT_STR('\0', "platform", &o.platform, "<id>",
			   "find cards for another platform (cuda/sm_90)"),
		KL_OPT_BOOL('\0', "repair", &o.repair, "keep cards whose effect is there already"),
		KL_OPT_STR('\0', "rev", &o.rev, "<rev>",
			   "find cards for this revision (default: HEAD)"),
		KL_OPT_STR('\0', "status", &o.status, "<list>",
			   "use cards with these statuses (default: admitted,provisional)"),
		KL_OPT_BOOL('\0', "worktree", &o.worktree,
			    "find cards for the files in the worktree"),
		KL_OPT_LISTING(&o.out),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&o.out, synopsis)) < 0)
		return err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "one workload at a time");
	if (o.worktree && o.rev)
		return kl_opt_usage(synopsis, "--rev or --worktree, not both");
	if (o.limit < 0)
		return kl_opt_usage(synopsis, "--limit wants a number of cards");
	o.workload = argc ? argv[0] : NULL;
	if ((err = find_answer(&a, &o)) < 0)
		return err;
	if (kl_listing_asked(&o.out) && (err = print_listing(&o.out, &a, o.explain)) < 0)
		return err;
	if (!kl_listing_asked(&o.out)) {
		print_target(&a);
		if (a.found.n)
			print_table(&a);
		print_paths(&a.found);
		if (o.explain && (err = print_explained(&a)) < 0)
			return err;
	}
	fflush(stdout);
	print_answer(&a, &o);
	return a.found.n ? 0 : 1;
}
