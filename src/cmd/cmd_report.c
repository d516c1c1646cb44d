/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report - git klineage report: lineages as an HTML page and figures */
#include <string.h>

#include "base/fs.h"
#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "lineage/figure.h"
#include "lineage/report.h"

static const char synopsis[] = "report [<options>] <workload>[/<name>]";

#define MAX_LINEAGES 200

struct views {
	struct kl_view *v;
	size_t n;
};

static void views_release(struct views *x)
{
	for (size_t i = 0; i < x->n; i++)
		kl_view_release(&x->v[i]);
	free(x->v);
}

/* One lineage, or all of a workload. */
static int load_views(struct views *x, struct kl_repo *r, const char *what)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	int err = kl_view_list(&refs, r, what);

	if (err < 0)
		return err;
	if (!refs.n)
		return kl_view_none(r, what);
	if (refs.n > MAX_LINEAGES)
		return kl_error(KL_EINVALID, "'%s' has %zu lineages: more than a page can show",
				what, refs.n);
	x->v = kl_calloc(refs.n, sizeof(*x->v));
	for (size_t i = 0; i < refs.n && !err; i++) {
		KL_AUTO(kl_freep) char *workload = NULL;
		KL_AUTO(kl_freep) char *name = NULL;

		err = kl_view_split(&workload, &name, refs.v[i]);
		if (!err)
			err = kl_view_load(&x->v[x->n], r, workload, name);
		x->n += !err;
	}
	return err;
}

static int put_figure(json_t *list, const char *dir, const struct kl_view *v, const char *what,
		      const struct kl_buf *svg)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s-%s-%s.svg", dir, v->workload, v->name,
						   what);

	json_array_append_new(list, json_string(path));
	return kl_fs_write_output(path, svg->ptr, svg->len);
}

static int write_figures(json_t *list, const char *dir, struct kl_repo *r, const struct kl_view *v)
{
	KL_AUTO(kl_buf_release) struct kl_buf trace = KL_BUF_INIT, steps = KL_BUF_INIT,
					      cost = KL_BUF_INIT;
	KL_AUTO(kl_ledger_release) struct kl_ledger l = { 0 };
	int err;

	kl_figure_trace(&trace, v);
	kl_figure_steps(&steps, v);
	if ((err = kl_ledger_load(&l, r, v->workload)) < 0 || (err = kl_fs_mkdir(dir)) < 0 ||
	    (err = put_figure(list, dir, v, "trace", &trace)) < 0 ||
	    (err = put_figure(list, dir, v, "steps", &steps)) < 0)
		return err;
	return kl_figure_cost(&cost, v, &l) ? put_figure(list, dir, v, "cost", &cost) : 0;
}

static bool is_file(const char *path)
{
	return path && strcmp(path, "-") && strcmp(path, "/dev/stdout");
}

static int write_page(const struct kl_buf *html, const char *path)
{
	if (is_file(path))
		return kl_fs_write_output(path, html->ptr, html->len);
	fwrite(html->ptr, 1, html->len, stdout);
	return 0;
}

static void print_json(const struct views *x, const char *page, json_t *figures)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < x->n; i++) {
		json_t *one = json_object();

		kl_json_set_str(one, "name", x->v[i].name);
		kl_json_set_str(one, "ref", x->v[i].ref);
		json_array_append_new(list, one);
	}
	kl_json_set_str(j, "schema", "klineage.reported/1");
	kl_json_set_str(j, "workload", x->v[0].workload);
	kl_json_set(j, "lineages", list);
	kl_json_set_str(j, "page", page);
	kl_json_set(j, "figures", json_incref(figures));
	kl_listing_put(j);
}

int cmd_report(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(views_release) struct views x = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf html = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *written = json_array();
	const char *output = NULL, *figures = NULL;
	bool json = false;
	const struct kl_opt opts[] = {
		KL_OPT_STR('o', "output", &output, "<file>",
			   "write the page to this file (default: stdout)"),
		KL_OPT_STR('\0', "figures", &figures, "<directory>",
			   "also write the figures to this directory, as SVG"),
		KL_OPT_BOOL('\0', "json", &json, "print the names of the written files as JSON"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc != 1)
		return kl_opt_usage(synopsis, argc ? "one workload at a time" : "which workload?");
	if (json && !is_file(output))
		return kl_opt_usage(synopsis,
				    "--json says what was written: it goes with --output <file>");
	if ((err = load_views(&x, ctx->repo, argv[0])) < 0 ||
	    (err = kl_report_html(&html, ctx->repo, x.v, x.n)) < 0)
		return err;
	for (size_t i = 0; figures && i < x.n && !err; i++)
		err = write_figures(written, figures, ctx->repo, &x.v[i]);
	if (err < 0 || (err = write_page(&html, output)) < 0)
		return err;
	if (json)
		print_json(&x, output, written);
	return 0;
}
