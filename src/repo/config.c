/* SPDX-License-Identifier: Apache-2.0 */
/* config - configuration and identity, as git reports them */
#include "repo/internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Section and variable are case-insensitive, what stands between is not. */
static char *normal_key(const char *key)
{
	char *k = kl_strdup(key);
	char *first = strchr(k, '.'), *last = strrchr(k, '.');

	for (char *p = k; *p; p++)
		if (!first || p < first || p > last)
			*p = (char)tolower((unsigned char)*p);
	return k;
}

int kl_config_load(struct kl_repo *r)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	struct kl_git_call c = {
		.args = KL_ARGS("config", "--list", "-z"),
		.here = true,
		.out = &list,
	};
	int err = kl_git_do(r, &c);

	if (err < 0)
		return err;
	for (char *p = list.ptr; p < list.ptr + list.len; p += strlen(p) + 1) {
		size_t klen = strcspn(p, "\n");
		KL_AUTO(kl_freep) char *key = kl_strndup(p, klen);

		/* a variable without "=" means true */
		kl_map_put(&r->config, key, kl_strdup(p[klen] ? p + klen + 1 : "true"));
	}
	return 0;
}

const char *kl_repo_config(struct kl_repo *r, const char *key)
{
	KL_AUTO(kl_freep) char *k = normal_key(key);

	return kl_map_get(&r->config, k);
}

int kl_repo_config_int(int64_t *out, struct kl_repo *r, const char *key, int64_t dflt)
{
	const char *v = kl_repo_config(r, key);
	int64_t unit = 1, n;
	char *end;

	if (!v) {
		*out = dflt;
		return 0;
	}
	errno = 0;
	n = strtoimax(v, &end, 0);
	if (end != v && *end && !end[1]) {
		int c = tolower((unsigned char)*end);

		unit = c == 'k' ? 1 << 10 : c == 'm' ? 1 << 20 : c == 'g' ? 1 << 30 : 0;
		end++;
	}
	if (errno || end == v || *end || !unit || __builtin_mul_overflow(n, unit, &n))
		return kl_error(KL_EINVALID, "config %s: '%s' is not a number", key, v);
	*out = n;
	return 0;
}

int kl_repo_config_bool(bool *out, struct kl_repo *r, const char *key, bool dflt)
{
	static const char *const yes[] = { "true", "yes", "on" };
	static const char *const no[] = { "false", "no", "off", "" };
	const char *v = kl_repo_config(r, key);
	int64_t n;

	if (!v) {
		*out = dflt;
		return 0;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(yes); i++) {
		if (!strcasecmp(v, yes[i])) {
			*out = true;
			return 0;
		}
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(no); i++) {
		if (!strcasecmp(v, no[i])) {
			*out = false;
			return 0;
		}
	}
	if (kl_repo_config_int(&n, r, key, 0) < 0)
		return kl_error(KL_EINVALID, "config %s: '%s' is neither true nor false", key, v);
	*out = n != 0;
	return 0;
}

int kl_repo_config_color(char *out, size_t n, struct kl_repo *r, const char *key, const char *dflt)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call c = {
		.args = KL_ARGS("config", "--get-color", key, dflt),
		.here = true,
		.out = &text,
	};
	int err = kl_git_do(r, &c);

	if (err < 0)
		return kl_error(KL_EINVALID, "config %s: '%s' is no colour", key,
				kl_repo_config(r, key));
	snprintf(out, n, "%s", text.ptr);
	return 0;
}

int kl_repo_pager(char **out, struct kl_repo *r)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call c = { .args = KL_ARGS("var", "GIT_PAGER"), .here = true, .out = &text };
	int err = kl_git_do(r, &c);

	*out = NULL;
	if (err < 0)
		return err;
	kl_buf_rtrim(&text);
	if (text.len && strcmp(text.ptr, "cat"))
		*out = kl_buf_detach(&text);
	return 0;
}

/* git's advice, line by line, as hints. */
int kl_repo_config_set(struct kl_repo *r, const char *key, const char *value)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call c = {
		/* without a value the list ends behind the key */
		.args = KL_ARGS("config", "--local", value ? "--replace-all" : "--unset-all", key,
				value),
		.err = &text,
	};
	int status, err;

	if ((err = kl_git_run(&status, r, &c)) < 0)
		return err;
	/* 5: there was nothing to take out */
	if (status && (value || status != 5))
		return kl_error(KL_EIO, "git config %s: %s", key, kl_git_complaint(&text));
	return 0;
}

static int no_identity(struct kl_buf *err)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;
	int kind;

	kl_strvec_split(&line, err->ptr, "\n");
	kind = kl_error(KL_EINVALID, "no identity to commit with: %s", kl_git_complaint(err));
	for (size_t i = 0; i < line.n; i++) {
		const char *p = line.v[i] + strspn(line.v[i], " \t");

		if (!strncmp(p, "git config", 10))
			kl_error_hint(kind, "%s", p);
	}
	return kind;
}

static int ask_ident(struct kl_repo *r, struct kl_ident *id, const char *var)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call c = {
		.args = KL_ARGS("var", var),
		.here = true,
		.out = &out,
		.err = &text,
	};
	const char *end;
	int status, err = kl_git_run(&status, r, &c);

	if (err < 0)
		return err;
	if (status)
		return no_identity(&text);
	kl_buf_rtrim(&out);
	end = strrchr(out.ptr, '>');
	if (!end)
		return kl_error(KL_EIO, "git var %s: no mail address in '%s'", var, out.ptr);
	free(id->who);
	free(id->dated);
	id->who = kl_strndup(out.ptr, (size_t)(end + 1 - out.ptr));
	id->dated = kl_strdup(out.ptr);
	return 0;
}

int kl_repo_identity(const char **out, struct kl_repo *r)
{
	int err;

	if (!r->author.who && (err = ask_ident(r, &r->author, "GIT_AUTHOR_IDENT")) < 0)
		return err;
	if (!r->committer.who && (err = ask_ident(r, &r->committer, "GIT_COMMITTER_IDENT")) < 0)
		return err;
	*out = r->committer.who;
	return 0;
}

int kl_ident_now(const char **out, struct kl_repo *r, bool author)
{
	struct kl_ident *id = author ? &r->author : &r->committer;
	const char *date = getenv(author ? "GIT_AUTHOR_DATE" : "GIT_COMMITTER_DATE");
	time_t now = time(NULL);
	struct tm tm;
	long off;
	int err;

	/* git reads dates in many forms: a given one is its business each time */
	if (!id->who || date) {
		err = ask_ident(r, id, author ? "GIT_AUTHOR_IDENT" : "GIT_COMMITTER_IDENT");
		if (err < 0)
			return err;
		*out = id->dated;
		return 0;
	}
	localtime_r(&now, &tm);
	off = tm.tm_gmtoff / 60;
	free(id->dated);
	id->dated = kl_asprintf("%s %lld %c%02ld%02ld", id->who, (long long)now,
				off < 0 ? '-' : '+', labs(off) / 60, labs(off) % 60);
	*out = id->dated;
	return 0;
}
