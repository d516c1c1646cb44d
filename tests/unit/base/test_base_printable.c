/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdbool.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/printable.h"

/* clang-format off */
static const struct { const char *text, *printed; } list[] = {
	/* kept: letters of any language, marks on them, pictures, newline, tab */
	{ "plain ~ text\n\tof two lines", NULL },
	{ "\xc3\xa4 \xe2\x82\xac \xe4\xb8\xad \xd8\xb9 \xd7\xa9 \xe0\xa4\x95\xe0\xa5\x8d \xf0\x9f\x99\x82", NULL },
	{ "e\xcc\x81 \xc2\xa0 \xe2\x88\x9e \xef\xb8\x8f \xef\xbf\xbd", NULL },
	/* C0 and DEL */
	{ "\x1b[2J", "\\x1b[2J" }, { "\x1b]52;c;cm0=\x07", "\\x1b]52;c;cm0=\\x07" },
	{ "a\rb\bc\x7f", "a\\x0db\\x08c\\x7f" }, { "\x01\x0b\x0c\x0e\x1f", "\\x01\\x0b\\x0c\\x0e\\x1f" },
	/* C1: as characters and as raw bytes */
	{ "\xc2\x80\xc2\x9b" "31m\xc2\x9f", "<U+0080><U+009B>31m<U+009F>" },
	{ "\x9b" "31m", "\\x9b31m" }, { "a\x80\x9f", "a\\x80\\x9f" },
	/* direction */
	{ "\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae", "<U+202A><U+202B><U+202C><U+202D><U+202E>" },
	{ "\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "<U+2066><U+2067><U+2068><U+2069>" },
	{ "\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c", "<U+200E><U+200F><U+061C>" },
	/* what cannot be seen, and what some take for the end of a line */
	{ "a\xe2\x80\x8b" "b\xe2\x80\x8c\xe2\x80\x8d", "a<U+200B>b<U+200C><U+200D>" },
	{ "\xe2\x80\xa8\xe2\x80\xa9", "<U+2028><U+2029>" }, { "\xe2\x81\xa0\xef\xbb\xbf", "<U+2060><U+FEFF>" },
	{ "\xc2\xad\xcd\x8f\xe1\xa0\x8e\xe3\x85\xa4", "<U+00AD><U+034F><U+180E><U+3164>" },
	{ "\xf3\xa0\x81\x81", "<U+E0041>" }, { "\xef\xbf\xb9", "<U+FFF9>" },
	/* no UTF-8: alone, cut, overlong, a surrogate, too high */
	{ "\xff", "\\xff" }, { "\xe2\x82", "\\xe2\\x82" }, { "\xe2\x82x", "\\xe2\\x82x" },
	{ "\xc0\x9b", "\\xc0\\x9b" }, { "\xe0\x82\x9b", "\\xe0\\x82\\x9b" },
	{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80" },
};
/* clang-format on */

static void each_class_is_shown(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(list); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT, again = KL_BUF_INIT;
		const char *text = list[i].text, *printed = list[i].printed;

		kl_printable_add(&buf, text, strlen(text));
		assert_string_equal(buf.ptr, printed ? printed : text);
		assert_int_equal(kl_printable_span(text, strlen(text)) == strlen(text), !printed);
		kl_printable_add(&again, buf.ptr, buf.len);
		assert_string_equal(again.ptr, buf.ptr);
	}
}

static void no_byte_and_no_character_of_them_is_left(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (int i = 0; i < 256; i++) {
		char byte = (char)i;
		bool kept = (i >= 0x20 && i < 0x7f) || i == '\n' || i == '\t';

		kl_buf_clear(&buf);
		kl_printable_add(&buf, &byte, 1);
		assert_int_equal(buf.len, kept ? 1 : 4);
		assert_int_equal(buf.ptr[0], kept ? byte : '\\');
	}
	kl_buf_clear(&buf);
	kl_printable_add(&buf, "a\0b", 3);
	assert_string_equal(buf.ptr, "a\\x00b");
}

static void one_line_stays_one(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_printable_line(&buf, "pass\nfail\t\xc3\xa4\x1b", 13);
	assert_string_equal(buf.ptr, "pass\\x0afail\\x09\xc3\xa4\\x1b");
}

/* Each text, given byte by byte as it comes, is printed as if it had come at once. */
static void pieces_make_the_same_text(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(list); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf whole = KL_BUF_INIT, buf = KL_BUF_INIT;
		const char *text = list[i].text;
		size_t len = strlen(text), used = 0;

		kl_printable_add(&whole, text, len);
		for (size_t to = 1; to <= len; to++) {
			used += kl_printable_part(&buf, text + used, to - used);
			assert_in_range(to - used, 0, 3);
		}
		kl_printable_add(&buf, text + used, len - used);
		assert_string_equal(buf.ptr, whole.ptr);
	}
	/* a letter is kept back until it is whole; what can become none is not */
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	assert_int_equal(kl_printable_part(&buf, "a\xf0\x9f\x99", 4), 1);
	assert_int_equal(kl_printable_part(&buf, "\xe0\x82", 2), 2);
	assert_string_equal(buf.ptr, "a\\xe0\\x82");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_class_is_shown),
		cmocka_unit_test(no_byte_and_no_character_of_them_is_left),
		cmocka_unit_test(one_line_stays_one),
		cmocka_unit_test(pieces_make_the_same_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
