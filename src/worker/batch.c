/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/batch.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/printable.h"
#include "base/proc.h"
#include "base/scratch.h"
#include "worker/report.h"
#include "worker/unpack.h"

#define MAX_BUNDLE ((size_t)1 << 30)
#define JOB_MS (15 * 60 * 1000)

struct batch {
	const struct kl_batch *opts;
	struct kl_scratch scratch;
	struct kl_unpacked unpacked;
	struct kl_report report;
	json_t *audits;   /* contract digest -> result of its audit, if the audit passed here */
	char device[128]; /* name of the processor */
};

static void batch_release(struct batch *batch)
{
	kl_report_release(&batch->report);
	kl_unpacked_release(&batch->unpacked);
	json_decref(batch->audits);
	kl_scratch_release(&batch->scratch);
}

/* --- the processor ----------------------------------------------------------------- */

static void find_processor(struct batch *batch)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *at;

	if (kl_fs_read(&text, "/proc/cpuinfo", 64 << 20) < 0)
		kl_error_clear();
	at = strstr(text.ptr, "model name");
	at = at ? strchr(at, ':') : NULL;
	if (at)
		at += 1 + strspn(at + 1, " ");
	snprintf(batch->device, sizeof(batch->device), "%.*s", at ? (int)strcspn(at, "\n") : 0,
		 at ? at : "");
}

