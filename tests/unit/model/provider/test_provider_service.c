/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of templates/providers.yaml against a server on this machine: the path, the headers and
 * the body are those that the provider documents, and its usage object is read as it means it.
 */
#include "chatd_fixture.h"
#include "provider_rows.h"

#include "base/environment.h"
#include "model/provider/flaw.h"
#include "model/provider/service.h"

static char *configured(const char *name)
{
	char *dir = scratch_repo(name);

	sh(dir,
	   "git config klineage.chat.resource r-1; git config klineage.chat.region eu-1;"
	   "git config klineage.chat.project p-1; git config klineage.chat.version 2024-10-21");
	return dir;
}

static void check_body(const struct row *row, const char *text)
{
	KL_AUTO(json_decrefp) json_t *body = NULL;
	size_t n = strlen(text), tail = strlen(row->tail);
	const char *model;

	assert_ok(kl_json_parse(&body, text, n));
	if (n < tail || strcmp(text + n - tail, row->tail))
		fail_msg("%s: the body ends otherwise: %s", row->name, text);
	model = kl_json_str_or(body, "model", "");
	assert_string_equal(model, strstr(row->path, "models/test-model-1:") ? "" : "test-model-1");
	assert_null(strstr(text, "sk-test"));
}

static void check_request(const struct row *row, const struct chatd *chatd)
{
	KL_AUTO(json_decrefp) json_t *log = chatd_request(chatd, 0, NULL);
	const json_t *head = json_object_get(log, "headers");
	static const char *const headers[] = { "authorization", "x-api-key", "api-key" };

	if (strcmp(kl_json_str_or(log, "path", ""), row->path))
		fail_msg("%s: %s, not %s", row->name, kl_json_str_or(log, "path", ""), row->path);
	assert_string_equal(kl_json_str_or(log, "key", ""), "right");
	for (size_t i = 0; i < KL_ARRAY_SIZE(headers); i++)
		if (!json_object_get(head, headers[i]) != !!strcmp(headers[i], row->header))
			fail_msg("%s: the header %s", row->name, headers[i]);
	if (!strcmp(row->header, "authorization"))
		assert_string_equal(kl_json_str_or(head, "authorization", ""), "Bearer");
	assert_string_equal(kl_json_str_or(head, "anthropic-version", "none"),
			    row->version ? row->version : "none");
	check_body(row, kl_json_str_or(log, "body", ""));
}

static bool same_usage(const struct kl_usage *left, const struct kl_usage *right)
{
	return left->known == right->known && left->input == right->input &&
	       left->output == right->output && left->cache_read == right->cache_read &&
	       left->cache_write_5m == right->cache_write_5m &&
	       left->cache_write_1h == right->cache_write_1h;
}

static void each_row_is_as_its_provider_documents_it(void **state)
{
	KL_AUTO(kl_freep) char *dir = configured("rows");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

	assert_ok(kl_repo_open_at(&repo, dir));
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		KL_AUTO(kl_freep) char *line = kl_asprintf("{\"text\":\"fine\",%s}\n",
							   rows[i].line);
		KL_AUTO(kl_freep) char *url = NULL;
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		KL_AUTO(kl_reply_release) struct kl_reply reply;
		struct kl_provider_opts opts = { .name = rows[i].name };
		struct request request;

		chatd_start(&chatd, line, 0);
		opts.url = url = kl_asprintf("http://127.0.0.1:%d", chatd.port);
		REQUEST(&request, "first", "answer", "and then?");
		request.q.cache_key = "k-1";
		request.q.cache = KL_CACHE_5M;
		assert_ok(kl_provider_open(&provider, repo, &opts));
		assert_string_equal(kl_provider_name(provider), rows[i].name);
		assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
		assert_string_equal(reply.text, "fine");
		assert_int_equal(reply.flaw, KL_FLAW_NONE);
		check_request(&rows[i], &chatd);
		if (!same_usage(&reply.usage, &rows[i].usage))
			fail_msg(
				"%s: input %lld, output %lld, read %lld, 5m %lld, 1h %lld, known %d",
				rows[i].name, (long long)reply.usage.input,
				(long long)reply.usage.output, (long long)reply.usage.cache_read,
				(long long)reply.usage.cache_write_5m,
				(long long)reply.usage.cache_write_1h, reply.usage.known);
		assert_int_equal(reply.permille, rows[i].permille);
		assert_int_equal(reply.stated_nano,
				 strcmp(rows[i].name, "openrouter") ? -1 : 950000000);
	}
}

