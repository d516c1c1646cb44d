/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_log - git klineage log: prints the steps of a lineage as a table */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/table.h"
#include "cmd/cmd.h"
#include "event/speed.h"
#include "lineage/view.h"

#define BAR_WIDTH 48 /* columns, if the terminal is wide enough */
#define BAR_LEFT 22  /* columns that no bar can use: 21 before it, 1 after it */

static const char synopsis[] = "log [<options>] [<workload>[/<name>]]";

static void add_ratio(struct kl_buf *buf, const struct kl_ratio *ratio)
{
	char text[24], lo[24], hi[24];

	if (ratio->ppm <= 0) {
		kl_buf_addch(buf, '-');
		return;
	}
	kl_view_factor(text, (double)ratio->ppm / 1e6);
	kl_view_factor(lo, (double)ratio->lo / 1e6);
	kl_view_factor(hi, (double)ratio->hi / 1e6);
	kl_buf_addf(buf, "%sx [%s, %s]", text, lo, hi);
}

static void add_list(struct kl_buf *buf, const struct kl_strvec *list)
{
	for (size_t i = 0; i < list->n; i++)
		kl_buf_addf(buf, "%s%s", i ? " " : "", list->v[i]);
}

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

/* the column that is left out if no step has an effect, as in lineages of earlier versions */
#define EFFECT_COLUMN 8
#define COLUMNS 12

static bool has_effects(const struct kl_view *view)
{
	for (size_t i = 0; i < view->n; i++)
		if (view->step[i].step.effect)
			return true;
	return false;
}

/* Add a row from the cells of all columns; skip the effect if the table lacks that column. */
static void add_cells(struct kl_table *table, const char *const cell[COLUMNS])
{
	const char *some[COLUMNS];
	size_t k = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		if (i != EFFECT_COLUMN || table->columns == COLUMNS)
			some[k++] = cell[i];
	kl_table_row(table, some);
}

static void add_row(struct kl_table *table, const struct kl_view_step *step, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf prev = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf root = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf gained = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *number = kl_asprintf("K_%zu", i);
	KL_AUTO(kl_freep) char *mechanism = kl_view_mechanism(step);
	char time[32];

	kl_table_time(time, step->ns);
	add_ratio(&prev, &step->prev);
	add_ratio(&root, &step->root);
	add_list(&gained, &step->gained);
	add_cells(table, (const char *[]){ number, i ? or_dash(step->step.action) : "(simplest)",
					   i ? mechanism : "-", i ? or_dash(step->step.locus) : "-",
					   time, prev.ptr, root.ptr, or_dash(gained.ptr),
					   i ? or_dash(step->step.effect) : "-",
					   i ? or_dash(step->step.derivation) : "-",
					   or_dash(kl_verdict_name(step->verdict)),
					   or_dash(kl_tier_name(step->tier)) });
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

static void print_head(const struct kl_view *view, const struct kl_term *term)
{
	const struct kl_step *root = &view->step[0].step;
	const struct kl_view_step *best = &view->step[view->n - 1];

	printf("%s%s/%s%s: %zu step%s on %s, %s; %zu rejected\n", kl_paint(term, KL_PAINT_HEAD),
	       view->workload, view->name, kl_paint(term, KL_PAINT_RESET), view->n - 1,
	       view->n == 2 ? "" : "s", or_dash(root->platform), or_dash(root->termination),
	       view->rejected);
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

static void print_view(const struct kl_view *view, bool bars, const struct kl_term *term)
{
	static const char *const head[COLUMNS] = { "state",      "action undone", "mechanism",
						   "where",      "time",          "x previous",
						   "x K_0",      "facts gained",  "effect",
						   "derivation", "verdict",       "tier" };
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = has_effects(view) ?
									       COLUMNS :
									       COLUMNS - 1 };

	print_head(view, term);
	add_cells(&table, head);
	for (size_t i = 0; i < view->n; i++)
		add_row(&table, &view->step[i], i);
	kl_table_print(&table);
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
		print_view(&view, bars, &ctx->term);
	return 0;
}