/* Return true if this processor supports `isa`, the level that the objects were compiled for. */
static bool level_ok(const char *isa)
{
#ifdef __x86_64__
	int level = 1;

	if (sscanf(isa, "x86-64-v%d", &level) != 1)
		return true;
	if (level >= 2 && !(__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")))
		return false;
	if (level >= 3 && !(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
			    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")))
		return false;
	return level < 4 ||
	       (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"));
#else
	return strncmp(isa, "x86-64", 6) != 0;
#endif
}

/* --- one job --------------------------------------------------------------------------- */

static json_t *cannot_result(const char *why)
{
	json_t *result = json_object();

	kl_json_set_str(result, "schema", "klineage.result/1");
	kl_json_set_str(result, "status", "cannot");
	kl_json_set_str(result, "message", why);
	return result;
}

static json_t *bad_end(const struct kl_proc_result *res, struct kl_buf *words)
{
	KL_AUTO(kl_freep) char *why = NULL;

	kl_buf_rtrim(words);
	if (res->timed_out)
		why = kl_asprintf("the job did not end within %d minutes", JOB_MS / 60000);
	else if (res->signal)
		why = kl_asprintf("klineage-worker was killed by signal %d", res->signal);
	else
		why = kl_asprintf("klineage-worker exited with status %d: %.500s", res->exit,
				  words->ptr);
	return cannot_result(why);
}

/*
 * Run the job in a separate process, so that the batch continues whatever happens to that process.
 * The process of a job in C confines itself to `dir`. The process of a GPU job cannot, because the
 * driver needs access to more of the system.
 */
static int run_worker(json_t **result, const json_t *job, const char *dir)
{
	bool is_c = !strcmp(kl_json_str_or(job, "surface", ""), "c");
	const char *const argv[] = { "/proc/self/exe", is_c ? "--confine" : NULL, dir, NULL };
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT, out = KL_BUF_INIT,
					      words = KL_BUF_INIT;
	struct kl_proc_opts opts = {
		.argv = argv,
		.out = &out,
		.err = &words,
		.timeout_ms = JOB_MS,
	};
	struct kl_proc_result res;
	int err;

	kl_json_canonical(&in, job);
	opts.in = in.ptr;
	opts.in_len = in.len;
	if ((err = kl_proc_run(&res, &opts)) < 0)
		return err;
	if (res.exit || res.signal || res.timed_out)
		*result = bad_end(&res, &words);
	else if (kl_json_parse(result, out.ptr, out.len) < 0)
		*result = cannot_result("klineage-worker did not answer with JSON");
	kl_error_clear();
	return 0;
}

static bool wants_stage(const json_t *job, const char *stage)
{
	size_t i;
	json_t *value;

	json_array_foreach(json_object_get(job, "do"), i, value)
		if (json_is_string(value) && !strcmp(json_string_value(value), stage))
			return true;
	return false;
}

static void drop_audit(json_t *job)
{
	json_t *list = json_object_get(job, "do");

	for (size_t i = json_array_size(list); i-- > 0;)
		if (!strcmp(json_string_value(json_array_get(list, i)), "audit"))
			json_array_remove(list, i);
}

#define MINUTE_MS 60000

/*
 * Print how long this process has waited for the lock: at once, then each time the wait has
 * doubled, but at least every minute.
 */
static void say_wait(void *payload, long pid, int64_t ms)
{
	int64_t *said = payload;
	KL_AUTO(kl_freep) char *text = kl_lock_wait_text(pid, ms);

	if (*said && ms < 2 * *said && ms - *said < MINUTE_MS)
		return;
	*said = ms;
	fprintf(stderr, "klineage-worker: %s\n", text);
}

/*
 * If the job profiles a kernel in C, take the machine's lock for profiling on the CPU, and wait
 * while another process holds the lock. For device code the worker process of the job takes the
 * lock of the GPU itself.
 */
static int take_turn(struct kl_lock *lock, const json_t *job)
{
	int64_t said_ms = 0;
	int err;

	if (!wants_stage(job, "profile") || strcmp(kl_json_str_or(job, "surface", "c"), "c"))
		return 0;
	err = kl_lock_await_machine(lock, "cpu", say_wait, &said_ms);
	if (!err && lock->notice)
		fprintf(stderr, "klineage-worker: %s\n", lock->notice);
	return err;
}

/*
 * Judge one job. An audit that passed is not repeated for other jobs with the same contract: the
 * result of the audit is copied into the results of those jobs.
 */
static int judge_entry(json_t **result, struct batch *batch, const json_t *entry)
{
	KL_AUTO(json_decrefp) json_t *job = NULL;
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	const char *contract = kl_json_str_or(entry, "contract", "");
	json_t *audit = json_object_get(batch->audits, contract);
	int err;

	if ((err = kl_unpack_job(&job, entry, batch->scratch.path)) < 0)
		return err;
	if (!level_ok(kl_json_str_or(job, "isa", ""))) {
		*result = cannot_result(
			"this processor lacks instructions of the level that the kernel was "
			"compiled for");
		return 0;
	}
	if (audit)
		drop_audit(job);
	if ((err = take_turn(&lock, job)) < 0 ||
	    (err = run_worker(result, job, batch->scratch.path)) < 0)
		return err;
	if (audit)
		kl_json_set(*result, "audit", json_incref(audit));
	else if (kl_json_bool_or(json_object_get(*result, "audit"), "ok", false))
		json_object_set(batch->audits, contract, json_object_get(*result, "audit"));
	return 0;
}

/* --- the jobs of the bundle --------------------------------------------------------------- */

static json_t *line_for(const struct batch *batch, const json_t *entry, json_t *result, int64_t ms)
{
	json_t *line = json_object();
	bool has_device = kl_json_str_or(result, "device", NULL) != NULL;
	char now[21];

	kl_clock_iso(now);
	kl_json_set_str(line, "job", kl_json_str_or(entry, "digest", ""));
	kl_json_set_str(line, "surface", kl_json_str_or(entry, "surface", ""));
	kl_json_set_str(line, "contract", kl_json_str_or(entry, "contract", ""));
	kl_json_set_str(line, "device",
			has_device ? kl_json_str_or(result, "device", "") : batch->device);
	kl_json_set_str(line, "driver", kl_json_str_or(result, "driver", NULL));
	kl_json_set_str(line, "time", now);
	kl_json_set_int(line, "ms", ms);
	json_object_set(line, "result", result);
	return line;
}

/* Print to stderr, made printable (base/printable.h) because it can quote a bundle or a kernel. */
__attribute__((format(printf, 1, 2))) static void print_line(const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT, line = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&text, fmt, ap);
	va_end(ap);
	kl_printable_line(&line, text.ptr, text.len);
	fputs(line.ptr, stderr);
}

static int do_one(struct batch *batch, const json_t *entry, size_t number)
{
	KL_AUTO(json_decrefp) json_t *result = NULL, *line = NULL;
	int64_t begin = kl_clock_ns();
	const char *why;
	int err;

	print_line("[%zu/%zu] %s %.12s: ", number, json_array_size(batch->unpacked.jobs),
		   kl_json_str_or(entry, "workload", "?"), kl_json_str_or(entry, "surface", "?"));
	if (kl_report_has(&batch->report, kl_json_str_or(entry, "digest", ""))) {
		fprintf(stderr, "already done\n");
		return 0;
	}
	if ((err = judge_entry(&result, batch, entry)) < 0) {
		fprintf(stderr, "failed\n");
		return err;
	}
	line = line_for(batch, entry, result, (kl_clock_ns() - begin) / 1000000);
	why = kl_json_str_or(result, "message", "");
	print_line("%s%s%s (%.1f s)", kl_json_str_or(result, "status", "?"), *why ? ": " : "", why,
		   (double)(kl_clock_ns() - begin) / 1e9);
	fputc('\n', stderr);
	return kl_report_add(&batch->report, line);
}

static int read_bundle(struct kl_buf *out, const char *path)
{
	if (strcmp(path, "-"))
		return kl_fs_read(out, path, MAX_BUNDLE);
	return kl_buf_read_fd(out, STDIN_FILENO, MAX_BUNDLE);
}

static int open_bundle(struct batch *batch)
{
	KL_AUTO(kl_buf_release) struct kl_buf bytes = KL_BUF_INIT;
	int err = read_bundle(&bytes, batch->opts->bundle);

	if (!err)
		err = kl_scratch_open(&batch->scratch, "klineage-bundle");
	if (!err)
		err = kl_unpack(&batch->unpacked, bytes.ptr, bytes.len, batch->scratch.path);
	return err;
}

int kl_batch_run(const struct kl_batch *opts)
{
	KL_AUTO(batch_release) struct batch batch = { .opts = opts,
						      .scratch = KL_SCRATCH_INIT,
						      .report = KL_REPORT_INIT,
						      .audits = json_object() };
	int err;

	kl_proc_catch_signals();
	find_processor(&batch);
	if ((err = open_bundle(&batch)) < 0 ||
	    (err = kl_report_open(&batch.report, opts->output, batch.unpacked.digest)) < 0)
		return err;
	for (size_t i = 0; !batch.report.ended && i < json_array_size(batch.unpacked.jobs); i++) {
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR,
					"interrupted; run the same command again to resume");
		if ((err = do_one(&batch, json_array_get(batch.unpacked.jobs, i), i + 1)) < 0)
			return err;
	}
	return kl_report_end(&batch.report, opts->sign_key);
}
