/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_retrieve - git klineage retrieve: ranks the cards that fit a kernel */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "cmd/skills.h"
#include "contract/select.h"
#include "retrieve/retrieve.h"

static const char synopsis[] = "retrieve [<options>] [<workload>]";

struct args {
	const char *workload, *rev, *platform, *status, *order;
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
	enum kl_order order;
};

static void answer_release(struct answer *answer)
{
	kl_retrieval_release(&answer->found);
	kl_target_release(&answer->target);
	kl_selection_release(&answer->sel);
	kl_index_free(answer->ix);
	kl_taxonomy_free(answer->tax);
}

static void add_decimal(struct kl_buf *buf, int64_t ppm)
{
	int64_t thousandths = (ppm + 500) / 1000;

	kl_buf_addf(buf, "%lld.%03lld", (long long)(thousandths / 1000),
		    (long long)(thousandths % 1000));
}

/* --- the target ------------------------------------------------------------------- */

static void print_target(const struct answer *answer)
{
	const struct kl_target *target = &answer->target;

	printf("%s: %s %s", target->workload, target->op, target->dtype);
	for (size_t i = 0; i < target->dims.n; i++)
		printf(" %s=%lld", target->dims.v[i].name, (long long)target->dims.v[i].v);
	printf(", in %s on %s\n", target->language, target->platform);
	if (target->measured)
		printf("measured by event %.12s; already present:", target->event);
	else
		printf("not measured: no passing gate event of this state; already present:");
	for (size_t i = 0; i < target->prior.n; i++)
		printf(" %s", target->prior.v[i]);
	puts(target->prior.n ? "" : " nothing known");
}

static json_t *strings_json(const struct kl_strvec *list)
{
	json_t *value = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(value, json_string(list->v[i]));
	return value;
}

static json_t *target_json(const struct kl_target *target)
{
	json_t *value = json_object(), *dims = json_object();

	for (size_t i = 0; i < target->dims.n; i++)
		kl_json_set_int(dims, target->dims.v[i].name, target->dims.v[i].v);
	kl_json_set_str(value, "workload", target->workload);
	kl_json_set_str(value, "case", target->op);
	kl_json_set(value, "dims", dims);
	kl_json_set_str(value, "dtype", target->dtype);
	kl_json_set_str(value, "language", target->language);
	kl_json_set_str(value, "platform", target->platform);
	kl_json_set_str(value, "event", target->measured && *target->event ? target->event : NULL);
	kl_json_set(value, "prior", strings_json(&target->prior));
	return value;
}

/* --- as a table --------------------------------------------------------------------- */

static void add_row(struct kl_table *table, const struct kl_retrieved *retrieved, size_t rank)
{
	KL_AUTO(kl_buf_release) struct kl_buf score = KL_BUF_INIT, needs = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf trials = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *number = kl_asprintf("%zu", rank);
	struct kl_buf axis[KL_AXES];
	const char *cell[10];
	size_t n = 0;

	add_decimal(&score, retrieved->score);
	kl_buf_addf(&trials, "%zu/%zu", retrieved->passed, retrieved->trials);
	for (size_t i = 0; i < retrieved->needs.n; i++)
		kl_buf_addf(&needs, "%s%s", i ? " " : "after ", retrieved->needs.v[i]);
	if (retrieved->needed_by)
		kl_buf_addf(&needs, "%sfor %s", needs.len ? "; " : "", retrieved->needed_by);
	for (size_t i = 0; i < retrieved->lacks.n; i++)
		kl_buf_addf(&needs, "%s%s", i ? " " : "lacks ", retrieved->lacks.v[i]);
	cell[n++] = number;
	cell[n++] = retrieved->id;
	cell[n++] = kl_card_status_name(retrieved->status);
	cell[n++] = score.ptr;
	for (int i = 0; i < KL_AXES; i++) {
		axis[i] = (struct kl_buf)KL_BUF_INIT;
		add_decimal(&axis[i], retrieved->axis[i]);
		cell[n++] = axis[i].ptr;
	}
	cell[n] = trials.ptr;
	cell[n + 1] = needs.len ? needs.ptr : "-";
	kl_table_row(table, cell);
	for (int i = 0; i < KL_AXES; i++)
		kl_buf_release(&axis[i]);
}

