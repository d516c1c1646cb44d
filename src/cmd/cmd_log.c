/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_log - git klineage log: prints the steps of a lineage as a table */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "contract/surface.h"
#include "event/speed.h"
#include "lineage/view.h"
#include "retrieve/target.h"

#define BAR_WIDTH 48 /* columns, if the terminal is wide enough */
#define BAR_LEFT 22  /* columns that no bar can use: 21 before it, 1 after it */

static const char synopsis[] = "log [<options>] [<workload>[/<name>]]";

static void add_list(struct kl_buf *buf, const struct kl_strvec *list)
{
	for (size_t i = 0; i < list->n; i++)
		kl_buf_addf(buf, "%s%s", i ? " " : "", list->v[i]);
}

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

enum {
	STATE,
	ACTION,
	MECHANISM,
	WHERE,
	TIME,
	PREVIOUS,
	ROOT,
	BASELINE, /* only if a state was timed against a baseline */
	GAINED,
	EFFECT, /* only if a step has an effect; lineages of earlier versions have none */
	DERIVATION,
	VERDICT,
	TIER,
	COLUMNS
};

static const struct kl_column columns[COLUMNS] = {
	[STATE] = { "state", 0, 0, false },
	[ACTION] = { "action undone", 5, 14, false },
	[MECHANISM] = { "mechanism", 0, 17, false },
	[WHERE] = { "where", 4, 16, false },
	[TIME] = { "time", 0, 0, false },
	[PREVIOUS] = { "vs prev", 0, 0, false },
	[ROOT] = { "vs K_0", 3, 0, false },
	[BASELINE] = { "of baseline", 1, 0, false },
	[GAINED] = { "gained", 2, 12, false },
	[EFFECT] = { "effect", 6, 0, true },
	[DERIVATION] = { "derivation", 7, 0, true },
	[VERDICT] = { "verdict", 0, 0, true },
	[TIER] = { "tier", 8, 0, true },
};

/* A table, and the columns that it has of the above. */
struct layout {
	struct kl_table table;
	struct kl_column column[COLUMNS];
	char baseline[80]; /* heading of the baseline's column */
	int at[COLUMNS];   /* where a column is in the table; -1: nowhere */
};

static bool has_column(const struct kl_view *view, int column)
{
	for (size_t i = 0; i < view->n; i++)
		if (column == BASELINE ? view->step[i].baseline_ppm > 0 :
		    column == EFFECT   ? view->step[i].step.effect != NULL :
					 true)
			return true;
	return false;
}

/* Return the name of the library that a baseline is of: "cublas" of "cublas.gemm". */
static const char *baseline_of(const struct kl_view *view)
{
	for (size_t i = view->n; i-- > 0;)
		if (view->step[i].baseline_ppm > 0)
			return view->step[i].baseline;
	return "";
}

static void choose_columns(struct layout *layout, const struct kl_view *view,
			   const struct kl_term *term)
{
	const char *baseline = baseline_of(view);

	layout->table = (struct kl_table){ .column = layout->column, .term = term };
	snprintf(layout->baseline, sizeof(layout->baseline), "of %.*s", (int)strcspn(baseline, "."),
		 baseline);
	for (int i = 0; i < COLUMNS; i++) {
		layout->at[i] = has_column(view, i) ? (int)layout->table.columns++ : -1;
		if (layout->at[i] >= 0)
			layout->column[layout->at[i]] = columns[i];
	}
	if (layout->at[BASELINE] >= 0)
		layout->column[layout->at[BASELINE]].head = layout->baseline;
}

/* Mark a step that lost speed, and colour what its interval proves. */
static enum kl_paint mark_step(struct kl_buf *cell, const struct kl_view_step *step)
{
	if (step->speed == KL_SPEED_SLOW)
		kl_buf_adds(cell, " !");
	return step->speed == KL_SPEED_SLOW ? KL_PAINT_FAIL :
	       step->speed == KL_SPEED_FAST ? KL_PAINT_PASS :
					      KL_PAINT_RESET;
}

static void add_row(struct layout *layout, const struct kl_view_step *step, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf prev = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf root = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf gained = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *number = kl_asprintf("K_%zu", i);
	KL_AUTO(kl_freep) char *mechanism = kl_view_mechanism(step);
	const char *cell[COLUMNS], *some[COLUMNS];
	char time[32], share[32] = "-";
	enum kl_paint paint;

	kl_table_time(time, step->ns);
	kl_table_ratio(&prev, &step->prev);
	paint = mark_step(&prev, step);
	kl_table_ratio(&root, &step->root);
	add_list(&gained, &step->gained);
	if (step->baseline_ppm > 0)
		snprintf(share, sizeof(share), "%.*f%%", step->baseline_ppm < 100000 ? 2 : 0,
			 (double)step->baseline_ppm / 1e4);
	cell[STATE] = number;
	cell[ACTION] = i ? or_dash(step->step.action) : "(simplest)";
	cell[MECHANISM] = i ? mechanism : "-";
	cell[WHERE] = i ? or_dash(step->step.locus) : "-";
	cell[TIME] = time;
	cell[PREVIOUS] = prev.ptr;
	cell[ROOT] = root.ptr;
	cell[BASELINE] = share;
	cell[GAINED] = or_dash(gained.ptr);
	cell[EFFECT] = i ? or_dash(step->step.effect) : "-";
	cell[DERIVATION] = i ? or_dash(step->step.derivation) : "-";
	cell[VERDICT] = or_dash(kl_verdict_name(step->verdict));
	cell[TIER] = or_dash(kl_tier_name(step->tier));
	for (int k = 0; k < COLUMNS; k++)
		if (layout->at[k] >= 0)
			some[layout->at[k]] = cell[k];
	kl_table_row(&layout->table, some);
	kl_table_paint(&layout->table, (size_t)layout->at[PREVIOUS], paint);
	if (step->verdict != KL_VERDICT_PASS && step->verdict)
		kl_table_paint(&layout->table, (size_t)layout->at[VERDICT],
			       kl_paint_verdict(step->verdict));
}

