/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/likeness.h"
#include "rewrite_state.h"

static struct kl_likeness compare(const char *left, const char *right)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *one = state_of(left, NULL);
	KL_AUTO(kl_surface_freep) struct kl_surface *other = state_of(right, NULL);
	KL_AUTO(kl_strvec_release) struct kl_strvec have = KL_STRVEC_INIT, want = KL_STRVEC_INIT;
	struct kl_likeness likeness;

	kl_likeness_lines(&have, one);
	kl_likeness_lines(&want, other);
	kl_likeness_compare(&likeness, &have, &want);
	return likeness;
}

static const char kernel[] = "#include <stdint.h>\n"
			     "/* adds */\n"
			     "static float add(float a, float b)\n"
			     "{\n"
			     "\treturn a + b;\n"
			     "}\n"
			     "void copy(int64_t n, const float *x, float *y)\n"
			     "{\n"
			     "\tfor (int64_t i = 0; i < n; i++)\n"
			     "\t\ty[i] = add(x[i], 1.5f);\n"
			     "}\n";

static void names_comments_and_order_are_no_difference(void **state)
{
	static const char renamed[] = "#include  <stdint.h>\n"
				      "void k2(int64_t len, const float *from, float *to) {\n"
				      "for (int64_t at = 0; at < len; at++) // each\n"
				      "to[at] = plus(from[at], 1.5f);\n"
				      "}\n"
				      "static float plus(float left, float right) {\n\n"
				      "return left + right; }\n";
	struct kl_likeness likeness = compare(kernel, renamed);

	assert_int_equal(likeness.changed, 0);
	assert_int_equal(likeness.alike, 1000000);
	assert_true(kl_likeness_is_same(&likeness));
}

static void a_constant_and_a_type_are_differences(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf other = KL_BUF_INIT;
	struct kl_likeness likeness;
	char *at;

	kl_buf_adds(&other, kernel);
	at = strstr(other.ptr, "1.5f");
	*at = '2';
	likeness = compare(kernel, other.ptr);
	assert_int_equal(likeness.changed, 1);
	at = strstr(other.ptr, "int64_t i");
	memcpy(at, "int32_t", 7);
	likeness = compare(kernel, other.ptr);
	assert_int_equal(likeness.changed, 2);
	assert_true(kl_likeness_is_same(&likeness)); /* most of it is the same */
}

static void short_kernels_with_nothing_in_common_differ(void **state)
{
	struct kl_likeness likeness = compare(
		kernel, "int count(const unsigned char *text)\n{\n\tint n = 0;\n\twhile (*text)\n"
			"\t\tn += *text++ == 10;\n\treturn n;\n}\n");

	assert_true(likeness.changed < 30);
	assert_false(kl_likeness_is_same(&likeness));
}

/* `n` lines, of which the first `own` are in no other kernel. */
static char *make_lines(int n, int own, const char *mark)
{
	struct kl_buf buf = KL_BUF_INIT;

	for (int i = 0; i < n; i++)
		kl_buf_addf(&buf, "int %s_%d = %d%s;\n", mark, i, i, i < own ? mark : "");
	return kl_buf_detach(&buf);
}

static void bounds_are_thirty_lines_and_nine_tenths(void **state)
{
	/* clang-format off */
	static const struct { int n, own; bool same; } rows[] = {
		{ 1000, 99, true }, { 1000, 100, false }, { 1000, 101, false },
		{ 100, 29, true }, { 100, 30, false }, { 58, 29, true }, { 57, 29, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep) char *left = make_lines(rows[i].n, rows[i].own, "u");
		KL_AUTO(kl_freep) char *right = make_lines(rows[i].n, rows[i].own, "l");
		struct kl_likeness likeness = compare(left, right);

		assert_int_equal(likeness.changed, rows[i].own);
		assert_int_equal(kl_likeness_is_same(&likeness), rows[i].same);
	}
}

static void a_diff_shows_lines_of_both_sides(void **state)
{
	static const char diff[] = "diff --git a/k.c b/k.c\n--- a/k.c\n+++ b/k.c\n"
				   "@@ -1,3 +1,3 @@ void f(void)\n int a = 1;\n-int b = 2;\n"
				   "+int b = 3;\n }\n";
	KL_AUTO(kl_strvec_release) struct kl_strvec old = KL_STRVEC_INIT, now = KL_STRVEC_INIT;

	kl_likeness_diff_lines(&old, diff, false);
	kl_likeness_diff_lines(&now, diff, true);
	assert_int_equal(old.n, 2);
	assert_int_equal(now.n, 2);
	assert_int_equal(kl_likeness_common(&old, &now), 1);
}

static void empty_kernels_are_the_same(void **state)
{
	struct kl_likeness likeness = compare("", "/* nothing */\n");

	assert_true(kl_likeness_is_same(&likeness));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_comments_and_order_are_no_difference),
		cmocka_unit_test(a_constant_and_a_type_are_differences),
		cmocka_unit_test(short_kernels_with_nothing_in_common_differ),
		cmocka_unit_test(bounds_are_thirty_lines_and_nine_tenths),
		cmocka_unit_test(a_diff_shows_lines_of_both_sides),
		cmocka_unit_test(empty_kernels_are_the_same),
	};

	return cmocka_run_group_tests_name("learn_likeness", tests, scratch_setup,
					   scratch_teardown);
}
