/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "review/finding.h"
#include "text/utf8.h"

static char *plain(const char *text)
{
	struct kl_buf b = KL_BUF_INIT;

	kl_say_plain(&b, text);
	return kl_buf_detach(&b);
}

static char *markdown(const char *text)
{
	struct kl_buf b = KL_BUF_INIT;

	kl_say_markdown(&b, text);
	return kl_buf_detach(&b);
}

static void says_what_the_format_says(void **state)
{
	KL_AUTO(kl_findings_release) struct kl_findings f = { 0 };
	KL_AUTO(kl_freep) char *p = NULL, *m = NULL;

	kl_findings_add(&f, KL_ANSWER, "code", "%s is %w, %d of %d%%: %rx, %rx", "a_b", "ours",
			(int64_t)-3, INT64_MAX, (int64_t)2500000, (int64_t)1234567);
	kl_findings_add(&f, KL_NOTE, "other", "%s", NULL);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.answers, 1);
	p = plain(f.v[0].text);
	m = markdown(f.v[0].text);
	assert_string_equal(p, "'a_b' is ours, -3 of 9223372036854775807%: 2.5x, 1.235x");
	assert_string_equal(m, "`a_b` is ours, -3 of 9223372036854775807%: 2.5x, 1.235x");
	kl_freep(&p);
	p = plain(f.v[1].text);
	assert_string_equal(p, "''");
}

static void quotes_are_cleaned(void **state)
{
	/* clang-format off */
	static const struct { const char *in, *plain, *markdown; } rows[] = {
		{ "two\nlines\tand  blanks", "'two lines and blanks'", "`two lines and blanks`" },
		{ "\033[31mred\007", "'[31mred '", "`[31mred `" },
		{ "a\001b\002c", "'a b c'", "`a b c`" },
		{ "a`b``c", "'a`b``c'", "```a`b``c```" },
		{ "`", "'`'", "`` ` ``" },
		{ "", "''", "`  `" },
		{ "x\xff\xc0y", "'x??y'", "`x??y`" },
		{ "a\xc2\x9b" "b", "'ab'", "`ab`" },
		{ "a\xe2\x80\xae" "b\xe2\x80\x8b\xef\xbb\xbf", "'ab'", "`ab`" },
		{ "@all <b> ![](x)", "'@all <b> ![](x)'", "`@all <b> ![](x)`" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *p = NULL, *m = NULL;

		kl_say(&b, "%s", rows[i].in);
		p = plain(b.ptr);
		m = markdown(b.ptr);
		if (strcmp(p, rows[i].plain) || strcmp(m, rows[i].markdown))
			fail_msg("row %zu: \"%s\", \"%s\"", i, p, m);
	}
}

static void our_own_words_are_no_markup(void **state)
{
	KL_AUTO(kl_freep) char *m = markdown("[1, 2] <x> a_b *c* @d #1");

	assert_string_equal(m, "\\[1, 2\\] \\<x\\> a\\_b \\*c\\* \\@d \\#1");
}

/* whatever is quoted, the text is one line of characters, and one code span */
static void nothing_gets_out_of_its_quotes(void **state)
{
	static const char *const pieces[] = {
		"`",
		"``",
		"```",
		" ",
		"\n",
		"'",
		"\\",
		"<",
		">",
		"@x",
		"\001",
		"\002",
		"\033[",
		"\xe2\x80\xae",
		"\xff",
		"\xc3\xa9",
		"\xf0\x9f\x98\x80",
		"a",
		"](",
		"![",
		"\r",
		"\x7f",
		"\xc2\x85",
	};
	struct kl_rng r;

	kl_rng_seed(&r, 17);
	for (int i = 0; i < 20000; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT, b = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *p = NULL, *m = NULL;
		const char *inside, *end;
		size_t fence;

		for (size_t n = kl_rng_below(&r, kl_rng_below(&r, 9) ? 8 : 200); n; n--)
			kl_buf_adds(&in, pieces[kl_rng_below(&r, KL_ARRAY_SIZE(pieces))]);
		kl_say(&b, "x %s y", in.ptr);
		p = plain(b.ptr);
		m = markdown(b.ptr);
		assert_int_equal(kl_utf8_span(m, strlen(m)), strlen(m));
		for (const char *s = p; *s; s++)
			assert_false((unsigned char)*s < ' ' || *s == 0x7f);
		assert_true(strlen(p) < 220);
		/* the fence closes where the text ends, and nowhere before */
		assert_int_equal(strncmp(m, "x `", 3), 0);
		fence = strspn(m + 2, "`");
		inside = m + 2 + fence;
		end = m + strlen(m) - 2 - fence;
		assert_string_equal(end + fence, " y");
		assert_true(inside <= end && strspn(end, "`") == fence && end[-1] != '`');
		for (const char *s = inside; s < end; s += s[0] == '`' ? 0 : 1) {
			size_t run = strspn(s, "`");

			assert_true(run < fence);
			s += run;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_the_format_says),
		cmocka_unit_test(quotes_are_cleaned),
		cmocka_unit_test(our_own_words_are_no_markup),
		cmocka_unit_test(nothing_gets_out_of_its_quotes),
	};

	return cmocka_run_group_tests_name("text_finding", tests, NULL, NULL);
}
