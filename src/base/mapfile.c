/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mapfile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/vec.h"

#define ORDER 0x01020304u
#define BLOCK ((size_t)1 << 20)
#define STALE_S 3600 /* seconds; the writer of an older temporary file was killed */

void kl_mapfile_release(struct kl_mapfile *mapfile)
{
	if (mapfile->mapped)
		munmap((void *)mapfile->base, mapfile->len);
	kl_buf_release(&mapfile->made);
	mapfile->base = NULL;
	mapfile->len = 0;
	mapfile->mapped = false;
}

static uint64_t stir_bytes(uint64_t lane, const unsigned char *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, 8);
	lane = (lane ^ word) * 0x9fb21c651e98df25u;
	return lane << 29 | lane >> 35;
}

/* Return the checksum of `n` bytes: xor, multiply and rotate in four independent lanes. */
static uint64_t checksum_of(const void *data, size_t n)
{
	const unsigned char *bytes = data;
	uint64_t lanes[4] = { n, ~(uint64_t)n, 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu }, all = 0;
	uint64_t lane0 = lanes[0], lane1 = lanes[1], lane2 = lanes[2], lane3 = lanes[3];

	/* use separate variables: compilers keep them in registers, but an array in memory */
	for (; n >= 32; n -= 32, bytes += 32) {
		lane0 = stir_bytes(lane0, bytes);
		lane1 = stir_bytes(lane1, bytes + 8);
		lane2 = stir_bytes(lane2, bytes + 16);
		lane3 = stir_bytes(lane3, bytes + 24);
	}
	lanes[0] = lane0;
	lanes[1] = lane1;
	lanes[2] = lane2;
	lanes[3] = lane3;
	for (; n; n--, bytes++)
		lanes[n % 4] = (lanes[n % 4] ^ *bytes) * 0x9fb21c651e98df25u;
	for (int i = 0; i < 4; i++) {
		all = (all ^ lanes[i]) * 0xd6e8feb86659fd93u;
		all ^= all >> 32;
	}
	return all;
}

struct summing {
	const char *p;
	size_t n;
	uint64_t *sum; /* the checksum of each block */
};

static void sum_blocks(void *ctx, size_t from, size_t to)
{
	const struct summing *summing = ctx;

	for (size_t i = from; i < to; i++) {
		size_t at = i * BLOCK;

		summing->sum[i] = checksum_of(summing->p + at,
					      summing->n - at < BLOCK ? summing->n - at : BLOCK);
	}
}

/*
 * Return the xor of two checksums: the checksum of the header, with its member `checksum` set to 0,
 * and the checksum of the array that has the checksum of each block after the header.
 */
static uint64_t sum_of(const char *base, size_t len)
{
	size_t rest = len - sizeof(struct kl_mapfile_head), n = (rest + BLOCK - 1) / BLOCK;
	KL_AUTO(kl_freep) uint64_t *sum = kl_calloc(n + 1, sizeof(*sum));
	struct summing summing = { base + sizeof(struct kl_mapfile_head), rest, sum };
	struct kl_mapfile_head head;

	memcpy(&head, base, sizeof(head));
	head.checksum = 0;
	kl_par_for(n, 1, sum_blocks, &summing);
	return checksum_of(&head, sizeof(head)) ^ checksum_of(sum, n * sizeof(*sum));
}

static bool is_whole(const struct kl_mapfile *mapfile, const char *magic, uint32_t version,
		     const char *key)
{
	const struct kl_mapfile_head *head = (const struct kl_mapfile_head *)mapfile->base;

	if (mapfile->len < sizeof(*head) || memcmp(head->magic, magic, sizeof(head->magic)) ||
	    head->version != version || head->order != ORDER || head->length != mapfile->len ||
	    head->key[KL_MAPFILE_KEY - 1])
		return false;
	if (key && strncmp(head->key, key, KL_MAPFILE_KEY - 1))
		return false;
	return head->checksum == sum_of(mapfile->base, mapfile->len);
}

static bool map_file(struct kl_mapfile *mapfile, const char *path)
{
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return false;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return false;
	kl_par_populate(data, (size_t)st.st_size, false);
	*mapfile = (struct kl_mapfile)KL_MAPFILE_INIT;
	mapfile->base = data;
	mapfile->len = (size_t)st.st_size;
	mapfile->mapped = true;
	return true;
}

