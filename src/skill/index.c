/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/index.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/par.h"
#include "repo/refs.h"
#include "skill/index_parts.h"

#define PREFIX "skills-"
#define SUFFIX ".index"
#define KEEP 4			/* files of other trees that stay */
#define GRAIN 32768
#define MAX_LOG2 4096		/* of an extent: the product of all of a card's dims */

struct kl_index {
	struct kl_mapfile file;
	const struct kl_index_head *head;
	bool built;
};

void kl_index_free(struct kl_index *ix)
{
	if (!ix)
		return;
	kl_mapfile_release(&ix->file);
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

/* --- asking ------------------------------------------------------------------- */

static size_t count(const struct kl_index *ix, enum kl_index_part part)
{
	return (size_t)ix->head->part[part].n;
}

static const void *at(const struct kl_index *ix, enum kl_index_part part, size_t i)
{
	return ix->file.base + ix->head->part[part].at + i * kl_index_size(part);
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
	return (size_t)ix->head->bad;
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

	return c->id < kl_index_nstrings(ix) && c->status <= KL_CARD_RETRACTED && c->passed <= c->trials &&
	       c->rows <= rows && c->nrows <= rows - c->rows && c->prior < kl_index_npriors(ix) &&
	       list_ok(ix, c->sound, 2) && list_ok(ix, c->evidence, 2);
}

static bool point_ok(const struct kl_case *c, const struct kl_taxonomy *tax)
{
	for (size_t i = 0; i < KL_TAX_ROLES; i++)
		if (!(c->log2[i] >= 0 && c->log2[i] < MAX_LOG2))
			return false;
	return c->op >= -1 && c->op < (int32_t)tax->nop;
}

static bool parts_ok(const struct kl_index *ix)
{
	const struct kl_index_head *h = ix->head;
	size_t len = ix->file.len;

	for (int p = 0; p < KL_INDEX_PARTS; p++)
		if (h->part[p].at % 8 || h->part[p].at > len ||
		    h->part[p].n > (len - h->part[p].at) / kl_index_size(p))
			return false;
	return true;
}

static bool row_ok(const struct kl_index *ix, const struct kl_index_row *r)
{
	return r->point < kl_index_npoints(ix) && r->language < kl_index_nstrings(ix) &&
	       r->platform < kl_index_nstrings(ix);
}

struct checking { const struct kl_index *ix; bool bad; };

static void say_bad(struct checking *c)
{
	__atomic_store_n(&c->bad, true, __ATOMIC_RELAXED);
}

static void check_items(void *ctx, size_t from, size_t to)
{
	struct checking *c = ctx;
	const uint32_t *item = at(c->ix, KL_INDEX_ITEMS, 0);
	size_t n = kl_index_nstrings(c->ix);

	for (size_t i = from; i < to; i++)
		if (item[i] >= n)
			say_bad(c);
}

static void check_rows(void *ctx, size_t from, size_t to)
{
	struct checking *c = ctx;

	for (size_t i = from; i < to; i++)
		if (!row_ok(c->ix, kl_index_row(c->ix, i)))
			say_bad(c);
}

static void check_cards(void *ctx, size_t from, size_t to)
{
	struct checking *c = ctx;

	for (size_t i = from; i < to; i++)
		if (!card_ok(c->ix, kl_index_card(c->ix, i)))
			say_bad(c);
}

static bool prior_ok(const struct kl_index *ix, const struct kl_index_prior *p)
{
	return list_ok(ix, p->needs, 1) && list_ok(ix, p->requires, 1) && list_ok(ix, p->provides, 1) &&
	       list_ok(ix, p->conflicts, 1);
}

/* Numbers that point somewhere; a checksum alone would trust whoever wrote it. */
static bool contents_ok(const struct kl_index *ix, const struct kl_taxonomy *tax)
{
	size_t nstrings = kl_index_nstrings(ix), nbytes = count(ix, KL_INDEX_BYTES);
	const char *bytes = at(ix, KL_INDEX_BYTES, 0);
	const uint32_t *start = at(ix, KL_INDEX_STARTS, 0);
	struct checking c = { ix, nbytes && bytes[nbytes - 1] };

	for (size_t i = 0; i < nstrings; i++)
		c.bad |= start[i] >= nbytes;
	for (size_t i = 0; i < kl_index_npriors(ix); i++)
		c.bad |= !prior_ok(ix, kl_index_prior(ix, i));
	for (size_t i = 0; i < kl_index_npoints(ix); i++)
		c.bad |= !point_ok(kl_index_point(ix, i), tax);
	kl_par_for(count(ix, KL_INDEX_ITEMS), GRAIN, check_items, &c);
	kl_par_for(count(ix, KL_INDEX_ROWS), GRAIN, check_rows, &c);
	kl_par_for(kl_index_count(ix), GRAIN, check_cards, &c);
	return !c.bad;
}

static bool is_good(struct kl_index *ix, const struct kl_taxonomy *tax)
{
	if (ix->file.len < sizeof(struct kl_mapfile_head) + sizeof(struct kl_index_head))
		return false;
	ix->head = (const struct kl_index_head *)(ix->file.base + sizeof(struct kl_mapfile_head));
	return parts_ok(ix) && contents_ok(ix, tax);
}

/* --- opening ----------------------------------------------------------------------------- */

/* "<digest of the tables> <tree>" */
static void key_of(char key[KL_MAPFILE_KEY], const git_oid *tree, const struct kl_taxonomy *tax)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, tree);
	snprintf(key, KL_MAPFILE_KEY, "%s %s", tax->digest, hex);
}

