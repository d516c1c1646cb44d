/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/index.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/par.h"
#include "base/prefix.h"
#include "repo/refs.h"
#include "retrieve/index_parts.h"

#define PREFIX "skills-"
#define SUFFIX ".index"
#define KEEP 4 /* most index files of other trees to keep */
#define GRAIN 32768
/* upper bound for log2 of an extent; an extent is a product of several dims of a card */
#define MAX_LOG2 4096

struct kl_index_file {
	struct kl_index ix; /* the public part */
	struct kl_mapfile map;
	const struct kl_index_head *head;
	bool built;
};

static struct kl_index *new_index(void)
{
	struct kl_index_file *file = kl_calloc(1, sizeof(*file));

	file->map = (struct kl_mapfile)KL_MAPFILE_INIT;
	file->ix.file = file;
	return &file->ix;
}

void kl_index_free(struct kl_index *ix)
{
	if (!ix)
		return;
	kl_mapfile_release(&ix->file->map);
	free(ix->file);
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

/* --- accessors ---------------------------------------------------------------- */

bool kl_index_was_built(const struct kl_index *ix)
{
	return ix->file->built;
}

size_t kl_index_bad(const struct kl_index *ix)
{
	return (size_t)ix->file->head->bad;
}

int kl_index_text(struct kl_buf *out, const struct kl_index *ix, struct kl_repo *repo, size_t card)
{
	return kl_repo_blob_read(out, repo, &kl_index_card(ix, card)->blob, KL_CARD_MAX_BYTES);
}

int kl_index_load(struct kl_card **out, const struct kl_index *ix, struct kl_repo *repo,
		  size_t card)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *name = kl_asprintf(
		"cards/%s.yaml", kl_index_string(ix, kl_index_card(ix, card)->id));
	int err = kl_index_text(&text, ix, repo, card);

	return err < 0 ? err : kl_card_parse(out, name, text.ptr, text.len);
}

/* --- checking a file -------------------------------------------------------------------------- */

static bool list_ok(const struct kl_index *ix, struct kl_index_list list, size_t multiple)
{
	return list.at <= ix->nitem && list.n <= ix->nitem - list.at && list.n % multiple == 0;
}

static bool card_ok(const struct kl_index *ix, const struct kl_index_card *card)
{
	return card->id < ix->nstring && card->status <= KL_CARD_RETRACTED &&
	       card->passed <= card->trials && card->rows <= ix->nrow &&
	       card->nrows <= ix->nrow - card->rows && card->prior < ix->nprior &&
	       card->mechanism < ix->nstring && list_ok(ix, card->sound, 2) &&
	       list_ok(ix, card->sound_said, 1) &&
	       2 * (uint64_t)card->sound_said.n == card->sound.n &&
	       list_ok(ix, card->evidence, 2) && list_ok(ix, card->evidence_row, 1) &&
	       2 * (uint64_t)card->evidence_row.n == card->evidence.n &&
	       list_ok(ix, card->useful, 1);
}

static bool point_ok(const struct kl_case *point, const struct kl_taxonomy *tax)
{
	for (size_t i = 0; i < KL_TAX_ROLES; i++)
		if (!(point->log2[i] >= 0 && point->log2[i] < MAX_LOG2))
			return false;
	return point->op >= -1 && point->op < (int32_t)tax->nop;
}

static bool row_ok(const struct kl_index *ix, const struct kl_index_row *row)
{
	return row->point < ix->npoint && row->language < ix->nstring &&
	       row->platform < ix->nstring;
}

static bool prior_ok(const struct kl_index *ix, const struct kl_index_prior *prior)
{
	return list_ok(ix, prior->needs, 1) && list_ok(ix, prior->requires, 1) &&
	       list_ok(ix, prior->provides, 1) && list_ok(ix, prior->conflicts, 1);
}

