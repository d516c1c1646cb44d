/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/headers.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "text/digest.h"

#define MAX_FILE ((size_t)16 << 20)
#define MAX_BYTES ((size_t)512 << 20)
#define MAX_FILES 50000
#define MAX_DEPTH 32
#define SHOWN 12

static void headers_free(void *data)
{
	struct kl_headers *headers = data;

	free(headers->dir);
	free(headers);
}

void kl_headers_init(struct kl_map *known)
{
	known->free_value = headers_free;
}

/*
 * -- computing the digest of a directory ---------------------------------------------------------
 */

struct reading {
	struct kl_digest *digest;
	size_t bytes, files;
};

static int too_much(const char *dir)
{
	return kl_error(KL_ECANNOT,
			"'%s' is too large for a directory of headers (limits: %d files, %zu MiB)",
			dir, MAX_FILES, MAX_BYTES >> 20);
}

static int read_dir(struct reading *reading, const char *dir, const char *inside, int depth);

static int read_file(struct reading *reading, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	int err = kl_fs_read(&buf, path, MAX_FILE);

	if (err < 0)
		return err;
	reading->bytes += buf.len;
	kl_digest_add(reading->digest, &buf.len, sizeof(buf.len));
	kl_digest_add(reading->digest, buf.ptr, buf.len);
	return 0;
}

static int read_entry(struct reading *reading, const char *path, const char *inside, int depth)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return kl_error_errno("cannot read '%s'", path);
	if (++reading->files > MAX_FILES || reading->bytes > MAX_BYTES || depth > MAX_DEPTH)
		return too_much(path);
	kl_digest_adds(reading->digest, inside);
	if (S_ISDIR(st.st_mode))
		return read_dir(reading, path, inside, depth + 1);
	if (S_ISREG(st.st_mode))
		return read_file(reading, path);
	/*
	 * for a symlink, add only the path of its target, because a target inside the directory is
	 * added where it lies, and the jail hides a target outside the directory
	 */
	n = S_ISLNK(st.st_mode) ? readlink(path, target, sizeof(target)) : 0;
	kl_digest_add(reading->digest, target, n > 0 ? (size_t)n : 0);
	return 0;
}

static int read_dir(struct reading *reading, const char *dir, const char *inside, int depth)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = kl_fs_list(&names, dir);

	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);
		KL_AUTO(kl_freep) char *below = kl_fs_join(inside, names.v[i]);

		err = read_entry(reading, path, below, depth);
	}
	return err;
}

/*
 * -- finding the configured directories ----------------------------------------------------------
 */

static int not_set(const char *name)
{
	return kl_error_hint(kl_error(KL_ECANNOT,
				      "the contract requires the headers '%s', but their "
				      "directory is not configured",
				      name),
			     "git config klineage.%s.headers <directory>", name);
}

static int find_header(struct kl_map *known, struct kl_repo *repo, const char *name)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("klineage.%s.headers", name);
	const char *dir = repo ? kl_repo_config(repo, key) : NULL;
	struct reading reading = { .digest = NULL };
	struct kl_headers *headers;
	int err;

	if (!dir || !*dir)
		return not_set(name);
	if (dir[0] != '/' || !kl_fs_is_dir(dir))
		return kl_error(KL_ECANNOT, "%s: '%s' is not a directory (use an absolute path)",
				key, dir);
	headers = kl_calloc(1, sizeof(*headers));
	headers->dir = realpath(dir, NULL);
	reading.digest = kl_digest_new();
	err = headers->dir ? read_dir(&reading, headers->dir, "", 0) :
			     kl_error_errno("cannot resolve '%s'", dir);
	kl_digest_end(reading.digest, headers->digest);
	if (err < 0)
		headers_free(headers);
	else
		kl_map_put(known, name, headers);
	if (err == KL_EIO || err == KL_EINVALID)
		return kl_error(KL_ECANNOT, "%s: %s", key, kl_error_last());
	return err;
}

int kl_headers_find(struct kl_map *known, struct kl_repo *repo, const struct kl_strvec *names)
{
	int err = 0;

	for (size_t i = 0; !err && i < names->n; i++)
		if (!kl_map_get(known, names->v[i]))
			err = find_header(known, repo, names->v[i]);
	return err;
}

/*
 * -- using the directories in a compiler run -----------------------------------------------------
 */

void kl_headers_flags(struct kl_strvec *argv, const struct kl_map *known,
		      const struct kl_strvec *names)
{
	for (size_t i = 0; known && i < names->n; i++) {
		const struct kl_headers *headers = kl_map_get(known, names->v[i]);

		kl_strvec_push(argv, "-isystem");
		kl_strvec_push(argv, headers->dir);
	}
}

void kl_headers_readable(const char *out[KL_HEADERS_READABLE], const char *toolkit,
			 const struct kl_map *known, const struct kl_strvec *names)
{
	size_t n = 0;

	if (toolkit)
		out[n++] = toolkit;
	for (size_t i = 0; known && i < names->n && i < KL_HEADERS_MAX; i++) {
		const struct kl_headers *headers = kl_map_get(known, names->v[i]);

		out[n++] = headers->dir;
	}
	out[n] = NULL;
}

void kl_headers_print(char *to, size_t size, const struct kl_map *known,
		      const struct kl_strvec *names)
{
	for (size_t i = 0; i < names->n; i++) {
		const struct kl_headers *headers = kl_map_get(known, names->v[i]);
		size_t len = strlen(to);

		snprintf(to + len, size - len, ", %s %.*s", names->v[i], SHOWN, headers->digest);
	}
}
