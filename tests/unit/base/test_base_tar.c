/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"
#include "base/sha256.h"
#include "base/tar.h"
#include "text/digest.h"

/* --- sha256, against OpenSSL ------------------------------------------------ */

static void digests_are_those_of_openssl(void **state)
{
	unsigned char text[700];
	char a[KL_SHA256_HEX], b[KL_DIGEST_HEX];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)(i * 151 + 7);
	for (size_t n = 0; n <= sizeof(text); n++) {
		kl_sha256_hex(a, text, n);
		kl_digest_hex(b, text, n);
		assert_string_equal(a, b);
	}
}

static void digests_do_not_depend_on_the_pieces(void **state)
{
	char text[300], whole[KL_SHA256_HEX], parts[KL_SHA256_HEX];

	memset(text, 'x', sizeof(text));
	kl_sha256_hex(whole, text, sizeof(text));
	for (size_t step = 1; step < 140; step++) {
		struct kl_sha256 s;

		kl_sha256_begin(&s);
		for (size_t at = 0; at < sizeof(text); at += step)
			kl_sha256_add(&s, text + at,
				      at + step < sizeof(text) ? step : sizeof(text) - at);
		kl_sha256_end(&s, parts);
		assert_string_equal(parts, whole);
	}
}

/* --- tar ---------------------------------------------------------------------- */

static void make(struct kl_buf *out)
{
	static const char big[1300] = "big";

	kl_tar_add(out, "a/empty", "", 0);
	kl_tar_add(out, "b", "hello", 5);
	kl_tar_add(out, "files/0123.so", big, sizeof(big));
	kl_tar_end(out);
}

/* how many entries; negative: refused */
static int read_all(const void *p, size_t n)
{
	struct kl_tar t;
	struct kl_tar_entry e;
	int err, count = 0;

	kl_tar_open(&t, p, n);
	while ((err = kl_tar_next(&t, &e)) > 0) {
		assert_true(kl_tar_name_ok(e.name));
		assert_true(e.data >= (const char *)p && e.data + e.len <= (const char *)p + n);
		count++;
	}
	return err < 0 ? err : count;
}

static void what_is_written_is_read(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	struct kl_tar t;
	struct kl_tar_entry e;

	make(&b);
	assert_int_equal(b.len % 512, 0);
	kl_tar_open(&t, b.ptr, b.len);
	assert_int_equal(kl_tar_next(&t, &e), 1);
	assert_string_equal(e.name, "a/empty");
	assert_int_equal(e.len, 0);
	assert_int_equal(kl_tar_next(&t, &e), 1);
	assert_string_equal(e.name, "b");
	assert_memory_equal(e.data, "hello", 5);
	assert_int_equal(kl_tar_next(&t, &e), 1);
	assert_int_equal(e.len, 1300);
	assert_int_equal(kl_tar_next(&t, &e), 0);
}

static void any_shorter_one_is_refused(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	make(&b);
	for (size_t n = 0; n < b.len; n++) {
		/* a copy, so that a read beyond its end is seen */
		KL_AUTO(kl_freep) char *copy = kl_malloc(n + 1);

		memcpy(copy, b.ptr, n);
		assert_int_equal(read_all(copy, n), KL_EINVALID);
	}
	kl_buf_addch(&b, 'x');
	assert_error(KL_EINVALID, "something follows", read_all(b.ptr, b.len));
}

static bool is_content(size_t i)
{
	return (i >= 1024 && i < 1024 + 5) || (i >= 2048 && i < 2048 + 1300);
}

/* in the headers and between the files no byte is free */
static void any_changed_byte_of_a_header_is_refused(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

	make(&b);
	for (size_t i = 0; i < b.len; i++) {
		b.ptr[i] ^= 0x21;
		if (is_content(i))
			assert_int_equal(read_all(b.ptr, b.len), 3);
		else
			assert_int_equal(read_all(b.ptr, b.len), KL_EINVALID);
		b.ptr[i] ^= 0x21;
	}
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const bad[] = {
		"",       "/etc/passwd", "../x", "a/../x", "a//b", "a/",   ".x",
		"a/.git", "-rf",         "a/-x", "a b",    "a\nb", "a\\b", "a:b",
	};
	char longest[101];

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_false(kl_tar_name_ok(bad[i]));
	memset(longest, 'n', 100);
	longest[100] = '\0';
	assert_false(kl_tar_name_ok(longest));
	longest[99] = '\0';
	assert_true(kl_tar_name_ok(longest));
}

/* a header that is right in itself, but for `name` and `type` */
static void forge(struct kl_buf *b, const char *name, char type, const char *link)
{
	unsigned sum = 0;
	char number[8];

	kl_tar_add(b, "x", "", 0);
	memset(b->ptr, 0, 100);
	memcpy(b->ptr, name, strlen(name));
	b->ptr[156] = type;
	memcpy(b->ptr + 157, link, strlen(link));
	memset(b->ptr + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		sum += (unsigned char)b->ptr[i];
	snprintf(number, sizeof(number), "%06o", sum);
	memcpy(b->ptr + 148, number, 7);
	kl_tar_end(b);
}

static void forged_entries_are_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *name; char type; const char *link; } bad[] = {
		{ "../../etc/passwd", '0', "" }, { "/etc/passwd", '0', "" }, { "link", '2', "/etc" },
		{ "link", '1', "other" }, { "dir", '5', "" }, { "dev", '3', "" }, { "pax", 'x', "" },
		{ "long", 'L', "" }, { "x", '0', "/etc" },
	};
	/* clang-format on */
	KL_AUTO(kl_buf_release) struct kl_buf good = KL_BUF_INIT;

	forge(&good, "x", '0', "");
	assert_int_equal(read_all(good.ptr, good.len), 1);
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

		forge(&b, bad[i].name, bad[i].type, bad[i].link);
		assert_int_equal(read_all(b.ptr, b.len), KL_EINVALID);
	}
}

static void no_name_twice_and_none_out_of_order(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf twice = KL_BUF_INIT, back = KL_BUF_INIT;

	kl_tar_add(&twice, "a", "1", 1);
	kl_tar_add(&twice, "a", "2", 1);
	kl_tar_end(&twice);
	assert_error(KL_EINVALID, "comes after", read_all(twice.ptr, twice.len));
	kl_tar_add(&back, "b", "1", 1);
	kl_tar_add(&back, "a", "2", 1);
	kl_tar_end(&back);
	assert_error(KL_EINVALID, "comes after", read_all(back.ptr, back.len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_are_those_of_openssl),
		cmocka_unit_test(digests_do_not_depend_on_the_pieces),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(any_shorter_one_is_refused),
		cmocka_unit_test(any_changed_byte_of_a_header_is_refused),
		cmocka_unit_test(names_that_lead_elsewhere_are_refused),
		cmocka_unit_test(forged_entries_are_refused),
		cmocka_unit_test(no_name_twice_and_none_out_of_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
