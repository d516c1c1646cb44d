/* SPDX-License-Identifier: Apache-2.0 */
/* main - reads a job, runs its stages and prints the result */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/printable.h"
#include "worker/batch.h"
#include "worker/confine/job_jail.h"
#include "worker/gpu/process_pool.h"
#include "worker/gpu/server.h"
#include "worker/stage/stages.h"
#include "worker/subject/child.h"
#include "worker/subject/image_file.h"

#define MAX_JOB ((size_t)16 << 20)

static const char usage[] =
	"usage: klineage-worker [--job <file>] < job > result\n"
	"   or: klineage-worker --confine <dir> < job > result\n"
	"   or: klineage-worker --bundle <file> [-o <results>] [--sign-key <key>]\n"
	"\n"
	"Read one job from stdin, judge the objects that it names, and write one result to\n"
	"stdout, both in JSON (docs/formats.md, section 8). git-klineage runs this in a jail.\n"
	"With a bundle from 'git klineage gate --runner bundle', do all of its jobs;\n"
	"'git klineage gate --import' imports the results.\n"
	"\n"
	"    --job <file>          read the job from this file instead of stdin\n"
	"    --confine <dir>       first confine this process, which can then write only\n"
	"                          below the directory; --bundle does so for each job in C\n"
	"    --bundle <file>       do the jobs of this bundle; '-' reads it from stdin\n"
	"    -o, --output <file>   write results to this file; skip jobs whose results it has\n"
	"    --sign-key <key>      sign the results with this SSH key\n"
	"    -h, --help            print this text\n"
	"    --version             print the version\n"
	"\n"
	"Exit status: 0 a result was written, 125 the job cannot be judged here, 128 malformed\n"
	"job or system error, 129 usage error, 130 interrupted. If it is not 0, stderr has the\n"
	"reason.\n";

/*
 * Forbid other processes of the same user to read or trace this process: it knows the right
 * answers, and kernels run under the same user id. A build with AddressSanitizer does not forbid
 * it, because its leak check traces the process.
 */
static void hide_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

static int read_job(struct kl_job **out, json_t **doc, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = path ? kl_fs_read(&text, path, MAX_JOB) :
			 kl_buf_read_fd(&text, STDIN_FILENO, MAX_JOB);

	if (err < 0 || (err = kl_json_parse(doc, text.ptr, text.len)) < 0)
		return kl_error_in(err, "%s", path ? path : "stdin");
	return kl_job_parse(out, *doc);
}

static bool still_passing(const json_t *result)
{
	return !strcmp(kl_json_str_or(result, "status", "pass"), "pass");
}

/* Set result.ms.<name> to the milliseconds since *from, and *from to the current time. */
static void note_time(json_t *result, const char *name, int64_t *from)
{
	json_t *ms = json_object_get(result, "ms");
	int64_t now = kl_clock_ns();

	if (!ms)
		kl_json_set(result, "ms", ms = json_object());
	kl_json_set_int(ms, name, (now - *from) / 1000000);
	*from = now;
}

static int run_stages(json_t *result, const struct kl_job *job, const json_t *doc)
{
	const struct {
		const char *name;
		bool wanted;
		int (*run)(json_t *result, const struct kl_job *job, struct kl_pool *pool);
	} stages[] = {
		{ "audit", job->do_audit, kl_stage_audit },
		{ "correct", job->do_correct, kl_stage_correct },
		{ "profile", job->do_profile, kl_stage_profile },
	};
	KL_AUTO(kl_pool_freep) struct kl_pool *pool = NULL;
	int64_t from = kl_clock_ns();
	int err;

	/* check all code of the job, whoever compiled it, before any of this code runs */
	if ((err = kl_image_file_check(job)) < 0 || (err = kl_pool_open(&pool, job)) < 0)
		return err;
	if (job->do_launch)
		return kl_stage_launch(result, job, pool);
	note_time(result, "pool", &from);
	for (size_t i = 0; i < KL_ARRAY_SIZE(stages); i++) {
		if (!stages[i].wanted || !still_passing(result))
			continue;
		if ((err = stages[i].run(result, job, pool)) < 0)
			return err;
		note_time(result, stages[i].name, &from);
	}
	if (!job->do_counters || !still_passing(result))
		return 0;
	err = kl_stage_counters(result, job, doc);
	note_time(result, "counters", &from);
	return err;
}

/*
 * Set result.jail to the names of the bits KL_JOB_CLOSED_* in `closed` (docs/formats.md,
 * "Bundles").
 */
