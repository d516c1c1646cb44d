/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/runner/pending_jobs.h"

#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"

#define MAX_RECORD ((size_t)4 << 20)
#define SCHEMA "klineage.pending/1"

bool kl_pending_digest_ok(const char *digest)
{
	return strlen(digest) == 64 && strspn(digest, "0123456789abcdef") == 64;
}

static char *path_of(struct kl_repo *repo, const char *digest)
{
	return kl_asprintf("%s/klineage/jobs/%s.json", kl_repo_common_dir(repo), digest);
}

static bool has_string(const json_t *list, const char *text)
{
	size_t i;
	json_t *item;

	json_array_foreach(list, i, item)
		if (json_is_string(item) && !strcmp(json_string_value(item), text))
			return true;
	return false;
}

/* Add the commits of an earlier record of the job: they still have the job's surface. */
static void keep_commits(json_t *record, const json_t *old)
{
	json_t *list = json_object_get(record, "commits"), *commit;
	size_t i;

	json_array_foreach(json_object_get(old, "commits"), i, commit)
		if (json_is_string(commit) && !has_string(list, json_string_value(commit)))
			json_array_append(list, commit);
}

int kl_pending_put(struct kl_repo *repo, json_t *record)
{
	const char *digest = kl_json_str_or(record, "job", "");
	KL_AUTO(kl_freep) char *path = path_of(repo, digest);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *old = NULL;
	int err;

	kl_json_set_str(record, "schema", SCHEMA);
	if (kl_pending_get(&old, repo, digest) < 0)
		kl_error_clear();
	else
		keep_commits(record, old);
	if ((err = KL_FAULT("job-put")) < 0 || (err = kl_fs_mkdir_of(path)) < 0)
		return err;
	kl_json_canonical(&text, record);
	err = kl_fs_write(path, text.ptr, text.len);
	return err < 0 ? err : KL_FAULT("job-put-done");
}

int kl_pending_get(json_t **record, struct kl_repo *repo, const char *digest)
{
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	json_t *event;
	int err;

	if (!kl_pending_digest_ok(digest))
		return kl_error(KL_ENOTFOUND, "'%.64s' is not the digest of a job", digest);
	path = path_of(repo, digest);
	if (!kl_fs_exists(path))
		return kl_error(KL_ENOTFOUND, "this clone sent no job %.12s", digest);
	if ((err = kl_fs_read(&text, path, MAX_RECORD)) < 0 ||
	    (err = kl_json_parse(&doc, text.ptr, text.len)) < 0 ||
	    (err = kl_json_obj(&event, doc, "event")) < 0)
		return kl_error_in(err, "%s", path);
	if (strcmp(kl_json_str_or(doc, "schema", ""), SCHEMA) ||
	    strcmp(kl_json_str_or(doc, "job", ""), digest))
		return kl_error(KL_EINVALID, "'%s' is the record of another job", path);
	*record = kl_steal(&doc);
	return 0;
}
