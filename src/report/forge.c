/* SPDX-License-Identifier: Apache-2.0 */
#include "report/forge.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "repo/remote.h"

/* The forges by a word in the name of their host, with the way to a commit. */
static const struct {
	const char *word, *way;
} forges[] = {
	{ "github", "/commit/" },    { "gitlab", "/-/commit/" }, { "codeberg", "/commit/" },
	{ "gitea", "/commit/" },     { "forgejo", "/commit/" },  { "bitbucket", "/commits/" },
	{ "git.sr.ht", "/commit/" },
};

/* Check that a host or a path has only characters that need no escaping in an address. */
static bool is_plain(const char *text, const char *more)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(more, *at))
			return false;
	return *text != '\0';
}

/*
 * Split "https://host/path", "ssh://user@host:22/path" or "user@host:path". Return false for anything
 * else, such as the path of a directory. The caller frees both.
 */
static bool split_url(char **host, char **path, const char *url)
{
	const char *scheme = strstr(url, "://"), *at = scheme ? scheme + 3 : url, *user, *end;

	if (scheme && strncmp(url, "https://", 8) && strncmp(url, "ssh://", 6) &&
	    strncmp(url, "git://", 6) && strncmp(url, "http://", 7))
		return false;
	end = at + strcspn(at, scheme ? "/" : ":");
	if (!*end || (!scheme && memchr(at, '/', (size_t)(end - at))))
		return false;
	user = memrchr(at, '@', (size_t)(end - at));
	at = user ? user + 1 : at;
	*host = kl_strndup(at, strcspn(at, ":/"));
	for (end++; *end == '/';)
		end++;
	*path = kl_strdup(end);
	return true;
}

char *kl_forge_commits(const char *url)
{
	KL_AUTO(kl_freep) char *host = NULL;
	KL_AUTO(kl_freep) char *path = NULL;
	size_t n;

	if (!split_url(&host, &path, url))
		return kl_strdup("");
	n = strlen(path);
	while (n && path[n - 1] == '/')
		path[--n] = '\0';
	if (n > 4 && !strcmp(path + n - 4, ".git"))
		path[n - 4] = '\0';
	if (!is_plain(host, ".-") || !is_plain(path, "./-_~") || strstr(path, ".."))
		return kl_strdup("");
	for (size_t i = 0; i < sizeof(forges) / sizeof(*forges); i++)
		if (strstr(host, forges[i].word))
			return kl_asprintf("https://%s/%s%s", host, path, forges[i].way);
	return kl_strdup("");
}

char *kl_forge_of(struct kl_repo *repo, const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *key = NULL;
	KL_AUTO(kl_freep) git_oid *missing = NULL;
	git_oid tip = *commit;
	struct kl_oids tips = { .v = &tip, .n = 1 };
	const char *name, *url;
	size_t n = 0;

	kl_remote_names(&names, repo);
	if (!names.n)
		return kl_strdup("");
	name = kl_strvec_has(&names, "origin") ? "origin" : names.v[0];
	key = kl_asprintf("remote.%s.url", name);
	url = kl_repo_config(repo, key);
	if (!url)
		return kl_strdup("");
	if (kl_repo_not_at_remote(&missing, &n, repo, &tips, NULL, name, 1) < 0) {
		kl_error_clear();
		return kl_strdup("");
	}
	return n ? kl_strdup("") : kl_forge_commits(url);
}
