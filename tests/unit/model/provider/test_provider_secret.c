/* SPDX-License-Identifier: Apache-2.0 */
#include "chatd_fixture.h"

#include <ctype.h>
#include <sys/resource.h>

#include "model/provider/secret.h"

#define URL "https://api.example.com"

static char *home_config(const char *lines)
{
	char *path = kl_fs_join(scratch_root, ".gitconfig");

	assert_ok(kl_fs_put(path, lines, strlen(lines), 0600));
	return path;
}

static int find(struct kl_secret **secrets, const char *url)
{
	struct kl_secret_from from = {
		.prefix = "x-api-key: ", .vendor = "ANTHROPIC_API_KEY", .url = url
	};

	return kl_secret_find(secrets, NULL, &from);
}

static void environment_goes_before_helpers(void **state)
{
	KL_AUTO(kl_freep) char *config = home_config(
		"[credential]\n\thelper = \"!f() { echo username=any; echo password=sk-from-helper; }; f\"\n");
	KL_AUTO(kl_secret_freep) struct kl_secret *secret = NULL;

	assert_ok(find(&secret, URL));
	assert_string_equal(kl_secret_header(secret), "x-api-key: sk-from-helper");
	assert_string_equal(kl_secret_source(secret), "a credential helper of git");
	kl_secret_free(kl_steal(&secret));
	assert_ok(find(&secret, NULL)); /* no URL, no helper */
	assert_null(secret);
	setenv("ANTHROPIC_API_KEY", "sk-vendor", 1);
	assert_ok(find(&secret, URL));
	assert_string_equal(kl_secret_header(secret), "x-api-key: sk-vendor");
	assert_string_equal(kl_secret_source(secret), "ANTHROPIC_API_KEY");
	kl_secret_free(kl_steal(&secret));
	setenv("KLINEAGE_CHAT_KEY", "sk-ours", 1);
	assert_ok(find(&secret, URL));
	assert_string_equal(kl_secret_header(secret), "x-api-key: sk-ours");
	kl_secret_free(kl_steal(&secret));
	setenv("KLINEAGE_CHAT_KEY", "", 1); /* empty is none */
	assert_ok(find(&secret, URL));
	assert_string_equal(kl_secret_header(secret), "x-api-key: sk-vendor");
	unsetenv("KLINEAGE_CHAT_KEY");
	unsetenv("ANTHROPIC_API_KEY");
}

/*
 * The helper is told which server it is for, and a helper of the repository's own configuration
 * counts.
 */
static void helpers_are_asked_for_this_server(void **state)
{
	KL_AUTO(kl_freep) char *config = home_config("");
	KL_AUTO(kl_freep) char *dir = scratch_repo("helper");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_secret_freep) struct kl_secret *secret = NULL;
	struct kl_secret_from other = { .prefix = "", .url = "https://other.example.com" };
	struct kl_secret_from this = { .prefix = "authorization: Bearer ", .url = URL "/v1" };

	sh(dir,
	   "git config credential.https://api.example.com.helper "
	   "'!f() { cat >%s/asked; echo username=any; echo password=sk-right-server; }; f'",
	   dir);
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_secret_find(&secret, repo, &other));
	assert_null(secret);
	assert_ok(kl_secret_find(&secret, repo, &this));
	assert_string_equal(kl_secret_header(secret), "authorization: Bearer sk-right-server");
	assert_sh("protocol=https\nhost=api.example.com", dir, "grep -E '^(protocol|host)=' asked");
}

