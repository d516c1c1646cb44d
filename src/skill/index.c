/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/index.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "repo/refs.h"
#include "skill/index_parts.h"

#define PREFIX "skills-"
#define SUFFIX ".index"
#define KEEP 4			/* files of other trees that stay */

struct kl_index {
	const struct kl_index_head *head;
	const char *base;		/* the same place */
	size_t len;
	bool mapped, built;
	struct kl_buf made;		/* where it could not be kept */
};

void kl_index_free(struct kl_index *ix)
{
	if (!ix)
		return;
	if (ix->mapped)
		munmap((void *)ix->base, ix->len);
	kl_buf_release(&ix->made);
	free(ix);
}

size_t kl_index_size(enum kl_index_part part)
{
	static const size_t size[] = {
		[KL_INDEX_CARDS] = sizeof(struct kl_index_card),
		[KL_INDEX_ROWS] = sizeof(struct kl_index_row),
		[KL_INDEX_POINTS] = sizeof(struct kl_case),
		[KL_INDEX_PRIORS] = sizeof(struct kl_index_prior),
		[KL_INDEX_ITEMS] = sizeof(uint32_t),
		[KL_INDEX_STARTS] = sizeof(uint32_t),
		[KL_INDEX_BYTES] = 1,
	};

	return size[part];
}

/* Four lanes of multiply and rotate: it is to find damage, not malice. */
uint64_t kl_index_checksum(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h[4] = { n, ~(uint64_t)n, 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu }, all = 0, w;

	for (; n >= 32; n -= 32, s += 32)
		for (int i = 0; i < 4; i++) {
			memcpy(&w, s + 8 * i, 8);
			h[i] = (h[i] ^ w) * 0x9fb21c651e98df25u;
			h[i] = h[i] << 29 | h[i] >> 35;
		}
	for (; n; n--, s++)
		h[n % 4] = (h[n % 4] ^ *s) * 0x9fb21c651e98df25u;
	for (int i = 0; i < 4; i++) {
		all = (all ^ h[i]) * 0xd6e8feb86659fd93u;
		all ^= all >> 32;
	}
	return all;
}

/* --- asking ------------------------------------------------------------------- */

static size_t count(const struct kl_index *ix, enum kl_index_part part)
{
	return (size_t)ix->head->part[part].n;
}

static const void *at(const struct kl_index *ix, enum kl_index_part part, size_t i)
{
	return ix->base + ix->head->part[part].at + i * kl_index_size(part);
}

size_t kl_index_count(const struct kl_index *ix)
{
	return count(ix, KL_INDEX_CARDS);
}

const struct kl_index_card *kl_index_card(const struct kl_index *ix, size_t i)
{
	return at(ix, KL_INDEX_CARDS, i);
}

const struct kl_index_row *kl_index_row(const struct kl_index *ix, size_t i)
{
	return at(ix, KL_INDEX_ROWS, i);
}

size_t kl_index_npoints(const struct kl_index *ix)
{
	return count(ix, KL_INDEX_POINTS);
}

const struct kl_case *kl_index_point(const struct kl_index *ix, size_t i)
{
	return at(ix, KL_INDEX_POINTS, i);
}

size_t kl_index_npriors(const struct kl_index *ix)
{
	return count(ix, KL_INDEX_PRIORS);
}

const struct kl_index_prior *kl_index_prior(const struct kl_index *ix, size_t i)
{
	return at(ix, KL_INDEX_PRIORS, i);
}

size_t kl_index_nstrings(const struct kl_index *ix)
{
	return count(ix, KL_INDEX_STARTS);
}

const char *kl_index_string(const struct kl_index *ix, size_t i)
{
	const uint32_t *start = at(ix, KL_INDEX_STARTS, i);

	return at(ix, KL_INDEX_BYTES, *start);
}

const uint32_t *kl_index_items(const struct kl_index *ix, struct kl_index_list l)
{
	return at(ix, KL_INDEX_ITEMS, l.at);
}

bool kl_index_was_built(const struct kl_index *ix)
{
	return ix->built;
}

size_t kl_index_bad(const struct kl_index *ix)
{
	return ix->head->bad;
}

int kl_index_text(struct kl_buf *out, const struct kl_index *ix, struct kl_repo *r, size_t card)
{
	return kl_repo_blob_read(out, r, &kl_index_card(ix, card)->blob, KL_CARD_MAX_BYTES);
}

