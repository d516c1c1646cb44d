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
#define STALE_S 3600 /* nobody writes for so long */

void kl_mapfile_release(struct kl_mapfile *m)
{
	if (m->mapped)
		munmap((void *)m->base, m->len);
	kl_buf_release(&m->made);
	m->base = NULL;
	m->len = 0;
	m->mapped = false;
}

static uint64_t stir_bytes(uint64_t h, const unsigned char *s)
{
	uint64_t w;

	memcpy(&w, s, 8);
	h = (h ^ w) * 0x9fb21c651e98df25u;
	return h << 29 | h >> 35;
}

/* Four lanes of multiply and rotate. */
static uint64_t checksum_of(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h[4] = { n, ~(uint64_t)n, 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu }, all = 0;
	uint64_t a = h[0], b = h[1], c = h[2], d = h[3];

	/* in registers: compilers leave an array in memory */
	for (; n >= 32; n -= 32, s += 32) {
		a = stir_bytes(a, s);
		b = stir_bytes(b, s + 8);
		c = stir_bytes(c, s + 16);
		d = stir_bytes(d, s + 24);
	}
	h[0] = a;
	h[1] = b;
	h[2] = c;
	h[3] = d;
	for (; n; n--, s++)
		h[n % 4] = (h[n % 4] ^ *s) * 0x9fb21c651e98df25u;
	for (int i = 0; i < 4; i++) {
		all = (all ^ h[i]) * 0xd6e8feb86659fd93u;
		all ^= all >> 32;
	}
	return all;
}

struct summing {
	const char *p;
	size_t n;
	uint64_t *sum; /* of each block */
};

static void sum_blocks(void *ctx, size_t from, size_t to)
{
	const struct summing *s = ctx;

	for (size_t i = from; i < to; i++) {
		size_t at = i * BLOCK;

		s->sum[i] = checksum_of(s->p + at, s->n - at < BLOCK ? s->n - at : BLOCK);
	}
}

/* over the head without its sum, and over the sums of the rest's blocks */
static uint64_t sum_of(const char *base, size_t len)
{
	size_t rest = len - sizeof(struct kl_mapfile_head), n = (rest + BLOCK - 1) / BLOCK;
	KL_AUTO(kl_freep) uint64_t *sum = kl_calloc(n + 1, sizeof(*sum));
	struct summing s = { base + sizeof(struct kl_mapfile_head), rest, sum };
	struct kl_mapfile_head h;

	memcpy(&h, base, sizeof(h));
	h.checksum = 0;
	kl_par_for(n, 1, sum_blocks, &s);
	return checksum_of(&h, sizeof(h)) ^ checksum_of(sum, n * sizeof(*sum));
}

static bool is_whole(const struct kl_mapfile *m, const char *magic, uint32_t version,
		     const char *key)
{
	const struct kl_mapfile_head *h = (const struct kl_mapfile_head *)m->base;

	if (m->len < sizeof(*h) || memcmp(h->magic, magic, sizeof(h->magic)) ||
	    h->version != version || h->order != ORDER || h->length != m->len ||
	    h->key[KL_MAPFILE_KEY - 1])
		return false;
	if (key && strncmp(h->key, key, KL_MAPFILE_KEY - 1))
		return false;
	return h->checksum == sum_of(m->base, m->len);
}

static bool map_file(struct kl_mapfile *m, const char *path)
{
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	kl_par_populate(p, (size_t)st.st_size, false);
	*m = (struct kl_mapfile)KL_MAPFILE_INIT;
	m->base = p;
	m->len = (size_t)st.st_size;
	m->mapped = true;
	return true;
}

bool kl_mapfile_open(struct kl_mapfile *out, const char *path, const char *magic, uint32_t version,
		     const char *key)
{
	KL_AUTO(kl_mapfile_release) struct kl_mapfile m = KL_MAPFILE_INIT;

	if (!map_file(&m, path) || !is_whole(&m, magic, version, key))
		return false;
	*out = m;
	m = (struct kl_mapfile)KL_MAPFILE_INIT;
	return true;
}

/* --- making one --------------------------------------------------------------------- */

void kl_mapfile_begin(struct kl_buf *b, const char *magic, uint32_t version, const char *key)
{
	struct kl_mapfile_head h = { .version = version, .order = ORDER };
	size_t n = strnlen(key, KL_MAPFILE_KEY - 1);

	memcpy(h.magic, magic, sizeof(h.magic));
	memcpy(h.key, key, n);
	kl_buf_clear(b);
	kl_buf_add(b, &h, sizeof(h));
}

void kl_mapfile_align(struct kl_buf *b)
{
	while (b->len % 8)
		kl_buf_addch(b, '\0');
}

void kl_mapfile_end(struct kl_buf *b)
{
	struct kl_mapfile_head *h = (struct kl_mapfile_head *)b->ptr;

	kl_mapfile_align(b);
	h = (struct kl_mapfile_head *)b->ptr;
	h->length = b->len;
	h->checksum = sum_of(b->ptr, b->len);
}

void kl_mapfile_keep(struct kl_mapfile *out, struct kl_buf *b, const char *path)
{
	const struct kl_mapfile_head *h = (const struct kl_mapfile_head *)b->ptr;
	char magic[8], key[KL_MAPFILE_KEY];
	uint32_t version = h->version;

	memcpy(magic, h->magic, sizeof(magic));
	memcpy(key, h->key, sizeof(key));
	*out = (struct kl_mapfile)KL_MAPFILE_INIT;
	if (!*path || kl_fs_mkdir_of(path) < 0 || kl_fs_write(path, b->ptr, b->len) < 0 ||
	    !kl_mapfile_open(out, path, magic, version, key)) {
		kl_error_clear();
		out->made = *b;
		*b = (struct kl_buf)KL_BUF_INIT;
		out->base = out->made.ptr;
		out->len = out->made.len;
	}
	kl_buf_release(b);
}

/* --- files of one kind ----------------------------------------------------------------- */

struct file {
	char *path;
	int64_t time;
};

static int newest_first(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time ? 1 : -1) : strcmp(x->path, y->path);
}

static bool is_called(const char *name, const char *prefix, const char *suffix)
{
	size_t n = strlen(name), p = strlen(prefix), s = strlen(suffix);

	return n > p + s && !strncmp(name, prefix, p) && !strcmp(name + n - s, suffix);
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

/* What was being written by somebody who was killed. */
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
