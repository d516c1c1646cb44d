/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/unpack.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/tar.h"

#define MAX_JOBS 4096
#define MAX_JOB ((size_t)16 << 20)
#define MAX_MANIFEST ((size_t)64 << 20)
#define MANIFEST "manifest.json"

static const char *const object_key[] = { "truth", "honest", "candidate", "parent",
					  "baseline_cubin" };

void kl_unpacked_release(struct kl_unpacked *unpacked)
{
	json_decref(unpacked->jobs);
	unpacked->jobs = NULL;
}

static bool hex_ok(const char *text, size_t digits)
{
	return strspn(text, "0123456789abcdef") >= digits;
}

/*
 * Return true for "files/<64 digits>" and "jobs/<64 digits>.json"; *digest then points at the
 * digits.
 */
static bool name_ok(const char *name, const char **digest)
{
	bool job = !strncmp(name, "jobs/", 5), file = !strncmp(name, "files/", 6);

	*digest = name + (job ? 5 : 6);
	return (job || file) && hex_ok(*digest, 64) && !strcmp(*digest + 64, job ? ".json" : "");
}

/* --- unpacking files ------------------------------------------------------------ */

/* The files unpacked so far, to be compared with the manifest. */
struct files {
	json_t *list;         /* [{name, sha256, size}], as in a manifest */
	const char *manifest; /* points into the bundle; NULL if not found yet */
	size_t len;           /* bytes of the manifest */
};

static int put_entry(struct files *files, const struct kl_tar_entry *entry, const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, entry->name);
	char hex[KL_SHA256_HEX];
	const char *digest;
	json_t *file;

	if (!strcmp(entry->name, MANIFEST)) {
		files->manifest = entry->data;
		files->len = entry->len;
		return 0;
	}
	if (!name_ok(entry->name, &digest))
		return kl_error(KL_EINVALID, "unexpected file '%s' in the bundle", entry->name);
	kl_sha256_hex(hex, entry->data, entry->len);
	if (strncmp(hex, digest, 64))
		return kl_error(KL_EINVALID, "'%s' is damaged: its digest does not match its name",
				entry->name);
	file = json_object();
	kl_json_set_str(file, "name", entry->name);
	kl_json_set_str(file, "sha256", hex);
	kl_json_set_int(file, "size", (int64_t)entry->len);
	json_array_append_new(files->list, file);
	return kl_fs_put(path, entry->data, entry->len, 0600);
}

static int put_files(struct files *files, const void *bytes, size_t len, const char *dir)
{
	KL_AUTO(kl_freep) char *files_dir = kl_fs_join(dir, "files"),
			       *jobs_dir = kl_fs_join(dir, "jobs");
	KL_AUTO(kl_freep) char *pools_dir = kl_fs_join(dir, "pools");
	struct kl_tar tar;
	struct kl_tar_entry entry;
	int err, more = 0;

	if ((err = kl_fs_mkdir(files_dir)) < 0 || (err = kl_fs_mkdir(jobs_dir)) < 0 ||
	    (err = kl_fs_mkdir(pools_dir)) < 0)
		return err;
	kl_tar_open(&tar, bytes, len);
	while (!err && (more = kl_tar_next(&tar, &entry)) > 0)
		err = put_entry(files, &entry, dir);
	if (err < 0 || more < 0)
		return err < 0 ? err : more;
	return files->manifest ? 0 : kl_error(KL_EINVALID, "the bundle has no " MANIFEST "");
}

/* --- checking the manifest ------------------------------------------------- */

static bool is_listed(const json_t *list, const char *name)
{
	size_t i;
	json_t *file;

	json_array_foreach(list, i, file)
		if (!strcmp(kl_json_str_or(file, "name", ""), name))
			return true;
	return false;
}

static int check_digest(const json_t *entry)
{
	KL_AUTO(json_decrefp) json_t *bare = json_copy((json_t *)entry);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char hex[KL_SHA256_HEX];

	json_object_del(bare, "digest");
	kl_json_canonical(&text, bare);
	kl_sha256_hex(hex, text.ptr, text.len);
	return strcmp(hex, kl_json_str_or(entry, "digest", "")) ?
		       kl_error(KL_EINVALID, "a job does not match its digest") :
		       0;
}

