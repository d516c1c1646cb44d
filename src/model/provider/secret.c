/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/secret.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/environment.h"
#include "base/error.h"
#include "base/prefix.h"
#include "base/proc.h"
#include "base/vec.h"
#include "model/provider/body.h"
#include "text/json.h"

#define MAX_KEY 4096
#define PAGES 8192   /* bytes: a prefix, the key and a NUL */
#define STALE_S 60   /* seconds; a key that expires sooner is replaced */
#define ASK_MS 60000 /* ms; long, since a credential helper may have to unlock its store */
/* A shorter key is not removed from texts: it is a placeholder, such as "none" or "ollama". */
#define MIN_SCRUB 8
#define GONE "[key]"

struct kl_secret {
	char *line;         /* PAGES bytes in pages of its own; NULL if not mapped */
	size_t prefix, len; /* length of the prefix; length of prefix and key together */
	const char *source;
	bool renewable;
	int64_t until; /* Unix time at which the key expires; 0 if not known */
};

/*
 * Disable core dumps and tracing for the rest of the process, since its memory can hold other keys,
 * too.
 */
static void no_dumps(void)
{
	struct rlimit none = { 0, 0 };
	struct rlimit now;

	prctl(PR_SET_DUMPABLE, 0);
	if (!getrlimit(RLIMIT_CORE, &now)) {
		none.rlim_max = now.rlim_max;
		setrlimit(RLIMIT_CORE, &none);
	}
}

void kl_secret_guard(void)
{
	for (char **entry = environ; *entry; entry++)
		if (kl_environment_is_key(*entry)) {
			no_dumps();
			return;
		}
}

static int hold_pages(struct kl_secret *secret)
{
	char *at = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return kl_error_errno("cannot allocate memory for a key");
	secret->line = at;
	/* defence in depth: a failure of any of these is ignored */
	mlock(at, PAGES);
	madvise(at, PAGES, MADV_DONTDUMP);
	madvise(at, PAGES, MADV_WIPEONFORK);
	return 0;
}

void kl_secret_free(struct kl_secret *secret)
{
	if (!secret)
		return;
	if (secret->line) {
		explicit_bzero(secret->line, PAGES);
		munmap(secret->line, PAGES);
	}
	free(secret);
}

/* Check a key. The messages quote no part of the key, not even an invalid byte. */
static int check_key(const char *key, size_t len, const char *source)
{
	if (len > MAX_KEY)
		return kl_error(KL_EINVALID, "the key from %s is longer than %d bytes", source,
				MAX_KEY);
	for (size_t i = 0; i < len; i++) {
		const char *what = strchr("\r\n", key[i]) ? "line break" :
				   strchr("\t ", key[i])  ? "space or tab" :
							    "character not allowed in a key";

		if (key[i] <= ' ' || key[i] > '~')
			return kl_error(KL_EINVALID,
					"the key from %s contains a %s (byte %zu); not using it",
					source, what, i + 1);
	}
	return 0;
}

static int take_key(struct kl_secret *secret, const char *prefix, const char *key, size_t len,
		    const char *source)
{
	int err = check_key(key, len, source);

	if (err < 0)
		return err;
	secret->prefix = strlen(prefix);
	secret->len = secret->prefix + len;
	secret->source = source;
	memcpy(secret->line, prefix, secret->prefix);
	memcpy(secret->line + secret->prefix, key, len);
	secret->line[secret->len] = '\0';
	return 0;
}

/* Wipe the copy that kl_proc_run() left on the stack when it read the key. */
static void __attribute__((noinline)) wipe_stack(void)
{
	char below[96 << 10];

	explicit_bzero(below, sizeof(below));
}

static void wipe_buf(struct kl_buf *buf)
{
	if (buf->alloc)
		explicit_bzero(buf->ptr, buf->alloc);
	kl_buf_release(buf);
}

/*
 * Make the environment of git's credential helpers. It disables prompts, since we can be running
 * unattended or in the background.
 */
static void helper_env(struct kl_strvec *env)
{
	static const char *const drop[] = { "GIT_DIR=", "GIT_TERMINAL_PROMPT=", "GIT_ASKPASS=" };

	for (char **var = environ; *var; var++) {
		bool keep = !kl_environment_is_key(*var);

		for (size_t i = 0; i < KL_ARRAY_SIZE(drop); i++)
			keep = keep && !kl_prefix_has(*var, drop[i]);
		if (keep)
			kl_strvec_push(env, *var);
	}
	kl_strvec_push(env, "GIT_TERMINAL_PROMPT=0");
	kl_strvec_push(env, "GIT_ASKPASS=");
}