/* The table of this test has every row of the file; and of each the key is kept from children. */
static void no_row_is_forgotten(void **state)
{
	KL_AUTO(kl_freep) char *dir = configured("all");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec name = KL_STRVEC_INIT;
	struct kl_service none;
	KL_AUTO(kl_freep) char *list = NULL;
	const char *names, *end;

	assert_ok(kl_repo_open_at(&repo, dir));
	/* a provider that there is not is answered with the names of all rows */
	assert_error(KL_EINVALID, "(available: ", kl_service_open(&none, repo, "nobody", NULL));
	kl_service_release(&none);
	names = strstr(kl_error_last(), "(available: ") + strlen("(available: ");
	end = strstr(names, ", exec, replay)");
	assert_non_null(end);
	list = kl_strndup(names, (size_t)(end - names));
	kl_strvec_split(&name, list, ", ");
	assert_int_equal(name.n, KL_ARRAY_SIZE(rows));
	for (size_t i = 0; i < name.n; i++) {
		struct kl_service service;
		size_t k = 0;

		while (k < KL_ARRAY_SIZE(rows) && strcmp(rows[k].name, name.v[i]))
			k++;
		if (k == KL_ARRAY_SIZE(rows))
			fail_msg("%s is not tested", name.v[i]);
		assert_ok(kl_service_open(&service, repo, name.v[i], NULL));
		if (service.key)
			assert_true(kl_environment_is_key(service.key));
		/* whoever has a key is reached over TLS; a server of one's own on this machine */
		assert_true(!strncmp(service.base, "https://", 8) || !service.key);
		kl_service_release(&service);
	}
}

static char *target_of(const char *name, const char *url, const char *model)
{
	KL_AUTO(kl_freep) char *dir = configured("target");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_service service;
	char *out = NULL;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_service_open(&service, repo, name, url));
	assert_ok(kl_service_target(&out, &service, repo, model));
	kl_service_release(&service);
	return out;
}

static void addresses_are_put_together(void **state)
{
	/* clang-format off */
	static const struct { const char *name, *url, *model, *want; } is[] = {
		{ "openai", NULL, "m", "https://api.openai.com/v1/chat/completions" },
		{ "openai", "http://localhost:8000", "m", "http://localhost:8000/v1/chat/completions" },
		{ "openai", "http://localhost:8000/v1/", "m", "http://localhost:8000/v1/chat/completions" },
		{ "openai", "https://h/api/paas/v4", "m", "https://h/api/paas/v4/chat/completions" },
		{ "openai", "https://h/inference", "m", "https://h/inference/chat/completions" },
		{ "openai", "https://h/v1beta/openai", "m", "https://h/v1beta/openai/chat/completions" },
		{ "openai", "https://h/x/chat/completions", "m", "https://h/x/chat/completions" },
		{ "openai-responses", "https://h/v1/responses", "m", "https://h/v1/responses" },
		{ "anthropic", "https://h", "m", "https://h/v1/messages" },
		{ "anthropic", "https://h/v1", "m", "https://h/v1/messages" },
		{ "anthropic", "https://h/anthropic", "m", "https://h/anthropic/v1/messages" },
		{ "anthropic", "https://h/v1/messages", "m", "https://h/v1/messages" },
		{ "azure", NULL, "m", "https://r-1.openai.azure.com/openai/v1/chat/completions" },
		{ "azure-classic", NULL, "my deployment/1?",
		  "https://r-1.openai.azure.com/openai/deployments/my%20deployment%2F1%3F/chat/completions?api-version=2024-10-21" },
		{ "vertex-anthropic", NULL, "claude-opus-4-5@20251101",
		  "https://eu-1-aiplatform.googleapis.com/v1/projects/p-1/locations/eu-1/publishers/anthropic/models/"
		  "claude-opus-4-5@20251101:streamRawPredict" },
		{ "bedrock", NULL, "m", "https://bedrock-runtime.eu-1.amazonaws.com/openai/v1/chat/completions" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_freep) char *target = target_of(is[i].name, is[i].url, is[i].model);

		assert_string_equal(target, is[i].want);
	}
}

