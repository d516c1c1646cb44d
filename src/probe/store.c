/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/rng.h"
#include "text/json.h"

#define SEED_BITS (UINT64_MAX >> 16)
#define MAX_BYTES ((size_t)256 << 20) /* of one file */

struct kl_probe_store {
	char *dir;
	uint64_t seed;
	struct kl_map read;   /* surfaces whose file was read */
	struct kl_map events; /* "<surface> <key>" -> struct kl_event *, owned */
};

/* Make the seed, unless there is one: link(2) fails if another process was first. */
static int make_seed(const char *path)
{
	KL_AUTO(kl_freep) char *temporary = kl_asprintf("%s.%ld", path, (long)getpid());
	char made[32];
	int err;

	/* seeds whose first 16 bits are set can name a call (worker/stage/first_call.h) */
	snprintf(made, sizeof(made), "%" PRIu64 "\n", (kl_rng_os_seed() & SEED_BITS) | 1);
	if ((err = kl_fs_write(temporary, made, strlen(made))) < 0)
		return err;
	if (link(temporary, path) < 0 && errno != EEXIST)
		err = kl_error_errno("cannot write '%s'", path);
	unlink(temporary);
	return err;
}

static int read_seed(struct kl_probe_store *store)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(store->dir, "seed");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_fs_exists(path) ? 0 : make_seed(path);

	if (err < 0 || (err = kl_fs_read(&text, path, 64)) < 0)
		return err;
	store->seed = strtoull(text.len ? text.ptr : "", NULL, 10) & SEED_BITS;
	return store->seed ? 0 :
			     kl_error_hint(kl_error(KL_EINVALID, "'%s' has no seed", path),
					   "remove the file; the next probe makes another");
}

uint64_t kl_probe_store_seed(const struct kl_probe_store *store)
{
	return store->seed;
}

int kl_probe_store_open(struct kl_probe_store **out, struct kl_repo *repo)
{
	KL_AUTO(kl_probe_store_freep) struct kl_probe_store *store = kl_calloc(1, sizeof(*store));
	int err;

	store->events.free_value = kl_event_free_value;
	store->dir = kl_fs_join(kl_repo_common_dir(repo), "klineage/probe");
	if ((err = kl_fs_mkdir(store->dir)) < 0 || (err = read_seed(store)) < 0)
		return err;
	*out = kl_steal(&store);
	return 0;
}

void kl_probe_store_free(struct kl_probe_store *store)
{
	if (!store)
		return;
	free(store->dir);
	kl_map_release(&store->read);
	kl_map_release(&store->events);
	free(store);
}

static char *file_path(const struct kl_probe_store *store, const char *surface)
{
	return kl_asprintf("%s/%s.jsonl", store->dir, surface);
}

static void keep_event(struct kl_probe_store *store, const char *key, struct kl_event *event)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s %s", event->surface, key);

	kl_map_put(&store->events, name, event);
}

/* Read one line; ignore it if it is not an event of the surface. */
static void take_line(struct kl_probe_store *store, const char *surface, const char *line,
		      size_t len)
{
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	const char *key;

	if (kl_json_parse(&doc, line, len) < 0 || kl_json_str(&key, doc, "key") < 0) {
		kl_error_clear();
		return;
	}
	kl_json_canonical(&text, json_object_get(doc, "event"));
	if (kl_event_parse(&event, text.ptr, text.len) < 0) {
		kl_error_clear();
		return;
	}
	if (event->kind == KL_KIND_PROBE && !strcmp(event->surface, surface))
		keep_event(store, key, kl_steal(&event));
}

static int read_surface(struct kl_probe_store *store, const char *surface)
{
	KL_AUTO(kl_freep) char *path = file_path(store, surface);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	static char mark[] = "";
	int err;

	if (kl_map_get(&store->read, surface))
		return 0;
	kl_map_put(&store->read, surface, mark);
	if (!kl_fs_exists(path))
		return 0;
	if ((err = kl_fs_read(&text, path, MAX_BYTES)) < 0)
		return err;
	for (size_t at = 0; at < text.len;) {
		const char *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;

		if (end && len)
			take_line(store, surface, text.ptr + at, len);
		at += len + 1;
	}
	return 0;
}

int kl_probe_store_find(const struct kl_event **out, struct kl_probe_store *store,
			const char *surface, const char *key)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s %s", surface, key);
	int err = read_surface(store, surface);

	if (err < 0)
		return err;
	*out = kl_map_get(&store->events, name);
	return *out ? 0 : kl_error(KL_ENOTFOUND, "no event of a probe has this key");
}

/* --- appending -------------------------------------------------------------------------------- */

/* Append a line to a locked file. If a killed process left half a line, end that line first. */
static int append_line(int fd, const char *path, struct kl_buf *line)
{
	struct stat st;
	char last = '\n';
	size_t done = 0;

	if (fstat(fd, &st) < 0 || (st.st_size && pread(fd, &last, 1, st.st_size - 1) != 1))
		return kl_error_errno("cannot read '%s'", path);
	if (last != '\n' && write(fd, "\n", 1) != 1)
		return kl_error_errno("cannot write '%s'", path);
	while (done < line->len) {
		ssize_t n = write(fd, line->ptr + done, line->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return kl_error_errno("cannot write '%s'", path);
		done += (size_t)n;
	}
	return fdatasync(fd) < 0 ? kl_error_errno("cannot write '%s'", path) : 0;
}

static int write_line(const char *path, struct kl_buf *line)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666), err = 0;

	if (fd < 0)
		return kl_error_errno("cannot open '%s'", path);
	while (!err && flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			err = kl_error_errno("cannot lock '%s'", path);
	if (!err)
		err = append_line(fd, path, line);
	close(fd);
	return err;
}

int kl_probe_store_put(struct kl_probe_store *store, const char *surface, const char *key,
		       const struct kl_event *event)
{
	KL_AUTO(kl_freep) char *path = file_path(store, surface);
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *doc = json_object();
	int err = KL_FAULT("probe-put");

	kl_json_set_str(doc, "key", key);
	kl_json_set(doc, "event", kl_event_json(event));
	kl_json_canonical(&line, doc);
	kl_buf_addch(&line, '\n');
	if (err < 0 || (err = write_line(path, &line)) < 0)
		return err;
	keep_event(store, key, kl_event_ref(event));
	return 0;
}
