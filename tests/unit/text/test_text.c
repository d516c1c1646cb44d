/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/utf8.h"
#include "text/digest.h"
#include "text/json.h"
#include "text/mail.h"
#include "text/template.h"
#include "text/yaml.h"

static void json_reads_strictly(void **state)
{
	KL_AUTO(json_decrefp) json_t *value = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	static const char *const bad[] = { "", "{", "{\"a\":1,\"a\":2}", "{} x", "nul", NULL };
	static const char good[] = "{\"b\":[1,2],\"a\":\"\xc3\xa9\",\"c\":{\"z\":1}}";
	const char *text;
	int64_t n;

	for (const char *const *at = bad; *at; at++)
		assert_error(KL_EINVALID, "JSON line", kl_json_parse(&value, *at, strlen(*at)));
	assert_ok(kl_json_parse(&value, good, strlen(good)));
	kl_json_canonical(&buf, value);
	assert_string_equal(buf.ptr, "{\"a\":\"\\u00E9\",\"b\":[1,2],\"c\":{\"z\":1}}");
	assert_error(KL_EINVALID, "'x' is missing", kl_json_str(&text, value, "x"));
	assert_error(KL_EINVALID, "'a' is not an integer", kl_json_int(&n, value, "a"));
	assert_error(KL_EINVALID, "'a' is not an integer", kl_json_count(&n, value, "a", 9));
	kl_json_set_int(value, "n", 10);
	assert_error(KL_EINVALID, "'n' is negative or too large", kl_json_count(&n, value, "n", 9));
	assert_ok(kl_json_count(&n, value, "n", 10));
	assert_int_equal(n, 10);
	kl_json_set_str(value, "bytes", "a\xff"); /* no UTF-8 */
	assert_string_equal(kl_json_str_or(value, "bytes", ""), "a?");
}

static void yaml_knows_lines_and_refuses_tricks(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } bad[] = {
		{ "", "the file is empty" },
		{ "a: &x 1\nb: *x\n", "f:1:4: anchors" },
		{ "a: !!int 1\n", "f:1:4: tags" },
		{ "a: 1\na: 2\n", "f:2:1: the key 'a' appears twice" },
		{ "a: 1\n---\nb: 2\n", "f:2:1: the file has a second document" },
		{ "a: [1\n", "f:2:1:" },
		{ "? [a]\n: 1\n", "f:1:3: a key must be a plain value" },
		{ "a: \"\\0\"\n", "f:1:4: the text contains a NUL byte" },
		{ "a: \xff\n", "f:" },
	};
	/* clang-format on */
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf deep = KL_BUF_INIT;
	const char *text = "a: 1\nb:\n  - {x: 'y', z: [q]}\n";
	const struct kl_yaml *item;

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, bad[i].message,
			     kl_yaml_parse(&node, "f", bad[i].text, strlen(bad[i].text)));
	for (int i = 0; i < 5000; i++)
		kl_buf_addch(&deep, '[');
	assert_error(KL_EINVALID, "f:1:", kl_yaml_parse(&node, "f", deep.ptr, deep.len));
	assert_ok(kl_yaml_parse(&node, "f", text, strlen(text)));
	item = kl_yaml_get(node, "b")->item[0];
	assert_int_equal(item->line, 3);
	assert_int_equal(item->col, 5);
	assert_string_equal(kl_yaml_get(item, "x")->text, "y");
	assert_int_equal(kl_yaml_get(item, "x")->plain, 0);
	assert_null(kl_yaml_get(node, "c"));
	assert_error(KL_EINVALID, "f:3:5: no 'w'", kl_yaml_error("f", item, "no '%s'", "w"));
}

static void digest_is_sha256(void **state)
{
	char hex[KL_DIGEST_HEX], again[KL_DIGEST_HEX];
	struct kl_digest *digest = kl_digest_new();

	/* FIPS 180-2, appendix B.1 */
	kl_digest_hex(hex, "abc", 3);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	kl_digest_adds(digest, "a");
	kl_digest_adds(digest, "bc");
	kl_digest_end(digest, again);
	assert_string_not_equal(hex, again);
}

static void digest_bytes(void **state)
{
	uint8_t out[3] = { 0 };

	assert_true(kl_digest_bytes(out, 3, "00ff1a"));
	assert_memory_equal(out, "\x00\xff\x1a", 3);
	assert_false(kl_digest_bytes(out, 3, "00fF1a"));
	assert_false(kl_digest_bytes(out, 3, "00ff1"));
	assert_false(kl_digest_bytes(out, 1, "g0"));
}

static void template_fills_once(void **state)
{
	KL_AUTO(kl_map_release) struct kl_map map = KL_MAP_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	static char other[] = "@OTHER@";

	kl_map_put(&map, "NAME", other);
	assert_ok(kl_template_fill(&buf, "a@NAME@ x@y @ @@ @1-@", &map));
	assert_string_equal(buf.ptr, "a@OTHER@ x@y @ @@ @1-@");
	assert_error(KL_EINVALID, "template line 2: no value for @GONE@",
		     kl_template_fill(&buf, "\n@GONE@", &map));
}