static void print_table(const struct answer *answer)
{
	static const char *const head[] = { "#",        "card",     "status", "score",  "case",
					    "language", "platform", "prior",  "passed", "order" };
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = KL_ARRAY_SIZE(head) };

	putchar('\n');
	kl_table_row(&table, head);
	for (size_t i = 0; i < answer->found.n; i++)
		add_row(&table, &answer->found.v[i], i + 1);
	kl_table_print(&table);
}

static void print_paths(const struct kl_retrieval *retrieval)
{
	if (retrieval->npath)
		puts("\nlearned from:");
	for (size_t i = 0; i < retrieval->npath; i++) {
		printf("  %s:", retrieval->path[i].lineage);
		for (size_t k = 0; k < retrieval->path[i].n; k++)
			printf("%s step %lld %s", k ? "," : "",
			       (long long)retrieval->path[i].v[k].step, retrieval->path[i].v[k].id);
		putchar('\n');
	}
}

/* --- --explain ---------------------------------------------------------------------------- */

static void print_pres(const char *kind, const struct kl_retrieved_pres *pres)
{
	for (size_t i = 0; i < pres->n; i++) {
		const struct kl_retrieved_pre *one = &pres->v[i];

		printf("    %-6s %-7s %s: %s", kind, kl_truth_name(one->truth), one->id,
		       *one->test ? one->test : "(no test)");
		printf("%s%s%s\n", one->why && *one->why ? "  [" : "", one->why ? one->why : "",
		       one->why && *one->why ? "]" : "");
	}
}

/* Print the row of the card that gave the score, and its partial scores. */
static void print_row(const struct answer *answer, const struct kl_card *card,
		      const struct kl_retrieved *retrieved)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	const struct kl_card_row *row;
	struct kl_case point;

	if (retrieved->row < 0 || (size_t)retrieved->row >= card->rows.n)
		return;
	row = &card->rows.v[retrieved->row];
	kl_case_init(&point, answer->tax, row->case_, row->dtype);
	for (size_t i = 0; i < row->dims.n; i++)
		kl_case_dim(&point, answer->tax, row->dims.v[i].name, row->dims.v[i].v);
	kl_buf_addf(&buf, "    nearest point: %s %s in %s on %s, ", row->case_, row->dtype,
		    row->language, row->platform);
	kl_buf_add_decimal(&buf, row->ratio.ppm);
	kl_buf_adds(&buf, " times the speed; operator ");
	add_decimal(&buf, kl_similarity_operator(answer->tax, &point, &answer->target.point));
	kl_buf_adds(&buf, ", extents ");
	add_decimal(&buf, kl_similarity_extents(&point, &answer->target.point));
	kl_buf_adds(&buf, ", dtype ");
	add_decimal(&buf, kl_similarity_dtype(&point, &answer->target.point));
	puts(buf.ptr);
}

static void print_scores(const struct kl_retrieved *retrieved)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_buf_adds(&buf, "    score ");
	add_decimal(&buf, retrieved->score);
	kl_buf_adds(&buf, " =");
	for (int i = 0; i < KL_AXES; i++) {
		kl_buf_addf(&buf, "%s %s ", i ? "," : "", kl_axis_name((enum kl_axis)i));
		add_decimal(&buf, retrieved->axis[i]);
		if (retrieved->best[i] != retrieved->axis[i]) {
			kl_buf_adds(&buf, " (best ");
			add_decimal(&buf, retrieved->best[i]);
			kl_buf_addch(&buf, ')');
		}
		if (retrieved->top >> i & 1)
			kl_buf_addch(&buf, '*');
	}
	kl_buf_addf(&buf, "; passed %zu of %zu", retrieved->passed, retrieved->trials);
	puts(buf.ptr);
}

