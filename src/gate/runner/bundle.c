/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/runner/bundle.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/tar.h"
#include "gate/runner/pending_jobs.h"

#define MAX_OBJECT ((size_t)256 << 20)
#define MAX_BUNDLE ((size_t)1 << 30)

struct file {
	char *name;
	struct kl_buf data;
};

struct kl_bundle {
	struct file *file;
	size_t nfile, alloc, bytes;
	json_t *entries, *records; /* arrays, in the order in which the jobs were added */
};

struct kl_bundle *kl_bundle_new(void)
{
	struct kl_bundle *bundle = kl_calloc(1, sizeof(*bundle));

	bundle->entries = json_array();
	bundle->records = json_array();
	return bundle;
}

void kl_bundle_free(struct kl_bundle *bundle)
{
	if (!bundle)
		return;
	for (size_t i = 0; i < bundle->nfile; i++) {
		free(bundle->file[i].name);
		kl_buf_release(&bundle->file[i].data);
	}
	free(bundle->file);
	json_decref(bundle->entries);
	json_decref(bundle->records);
	free(bundle);
}

size_t kl_bundle_jobs(const struct kl_bundle *bundle)
{
	return json_array_size(bundle->entries);
}

/* Add a file, unless it is already there. Take ownership of the bytes. */
static int add_named(struct kl_bundle *bundle, const char *name, struct kl_buf *data)
{
	struct file *file;

	for (size_t i = 0; i < bundle->nfile; i++)
		if (!strcmp(bundle->file[i].name, name)) {
			kl_buf_release(data);
			return 0;
		}
	bundle->bytes += data->len;
	if (bundle->bytes > MAX_BUNDLE)
		return kl_error(KL_EINVALID, "the bundle would be larger than %zu MiB",
				MAX_BUNDLE >> 20);
	KL_GROW(bundle->file, bundle->nfile + 1, bundle->alloc);
	file = &bundle->file[bundle->nfile++];
	file->name = kl_strdup(name);
	file->data = *data;
	*data = (struct kl_buf)KL_BUF_INIT;
	return 0;
}

/* Add a file named by its digest. Take ownership of the bytes. */
static int add_file(char **name, struct kl_bundle *bundle, const char *dir, const char *suffix,
		    struct kl_buf *data)
{
	char hex[KL_DIGEST_HEX];

	kl_digest_hex(hex, data->ptr, data->len);
	*name = kl_asprintf("%s/%s%s", dir, hex, suffix);
	return add_named(bundle, *name, data);
}

/*
 * Add the objects that a job refers to, and replace their paths in the job by names in the bundle.
 * The pool only gets a name, because the worker creates the pool.
 */
static int localize_paths(json_t *doc, struct kl_bundle *bundle, const char *contract)
{
	static const char *const members[] = { "truth", "honest", "candidate", "parent",
					       "baseline_cubin" };
	KL_AUTO(kl_freep) char *pool = kl_asprintf("pools/%.16s", contract);

	for (size_t i = 0; i < KL_ARRAY_SIZE(members); i++) {
		const char *path = kl_json_str_or(doc, members[i], NULL);
		KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *name = NULL;
		int err;

		if (!path)
			continue;
		if ((err = kl_fs_read(&data, path, MAX_OBJECT)) < 0 ||
		    (err = add_file(&name, bundle, "files", "", &data)) < 0)
			return err;
		kl_json_set_str(doc, members[i], name);
	}
	kl_json_set_str(doc, "pool", pool);
	return 0;
}

static json_t *make_platform(const struct kl_place *place)
{
	json_t *out = json_object(), *flags = json_array();

	for (size_t i = 0; i < place->flags.n; i++)
		json_array_append_new(flags, json_string(place->flags.v[i]));
	kl_json_set_str(out, "id", place->id);
	kl_json_set_str(out, "compiler", place->compiler);
	kl_json_set(out, "flags", flags);
	return out;
}

/*
 * Make the entry of a job in the manifest. The worker gets no other information about the job than
 * this entry and the job document. The entry's digest names the job.
 */
static json_t *make_entry(const struct kl_bundle_job *job, const char *doc)
{
	const struct kl_event *event = job->event;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char digest[KL_DIGEST_HEX];
	json_t *entry = json_object();

	kl_json_set_str(entry, "workload", event->workload);
	kl_json_set_str(entry, "surface", event->surface);
	kl_json_set_str(entry, "contract", event->contract);
	kl_json_set_int(entry, "policy", event->policy);
	kl_json_set_str(entry, "tier", kl_tier_name(event->tier));
	kl_json_set(entry, "platform", make_platform(&event->place));
	kl_json_set_str(entry, "parent", job->of->parent);
	kl_json_set_str(entry, "job", doc);
	if (job->after)
		kl_json_set_str(entry, "after", job->after);
	kl_json_canonical(&text, entry);
	kl_digest_hex(digest, text.ptr, text.len);
	kl_json_set_str(entry, "digest", digest);
	return entry;
}

