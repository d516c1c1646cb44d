/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/runner/transfer.h"

#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "gate/runner/bundle.h"
#include "gate/runner/results.h"

void kl_transfer_release(struct kl_transfer *sent)
{
	free(sent->file);
	free(sent->digest);
	free(sent->command);
	free(sent->why);
	*sent = (struct kl_transfer){ 0 };
}

/* Arguments of one transfer. */
struct transfer {
	const struct kl_runner *runner;
	struct kl_repo *repo;
	struct kl_progress *progress;
	const char *path;
	const struct kl_buf *bytes;
};

/* Return the command that the user must run on the worker's machine. */
static char *worker_command(const char *file)
{
	const char *slash = strrchr(file, '/'), *leaf = slash ? slash + 1 : file;
	const char *dot = strrchr(leaf, '.');
	int stem = (int)(dot && dot > leaf ? (size_t)(dot - leaf) : strlen(leaf));

	return kl_asprintf("klineage-worker --bundle %s -o %.*s.results", leaf, stem, leaf);
}

static int write_file(struct kl_transfer *out, const struct transfer *transfer)
{
	int err;

	out->file = transfer->path ? kl_strdup(transfer->path) :
				     kl_asprintf("%s/klineage/bundles/%.16s.tar",
						 kl_repo_common_dir(transfer->repo), out->digest);
	if ((err = KL_FAULT("bundle-put")) < 0 || (err = kl_fs_mkdir_of(out->file)) < 0 ||
	    (err = kl_fs_write_output(out->file, transfer->bytes->ptr, transfer->bytes->len)) < 0)
		return err;
	out->command = worker_command(out->file);
	out->waiting = true;
	return KL_FAULT("bundle-put-done");
}

/* Report a broken connection, and how many results were received before it broke. */
static int connection_error(const struct kl_transfer *out, const struct transfer *transfer, int err,
			    const char *why, const char *hints)
{
	kl_error(err, "%s (%zu of %zu result%s came back and %s kept)", why, out->imported,
		 out->jobs, out->jobs == 1 ? "" : "s", out->imported == 1 ? "is" : "are");
	if (*hints)
		return kl_error_hint(err, "%s", hints);
	return kl_error_hint(
		err, "once '%s' is reachable again, run the same command to get the other results",
		transfer->runner->arg);
}

/* Send the bundle and import the results, even if the connection broke after some were received. */
static int carry_bundle(struct kl_transfer *out, const struct transfer *transfer)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_results_release) struct kl_results results = { 0 };
	KL_AUTO(kl_freep) char *why = NULL, *hints = NULL;
	const struct kl_runner_load load = {
		.bundle = transfer->bytes,
		.worker = kl_repo_config(transfer->repo, "klineage.workerPath"),
		.talk = transfer->progress != NULL,
	};
	int err, sent;

	kl_progress_step(transfer->progress, "%zu job%s on %s", out->jobs,
			 out->jobs == 1 ? "" : "s", transfer->runner->arg);
	sent = transfer->runner->way->carry(&text, transfer->runner, &load);
	if (sent < 0 && sent != KL_ECANNOT && sent != KL_EINTR)
		return sent;
	why = kl_strdup(sent < 0 ? kl_error_last() : "");
	hints = kl_strndup(kl_error_hints(), strcspn(kl_error_hints(), "\n"));
	err = kl_results_take(&results, transfer->repo, text.ptr, text.len);
	out->imported = results.imported + results.again;
	out->refused = results.refused;
	if (err < 0 && !sent)
		return kl_error_in(KL_ECANNOT, "the results from '%s'", transfer->runner->arg);
	if (sent < 0)
		return connection_error(out, transfer, sent, why, hints);
	/* this is no error, because the caller decides whether it needs the missing results */
	if (results.cannot)
		out->why = kl_asprintf("cannot test on '%s': %s", transfer->runner->arg,
				       results.why);
	return 0;
}

int kl_transfer_send(struct kl_transfer *out, const struct kl_bundle *bundle,
		     const struct kl_runner *runner, struct kl_repo *repo, const char *path,
		     struct kl_progress *progress)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	const struct transfer transfer = {
		.runner = runner,
		.repo = repo,
		.progress = progress,
		.path = path,
		.bytes = &bytes,
	};
	char digest[KL_DIGEST_HEX];
	int err;

	*out = (struct kl_transfer){ .jobs = kl_bundle_jobs(bundle) };
	if (!out->jobs)
		return 0;
	if ((err = kl_bundle_keep(bundle, repo)) < 0)
		return err;
	kl_bundle_pack(&bytes, digest, bundle);
	out->digest = kl_strdup(digest);
	return runner->way->carry ? carry_bundle(out, &transfer) : write_file(out, &transfer);
}
