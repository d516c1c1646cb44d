/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_REPORT_H
#define KL_WORKER_REPORT_H

#include "base/lock.h"
#include "base/map.h"
#include "base/sha256.h"
#include "text/json.h"

/*
 * report - writes the results of a bundle as JSON Lines (klineage.results/1): a header that names
 * the bundle, a line for each job with a digest of the line, a final line with a digest of
 * everything before it, and a line with a signature, if a key is given. A line written to a file is
 * on disk before the next job begins, so that a worker that was killed can resume after that line.
 *
 *	kl_report_open(&r, path, digest)	keeps the results that the file already has
 *	kl_report_has(&r, job) || kl_report_add(&r, line)	for each job
 *	kl_report_end(&r, key)
 */
struct kl_report {
	int fd;
	/*
	 * is_file: the report is a file, not stdout; ended: the resumed report has its final line
	 */
	bool is_file, ended;
	struct kl_buf text; /* everything written so far */
	struct kl_map done; /* digests of the finished jobs */
	struct kl_lock lock;
};
#define KL_REPORT_INIT                                              \
	{                                                           \
		.fd = -1, .text = KL_BUF_INIT, .lock = KL_LOCK_INIT \
	}

/**
 * Open a report in the file `path`, or resume the report that the file has; NULL to write to
 * stdout. `bundle` is the digest of the bundle. Return KL_EINVALID if the file is not a report of
 * this bundle; the file is left unchanged. Return KL_EBUSY if another worker is writing it.
 */
int kl_report_open(struct kl_report *report, const char *path, const char *bundle);
/** Return true if the report has the result of the job with this digest. */
bool kl_report_has(const struct kl_report *report, const char *job);
/** Append the line of a job, which must have "job", the digest of the job; set its "sha256". */
int kl_report_add(struct kl_report *report, json_t *line);
/**
 * Write the final line, and sign the report with `key`, a key file for ssh-keygen; NULL to sign
 * nothing. A line that a resumed report already has is not written again.
 */
int kl_report_end(struct kl_report *report, const char *key);
void kl_report_release(struct kl_report *report);

#endif
