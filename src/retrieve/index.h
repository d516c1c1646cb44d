/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_INDEX_H
#define KL_RETRIEVE_INDEX_H

#include "card/library.h"
#include "retrieve/similarity.h"

/*
 * index - the index of a library's cards, in one file that is mapped into memory:
 * $GIT_COMMON_DIR/klineage/cache/skills-<tree>.index, made once for each tree of the library, from
 * the newest older one where cards are the same. docs/formats.md ("Retrieval") has its form. It is
 * a cache: one that is damaged, or made from other tables, is made anew; two who make it at once
 * do no harm.
 *
 *	kl_index_open(&ix, repo, tax);
 *	for (i = 0; i < kl_index_count(ix); i++) ... kl_index_card(ix, i)
 *
 * Equal strings have equal numbers. Strings and lists point into the file, for as long as it is
 * open.
 */
/** A list of the file's strings, whose numbers kl_index_items() has. */
struct kl_index_list {
	uint32_t at, n;
};

struct kl_index_row {
	uint32_t point;              /* kl_index_point() */
	uint32_t language, platform; /* strings */
	uint32_t verified;
};

struct kl_index_card {
	uint32_t id;     /* string */
	uint32_t status; /* enum kl_card_status */
	git_oid blob;
	uint32_t passed, trials;
	uint32_t rows, nrows;          /* kl_index_row() */
	uint32_t prior;                /* kl_index_prior() */
	struct kl_index_list sound;    /* in pairs: id, test or "" */
	struct kl_index_list evidence; /* in pairs: lineage, step in decimal; sorted */
};

/** Cards that ask and give the same share one. Each list is sorted. */
struct kl_index_prior {
	struct kl_index_list needs, requires, provides, conflicts;
};

struct kl_index_file;

/** Where its parts lie in the file; read by the functions below alone. */
struct kl_index {
	const struct kl_index_card *card;
	const struct kl_index_row *row;
	const struct kl_case *point;
	const struct kl_index_prior *prior;
	const uint32_t *item, *start;
	const char *bytes;
	size_t ncard, nrow, npoint, nprior, nitem, nstring, nbyte;
	struct kl_index_file *file; /* index.c's own */
};

/** The library's of this repository, at klineage.skillsRef; an absent one has no cards. */
int kl_index_open(struct kl_index **out, struct kl_repo *repo, const struct kl_taxonomy *tax);
/** That of an open library. */
int kl_index_of(struct kl_index **out, struct kl_repo *repo, struct kl_library *lib,
		const struct kl_taxonomy *tax);
void kl_index_free(struct kl_index *ix);
KL_DEFINE_CLEANUP(struct kl_index *, kl_index_free)

/* --- asking: of every card of many, so it is done in place ------------------------ */

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

/** The numbers of a list's strings. */
static inline const uint32_t *kl_index_items(const struct kl_index *ix, struct kl_index_list list)
{
	return ix->item + list.at;
}

/**
 * Was it found, or made just now? How many cards of the library could not be read, and are not in
 * it?
 */
bool kl_index_was_built(const struct kl_index *ix);
size_t kl_index_bad(const struct kl_index *ix);

/** The card's bytes, from the repository; and the card. */
int kl_index_text(struct kl_buf *out, const struct kl_index *ix, struct kl_repo *repo, size_t card);
int kl_index_load(struct kl_card **out, const struct kl_index *ix, struct kl_repo *repo,
		  size_t card);

#endif