/* A server of the user's needs no value for the host of ours, but those for the path. */
static void a_server_alone_gets_the_path(void **state)
{
	/* clang-format off */
	static const struct { const char *name, *url, *want; } is[] = {
		{ "azure", "https://h", "https://h/openai/v1" },
		{ "azure", "https://h/", "https://h/openai/v1" },
		{ "azure", "https://h/proxy", "https://h/proxy" },
		{ "foundry", "https://h:8443", "https://h:8443/anthropic" },
		{ "bedrock", "http://localhost:1", "http://localhost:1/openai/v1" },
		{ "vertex", "https://h/v1", "https://h/v1" },
		{ "vertex", "https://h", NULL },
	};
	/* clang-format on */
	KL_AUTO(kl_freep) char *dir = scratch_repo("alone");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

	assert_ok(kl_repo_open_at(&repo, dir));
	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		struct kl_service service;
		int err = kl_service_open(&service, repo, is[i].name, is[i].url);

		if (is[i].want) {
			assert_ok(err);
			assert_string_equal(service.base, is[i].want);
			assert_true(service.elsewhere);
		} else {
			assert_error(KL_EINVALID, "needs config klineage.chat.project", err);
		}
		kl_service_release(&service);
	}
}

/* No key is asked for that would not be sent. 0.0.0.0 reaches this machine, but by no such name. */
static void a_key_is_needed_where_it_is_sent(void **state)
{
	/* clang-format off */
	static const struct { const char *auth, *host; bool needed; } is[] = {
		{ "api-key", "127.0.0.1", true }, { "none", "127.0.0.1", false }, { "api-key", "0.0.0.0", false },
	};
	/* clang-format on */

	unsetenv("KLINEAGE_CHAT_KEY");
	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_freep) char *dir = scratch_repo("needed");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		KL_AUTO(kl_reply_release) struct kl_reply reply;
		struct kl_provider_opts opts = { .name = "mine" };
		struct request request;
		int err;

		chatd_start(&chatd, "{\"text\":\"fine\"}\n", 0);
		sh(dir,
		   "git config klineage.provider.mine.like openai; git config klineage.chat.insecure true;"
		   "git config klineage.provider.mine.auth %s;"
		   "git config klineage.provider.mine.url http://%s:%d",
		   is[i].auth, is[i].host, chatd.port);
		assert_ok(kl_repo_open_at(&repo, dir));
		assert_ok(kl_provider_open(&provider, repo, &opts));
		REQUEST(&request, "first");
		err = kl_provider_send(&reply, provider, &request.q, &request.x, NULL);
		if (is[i].needed)
			assert_error(KL_EINVALID, "no key for", err);
		else
			assert_ok(err);
	}
	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
}

/* A command that fails is named by the setting that has it. */
static void a_key_command_is_named(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("command");

	unsetenv("KLINEAGE_CHAT_KEY");
	for (int own = 0; own < 2; own++) {
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		KL_AUTO(kl_reply_release) struct kl_reply reply;
		struct kl_provider_opts opts = { .name = "openai" };
		struct request request;

		sh(dir, "git config klineage.%s false",
		   own ? "provider.openai.key-command" : "chat.keyCommand");
		assert_ok(kl_repo_open_at(&repo, dir));
		assert_ok(kl_provider_open(&provider, repo, &opts));
		REQUEST(&request, "first");
		assert_error(KL_EINVALID,
			     own ? "klineage.provider.openai.key-command failed" :
				   "klineage.chat.keyCommand failed",
			     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
		assert_false(reply.failure.transient);
	}
	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
}

/* A command that gave a key once and then fails, as without a network, may give one again. */
static void a_key_that_cannot_be_renewed_may_pass(void **state)
{
	/* what the command does at its n-th call, and whether a request after it works */
	static const bool works[] = { true, false, true };
	KL_AUTO(kl_freep) char *dir = scratch_repo("renewed");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	struct kl_provider_opts opts = { .name = "openai" };
	struct request request;

	unsetenv("KLINEAGE_CHAT_KEY");
	chatd_start(&chatd, "{\"text\":\"fine\",\"repeat\":9}\n", 0);
	sh(dir,
	   "echo 'echo x >>calls; test $(wc -l <calls) != 2 && "
	   "echo {\\\"access_token\\\":\\\"" TEST_KEY "\\\",\\\"expires_in\\\":1}' >key.sh;"
	   "git config klineage.chat.keyCommand \"cd '$PWD' && sh ./key.sh\";"
	   "git config klineage.chat.url http://127.0.0.1:%d/v1",
	   chatd.port);
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&provider, repo, &opts));
	REQUEST(&request, "first");
	for (size_t i = 0; i < KL_ARRAY_SIZE(works); i++) {
		KL_AUTO(kl_reply_release) struct kl_reply reply;
		int err = kl_provider_send(&reply, provider, &request.q, &request.x, NULL);

		if (works[i]) {
			assert_ok(err);
			continue;
		}
		assert_error(KL_EINVALID, "klineage.chat.keyCommand failed", err);
		assert_true(reply.failure.transient);
		assert_true(reply.usage.known && !reply.usage.input);
	}
	assert_int_equal(chatd_count(&chatd), 2);
	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
}

