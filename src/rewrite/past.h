/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_PAST_H
#define KL_REWRITE_PAST_H

#include "base/buf.h"
#include "base/map.h"
#include "contract/surface.h"
#include "rewrite/source/token_digest.h"

/*
 * past - the older states of a kernel: its sources as each commit of its history left them.
 *
 * Entry 0 is the commit that made the sources of the expert, the last entry the oldest commit.
 * Sources that were renamed are read under the names that they had.
 *
 * States are compared by their tokens (token_digest.h), so that a commit which changes only
 * comments, or functions that the kernel cannot reach, makes no new state. The files of a state are
 * read when they are asked for; before that, only the id of its commit is in memory.
 */
struct kl_past_entry {
	git_oid commit;
	/*
	 * token digest of the state; NULL if not read yet; "" if there is no state, since the
	 * commit has none of the sources or one of them is too large. Equal states have the same
	 * pointer.
	 */
	const char *state;
	/* digest of all tokens of the state, including those that do not count */
	const char *whole;
	size_t era; /* index into kl_past.era */
};

/*
 * The paths of the sources in the repository, in a part of the history without renames of sources.
 */
struct kl_past_era {
	struct kl_strvec paths; /* in the order of kl_past.names */
};

struct kl_past {
	struct kl_repo *repo;    /* borrowed */
	struct kl_strvec names;  /* names of the sources in the surface */
	struct kl_past_era *era; /* the newest first */
	size_t nera, era_alloc;
	struct kl_past_entry *e;
	size_t n, alloc;
	struct kl_surface *expert;   /* the expert, for its contract; owned */
	struct kl_token_scope scope; /* the functions that count */
	struct kl_map left;   /* names of headers that are left to the compiler (inclusion.h) */
	struct kl_map states; /* the token digests, each once */
	/* "<id of a blob>:<era>:<source>" -> struct blob, owned; emptied when it is large */
	struct kl_map blobs;
	size_t bytes;   /* of `blobs` */
	size_t counted; /* entry up to which `history` has counted kl_rewrite.skipped */
};

/** List the commits that changed the sources of `surface`, from the commit `expert` on. */
int kl_past_load(struct kl_past **out, struct kl_repo *repo, const git_oid *expert,
		 const struct kl_surface *surface);
void kl_past_free(struct kl_past *past);

/** Get the token digest of an entry's state (kl_past_entry.state); borrowed. */
int kl_past_state(const char **out, struct kl_past *past, size_t i);
/** Get the digest of all tokens of an entry's state (kl_past_entry.whole); borrowed. */
int kl_past_whole(const char **out, struct kl_past *past, size_t i);
/**
 * Set *out to the next entry whose state may differ from that of entry `i`: the entry after the
 * last one with this state; past->n if there is none. The entries in between are a detour that the
 * history took back, such as a commit and its revert. `failed` is true if the state does not
 * compile, so that only states with all of its tokens are equal to it.
 */
int kl_past_next(size_t *out, struct kl_past *past, size_t i, bool failed);

/** The sources of an older state, as edits of a surface. */
struct kl_past_files {
	struct kl_file *edit;
	size_t n;
	struct kl_strvec inlined; /* files that were written into sources (inclusion.h) */
	struct kl_strvec absent;  /* sources that the commit does not have as regular files */
};

/**
 * Read the sources of an entry's state, as edits of `surface`. The absent ones keep their present
 * bytes, or become empty if `without` is set.
 */
int kl_past_read(struct kl_past_files *out, struct kl_past *past, size_t i,
		 const struct kl_surface *surface, bool without);
void kl_past_files_release(struct kl_past_files *files);

/**
 * Append a line for each source whose path at an entry differs from its present path: "\nk/b.c was
 * k/a.c". Append nothing if no path differs.
 */
void kl_past_say_renames(struct kl_buf *out, const struct kl_past *past, size_t i);
/** Find the entry of a commit; past->n if there is none. */
size_t kl_past_find(const struct kl_past *past, const char *hex);

#endif