/* Set the pointers to the parts. Return false if a part is not completely inside the file. */
static bool find_parts(struct kl_index *ix)
{
	const struct kl_index_head *head = ix->file->head;
	const char *base = ix->file->map.base;
	size_t len = ix->file->map.len;

	for (int part = 0; part < KL_INDEX_PARTS; part++)
		if (head->part[part].at % 8 || head->part[part].at > len ||
		    head->part[part].n > (len - head->part[part].at) / kl_index_size(part))
			return false;
	ix->card = (const void *)(base + head->part[KL_INDEX_CARDS].at);
	ix->row = (const void *)(base + head->part[KL_INDEX_ROWS].at);
	ix->point = (const void *)(base + head->part[KL_INDEX_POINTS].at);
	ix->prior = (const void *)(base + head->part[KL_INDEX_PRIORS].at);
	ix->item = (const void *)(base + head->part[KL_INDEX_ITEMS].at);
	ix->start = (const void *)(base + head->part[KL_INDEX_STARTS].at);
	ix->bytes = base + head->part[KL_INDEX_BYTES].at;
	ix->ncard = head->part[KL_INDEX_CARDS].n;
	ix->nrow = head->part[KL_INDEX_ROWS].n;
	ix->npoint = head->part[KL_INDEX_POINTS].n;
	ix->nprior = head->part[KL_INDEX_PRIORS].n;
	ix->nitem = head->part[KL_INDEX_ITEMS].n;
	ix->nstring = head->part[KL_INDEX_STARTS].n;
	ix->nbyte = head->part[KL_INDEX_BYTES].n;
	return true;
}

/* Four numbers, which are compared at once, because an index can have millions of numbers. */
typedef uint32_t lanes __attribute__((vector_size(16)));

static bool all_below(const uint32_t *numbers, size_t n, size_t limit)
{
	uint32_t last = (uint32_t)(limit - 1);
	lanes most = { last, last, last, last }, over = { 0 };
	size_t i = 0;

	if (!limit || limit > UINT32_MAX)
		return limit || !n;
	for (; i + 4 <= n; i += 4) {
		lanes four;

		memcpy(&four, numbers + i, sizeof(four));
		over |= (lanes)(four > most);
	}
	for (; i < n; i++)
		over[0] |= numbers[i] > last;
	return !(over[0] | over[1] | over[2] | over[3]);
}

struct check {
	const struct kl_index *ix;
	bool bad;
};

static void mark_bad(struct check *check)
{
	__atomic_store_n(&check->bad, true, __ATOMIC_RELAXED);
}

static void check_items(void *ctx, size_t from, size_t to)
{
	struct check *check = ctx;

	if (!all_below(check->ix->item + from, to - from, check->ix->nstring))
		mark_bad(check);
}

static void check_rows(void *ctx, size_t from, size_t to)
{
	struct check *check = ctx;
	const struct kl_index ix = *check->ix;
	bool good = true;

	for (size_t i = from; i < to; i++)
		good &= row_ok(&ix, &ix.row[i]);
	if (!good)
		mark_bad(check);
}

static void check_cards(void *ctx, size_t from, size_t to)
{
	struct check *check = ctx;
	const struct kl_index ix = *check->ix;
	bool good = true;

	for (size_t i = from; i < to; i++)
		good &= card_ok(&ix, &ix.card[i]);
	if (!good)
		mark_bad(check);
}

static void check_priors(void *ctx, size_t from, size_t to)
{
	struct check *check = ctx;
	const struct kl_index ix = *check->ix;
	bool good = true;

	for (size_t i = from; i < to; i++)
		good &= prior_ok(&ix, &ix.prior[i]);
	if (!good)
		mark_bad(check);
}

/*
 * Check that all numbers in the file refer to existing elements. The checksum only shows that the
 * file is as its writer left it, but the writer may be malicious.
 */
static bool contents_ok(const struct kl_index *ix, const struct kl_taxonomy *tax)
{
	struct check check = { ix, ix->nbyte && ix->bytes[ix->nbyte - 1] };

	check.bad |= !all_below(ix->start, ix->nstring, ix->nbyte);
	for (size_t i = 0; i < ix->npoint; i++)
		check.bad |= !point_ok(&ix->point[i], tax);
	kl_par_for(ix->nitem, GRAIN, check_items, &check);
	kl_par_for(ix->nrow, GRAIN, check_rows, &check);
	kl_par_for(ix->nprior, GRAIN, check_priors, &check);
	kl_par_for(ix->ncard, GRAIN, check_cards, &check);
	return !check.bad;
}

