/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_report - git klineage report: writes lineages as an HTML page and figures */
#include <string.h>

#include "base/fs.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cmd.h"
#include "cmd/report_figures.h"
#include "report/figure.h"
#include "report/report.h"

static const char synopsis[] = "report [<options>] <workload>[/<name>]...";

#define MAX_LINEAGES 200

struct views {
	struct kl_view *v;
	size_t n, alloc;
};

static void views_release(struct views *views)
{
	for (size_t i = 0; i < views->n; i++)
		kl_view_release(&views->v[i]);
	free(views->v);
}

/* Return true if the lineage with this ref was loaded for an earlier argument. */
static bool is_loaded(const struct views *views, const char *ref)
{
	for (size_t i = 0; i < views->n; i++)
		if (!strcmp(views->v[i].ref, ref))
			return true;
	return false;
}

/* Load one lineage, or all lineages of a workload. */
static int load_views(struct views *views, struct kl_repo *repo, const char *what)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	int err = kl_view_list(&refs, repo, what);

	if (err < 0)
		return err;
	if (!refs.n)
		return kl_view_none(repo, what);
	if (refs.n + views->n > MAX_LINEAGES)
		return kl_error(KL_EINVALID, "'%s' has %zu lineages, more than a page can show",
				what, refs.n);
	for (size_t i = 0; i < refs.n && !err; i++) {
		KL_AUTO(kl_freep) char *workload = NULL;
		KL_AUTO(kl_freep) char *name = NULL;

		if (is_loaded(views, refs.v[i]))
			continue;
		KL_GROW(views->v, views->n + 1, views->alloc);
		err = kl_view_split(&workload, &name, refs.v[i]);
		if (!err)
			err = kl_view_load(&views->v[views->n], repo, workload, name);
		views->n += !err;
	}
	return err;
}

static bool is_file(const char *path)
{
	return path && strcmp(path, "-") && strcmp(path, "/dev/stdout");
}

static int write_page(const struct kl_buf *html, const char *path)
{
	if (is_file(path))
		return kl_fs_write_output(path, html->ptr, html->len);
	kl_out_exact(html->ptr, html->len);
	return 0;
}

static void print_json(const struct views *views, const char *page, json_t *figures)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < views->n; i++) {
		json_t *one = json_object();

		kl_json_set_str(one, "name", views->v[i].name);
		kl_json_set_str(one, "ref", views->v[i].ref);
		json_array_append_new(list, one);
	}
	kl_json_set_str(value, "schema", "klineage.reported/1");
	kl_json_set_str(value, "workload", views->v[0].workload);
	kl_json_set(value, "lineages", list);
	kl_json_set_str(value, "page", page);
	kl_json_set(value, "figures", json_incref(figures));
	kl_listing_put(value);
}

static int check_format(struct kl_report_figures *figures, const char *format, bool column)
{
	if ((format || column) && !figures->dir)
		return kl_opt_usage(synopsis, "%s is about figures and needs --figures <directory>",
				    format ? "--format" : "--column");
	if (format && !kl_report_format_parse(&figures->format, format))
		return kl_opt_usage(synopsis, "no format '%s': use svg, pdf, tikz or csv", format);
	return 0;
}

int cmd_report(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(views_release) struct views views = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf html = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *written = json_array();
	const char *output = NULL, *format = NULL;
	struct kl_report_figures figures = { .width = KL_FIGURE_WIDTH, .files = written };
	bool column = false;
	bool json = false;
	const struct kl_opt opts[] = {
		KL_OPT_STR('o', "output", &output, "<file>",
			   "write the page to this file (default: stdout)"),
		KL_OPT_STR('\0', "figures", &figures.dir, "<directory>",
			   "also write the figures to this directory"),
		KL_OPT_STR('\0', "format", &format, "<format>",
			   "with --figures, no page but these: svg, pdf, tikz, or csv"),
		KL_OPT_BOOL('\0', "column", &column, "draw the figures for one column of a paper"),
		KL_OPT_BOOL('\0', "json", &json, "print the names of the written files as JSON"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (!argc)
		return kl_opt_usage(synopsis, "no workload given");
	if (json && !is_file(output))
		return kl_opt_usage(synopsis,
				    "--json lists the written files and needs --output <file>");
	if ((err = check_format(&figures, format, column)) < 0)
		return err;
	if (column)
		figures.width = KL_FIGURE_COLUMN;
	for (int i = 0; i < argc && !err; i++)
		err = load_views(&views, ctx->repo, argv[i]);
	if (!err && (output || !format))
		err = kl_report_html(&html, ctx->repo, views.v, views.n);
	if (err < 0)
		return err;
	for (size_t i = 0; figures.dir && i < views.n && !err; i++)
		err = kl_report_figures(&figures, ctx->repo, &views.v[i]);
	if (!err && (output || !format))
		err = write_page(&html, output);
	if (err < 0)
		return err;
	if (json)
		print_json(&views, output, written);
	return 0;
}
