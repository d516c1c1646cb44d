/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/remote.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "repo/internal.h"

/* --- names of remotes --------------------------------------------------------- */

/*
 * Return the name of the remote in a key, such as "origin" in "remote.origin.url"; NULL if the key
 * has another form. The caller frees the name.
 */
static char *name_of(const char *key)
{
	const char *end = strrchr(key, '.');

	if (strncmp(key, "remote.", 7) || end <= key + 7 || strcmp(end, ".url"))
		return NULL;
	return kl_strndup(key + 7, (size_t)(end - (key + 7)));
}

void kl_remote_names(struct kl_strvec *out, struct kl_repo *repo)
{
	for (size_t i = 0; i < repo->config.n; i++) {
		char *name = name_of(repo->config.e[i].key);

		if (name)
			kl_strvec_take(out, name);
	}
	kl_strvec_uniq(out);
}

int kl_remote_check(struct kl_repo *repo, const char *remote)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err;

	kl_remote_names(&names, repo);
	if (*remote && *remote != '-' && kl_strvec_has(&names, remote))
		return 0;
	err = kl_error(KL_ENOTFOUND, "no remote '%.100s' is configured", remote);
	if (!names.n)
		return kl_error_hint(err, "git remote add %s <url>",
				     *remote && *remote != '-' ? remote : "origin");
	for (size_t i = 0; i < names.n; i++)
		kl_error_hint(err, "configured: '%s'", names.v[i]);
	return err;
}

/* --- listing the refs of a remote ---------------------------------------------- */

static bool is_below(const char *ref, const char *const *prefix)
{
	for (; *prefix; prefix++)
		if (kl_prefix_has(ref, *prefix))
			return true;
	return false;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct kl_ref *)left)->name, ((const struct kl_ref *)right)->name);
}

/*
 * Parse lines that consist of an object id, a tab and a ref name. Names that are not valid in git
 * are skipped.
 */
static int take_refs(struct kl_ref_list *out, char *text, const char *const *prefix, size_t max)
{
	for (char *at = text, *end; *at; at = end) {
		struct kl_ref ref;
		int valid = 0;

		end = at + strcspn(at, "\n");
		if (*end)
			*end++ = '\0';
		if (strlen(at) < GIT_OID_HEXSZ + 2 || !kl_oid_parsen(&ref.oid, at, GIT_OID_HEXSZ) ||
		    at[GIT_OID_HEXSZ] != '\t')
			return kl_error(KL_EIO, "unexpected output of git ls-remote: '%.60s'", at);
		at += GIT_OID_HEXSZ + 1;
		if (!is_below(at, prefix) || git_reference_name_is_valid(&valid, at) < 0 || !valid)
			continue;
		if (out->n == max)
			return kl_error(KL_EINVALID, "the remote has more than %zu klineage refs",
					max);
		ref.name = kl_strdup(at);
		KL_GROW(out->ref, out->n + 1, out->alloc);
		out->ref[out->n++] = ref;
	}
	if (out->n)
		qsort(out->ref, out->n, sizeof(*out->ref), by_name);
	return 0;
}

int kl_remote_list(struct kl_ref_list *out, struct kl_repo *repo, const char *remote,
		   const char *const *prefix, size_t max)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	KL_AUTO(kl_ref_list_release) struct kl_ref_list found = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_git_call call = { .here = true, .remote = true, .out = &text };
	int err;

	kl_strvec_pushv(&args, KL_ARGS("ls-remote", "--refs", "--quiet", "--", remote));
	for (const char *const *at = prefix; *at; at++)
		kl_strvec_pushf(&args, "%s*", *at);
	call.args = (const char *const *)args.v;
	if ((err = kl_git_do(repo, &call)) < 0)
		return kl_error_in(err, "remote '%s'", remote);
	if ((err = take_refs(&found, text.ptr, prefix, max)) < 0)
		return err;
	*out = found;
	found = (struct kl_ref_list){ 0 };
	return 0;
}

/* --- fetching -------------------------------------------------------------------- */

/*
 * Return true if git index-pack exceeded our limit of file sizes. Its message about the limit can
 * be lost, so look for a temporary pack that has reached the limit.
 */
static bool hit_limit(const struct kl_repo *repo, const char *text, uint64_t max_bytes)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *dir = kl_fs_join(repo->common_dir, "objects/pack");
	bool hit = false;

	if (!max_bytes || !strstr(text, "index-pack") || kl_fs_list(&names, dir) < 0)
		return false;
	for (size_t i = 0; i < names.n && !hit; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);
		struct stat st;

		hit = !strncmp(names.v[i], "tmp_pack_", 9) && !stat(path, &st) &&
		      (uint64_t)st.st_size >= max_bytes;
	}
	return hit;
}