bool kl_mapfile_open(struct kl_mapfile *out, const char *path, const char *magic, uint32_t version,
		     const char *key)
{
	KL_AUTO(kl_mapfile_release) struct kl_mapfile mapfile = KL_MAPFILE_INIT;

	if (!map_file(&mapfile, path) || !is_whole(&mapfile, magic, version, key))
		return false;
	*out = mapfile;
	mapfile = (struct kl_mapfile)KL_MAPFILE_INIT;
	return true;
}

/* --- writing a cache file ------------------------------------------------------------ */

void kl_mapfile_begin(struct kl_buf *buf, const char *magic, uint32_t version, const char *key)
{
	struct kl_mapfile_head head = { .version = version, .order = ORDER };
	size_t n = strnlen(key, KL_MAPFILE_KEY - 1);

	memcpy(head.magic, magic, sizeof(head.magic));
	memcpy(head.key, key, n);
	kl_buf_clear(buf);
	kl_buf_add(buf, &head, sizeof(head));
}

void kl_mapfile_align(struct kl_buf *buf)
{
	while (buf->len % 8)
		kl_buf_addch(buf, '\0');
}

void kl_mapfile_end(struct kl_buf *buf)
{
	struct kl_mapfile_head *head = (struct kl_mapfile_head *)buf->ptr;

	kl_mapfile_align(buf);
	head = (struct kl_mapfile_head *)buf->ptr;
	head->length = buf->len;
	head->checksum = sum_of(buf->ptr, buf->len);
}

void kl_mapfile_keep(struct kl_mapfile *out, struct kl_buf *buf, const char *path)
{
	const struct kl_mapfile_head *head = (const struct kl_mapfile_head *)buf->ptr;
	char magic[8], key[KL_MAPFILE_KEY];
	uint32_t version = head->version;

	memcpy(magic, head->magic, sizeof(magic));
	memcpy(key, head->key, sizeof(key));
	*out = (struct kl_mapfile)KL_MAPFILE_INIT;
	if (!*path || kl_fs_mkdir_of(path) < 0 || kl_fs_write(path, buf->ptr, buf->len) < 0 ||
	    !kl_mapfile_open(out, path, magic, version, key)) {
		kl_error_clear();
		out->made = *buf;
		*buf = (struct kl_buf)KL_BUF_INIT;
		out->base = out->made.ptr;
		out->len = out->made.len;
	}
	kl_buf_release(buf);
}

/* --- listing and removing cache files -------------------------------------------------- */

struct file {
	char *path;
	int64_t time;
};

static int newest_first(const void *left, const void *right)
{
	const struct file *x = left, *y = right;

	return x->time != y->time ? (x->time < y->time ? 1 : -1) : strcmp(x->path, y->path);
}

static bool is_called(const char *name, const char *prefix, const char *suffix)
{
	size_t len = strlen(name), prefix_len = strlen(prefix), suffix_len = strlen(suffix);

	return len > prefix_len + suffix_len && !strncmp(name, prefix, prefix_len) &&
	       !strcmp(name + len - suffix_len, suffix);
}

void kl_mapfile_others(struct kl_strvec *out, const char *dir, const char *prefix,
		       const char *suffix, const char *but)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) struct file *file = NULL;
	size_t n = 0;

	if (kl_fs_list(&names, dir) < 0)
		kl_error_clear();
	file = kl_calloc(names.n + 1, sizeof(*file));
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);
		struct stat st;

		if (!is_called(names.v[i], prefix, suffix) || !strcmp(path, but) ||
		    stat(path, &st) < 0)
			continue;
		file[n].time = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		file[n++].path = kl_steal(&path);
	}
	qsort(file, n, sizeof(*file), newest_first);
	for (size_t i = 0; i < n; i++)
		kl_strvec_take(out, file[i].path);
}

/* Return true if `name` is an old temporary file of a writer that was killed. */
static bool is_left_over(const char *dir, const char *name, const char *prefix, const char *suffix)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);
	const char *tmp = strstr(name, ".tmp-");
	KL_AUTO(kl_freep) char *whole = tmp ? kl_strndup(name, (size_t)(tmp - name)) : NULL;
	struct stat st;

	return whole && is_called(whole, prefix, suffix) && stat(path, &st) == 0 &&
	       time(NULL) - st.st_mtim.tv_sec > STALE_S;
}

void kl_mapfile_tidy(const struct kl_strvec *others, size_t keep, const char *dir,
		     const char *prefix, const char *suffix)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;

	for (size_t i = keep; i < others->n; i++)
		unlink(others->v[i]);
	if (kl_fs_list(&names, dir) < 0)
		kl_error_clear();
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);

		if (is_left_over(dir, names.v[i], prefix, suffix))
			unlink(path);
	}
}