static void describe_jail(json_t *result, unsigned closed)
{
	static const struct {
		unsigned bit;
		const char *name;
	} names[] = {
		{ KL_JOB_CLOSED_CAPABILITIES, "capabilities" },
		{ KL_JOB_CLOSED_FILES, "landlock" },
		{ KL_JOB_CLOSED_CALLS, "seccomp" },
		{ KL_JOB_CLOSED_NETWORK, "namespaces" },
	};
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (closed & names[i].bit)
			json_array_append_new(list, json_string(names[i].name));
	kl_json_set(result, "jail", list);
}

/*
 * Judge the job in the file `path` (NULL for stdin) and print its result. First confine this
 * process to the directory `dir`; NULL if it is not confined.
 */
static int work_job(const char *path, const char *dir)
{
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;
	KL_AUTO(kl_gpu_processes_freep) struct kl_gpu_processes *gpu = NULL;
	KL_AUTO(json_decrefp) json_t *result = json_object(), *doc = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	unsigned closed = 0;
	int err;

	hide_memory();
	if ((dir && (err = kl_job_jail_enter(&closed, dir)) < 0) ||
	    (err = read_job(&job, &doc, path)) < 0)
		return err;
	if (job->surface == KL_SURFACE_CUDA)
		job->gpu = gpu = kl_gpu_processes_new();
	kl_json_set_str(result, "schema", "klineage.result/1");
	kl_json_set_str(result, "status", "pass");
	err = run_stages(result, job, doc);
	if (err == KL_ECANNOT) { /* the result says that the job cannot be judged, and why */
		kl_json_set_str(result, "status", "cannot");
		kl_json_set_str(result, "message", kl_error_last());
	} else if (err < 0) {
		return err;
	}
	kl_gpu_processes_describe(result, job->gpu);
	if (job->host)
		kl_gpu_processes_describe_wall(result, job->gpu);
	if (dir)
		describe_jail(result, closed);
	kl_json_canonical(&text, result);
	printf("%s\n", text.ptr);
	if (fflush(stdout) || ferror(stdout))
		return kl_error_errno("cannot write the result");
	return 0;
}

/*
 * Parse the options of --bundle, each given at most once and with a value. Return false on a usage
 * error.
 */
static bool bundle_options(struct kl_batch *out, int argc, char **argv)
{
	const struct {
		const char *name, **value;
	} option[] = {
		{ "--bundle", &out->bundle },
		{ "-o", &out->output },
		{ "--output", &out->output },
		{ "--sign-key", &out->sign_key },
	};

	for (int i = 1; i < argc; i += 2) {
		const char **value = NULL;

		for (size_t k = 0; k < sizeof(option) / sizeof(*option); k++)
			if (!strcmp(option[k].name, argv[i]))
				value = option[k].value;
		if (!value || *value || !argv[i + 1] || !*argv[i + 1])
			return false;
		*value = argv[i + 1];
	}
	return out->bundle != NULL;
}

/* Print the last error to stderr, made printable, because it can quote an untrusted bundle. */
static void print_error(void)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_printable_add(&text, kl_error_last(), strlen(kl_error_last()));
	fprintf(stderr, "klineage-worker: %s\n", text.ptr);
}

int main(int argc, char **argv)
{
	struct kl_batch batch = { .bundle = NULL };
	const char *job = argc == 3 && !strcmp(argv[1], "--job") ? argv[2] : NULL;
	const char *dir = argc == 3 && !strcmp(argv[1], "--confine") ? argv[2] : NULL;
	int err;

	if (argc == 2 && !strcmp(argv[1], "--child"))
		return kl_child_main();
	if (argc == 2 && !strcmp(argv[1], "--gpu-child"))
		return kl_gpu_server_main();
	if (argc == 2 && !strcmp(argv[1], "--version"))
		return printf("klineage-worker %s\n", KL_VERSION) < 0;
	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return fputs(usage, stdout) == EOF;
	if (argc != 1 && !job && !dir && !bundle_options(&batch, argc, argv)) {
		fputs(usage, stderr);
		return 129;
	}
	/*
	 * set the timer slack to 1000 ns: the default would lengthen the short sleeps between polls
	 * of a child
	 */
	prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
	err = batch.bundle ? kl_batch_run(&batch) : work_job(job, dir);
	if (err < 0)
		print_error();
	return err < 0 ? kl_error_exit(err) : 0;
}
