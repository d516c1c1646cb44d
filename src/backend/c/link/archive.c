/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/link/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

#define MAGIC "!<arch>\n"
#define MAGIC_BYTES ((size_t)8)
#define HEADER_BYTES ((size_t)60)
#define SIZE_AT 48 /* offset of the member's size in its header; the size has ten digits */
#define SIZE_DIGITS 10

struct entry {
	const char *symbol; /* points into the mapped file */
	size_t at;          /* position of the member's header in the file */
};

struct kl_archive {
	char *path;
	unsigned char *bytes; /* NULL if not mapped */
	size_t len;
	struct entry *entry; /* sorted by symbol */
	size_t n;
};

void kl_archive_free(struct kl_archive *archive)
{
	if (!archive)
		return;
	if (archive->bytes)
		munmap(archive->bytes, archive->len);
	free(archive->entry);
	free(archive->path);
	free(archive);
}

const void *kl_archive_bytes(const struct kl_archive *archive, size_t *len)
{
	*len = archive->len;
	return archive->bytes;
}

static int bad_archive(const struct kl_archive *archive)
{
	return kl_error(KL_EINVALID, "'%s' is not a library with a symbol table", archive->path);
}

static int map_file(struct kl_archive *archive)
{
	KL_AUTO(kl_closep) int fd = open(archive->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	if (fd < 0 && errno == ENOENT)
		return kl_error(KL_ENOTFOUND, "there is no '%s'", archive->path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return kl_error_errno("cannot open '%s'", archive->path);
	if ((size_t)st.st_size < MAGIC_BYTES + HEADER_BYTES)
		return bad_archive(archive);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return kl_error_errno("cannot map '%s'", archive->path);
	archive->bytes = map;
	archive->len = (size_t)st.st_size;
	return memcmp(map, MAGIC, MAGIC_BYTES) ? bad_archive(archive) : 0;
}

/*
 * Find the bytes of the member whose header is at `at`. Return false if the member extends beyond
 * the file.
 */
static bool find_member(const struct kl_archive *archive, size_t at, const unsigned char **data,
			size_t *len)
{
	char digits[SIZE_DIGITS + 1] = { 0 };
	char *end;

	if (at < MAGIC_BYTES || at > archive->len || archive->len - at < HEADER_BYTES)
		return false;
	memcpy(digits, archive->bytes + at + SIZE_AT, SIZE_DIGITS);
	*len = strtoull(digits, &end, 10);
	*data = archive->bytes + at + HEADER_BYTES;
	return end != digits && *len <= archive->len - at - HEADER_BYTES;
}

static uint32_t big_endian(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int by_symbol(const void *left, const void *right)
{
	const struct entry *entry = left, *other = right;
	int order = strcmp(entry->symbol, other->symbol);

	return order ? order : (entry->at > other->at) - (entry->at < other->at);
}

/*
 * Read the table of symbols, which is the first member: the number of symbols, then for each the
 * position of its member, then all names.
 */
static int read_symbols(struct kl_archive *archive)
{
	const unsigned char *data;
	const char *name, *end;
	size_t len, n;

	if (archive->bytes[MAGIC_BYTES] != '/' || archive->bytes[MAGIC_BYTES + 1] != ' ' ||
	    !find_member(archive, MAGIC_BYTES, &data, &len) || len < 4)
		return bad_archive(archive);
	n = big_endian(data);
	if (n > (len - 4) / 5)
		return bad_archive(archive);
	archive->entry = kl_calloc(n + 1, sizeof(*archive->entry));
	name = (const char *)data + 4 + 4 * n;
	end = (const char *)data + len;
	for (archive->n = 0; archive->n < n; archive->n++) {
		const char *nul = memchr(name, 0, (size_t)(end - name));

		if (!nul)
			return bad_archive(archive);
		archive->entry[archive->n].symbol = name;
		archive->entry[archive->n].at = big_endian(data + 4 + 4 * archive->n);
		name = nul + 1;
	}
	qsort(archive->entry, n, sizeof(*archive->entry), by_symbol);
	return 0;
}

int kl_archive_open(struct kl_archive **out, const char *path)
{
	KL_AUTO(kl_archive_freep) struct kl_archive *archive = kl_calloc(1, sizeof(*archive));
	int err;

	archive->path = kl_strdup(path);
	if ((err = map_file(archive)) < 0 || (err = read_symbols(archive)) < 0)
		return err;
	*out = kl_steal(&archive);
	return 0;
}

size_t kl_archive_find(const struct kl_archive *archive, const char *symbol)
{
	size_t lo = 0, hi = archive->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (strcmp(archive->entry[mid].symbol, symbol) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < archive->n && !strcmp(archive->entry[lo].symbol, symbol) ?
		       archive->entry[lo].at :
		       0;
}

int kl_archive_member(struct kl_object **out, const struct kl_archive *archive, size_t at)
{
	const unsigned char *data;
	size_t len;

	if (!find_member(archive, at, &data, &len))
		return kl_error(KL_EINVALID, "'%s' is damaged", archive->path);
	return kl_object_parse(out, archive->path, data, len);
}
