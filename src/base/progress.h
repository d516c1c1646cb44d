/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PROGRESS_H
#define KL_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * progress - a progress line on stderr. On a terminal it is rewritten in place; on a pipe (ALWAYS
 * mode) each new title is printed as a line. All functions accept NULL and then do nothing. If
 * stderr is a pipe or a dumb terminal, or if the process is in the background, AUTO mode shows only
 * waits (kl_progress_wait()). Otherwise AUTO mode shows nothing in the first two seconds (or
 * $GIT_PROGRESS_DELAY seconds).
 */
struct kl_progress;

enum kl_progress_mode {
	KL_PROGRESS_AUTO, /* show progress only if stderr is a terminal */
	KL_PROGRESS_ALWAYS,
	KL_PROGRESS_NEVER,
};

/** Return NULL in NEVER mode. kl_progress_free() frees the result. */
struct kl_progress *kl_progress_new(enum kl_progress_mode mode);
/** Set the title, such as "[3/7] devectorize topk.c:scan", and clear the step. */
void kl_progress_title(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Set the step, which is shown after the title, such as "profile, block 5". */
void kl_progress_step(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/**
 * Report a wait that has lasted `ms` so far. On a terminal, show it as the step. Elsewhere, print a
 * line at the first call, then whenever the wait has doubled, and at least once a minute.
 */
void kl_progress_wait(struct kl_progress *progress, int64_t ms, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/** Print a line that stays: clears the progress line, prints, and draws the progress line again. */
void kl_progress_print(struct kl_progress *progress, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/** Clear the line and free `progress`. */
void kl_progress_free(struct kl_progress *progress);
KL_DEFINE_CLEANUP(struct kl_progress *, kl_progress_free)

#endif