int kl_index_load(struct kl_card **out, const struct kl_index *ix, struct kl_repo *r, size_t card)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *name =
		kl_asprintf("cards/%s.yaml", kl_index_string(ix, kl_index_card(ix, card)->id));
	int err = kl_index_text(&text, ix, r, card);

	return err < 0 ? err : kl_card_parse(out, name, text.ptr, text.len);
}

/* --- is it whole? ----------------------------------------------------------------- */

static bool list_ok(const struct kl_index *ix, struct kl_index_list l, size_t multiple)
{
	size_t n = count(ix, KL_INDEX_ITEMS);

	return l.at <= n && l.n <= n - l.at && l.n % multiple == 0;
}

static bool card_ok(const struct kl_index *ix, const struct kl_index_card *c)
{
	size_t rows = count(ix, KL_INDEX_ROWS);

	return c->id < kl_index_nstrings(ix) && c->status <= KL_CARD_RETRACTED &&
	       c->rows <= rows && c->nrows <= rows - c->rows && c->prior < kl_index_npriors(ix) &&
	       list_ok(ix, c->sound, 2) && list_ok(ix, c->evidence, 2);
}

static bool parts_ok(const struct kl_index *ix)
{
	const struct kl_index_head *h = ix->head;

	for (int p = 0; p < KL_INDEX_PARTS; p++)
		if (h->part[p].at % 8 || h->part[p].at > ix->len ||
		    h->part[p].n > (ix->len - h->part[p].at) / kl_index_size(p))
			return false;
	return true;
}

/* Numbers that point somewhere; a checksum alone would trust whoever wrote it. */
static bool contents_ok(const struct kl_index *ix)
{
	size_t nstrings = kl_index_nstrings(ix), nbytes = count(ix, KL_INDEX_BYTES);
	const char *bytes = at(ix, KL_INDEX_BYTES, 0);
	const uint32_t *item = at(ix, KL_INDEX_ITEMS, 0), *start = at(ix, KL_INDEX_STARTS, 0);

	if (nbytes && bytes[nbytes - 1])
		return false;
	for (size_t i = 0; i < nstrings; i++)
		if (start[i] >= nbytes)
			return false;
	for (size_t i = 0; i < count(ix, KL_INDEX_ITEMS); i++)
		if (item[i] >= nstrings)
			return false;
	for (size_t i = 0; i < kl_index_npriors(ix); i++) {
		const struct kl_index_prior *p = kl_index_prior(ix, i);

		if (!list_ok(ix, p->needs, 1) || !list_ok(ix, p->requires, 1) ||
		    !list_ok(ix, p->provides, 1) || !list_ok(ix, p->conflicts, 1))
			return false;
	}
	for (size_t i = 0; i < count(ix, KL_INDEX_ROWS); i++) {
		const struct kl_index_row *r = kl_index_row(ix, i);

		if (r->point >= kl_index_npoints(ix) || r->language >= nstrings ||
		    r->platform >= nstrings)
			return false;
	}
	for (size_t i = 0; i < kl_index_count(ix); i++)
		if (!card_ok(ix, kl_index_card(ix, i)))
			return false;
	return true;
}

static bool is_whole(const struct kl_index *ix, const char *tables)
{
	struct kl_index_head h;
	uint64_t sum;

	if (ix->len < sizeof(h))
		return false;
	h = *ix->head;
	if (memcmp(h.magic, KL_INDEX_MAGIC, sizeof(h.magic)) || h.version != KL_INDEX_VERSION ||
	    h.order != KL_INDEX_ORDER || h.length != ix->len ||
	    memcmp(h.tables, tables, sizeof(h.tables)))
		return false;
	/* the rest follows the head, whose own sum is taken with no sum in it */
	sum = h.checksum;
	h.checksum = 0;
	if (sum != (kl_index_checksum(&h, sizeof(h)) ^
		    kl_index_checksum(ix->base + sizeof(h), ix->len - sizeof(h))))
		return false;
	return parts_ok(ix) && contents_ok(ix);
}

/* --- files ---------------------------------------------------------------------------- */

static char *cache_dir(const struct kl_repo *r)
{
	return kl_fs_join(kl_repo_common_dir(r), "klineage/cache");
}

/* NULL: there is none, or none that is whole */
static struct kl_index *map_file(const char *path, const char *tables)
{
	KL_AUTO(kl_index_freep) struct kl_index *ix = kl_calloc(1, sizeof(*ix));
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *p;

	ix->made = (struct kl_buf)KL_BUF_INIT;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct kl_index_head))
		return NULL;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	ix->head = p;
	ix->base = p;
	ix->len = (size_t)st.st_size;
	ix->mapped = true;
	return is_whole(ix, tables) ? kl_steal(&ix) : NULL;
}

