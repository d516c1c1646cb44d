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

static void headers_free(void *p)
{
	struct kl_headers *h = p;

	free(h->dir);
	free(h);
}

void kl_headers_init(struct kl_map *known)
{
	known->free_value = headers_free;
}

/*
 * -- what is in them ----------------------------------------------------------------------------
 */

struct reading {
	struct kl_digest *digest;
	size_t bytes, files;
};

static int too_much(const char *dir)
{
	return kl_error(KL_ECANNOT,
			"'%s' has more than %d files or %zu MiB: no directory of headers", dir,
			MAX_FILES, MAX_BYTES >> 20);
}

static int read_dir(struct reading *r, const char *dir, const char *inside, int depth);

static int read_file(struct reading *r, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	int err = kl_fs_read(&b, path, MAX_FILE);

	if (err < 0)
		return err;
	r->bytes += b.len;
	kl_digest_add(r->digest, &b.len, sizeof(b.len));
	kl_digest_add(r->digest, b.ptr, b.len);
	return 0;
}

static int read_entry(struct reading *r, const char *path, const char *inside, int depth)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0)
		return kl_error_errno("cannot read '%s'", path);
	if (++r->files > MAX_FILES || r->bytes > MAX_BYTES || depth > MAX_DEPTH)
		return too_much(path);
	kl_digest_adds(r->digest, inside);
	if (S_ISDIR(st.st_mode))
		return read_dir(r, path, inside, depth + 1);
	if (S_ISREG(st.st_mode))
		return read_file(r, path);
	/* what a link points to inside is read there; outside, the jail does not show it */
	n = S_ISLNK(st.st_mode) ? readlink(path, target, sizeof(target)) : 0;
	kl_digest_add(r->digest, target, n > 0 ? (size_t)n : 0);
	return 0;
}

static int read_dir(struct reading *r, const char *dir, const char *inside, int depth)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = kl_fs_list(&names, dir);

	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);
		KL_AUTO(kl_freep) char *below = kl_fs_join(inside, names.v[i]);

		err = read_entry(r, path, below, depth);
	}
	return err;
}

/*
 * -- finding them ---------------------------------------------------------------------------------
 */

static int not_set(const char *name)
{
	return kl_error_hint(kl_error(KL_ECANNOT,
				      "the contract wants the headers '%s', and where they lie "
				      "is not known here",
				      name),
			     "git config klineage.%s.headers <directory>", name);
}

static int find_header(struct kl_map *known, struct kl_repo *repo, const char *name)
{
	KL_AUTO(kl_freep) char *key = kl_asprintf("klineage.%s.headers", name);
	const char *dir = repo ? kl_repo_config(repo, key) : NULL;
	struct reading r = { .digest = NULL };
	struct kl_headers *h;
	int err;

	if (!dir || !*dir)
		return not_set(name);
	if (dir[0] != '/' || !kl_fs_is_dir(dir))
		return kl_error(KL_ECANNOT, "%s: '%s' is no directory (an absolute path is wanted)",
				key, dir);
	h = kl_calloc(1, sizeof(*h));
	h->dir = realpath(dir, NULL);
	r.digest = kl_digest_new();
	err = h->dir ? read_dir(&r, h->dir, "", 0) : kl_error_errno("cannot resolve '%s'", dir);
	kl_digest_end(r.digest, h->digest);
	if (err < 0)
		headers_free(h);
	else
		kl_map_put(known, name, h);
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
 * -- using them ------------------------------------------------------------------------------------
 */

void kl_headers_flags(struct kl_strvec *argv, const struct kl_map *known,
		      const struct kl_strvec *names)
{
	for (size_t i = 0; known && i < names->n; i++) {
		const struct kl_headers *h = kl_map_get(known, names->v[i]);

		kl_strvec_push(argv, "-isystem");
		kl_strvec_push(argv, h->dir);
	}
}

void kl_headers_readable(const char *out[KL_HEADERS_READABLE], const char *toolkit,
			 const struct kl_map *known, const struct kl_strvec *names)
{
	size_t n = 0;

	if (toolkit)
		out[n++] = toolkit;
	for (size_t i = 0; known && i < names->n && i < KL_HEADERS_MAX; i++) {
		const struct kl_headers *h = kl_map_get(known, names->v[i]);

		out[n++] = h->dir;
	}
	out[n] = NULL;
}

void kl_headers_say(char *to, size_t size, const struct kl_map *known,
		    const struct kl_strvec *names)
{
	for (size_t i = 0; i < names->n; i++) {
		const struct kl_headers *h = kl_map_get(known, names->v[i]);
		size_t len = strlen(to);

		snprintf(to + len, size - len, ", %s %.*s", names->v[i], SHOWN, h->digest);
	}
}