static void mail_round_trip(void **state)
{
	static const char diff[] = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
	static const char message[] = "area: a change\n\nwhy\n\nKlineage-Action: untile\n";
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_mail_release) struct kl_mail mail = { NULL, NULL, NULL, NULL };

	kl_mail_write(&buf, NULL, "A B <a@b.invalid>", 1767225600, -90, message, diff);
	assert_contains(buf.ptr, "Date: Wed, 31 Dec 2025 22:30:00 -0130\n");
	assert_ok(kl_mail_parse(&mail, "m", buf.ptr, buf.len));
	assert_string_equal(mail.message, message);
	assert_string_equal(mail.diff, diff);
	assert_string_equal(mail.from, "A B <a@b.invalid>");
}

static void mail_reads_what_git_writes(void **state)
{
	static const char folded[] = "From 0123 Mon Sep 17 00:00:00 2001\r\nFrom: A <a@b>\n"
				     "Subject: [PATCH v2 1/2] one\n two\n\nbody\n---\n x | 2 +-\n\n"
				     "diff --git a/x b/x\n-- \n2.39.5\n\n";
	/* clang-format off */
	static const struct { const char *text, *message; } bad[] = {
		{ "From: a\n", "m:1: the mail ends within its headers" },
		{ "From: a\n\nx\n", "missing From: or Subject: header" },
		{ "junk\n\n", "m:1: a header line has no colon" },
		{ "From: a\nSubject: =?UTF-8?q?x?=\n\n", "m:2: encoded headers are not supported" },
		{ "From: a\nContent-Transfer-Encoding: base64\n\n", "m:2: encoded mail bodies are not supported" },
	};
	/* clang-format on */
	KL_AUTO(kl_mail_release) struct kl_mail mail = { NULL, NULL, NULL, NULL };

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, bad[i].message,
			     kl_mail_parse(&mail, "m", bad[i].text, strlen(bad[i].text)));
	assert_ok(kl_mail_parse(&mail, "m", folded, strlen(folded)));
	assert_string_equal(mail.message, "one two\n\nbody\n");
	assert_string_equal(mail.diff, "diff --git a/x b/x\n");
}

static void utf8_is_strict(void **state)
{
	/* clang-format off */
	static const struct { const char *text; size_t span; } list[] = {
		{ "plain\n", 6 }, { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x99\x82", 9 },
		{ "a\x80", 1 }, { "a\xc0\x80", 1 }, { "a\xc3", 1 }, { "\xe0\x80\x80", 0 },
		{ "\xed\xa0\x80", 0 }, { "\xf0\x80\x80\x80", 0 }, { "\xf4\x90\x80\x80", 0 },
		{ "\xe2\x82", 0 }, { "\xff", 0 },
	};
	/* clang-format on */
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < KL_ARRAY_SIZE(list); i++)
		assert_int_equal(kl_utf8_span(list[i].text, strlen(list[i].text)), list[i].span);
	assert_int_equal(kl_utf8_span("a\0b", 3), 1);
	kl_utf8_clean(&buf, "a\0\x1b[1m\r\n\t\xc3\xa4\xc3\x7f", 13);
	assert_string_equal(buf.ptr, "a??[1m\n\t\xc3\xa4??");
	assert_int_equal(kl_utf8_cut("a\xc3\xa4z", 4, 2), 1);
	assert_int_equal(kl_utf8_cut("a\xc3\xa4z", 4, 3), 3);
	assert_int_equal(kl_utf8_cut("abc", 3, 9), 3);
}

/* What a foreign service writes: doubled keys, NUL characters, numbers that no integer holds. */
static void foreign_json_is_read_leniently(void **state)
{
	static const char doubled[] = "{\"a\":1,\"a\":2}", nul[] = "{\"a\":\"x\\u0000y\"}";
	static const char huge[] = "{\"a\":123456789012345678901234567890,\"b\":1}";
	KL_AUTO(json_decrefp) json_t *one = NULL, *two = NULL, *three = NULL, *none = NULL;

	assert_int_equal(kl_json_parse(&none, doubled, strlen(doubled)), KL_EINVALID);
	assert_ok(kl_json_parse_lenient(&one, doubled, strlen(doubled)));
	assert_int_equal(kl_json_int_or(one, "a", 0), 2);
	assert_int_equal(kl_json_parse(&none, nul, strlen(nul)), KL_EINVALID);
	assert_ok(kl_json_parse_lenient(&two, nul, strlen(nul)));
	assert_int_equal(json_string_length(json_object_get(two, "a")), 3);
	assert_int_equal(kl_json_parse(&none, huge, strlen(huge)), KL_EINVALID);
	assert_ok(kl_json_parse_lenient(&three, huge, strlen(huge)));
	assert_false(json_is_integer(json_object_get(three, "a")));
	assert_int_equal(kl_json_parse_lenient(&none, "{\"a\":", 5), KL_EINVALID);
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_json_is_read_leniently),
		cmocka_unit_test(utf8_is_strict),
		cmocka_unit_test(json_reads_strictly),
		cmocka_unit_test(yaml_knows_lines_and_refuses_tricks),
		cmocka_unit_test(digest_is_sha256),
		cmocka_unit_test(digest_bytes),
		cmocka_unit_test(template_fills_once),
		cmocka_unit_test(mail_round_trip),
		cmocka_unit_test(mail_reads_what_git_writes),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
