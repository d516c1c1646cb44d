/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "review/finding.h"

static char *plain(const char *text)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_finding_plain(&buf, text);
	return kl_buf_detach(&buf);
}

static char *markdown(const char *text)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_finding_markdown(&buf, text);
	return kl_buf_detach(&buf);
}

static void says_what_the_format_says(void **state)
{
	KL_AUTO(kl_findings_release) struct kl_findings findings = { 0 };
	KL_AUTO(kl_freep) char *at = NULL, *message = NULL;

	kl_findings_add(&findings, KL_ANSWER, "code", "%s is %w, %d of %d%%: %rx, %rx", "a_b",
			"ours", (int64_t)-3, INT64_MAX, (int64_t)2500000, (int64_t)1234567);
	kl_findings_add(&findings, KL_NOTE, "other", "%s", NULL);
	assert_int_equal(findings.n, 2);
	assert_int_equal(findings.answers, 1);
	at = plain(findings.v[0].text);
	message = markdown(findings.v[0].text);
	assert_string_equal(at, "'a_b' is ours, -3 of 9223372036854775807%: 2.5x, 1.235x");
	assert_string_equal(message, "`a_b` is ours, -3 of 9223372036854775807%: 2.5x, 1.235x");
	kl_freep(&at);
	at = plain(findings.v[1].text);
	assert_string_equal(at, "''");
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
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *at = NULL, *message = NULL;

		kl_finding_addf(&buf, "%s", rows[i].in);
		at = plain(buf.ptr);
		message = markdown(buf.ptr);
		if (strcmp(at, rows[i].plain) || strcmp(message, rows[i].markdown))
			fail_msg("row %zu: \"%s\", \"%s\"", i, at, message);
	}
}

static void our_own_words_are_no_markup(void **state)
{
	KL_AUTO(kl_freep) char *message = markdown("[1, 2] <x> a_b *c* @d #1");

	assert_string_equal(message, "\\[1, 2\\] \\<x\\> a\\_b \\*c\\* \\@d \\#1");
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
	struct kl_rng rng;

	kl_rng_seed(&rng, 17);
	for (int i = 0; i < 20000; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT, buf = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *at = NULL, *message = NULL;
		const char *inside, *end;
		size_t fence;

		for (size_t n = kl_rng_below(&rng, kl_rng_below(&rng, 9) ? 8 : 200); n; n--)
			kl_buf_adds(&in, pieces[kl_rng_below(&rng, KL_ARRAY_SIZE(pieces))]);
		kl_finding_addf(&buf, "x %s y", in.ptr);
		at = plain(buf.ptr);
		message = markdown(buf.ptr);
		assert_int_equal(kl_utf8_span(message, strlen(message)), strlen(message));
		for (const char *text = at; *text; text++)
			assert_false((unsigned char)*text < ' ' || *text == 0x7f);
		assert_true(strlen(at) < 220);
		/* the fence closes where the text ends, and nowhere before */
		assert_int_equal(strncmp(message, "x `", 3), 0);
		fence = strspn(message + 2, "`");
		inside = message + 2 + fence;
		end = message + strlen(message) - 2 - fence;
		assert_string_equal(end + fence, " y");
		assert_true(inside <= end && strspn(end, "`") == fence && end[-1] != '`');
		for (const char *text = inside; text < end; text += text[0] == '`' ? 0 : 1) {
			size_t run = strspn(text, "`");

			assert_true(run < fence);
			text += run;
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
