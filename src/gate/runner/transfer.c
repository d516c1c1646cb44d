/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/runner/transfer.h"

#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "gate/runner/bundle.h"
#include "gate/runner/results.h"

void kl_parcel_release(struct kl_parcel *parcel)
{
	free(parcel->file);
	free(parcel->digest);
	free(parcel->command);
	free(parcel->why);
	*parcel = (struct kl_parcel){ 0 };
}

/* What is sent, by whom, from where. */
struct way {
	const struct kl_runner *runner;
	struct kl_repo *repo;
	struct kl_progress *progress;
	const char *path;
	const struct kl_buf *bytes;
};

/* For a person: what to run where the hardware is. */
static char *command_for(const char *file)
{
	const char *slash = strrchr(file, '/'), *leaf = slash ? slash + 1 : file;
	const char *dot = strrchr(leaf, '.');
	int stem = (int)(dot && dot > leaf ? (size_t)(dot - leaf) : strlen(leaf));

	return kl_asprintf("klineage-worker --bundle %s -o %.*s.results", leaf, stem, leaf);
}

static int leave_file(struct kl_parcel *out, const struct way *way)
{
	int err;

	out->file = way->path ? kl_strdup(way->path) :
				kl_asprintf("%s/klineage/bundles/%.16s.tar",
					    kl_repo_common_dir(way->repo), out->digest);
	if ((err = KL_FAULT("bundle-put")) < 0 || (err = kl_fs_mkdir_of(out->file)) < 0 ||
	    (err = kl_fs_write_output(out->file, way->bytes->ptr, way->bytes->len)) < 0)
		return err;
	out->command = command_for(out->file);
	out->waiting = true;
	return KL_FAULT("bundle-put-done");
}

/* The way broke down; what came back before is kept. */
static int broke_down(const struct kl_parcel *out, const struct way *way, int sent, const char *why,
		      const char *hints)
{
	kl_error(sent, "%s (%zu of %zu result%s came back and %s kept)", why, out->imported,
		 out->jobs, out->jobs == 1 ? "" : "s", out->imported == 1 ? "is" : "are");
	if (*hints)
		return kl_error_hint(sent, "%s", hints);
	return kl_error_hint(
		sent, "once '%s' answers again, the same command goes on with what is missing",
		way->runner->arg);
}

/* What came back is kept even if the way broke down behind it. */
static int carry_parcel(struct kl_parcel *out, const struct way *way)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_results_release) struct kl_results results = { 0 };
	KL_AUTO(kl_freep) char *why = NULL, *hints = NULL;
	const struct kl_runner_load load = {
		.bundle = way->bytes,
		.worker = kl_repo_config(way->repo, "klineage.workerPath"),
		.talk = way->progress != NULL,
	};
	int err, sent;

	kl_progress_step(way->progress, "%zu job%s on %s", out->jobs, out->jobs == 1 ? "" : "s",
			 way->runner->arg);
	sent = way->runner->way->carry(&text, way->runner, &load);
	if (sent < 0 && sent != KL_ECANNOT && sent != KL_EINTR)
		return sent;
	why = kl_strdup(sent < 0 ? kl_error_last() : "");
	hints = kl_strndup(kl_error_hints(), strcspn(kl_error_hints(), "\n"));
	err = kl_results_take(&results, way->repo, text.ptr, text.len);
	out->imported = results.imported + results.again;
	out->refused = results.refused;
	if (err < 0 && !sent)
		return kl_error_in(KL_ECANNOT, "the results from '%s'", way->runner->arg);
	if (sent < 0)
		return broke_down(out, way, sent, why, hints);
	if (results.cannot) /* whoever needs that one will find it missing */
		out->why = kl_asprintf("cannot test on '%s': %s", way->runner->arg, results.why);
	return 0;
}

int kl_parcel_send(struct kl_parcel *out, const struct kl_bundle *bundle,
		   const struct kl_runner *runner, struct kl_repo *repo, const char *path,
		   struct kl_progress *progress)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	const struct way way = {
		.runner = runner,
		.repo = repo,
		.progress = progress,
		.path = path,
		.bytes = &bytes,
	};
	char digest[KL_DIGEST_HEX];
	int err;

	*out = (struct kl_parcel){ .jobs = kl_bundle_jobs(bundle) };
	if (!out->jobs)
		return 0;
	if ((err = kl_bundle_keep(bundle, repo)) < 0)
		return err;
	kl_bundle_pack(&bytes, digest, bundle);
	out->digest = kl_strdup(digest);
	return runner->way->carry ? carry_parcel(out, &way) : leave_file(out, &way);
}
