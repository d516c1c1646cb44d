/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PROGRESS_H
#define KL_BASE_PROGRESS_H

#include <stdbool.h>

#include "base/mem.h"

/*
 * progress - a progress line on stderr. On a terminal it is rewritten in place; on a pipe (ALWAYS
 * mode) each new title is printed as a line. All functions accept NULL and then do nothing. AUTO
 * mode shows nothing if stderr is a pipe or a dumb terminal or the process is in the background,
 * and nothing in the first two seconds (or $GIT_PROGRESS_DELAY).
 */
struct kl_progress;

enum kl_progress_mode {
	KL_PROGRESS_AUTO, /* only if stderr is a terminal */
	KL_PROGRESS_ALWAYS,
	KL_PROGRESS_NEVER,
};

/** NULL if `mode` and the terminal show no progress. */
struct kl_progress *kl_progress_new(enum kl_progress_mode mode);
/** Set the lasting part, "[3/7] devectorize topk.c:scan", and clear the changing one. */
void kl_progress_title(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Set the changing part: "profile, block 5". */
void kl_progress_step(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Print a permanent line: clears the progress line, prints, and redraws it. */
void kl_progress_print(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Clear the line and free `progress`. */
void kl_progress_free(struct kl_progress *progress);
KL_DEFINE_CLEANUP(struct kl_progress *, kl_progress_free)

#endif
