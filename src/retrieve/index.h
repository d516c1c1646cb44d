/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_INDEX_H
#define KL_RETRIEVE_INDEX_H

#include "card/library.h"
#include "retrieve/similarity.h"

/*
 * index - the index of a library's cards, a cache file that is mapped into memory.
 *
 * The file is $GIT_COMMON_DIR/klineage/cache/skills-<tree>.index. It is built once for each tree of
 * the library; unchanged cards are copied from the newest older index. docs/formats.md
 * ("Retrieval") describes the format. A file is built again if it is damaged or if the taxonomy
 * tables have changed. Two processes may build the same file at the same time.
 *
 *	kl_index_open(&ix, repo, tax);
 *	for (i = 0; i < kl_index_count(ix); i++) ... kl_index_card(ix, i)
 *
 * Each string is stored once, so that equal strings have the same number. Strings and lists point
 * into the mapped file and are valid until kl_index_free.
 */
/** A list of strings in the file; kl_index_items returns their numbers. */
struct kl_index_list {
	uint32_t at, n;
};

struct kl_index_row {
	uint32_t point;              /* number of the point, for kl_index_point() */
	uint32_t language, platform; /* numbers of strings */
	uint32_t verified;
};

struct kl_index_card {
	uint32_t id;     /* number of a string */
	uint32_t status; /* enum kl_card_status */
	git_oid blob;
	uint32_t passed, trials;
	/* number of the first row, for kl_index_row(), and the number of rows */
	uint32_t rows, nrows;
	uint32_t prior; /* number of the prior, for kl_index_prior() */
	/* number of a string, which is "" if the card has no mechanism */
	uint32_t mechanism;
	/* pairs of strings: id, and test, which is "" if there is no predicate */
	struct kl_index_list sound;
	/*
	 * a string for each pair of `sound`: if a launch plan is the only source of the condition,
	 * the index, in decimal, of the row of that plan's step; otherwise ""
	 */
	struct kl_index_list sound_said;
	struct kl_index_list evidence; /* pairs of strings: lineage, and step in decimal; sorted */
	/*
	 * for each pair in `evidence`, the decimal index of its row in the card's evidence, or ""
	 * if it has no row
	 */
	struct kl_index_list evidence_row;
	struct kl_index_list useful; /* predicates, as strings */
};

/**
 * What a card needs, requires, provides and conflicts with, as sorted lists. Several cards can
 * share one prior.
 */
struct kl_index_prior {
	struct kl_index_list needs, requires, provides, conflicts;
};

struct kl_index_file;

/** The parts of the mapped file. Read them with the functions below. */
struct kl_index {
	const struct kl_index_card *card;
	const struct kl_index_row *row;
	const struct kl_case *point;
	const struct kl_index_prior *prior;
	const uint32_t *item, *start;
	const char *bytes;
	size_t ncard, nrow, npoint, nprior, nitem, nstring, nbyte;
	struct kl_index_file *file; /* private to index.c */
};

/**
 * Open the index of this repository's library (klineage.skillsRef), and build the index if
 * necessary. If there is no library, the index has no cards. The caller frees *out.
 */
int kl_index_open(struct kl_index **out, struct kl_repo *repo, const struct kl_taxonomy *tax);
/** Like kl_index_open(), for a library that is already open. */
int kl_index_of(struct kl_index **out, struct kl_repo *repo, struct kl_library *lib,
		const struct kl_taxonomy *tax);
void kl_index_free(struct kl_index *ix);
KL_DEFINE_CLEANUP(struct kl_index *, kl_index_free)

/* --- accessors, inline because they are called for every card --------------------------------- */

static inline size_t kl_index_count(const struct kl_index *ix)
{
	return ix->ncard;
}
static inline size_t kl_index_npoints(const struct kl_index *ix)
{
	return ix->npoint;
}
static inline size_t kl_index_npriors(const struct kl_index *ix)
{
	return ix->nprior;
}
static inline size_t kl_index_nstrings(const struct kl_index *ix)
{
	return ix->nstring;
}

static inline const struct kl_index_card *kl_index_card(const struct kl_index *ix, size_t i)
{
	return &ix->card[i];
}

static inline const struct kl_index_row *kl_index_row(const struct kl_index *ix, size_t i)
{
	return &ix->row[i];
}

static inline const struct kl_case *kl_index_point(const struct kl_index *ix, size_t i)
{
	return &ix->point[i];
}

static inline const struct kl_index_prior *kl_index_prior(const struct kl_index *ix, size_t i)
{
	return &ix->prior[i];
}

static inline const char *kl_index_string(const struct kl_index *ix, size_t i)
{
	return ix->bytes + ix->start[i];
}

/** Return the numbers of the strings in a list; there are list.n of them. */
static inline const uint32_t *kl_index_items(const struct kl_index *ix, struct kl_index_list list)
{
	return ix->item + list.at;
}

/** Return true if the index was built when it was opened, false if it came from the cache. */
bool kl_index_was_built(const struct kl_index *ix);
/** Return the number of cards that the index lacks because they could not be read. */
size_t kl_index_bad(const struct kl_index *ix);

/**
 * Read a card from the repository: kl_index_text() gets its text, kl_index_load() the parsed card.
 */
int kl_index_text(struct kl_buf *out, const struct kl_index *ix, struct kl_repo *repo, size_t card);
int kl_index_load(struct kl_card **out, const struct kl_index *ix, struct kl_repo *repo,
		  size_t card);

#endif
