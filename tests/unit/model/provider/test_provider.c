/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_fixture.h"

#include "text/json.h"

static void open_as(struct kl_provider **providers, const char *name, const char *url)
{
	struct kl_provider_opts opts = { .name = name, .url = url };

	assert_ok(kl_provider_open(providers, NULL, &opts));
}

static void body_is(const char *want, const char *name, const char *url,
		    const struct request *request)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *value = NULL;

	open_as(&provider, name, url);
	assert_ok(kl_provider_body(&body, NULL, provider, &request->q));
	assert_string_equal(body.ptr, want);
	assert_ok(kl_json_parse(&value, body.ptr, body.len));
}

#define MARK(ttl) "\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"" ttl "\"}"

static void anthropic_body_is_the_messages_api(void **state)
{
	struct request request;

	REQUEST(&request, "one", "two", "three \xf0\x9f\x98\x80 \x01");
	body_is("{\"model\":\"test-model-1\",\"system\":["
		"{\"type\":\"text\",\"text\":\"You simplify kernels.\"," MARK(
			"5m") "},"
			      "{\"type\":\"text\",\"text\":\"The contract: \\\"topk\\\" \\\\ 1\"," MARK(
				      "5m") "}],"
					    "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]},"
					    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]},"
					    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"three \xf0\x9f\x98\x80 \\u0001\"," MARK(
						    "5m") "}]}],"
							  "\"max_tokens\":1000,\"stream\":true}",
		"anthropic", NULL, &request);
	request.q.nsystem = 1;
	request.q.nmessage = 1;
	request.q.ends = true;
	body_is("{\"model\":\"test-model-1\",\"system\":[{\"type\":\"text\",\"text\":\"You simplify kernels.\"," MARK(
			"5m") "}],"
			      "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"one\"}]}],"
			      "\"max_tokens\":1000,\"stream\":true}",
		"anthropic", NULL, &request);
	request.q.ends = false;
	request.q.cache = KL_CACHE_1H;
	request.q.nsystem = 0;
	body_is("{\"model\":\"test-model-1\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
		"\"text\":\"one\"," MARK("1h") "}]}],\"max_tokens\":1000,\"stream\":true}",
		"anthropic", NULL, &request);
	request.q.cache = KL_CACHE_NONE;
	body_is("{\"model\":\"test-model-1\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
		"\"text\":\"one\"}]}],\"max_tokens\":1000,\"stream\":true}",
		"anthropic", NULL, &request);
}

static void a_request_has_four_marks_at_most(void **state)
{
	static const char *const many[] = { "a", "", "b", "c", "d", "e", "" };
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct request request;

	REQUEST(&request, "one", "two", "three", "four", "five");
	request.q.system = many;
	open_as(&provider, "anthropic", NULL);
	for (size_t n = 0; n <= KL_ARRAY_SIZE(many); n++) {
		KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
		size_t marks = 0;

		request.q.nsystem = n;
		assert_ok(kl_provider_body(&body, NULL, provider, &request.q));
		for (char *text = body.ptr; (text = strstr(text, "cache_control")); text++)
			marks++;
		assert_true(marks >= 1 && marks <= 4);
		assert_null(strstr(body.ptr, "\"text\":\"\""));
	}
}

static void openai_body_is_chat_completions(void **state)
{
	struct request request;

	REQUEST(&request, "one", "two", "three");
	body_is("{\"model\":\"test-model-1\",\"messages\":["
		"{\"role\":\"system\",\"content\":\"You simplify kernels.\\n\\nThe contract: \\\"topk\\\" \\\\ 1\"},"
		"{\"role\":\"user\",\"content\":\"one\"},{\"role\":\"assistant\",\"content\":\"two\"},"
		"{\"role\":\"user\",\"content\":\"three\"}],\"max_completion_tokens\":1000,\"stream\":true,"
		"\"stream_options\":{\"include_usage\":true}}",
		"openai", NULL, &request);
	request.q.nmessage = 1;
	request.q.nsystem = 0;
	body_is("{\"model\":\"test-model-1\",\"messages\":[{\"role\":\"user\",\"content\":\"one\"}],"
		"\"max_tokens\":1000,\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
		"openai", "http://localhost:11434/v1", &request);
}

/* Texts that would show if a turn changed what an earlier one had written. */
static const char *const said[] = {
	"The kernel:\n\tfor (;;)\n",
	"{\"action\":\"untile\"}",
	"wrong-edge at 17, got \"nan\"",
	"again \\ \x7f",
	"compile: \xc3\xa9rror",
	"fine.\n",
	"and now?",
	"\xe2\x82\xac",
	"the last",
};

