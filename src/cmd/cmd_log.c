/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_log - git klineage log: the steps of a lineage as a table */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "cmd/table.h"
#include "lineage/view.h"

#define BAR_WIDTH 48 /* where there is room */
#define BAR_LEFT 22  /* what stands before a bar, and a blank after it */

static const char synopsis[] = "log [<options>] [<workload>[/<name>]]";

static void add_ratio(struct kl_buf *b, const struct kl_ratio *r)
{
	char x[24], lo[24], hi[24];

	if (r->ppm <= 0) {
		kl_buf_addch(b, '-');
		return;
	}
	kl_view_factor(x, (double)r->ppm / 1e6);
	kl_view_factor(lo, (double)r->lo / 1e6);
	kl_view_factor(hi, (double)r->hi / 1e6);
	kl_buf_addf(b, "%sx [%s, %s]", x, lo, hi);
}

static void add_list(struct kl_buf *b, const struct kl_strvec *v)
{
	for (size_t i = 0; i < v->n; i++)
		kl_buf_addf(b, "%s%s", i ? " " : "", v->v[i]);
}

static const char *or_dash(const char *s)
{
	return s && *s ? s : "-";
}

static void add_row(struct kl_table *t, const struct kl_view_step *s, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf prev = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf root = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf gained = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *number = kl_asprintf("K_%zu", i);
	char time[32];

	kl_table_time(time, s->ns);
	add_ratio(&prev, &s->prev);
	add_ratio(&root, &s->root);
	add_list(&gained, &s->gained);
	kl_table_row(t,
		     (const char *[]){ number, i ? or_dash(s->step.action) : "(simplest)",
				       i ? or_dash(s->step.mechanism) : "-",
				       i ? or_dash(s->step.locus) : "-", time, prev.ptr, root.ptr,
				       or_dash(gained.ptr), i ? or_dash(s->step.derivation) : "-",
				       or_dash(kl_verdict_name(s->verdict)),
				       or_dash(kl_tier_name(s->tier)) });
}

static void print_bars(const struct kl_view *v, const struct kl_term *term)
{
	int room = term->width > BAR_WIDTH + BAR_LEFT ? BAR_WIDTH : term->width - BAR_LEFT;
	double most = 0;

	for (size_t i = 0; i < v->n; i++)
		if (v->step[i].root.ppm > 0)
			most = fmax(most, log((double)v->step[i].root.ppm / 1e6));
	if (most <= 0)
		return;
	puts("\nspeed against K_0, logarithmic");
	for (size_t i = 0; i < v->n; i++) {
		double x = i ? (double)v->step[i].root.ppm / 1e6 : 1;
		int n = x > 1 ? (int)lround(fmax(room, 1) * log(x) / most) : 0;

		if (x <= 0)
			continue;
		printf("%5s%-3zu %9.2fx |%s", "K_", i, x, kl_paint(term, KL_PAINT_PASS));
		while (n-- > 0)
			putchar('#');
		puts(kl_paint(term, KL_PAINT_RESET));
	}
}

static void print_head(const struct kl_view *v, const struct kl_term *term)
{
	const struct kl_step *root = &v->step[0].step;
	const struct kl_view_step *best = &v->step[v->n - 1];

	printf("%s%s/%s%s: %zu step%s on %s, %s; %zu rejected\n", kl_paint(term, KL_PAINT_HEAD),
	       v->workload, v->name, kl_paint(term, KL_PAINT_RESET), v->n - 1, v->n == 2 ? "" : "s",
	       or_dash(root->platform), or_dash(root->termination), v->rejected);
	if (best->baseline_ppm > 0)
		printf("the expert is at %.2f of the speed of %s\n",
		       (double)best->baseline_ppm / 1e6, best->baseline);
	putchar('\n');
}