/* Nobody is asked, neither on a terminal nor by a program; configuration holds no key. */
static void without_a_helper_there_is_none(void **state)
{
	KL_AUTO(kl_freep) char *config = home_config(
		"[core]\n\taskPass = askpass\n[klineage \"chat\"]\n\tkey = sk-from-config\n");
	KL_AUTO(kl_freep) char *dir = scratch_dir("askpass"), *was = kl_strdup(getenv("PATH"));
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s:%s", dir, was);
	KL_AUTO(kl_secret_freep) struct kl_secret *secret = NULL;

	sh(dir, "printf '#!/bin/sh\\necho sk-from-askpass\\n' >askpass; chmod +x askpass");
	setenv("PATH", path, 1);
	assert_ok(find(&secret, URL));
	assert_null(secret);
	setenv("GIT_ASKPASS", "askpass", 1);
	setenv("SSH_ASKPASS", "askpass", 1);
	assert_ok(find(&secret, URL));
	assert_null(secret);
	unsetenv("GIT_ASKPASS");
	unsetenv("SSH_ASKPASS");
	setenv("PATH", was, 1);
}

/* Plain, or JSON with the time at which it ends; a failure is told without what was printed. */
static void a_command_prints_the_key(void **state)
{
	/* clang-format off */
	static const struct { const char *command; const char *key, *says; bool stale; } is[] = {
		{ "echo sk-plain", "sk-plain", NULL, false },
		{ "printf 'sk-plain\r\n'", "sk-plain", NULL, false },
		{ "echo '{\"access_token\":\"sk-a\",\"expires_in\":3599}'", "sk-a", NULL, false },
		{ "echo '{\"access_token\":\"sk-a\",\"expires_in\":30}'", "sk-a", NULL, true },
		{ "echo '{\"accessToken\":\"sk-z\",\"expiresOn\":\"2026-01-01 10:00:00.000000\",\"expires_on\":4102444800}'", "sk-z", NULL, false },
		{ "echo '{\"token\":\"sk-t\",\"expiration\":\"2020-01-01T00:00:00.5Z\"}'", "sk-t", NULL, true },
		{ "echo '{\"token\":\"sk-t\",\"expires_on\":\"1600000000\"}'", "sk-t", NULL, true },
		{ "echo \"$ANTHROPIC_API_KEY\"", "sk-vendor", NULL, false },
		{ "echo sk-secret; echo 'not logged in' >&2; exit 3", NULL, "keyCommand failed: not logged in", false },
		{ "true", NULL, "keyCommand printed nothing", false },
		{ "echo '{\"expires_in\":1}'", NULL, "has no token", false },
		{ "echo '{\"token\":'", NULL, "has no token", false },
		{ "echo sk-one; echo sk-two", NULL, "a line break", false },
	};
	/* clang-format on */

	setenv("ANTHROPIC_API_KEY", "sk-vendor", 1);
	for (size_t i = 0; i < KL_ARRAY_SIZE(is); i++) {
		KL_AUTO(kl_secret_freep) struct kl_secret *secret = NULL;
		struct kl_secret_from from = { .prefix = "k: ",
					       .command = is[i].command,
					       .setting = "klineage.chat.keyCommand",
					       .vendor = "ANTHROPIC_API_KEY" };
		int err = kl_secret_find(&secret, NULL, &from);

		if (is[i].says) {
			assert_error(KL_EINVALID, is[i].says, err);
			assert_null(strstr(kl_error_last(), "sk-"));
			continue;
		}
		assert_ok(err);
		assert_string_equal(kl_secret_header(secret) + 3, is[i].key);
		assert_int_equal(kl_secret_is_stale(secret), is[i].stale);
		assert_true(kl_secret_is_renewable(secret));
	}
	unsetenv("ANTHROPIC_API_KEY");
}

