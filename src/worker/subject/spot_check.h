/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SPOT_CHECK_H
#define KL_WORKER_SUBJECT_SPOT_CHECK_H

#include "worker/subject/subject_state.h"

/*
 * spot_check - detects outputs that change after the kernel wrote `done`. Some words of the
 * outputs, drawn at random for each call, are read when `done` is seen, and again at the end of the
 * call. If a kernel writes `done` early, to get a shorter time, the share of these words that
 * change afterwards is about the share of its time that the kernel would gain. struct kl_spot_check
 * is in subject_state.h.
 */
/** Draw the words to read. This takes time, so do it before the kernel is called. */
void kl_spot_check_draw(struct kl_spot_check *check, struct kl_cpu_subject *subject);
/** Read the words for the first time; call this when `done` is seen. */
void kl_spot_check_take(struct kl_spot_check *check);
/** Read the words again; return true if none has changed since kl_spot_check_take(). */
bool kl_spot_check_same(const struct kl_spot_check *check);

#endif