static void print_bars(const struct kl_view *view, const struct kl_term *term)
{
	int room = term->width > BAR_WIDTH + BAR_LEFT ? BAR_WIDTH : term->width - BAR_LEFT;
	double most = 0;

	for (size_t i = 0; i < view->n; i++)
		if (view->step[i].root.ppm > 0)
			most = fmax(most, log((double)view->step[i].root.ppm / 1e6));
	if (most <= 0)
		return;
	puts("\nspeed against K_0, logarithmic");
	for (size_t i = 0; i < view->n; i++) {
		double ratio = i ? (double)view->step[i].root.ppm / 1e6 : 1;
		int n = ratio > 1 ? (int)lround(fmax(room, 1) * log(ratio) / most) : 0;

		if (ratio <= 0)
			continue;
		printf("%5s%-3zu %9.2fx |%s", "K_", i, ratio, kl_paint(term, KL_PAINT_PASS));
		while (n-- > 0)
			putchar('#');
		puts(kl_paint(term, KL_PAINT_RESET));
	}
}

/* Return the contract of the expert; NULL: its tree has none of this workload that can be read. */
static struct kl_surface *expert_surface(const struct kl_view *view, struct kl_repo *repo)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT;
	struct kl_surface *surface = NULL;
	git_oid tree;

	if (!kl_repo_tree_of(&tree, repo, &view->step[view->n - 1].commit))
		kl_surface_places(&places, repo, &tree);
	for (size_t i = 0; i < places.n && !surface; i++) {
		if (kl_surface_bare(&surface, repo, &tree, places.v[i]) < 0 ||
		    !strcmp(surface->contract->workload, view->workload))
			continue;
		kl_surface_free(surface);
		surface = NULL;
	}
	kl_error_clear();
	return surface;
}

/* Print the type and the sizes that the states were timed at, and the device. */
static void print_setting(const struct kl_view *view, struct kl_repo *repo)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = expert_surface(view, repo);
	const char *device = view->step[view->n - 1].device;
	const struct kl_contract *contract = surface ? surface->contract : NULL;
	const struct kl_dims *dims = NULL;

	if (!contract && !*device)
		return;
	if (contract) {
		dims = contract->nperf ? &contract->perf[0].dims : &contract->dims;
		fputs(kl_target_dtype(contract), stdout);
	}
	for (size_t i = 0; dims && i < dims->n; i++)
		printf(" %s=%lld", contract->dim_name[i], (long long)dims->v[i]);
	if (contract && contract->nperf > 1)
		printf(" (the first of %zu cases)", contract->nperf);
	if (*device)
		printf("%s%s", contract ? " on " : "on ", device);
	putchar('\n');
}

static void print_head(const struct kl_view *view, struct kl_repo *repo, const struct kl_term *term)
{
	const struct kl_step *root = &view->step[0].step;
	const struct kl_view_step *best = &view->step[view->n - 1];

	printf("%s%s/%s%s: %zu step%s on %s, %s; %zu rejected\n", kl_paint(term, KL_PAINT_HEAD),
	       view->workload, view->name, kl_paint(term, KL_PAINT_RESET), view->n - 1,
	       view->n == 2 ? "" : "s", or_dash(root->platform), or_dash(root->termination),
	       view->rejected);
	print_setting(view, repo);
	if (best->baseline_ppm > 0)
		printf("the expert has %.2f times the speed of %s\n",
		       (double)best->baseline_ppm / 1e6, best->baseline);
	putchar('\n');
}

/* Print how many verdicts are outdated because the gate's rules have changed since. */
static void print_outdated(const struct kl_view *view)
{
	size_t n = 0;

	for (size_t i = 0; i < view->n; i++)
		n += view->step[i].outdated;
	if (n)
		printf("\n%zu of %zu verdicts were made under rules of the gate that have changed "
		       "since\n",
		       n, view->n);
}