/*
 * The bytes of turn n begin with the cached prefix of turn n-1, up to and with the last text
 * it had; and they do so when the budget has changed max_tokens.
 */
static void prefix_is_stable(const char *name, const char *url, enum kl_cache_ttl cache,
			     size_t nsystem)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf last = KL_BUF_INIT;
	const char *part[KL_ARRAY_SIZE(said) + 1] = { NULL };
	size_t covered = 0;

	open_as(&provider, name, url);
	for (size_t turn = 0; 2 * turn < KL_ARRAY_SIZE(said); turn++) {
		KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT, mark = KL_BUF_INIT;
		size_t prefix = 12345;
		struct request request;

		memcpy(part, said, (2 * turn + 1) * sizeof(*said));
		request_of(&request, part);
		request.q.cache = cache;
		request.q.nsystem = nsystem;
		request.q.max_tokens = 8000 - 100 * (int64_t)turn;
		assert_ok(kl_provider_body(&body, &prefix, provider, &request.q));
		assert_true(prefix > covered && prefix < body.len);
		/* all of the last text is covered */
		assert_true(body.ptr[prefix - 1] == '"');
		assert_null(strstr(body.ptr + prefix, "\"role\""));
		assert_true(body.len > covered && !memcmp(body.ptr, last.ptr, covered));
		kl_buf_release(&last);
		last = body;
		body = (struct kl_buf)KL_BUF_INIT;
		covered = prefix;
	}
}

static void each_turn_begins_with_the_prefix_of_the_one_before(void **state)
{
	static const enum kl_cache_ttl cache[] = { KL_CACHE_5M, KL_CACHE_1H };

	for (size_t i = 0; i < 2; i++) {
		for (size_t n = 0; n <= 2; n++) {
			prefix_is_stable("anthropic", NULL, cache[i], n);
			prefix_is_stable("openai", NULL, cache[i], n);
			prefix_is_stable("openai", "http://127.0.0.1:8000", cache[i], n);
		}
	}
}

static void without_a_cache_nothing_is_covered(void **state)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	size_t prefix = 1;
	struct request request;

	REQUEST(&request, "one");
	request.q.cache = KL_CACHE_NONE;
	open_as(&provider, "anthropic", NULL);
	assert_ok(kl_provider_body(&body, &prefix, provider, &request.q));
	assert_int_equal(prefix, 0);
	assert_true(kl_provider_metered(provider));
}

static void plain_connections_stay_here(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("plain");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct kl_provider_opts opts = { .name = "openai", .url = "http://models.example.com/v1" };

	assert_error(KL_EINVALID, "'http://models.example.com' is not encrypted",
		     kl_provider_open(&provider, NULL, &opts));
	assert_contains(kl_error_hints(), "klineage.chat.insecure");
	opts.url = "http://me:hunter2@models.example.com/v1";
	assert_error(KL_EINVALID, "klineage.chat.url: ", kl_provider_open(&provider, NULL, &opts));
	assert_null(strstr(kl_error_last(), "hunter2"));
	sh(dir,
	   "git config klineage.chat.insecure true; git config klineage.chat.url http://models.example.com/v1;"
	   "git config klineage.chat.provider openai");
	assert_ok(kl_repo_open_at(&repo, dir));
	opts = (struct kl_provider_opts){ 0 };
	assert_ok(kl_provider_open(&provider, repo, &opts));
	assert_string_equal(kl_provider_name(provider), "openai");
}

static void the_name_of_the_limit_can_be_set(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("field");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	struct kl_provider_opts opts = { .name = "openai" };
	struct request request;

	REQUEST(&request, "one");
	sh(dir, "git config klineage.chat.tokenField max_tokens");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&provider, repo, &opts));
	assert_ok(kl_provider_body(&body, NULL, provider, &request.q));
	assert_contains(body.ptr, "\"max_tokens\":1000");
	kl_provider_free(kl_steal(&provider));
	kl_repo_free(kl_steal(&repo));
	sh(dir, "git config klineage.chat.tokenField tokens");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_error(KL_EINVALID, "klineage.chat.tokenField is 'tokens'",
		     kl_provider_open(&provider, repo, &opts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(anthropic_body_is_the_messages_api),
		cmocka_unit_test(a_request_has_four_marks_at_most),
		cmocka_unit_test(openai_body_is_chat_completions),
		cmocka_unit_test(each_turn_begins_with_the_prefix_of_the_one_before),
		cmocka_unit_test(without_a_cache_nothing_is_covered),
		cmocka_unit_test(plain_connections_stay_here),
		cmocka_unit_test(the_name_of_the_limit_can_be_set),
	};

	return cmocka_run_group_tests_name("chat/provider", tests, scratch_setup, scratch_teardown);
}
