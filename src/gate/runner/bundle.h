/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_BUNDLE_H
#define KL_GATE_RUNNER_BUNDLE_H

#include "event/judgement.h"
#include "repo/repo.h"
#include "text/digest.h"

/*
 * bundle - packs jobs that are judged elsewhere into one file (docs/formats.md, "Bundles and
 * results"). It has a manifest, the jobs, and one copy of every object that they refer to, named by
 * its digest. The same jobs give the same bytes.
 *
 *	kl_bundle_add(b, &job) ...	reads the files that the job refers to
 *	kl_bundle_keep(b, repo)		records the jobs in the clone, before they are sent
 *	kl_bundle_pack(&bytes, digest, b)
 */
struct kl_bundle;

struct kl_bundle *kl_bundle_new(void);
void kl_bundle_free(struct kl_bundle *bundle);
KL_DEFINE_CLEANUP(struct kl_bundle *, kl_bundle_free)

struct kl_bundle_job {
	/* the job as a local worker gets it, with absolute paths */
	const json_t *job;
	const struct kl_event *event; /* draft: everything known without the result */
	const struct kl_judgement_of *of;
	/* digest of the verdict's cache key, without the device */
	const char *cache;
	const char *runner; /* name of the runner that gets the job */
	const char *dir;    /* directory of the contract in the repository */
	const char *commit; /* a commit with this surface; NULL: none is known */
};

/** Add a job unless the bundle has it already. KL_EINVALID: the bundle would be too large. */
int kl_bundle_add(struct kl_bundle *bundle, const struct kl_bundle_job *job);
size_t kl_bundle_jobs(const struct kl_bundle *bundle);
/** Record all jobs in the clone (gate/runner/pending_jobs.h); durable when it returns. */
int kl_bundle_keep(const struct kl_bundle *bundle, struct kl_repo *repo);
/** Write the bundle's bytes; `digest` gets that of the manifest, which names the bundle. */
void kl_bundle_pack(struct kl_buf *out, char digest[KL_DIGEST_HEX], const struct kl_bundle *bundle);

#endif