/* A token that is refused, or about to end, is asked for again; a key of the environment is not. */
static void a_token_is_renewed(void **state)
{
	static const char *const script[] = {
		"{\"status\":401,\"message\":\"expired\"}\n{\"text\":\"one\"}\n{\"text\":\"two\"}\n",
		"{\"text\":\"one\"}\n{\"text\":\"two\"}\n",
		"{\"status\":401,\"message\":\"no\",\"repeat\":9}\n",
	};
	static const char *const reply[] = {
		"echo sk-$n",
		"echo \"{\\\"token\\\":\\\"sk-$n\\\",\\\"expires_in\\\":20}\"",
		"echo sk-$n",
	};
	static const char *const asked[] = { "2", "2", "2" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(script); i++) {
		KL_AUTO(kl_freep) char *dir = scratch_repo("token"), *url = NULL;
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		struct kl_provider_opts opts = { .name = "openai" };
		struct request request;

		chatd_start(&chatd, script[i], 0);
		sh(dir,
		   "printf 'echo x >>%s/n; n=$(wc -l <%s/n); %%s\\n' '%s' >token;"
		   "git config klineage.chat.keyCommand 'sh %s/token'",
		   dir, dir, reply[i], dir);
		opts.url = url = kl_asprintf("http://127.0.0.1:%d", chatd.port);
		assert_ok(kl_repo_open_at(&repo, dir));
		assert_ok(kl_provider_open(&provider, repo, &opts));
		REQUEST(&request, "first");
		for (int k = 0; k < 2 && (k == 0 || i < 2); k++) {
			KL_AUTO(kl_reply_release) struct kl_reply out;
			int err = kl_provider_send(&out, provider, &request.q, &request.x, NULL);

			if (i == 2)
				assert_error(KL_EIO, "401: no", err);
			else
				assert_ok(err);
		}
		assert_sh(asked[i], dir, "wc -l <n");
	}
}

static void a_key_that_would_break_its_header_is_refused_unquoted(void **state)
{
	/* clang-format off */
	static const struct { const char *key, *why; } bad[] = {
		{ "sk-secret\n", "a line break (byte 10)" },
		{ "sk-sec\r\nx-evil: 1", "a line break (byte 7)" },
		{ " sk-secret", "a space or tab (byte 1)" },
		{ "sk\tsecret", "a space or tab (byte 3)" },
		{ "sk-\x01secret", "a character not allowed in a key (byte 4)" },
		{ "sk-\xc3\xa9secret", "a character not allowed in a key (byte 4)" },
		{ "sk-secret\x7f", "a character not allowed in a key (byte 10)" },
	};
	/* clang-format on */
	KL_AUTO(kl_freep) char *config = home_config(""), *url = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	struct kl_provider_opts opts = { .name = "anthropic" };
	KL_AUTO(kl_freep) char *longer = kl_calloc(1, 5001);
	struct kl_secret *secret = NULL;
	struct request request;

	chatd_start(&chatd, "{\"text\":\"hello\"}\n", 0);
	opts.url = url = kl_asprintf("http://127.0.0.1:%d", chatd.port);
	assert_ok(kl_provider_open(&provider, NULL, &opts));
	REQUEST(&request, "hello");
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_reply_release) struct kl_reply reply;

		setenv("ANTHROPIC_API_KEY", bad[i].key, 1);
		assert_error(KL_EINVALID, bad[i].why, find(&secret, URL));
		assert_null(secret);
		assert_error(KL_EINVALID, bad[i].why,
			     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
		assert_contains(kl_error_last(), "ANTHROPIC_API_KEY");
		assert_null(strstr(kl_error_last(), "secret"));
		assert_null(strstr(kl_error_last(), "evil"));
		assert_true(reply.usage.known && !reply.usage.output);
	}
	memset(longer, 'k', 5000);
	setenv("ANTHROPIC_API_KEY", longer, 1);
	assert_error(KL_EINVALID, "longer than 4096 bytes", find(&secret, URL));
	unsetenv("ANTHROPIC_API_KEY");
	assert_int_equal(chatd_count(&chatd), 0); /* nothing was sent */
}

