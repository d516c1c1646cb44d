/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_BUNDLE_H
#define KL_GATE_RUNNER_BUNDLE_H

#include "event/judgement.h"
#include "repo/repo.h"
#include "text/digest.h"

/*
 * bundle - jobs that are judged elsewhere, in one file (docs/formats.md, "Bundles and
 * results"): a manifest, the jobs, and every object they name, once each under
 * its own digest. The same jobs give the same bytes.
 *
 *	kl_bundle_add(b, &job) ...	reads the files that the job names
 *	kl_bundle_keep(b, repo)		the clone remembers what it will have sent
 *	kl_bundle_pack(&bytes, digest, b)
 */
struct kl_bundle;

struct kl_bundle *kl_bundle_new(void);
void kl_bundle_free(struct kl_bundle *bundle);
KL_DEFINE_CLEANUP(struct kl_bundle *, kl_bundle_free)

struct kl_bundle_job {
	/* klineage.job/1 as a local worker gets it, absolute paths */
	const json_t *job;
	const struct kl_event *event; /* all that is known before */
	const struct kl_judgement_of *of;
	/* digest of the key that the verdict is kept under, but for the device */
	const char *cache;
	const char *runner; /* who judges it */
	const char *dir;    /* contract's directory in the repository */
	const char *commit; /* that has this surface; NULL: none is known */
};

/** A job that is there already is not added again. KL_EINVALID: too much for one bundle. */
int kl_bundle_add(struct kl_bundle *bundle, const struct kl_bundle_job *job);
size_t kl_bundle_jobs(const struct kl_bundle *bundle);
/** Durable records (gate/runner/pending_jobs.h) of all of them. */
int kl_bundle_keep(const struct kl_bundle *bundle, struct kl_repo *repo);
/** `digest`: of the manifest, the bundle's name. */
void kl_bundle_pack(struct kl_buf *out, char digest[KL_DIGEST_HEX], const struct kl_bundle *bundle);

#endif