/*
 * Return the password in the output of `git credential fill`, or NULL if there is none. The output
 * is modified.
 */
static const char *password_in(struct kl_buf *out)
{
	char *at = out->ptr;

	while (at && *at) {
		char *end = strchr(at, '\n');

		if (end)
			*end = '\0';
		if (!strncmp(at, "password=", 9))
			return at[9] ? at + 9 : NULL;
		at = end ? end + 1 : NULL;
	}
	return NULL;
}

static int ask_helpers(bool *found, struct kl_secret *secret, struct kl_repo *repo,
		       const char *prefix, const char *url)
{
	KL_AUTO(wipe_buf) struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf dropped = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *in = kl_asprintf("url=%s\n\n", url);
	struct kl_proc_result res;
	struct kl_proc_opts opts = {
		.in = in,
		.in_len = strlen(in),
		.out = &out,
		.err = &dropped,
		.max_output = 32 << 10,
		.timeout_ms = ASK_MS,
	};
	const char *key;
	int err;

	kl_buf_reserve(&out, 32 << 10); /* the buffer is never moved, so it leaves no copy */
	kl_strvec_push(&argv, "git");
	if (repo)
		kl_strvec_pushf(&argv, "--git-dir=%s", kl_repo_git_dir(repo));
	kl_strvec_push(&argv, "credential");
	kl_strvec_push(&argv, "fill");
	helper_env(&env);
	opts.argv = (const char *const *)argv.v;
	opts.env = (const char *const *)env.v;
	err = kl_proc_run(&res, &opts);
	wipe_stack();
	if (err < 0)
		return err;
	secret->renewable = true;
	key = !res.exit && !res.truncated && !res.timed_out ? password_in(&out) : NULL;
	*found = key;
	return key ? take_key(secret, prefix, key, strlen(key), "a credential helper of git") : 0;
}

/* Take the key from an environment variable: `key` is the value of the variable `name`, or NULL. */
static int from_env(bool *found, struct kl_secret *secret, const char *prefix, const char *name,
		    const char *key)
{
	*found = key && *key;
	return *found ? take_key(secret, prefix, key, strlen(key), name) : 0;
}

/* --- by a command ---------------------------------------------------------------------- */

/*
 * Return the Unix time at which a token expires, or 0. The JSON object gives this time in seconds
 * from now, as a Unix time, or as a date in UTC.
 */
static int64_t expiry_of(const json_t *obj)
{
	static const char *const at[] = { "expires_on", "expires_at",   "expiry",
					  "expiration", "token_expiry", "expiresOn" };
	int64_t in = kl_json_int_or(obj, "expires_in", 0);

	if (in > 0)
		return (int64_t)time(NULL) + in;
	for (size_t i = 0; i < KL_ARRAY_SIZE(at); i++) {
		const json_t *value = json_object_get(obj, at[i]);
		const char *text = json_is_string(value) ? json_string_value(value) : "";
		struct tm tm = { 0 };
		const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

		if (json_is_integer(value))
			return json_integer_value(value);
		if (*text && !text[strspn(text, "0123456789")] && strlen(text) < 12)
			return atoll(text);
		if (end && (end = strchr(end, 'Z')) && !end[1])
			return (int64_t)timegm(&tm);
	}
	return 0;
}

/* Take the token of a JSON object, and wipe the parser's copy of it. */
static int take_token(struct kl_secret *secret, const struct kl_secret_from *from,
		      const struct kl_buf *out)
{
	static const char *const names[] = { "access_token", "accessToken", "token", "id_token",
					     "key" };
	KL_AUTO(json_decrefp) json_t *obj = json_loadb(out->ptr, out->len, 0, NULL);
	int err = kl_error(KL_EINVALID, "the output of %s has no token", from->setting);

	for (size_t i = 0; i < KL_ARRAY_SIZE(names) && secret->len == 0; i++) {
		json_t *value = json_object_get(obj, names[i]);
		size_t n = json_is_string(value) ? json_string_length(value) : 0;

		if (!n)
			continue;
		kl_error_clear();
		err = take_key(secret, from->prefix, json_string_value(value), n, from->setting);
		explicit_bzero((char *)json_string_value(value), n);
	}
	secret->until = expiry_of(obj);
	return err;
}

/*
 * Get the key from the command. The command is the user's own, so it gets the whole environment,
 * including variables with keys.
 */
