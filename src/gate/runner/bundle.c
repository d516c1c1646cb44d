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
	json_t *entries, *records; /* arrays, in the order they were added */
};

struct kl_bundle *kl_bundle_new(void)
{
	struct kl_bundle *b = kl_calloc(1, sizeof(*b));

	b->entries = json_array();
	b->records = json_array();
	return b;
}

void kl_bundle_free(struct kl_bundle *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->nfile; i++) {
		free(b->file[i].name);
		kl_buf_release(&b->file[i].data);
	}
	free(b->file);
	json_decref(b->entries);
	json_decref(b->records);
	free(b);
}

size_t kl_bundle_jobs(const struct kl_bundle *b)
{
	return json_array_size(b->entries);
}

/* Under its digest: what is there already is not kept twice. Takes the bytes. */
static int add_file(char **name, struct kl_bundle *b, const char *folder, const char *ending,
		    struct kl_buf *data)
{
	char hex[KL_DIGEST_HEX];
	struct file *f;

	kl_digest_hex(hex, data->ptr, data->len);
	*name = kl_asprintf("%s/%s%s", folder, hex, ending);
	for (size_t i = 0; i < b->nfile; i++)
		if (!strcmp(b->file[i].name, *name)) {
			kl_buf_release(data);
			return 0;
		}
	b->bytes += data->len;
	if (b->bytes > MAX_BUNDLE)
		return kl_error(KL_EINVALID, "more than %zu MiB for one bundle", MAX_BUNDLE >> 20);
	KL_GROW(b->file, b->nfile + 1, b->alloc);
	f = &b->file[b->nfile++];
	f->name = kl_strdup(*name);
	f->data = *data;
	*data = (struct kl_buf)KL_BUF_INIT;
	return 0;
}

/* The objects that a job names travel with it; the pool is made there. */
static int localize_paths(json_t *doc, struct kl_bundle *b, const char *contract)
{
	static const char *const object[] = { "truth", "honest", "candidate", "parent",
					      "baseline_cubin" };
	KL_AUTO(kl_freep) char *pool = kl_asprintf("pools/%.16s", contract);

	for (size_t i = 0; i < KL_ARRAY_SIZE(object); i++) {
		const char *path = kl_json_str_or(doc, object[i], NULL);
		KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *name = NULL;
		int err;

		if (!path)
			continue;
		if ((err = kl_fs_read(&data, path, MAX_OBJECT)) < 0 ||
		    (err = add_file(&name, b, "files", "", &data)) < 0)
			return err;
		kl_json_set_str(doc, object[i], name);
	}
	kl_json_set_str(doc, "pool", pool);
	return 0;
}

static json_t *place_of(const struct kl_place *place)
{
	json_t *out = json_object(), *flags = json_array();

	for (size_t i = 0; i < place->flags.n; i++)
		json_array_append_new(flags, json_string(place->flags.v[i]));
	kl_json_set_str(out, "id", place->id);
	kl_json_set_str(out, "compiler", place->compiler);
	kl_json_set(out, "flags", flags);
	return out;
}

/* What a worker may know of a job: all that its digest is over. */
static json_t *entry_of(const struct kl_bundle_job *j, const char *doc)
{
	const struct kl_event *event = j->event;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char digest[KL_DIGEST_HEX];
	json_t *e = json_object();

	kl_json_set_str(e, "workload", event->workload);
	kl_json_set_str(e, "surface", event->surface);
	kl_json_set_str(e, "contract", event->contract);
	kl_json_set_int(e, "policy", event->policy);
	kl_json_set_str(e, "tier", kl_tier_name(event->tier));
	kl_json_set(e, "platform", place_of(&event->place));
	kl_json_set_str(e, "parent", j->of->parent);
	kl_json_set_str(e, "job", doc);
	kl_json_canonical(&text, e);
	kl_digest_hex(digest, text.ptr, text.len);
	kl_json_set_str(e, "digest", digest);
	return e;
}

