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

static bool holds_word(const json_t *list, const char *word)
{
	size_t i;
	json_t *value;

	json_array_foreach(list, i, value)
		if (json_is_string(value) && !strcmp(json_string_value(value), word))
			return true;
	return false;
}

/* commits that had this surface when the job was sent earlier have it still */
static void keep_commits(json_t *record, const json_t *old)
{
	json_t *list = json_object_get(record, "commits"), *value;
	size_t i;

	json_array_foreach(json_object_get(old, "commits"), i, value)
		if (json_is_string(value) && !holds_word(list, json_string_value(value)))
			json_array_append(list, value);
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
	KL_AUTO(json_decrefp) json_t *value = NULL;
	json_t *event;
	int err;

	if (!kl_pending_digest_ok(digest))
		return kl_error(KL_ENOTFOUND, "'%.64s' is no job's digest", digest);
	path = path_of(repo, digest);
	if (!kl_fs_exists(path))
		return kl_error(KL_ENOTFOUND, "this clone sent no job %.12s away", digest);
	if ((err = kl_fs_read(&text, path, MAX_RECORD)) < 0 ||
	    (err = kl_json_parse(&value, text.ptr, text.len)) < 0 ||
	    (err = kl_json_obj(&event, value, "event")) < 0)
		return kl_error_in(err, "%s", path);
	if (strcmp(kl_json_str_or(value, "schema", ""), SCHEMA) ||
	    strcmp(kl_json_str_or(value, "job", ""), digest))
		return kl_error(KL_EINVALID, "%s: not the record of that job", path);
	*record = kl_steal(&value);
	return 0;
}