static int ask_command(struct kl_secret *secret, const struct kl_secret_from *from)
{
	KL_AUTO(wipe_buf) struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf said = KL_BUF_INIT;
	const char *const argv[] = { "/bin/sh", "-c", from->command, NULL };
	struct kl_proc_result res;
	struct kl_proc_opts opts = {
		.argv = argv,
		.env = (const char *const *)environ,
		.out = &out,
		.err = &said,
		.max_output = 32 << 10,
		.timeout_ms = ASK_MS,
	};
	int err;

	kl_buf_reserve(&out, 32 << 10); /* the buffer is never moved, so it leaves no copy */
	err = kl_proc_run(&res, &opts);
	wipe_stack();
	if (err < 0)
		return err;
	if (res.exit || res.timed_out || res.truncated) {
		KL_AUTO(kl_buf_release) struct kl_buf words = KL_BUF_INIT;

		kl_body_quote(&words, said.ptr, said.len, 300);
		return kl_error(KL_EINVALID, "%s failed%s%s", from->setting, words.len ? ": " : "",
				words.ptr);
	}
	secret->renewable = true;
	while (out.len && strchr("\r\n", out.ptr[out.len - 1]))
		out.ptr[--out.len] = '\0';
	if (out.len && *out.ptr == '{')
		return take_token(secret, from, &out);
	if (!out.len)
		return kl_error(KL_EINVALID, "%s printed nothing", from->setting);
	return take_key(secret, from->prefix, out.ptr, out.len, from->setting);
}

/* --- all sources ------------------------------------------------------------------------ */

static int find_key(bool *found, struct kl_secret *secret, struct kl_repo *repo,
		    const struct kl_secret_from *from)
{
	int err = from_env(found, secret, from->prefix, "KLINEAGE_CHAT_KEY",
			   getenv("KLINEAGE_CHAT_KEY"));

	if (!err && !*found && from->command) {
		err = ask_command(secret, from);
		*found = !err;
	}
	if (!err && !*found && from->vendor)
		err = from_env(found, secret, from->prefix, from->vendor, getenv(from->vendor));
	if (!err && !*found && from->url)
		err = ask_helpers(found, secret, repo, from->prefix, from->url);
	return err;
}

int kl_secret_find(struct kl_secret **out, struct kl_repo *repo, const struct kl_secret_from *from)
{
	KL_AUTO(kl_secret_freep) struct kl_secret *secret = kl_calloc(1, sizeof(*secret));
	bool found = false;
	int err;

	*out = NULL;
	no_dumps();
	if ((err = hold_pages(secret)) < 0 || (err = find_key(&found, secret, repo, from)) < 0)
		return err;
	if (found)
		*out = kl_steal(&secret);
	return 0;
}

bool kl_secret_is_renewable(const struct kl_secret *secret)
{
	return secret && secret->renewable;
}

bool kl_secret_is_stale(const struct kl_secret *secret)
{
	return secret && secret->until && (int64_t)time(NULL) + STALE_S >= secret->until;
}

char *kl_secret_header(struct kl_secret *secret)
{
	return secret->line;
}

const char *kl_secret_source(const struct kl_secret *secret)
{
	return secret->source;
}

void kl_secret_scrub(const struct kl_secret *secret, struct kl_buf *text)
{
	size_t len = secret ? secret->len - secret->prefix : 0, from = 0;
	const char *key = secret ? secret->line + secret->prefix : NULL;
	char *hit;

	if (len < MIN_SCRUB)
		return;
	while ((hit = memmem(text->ptr + from, text->len - from, key, len))) {
		size_t at = (size_t)(hit - text->ptr), rest = text->len - at - len;

		_Static_assert(sizeof(GONE) - 1 <= MIN_SCRUB, "must fit in place of a key");
		memcpy(hit, GONE, sizeof(GONE) - 1);
		memmove(hit + sizeof(GONE) - 1, hit + len, rest + 1);
		text->len = at + sizeof(GONE) - 1 + rest;
		from = at + sizeof(GONE) - 1;
	}
}

void kl_secret_quote(struct kl_buf *out, const struct kl_secret *secret, const char *text,
		     size_t len, size_t max)
{
	KL_AUTO(wipe_buf) struct kl_buf clean = KL_BUF_INIT;

	kl_buf_add(&clean, text, len);
	kl_secret_scrub(secret, &clean);
	kl_body_quote(out, clean.ptr, clean.len, max);
}

int kl_secret_scrub_error(const struct kl_secret *secret, int err)
{
	KL_AUTO(wipe_buf) struct kl_buf text = KL_BUF_INIT;
	size_t before;

	kl_buf_adds(&text, kl_error_last());
	before = text.len;
	kl_secret_scrub(secret, &text);
	return err < 0 && text.len != before ? kl_error_reword(err, "%s", text.ptr) : err;
}
