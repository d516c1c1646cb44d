/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SEGMENT_PARTS_H
#define KL_EVENT_SEGMENT_PARTS_H

#include "event/segment_log.h"

/*
 * segment_parts - makes segments of the events in a log; the lock of the log is held.
 * `*n` is the number of events that no segment of the campaign had before.
 */
int kl_segment_seal(size_t *n, struct kl_repo *repo, const char *workload, const char *name,
		    struct kl_segment_log *log);

#endif