static void where_a_key_is_needed_its_lack_is_said(void **state)
{
	static const struct {
		const char *name, *variable;
	} who[] = {
		{ "anthropic", "set ANTHROPIC_API_KEY" },
		{ "openai", "set OPENAI_API_KEY" },
	};
	KL_AUTO(kl_freep) char *config = home_config("");

	for (size_t i = 0; i < KL_ARRAY_SIZE(who); i++) {
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		KL_AUTO(kl_reply_release) struct kl_reply reply;
		struct kl_provider_opts opts = { .name = who[i].name };
		struct request request;

		REQUEST(&request, "hello");
		assert_ok(kl_provider_open(&provider, NULL, &opts));
		assert_error(KL_EINVALID, "no key for https://api.",
			     kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
		assert_contains(kl_error_hints(), who[i].variable);
		assert_contains(kl_error_hints(), "git credential");
		assert_true(reply.usage.known && !reply.usage.output);
	}
}

static void a_server_of_ones_own_needs_none(void **state)
{
	KL_AUTO(kl_freep) char *config = home_config(""), *url = NULL;
	KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	KL_AUTO(kl_reply_release) struct kl_reply reply;
	KL_AUTO(json_decrefp) json_t *log = NULL;
	struct kl_provider_opts opts = { .name = "openai" };
	struct request request;

	chatd_start(&chatd, "{\"text\":\"hello\"}\n", CHATD_TLS);
	opts.url = url = kl_asprintf("https://localhost:%d/v1", chatd.port);
	REQUEST(&request, "hello");
	assert_ok(kl_provider_open(&provider, NULL, &opts));
	assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
	log = chatd_request(&chatd, 0, NULL);
	assert_string_equal(kl_json_str_or(log, "key", ""), "none");
}

static void text_is_cleaned_of_it(void **state)
{
	KL_AUTO(kl_secret_freep) struct kl_secret *secret = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	setenv("ANTHROPIC_API_KEY", "sk-abcdef", 1);
	assert_ok(find(&secret, NULL));
	kl_buf_adds(&buf, "sk-abcdefsk-abcdef, sk-abcde and sk-abcdef");
	kl_secret_scrub(secret, &buf);
	assert_string_equal(buf.ptr, "[key][key], sk-abcde and [key]");
	assert_int_equal(buf.len, strlen(buf.ptr));
	kl_buf_clear(&buf);
	kl_secret_quote(&buf, secret, "0123456789 sk-abcdef", 20, 15);
	assert_null(strstr(buf.ptr, "sk"));
	kl_error_hint(kl_error(KL_EIO, "bad key sk-abcdef"), "have another");
	assert_int_equal(kl_secret_scrub_error(secret, KL_EIO), KL_EIO);
	assert_string_equal(kl_error_last(), "bad key [key]");
	assert_string_equal(kl_error_hints(), "have another");
	kl_secret_scrub(NULL, &buf);
	kl_secret_free(kl_steal(&secret));
	setenv("ANTHROPIC_API_KEY", "none", 1); /* no secret, but a common word */
	assert_ok(find(&secret, NULL));
	kl_buf_clear(&buf);
	kl_buf_adds(&buf, "none of it");
	kl_secret_scrub(secret, &buf);
	assert_string_equal(buf.ptr, "none of it");
	unsetenv("ANTHROPIC_API_KEY");
}

/* --- what of it is left ----------------------------------------------------- */

/* The key is known here in rot13 alone, so that our own memory has it nowhere else. */
#define HIDDEN "fx-grfg-dhvpxoebjasbkwhzcfbire"
#define HELPER                                                                              \
	"[credential]\n\thelper = \"!f() { echo username=any; echo password=$(echo " HIDDEN \
	" | tr 'a-z' 'n-za-m'); }; f\"\n"

__attribute__((no_sanitize("address"))) static size_t occurrences(const char *from, const char *to)
{
	size_t n = sizeof(HIDDEN) - 1, found = 0;

	for (const char *at = from; at + n <= to; at++) {
		size_t i = 0;

		while (i < n && at[i] == (islower((unsigned char)HIDDEN[i]) ?
						  'a' + (HIDDEN[i] - 'a' + 13) % 26 :
						  HIDDEN[i]))
			i++;
		found += i == n;
	}
	return found;
}

/* In all that this process may write to, less the shadow that a sanitizer keeps. */
static size_t in_memory(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	static char line[512];
	size_t found = 0;
	unsigned long from, to;
	char mode[5];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, mode) == 3 && !strncmp(mode, "rw", 2) &&
		    to - from < 1ul << 30)
			found += occurrences((const char *)from, (const char *)to);
	fclose(file);
	return found;
}

