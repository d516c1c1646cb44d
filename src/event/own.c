/* SPDX-License-Identifier: Apache-2.0 */
#include "event/own.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "text/digest.h"

#define NAME "klineage/made"
#define HEX 64
#define MAX_FILE ((size_t)1 << 30)

void kl_own_release(struct kl_own *own)
{
	free(own->digest);
	*own = (struct kl_own){ 0 };
}

static int by_bytes(const void *left, const void *right)
{
	return memcmp(left, right, 32);
}

int kl_own_load(struct kl_own *out, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(kl_repo_common_dir(repo), NAME);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	*out = (struct kl_own){ 0 };
	if (!kl_fs_exists(path))
		return 0;
	if ((err = kl_fs_read(&text, path, MAX_FILE)) < 0)
		return err;
	out->digest = kl_calloc(text.len / (HEX + 1) + 1, sizeof(*out->digest));
	for (const char *line = text.ptr; *line;) {
		size_t n = strcspn(line, "\n");

		/* a last line without a newline is incomplete: its writer was killed */
		if (n == HEX && line[n] && kl_digest_bytes(out->digest[out->n], HEX / 2, line))
			out->n++;
		line += n + (line[n] == '\n');
	}
	if (out->n)
		qsort(out->digest, out->n, sizeof(*out->digest), by_bytes);
	return 0;
}

bool kl_own_has(const struct kl_own *own, const char *hex)
{
	uint8_t digest[32];

	return strlen(hex) == HEX && kl_digest_bytes(digest, sizeof(digest), hex) && own->n &&
	       bsearch(digest, own->digest, own->n, sizeof(digest), by_bytes);
}

/* Append the lines. If an earlier writer was killed within a line, end that line first. */
static int append_lines(int fd, const char *path, const struct kl_buf *lines)
{
	struct stat st;
	char last = '\n';

	/* closing the descriptor releases the lock */
	if (flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0 ||
	    (st.st_size && pread(fd, &last, 1, st.st_size - 1) != 1))
		return kl_error_errno("cannot read '%s'", path);
	if ((last != '\n' && write(fd, "\n", 1) != 1) ||
	    write(fd, lines->ptr, lines->len) != (ssize_t)lines->len || fsync(fd) < 0)
		return kl_error_errno("cannot write '%s'", path);
	return 0;
}

int kl_own_add(struct kl_repo *repo, const char *const *hex, size_t n)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(kl_repo_common_dir(repo), NAME);
	KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;
	KL_AUTO(kl_closep) int fd = -1;
	int err;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		kl_buf_addf(&lines, "%s\n", hex[i]);
	if ((err = KL_FAULT("own-add")) < 0 || (err = kl_fs_mkdir_of(path)) < 0)
		return err;
	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return kl_error_errno("cannot open '%s'", path);
	err = append_lines(fd, path, &lines);
	return err < 0 ? err : KL_FAULT("own-added");
}

int kl_own_add_one(struct kl_repo *repo, const char *hex)
{
	return kl_own_add(repo, &hex, 1);
}