static bool is_ours(const char *name)
{
	size_t n = strlen(name), p = strlen(PREFIX), s = strlen(SUFFIX);

	return n > p + s && !strncmp(name, PREFIX, p) && !strcmp(name + n - s, SUFFIX);
}

struct file { char *path; int64_t time; };

static int newest_first(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time ? 1 : -1) : strcmp(x->path, y->path);
}

/* Indexes of other trees, newest first: the first may be built upon, the last need not stay. */
static size_t list_files(struct file **out, const char *dir, const char *but)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	size_t n = 0;

	if (kl_fs_list(&names, dir) < 0)
		kl_error_clear();
	*out = kl_calloc(names.n + 1, sizeof(**out));
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, names.v[i]);
		struct stat st;

		if (!is_ours(names.v[i]) || !strcmp(path, but) || stat(path, &st) < 0)
			continue;
		(*out)[n].time = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		(*out)[n++].path = kl_steal(&path);
	}
	qsort(*out, n, sizeof(**out), newest_first);
	return n;
}

/* --- opening ----------------------------------------------------------------------------- */

/* Its bytes, kept where that can be done: a repository that cannot be written to has none. */
static int keep(struct kl_index **out, struct kl_buf *made, const char *path, const char *tables)
{
	KL_AUTO(kl_index_freep) struct kl_index *ix = NULL;

	if (*path && kl_fs_mkdir_of(path) == 0 && kl_fs_write(path, made->ptr, made->len) == 0)
		ix = map_file(path, tables);
	kl_error_clear();
	if (!ix) {
		ix = kl_calloc(1, sizeof(*ix));
		ix->made = *made;
		*made = (struct kl_buf)KL_BUF_INIT;
		ix->head = (const struct kl_index_head *)ix->made.ptr;
		ix->base = ix->made.ptr;
		ix->len = ix->made.len;
		if (!is_whole(ix, tables))
			KL_BUG("an index that was just made is not whole");
	}
	ix->built = true;
	*out = kl_steal(&ix);
	return 0;
}

static int build(struct kl_index **out, struct kl_library *lib, const struct kl_taxonomy *tax,
		 const char *dir, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf made = KL_BUF_INIT;
	KL_AUTO(kl_index_freep) struct kl_index *base = NULL;
	struct file *file = NULL;
	size_t n = list_files(&file, dir, path);
	int err;

	for (size_t i = 0; i < n && !base; i++)
		base = map_file(file[i].path, tax->digest);
	err = kl_index_build(&made, lib, tax, base);
	if (!err)
		err = keep(out, &made, kl_library_count(lib) ? path : "", tax->digest);
	for (size_t i = 0; i < n; i++) {
		if (!err && i >= KEEP)
			unlink(file[i].path);
		free(file[i].path);
	}
	free(file);
	return err;
}

static int open_tree(struct kl_index **out, struct kl_repo *r, struct kl_library *lib,
		     const git_oid *tree, const struct kl_taxonomy *tax)
{
	KL_AUTO(kl_library_freep) struct kl_library *own = NULL;
	KL_AUTO(kl_freep) char *dir = cache_dir(r);
	KL_AUTO(kl_freep) char *path = NULL;
	char hex[KL_OID_HEX];
	int err;

	kl_oid_hex(hex, tree);
	path = kl_asprintf("%s/" PREFIX "%s" SUFFIX, dir, hex);
	*out = map_file(path, tax->digest);
	if (*out && !memcmp(&(*out)->head->tree, tree, sizeof(*tree)))
		return 0;
	kl_index_free(kl_steal(out));
	if (!lib && (err = kl_library_open(&own, r)) < 0)
		return err;
	return build(out, lib ? lib : own, tax, dir, path);
}

int kl_index_of(struct kl_index **out, struct kl_repo *r, struct kl_library *lib,
		const struct kl_taxonomy *tax)
{
	return open_tree(out, r, lib, kl_library_tree(lib), tax);
}

int kl_index_open(struct kl_index **out, struct kl_repo *r, const struct kl_taxonomy *tax)
{
	const char *ref = kl_repo_config(r, "klineage.skillsRef");
	git_oid tip, tree = { { 0 } };
	int err = kl_refs_get(&tip, r, ref ? ref : KL_LIBRARY_REF);

	if (err == KL_ENOTFOUND)
		kl_error_clear();
	else if (err < 0 || (err = kl_repo_tree_of(&tree, r, &tip)) < 0)
		return err;
	return open_tree(out, r, NULL, &tree, tax);
}