/* An empty value makes an optional member absent, of whatever type. */
static void an_empty_value_takes_a_member_away(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("empty");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_service service;

	sh(dir, "for key in stream-usage key effort efforts tier body model-in; do"
		" git config klineage.provider.deepseek.$key ''; done;"
		"git config klineage.provider.vertex-anthropic.model-in '';"
		"git config klineage.provider.openai.usage ''");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_service_open(&service, repo, "deepseek", NULL));
	assert_false(service.stream_usage);
	assert_null(service.key);
	assert_null(service.effort);
	assert_int_equal(service.efforts.n, 0);
	kl_service_release(&service);
	assert_ok(kl_service_open(&service, repo, "vertex-anthropic", "https://h/v1"));
	assert_int_equal(service.model_in, 0);
	kl_service_release(&service);
	assert_error(KL_EINVALID, "'usage'", kl_service_open(&service, repo, "openai", NULL));
	kl_service_release(&service);
}

/* A value cannot lead elsewhere, and one that is missing is named. */
static void values_are_names(void **state)
{
	static const char *const bad[] = { "evil.example/", "a@b", "a?b", "a#b", "a b", "" };
	KL_AUTO(kl_freep) char *dir = scratch_repo("values");
	struct kl_service service;

	for (size_t i = 0; i <= KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

		if (i)
			sh(dir, "git config klineage.chat.resource '%s'", bad[i - 1]);
		assert_ok(kl_repo_open_at(&repo, dir));
		assert_error(KL_EINVALID, "klineage.chat.resource",
			     kl_service_open(&service, repo, "azure", NULL));
		kl_service_release(&service);
	}
}

/* A row of the user's own, by configuration alone. */
static void a_row_of_ones_own(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("own");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	KL_AUTO(json_decrefp) json_t *log = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_reply_release) struct kl_reply reply;
	struct kl_provider_opts opts = { .name = "mine" };
	struct request request;

	chatd_start(&chatd, "{\"text\":\"fine\"}\n", 0);
	sh(dir,
	   "git config klineage.provider.mine.like openai;"
	   "git config klineage.provider.mine.url http://127.0.0.1:%d/serving-endpoints;"
	   "git config klineage.provider.mine.auth api-key; git config klineage.provider.mine.key MY_API_KEY;"
	   "git config klineage.provider.mine.tokens max_new; git config klineage.provider.mine.stream-usage false;"
	   "git config klineage.provider.mine.headers 'x-team=a x-other=b';"
	   "git config klineage.provider.mine.query v=7; git config klineage.provider.mine.cache none;"
	   "git config klineage.provider.mine.tokens-elsewhere '';"
	   "git config klineage.provider.mine.body '{\"provider\":{\"order\":[\"x\"]}}'",
	   chatd.port);
	unsetenv("KLINEAGE_CHAT_KEY");
	setenv("MY_API_KEY", TEST_KEY, 1);
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_provider_open(&provider, repo, &opts));
	REQUEST(&request, "first");
	request.q.nsystem = 0;
	assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
	unsetenv("MY_API_KEY");
	log = chatd_request(&chatd, 0, NULL);
	assert_string_equal(kl_json_str_or(log, "path", ""),
			    "/serving-endpoints/chat/completions?v=7");
	assert_string_equal(kl_json_str_or(log, "key", ""), "right");
	assert_string_equal(kl_json_str_or(json_object_get(log, "headers"), "x-team", ""), "a");
	assert_string_equal(kl_json_str_or(json_object_get(log, "headers"), "api-key", "none"), "");
	assert_string_equal(
		kl_json_str_or(log, "body", ""),
		"{\"model\":\"test-model-1\",\"messages\":[{\"role\":\"user\",\"content\":\"first\"}],"
		"\"max_new\":1000,\"stream\":true,\"provider\":{\"order\":[\"x\"]}}");
}

