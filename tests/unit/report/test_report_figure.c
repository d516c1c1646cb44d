/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as SVG, and what they are written with. */
#include "test.h"

#include "report/figure.h"
#include "report/forge.h"
#include "text/html.h"

#define S(text) ((char *)(text)) /* owned strings that nobody frees here */

#define assert_html(want, ...)                                          \
	do {                                                            \
		KL_AUTO(kl_buf_release) struct kl_buf b_ = KL_BUF_INIT; \
		kl_html_addn(&b_, __VA_ARGS__);                         \
		assert_string_equal(b_.ptr, want);                      \
	} while (0)

static void others_text_is_text(void **state)
{
	assert_html("a &lt;b&gt; &amp;amp; &quot;c&quot; &#39;d&#39;", "a <b> &amp; \"c\" 'd'", 19);
	assert_html("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\t\n",
		    "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\t\n", 13);
	/* cut off, overlong, a surrogate, beyond the end, a lone byte, control bytes, U+FFFE */
	assert_html("\xef\xbf\xbd"
		    "x",
		    "\xc3"
		    "x",
		    2);
	assert_html("\xef\xbf\xbd", "\xc3", 1);
	assert_html("\xef\xbf\xbd\xef\xbf\xbd", "\xc0\xaf", 2);
	assert_html("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "\xed\xa0\x80", 3);
	assert_html("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "\xf4\x90\x80\x80", 4);
	assert_html("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "\x01\x7f\x80", 3);
	assert_html("\xef\xbf\xbd", "\0", 1);
	assert_html("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "\xef\xbf\xbe", 3);
	/* right-to-left override, an isolate; their neighbours are harmless */
	assert_html("a\xef\xbf\xbd"
		    "b\xef\xbf\xbd\xe2\x80\xaf",
		    "a\xe2\x80\xae"
		    "b\xe2\x81\xa7\xe2\x80\xaf",
		    11);
}

/* Three states: K_1 twice as fast as K_0 and derived anew, K_2 four times. */
/* clang-format off */
static struct kl_view_step steps[3] = {
	{ .verdict = KL_VERDICT_PASS },
	{ .verdict = KL_VERDICT_PASS, .rederived = { { 1 } }, .prev = { 2000000, 1900000, 2100000 },
	  .root = { 2000000, 1900000, 2100000 }, .step = { .mechanism = S("<script>") } },
	{ .verdict = KL_VERDICT_PASS, .rederived = { { 2 } }, .prev = { 2000000, 1900000, 2100000 },
	  .root = { 4000000, 3800000, 4200000 }, .baseline_ppm = 2000000, .baseline = "vendor" },
};
/* clang-format on */
static struct kl_view view = { .workload = S("w"), .name = S("n"), .step = steps, .n = 3 };
static struct kl_report_speed speeds[3] = {
	{ { 0 }, false },
	{ { 0 }, false },
	{ { 2000000, 1900000, 2100000 }, true },
};
static struct kl_report_content content = {
	.view = &view,
	.id = S("w/n"),
	.device = S(""),
	.reference = S("vendor"),
	.speed = speeds,
};

/* Draw a figure and append it as SVG. */
static void draw(struct kl_buf *svg,
		 void (*figure)(struct kl_drawing *, const struct kl_report_content *, int),
		 const struct kl_report_content *of)
{
	KL_AUTO(kl_drawing_release) struct kl_drawing drawing = { 0 };

	figure(&drawing, of, KL_FIGURE_WIDTH);
	kl_drawing_svg(svg, &drawing);
}

static bool cost(struct kl_buf *svg, const struct kl_ledger *ledger)
{
	KL_AUTO(kl_drawing_release) struct kl_drawing drawing = { 0 };
	bool drawn = kl_figure_cost(&drawing, &content, ledger, KL_FIGURE_WIDTH);

	if (drawn)
		kl_drawing_svg(svg, &drawing);
	return drawn;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void a_trace_has_every_state(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf svg = KL_BUF_INIT;

	draw(&svg, kl_figure_trace, &content);
	assert_int_equal(count(svg.ptr, "<circle"), 3);
	assert_int_equal(count(svg.ptr, "class=\"span\""), 2);
	assert_non_null(strstr(svg.ptr, "K_2"));
	assert_non_null(strstr(svg.ptr, ">vendor<"));
	/* 4x K_0 is twice the vendor's: that is at 2x, where K_1 is */
	assert_non_null(strstr(svg.ptr, "class=\"base\""));
	assert_null(strstr(svg.ptr, "<script"));
	assert_non_null(strstr(svg.ptr, "&lt;script&gt;"));
	assert_int_equal(count(svg.ptr, "http"), 1); /* the name space */
	assert_int_equal(count(svg.ptr, "nan"), 0);
	assert_int_equal(count(svg.ptr, "inf"), 0);
}

static void a_lineage_of_one_state_or_without_times_is_drawn_as_well(void **state)
{
	struct kl_view_step bare[2] = { 0 };
	struct kl_view one = { .workload = S("w"), .name = S("n"), .step = bare, .n = 1 };

	for (one.n = 1; one.n <= 2; one.n++) {
		KL_AUTO(kl_buf_release) struct kl_buf svg = KL_BUF_INIT;

		struct kl_report_speed none[2] = { 0 };
		struct kl_report_content bare_content = {
			.view = &one,
			.id = S("w/n"),
			.device = S(""),
			.reference = S(""),
			.speed = none,
		};

		kl_report_chain_speeds(&bare_content);
		draw(&svg, kl_figure_trace, &bare_content);
		draw(&svg, kl_figure_share, &bare_content);
		draw(&svg, kl_figure_steps, &bare_content);
		/* K_0 against itself, and the expert in percent of itself */
		assert_int_equal(count(svg.ptr, "<circle"), 2);
		assert_int_equal(count(svg.ptr, "<rect"), 0);
		assert_int_equal(count(svg.ptr, "nan"), 0);
		assert_int_equal(count(svg.ptr, "inf"), 0);
	}
}

static void a_share_is_measured_or_chained(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf svg = KL_BUF_INIT;

	kl_report_chain_speeds(&content);
	/* K_2 has twice the vendor's speed, and K_1 half of K_2's */
	assert_int_equal(content.speed[2].share.ppm, 2000000);
	assert_true(content.speed[2].measured);
	assert_in_range(content.speed[1].share.ppm, 999999, 1000001);
	assert_in_range(content.speed[0].share.ppm, 499999, 500001);
	/* two ratios of 5 % each: the half-widths add in quadrature */
	assert_in_range(content.speed[1].share.hi, 1070000, 1080000);
	draw(&svg, kl_figure_share, &content);
	assert_non_null(strstr(svg.ptr, "100% is vendor"));
	assert_non_null(strstr(svg.ptr, ": 50.0 % ["));
	assert_int_equal(count(svg.ptr, "href=\"#w/n/K_"), 3);
}

static void a_rejected_step_is_a_cross_that_leads_to_its_reason(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf svg = KL_BUF_INIT;
	struct kl_view_rejection rejection[2] = {
		{ .step = { .class_ = S("wrong-edge"), .text = S("</title><b>") } },
		{ .step = { .class_ = S("hang") } },
	};
	struct kl_report_rejected rejected[2] = { { .on = 1 }, { .on = SIZE_MAX } };
	struct kl_report_content with = content;

	with.rejections.r = rejection;
	with.rejections.n = 2;
	with.rejected = rejected;
	draw(&svg, kl_figure_share, &with);
	/* the second was tried on a state that is not here */
	assert_int_equal(count(svg.ptr, "class=\"reject\""), 1);
	assert_non_null(strstr(svg.ptr, "href=\"#w/n/rejected-2\""));
	assert_non_null(strstr(svg.ptr, "rejected at K_1: &lt;/title&gt;&lt;b&gt;, wrong-edge"));
}

static void a_figure_for_latex_has_no_commands_of_others(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf tex = KL_BUF_INIT;
	KL_AUTO(kl_drawing_release) struct kl_drawing drawing = { .width = 10, .height = 10 };

	kl_draw_text(&drawing, KL_ANCHOR_START, 0, 1, 1,
		     "K_12 \\input{x}%$^^5c 2\xc3\x97\xe2\x80\xae");
	kl_drawing_tikz(&tex, &drawing);
	assert_non_null(strstr(
		tex.ptr, "{$\\mathsf{K}_{12}$ \\char92{}input\\{x\\}\\%\\$\\char94{}\\char94{}5c "
			 "2$\\times$?};"));
}

static void addresses_of_commits_are_those_of_known_forges(void **state)
{
	static const struct {
		const char *url, *commits;
	} row[] = {
		{ "https://github.com/a/b.git", "https://github.com/a/b/commit/" },
		{ "git@github.com:a/b.git", "https://github.com/a/b/commit/" },
		{ "ssh://git@gitlab.example.org:2222/a/b/c/",
		  "https://gitlab.example.org/a/b/c/-/commit/" },
		{ "https://me:secret@codeberg.org/a/b", "https://codeberg.org/a/b/commit/" },
		{ "https://bitbucket.org/a/b", "https://bitbucket.org/a/b/commits/" },
		{ "https://example.org/a/b", "" },
		{ "/srv/github/b.git", "" },
		{ "../github:b", "" },
		{ "file:///srv/github.com/b", "" },
		{ "https://github.com/a\"onclick=x/b", "" },
		{ "https://github.com/a/../b", "" },
		{ "javascript:github", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		KL_AUTO(kl_freep) char *commits = kl_forge_commits(row[i].url);

		assert_string_equal(commits, row[i].commits);
	}
}

static void steps_go_up_and_down(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf svg = KL_BUF_INIT;
	struct kl_ratio was = steps[2].prev;

	steps[2].prev = (struct kl_ratio){ 500000, 480000, 520000 };
	draw(&svg, kl_figure_steps, &content);
	steps[2].prev = was;
	assert_int_equal(count(svg.ptr, "class=\"up\""), 1);
	assert_int_equal(count(svg.ptr, "class=\"down\""), 1);
}

/* The last point of the polyline. */
static void last_point(double *values, double *samples, const char *svg)
{
	const char *at = strstr(svg, "points=\""), *end;

	assert_non_null(at);
	end = strchr(at + 8, '"');
	while (end[-1] != ' ' && end[-1] != '"')
		end--;
	assert_int_equal(sscanf(end, "%lf,%lf", values, samples), 2);
}

static void cost_is_drawn_where_money_was_spent(void **state)
{
	/* clang-format off */
	struct kl_ledger_entry entrys[] = {
		{ .kind = KL_LEDGER_SETTLE, .name = S("n"), .phase = S("back-1"), .nano = 1000000000 },
		{ .kind = KL_LEDGER_RESERVE, .name = S("n"), .phase = S("forward-1"), .nano = 9000000000 },
		{ .kind = KL_LEDGER_SETTLE, .name = S("n"), .phase = S("forward-1"), .nano = 1000000000 },
		{ .kind = KL_LEDGER_SETTLE, .name = S("other"), .phase = S("forward-2"), .nano = 50000000000 },
		{ .kind = KL_LEDGER_SETTLE, .name = S("n"), .phase = S("forward-2"), .nano = 2000000000 },
	};
	/* clang-format on */
	struct kl_ledger none = { 0 }, ledger = { entrys, 5, 5 }, half = { entrys, 3, 3 };
	KL_AUTO(kl_buf_release) struct kl_buf left = KL_BUF_INIT, right = KL_BUF_INIT;
	double value, other, x2, y2;

	assert_false(cost(&left, &none));
	assert_string_equal(left.ptr, "");
	assert_true(cost(&left, &ledger));
	/* reservations and others' money are not in it */
	assert_non_null(strstr(left.ptr, ">$4.00<"));
	last_point(&value, &other, left.ptr);
	assert_true(cost(&right, &half));
	last_point(&x2, &y2, right.ptr);
	assert_true(other < y2);  /* up is faster: K_2 is, K_1 is less */
	assert_true(value == x2); /* both end where all was spent */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_text_is_text),
		cmocka_unit_test(a_trace_has_every_state),
		cmocka_unit_test(a_lineage_of_one_state_or_without_times_is_drawn_as_well),
		cmocka_unit_test(a_share_is_measured_or_chained),
		cmocka_unit_test(a_rejected_step_is_a_cross_that_leads_to_its_reason),
		cmocka_unit_test(a_figure_for_latex_has_no_commands_of_others),
		cmocka_unit_test(addresses_of_commits_are_those_of_known_forges),
		cmocka_unit_test(steps_go_up_and_down),
		cmocka_unit_test(cost_is_drawn_where_money_was_spent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
