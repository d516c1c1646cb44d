/* SPDX-License-Identifier: Apache-2.0 */
#include "event/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "text/digest.h"

#define NAME "klineage/made"
#define HEX 64
#define MAX_FILE ((size_t)1 << 30)
#define MAX_SEARCHES 16 /* more of them are quicker in a sorted list */

void kl_own_release(struct kl_own *own)
{
	free(own->digest);
	if (own->text)
		munmap((void *)own->text, own->len);
	*own = (struct kl_own){ 0 };
}

int kl_own_load(struct kl_own *out, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(kl_repo_common_dir(repo), NAME);
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *text;

	*out = (struct kl_own){ 0 };
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return kl_error_errno("cannot read '%s'", path);
	if (!S_ISREG(st.st_mode) || (uintmax_t)st.st_size > MAX_FILE)
		return kl_error(KL_EINVALID, "'%s' is not a regular file of at most %zu bytes",
				path, MAX_FILE);
	if (!st.st_size)
		return 0;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return kl_error_errno("cannot read '%s'", path);
	out->text = text;
	out->len = (size_t)st.st_size;
	return 0;
}

/*
 * Return the next line of HEX characters from *at on, and set *at behind it; NULL if there is none.
 * A last line without a newline is incomplete: its writer was killed.
 */
static const char *next_line(const struct kl_own *own, size_t *at)
{
	while (*at + HEX < own->len) {
		const char *line = own->text + *at;
		const char *nl = line[HEX] == '\n' ? line + HEX :
						     memchr(line, '\n', own->len - *at);

		if (!nl)
			return NULL;
		*at += (size_t)(nl - line) + 1;
		if (nl == line + HEX)
			return line;
	}
	return NULL;
}

static int by_bytes(const void *left, const void *right)
{
	return memcmp(left, right, 32);
}

static void sort_digests(struct kl_own *own)
{
	size_t at = 0;
	const char *line;

	own->digest = kl_calloc(own->len / (HEX + 1) + 1, sizeof(*own->digest));
	while ((line = next_line(own, &at)))
		own->n += kl_digest_bytes(own->digest[own->n], HEX / 2, line);
	if (own->n)
		qsort(own->digest, own->n, sizeof(*own->digest), by_bytes);
}

/* Search the file itself, which is quicker than sorting it for the sake of one id. */
static bool is_in_text(const struct kl_own *own, const char *hex)
{
	size_t at = 0;
	const char *line;

	while ((line = next_line(own, &at)))
		if (!memcmp(line, hex, HEX))
			return true;
	return false;
}

bool kl_own_has(struct kl_own *own, const char *hex)
{
	uint8_t digest[32];

	if (!own->text || strlen(hex) != HEX || !kl_digest_bytes(digest, sizeof(digest), hex))
		return false;
	if (!own->digest && own->searches++ < MAX_SEARCHES)
		return is_in_text(own, hex);
	if (!own->digest)
		sort_digests(own);
	return own->n && bsearch(digest, own->digest, own->n, sizeof(digest), by_bytes);
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