static void print_view(const struct kl_view *v, bool bars, const struct kl_term *term)
{
	static const char *const head[] = { "state",   "action undone", "mechanism",
					    "where",   "time",          "x the one before",
					    "x K_0",   "facts gained",  "derivation",
					    "verdict", "tier" };
	KL_AUTO(kl_table_release) struct kl_table t = { .columns = KL_ARRAY_SIZE(head) };

	print_head(v, term);
	kl_table_row(&t, head);
	for (size_t i = 0; i < v->n; i++)
		add_row(&t, &v->step[i], i);
	kl_table_print(&t);
	if (bars)
		print_bars(v, term);
}

/* --- for programs ---------------------------------------------------------------- */

static json_t *ratio_json(const struct kl_ratio *r)
{
	json_t *j;

	if (r->ppm <= 0)
		return json_null();
	j = json_object();
	kl_json_set_int(j, "ratio_ppm", r->ppm);
	kl_json_set_int(j, "lo_ppm", r->lo);
	kl_json_set_int(j, "hi_ppm", r->hi);
	return j;
}

static json_t *list_json(const struct kl_strvec *v)
{
	json_t *j = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(j, json_string(v->v[i]));
	return j;
}

static json_t *step_json(const struct kl_view_step *s, size_t i)
{
	json_t *j = kl_view_step_json(s, i);
	char hex[KL_OID_HEX];

	kl_json_set_str(j, "locus", s->step.locus);
	if (!git_oid_is_zero(&s->rederived)) {
		kl_oid_hex(hex, &s->rederived);
		kl_json_set_str(j, "rederived", hex);
	}
	kl_json_set_str(j, "attempts", s->step.attempts);
	kl_json_set_str(j, "origin", s->step.origin);
	kl_json_set_str(j, "rewriter", s->step.rewriter);
	kl_json_set_int(j, "ns", s->ns);
	kl_json_set(j, "previous", ratio_json(&s->prev));
	kl_json_set(j, "root", ratio_json(&s->root));
	kl_json_set(j, "gained", list_json(&s->gained));
	kl_json_set(j, "lost", list_json(&s->lost));
	kl_json_set_str(j, "verdict", s->verdict ? kl_verdict_name(s->verdict) : NULL);
	kl_json_set_str(j, "tier", s->tier ? kl_tier_name(s->tier) : NULL);
	kl_json_set_str(j, "event", *s->event ? s->event : NULL);
	return j;
}

static void print_listing(const struct kl_listing *out, const struct kl_view *v)
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
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *steps = json_array();

	kl_json_set_str(j, "schema", "klineage.log/1");
	kl_json_set_str(j, "workload", v->workload);
	kl_json_set_str(j, "name", v->name);
	kl_json_set_str(j, "ref", v->ref);
	kl_json_set_str(j, "platform", v->step[0].step.platform);
	kl_json_set_str(j, "expert", v->step[0].step.expert);
	kl_json_set_str(j, "termination", v->step[0].step.termination);
	kl_json_set_int(j, "rejected", (int64_t)v->rejected);
	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(steps, step_json(&v->step[i], i));
	kl_json_set(j, "steps", steps);
	kl_listing_print(out, j, "steps", fields);
}

int cmd_log(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	KL_AUTO(kl_view_release) struct kl_view v = { 0 };
	struct kl_listing out = { 0 };
	bool bars = true;
	const struct kl_opt opts[] = { KL_OPT_BOOL('\0', "bars", &bars,
						   "draw the speed of each state (default)"),
				       KL_OPT_LISTING(&out), KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "one lineage at a time");
	if ((err = kl_listing_check(&out, synopsis)) < 0 ||
	    (err = kl_view_pick(&workload, &name, ctx->repo, argc ? argv[0] : NULL)) < 0 ||
	    (err = kl_view_load(&v, ctx->repo, workload, name)) < 0)
		return err;
	if (kl_listing_asked(&out))
		print_listing(&out, &v);
	else
		print_view(&v, bars, &ctx->term);
	return 0;
}