static json_t *make_record(const struct kl_bundle_job *job, const char *digest)
{
	json_t *record = json_object(), *weights = json_array(), *commits = json_array();

	for (size_t i = 0; i < job->of->nweight; i++)
		json_array_append_new(weights, json_integer(job->of->weight[i]));
	if (job->commit)
		json_array_append_new(commits, json_string(job->commit));
	kl_json_set_str(record, "job", digest);
	kl_json_set(record, "event", kl_event_draft(job->event));
	kl_json_set(record, "weights", weights);
	kl_json_set_str(record, "parent", job->of->parent);
	kl_json_set_str(record, "cache", job->cache);
	kl_json_set_str(record, "runner", job->runner);
	kl_json_set_str(record, "dir", job->dir);
	kl_json_set(record, "commits", commits);
	if (job->after)
		kl_json_set_str(record, "after", job->after);
	if (job->campaign)
		kl_json_set_str(record, "campaign", job->campaign);
	return record;
}

static bool has_job(const struct kl_bundle *bundle, const char *digest)
{
	size_t i;
	json_t *entry;

	json_array_foreach(bundle->entries, i, entry)
		if (!strcmp(kl_json_str_or(entry, "digest", ""), digest))
			return true;
	return false;
}

static int too_many_jobs(void)
{
	return kl_error(KL_EINVALID, "the bundle would have more than %d jobs", KL_BUNDLE_JOBS);
}

int kl_bundle_add(struct kl_bundle *bundle, const struct kl_bundle_job *job)
{
	KL_AUTO(json_decrefp) json_t *doc = json_deep_copy(job->job), *entry = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *name = NULL;
	const char *digest;
	int err = localize_paths(doc, bundle, job->event->contract);

	if (err < 0)
		return err;
	kl_json_canonical(&text, doc);
	if ((err = add_file(&name, bundle, "jobs", ".json", &text)) < 0)
		return err;
	entry = make_entry(job, name);
	digest = kl_json_str_or(entry, "digest", "");
	if (has_job(bundle, digest))
		return 0;
	if (kl_bundle_jobs(bundle) >= KL_BUNDLE_JOBS)
		return too_many_jobs();
	json_array_append_new(bundle->records, make_record(job, digest));
	json_array_append(bundle->entries, entry);
	return 0;
}

int kl_bundle_take(struct kl_bundle *bundle, struct kl_bundle *from)
{
	size_t i;
	json_t *entry;
	int err = 0;

	for (i = 0; !err && i < from->nfile; i++)
		err = add_named(bundle, from->file[i].name, &from->file[i].data);
	json_array_foreach(from->entries, i, entry) {
		if (err || has_job(bundle, kl_json_str_or(entry, "digest", "")))
			continue;
		if (kl_bundle_jobs(bundle) >= KL_BUNDLE_JOBS)
			return too_many_jobs();
		json_array_append(bundle->entries, entry);
		json_array_append(bundle->records, json_array_get(from->records, i));
	}
	return err;
}

int kl_bundle_keep(const struct kl_bundle *bundle, struct kl_repo *repo)
{
	size_t i;
	json_t *record;

	json_array_foreach(bundle->records, i, record) {
		int err = kl_pending_put(repo, record);

		if (err < 0)
			return err;
	}
	return 0;
}

bool kl_bundle_is_again(struct kl_repo *repo, const struct kl_event *event)
{
	KL_AUTO(json_decrefp) json_t *record = NULL;

	if (!*event->job)
		return false;
	if (kl_pending_get(&record, repo, event->job) < 0) {
		kl_error_clear();
		return false;
	}
	return *kl_json_str_or(record, "after", "") != '\0';
}

/* --- packing ------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static json_t *make_manifest(const struct file *file, size_t n, json_t *entries)
{
	json_t *manifest = json_object(), *files = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *entry = json_object();
		char hex[KL_DIGEST_HEX];

		kl_digest_hex(hex, file[i].data.ptr, file[i].data.len);
		kl_json_set_str(entry, "name", file[i].name);
		kl_json_set_int(entry, "size", (int64_t)file[i].data.len);
		kl_json_set_str(entry, "sha256", hex);
		json_array_append_new(files, entry);
	}
	kl_json_set_str(manifest, "schema", "klineage.bundle/1");
	kl_json_set(manifest, "files", files);
	kl_json_set(manifest, "jobs", json_incref(entries));
	return manifest;
}

void kl_bundle_pack(struct kl_buf *out, char digest[KL_DIGEST_HEX], const struct kl_bundle *bundle)
{
	KL_AUTO(kl_freep) struct file *sorted = kl_calloc(bundle->nfile + 1, sizeof(*sorted));
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *manifest = NULL;

	if (bundle->nfile)
		memcpy(sorted, bundle->file, bundle->nfile * sizeof(*sorted));
	qsort(sorted, bundle->nfile, sizeof(*sorted), by_name);
	manifest = make_manifest(sorted, bundle->nfile, bundle->entries);
	kl_json_canonical(&text, manifest);
	kl_digest_hex(digest, text.ptr, text.len);
	for (size_t i = 0; i < bundle->nfile; i++)
		kl_tar_add(out, sorted[i].name, sorted[i].data.ptr, sorted[i].data.len);
	kl_tar_add(out, "manifest.json", text.ptr, text.len);
	kl_tar_end(out);
}
