/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_side - edits side by side: lines, signs, folded comments, text of others */
#include "test.h"

#include <string.h>

#include "base/mem.h"
#include "report/side.h"

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

static void lines_stand_beside_what_replaced_them(void **state)
{
	static const char diff[] =
		"diff --git a/k.c b/k.c\n--- a/k.c\n+++ b/k.c\n"
		"@@ -7,3 +7,4 @@ void f(void)\n same\n-int old;\n+int new;\n+int more;\n"
		" last\n\\ No newline at end of file\n";
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	kl_side_by_side(&out, diff, strlen(diff));
	assert_non_null(strstr(out.ptr, "<strong>k.c</strong>"));
	assert_non_null(strstr(out.ptr, "line 7, void f(void)"));
	assert_non_null(strstr(out.ptr,
			       "<code class=\"del\"><b>   8 - </b><span class=\"k\">int</span> old;"
			       "</code><code class=\"add\"><b>   8 + </b>"));
	assert_non_null(
		strstr(out.ptr, "<code class=\"none\"></code><code class=\"add\"><b>   9 + </b>"));
	assert_non_null(strstr(out.ptr,
			       "<b>   9   </b>last</code><code class=\"same\"><b>  10   </b>last"));
	assert_int_equal(count(out.ptr, "<details>"), 0);
	assert_int_equal(count(out.ptr, "<div"), count(out.ptr, "</div>"));
}

static void changes_of_comments_alone_are_folded(void **state)
{
	static const char diff[] = "@@ -1,3 +1,3 @@\n /*\n- * one\n+ * two\n  */\n"
				   "@@ -9 +9 @@\n-a; /* x */\n+b; /* x */\n"
				   "@@ -20 +20 @@\n-// was\n+\n";
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	kl_side_by_side(&out, diff, strlen(diff));
	assert_int_equal(count(out.ptr, "<details><summary>only comments: line "), 2);
	assert_non_null(strstr(out.ptr, "<p class=\"soft\">line 9</p>"));
	assert_int_equal(count(out.ptr, "<details>"), count(out.ptr, "</details>"));
}

static void text_of_others_stays_text(void **state)
{
	static const char diff[] =
		"+++ b/<b>.c\n@@ -1 +1 @@ </p><script>\n-\"<img src=x>\n+'</code>\n"
		"+/*<i>*/ 1<u>\xff\n"
		"@@\n@@ x\n@@ -999999999999999999999 +\n+x\n";
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	kl_side_by_side(&out, diff, sizeof(diff) - 1);
	assert_int_equal(count(out.ptr, "<script") + count(out.ptr, "<img") +
				 count(out.ptr, "<i>") + count(out.ptr, "<u>"),
			 0);
	assert_int_equal(count(out.ptr, "<code"), count(out.ptr, "</code>"));
	assert_int_equal(count(out.ptr, "<span"), count(out.ptr, "</span>"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_stand_beside_what_replaced_them),
		cmocka_unit_test(changes_of_comments_alone_are_folded),
		cmocka_unit_test(text_of_others_stays_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
