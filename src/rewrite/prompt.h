/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_PROMPT_H
#define KL_REWRITE_PROMPT_H

#include <stdbool.h>

#include "base/map.h"
#include "contract/surface.h"
#include "repo/repo.h"
#include "text/json.h"

/*
 * prompt - fills the prompts sent to a model: templates/prompts/<name>.md.
 *
 * @NAME@ placeholders are replaced by values. Text from a repository is fenced, and the prompts
 * say that it is only data.
 *
 * The user's own prompts take precedence over the shipped ones: config klineage.chat.prompts names
 * their directory (absolute, ~/..., or relative to the common git directory). The worktree is
 * never searched for prompts.
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

/** Set the value of placeholder @name@; takes ownership of `value`. */
void kl_prompt_set(struct kl_map *values, const char *name, char *value);
/**
 * Append the filled prompt. Return KL_EINVALID if a placeholder has no value, or a file is not
 * UTF-8 text. The message names the file (and the line of the placeholder).
 */
int kl_prompt_fill(struct kl_buf *out, struct kl_repo *repo, const char *name,
		   const struct kl_map *values);

/**
 * Append `text` fenced by lines of backticks that are longer than any run of backticks in it, so
 * that the text cannot end the fence. Invalid bytes become '?'. `info` is the info string of the
 * opening fence.
 */
void kl_prompt_fence(struct kl_buf *out, const char *info, const char *text, size_t len);
/**
 * Append `text` like kl_prompt_fence(), but only its start and end if it is longer than `max`
 * bytes.
 */
void kl_prompt_excerpt(struct kl_buf *out, const char *info, const char *text, size_t max);
/** Append fenced files, each after its path; with `numbered` every line starts with its number. */
void kl_prompt_files(struct kl_buf *out, const struct kl_file *file, size_t n, bool numbered);
/** Return the sources of a kernel as kl_prompt_files() writes them. Caller frees. */
char *kl_prompt_sources(const struct kl_surface *surface, bool numbered);

/**
 * Return the facts of a state as a fenced block: the features of its object code (NULL if there is
 * none), its traits (NULL if not listed) and its time in ns (0 if not measured). Caller frees.
 */
char *kl_prompt_facts(const struct kl_strvec *features, const json_t *traits, int64_t ns);
/** Append features as " vec.256 fma". */
void kl_prompt_features(struct kl_buf *out, const struct kl_strvec *features);

/** Append a readable time: "812.3 us", "4 ns". */
void kl_prompt_time(struct kl_buf *out, int64_t ns);

#endif