/* NULL: there is none, or none that is whole; `key` may be the beginning of one */
static struct kl_index *map_file(const char *path, const char *key, const struct kl_taxonomy *tax)
{
	KL_AUTO(kl_index_freep) struct kl_index *ix = kl_calloc(1, sizeof(*ix));
	const struct kl_mapfile_head *h;

	ix->file = (struct kl_mapfile)KL_MAPFILE_INIT;
	if (!kl_mapfile_open(&ix->file, path, KL_INDEX_MAGIC, KL_INDEX_VERSION, NULL))
		return NULL;
	h = (const struct kl_mapfile_head *)ix->file.base;
	return !strncmp(h->key, key, strlen(key)) && is_good(ix, tax) ? kl_steal(&ix) : NULL;
}

static int build(struct kl_index **out, struct kl_library *lib, const struct kl_taxonomy *tax,
		 const char *dir, const char *path, const char *key)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec others = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf made = KL_BUF_INIT;
	KL_AUTO(kl_index_freep) struct kl_index *base = NULL, *ix = kl_calloc(1, sizeof(*ix));
	int err;

	kl_mapfile_others(&others, dir, PREFIX, SUFFIX, path);
	for (size_t i = 0; i < others.n && !base; i++)
		base = map_file(others.v[i], tax->digest, tax);
	kl_mapfile_begin(&made, KL_INDEX_MAGIC, KL_INDEX_VERSION, key);
	if ((err = kl_index_build(&made, lib, tax, base)) < 0)
		return err;
	kl_mapfile_end(&made);
	kl_mapfile_keep(&ix->file, &made, kl_library_count(lib) ? path : "");
	if (!is_good(ix, tax))
		KL_BUG("an index that was just made is not whole");
	kl_mapfile_tidy(&others, KEEP, dir, PREFIX, SUFFIX);
	ix->built = true;
	*out = kl_steal(&ix);
	return 0;
}

static int open_tree(struct kl_index **out, struct kl_repo *r, struct kl_library *lib,
		     const git_oid *tree, const struct kl_taxonomy *tax)
{
	KL_AUTO(kl_library_freep) struct kl_library *own = NULL;
	KL_AUTO(kl_freep) char *dir = kl_fs_join(kl_repo_common_dir(r), "klineage/cache");
	KL_AUTO(kl_freep) char *path = NULL;
	char key[KL_MAPFILE_KEY], hex[KL_OID_HEX];
	int err;

	kl_oid_hex(hex, tree);
	key_of(key, tree, tax);
	path = kl_asprintf("%s/" PREFIX "%s" SUFFIX, dir, hex);
	*out = map_file(path, key, tax);
	if (*out)
		return 0;
	if (!lib && (err = kl_library_open(&own, r)) < 0)
		return err;
	return build(out, lib ? lib : own, tax, dir, path, key);
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