int kl_remote_fetch(struct kl_repo *repo, const char *remote, const struct kl_strvec *refspec,
		    uint64_t max_bytes)
{
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	struct kl_git_call call = {
		.here = true, .remote = true, .max_file = max_bytes, .err = &complaint
	};
	int err;

	if (!refspec->n)
		return 0;
	if (!kl_repo_config(repo, "fetch.fsckObjects") &&
	    !kl_repo_config(repo, "transfer.fsckObjects"))
		kl_strvec_pushv(&args, KL_ARGS("-c", "fetch.fsckObjects=true"));
	kl_strvec_pushv(&args,
			KL_ARGS("fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
				"--no-recurse-submodules", "--no-prune", "--no-auto-maintenance",
				"--refmap=", "--stdin", "--", remote));
	call.args = (const char *const *)args.v;
	for (size_t i = 0; i < refspec->n; i++)
		kl_buf_addf(&in, "%s\n", refspec->v[i]);
	call.in = in.ptr;
	call.in_len = in.len;
	if ((err = KL_FAULT("remote-fetch")) < 0)
		return err;
	err = kl_git_do(repo, &call);
	if (!err)
		return KL_FAULT("remote-fetched");
	if (err == KL_EINTR)
		return err;
	if (strstr(complaint.ptr, "couldn't find remote ref"))
		return kl_error(KL_ECHANGED, "remote '%s' changed during the fetch", remote);
	if (hit_limit(repo, complaint.ptr, max_bytes))
		return kl_error_hint(kl_error(KL_EINVALID, "remote '%s' sends more than %llu MiB",
					      remote, (unsigned long long)max_bytes >> 20),
				     "if you trust it: git config klineage.syncMaxMiB <MiB>");
	return kl_error_in(err, "remote '%s'", remote);
}

/* --- pushing ----------------------------------------------------------------------- */

void kl_pushes_release(struct kl_pushes *pushes)
{
	for (size_t i = 0; i < pushes->n; i++) {
		free(pushes->v[i].ref);
		free(pushes->v[i].why);
	}
	free(pushes->v);
	*pushes = (struct kl_pushes){ 0 };
}

void kl_pushes_add(struct kl_pushes *pushes, const char *ref, const git_oid *to,
		   const git_oid *from)
{
	KL_GROW(pushes->v, pushes->n + 1, pushes->alloc);
	pushes->v[pushes->n++] = (struct kl_push){ .ref = kl_strdup(ref),
						   .to = *to,
						   .from = *from };
}

/*
 * Parse lines "!\t<oid>:<ref>\t[rejected] (stale info)" and set `why` of each rejected ref. Return
 * the number of rejected refs.
 */
static size_t take_answer(struct kl_pushes *pushes, char *text)
{
	size_t refused = 0;

	for (char *line = text, *end; *line; line = end) {
		char *ref, *why;

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (line[0] != '!' || line[1] != '\t')
			continue;
		refused++;
		ref = strchr(line + 2, ':');
		why = ref ? strchr(ref, '\t') : NULL;
		if (!why)
			continue;
		*why++ = '\0';
		for (size_t i = 0; i < pushes->n; i++)
			if (!pushes->v[i].why && !strcmp(pushes->v[i].ref, ref + 1))
				pushes->v[i].why = kl_strdup(why);
	}
	return refused;
}

/* Collect the output of the remote's hooks, which is in lines "remote: <text>". */
static void add_remote_words(struct kl_buf *out, const char *text)
{
	for (const char *at = text; (at = strstr(at, "remote: ")); at += strcspn(at, "\n")) {
		size_t n = strcspn(at, "\n");

		while (n && at[n - 1] == ' ')
			n--;
		if (n > 8 && out->len < 1000 && (at == text || at[-1] == '\n'))
			kl_buf_addf(out, "%s%.*s", out->len ? "; " : "", (int)(n - 8), at + 8);
	}
}

static int refuse_push(const char *remote, const struct kl_pushes *pushes, const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf remote_output = KL_BUF_INIT;

	add_remote_words(&remote_output, text);
	for (size_t i = 0; i < pushes->n; i++)
		if (pushes->v[i].why && !strstr(pushes->v[i].why, "atomic push fail"))
			return kl_error(KL_ECHANGED, "remote '%s' rejected '%s': %s%s%s", remote,
					pushes->v[i].ref, pushes->v[i].why,
					remote_output.len ? ": " : "", remote_output.ptr);
	return kl_error(KL_ECHANGED, "remote '%s' rejected the push: %s", remote,
			remote_output.ptr);
}

