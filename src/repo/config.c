/* SPDX-License-Identifier: Apache-2.0 */
/* config - reads configuration and identity from git, and sets config values */
#include "repo/internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/*
 * Return the key with its section and variable name in lower case; only the subsection is
 * case-sensitive. The caller frees it.
 */
static char *normal_key(const char *key)
{
	char *normal = kl_strdup(key);
	char *first_dot = strchr(normal, '.'), *last_dot = strrchr(normal, '.');

	for (char *at = normal; *at; at++)
		if (!first_dot || at < first_dot || at > last_dot)
			*at = (char)tolower((unsigned char)*at);
	return normal;
}

int kl_config_load(struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("config", "--list", "-z"),
		.here = true,
		.out = &list,
	};
	int err = kl_git_do(repo, &call);

	if (err < 0)
		return err;
	for (char *at = list.ptr; at < list.ptr + list.len; at += strlen(at) + 1) {
		size_t klen = strcspn(at, "\n");
		KL_AUTO(kl_freep) char *key = kl_strndup(at, klen);

		/* a variable without "=" is true */
		kl_map_put(&repo->config, key, kl_strdup(at[klen] ? at + klen + 1 : "true"));
	}
	return 0;
}

const char *kl_repo_config(struct kl_repo *repo, const char *key)
{
	KL_AUTO(kl_freep) char *normal = normal_key(key);

	return kl_map_get(&repo->config, normal);
}

int kl_repo_config_int(int64_t *out, struct kl_repo *repo, const char *key, int64_t dflt)
{
	const char *value = kl_repo_config(repo, key);
	int64_t factor = 1, number;
	char *end;

	if (!value) {
		*out = dflt;
		return 0;
	}
	errno = 0;
	number = strtoimax(value, &end, 0);
	if (end != value && *end && !end[1]) {
		int suffix = tolower((unsigned char)*end);

		factor = suffix == 'k' ? 1 << 10 :
			 suffix == 'm' ? 1 << 20 :
			 suffix == 'g' ? 1 << 30 :
					 0;
		end++;
	}
	if (errno || end == value || *end || !factor ||
	    __builtin_mul_overflow(number, factor, &number))
		return kl_error(KL_EINVALID, "config %s: '%s' is not a number", key, value);
	*out = number;
	return 0;
}

int kl_repo_config_bool(bool *out, struct kl_repo *repo, const char *key, bool dflt)
{
	static const char *const yes[] = { "true", "yes", "on" };
	static const char *const no[] = { "false", "no", "off", "" };
	const char *value = kl_repo_config(repo, key);
	int64_t number;

	if (!value) {
		*out = dflt;
		return 0;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(yes); i++) {
		if (!strcasecmp(value, yes[i])) {
			*out = true;
			return 0;
		}
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(no); i++) {
		if (!strcasecmp(value, no[i])) {
			*out = false;
			return 0;
		}
	}
	if (kl_repo_config_int(&number, repo, key, 0) < 0)
		return kl_error(KL_EINVALID, "config %s: '%s' is neither true nor false", key,
				value);
	*out = number != 0;
	return 0;
}

int kl_repo_config_color(char *out, size_t n, struct kl_repo *repo, const char *key,
			 const char *dflt)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("config", "--get-color", key, dflt),
		.here = true,
		.out = &text,
	};
	int err = kl_git_do(repo, &call);

	if (err < 0) {
		const char *value = kl_repo_config(repo, key);

		return value ? kl_error(KL_EINVALID, "config %s: '%s' is not a colour", key,
					value) :
			       err;
	}
	snprintf(out, n, "%s", text.ptr);
	return 0;
}

int kl_repo_pager(char **out, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = { .args = KL_ARGS("var", "GIT_PAGER"),
				    .here = true,
				    .out = &text };
	int err = kl_git_do(repo, &call);

	*out = NULL;
	if (err < 0)
		return err;
	kl_buf_rtrim(&text);
	if (text.len && strcmp(text.ptr, "cat"))
		*out = kl_buf_detach(&text);
	return 0;
}

int kl_repo_config_set(struct kl_repo *repo, const char *key, const char *value)
{
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	struct kl_git_call call = {
		/* --unset-all takes no value, so a NULL `value` ends the list of arguments here */
		.args = KL_ARGS("config", "--local", value ? "--replace-all" : "--unset-all", key,
				value),
		.err = &complaint,
	};
	int status, err;

	if ((err = kl_git_run(&status, repo, &call)) < 0)
		return err;
	/* git config exits with 5 if there was nothing to unset */
	if (status && (value || status != 5))
		return kl_error(KL_EIO, "git config %s: %s", key, kl_git_complaint(&complaint));
	return 0;
}

/* Report that git knows no identity. Each "git config" command in git's advice becomes a hint. */
static int no_identity(struct kl_buf *err)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;
	int code;

	kl_strvec_split(&line, err->ptr, "\n");
	code = kl_error(KL_EINVALID, "no identity to commit with: %s", kl_git_complaint(err));
	for (size_t i = 0; i < line.n; i++) {
		const char *at = line.v[i] + strspn(line.v[i], " \t");

		if (!strncmp(at, "git config", 10))
			kl_error_hint(code, "%s", at);
	}
	return code;
}

static int ask_ident(struct kl_repo *repo, struct kl_ident *id, const char *var)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("var", var),
		.here = true,
		.out = &out,
		.err = &complaint,
	};
	const char *end;
	int status, err = kl_git_run(&status, repo, &call);

	if (err < 0)
		return err;
	if (status)
		return no_identity(&complaint);
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

int kl_repo_identity(const char **out, struct kl_repo *repo)
{
	int err;

	if (!repo->author.who && (err = ask_ident(repo, &repo->author, "GIT_AUTHOR_IDENT")) < 0)
		return err;
	if (!repo->committer.who &&
	    (err = ask_ident(repo, &repo->committer, "GIT_COMMITTER_IDENT")) < 0)
		return err;
	*out = repo->committer.who;
	return 0;
}

int kl_ident_now(const char **out, struct kl_repo *repo, bool author)
{
	struct kl_ident *id = author ? &repo->author : &repo->committer;
	const char *date = getenv(author ? "GIT_AUTHOR_DATE" : "GIT_COMMITTER_DATE");
	time_t now = time(NULL);
	struct tm tm;
	long off;
	int err;

	/* a date from the environment can have many forms, so let git parse it each time */
	if (!id->who || date) {
		err = ask_ident(repo, id, author ? "GIT_AUTHOR_IDENT" : "GIT_COMMITTER_IDENT");
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
