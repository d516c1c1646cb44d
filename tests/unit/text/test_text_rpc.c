/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "text/rpc.h"

/* --- lines --------------------------------------------------------------------- */

/*
 * every line of `text`, cut in pieces of `piece` bytes, "|" after each and "!" for one too long;
 * caller frees
 */
static char *lines_of(const char *text, size_t piece, size_t max)
{
	KL_AUTO(kl_rpc_lines_release) struct kl_rpc_lines in = KL_RPC_LINES_INIT;
	struct kl_buf out = KL_BUF_INIT;
	size_t left = strlen(text);
	bool more = true;

	in.max = max;
	while (more) {
		size_t n = left < piece ? left : piece, len;
		const char *line;
		int got;

		kl_rpc_lines_add(&in, text, n);
		text += n;
		left -= n;
		more = left > 0;
		if (!more)
			kl_rpc_lines_end(&in);
		while ((got = kl_rpc_lines_next(&line, &len, &in))) {
			if (got > 0)
				kl_buf_add(&out, line, len);
			kl_buf_addch(&out, got > 0 ? '|' : '!');
			assert_true(got > 0 || strstr(kl_error_last(), "longer than"));
		}
		assert_true(in.buf.len <= max + 2 * piece);
	}
	return kl_buf_detach(&out);
}

static void lines_come_in_any_pieces(void **state)
{
	static const char text[] = "a\nbb\r\n\n \t\nccc\n\ndddd";

	for (size_t piece = 1; piece <= sizeof(text); piece++) {
		KL_AUTO(kl_freep) char *got = lines_of(text, piece, 100);

		assert_string_equal(got, "a|bb\r|ccc|dddd|");
	}
}

static void long_lines_are_dropped_and_said_once(void **state)
{
	for (size_t piece = 1; piece < 40; piece++) {
		KL_AUTO(kl_freep) char *got = lines_of(
			"12345678\n123456789\n1\n12345678901234567890123\n2\n1234567890", piece, 8);

		assert_string_equal(got, "12345678|!1|!2|!");
	}
}

/* --- messages ------------------------------------------------------------------- */

static int check(struct kl_rpc_message *message, json_t **value, const char *text)
{
	int code = kl_rpc_parse(value, text, strlen(text));

	return code ? code : kl_rpc_check(message, *value);
}

static void messages_of_each_kind(void **state)
{
	/* clang-format off */
	static const struct { const char *text; enum kl_rpc_kind kind; const char *method; bool id; } good[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", KL_RPC_REQUEST, "a", true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"a/b\",\"params\":{}}", KL_RPC_REQUEST, "a/b", true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"x\":[1]}}", KL_RPC_NOTIFICATION, "n", false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}", KL_RPC_RESPONSE, NULL, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{}}", KL_RPC_RESPONSE, NULL, true },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++) {
		KL_AUTO(json_decrefp) json_t *value = NULL;
		struct kl_rpc_message message;

		assert_int_equal(check(&message, &value, good[i].text), 0);
		assert_int_equal(message.kind, good[i].kind);
		assert_int_equal(message.id != NULL, good[i].id);
		if (good[i].method)
			assert_string_equal(message.method, good[i].method);
	}
}

static void messages_that_are_none(void **state)
{
	/* clang-format off */
	static const struct { const char *text; int code; const char *says; } bad[] = {
		{ "{", KL_RPC_PARSE, "JSON line" },
		{ "{\"a\":1,\"a\":2}", KL_RPC_PARSE, "duplicate" },
		{ "{\"a\":\"\\u0000\"}", KL_RPC_PARSE, "JSON line" },
		{ "{\"a\":\"\xff\"}", KL_RPC_PARSE, "JSON line" },
		{ "[]", KL_RPC_INVALID, "JSON object" },
		{ "{}", KL_RPC_INVALID, "'jsonrpc'" },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}", KL_RPC_INVALID, "'jsonrpc'" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", KL_RPC_INVALID, "'method' is missing" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", KL_RPC_INVALID, "'method' is not" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", KL_RPC_INVALID, "'id'" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}", KL_RPC_INVALID, "'id'" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"a\"}", KL_RPC_INVALID, "'id'" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}", KL_RPC_PARAMS, "'params'" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":1}", KL_RPC_PARAMS, "'params'" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(json_decrefp) json_t *value = NULL;
		struct kl_rpc_message message;

		assert_int_equal(check(&message, &value, bad[i].text), bad[i].code);
		assert_contains(kl_error_last(), bad[i].says);
	}
}

static void depth_has_an_end(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	json_t *value;

	for (int i = 0; i < 1000000; i++)
		kl_buf_addch(&buf, '[');
	assert_int_equal(kl_rpc_parse(&value, buf.ptr, buf.len), KL_RPC_PARSE);
}

static void answers_are_lines(void **state)
{
	KL_AUTO(json_decrefp) json_t *id = json_string("a\nb");
	KL_AUTO(json_decrefp) json_t *record = kl_rpc_result(id, json_object());
	KL_AUTO(json_decrefp) json_t *entry = kl_rpc_error(NULL, KL_RPC_PARSE, "no \xff");
	KL_AUTO(json_decrefp) json_t *value = kl_rpc_notification("x", json_object());
	KL_AUTO(json_decrefp) json_t *other = json_integer(1);
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	kl_rpc_write(&buf, record);
	kl_rpc_write(&buf, entry);
	kl_rpc_write(&buf, value);
	assert_string_equal(
		buf.ptr,
		"{\"id\":\"a\\nb\",\"jsonrpc\":\"2.0\",\"result\":{}}\n"
		"{\"error\":{\"code\":-32700,\"message\":\"no ?\"},\"id\":null,\"jsonrpc\":\"2.0\"}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{}}\n");
	assert_true(kl_rpc_same_id(id, id));
	assert_false(kl_rpc_same_id(id, other));
	assert_false(kl_rpc_same_id(NULL, other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_in_any_pieces),
		cmocka_unit_test(long_lines_are_dropped_and_said_once),
		cmocka_unit_test(messages_of_each_kind),
		cmocka_unit_test(messages_that_are_none),
		cmocka_unit_test(depth_has_an_end),
		cmocka_unit_test(answers_are_lines),
	};

	return cmocka_run_group_tests_name("rpc", tests, NULL, NULL);
}
