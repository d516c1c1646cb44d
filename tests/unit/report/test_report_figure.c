/* SPDX-License-Identifier: Apache-2.0 */
/* Figures as SVG, and what they are written with. */
#include "test.h"

#include "report/figure.h"
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

	kl_figure_trace(&svg, &view);
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

		kl_figure_trace(&svg, &one);
		kl_figure_steps(&svg, &one);
		assert_int_equal(count(svg.ptr, "<circle"), 1);
		assert_int_equal(count(svg.ptr, "<rect"), 0);
		assert_int_equal(count(svg.ptr, "nan"), 0);
		assert_int_equal(count(svg.ptr, "inf"), 0);
	}
}

static void steps_go_up_and_down(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf svg = KL_BUF_INIT;
	struct kl_ratio was = steps[2].prev;

	steps[2].prev = (struct kl_ratio){ 500000, 480000, 520000 };
	kl_figure_steps(&svg, &view);
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

	assert_false(kl_figure_cost(&left, &view, &none));
	assert_string_equal(left.ptr, "");
	assert_true(kl_figure_cost(&left, &view, &ledger));
	/* reservations and others' money are not in it */
	assert_non_null(strstr(left.ptr, ">$4.00<"));
	last_point(&value, &other, left.ptr);
	assert_true(kl_figure_cost(&right, &view, &half));
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
		cmocka_unit_test(steps_go_up_and_down),
		cmocka_unit_test(cost_is_drawn_where_money_was_spent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
