/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "model/provider/url.h"

static void parts_are_found(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *base, *origin, *host; bool tls, here; } good[] = {
		{ "https://api.example.com", "https://api.example.com", "https://api.example.com",
		  "api.example.com", true, false },
		{ "HTTPS://API.Example.com:8443/v1//", "HTTPS://API.Example.com:8443/v1",
		  "HTTPS://API.Example.com:8443", "api.example.com", true, false },
		{ "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000",
		  "127.0.0.1", false, true },
		{ "http://127.9.8.7", "http://127.9.8.7", "http://127.9.8.7", "127.9.8.7", false, true },
		{ "http://[::1]:80/", "http://[::1]:80", "http://[::1]:80", "::1", false, true },
		{ "http://Localhost/", "http://Localhost", "http://Localhost", "localhost", false, true },
		{ "http://localhost.example.com", "http://localhost.example.com",
		  "http://localhost.example.com", "localhost.example.com", false, false },
		{ "http://127.0.0.1.example.com", "http://127.0.0.1.example.com",
		  "http://127.0.0.1.example.com", "127.0.0.1.example.com", false, false },
		{ "http://[2001:db8::1]", "http://[2001:db8::1]", "http://[2001:db8::1]", "2001:db8::1",
		  false, false },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(good); i++) {
		struct kl_url url = { 0 };

		assert_ok(kl_url_parse(&url, good[i].text));
		assert_string_equal(url.base, good[i].base);
		assert_string_equal(url.origin, good[i].origin);
		assert_string_equal(url.host, good[i].host);
		assert_int_equal(url.tls, good[i].tls);
		assert_int_equal(url.loopback, good[i].here);
		kl_url_release(&url);
	}
}

static void what_is_none_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"api.example.com",
		"ftp://a",
		"file:///etc/passwd",
		"https://",
		"https:///v1",
		"https://:80",
		"https://a:0",
		"https://a:65536",
		"https://a:80b",
		"https://a:",
		"https://[::1",
		"https://[::1]x",
		"https://a/v1?key=1",
		"https://a/#x",
		"https://a b",
		"https://a\n",
		"https://\xc3\xa4",
		"https://a\\b",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		struct kl_url url = { 0 };

		if (kl_url_parse(&url, bad[i]) != KL_EINVALID)
			fail_msg("'%s' was taken", bad[i]);
		kl_url_release(&url);
	}
}

static void a_password_is_not_quoted(void **state)
{
	struct kl_url url = { 0 };

	assert_error(KL_EINVALID, "a user or password",
		     kl_url_parse(&url, "https://me:hunter2@example.com/v1"));
	assert_null(strstr(kl_error_last(), "hunter2"));
	kl_url_release(&url);
}

static void paths_meet_where_they_overlap(void **state)
{
	/* clang-format off */
	static const struct { const char *base, *path, *whole; } join[] = {
		{ "https://a", "/v1/messages", "https://a/v1/messages" },
		{ "https://a/v1", "/v1/messages", "https://a/v1/messages" },
		{ "https://a/v1/messages/", "/v1/messages", "https://a/v1/messages" },
		{ "https://a/api/v1", "/v1/chat/completions", "https://a/api/v1/chat/completions" },
		{ "https://a/api", "/v1/messages", "https://a/api/v1/messages" },
		{ "https://a/xv1", "/v1/messages", "https://a/xv1/v1/messages" },
		{ "https://v1", "/v1/messages", "https://v1/v1/messages" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(join); i++) {
		KL_AUTO(kl_url_release) struct kl_url url = { 0 };
		KL_AUTO(kl_freep) char *whole = NULL;

		assert_ok(kl_url_parse(&url, join[i].base));
		whole = kl_url_join(&url, join[i].path);
		assert_string_equal(whole, join[i].whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_found),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(a_password_is_not_quoted),
		cmocka_unit_test(paths_meet_where_they_overlap),
	};

	return cmocka_run_group_tests_name("chat/url", tests, NULL, NULL);
}