static json_t *record_of(const struct kl_bundle_job *j, const char *digest)
{
	json_t *r = json_object(), *weights = json_array(), *commits = json_array();

	for (size_t i = 0; i < j->of->nweight; i++)
		json_array_append_new(weights, json_integer(j->of->weight[i]));
	if (j->commit)
		json_array_append_new(commits, json_string(j->commit));
	kl_json_set_str(r, "job", digest);
	kl_json_set(r, "event", kl_event_draft(j->event));
	kl_json_set(r, "weights", weights);
	kl_json_set_str(r, "parent", j->of->parent);
	kl_json_set_str(r, "cache", j->cache);
	kl_json_set_str(r, "runner", j->runner);
	kl_json_set_str(r, "dir", j->dir);
	kl_json_set(r, "commits", commits);
	return r;
}

static bool is_there(const struct kl_bundle *b, const char *digest)
{
	size_t i;
	json_t *e;

	json_array_foreach(b->entries, i, e)
		if (!strcmp(kl_json_str_or(e, "digest", ""), digest))
			return true;
	return false;
}

int kl_bundle_add(struct kl_bundle *b, const struct kl_bundle_job *j)
{
	KL_AUTO(json_decrefp) json_t *doc = json_deep_copy(j->job), *entry = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *name = NULL;
	const char *digest;
	int err = localize_paths(doc, b, j->event->contract);

	if (err < 0)
		return err;
	kl_json_canonical(&text, doc);
	if ((err = add_file(&name, b, "jobs", ".json", &text)) < 0)
		return err;
	entry = entry_of(j, name);
	digest = kl_json_str_or(entry, "digest", "");
	if (is_there(b, digest))
		return 0;
	json_array_append_new(b->records, record_of(j, digest));
	json_array_append(b->entries, entry);
	return 0;
}

int kl_bundle_keep(const struct kl_bundle *b, struct kl_repo *r)
{
	size_t i;
	json_t *record;

	json_array_foreach(b->records, i, record) {
		int err = kl_pending_put(r, record);

		if (err < 0)
			return err;
	}
	return 0;
}

/* --- packing ------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->name, ((const struct file *)b)->name);
}

static json_t *make_manifest(const struct file *file, size_t n, json_t *entries)
{
	json_t *m = json_object(), *files = json_array();

	for (size_t i = 0; i < n; i++) {
		json_t *f = json_object();
		char hex[KL_DIGEST_HEX];

		kl_digest_hex(hex, file[i].data.ptr, file[i].data.len);
		kl_json_set_str(f, "name", file[i].name);
		kl_json_set_int(f, "size", (int64_t)file[i].data.len);
		kl_json_set_str(f, "sha256", hex);
		json_array_append_new(files, f);
	}
	kl_json_set_str(m, "schema", "klineage.bundle/1");
	kl_json_set(m, "files", files);
	kl_json_set(m, "jobs", json_incref(entries));
	return m;
}

void kl_bundle_pack(struct kl_buf *out, char digest[KL_DIGEST_HEX], const struct kl_bundle *b)
{
	KL_AUTO(kl_freep) struct file *sorted = kl_calloc(b->nfile + 1, sizeof(*sorted));
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *m = NULL;

	if (b->nfile)
		memcpy(sorted, b->file, b->nfile * sizeof(*sorted));
	qsort(sorted, b->nfile, sizeof(*sorted), by_name);
	m = make_manifest(sorted, b->nfile, b->entries);
	kl_json_canonical(&text, m);
	kl_digest_hex(digest, text.ptr, text.len);
	for (size_t i = 0; i < b->nfile; i++)
		kl_tar_add(out, sorted[i].name, sorted[i].data.ptr, sorted[i].data.len);
	kl_tar_add(out, "manifest.json", text.ptr, text.len);
	kl_tar_end(out);
}