static bool is_good(struct kl_index *ix, const struct kl_taxonomy *tax)
{
	struct kl_index_file *file = ix->file;

	if (file->map.len < sizeof(struct kl_mapfile_head) + sizeof(struct kl_index_head))
		return false;
	file->head = (const struct kl_index_head *)(file->map.base +
						    sizeof(struct kl_mapfile_head));
	return find_parts(ix) && contents_ok(ix, tax);
}

/* --- opening or building a file --------------------------------------------------------------- */

/* Write the key of an index: "<digest of the taxonomy's tables> <tree>". */
static void key_of(char key[KL_MAPFILE_KEY], const git_oid *tree, const struct kl_taxonomy *tax)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, tree);
	snprintf(key, KL_MAPFILE_KEY, "%s %s", tax->digest, hex);
}

/*
 * Map the index at `path`. Return NULL if the file is missing or invalid. `key` may be a prefix of
 * the key in the file.
 */
static struct kl_index *map_file(const char *path, const char *key, const struct kl_taxonomy *tax)
{
	KL_AUTO(kl_index_freep) struct kl_index *ix = new_index();
	const struct kl_mapfile_head *head;

	if (!kl_mapfile_open(&ix->file->map, path, KL_INDEX_MAGIC, KL_INDEX_VERSION, NULL))
		return NULL;
	head = (const struct kl_mapfile_head *)ix->file->map.base;
	return kl_prefix_has(head->key, key) && is_good(ix, tax) ? kl_steal(&ix) : NULL;
}

static int build_index(struct kl_index **out, struct kl_library *lib, const struct kl_taxonomy *tax,
		       const char *dir, const char *path, const char *key)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec others = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf made = KL_BUF_INIT;
	KL_AUTO(kl_index_freep) struct kl_index *base = NULL, *ix = new_index();
	int err;

	kl_mapfile_others(&others, dir, PREFIX, SUFFIX, path);
	for (size_t i = 0; i < others.n && !base; i++)
		base = map_file(others.v[i], tax->digest, tax);
	kl_mapfile_begin(&made, KL_INDEX_MAGIC, KL_INDEX_VERSION, key);
	if ((err = kl_index_build(&made, lib, tax, base)) < 0)
		return err;
	kl_mapfile_end(&made);
	kl_mapfile_keep(&ix->file->map, &made, kl_library_count(lib) ? path : "");
	if (!is_good(ix, tax))
		KL_BUG("a newly built index is not valid");
	kl_mapfile_tidy(&others, KEEP, dir, PREFIX, SUFFIX);
	ix->file->built = true;
	*out = kl_steal(&ix);
	return 0;
}

static int open_tree(struct kl_index **out, struct kl_repo *repo, struct kl_library *lib,
		     const git_oid *tree, const struct kl_taxonomy *tax)
{
	KL_AUTO(kl_library_freep) struct kl_library *own = NULL;
	KL_AUTO(kl_freep) char *dir = kl_fs_join(kl_repo_common_dir(repo), "klineage/cache");
	KL_AUTO(kl_freep) char *path = NULL;
	char key[KL_MAPFILE_KEY], hex[KL_OID_HEX];
	int err;

	kl_oid_hex(hex, tree);
	key_of(key, tree, tax);
	path = kl_asprintf("%s/" PREFIX "%s" SUFFIX, dir, hex);
	*out = map_file(path, key, tax);
	if (*out)
		return 0;
	if (!lib && (err = kl_library_open(&own, repo)) < 0)
		return err;
	return build_index(out, lib ? lib : own, tax, dir, path, key);
}

int kl_index_of(struct kl_index **out, struct kl_repo *repo, struct kl_library *lib,
		const struct kl_taxonomy *tax)
{
	return open_tree(out, repo, lib, kl_library_tree(lib), tax);
}

int kl_index_open(struct kl_index **out, struct kl_repo *repo, const struct kl_taxonomy *tax)
{
	const char *ref = kl_repo_config(repo, "klineage.skillsRef");
	git_oid tip, tree = kl_oid_none;
	int err = kl_refs_get(&tip, repo, ref ? ref : KL_LIBRARY_REF);

	if (err == KL_ENOTFOUND)
		kl_error_clear();
	else if (err < 0 || (err = kl_repo_tree_of(&tree, repo, &tip)) < 0)
		return err;
	return open_tree(out, repo, NULL, &tree, tax);
}