static int explain_one(struct answer *answer, const struct kl_retrieved *retrieved)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_retrieved_pres_release) struct kl_retrieved_pres useful = { 0 };
	int err = kl_index_load(&card, answer->ix, answer->repo, retrieved->card);

	if (err < 0)
		return err;
	printf("\n%s: %s%s\n", retrieved->id, retrieved->why ? "not offered: " : "",
	       retrieved->why ? retrieved->why : card->intent);
	print_scores(retrieved);
	print_row(answer, card, retrieved);
	if (retrieved->needs.n) {
		printf("    after");
		for (size_t i = 0; i < retrieved->needs.n; i++)
			printf(" %s", retrieved->needs.v[i]);
		putchar('\n');
	}
	if (retrieved->needed_by)
		printf("    required by %s\n", retrieved->needed_by);
	if (retrieved->lacks.n) {
		printf("    requires");
		for (size_t i = 0; i < retrieved->lacks.n; i++)
			printf(" %s", retrieved->lacks.v[i]);
		printf(", and no set of %d cards or fewer provides that\n", KL_CLOSURE_MAX);
	}
	kl_retrieve_useful(&useful, card, &answer->target);
	print_pres("sound", &retrieved->sound);
	print_pres("useful", &useful);
	return 0;
}

static int print_explained(struct answer *answer)
{
	int err = 0;

	for (size_t i = 0; !err && i < answer->found.n; i++)
		err = explain_one(answer, &answer->found.v[i]);
	for (size_t i = 0; !err && i < answer->found.ndropped; i++)
		err = explain_one(answer, &answer->found.dropped[i]);
	if (!err)
		puts("\n*: among the best on that axis");
	return err;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static json_t *pres_json(const struct kl_retrieved_pres *pres)
{
	json_t *list = json_array();

	for (size_t i = 0; i < pres->n; i++) {
		json_t *value = json_object();

		kl_json_set_str(value, "id", pres->v[i].id);
		kl_json_set_str(value, "test", *pres->v[i].test ? pres->v[i].test : NULL);
		kl_json_set_str(value, "truth", kl_truth_name(pres->v[i].truth));
		kl_json_set_str(value, "why", pres->v[i].why);
		json_array_append_new(list, value);
	}
	return list;
}

static int card_json(json_t **out, struct answer *answer, const struct kl_retrieved *retrieved,
		     bool explain)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	KL_AUTO(kl_retrieved_pres_release) struct kl_retrieved_pres useful = { 0 };
	json_t *value, *axes = json_object(), *top = json_array();
	char hex[KL_OID_HEX];
	int err = explain ? kl_index_load(&card, answer->ix, answer->repo, retrieved->card) : 0;

	if (err < 0) {
		json_decref(axes);
		json_decref(top);
		return err;
	}
	*out = value = json_object();
	for (int i = 0; i < KL_AXES; i++) {
		kl_json_set_int(axes, kl_axis_name((enum kl_axis)i), retrieved->axis[i]);
		if (retrieved->top >> i & 1)
			json_array_append_new(top, json_string(kl_axis_name((enum kl_axis)i)));
	}
	kl_oid_hex(hex, &kl_index_card(answer->ix, retrieved->card)->blob);
	kl_json_set_str(value, "id", retrieved->id);
	kl_json_set_str(value, "blob", hex);
	kl_json_set_str(value, "status", kl_card_status_name(retrieved->status));
	kl_json_set_int(value, "score_ppm", retrieved->score);
	if (answer->order == KL_ORDER_NEXT)
		kl_json_set_int(value, "next_ppm", retrieved->next);
	kl_json_set(value, "axes_ppm", axes);
	kl_json_set(value, "best_of", top);
	kl_json_set_int(value, "passed", (int64_t)retrieved->passed);
	kl_json_set_int(value, "trials", (int64_t)retrieved->trials);
	kl_json_set(value, "after", strings_json(&retrieved->needs));
	kl_json_set_str(value, "for", retrieved->needed_by);
	kl_json_set(value, "lacks", strings_json(&retrieved->lacks));
	kl_json_set(value, "sound", pres_json(&retrieved->sound));
	if (retrieved->why)
		kl_json_set_str(value, "why", retrieved->why);
	if (card) {
		kl_retrieve_useful(&useful, card, &answer->target);
		kl_json_set(value, "useful", pres_json(&useful));
	}
	return 0;
}