static void what_is_wrong_in_a_row_is_named(void **state)
{
	/* clang-format off */
	static const struct { const char *key, *value, *says; } is[] = {
		{ "like", "nobody", "klineage.provider.mine.like: there is no provider 'nobody'" },
		{ "protocol", "smtp", "'protocol' must be one of messages, chat, responses" },
		{ "auth", "basic", "'auth' must be one of" }, { "key", "PATH", "'key' must be an environment variable" },
		{ "usage", "klingon", "there is no dialect 'klingon'" }, { "body", "[1]", "body: not a JSON object" },
		{ "body", "{", "body: JSON" }, { "url", "ftp://x", "must begin with https" },
		{ "url", "https://{host}.example", "placeholder {host}" }, { "tokens", "\"x", "'tokens' must be" },
		{ "stream-usage", "maybe", "'stream-usage' must be true or false" },
		{ "headers", "nonsense", "'nonsense' must be" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_freep) char *dir = scratch_repo("wrong");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct kl_service service;

		sh(dir,
		   "git config klineage.provider.mine.like openai; git config klineage.provider.mine.%s '%s'",
		   is[i].key, is[i].value);
		assert_ok(kl_repo_open_at(&repo, dir));
		assert_error(KL_EINVALID, is[i].says,
			     kl_service_open(&service, repo, "mine", NULL));
		kl_service_release(&service);
	}
}

/* Effort, tier, extra members: each where its provider wants it. */
static void options_go_where_they_belong(void **state)
{
	/* clang-format off */
	static const struct { const char *name, *effort, *tier, *extra, *part; } is[] = {
		{ "openai", "low", "flex", NULL, "\"reasoning_effort\":\"low\",\"service_tier\":\"flex\"" },
		{ "openai-responses", "high", NULL, NULL, "\"reasoning\":{\"effort\":\"high\"}" },
		{ "openai-responses", "high", NULL, "{\"reasoning\":{\"summary\":\"auto\"}}",
		  "\"reasoning\":{\"effort\":\"high\",\"summary\":\"auto\"}" },
		{ "anthropic", "medium", NULL, "{\"thinking\":{\"type\":\"adaptive\"}}",
		  "\"output_config\":{\"effort\":\"medium\"},\"thinking\":{\"type\":\"adaptive\"}" },
		{ "openrouter", "low", NULL, "{\"temperature\":0.7}", "\"reasoning\":{\"effort\":\"low\"},\"temperature\":0.7" },
		{ "zai", "none", NULL, NULL, "\"thinking\":{\"type\":\"disabled\"}" },
		{ "deepseek", "high", NULL, "{\"thinking\":{\"type\":\"auto\"}}", "\"thinking\":{\"type\":\"auto\"}" },
		{ "mistral", NULL, "flex", NULL, "\"stream\":true}" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
		KL_AUTO(json_decrefp) json_t *extra = NULL, *parsed = NULL;
		struct kl_provider_opts opts = { .name = is[i].name };
		struct request request;

		REQUEST(&request, "one");
		if (is[i].extra)
			assert_ok(kl_json_parse(&extra, is[i].extra, strlen(is[i].extra)));
		request.q.effort = is[i].effort;
		request.q.tier = is[i].tier;
		request.q.extra = extra;
		assert_ok(kl_provider_open(&provider, NULL, &opts));
		assert_ok(kl_provider_body(&body, NULL, provider, &request.q));
		assert_contains(body.ptr, is[i].part);
		assert_ok(kl_json_parse(&parsed, body.ptr, body.len)); /* no key twice */
	}
}

static int setup(void **state)
{
	int err = chatd_setup(state);

	setenv("KLINEAGE_CHAT_KEY", TEST_KEY, 1);
	return err;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_as_its_provider_documents_it),
		cmocka_unit_test(no_row_is_forgotten),
		cmocka_unit_test(addresses_are_put_together),
		cmocka_unit_test(a_server_alone_gets_the_path),
		cmocka_unit_test(a_key_is_needed_where_it_is_sent),
		cmocka_unit_test(a_key_command_is_named),
		cmocka_unit_test(a_key_that_cannot_be_renewed_may_pass),
		cmocka_unit_test(an_empty_value_takes_a_member_away),
		cmocka_unit_test(values_are_names),
		cmocka_unit_test(a_row_of_ones_own),
		cmocka_unit_test(what_is_wrong_in_a_row_is_named),
		cmocka_unit_test(options_go_where_they_belong),
	};

	return cmocka_run_group_tests_name("chat/service", tests, setup, scratch_teardown);
}