/* Print which states were compared on a machine that was too busy to give useful figures. */
static void print_useless(const struct kl_view *view)
{
	KL_AUTO(kl_buf_release) struct kl_buf states = KL_BUF_INIT;

	for (size_t i = 1; i < view->n; i++)
		if (kl_speed_is_useless(&view->step[i].prev))
			kl_buf_addf(&states, "%sK_%zu", states.len ? ", " : "", i);
	if (states.len)
		printf("\nthe machine was too busy to compare %s; measure again: git klineage "
		       "measure %s/%s\n",
		       states.ptr, view->workload, view->name);
}

static void print_view(const struct kl_view *view, struct kl_repo *repo, bool bars,
		       const struct kl_term *term)
{
	struct layout layout;

	print_head(view, repo, term);
	choose_columns(&layout, view, term);
	kl_table_head(&layout.table);
	for (size_t i = 0; i < view->n; i++)
		add_row(&layout, &view->step[i], i);
	kl_table_print(&layout.table);
	kl_table_release(&layout.table);
	print_outdated(view);
	print_useless(view);
	if (bars)
		print_bars(view, term);
}

/* --- output for programs --------------------------------------------------------- */

static json_t *ratio_json(const struct kl_ratio *ratio)
{
	json_t *value;

	if (ratio->ppm <= 0)
		return json_null();
	value = json_object();
	kl_json_set_int(value, "ratio_ppm", ratio->ppm);
	kl_json_set_int(value, "lo_ppm", ratio->lo);
	kl_json_set_int(value, "hi_ppm", ratio->hi);
	return value;
}

static json_t *list_json(const struct kl_strvec *list)
{
	json_t *value = json_array();

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(value, json_string(list->v[i]));
	return value;
}

static json_t *step_json(const struct kl_view_step *step, size_t i)
{
	json_t *value = kl_view_step_json(step, i);
	char hex[KL_OID_HEX];

	kl_json_set_str(value, "locus", step->step.locus);
	if (!git_oid_is_zero(&step->rederived)) {
		kl_oid_hex(hex, &step->rederived);
		kl_json_set_str(value, "rederived", hex);
	}
	kl_json_set_str(value, "attempts", step->step.attempts);
	kl_json_set_str(value, "origin", step->step.origin);
	kl_json_set_str(value, "rewriter", step->step.rewriter);
	kl_json_set_str(value, "effect", step->step.effect);
	kl_json_set_str(value, "undoes", step->step.undoes);
	kl_json_set_str(value, "folded", step->step.folded);
	kl_json_set_int(value, "ns", step->ns);
	kl_json_set(value, "previous", ratio_json(&step->prev));
	kl_json_set(value, "root", ratio_json(&step->root));
	kl_json_set(value, "gained", list_json(&step->gained));
	kl_json_set(value, "lost", list_json(&step->lost));
	kl_json_set_str(value, "verdict", step->verdict ? kl_verdict_name(step->verdict) : NULL);
	kl_json_set(value, "outdated", step->verdict ? json_boolean(step->outdated) : json_null());
	kl_json_set_str(value, "tier", step->tier ? kl_tier_name(step->tier) : NULL);
	kl_json_set_str(value, "event", *step->event ? step->event : NULL);
	return value;
}

static void print_listing(const struct kl_listing *out, const struct kl_view *view)
{
	static const char *const fields[] = { "step",
					      "commit",
					      "action",
					      "mechanism",
					      "locus",
					      "derivation",
					      "ns",
					      "previous.ratio_ppm",
					      "previous.lo_ppm",
					      "previous.hi_ppm",
					      "root.ratio_ppm",
					      "root.lo_ppm",
					      "root.hi_ppm",
					      "verdict",
					      "tier",
					      "event",
					      "gained",
					      "lost",
					      NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *steps = json_array();

	kl_json_set_str(value, "schema", "klineage.log/1");
	kl_json_set_str(value, "workload", view->workload);
	kl_json_set_str(value, "name", view->name);
	kl_json_set_str(value, "ref", view->ref);
	kl_json_set_str(value, "platform", view->step[0].step.platform);
	kl_json_set_str(value, "expert", view->step[0].step.expert);
	kl_json_set_str(value, "termination", view->step[0].step.termination);
	kl_json_set_int(value, "rejected", (int64_t)view->rejected);
	for (size_t i = 0; i < view->n; i++)
		json_array_append_new(steps, step_json(&view->step[i], i));
	kl_json_set(value, "steps", steps);
	kl_listing_print(out, value, "steps", fields);
}

int cmd_log(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	KL_AUTO(kl_view_release) struct kl_view view = { 0 };
	struct kl_listing out = { 0 };
	bool bars = true;
	const struct kl_opt opts[] = { KL_OPT_BOOL('\0', "bars", &bars,
						   "draw the speed of each state (default)"),
				       KL_OPT_LISTING(&out), KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "only one lineage can be given");
	if ((err = kl_listing_check(&out, synopsis)) < 0 ||
	    (err = kl_view_pick(&workload, &name, ctx->repo, argc ? argv[0] : NULL)) < 0 ||
	    (err = kl_view_load(&view, ctx->repo, workload, name)) < 0)
		return err;
	if (kl_listing_asked(&out))
		print_listing(&out, &view);
	else
		print_view(&view, ctx->repo, bars, &ctx->term);
	return 0;
}
