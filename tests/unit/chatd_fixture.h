/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CHATD_FIXTURE_H
#define KL_CHATD_FIXTURE_H

/*
 * chatd_fixture - tests/fake/chatd as a child of the test, and what it was asked.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "chat_fixture.h"
#include "text/json.h"

#define TEST_KEY "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"

/** Group setup: nothing that the user's environment says of keys, proxies and trust. */
static __attribute__((unused)) int chatd_setup(void **state)
{
	static const char *const unset[] = {
		"http_proxy",        "https_proxy",    "HTTPS_PROXY",       "all_proxy",
		"ALL_PROXY",         "no_proxy",       "NO_PROXY",          "SSL_CERT_FILE",
		"SSL_CERT_DIR",      "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",    "GIT_SSL_CAPATH",
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "KLINEAGE_CHAT_KEY", "GIT_ASKPASS",
		"SSH_ASKPASS",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(unset); i++)
		unsetenv(unset[i]);
	return scratch_setup(state);
}

struct chatd {
	pid_t pid;
	int stdin_fd;
	int port;
	bool tls;
	char *log, *ca;
};

static __attribute__((unused)) void chatd_stop(struct chatd *chatd)
{
	if (chatd->pid > 0) {
		kill(chatd->pid, SIGKILL);
		waitpid(chatd->pid, NULL, 0);
		close(chatd->stdin_fd);
	}
	unsetenv("CURL_CA_BUNDLE");
	free(chatd->log);
	free(chatd->ca);
	*chatd = (struct chatd){ 0 };
}

/* Beside the test's own program. */
static char *chatd_path(void)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	return kl_asprintf("%s/chatd", self);
}

enum {
	CHATD_TLS = 1,
	CHATD_EXPIRED = 2,
	CHATD_STRANGER = 4,
	CHATD_ELSEWHERE = 8,
	CHATD_SECOND = 16
};

/**
 * Start it with a script; with CHATD_TLS its certificate is trusted, unless CHATD_STRANGER.
 * CHATD_ELSEWHERE: at 127.0.0.2, for which the certificate is not. CHATD_SECOND: beside another
 * one. `at`: the port.
 */
static __attribute__((unused)) void chatd_start_at(struct chatd *chatd, const char *script,
						   int flags, int at)
{
	KL_AUTO(kl_freep) char *path = chatd_path(), *file = kl_fs_join(scratch_root, "script");
	bool second = flags & CHATD_SECOND;
	const char *argv[16] = { path, "--script", file, "--key", TEST_KEY, "--log", NULL };
	size_t argc = 6;
	int to[2], from[2];
	char port[16];

	*chatd = (struct chatd){ .tls = flags & CHATD_TLS,
				 .log = kl_fs_join(scratch_root, second ? "log2" : "log"),
				 .ca = kl_fs_join(scratch_root, second ? "ca2.pem" : "ca.pem") };
	assert_ok(kl_fs_put(file, script, strlen(script), 0600));
	assert_ok(kl_fs_remove(chatd->log));
	assert_ok(kl_fs_remove(chatd->ca));
	argv[argc++] = chatd->log;
	if (chatd->tls) {
		argv[argc++] = "--tls";
		argv[argc++] = chatd->ca;
	}
	if (flags & CHATD_ELSEWHERE) {
		argv[argc++] = "--address";
		argv[argc++] = "127.0.0.2";
	}
	if (flags & CHATD_EXPIRED)
		argv[argc++] = "--expired";
	if (at) {
		snprintf(port, sizeof(port), "%d", at);
		argv[argc++] = "--port";
		argv[argc++] = port;
	}
	assert_int_equal(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	chatd->pid = fork();
	if (!chatd->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		execv(path, (char *const *)argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	chatd->stdin_fd = to[1];
	assert_true(read(from[0], port, sizeof(port)) > 1);
	close(from[0]);
	chatd->port = atoi(port);
	if (chatd->tls && !(flags & CHATD_STRANGER))
		setenv("CURL_CA_BUNDLE", chatd->ca, 1);
}

/** The same at a free port. */
static __attribute__((unused)) void chatd_start(struct chatd *chatd, const char *script, int flags)
{
	chatd_start_at(chatd, script, flags, 0);
}

/** Request `n` as it was logged (owned), and how many there were. */
static __attribute__((unused)) json_t *chatd_request(const struct chatd *chatd, size_t n,
						     size_t *count)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	json_t *found = NULL;
	size_t i = 0;

	if (kl_fs_exists(chatd->log))
		assert_ok(kl_fs_read(&text, chatd->log, 1 << 28));
	for (char *at = text.ptr, *nl; (nl = strchr(at, '\n')); at = nl + 1, i++)
		if (i == n)
			assert_ok(kl_json_parse(&found, at, (size_t)(nl - at)));
	if (count)
		*count = i;
	return found;
}

static __attribute__((unused)) size_t chatd_count(const struct chatd *chatd)
{
	size_t n;

	json_decref(chatd_request(chatd, (size_t)-1, &n));
	return n;
}

#endif
