/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SPOT_CHECK_H
#define KL_WORKER_SUBJECT_SPOT_CHECK_H

#include "worker/subject/subject_state.h"

/*
 * spot_check - finds outputs that change after a call said that it is done. Some words of the
 * outputs, drawn anew for each call, are read at that moment and again at its end. If a kernel says
 * so early, to be timed shorter, the share of its time that it gains is about the share of the words
 * that change. struct kl_spot_check is in subject_state.h.
 */
/** Draw the places; before the call, since it takes time. */
void kl_spot_check_draw(struct kl_spot_check *check, struct kl_cpu_subject *subject);
void kl_spot_check_take(struct kl_spot_check *check);
/** True if all words are as they were. */
bool kl_spot_check_same(const struct kl_spot_check *check);

#endif