int kl_remote_push(struct kl_repo *repo, const char *remote, struct kl_pushes *pushes)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	struct kl_git_call call = { .here = true, .remote = true, .out = &out, .err = &complaint };
	char from[KL_OID_HEX], to[KL_OID_HEX];
	int status, err;

	if (!pushes->n)
		return 0;
	kl_strvec_pushv(&args, KL_ARGS("push", "--porcelain", "--atomic", "--no-follow-tags",
				       "--recurse-submodules=no"));
	if (pushes->no_verify)
		kl_strvec_push(&args, "--no-verify");
	for (size_t i = 0; i < pushes->n; i++) {
		kl_oid_hex(from, &pushes->v[i].from);
		kl_strvec_pushf(&args, "--force-with-lease=%s:%s", pushes->v[i].ref,
				git_oid_is_zero(&pushes->v[i].from) ? "" : from);
	}
	kl_strvec_pushv(&args, KL_ARGS("--", remote));
	for (size_t i = 0; i < pushes->n; i++) {
		kl_oid_hex(to, &pushes->v[i].to);
		kl_strvec_pushf(&args, "%s:%s", to, pushes->v[i].ref);
		free(kl_steal(&pushes->v[i].why));
	}
	call.args = (const char *const *)args.v;
	if ((err = KL_FAULT("remote-push")) < 0 || (err = kl_git_run(&status, repo, &call)) < 0)
		return err;
	if (!status)
		return KL_FAULT("remote-pushed");
	if (take_answer(pushes, out.ptr))
		return refuse_push(remote, pushes, complaint.ptr);
	if (status > 129)
		return kl_error(KL_EIO, "git push was killed by signal %d", status - 128);
	return kl_error(KL_EIO, "remote '%s': git push: %s", remote, kl_git_complaint(&complaint));
}

void kl_oids_release(struct kl_oids *oids)
{
	free(oids->v);
	*oids = (struct kl_oids){ 0 };
}

void kl_oids_add(struct kl_oids *oids, const git_oid *oid)
{
	KL_GROW(oids->v, oids->n + 1, oids->alloc);
	git_oid_cpy(&oids->v[oids->n++], oid);
}

int kl_repo_not_at_remote(git_oid **out, size_t *n, struct kl_repo *repo,
			  const struct kl_oids *tips, const struct kl_oids *there,
			  const char *remote, size_t max)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT;
	struct kl_git_call call = { .out = &text };
	size_t count = 0;
	int err;

	*n = 0;
	*out = NULL;
	for (size_t i = 0; i < tips->n; i++)
		kl_buf_addf(&in, "%s\n", git_oid_tostr_s(&tips->v[i]));
	for (size_t i = 0; there && i < there->n; i++)
		if (git_odb_exists(repo->odb, &there->v[i]))
			kl_buf_addf(&in, "^%s\n", git_oid_tostr_s(&there->v[i]));
	if (!tips->n)
		return 0;
	kl_strvec_push(&args, "rev-list");
	kl_strvec_pushf(&args, "--max-count=%zu", max);
	kl_strvec_pushv(&args, KL_ARGS("--stdin", "--not"));
	kl_strvec_pushf(&args, "--glob=refs/remotes/%s/*", remote);
	kl_strvec_pushf(&args, "--glob=refs/klineage-remotes/%s/*", remote);
	call.args = (const char *const *)args.v;
	call.in = in.ptr;
	call.in_len = in.len;
	if ((err = kl_git_do(repo, &call)) < 0)
		return err;
	*out = kl_calloc(text.len / (GIT_OID_HEXSZ + 1) + 1, sizeof(**out));
	for (const char *at = text.ptr; text.ptr + text.len - at > GIT_OID_HEXSZ;
	     at += GIT_OID_HEXSZ + 1)
		kl_oid_parsen(*out + count++, at, GIT_OID_HEXSZ);
	*n = count;
	return 0;
}

/* --- reading and writing the repository's config file --------------------------------- */

int kl_remote_config_get(struct kl_strvec *out, struct kl_repo *repo, const char *key)
{
	KL_AUTO(kl_buf_release) struct kl_buf values = KL_BUF_INIT, complaint = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("config", "--local", "--get-all", key),
		.out = &values,
		.err = &complaint,
	};
	int status, err = kl_git_run(&status, repo, &call);

	if (err < 0)
		return err;
	if (status > 1)
		return kl_error(KL_EIO, "git config: %s", kl_git_complaint(&complaint));
	kl_strvec_split(out, values.ptr, "\n");
	return 0;
}

int kl_remote_config_add(struct kl_repo *repo, const char *key, const char *value)
{
	return kl_git_do(repo, &(struct kl_git_call){
				       .args = KL_ARGS("config", "--local", "--add", key, value) });
}

int kl_remote_config_remove(struct kl_repo *repo, const char *key, const char *value)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec values = KL_STRVEC_INIT;
	int err = kl_remote_config_get(&values, repo, key);

	if (err < 0 || !kl_strvec_has(&values, value))
		return err;
	return kl_git_do(repo, &(struct kl_git_call){ .args = KL_ARGS("config", "--local",
								      "--fixed-value",
								      "--unset-all", key, value) });
}
