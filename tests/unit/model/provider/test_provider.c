/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_fixture.h"

#include "text/json.h"

static void open_as(struct kl_provider **p, const char *name, const char *url)
{
	struct kl_provider_opts o = { .name = name, .url = url };

	assert_ok(kl_provider_open(p, NULL, &o));
}

static void body_is(const char *want, const char *name, const char *url, const struct request *t)
{
	KL_AUTO(kl_provider_freep) struct kl_provider *p = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *j = NULL;

	open_as(&p, name, url);
	assert_ok(kl_provider_body(&body, NULL, p, &t->q));
	assert_string_equal(body.ptr, want);
	assert_ok(kl_json_parse(&j, body.ptr, body.len));
}

#define MARK(ttl) "\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"" ttl "\"}"

static void anthropic_body_is_the_messages_api(void **state)
{
	struct request t;

	REQUEST(&t, "one", "two", "three \xf0\x9f\x98\x80 \x01");
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
		"anthropic", NULL, &t);
	t.q.cache = KL_CACHE_1H;
	t.q.nsystem = 0;
	t.q.nmessage = 1;
	body_is("{\"model\":\"test-model-1\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
		"\"text\":\"one\"," MARK("1h") "}]}],\"max_tokens\":1000,\"stream\":true}",
		"anthropic", NULL, &t);
	t.q.cache = KL_CACHE_NONE;
	body_is("{\"model\":\"test-model-1\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
		"\"text\":\"one\"}]}],\"max_tokens\":1000,\"stream\":true}",
		"anthropic", NULL, &t);
}

static void a_request_has_four_marks_at_most(void **state)
{
	static const char *const many[] = { "a", "", "b", "c", "d", "e", "" };
	KL_AUTO(kl_provider_freep) struct kl_provider *p = NULL;
	struct request t;

	REQUEST(&t, "one", "two", "three", "four", "five");
	t.q.system = many;
	open_as(&p, "anthropic", NULL);
	for (size_t n = 0; n <= KL_ARRAY_SIZE(many); n++) {
		KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
		size_t marks = 0;

		t.q.nsystem = n;
		assert_ok(kl_provider_body(&body, NULL, p, &t.q));
		for (char *s = body.ptr; (s = strstr(s, "cache_control")); s++)
			marks++;
		assert_true(marks >= 1 && marks <= 4);
		assert_null(strstr(body.ptr, "\"text\":\"\""));
	}
}

static void openai_body_is_chat_completions(void **state)
{
	struct request t;

	REQUEST(&t, "one", "two", "three");
	body_is("{\"model\":\"test-model-1\",\"messages\":["
		"{\"role\":\"system\",\"content\":\"You simplify kernels.\\n\\nThe contract: \\\"topk\\\" \\\\ 1\"},"
		"{\"role\":\"user\",\"content\":\"one\"},{\"role\":\"assistant\",\"content\":\"two\"},"
		"{\"role\":\"user\",\"content\":\"three\"}],\"max_completion_tokens\":1000,\"stream\":true,"
		"\"stream_options\":{\"include_usage\":true}}",
		"openai", NULL, &t);
	t.q.nmessage = 1;
	t.q.nsystem = 0;
	body_is("{\"model\":\"test-model-1\",\"messages\":[{\"role\":\"user\",\"content\":\"one\"}],"
		"\"max_tokens\":1000,\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
		"openai", "http://localhost:11434/v1", &t);
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
	KL_AUTO(kl_provider_freep) struct kl_provider *p = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf last = KL_BUF_INIT;
	const char *part[KL_ARRAY_SIZE(said) + 1] = { NULL };
	size_t covered = 0;

	open_as(&p, name, url);
	for (size_t turn = 0; 2 * turn < KL_ARRAY_SIZE(said); turn++) {
		KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT, mark = KL_BUF_INIT;
		size_t prefix = 12345;
		struct request t;

		memcpy(part, said, (2 * turn + 1) * sizeof(*said));
		request_of(&t, part);
		t.q.cache = cache;
		t.q.nsystem = nsystem;
		t.q.max_tokens = 8000 - 100 * (int64_t)turn;
		assert_ok(kl_provider_body(&body, &prefix, p, &t.q));
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
	KL_AUTO(kl_provider_freep) struct kl_provider *p = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	size_t prefix = 1;
	struct request t;

	REQUEST(&t, "one");
	t.q.cache = KL_CACHE_NONE;
	open_as(&p, "anthropic", NULL);
	assert_ok(kl_provider_body(&body, &prefix, p, &t.q));
	assert_int_equal(prefix, 0);
	assert_true(kl_provider_metered(p));
}

static void plain_connections_stay_here(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("plain");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *p = NULL;
	struct kl_provider_opts o = { .name = "openai", .url = "http://models.example.com/v1" };

	assert_error(KL_EINVALID, "'http://models.example.com' is not encrypted",
		     kl_provider_open(&p, NULL, &o));
	assert_contains(kl_error_hints(), "klineage.chat.insecure");
	o.url = "http://me:hunter2@models.example.com/v1";
	assert_error(KL_EINVALID, "klineage.chat.url: ", kl_provider_open(&p, NULL, &o));
	assert_null(strstr(kl_error_last(), "hunter2"));
	sh(dir,
	   "git config klineage.chat.insecure true; git config klineage.chat.url http://models.example.com/v1;"
	   "git config klineage.chat.provider openai");
	assert_ok(kl_repo_open_at(&repo, dir));
	o = (struct kl_provider_opts){ 0 };
	assert_ok(kl_provider_open(&p, repo, &o));
	assert_string_equal(kl_provider_name(p), "openai");
}

static void the_name_of_the_limit_can_be_set(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("field");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *p = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	struct kl_provider_opts o = { .name = "openai" };
	struct request t;

	REQUEST(&t, "one");
	sh(dir, "git config klineage.chat.tokenField max_tokens");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&p, repo, &o));
	assert_ok(kl_provider_body(&body, NULL, p, &t.q));
	assert_contains(body.ptr, "\"max_tokens\":1000");
	kl_provider_free(kl_steal(&p));
	kl_repo_free(kl_steal(&repo));
	sh(dir, "git config klineage.chat.tokenField tokens");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_error(KL_EINVALID, "klineage.chat.tokenField is 'tokens'",
		     kl_provider_open(&p, repo, &o));
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