static void nothing_of_it_is_left_in_memory(void **state)
{
	for (int tls = 0; tls < 2; tls++) {
		KL_AUTO(kl_freep) char *config = home_config(HELPER), *url = NULL;
		KL_AUTO(kl_freep) char *dir = scratch_dir("left");
		KL_AUTO(chatd_stop) struct chatd chatd = { 0 };
		KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
		KL_AUTO(json_decrefp) json_t *log = NULL;
		struct kl_provider_opts opts = { .name = "anthropic" };
		struct kl_secret *secret = NULL;
		struct kl_reply reply;
		struct request request;

		assert_ok(find(&secret, URL));
		assert_non_null(secret);
		assert_int_equal(in_memory(), 1);
		kl_secret_free(secret);
		assert_int_equal(in_memory(), 0);
		if (!tls)
			continue;
		chatd_start(&chatd, "{\"text\":\"hello\"}\n", CHATD_TLS);
		opts.url = url = kl_asprintf("https://127.0.0.1:%d", chatd.port);
		REQUEST(&request, "hello");
		assert_ok(kl_provider_open(&provider, NULL, &opts));
		assert_ok(kl_provider_send(&reply, provider, &request.q, &request.x, NULL));
		kl_reply_release(&reply);
		assert_int_equal(in_memory(), 1);
		kl_provider_free(kl_steal(&provider));
		assert_int_equal(in_memory(), 0);
		/* one was sent, but not what that server takes for right */
		log = chatd_request(&chatd, 0, NULL);
		assert_string_equal(kl_json_str_or(log, "key", ""), "wrong");
	}
}

static void no_dump_and_no_child_has_it(void **state)
{
	KL_AUTO(kl_freep) char *config = home_config(HELPER);
	KL_AUTO(kl_secret_freep) struct kl_secret *secret = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf maps = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *at = NULL;
	struct rlimit core;
	const char *flags;
	int status;
	pid_t pid;

	assert_ok(find(&secret, URL));
	assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
	assert_int_equal(getrlimit(RLIMIT_CORE, &core), 0);
	assert_int_equal(core.rlim_cur, 0);
	assert_ok(kl_fs_read(&maps, "/proc/self/smaps", 1 << 24));
	at = kl_asprintf("%lx-", (unsigned long)kl_secret_header(secret));
	flags = strstr(maps.ptr, at);
	assert_non_null(flags);
	flags = strstr(flags, "VmFlags:");
	assert_contains(flags, " dd"); /* left out of dumps */
	assert_true(strstr(flags, " wf") && strstr(flags, " wf") < strchr(flags, '\n'));
	pid = fork();
	if (!pid)
		_exit(in_memory() ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_goes_before_helpers),
		cmocka_unit_test(helpers_are_asked_for_this_server),
		cmocka_unit_test(without_a_helper_there_is_none),
		cmocka_unit_test(a_command_prints_the_key),
		cmocka_unit_test(a_token_is_renewed),
		cmocka_unit_test(a_key_that_would_break_its_header_is_refused_unquoted),
		cmocka_unit_test(where_a_key_is_needed_its_lack_is_said),
		cmocka_unit_test(a_server_of_ones_own_needs_none),
		cmocka_unit_test(text_is_cleaned_of_it),
		cmocka_unit_test(nothing_of_it_is_left_in_memory),
		cmocka_unit_test(no_dump_and_no_child_has_it),
	};

	return cmocka_run_group_tests_name("chat/secret", tests, chatd_setup, scratch_teardown);
}
