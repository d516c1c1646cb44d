/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_REPORT_H
#define KL_WORKER_REPORT_H

#include "base/lock.h"
#include "base/map.h"
#include "base/sha256.h"
#include "text/json.h"

/*
 * report - the results of a bundle as JSON Lines (klineage.results/1): a head that names the
 * bundle, a line for each job under its own digest, an end under the digest of all, a signature.
 * A line is on the disk before the next job begins, so that a worker which was
 * killed goes on behind it.
 *
 *	kl_report_open(&r, path, digest)	what is there already counts
 *	kl_report_has(&r, job) || kl_report_add(&r, line)	...
 *	kl_report_end(&r, key)
 */
struct kl_report {
	int fd;
	bool is_file, ended; /* ended: it was whole before */
	struct kl_buf text;  /* all of it */
	struct kl_map done;  /* digests of jobs */
	struct kl_lock lock;
};
#define KL_REPORT_INIT                                              \
	{                                                           \
		.fd = -1, .text = KL_BUF_INIT, .lock = KL_LOCK_INIT \
	}

/**
 * `path` NULL: stdout. KL_EINVALID: the file is no report of this bundle, and stays as it is;
 * KL_EBUSY: another worker writes it.
 */
int kl_report_open(struct kl_report *report, const char *path, const char *bundle);
bool kl_report_has(const struct kl_report *report, const char *job);
/** `line` has "job" and gets "sha256". */
int kl_report_add(struct kl_report *report, json_t *line);
/** `key`: a file for ssh-keygen; NULL: not signed. */
int kl_report_end(struct kl_report *report, const char *key);
void kl_report_release(struct kl_report *report);

#endif
