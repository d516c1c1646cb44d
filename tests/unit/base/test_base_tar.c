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
	char left[KL_SHA256_HEX], right[KL_DIGEST_HEX];

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)(i * 151 + 7);
	for (size_t n = 0; n <= sizeof(text); n++) {
		kl_sha256_hex(left, text, n);
		kl_digest_hex(right, text, n);
		assert_string_equal(left, right);
	}
}

static void digests_do_not_depend_on_the_pieces(void **state)
{
	char text[300], whole[KL_SHA256_HEX], parts[KL_SHA256_HEX];

	memset(text, 'x', sizeof(text));
	kl_sha256_hex(whole, text, sizeof(text));
	for (size_t step = 1; step < 140; step++) {
		struct kl_sha256 sha256;

		kl_sha256_begin(&sha256);
		for (size_t at = 0; at < sizeof(text); at += step)
			kl_sha256_add(&sha256, text + at,
				      at + step < sizeof(text) ? step : sizeof(text) - at);
		kl_sha256_end(&sha256, parts);
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
static int read_all(const void *data, size_t n)
{
	struct kl_tar tar;
	struct kl_tar_entry entry;
	int err, count = 0;

	kl_tar_open(&tar, data, n);
	while ((err = kl_tar_next(&tar, &entry)) > 0) {
		assert_true(kl_tar_name_ok(entry.name));
		assert_true(entry.data >= (const char *)data &&
			    entry.data + entry.len <= (const char *)data + n);
		count++;
	}
	return err < 0 ? err : count;
}

static void what_is_written_is_read(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_tar tar;
	struct kl_tar_entry entry;

	make(&buf);
	assert_int_equal(buf.len % 512, 0);
	kl_tar_open(&tar, buf.ptr, buf.len);
	assert_int_equal(kl_tar_next(&tar, &entry), 1);
	assert_string_equal(entry.name, "a/empty");
	assert_int_equal(entry.len, 0);
	assert_int_equal(kl_tar_next(&tar, &entry), 1);
	assert_string_equal(entry.name, "b");
	assert_memory_equal(entry.data, "hello", 5);
	assert_int_equal(kl_tar_next(&tar, &entry), 1);
	assert_int_equal(entry.len, 1300);
	assert_int_equal(kl_tar_next(&tar, &entry), 0);
}

static void any_shorter_one_is_refused(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	make(&buf);
	for (size_t n = 0; n < buf.len; n++) {
		/* a copy, so that a read beyond its end is seen */
		KL_AUTO(kl_freep) char *copy = kl_malloc(n + 1);

		memcpy(copy, buf.ptr, n);
		assert_int_equal(read_all(copy, n), KL_EINVALID);
	}
	kl_buf_addch(&buf, 'x');
	assert_error(KL_EINVALID, "followed by", read_all(buf.ptr, buf.len));
}

static bool is_content(size_t i)
{
	return (i >= 1024 && i < 1024 + 5) || (i >= 2048 && i < 2048 + 1300);
}

/* in the headers and between the files no byte is free */
static void any_changed_byte_of_a_header_is_refused(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	make(&buf);
	for (size_t i = 0; i < buf.len; i++) {
		buf.ptr[i] ^= 0x21;
		if (is_content(i))
			assert_int_equal(read_all(buf.ptr, buf.len), 3);
		else
			assert_int_equal(read_all(buf.ptr, buf.len), KL_EINVALID);
		buf.ptr[i] ^= 0x21;
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
static void forge(struct kl_buf *buf, const char *name, char type, const char *link)
{
	unsigned sum = 0;
	char number[8];

	kl_tar_add(buf, "x", "", 0);
	memset(buf->ptr, 0, 100);
	memcpy(buf->ptr, name, strlen(name));
	buf->ptr[156] = type;
	memcpy(buf->ptr + 157, link, strlen(link));
	memset(buf->ptr + 148, ' ', 8);
	for (int i = 0; i < 512; i++)
		sum += (unsigned char)buf->ptr[i];
	snprintf(number, sizeof(number), "%06o", sum);
	memcpy(buf->ptr + 148, number, 7);
	kl_tar_end(buf);
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
		KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

		forge(&buf, bad[i].name, bad[i].type, bad[i].link);
		assert_int_equal(read_all(buf.ptr, buf.len), KL_EINVALID);
	}
}

static void no_name_twice_and_none_out_of_order(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf twice = KL_BUF_INIT, back = KL_BUF_INIT;

	kl_tar_add(&twice, "a", "1", 1);
	kl_tar_add(&twice, "a", "2", 1);
	kl_tar_end(&twice);
	assert_error(KL_EINVALID, "out of order", read_all(twice.ptr, twice.len));
	kl_tar_add(&back, "b", "1", 1);
	kl_tar_add(&back, "a", "2", 1);
	kl_tar_end(&back);
	assert_error(KL_EINVALID, "out of order", read_all(back.ptr, back.len));
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
