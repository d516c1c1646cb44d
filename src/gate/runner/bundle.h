/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_BUNDLE_H
#define KL_GATE_RUNNER_BUNDLE_H

#include "event/judgement.h"
#include "repo/repo.h"
#include "text/digest.h"

/*
 * bundle - packs jobs for a worker elsewhere into one file (docs/formats.md, "Bundles and
 * results"). The file has a manifest, the jobs, and one copy of every object that they refer to,
 * named by its digest. The same jobs always give the same bytes.
 *
 *	kl_bundle_add(b, &job) ...	reads the files that the job refers to
 *	kl_bundle_keep(b, repo)		records the jobs in the clone, before they are sent
 *	kl_bundle_pack(&bytes, digest, b)
 */
#define KL_BUNDLE_JOBS 4096 /* most jobs of a bundle; a worker refuses more */

struct kl_bundle;

struct kl_bundle *kl_bundle_new(void);
void kl_bundle_free(struct kl_bundle *bundle);
KL_DEFINE_CLEANUP(struct kl_bundle *, kl_bundle_free)

struct kl_bundle_job {
	/* the job as it would be sent to a local worker, with absolute paths */
	const json_t *job;
	const struct kl_event *event; /* draft of the event, complete except for the result */
	const struct kl_judgement_of *of;
	/* digest of the verdict's cache key, without the device */
	const char *cache;
	const char *runner; /* name of the runner that gets the job */
	const char *dir;    /* directory of the contract in the repository */
	const char *commit; /* a commit with this surface; NULL if none is known */
	/* id of a verdict on the same job, which is judged again; NULL if there is none */
	const char *after;
	/* the campaign that gets the event, instead of the cache and notes; NULL if none */
	const char *campaign;
};

/**
 * Add a job, unless it is already in the bundle. Return KL_EINVALID if the bundle would be too
 * large.
 */
int kl_bundle_add(struct kl_bundle *bundle, const struct kl_bundle_job *job);
/**
 * Move all jobs of another bundle, which is then to be freed. Return KL_EINVALID if `to` would be
 * too large.
 */
int kl_bundle_take(struct kl_bundle *bundle, struct kl_bundle *from);
size_t kl_bundle_jobs(const struct kl_bundle *bundle);
/** Write a record of every job to disk (gate/runner/pending_jobs.h). */
int kl_bundle_keep(const struct kl_bundle *bundle, struct kl_repo *repo);
/**
 * Return true if the event is the result of a job of this clone that had a verdict before
 * (`after`).
 */
bool kl_bundle_is_again(struct kl_repo *repo, const struct kl_event *event);
/** Append the bundle's bytes to `out`, and store the manifest's digest, which names the bundle. */
void kl_bundle_pack(struct kl_buf *out, char digest[KL_DIGEST_HEX], const struct kl_bundle *bundle);

#endif
