/* SPDX-License-Identifier: Apache-2.0 */
#include "event/segment_log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "event/segment.h"
#include "text/name.h"

#define DIRECTORY "klineage/campaign"
#define SUFFIX ".jsonl"
#define LOCK_MS (60 * 1000)
#define MAX_LOG ((size_t)1 << 30)
#define TAIL 65536

static char *log_path(struct kl_repo *repo, const char *campaign)
{
	return kl_asprintf("%s/" DIRECTORY "/%s" SUFFIX, kl_repo_common_dir(repo), campaign);
}

/* Return the length of the complete lines: a line without a newline at its end is not complete. */
static int complete_bytes(size_t *out, int fd, size_t size, const char *path)
{
	char tail[TAIL];

	while (size) {
		size_t n = size < TAIL ? size : TAIL;
		const char *nl;

		if (pread(fd, tail, n, (off_t)(size - n)) != (ssize_t)n)
			return kl_error_errno("cannot read '%s'", path);
		nl = memrchr(tail, '\n', n);
		if (nl) {
			*out = size - n + (size_t)(nl - tail) + 1;
			return 0;
		}
		size -= n;
	}
	*out = 0;
	return 0;
}

static int open_log(struct kl_segment_log *log)
{
	struct stat st;
	int err;

	log->fd = open(log->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (log->fd < 0)
		return kl_error_errno("cannot open '%s'", log->path);
	if (fstat(log->fd, &st) < 0)
		return kl_error_errno("cannot read '%s'", log->path);
	if ((err = complete_bytes(&log->bytes, log->fd, (size_t)st.st_size, log->path)) < 0)
		return err;
	if (log->bytes != (size_t)st.st_size && ftruncate(log->fd, (off_t)log->bytes) < 0)
		return kl_error_errno("cannot write '%s'", log->path);
	return 0;
}

int kl_segment_log_lock(struct kl_segment_log *log, struct kl_repo *repo, const char *workload,
			const char *name)
{
	KL_AUTO(kl_freep) char *campaign = kl_asprintf("%s/%s", workload, name);
	KL_AUTO(kl_freep) char *lock = NULL;
	int err;

	*log = (struct kl_segment_log){ .fd = -1, .lock = KL_LOCK_INIT };
	log->path = log_path(repo, campaign);
	lock = kl_asprintf("%s.lock", log->path);
	if ((err = kl_fs_mkdir_of(log->path)) < 0 ||
	    (err = kl_lock_take(&log->lock, lock, LOCK_MS)) < 0 || (err = open_log(log)) < 0) {
		kl_segment_log_unlock(log);
		return err;
	}
	return 0;
}

void kl_segment_log_unlock(struct kl_segment_log *log)
{
	struct stat st;

	if (log->fd >= 0) {
		/* the lock is held, so no other writer has the file open */
		if (!fstat(log->fd, &st) && !st.st_size)
			(void)!unlink(log->path);
		close(log->fd);
	}
	kl_lock_release(&log->lock);
	free(log->path);
	*log = (struct kl_segment_log){ .fd = -1, .lock = KL_LOCK_INIT };
}

/* Sync the directory, so that a new log survives a power failure, too. */
static int sync_directory(const char *path)
{
	KL_AUTO(kl_freep) char *dir = kl_strndup(path, (size_t)(strrchr(path, '/') - path));
	KL_AUTO(kl_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? kl_error_errno("cannot sync '%s'", dir) : 0;
}

static int write_all(int fd, const char *data, size_t len, const char *path)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n <= 0)
			return kl_error_errno("cannot write '%s'", path);
		data += n;
		len -= (size_t)n;
	}
	return fdatasync(fd) < 0 ? kl_error_errno("cannot write '%s'", path) : 0;
}

int kl_segment_log_append(struct kl_segment_log *log, const void *lines, size_t len)
{
	int err = KL_FAULT("segment-append");

	if (err < 0)
		return err;
	if ((err = write_all(log->fd, lines, len, log->path)) < 0) {
		/* half of a line must not stay before the lines of the next attempt */
		(void)!ftruncate(log->fd, (off_t)log->bytes);
		return err;
	}
	if (!log->bytes && (err = sync_directory(log->path)) < 0)
		return err;
	log->bytes += len;
	return KL_FAULT("segment-appended");
}

int kl_segment_log_read(struct kl_buf *out, const struct kl_segment_log *log)
{
	size_t before = out->len;
	int err = kl_fs_read(out, log->path, MAX_LOG);

	if (!err && out->len - before != log->bytes)
		err = kl_error(KL_EIO, "'%s' changed while it was locked", log->path);
	return err;
}

int kl_segment_log_clear(struct kl_segment_log *log)
{
	int err = KL_FAULT("segment-clear");

	if (err < 0)
		return err;
	if (ftruncate(log->fd, 0) < 0)
		return kl_error_errno("cannot write '%s'", log->path);
	log->bytes = 0;
	return KL_FAULT("segment-cleared");
}

/* --- reading without the lock --------------------------------------------------------- */

int kl_segment_log_peek(struct kl_buf *out, bool *torn, struct kl_repo *repo, const char *campaign)
{
	KL_AUTO(kl_freep) char *path = log_path(repo, campaign);
	size_t before = out->len;
	const char *nl;
	int err;

	*torn = false;
	if (!kl_fs_exists(path))
		return 0;
	err = kl_fs_read(out, path, MAX_LOG);
	if (err == KL_ENOTFOUND) { /* it became a segment meanwhile */
		kl_error_clear();
		return 0;
	}
	if (err < 0 || out->len == before)
		return err;
	nl = memrchr(out->ptr + before, '\n', out->len - before);
	*torn = !nl || nl + 1 != out->ptr + out->len;
	out->len = nl ? (size_t)(nl + 1 - out->ptr) : before;
	out->ptr[out->len] = '\0';
	return 0;
}

int kl_segment_log_list(struct kl_strvec *out, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *top = kl_fs_join(kl_repo_common_dir(repo), DIRECTORY);
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	int err = kl_fs_exists(top) ? kl_fs_list(&workloads, top) : 0;

	for (size_t i = 0; !err && i < workloads.n; i++) {
		KL_AUTO(kl_freep) char *dir = kl_fs_join(top, workloads.v[i]);
		KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;

		if (!kl_name_is_slug(workloads.v[i]) || !kl_fs_is_dir(dir) ||
		    (err = kl_fs_list(&names, dir)) < 0)
			continue;
		for (size_t k = 0; k < names.n; k++) {
			size_t len = strlen(names.v[k]), suffix = strlen(SUFFIX);
			KL_AUTO(kl_freep) char *name = NULL;

			if (len <= suffix || strcmp(names.v[k] + len - suffix, SUFFIX))
				continue;
			name = kl_strndup(names.v[k], len - suffix);
			if (kl_name_is_slug(name))
				kl_strvec_pushf(out, "%s/%s", workloads.v[i], name);
		}
	}
	return err;
}
