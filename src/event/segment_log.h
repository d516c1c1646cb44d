/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SEGMENT_LOG_H
#define KL_EVENT_SEGMENT_LOG_H

#include "base/lock.h"
#include "repo/repo.h"

/*
 * segment_log - the events of a campaign that are in no segment yet. The log is the file
 * $GIT_COMMON_DIR/klineage/campaign/<workload>/<name>.jsonl. Lines are only added, under a lock,
 * and are on disk before the writer continues. A last line without a newline was left by a writer
 * that was killed; readers skip it, and the next writer removes it.
 */
struct kl_segment_log {
	char *path;
	struct kl_lock lock; /* held from kl_segment_log_lock() on */
	int fd;
	size_t bytes; /* length of the complete lines; known while the lock is held */
};

/** Open the log, creating it if needed, and lock it. Wait at most a minute for the lock. */
int kl_segment_log_lock(struct kl_segment_log *log, struct kl_repo *repo, const char *workload,
			const char *name);
/** Release the lock. If the log is empty, remove it. */
void kl_segment_log_unlock(struct kl_segment_log *log);
/** Add complete lines; they are on disk when this returns. */
int kl_segment_log_append(struct kl_segment_log *log, const void *lines, size_t len);
/** Append all complete lines to `out`. */
int kl_segment_log_read(struct kl_buf *out, const struct kl_segment_log *log);
/** Remove all lines: they are in a segment now. */
int kl_segment_log_clear(struct kl_segment_log *log);

/** Append the complete lines of a log, without its lock. A log that does not exist has none. */
int kl_segment_log_peek(struct kl_buf *out, bool *torn, struct kl_repo *repo, const char *campaign);
/** Append the campaigns ("<workload>/<name>") that have a log, sorted. */
int kl_segment_log_list(struct kl_strvec *out, struct kl_repo *repo);

#endif