static int cards_json(json_t *into, const char *key, struct answer *answer,
		      const struct kl_retrieved *retrieved, size_t n, bool explain)
{
	json_t *list = json_array();
	int err = 0;

	kl_json_set(into, key, list);
	for (size_t i = 0; !err && i < n; i++) {
		json_t *one = NULL;

		err = card_json(&one, answer, &retrieved[i], explain);
		if (!err)
			json_array_append_new(list, one);
	}
	return err;
}

static json_t *paths_json(const struct kl_retrieval *retrieval)
{
	json_t *list = json_array();

	for (size_t i = 0; i < retrieval->npath; i++) {
		json_t *value = json_object(), *steps = json_array();

		for (size_t k = 0; k < retrieval->path[i].n; k++) {
			json_t *step = json_object();

			kl_json_set_int(step, "step", retrieval->path[i].v[k].step);
			kl_json_set_str(step, "card", retrieval->path[i].v[k].id);
			json_array_append_new(steps, step);
		}
		kl_json_set_str(value, "lineage", retrieval->path[i].lineage);
		kl_json_set(value, "steps", steps);
		json_array_append_new(list, value);
	}
	return list;
}

static int print_listing(const struct kl_listing *out, struct answer *answer, bool explain)
{
	static const char *const fields[] = { "id",     "blob",  "status", "score_ppm", "passed",
					      "trials", "after", "for",    "next_ppm",  NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	int err;

	kl_json_set_str(value, "schema", "klineage.retrieve/1");
	kl_json_set(value, "target", target_json(&answer->target));
	kl_json_set_int(value, "looked_at", (int64_t)answer->found.cards);
	kl_json_set(value, "paths", paths_json(&answer->found));
	err = cards_json(value, "cards", answer, answer->found.v, answer->found.n, explain);
	if (!err && explain)
		err = cards_json(value, "dropped", answer, answer->found.dropped,
				 answer->found.ndropped, true);
	if (err < 0)
		return err;
	kl_listing_print(out, value, "cards", fields);
	return 0;
}

/* --- the verb --------------------------------------------------------------------------------- */

static int make_target(struct answer *answer, const struct args *args)
{
	git_oid head = kl_oid_none;
	int err = kl_select(&answer->sel, answer->repo,
			    args->worktree ? KL_STATE_WORKTREE : KL_STATE_REV,
			    args->rev ? args->rev : "HEAD", args->workload);

	if (!err && args->worktree) /* uncommitted files have no steps: use the steps of HEAD */
		err = kl_repo_resolve(&head, answer->repo, "HEAD");
	else if (!err)
		head = answer->sel.commit;
	if (!err)
		err = kl_target_of_commit(&answer->target, answer->tax, answer->repo,
					  answer->sel.candidate, &head, args->platform);
	return err;
}

static int find_answer(struct answer *answer, const struct args *args)
{
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;
	int err = args->status ? kl_skills_statuses(&opts.statuses, synopsis, args->status) : 0;

	if (!err && args->order && kl_order_parse(&answer->order, args->order) < 0)
		err = kl_opt_usage(synopsis, "%s", kl_error_last());
	opts.order = answer->order;
	opts.repair = args->repair;
	opts.explain = args->explain;
	if (!err)
		err = kl_taxonomy_load(&answer->tax);
	if (!err)
		err = make_target(answer, args);
	if (!err)
		err = kl_index_open(&answer->ix, answer->repo, answer->tax);
	if (!err)
		err = kl_retrieve(&answer->found, answer->ix, &answer->target, &opts);
	if (!err)
		err = kl_retrieve_mark_fit(&answer->found, answer->ix, answer->repo,
					   &answer->target, answer->sel.candidate);
	if (!err) {
		/*
		 * In the order `next`, keep cards without a common fact: the lineages give the reason
		 * to offer them. If no card has a common fact, offer none.
		 */
		if (answer->order != KL_ORDER_NEXT || !answer->found.fit)
			kl_retrieve_drop_unfit(&answer->found);
		kl_retrieve_cut(&answer->found, (size_t)args->limit);
	}
	return err;
}

static void print_answer(const struct answer *answer, const struct args *args)
{
	if (kl_index_bad(answer->ix))
		fprintf(stderr,
			"warning: %zu card%s cannot be read; see 'git klineage skills "
			"lint'\n",
			kl_index_bad(answer->ix), kl_index_bad(answer->ix) == 1 ? "" : "s");
	if (!answer->target.measured)
		fprintf(stderr, "hint: run 'git klineage gate' on this state to learn more facts "
				"about it\n");
	if (!kl_index_count(answer->ix))
		fprintf(stderr, "hint: the library is empty; get cards with 'git klineage lift', "
				"'git klineage skills import' or 'git klineage sync'\n");
	else if (!answer->found.n && !args->explain)
		fprintf(stderr,
			"hint: none of %zu cards fits; --explain shows why, --status "
			"hypothesis searches the unverified cards\n",
			kl_index_count(answer->ix));
}

int cmd_retrieve(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(answer_release) struct answer answer = { .repo = ctx->repo,
							 .order = KL_ORDER_NEXT };
	struct args args = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "explain", &args.explain,
			    "print every score and every condition"),
		KL_OPT_INT('\0', "limit", &args.limit, "<n>",
			   "offer at most n cards, plus the cards that they require"),
		KL_OPT_STR('\0', "order", &args.order, "next|paper",
			   "order cards by what came next in lineages (default), or by score"),
		KL_OPT_STR('\0', "platform", &args.platform, "<id>",
			   "find cards for another platform (cuda/sm_90)"),
		KL_OPT_BOOL('\0', "repair", &args.repair,
			    "keep cards whose effect is already present"),
		KL_OPT_STR('\0', "rev", &args.rev, "<rev>",
			   "find cards for this revision (default: HEAD)"),
		KL_OPT_STR('\0', "status", &args.status, "<list>",
			   "use cards with these statuses (default: admitted,provisional)"),
		KL_OPT_BOOL('\0', "worktree", &args.worktree,
			    "find cards for the files in the worktree"),
		KL_OPT_LISTING(&args.out),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&args.out, synopsis)) < 0)
		return err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "only one workload can be given");
	if (args.worktree && args.rev)
		return kl_opt_usage(synopsis, "--rev and --worktree cannot be used together");
	if (args.limit < 0)
		return kl_opt_usage(synopsis, "--limit must not be negative");
	args.workload = argc ? argv[0] : NULL;
	if ((err = find_answer(&answer, &args)) < 0)
		return err;
	if (kl_listing_asked(&args.out) &&
	    (err = print_listing(&args.out, &answer, args.explain)) < 0)
		return err;
	if (!kl_listing_asked(&args.out)) {
		print_target(&answer);
		if (answer.found.n)
			print_table(&answer);
		print_paths(&answer.found);
		if (args.explain && (err = print_explained(&answer)) < 0)
			return err;
	}
	fflush(stdout);
	print_answer(&answer, &args);
	return answer.found.n ? 0 : 1;
}