static int check_entry(const json_t *entry, const struct files *files, const char *dir)
{
	static const char *const strings[] = { "workload", "surface", "contract" };
	KL_AUTO(json_decrefp) json_t *job = NULL;
	const char *text, *name, *digest;
	int err = check_digest(entry);

	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(strings); i++)
		err = kl_json_str(&text, entry, strings[i]);
	if (err < 0 || (err = kl_json_str(&name, entry, "job")) < 0)
		return err;
	if (strncmp(name, "jobs/", 5) || !name_ok(name, &digest) || !is_listed(files->list, name))
		return kl_error(KL_EINVALID, "a job refers to '%s', which is not in the bundle",
				name);
	if ((err = kl_unpack_job(&job, entry, dir)) < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(object_key); i++) {
		text = kl_json_str_or(job, object_key[i], NULL);
		if (text && !is_listed(files->list, text + strlen(dir) + 1))
			return kl_error(KL_EINVALID,
					"a job refers to an object that is not in the bundle");
	}
	return 0;
}

static int check_manifest(struct kl_unpacked *out, const struct files *files, const char *dir)
{
	KL_AUTO(json_decrefp) json_t *manifest = NULL;
	const char *schema;
	json_t *jobs, *listed, *entry;
	size_t i;
	int err;

	if (files->len > MAX_MANIFEST)
		return kl_error(KL_EINVALID, "the manifest is too large: %zu bytes", files->len);
	if ((err = kl_json_parse(&manifest, files->manifest, files->len)) < 0 ||
	    (err = kl_json_str(&schema, manifest, "schema")) < 0 ||
	    (err = kl_json_arr(&listed, manifest, "files")) < 0 ||
	    (err = kl_json_arr(&jobs, manifest, "jobs")) < 0)
		return err;
	if (strcmp(schema, "klineage.bundle/1"))
		return kl_error(KL_EINVALID, "unsupported bundle schema '%s'", schema);
	if (!json_equal(listed, files->list))
		return kl_error(KL_EINVALID, "the files differ from those listed in the manifest");
	if (!json_array_size(jobs) || json_array_size(jobs) > MAX_JOBS)
		return kl_error(KL_EINVALID, "the bundle has %zu jobs, but it must have 1 to %d",
				json_array_size(jobs), MAX_JOBS);
	json_array_foreach(jobs, i, entry)
		if ((err = check_entry(entry, files, dir)) < 0)
			return kl_error_in(err, "job %zu", i + 1);
	kl_sha256_hex(out->digest, files->manifest, files->len);
	out->jobs = json_incref(jobs);
	return 0;
}

int kl_unpack(struct kl_unpacked *out, const void *bytes, size_t len, const char *dir)
{
	struct files files = { .list = json_array() };
	int err = put_files(&files, bytes, len, dir);

	*out = (struct kl_unpacked){ .jobs = NULL };
	if (!err)
		err = check_manifest(out, &files, dir);
	json_decref(files.list);
	return err < 0 ? kl_error_in(err, "the bundle") : 0;
}

/* --- reading a job ------------------------------------------------------------------------ */

static void set_path(json_t *job, const char *key, const char *value, const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, value);

	kl_json_set_str(job, key, path);
}

int kl_unpack_job(json_t **out, const json_t *entry, const char *dir)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, kl_json_str_or(entry, "job", ""));
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *job = NULL;
	const char *digest, *pool;
	int err;

	if ((err = kl_fs_read(&text, path, MAX_JOB)) < 0 ||
	    (err = kl_json_parse(&job, text.ptr, text.len)) < 0)
		return err;
	if (!json_is_object(job))
		return kl_error(KL_EINVALID, "a job is not a JSON object");
	for (size_t i = 0; i < KL_ARRAY_SIZE(object_key); i++) {
		const char *name = kl_json_str_or(job, object_key[i], NULL);

		if (!name)
			continue;
		if (strncmp(name, "files/", 6) || !name_ok(name, &digest))
			return kl_error(KL_EINVALID, "a job has the invalid object path '%.80s'",
					name);
		set_path(job, object_key[i], name, dir);
	}
	pool = kl_json_str_or(job, "pool", "");
	if (strncmp(pool, "pools/", 6) || !hex_ok(pool + 6, 16) || strlen(pool) != 22)
		return kl_error(KL_EINVALID, "a job has the invalid pool path '%.80s'", pool);
	set_path(job, "pool", pool, dir);
	*out = kl_steal(&job);
	return 0;
}
