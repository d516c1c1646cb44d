/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_PROMPT_H
#define KL_REWRITE_PROMPT_H

#include <stdbool.h>

#include "base/map.h"
#include "contract/surface.h"
#include "repo/repo.h"
#include "text/json.h"

/*
 * prompt - fills the prompts sent to a model: templates/prompts/<name>.md with its @NAME@ places
 * filled, in which what comes from a repository is data: fenced, and the prompts say so.
 *
 * A user's own files stand in front of the shipped ones: config klineage.chat.prompts, a
 * directory (absolute, ~/..., or relative to the repository's git directory). The
 * worktree is never looked at for one.
 *
 *	struct kl_map v = KL_PROMPT_VALUES;
 *	kl_prompt_set(&v, "STATE", kl_buf_detach(&b));
 *	err = kl_prompt_fill(&out, repo, "repair", &v);
 *	kl_map_release(&v);
 */
#define KL_PROMPT_VALUES           \
	{                          \
		.free_value = free \
	}

/** Takes `value`. */
void kl_prompt_set(struct kl_map *values, const char *name, char *value);
/** KL_EINVALID: a place without a value, or a file that is no text; names file and line. */
int kl_prompt_fill(struct kl_buf *out, struct kl_repo *repo, const char *name,
		   const struct kl_map *values);

/**
 * `text` between two lines of back-ticks that are longer than any in it, so that nothing in it can
 * end it; bytes that are no text become '?'. `info`, for a reader, stands on the first one.
 */
void kl_prompt_fence(struct kl_buf *out, const char *info, const char *text, size_t len);
/** The same of at most `max` bytes: of more the beginning and the end, and how much is left out. */
void kl_prompt_excerpt(struct kl_buf *out, const char *info, const char *text, size_t max);
/** Files, each under its path; with `numbered` every line has its number in front. */
void kl_prompt_files(struct kl_buf *out, const struct kl_file *file, size_t n, bool numbered);
/** The sources of a kernel likewise; caller frees. */
char *kl_prompt_sources(const struct kl_surface *surface, bool numbered);

/**
 * Facts of a state, fenced: the features of its object code (NULL: none) and, in a walk's own
 * record, its traits. `ns` 0: it was not measured. Caller frees.
 */
char *kl_prompt_facts(const struct kl_strvec *features, const json_t *traits, int64_t ns);
/** " vec.256 fma". */
void kl_prompt_features(struct kl_buf *out, const struct kl_strvec *features);

/** "812.3 us", "4 ns": a time for a reader. */
void kl_prompt_time(struct kl_buf *out, int64_t ns);

#endif
