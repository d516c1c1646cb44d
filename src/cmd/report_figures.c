/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report_figures.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"
#include "report/figure.h"

#define MAX_PDF ((size_t)16 << 20)
#define PDF_MS 30000

static const char *const endings[] = { "svg", "pdf", "tikz", "csv" };

bool kl_report_format_parse(enum kl_report_format *out, const char *name)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (!strcmp(name, endings[i])) {
			*out = (enum kl_report_format)i;
			return true;
		}
	return false;
}

/* Convert the SVG of a figure. It refers to no file and no address. */
static int convert_pdf(struct kl_buf *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf pdf = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	static const char *const argv[] = { "rsvg-convert", "--format=pdf", NULL };
	struct kl_proc_result result = { 0 };
	int err = kl_proc_run(&result, &(struct kl_proc_opts){
					       .argv = argv,
					       .in = text->ptr,
					       .in_len = text->len,
					       .out = &pdf,
					       .err = &said,
					       .max_output = MAX_PDF,
					       .timeout_ms = PDF_MS,
				       });

	if (err == KL_ENOTFOUND) {
		kl_error(KL_ECANNOT, "cannot write PDF: rsvg-convert is not installed");
		return kl_error_hint(KL_ECANNOT, "install librsvg2-bin, or use --format svg");
	}
	if (err < 0)
		return err;
	if (result.exit != 0 || result.signal || pdf.len < 5 || memcmp(pdf.ptr, "%PDF-", 5) != 0)
		return kl_error(KL_EIO, "rsvg-convert failed: %.200s",
				said.len ? said.ptr : "it wrote no PDF");
	kl_buf_clear(text);
	kl_buf_add(text, pdf.ptr, pdf.len);
	return 0;
}

static int put_file(const struct kl_report_figures *figures, const struct kl_view *view,
		    const char *what, const struct kl_buf *text)
{
	KL_AUTO(kl_freep)
	char *path = kl_asprintf("%s/%s-%s-%s.%s", figures->dir, view->workload, view->name, what,
				 endings[figures->format]);
	int err = kl_fs_write_output(path, text->ptr, text->len);

	if (!err)
		json_array_append_new(figures->files, json_string(path));
	return err;
}

static int put_figure(const struct kl_report_figures *figures, const struct kl_view *view,
		      const char *what, const struct kl_drawing *drawing)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = 0;

	if (figures->format == KL_REPORT_TIKZ)
		kl_drawing_tikz(&text, drawing);
	else
		kl_drawing_svg(&text, drawing);
	if (figures->format == KL_REPORT_PDF)
		err = convert_pdf(&text);
	return err < 0 ? err : put_file(figures, view, what, &text);
}

static int put_drawings(const struct kl_report_figures *figures, struct kl_repo *repo,
			const struct kl_report_content *content)
{
	static void (*const draw[])(struct kl_drawing *, const struct kl_report_content *,
				    int) = { kl_figure_share, kl_figure_trace, kl_figure_steps };
	static const char *const names[] = { "share", "trace", "steps" };
	KL_AUTO(kl_drawing_release) struct kl_drawing cost = { 0 };
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	int err = kl_ledger_load(&ledger, repo, content->view->workload);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !err; i++) {
		KL_AUTO(kl_drawing_release) struct kl_drawing drawing = { 0 };

		draw[i](&drawing, content, figures->width);
		err = put_figure(figures, content->view, names[i], &drawing);
	}
	if (!err && kl_figure_cost(&cost, content, &ledger, figures->width))
		err = put_figure(figures, content->view, "cost", &cost);
	return err;
}

int kl_report_figures(const struct kl_report_figures *figures, struct kl_repo *repo,
		      const struct kl_view *view)
{
	KL_AUTO(kl_report_content_release) struct kl_report_content content = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf numbers = KL_BUF_INIT;
	int err = kl_report_collect(&content, repo, view);

	if (!err)
		err = kl_fs_mkdir(figures->dir);
	if (err < 0 || figures->format != KL_REPORT_CSV)
		return err < 0 ? err : put_drawings(figures, repo, &content);
	kl_figure_csv(&numbers, &content);
	return put_file(figures, view, "states", &numbers);
}
