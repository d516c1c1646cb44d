/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_fixture.h"

#include "model/provider/key.h"
#include "text/json.h"

#define HEAD "{\"name\":\"n\",\"schema\":\"klineage.recording/1\",\"workload\":\"w\"}\n"

/* One line of a recording, as docs/formats.md says it. */
static void add(struct kl_buf *out, const char *phase, int turn, const char *const *keys,
		const char *text)
{
	char key[KL_DIGEST_HEX];

	kl_provider_key(key, keys, (size_t)turn + 1);
	kl_buf_addf(
		out,
		"{\"key\":\"%s\",\"model\":\"m-1\",\"phase\":\"%s\",\"stop\":\"end\",\"text\":\"%s\",\"turn\":%d,"
		"\"usage\":{\"cache_read\":5,\"cache_write_1h\":0,\"cache_write_5m\":7,\"input\":11,\"output\":13}}\n",
		key, phase, text, turn);
}

static int open_text(struct kl_provider **providers, const char *text, size_t len)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(scratch_root, "recording");
	struct kl_provider_opts opts = { .name = "replay", .replay = path };

	assert_ok(kl_fs_put(path, text, len, 0600));
	return kl_provider_open(providers, NULL, &opts);
}

static const char *const said[] = { "measured 12.5 us", "measured 13 us" };
static const char *const keys[] = { "measured #", "measured # again" };

static void gives_what_was_recorded(void **state)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf file = KL_BUF_INIT;
	struct kl_reply reply;
	struct request request;

	kl_buf_adds(&file, HEAD);
	add(&file, "back-0", 0, keys, "one");
	add(&file, "back-0", 1, keys, "two\\n");
	add(&file, "back-1", 0, keys, "other");
	add(&file, "back-0", 0, said, "by its text");
	assert_ok(open_text(&provider, file.ptr, file.len));
	assert_string_equal(kl_provider_name(provider), "replay");
	assert_false(kl_provider_metered(provider));

	REQUEST(&request, said[0], "one", said[1]);
	request.x.key = keys;
	assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_string_equal(reply.text, "two\n");
	assert_string_equal(reply.model, "m-1");
	assert_true(reply.usage.known);
	assert_int_equal(reply.usage.input, 11);
	assert_int_equal(reply.usage.output, 13);
	assert_int_equal(reply.usage.cache_read, 5);
	assert_int_equal(reply.usage.cache_write_5m, 7);
	kl_reply_release(&reply);

	REQUEST(&request, "something else was measured");
	request.x.key = keys;
	request.x.phase = "back-1";
	assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_string_equal(reply.text, "other");
	kl_reply_release(&reply);

	REQUEST(&request, said[0]); /* no key: the text */
	assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_string_equal(reply.text, "by its text");
	kl_reply_release(&reply);
}

static void refuses_what_was_not_and_names_it(void **state)
{
	static const char *const wrong[] = { "measured # other", "measured # again" };
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf file = KL_BUF_INIT;
	struct kl_reply reply;
	struct request request;

	kl_buf_adds(&file, HEAD);
	add(&file, "back-0", 0, keys, "one");
	add(&file, "back-0", 1, keys, "two");
	assert_ok(open_text(&provider, file.ptr, file.len));
	REQUEST(&request, "a", "one", "b");
	request.x.key = wrong; /* the last key is right, one before it is not */
	assert_error(KL_ENOTFOUND, "phase back-0, turn 1, but to a different request",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_null(reply.text);
	request.x.key = keys;
	request.x.phase = "forward-2";
	assert_error(KL_ENOTFOUND, "no reply to phase forward-2, turn 1",
		     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
}

static void what_is_no_recording_is_refused_with_its_line(void **state)
{
	/* clang-format off */
	static const struct { const char *what, *why; } bad[] = {
		{ "", "is empty" },
		{ "{}\n", ":1: JSON: 'schema'" },
		{ "{\"schema\":\"klineage.recording/2\"}\n", ":1: schema is not" },
		{ "<html>\n", ":1: JSON line 1" },
		{ HEAD "{}\n", ":2: JSON: 'phase'" },
		{ HEAD "\n", ":2: JSON" },
		{ HEAD "{\"phase\":\"p\",\"turn\":-1,\"key\":\"k\"}\n", ":2: 'turn' or 'key'" },
		{ HEAD "{\"phase\":\"p\",\"turn\":0,\"key\":\"k\"}\n", ":2: 'turn' or 'key'" },
		{ "{\"schema\":\"klineage.recording/1\"}", ":1: the line is truncated" },
	};
	/* clang-format on */
	KL_AUTO(kl_buf_release) struct kl_buf file = KL_BUF_INIT;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct kl_provider_opts opts = { .name = "replay" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, bad[i].why,
			     open_text(&provider, bad[i].what, strlen(bad[i].what)));
	kl_buf_adds(&file, HEAD);
	add(&file, "back-0", 0, keys, "one");
	add(&file, "back-0", 0, keys, "one"); /* the same twice is the same */
	assert_ok(open_text(&provider, file.ptr, file.len));
	kl_provider_free(kl_steal(&provider));
	assert_error(KL_EINVALID, ":3: the line is truncated",
		     open_text(&provider, file.ptr, file.len - 9));
	add(&file, "back-0", 0, keys, "two");
	assert_error(KL_EINVALID, ":4: conflicting replies to the same request (back-0 0)",
		     open_text(&provider, file.ptr, file.len));
	assert_error(KL_EUSAGE, "klineage.chat.replay", kl_provider_open(&provider, NULL, &opts));
	opts.replay = "/no/such/file";
	assert_error(KL_ENOTFOUND, "/no/such/file", kl_provider_open(&provider, NULL, &opts));
}

static void what_it_did_not_know_of_its_cost_is_not_known_here(void **state)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_reply_release) struct kl_reply reply;
	KL_AUTO(kl_freep) char *text = NULL;
	char key[KL_DIGEST_HEX];
	struct request request;

	kl_provider_key(key, keys, 1);
	text = kl_asprintf(
		HEAD
		"{\"key\":\"%s\",\"phase\":\"back-0\",\"text\":\"x\",\"turn\":0,\"usage\":null}\n",
		key);
	assert_ok(open_text(&provider, text, strlen(text)));
	REQUEST(&request, "a");
	request.x.key = keys;
	assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	assert_false(reply.usage.known);
	assert_null(reply.model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_what_was_recorded),
		cmocka_unit_test(refuses_what_was_not_and_names_it),
		cmocka_unit_test(what_is_no_recording_is_refused_with_its_line),
		cmocka_unit_test(what_it_did_not_know_of_its_cost_is_not_known_here),
	};

	return cmocka_run_group_tests_name("chat/provider_replay", tests, scratch_setup,
					   scratch_teardown);
}
