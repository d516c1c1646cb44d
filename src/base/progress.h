/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PROGRESS_H
#define KL_BASE_PROGRESS_H

#include <stdbool.h>

#include "base/mem.h"

/*
 * progress - one line on stderr that says what is being done: rewritten in
 * place on a terminal; on a pipe each new `title` becomes a line of its own.
 * All calls accept NULL and then do nothing. In AUTO mode nothing is shown for the first two
 * seconds (GIT_PROGRESS_DELAY), nor on a dumb terminal.
 */
struct kl_progress;

enum kl_progress_mode {
	KL_PROGRESS_AUTO, /* only if stderr is a terminal */
	KL_PROGRESS_ALWAYS,
	KL_PROGRESS_NEVER,
};

/** NULL when nothing is to be shown. */
struct kl_progress *kl_progress_new(enum kl_progress_mode mode);
/** The lasting part: "[3/7] devectorize topk.c:scan". */
void kl_progress_title(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** The changing part: "profile, block 5". */
void kl_progress_step(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** A line that stays: the progress line is cleared, printed, and redrawn. */
void kl_progress_print(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Clears the line and frees. */
void kl_progress_free(struct kl_progress *progress);
KL_DEFINE_CLEANUP(struct kl_progress *, kl_progress_free)

#endif
