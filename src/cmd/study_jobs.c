/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/study_jobs.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/lock.h"
#include "base/proc.h"
#include "cmd/study_print.h"

#define POLL_MS 20
#define EXIT_PAUSED 1
#define EXIT_CANNOT 125

struct job {
	struct kl_proc proc;
	struct kl_study_cell cell;
	bool runs;
};

/* jobs in progress */
struct pool {
	const struct kl_study_jobs *jobs;
	struct job job[KL_STUDY_JOBS];
	size_t next;   /* number of the next cell to start */
	size_t failed; /* number of cells that ended in an error */
	bool stop;     /* start no more cells */
	bool cannot;   /* kernels cannot be judged here */
	char *program;
};

static void pool_release(struct pool *pool)
{
	for (size_t i = 0; i < KL_STUDY_JOBS; i++)
		if (pool->job[i].runs)
			kl_proc_release(&pool->job[i].proc);
	free(pool->program);
}

/* --- starting -------------------------------------------------------------------------------- */

static void push_option(struct kl_strvec *argv, const char *option, const char *value)
{
	if (value)
		kl_strvec_pushf(argv, "--%s=%s", option, value);
}

static int start_job(struct pool *pool, struct job *job, const struct kl_study_cell *cell)
{
	const struct kl_study_jobs *jobs = pool->jobs;
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	struct kl_proc_opts opts = {
		/* with the keys of providers, which the cell needs */
		.env = (const char *const *)environ,
		.flags = KL_PROC_INHERIT_STDERR | KL_PROC_ASK,
	};
	int err;

	kl_strvec_push(&argv, pool->program);
	kl_strvec_push(&argv, "study");
	kl_strvec_push(&argv, "run");
	kl_strvec_push(&argv, "--quiet");
	push_option(&argv, "cell", cell->id);
	push_option(&argv, "exec", jobs->command);
	push_option(&argv, "jail", jobs->jail);
	push_option(&argv, "platform", jobs->platform);
	kl_strvec_push(&argv, jobs->study->name);
	opts.argv = (const char *const *)argv.v;
	job->proc = (struct kl_proc)KL_PROC_INIT;
	job->cell = *cell;
	if ((err = kl_proc_start(&job->proc, &opts)) < 0)
		return err;
	job->runs = true;
	return 0;
}

static bool is_wanted(const struct kl_study_jobs *jobs, const struct kl_study_cell *cell)
{
	return (!jobs->task || !strcmp(jobs->task, cell->task->id)) &&
	       (!jobs->policy || !strcmp(jobs->policy, cell->arm->id));
}

/* Find the next cell that has not ended. Return 1 if there is none. */
static int find_next(struct kl_study_cell *out, struct pool *pool)
{
	const struct kl_study_jobs *jobs = pool->jobs;

	while (pool->next < kl_study_cells(jobs->study)) {
		KL_AUTO(kl_ending_release) struct kl_ending ending = { 0 };
		int err;

		kl_study_cell(out, jobs->study, pool->next++);
		if (!is_wanted(jobs, out))
			continue;
		err = kl_ending_read(&ending, jobs->repo, jobs->study, out);
		if (err != KL_ENOTFOUND && err < 0)
			return err;
		if (err == KL_ENOTFOUND) {
			kl_error_clear();
			return 0;
		}
	}
	return 1;
}

static int fill_jobs(struct pool *pool)
{
	for (int64_t i = 0; !pool->stop && i < pool->jobs->jobs; i++) {
		struct kl_study_cell cell;
		int err;

		if (pool->job[i].runs)
			continue;
		err = find_next(&cell, pool);
		if (err)
			return err < 0 ? err : 0;
		if ((err = start_job(pool, &pool->job[i], &cell)) < 0)
			return err;
	}
	return 0;
}

/* --- ending ---------------------------------------------------------------------------------- */

static int end_job(struct pool *pool, struct job *job, const struct kl_proc_result *result)
{
	const struct kl_study_jobs *jobs = pool->jobs;

	job->runs = false;
	kl_proc_release(&job->proc);
	if (result->exit) {
		/* a table that lacks the kernel of one cell can have those of the others */
		bool cannot = result->exit == EXIT_CANNOT && !strcmp(jobs->study->judge, "real");

		pool->failed++;
		pool->cannot = pool->cannot || cannot;
		/* what stopped this cell would stop the next one as well */
		if (result->exit == EXIT_PAUSED || cannot)
			pool->stop = true;
	}
	return kl_study_print_cell(jobs->study, jobs->repo, &job->cell);
}

/* Return the number of jobs that still run, or an error. */
static int reap_jobs(struct pool *pool)
{
	int running = 0;

	for (int64_t i = 0; i < pool->jobs->jobs; i++) {
		struct kl_proc_result result = { 0 };
		struct job *job = &pool->job[i];
		int err;

		if (!job->runs)
			continue;
		if (!kl_proc_ended(&result, &job->proc))
			running++;
		else if ((err = end_job(pool, job, &result)) < 0)
			return err;
	}
	return running;
}

/* Ask all jobs to stop, and wait for them: each finishes what must not be torn. */
static void stop_jobs(struct pool *pool)
{
	for (size_t i = 0; i < KL_STUDY_JOBS; i++)
		if (pool->job[i].runs)
			kl_proc_stop(&pool->job[i].proc, SIGTERM);
	for (size_t i = 0; i < KL_STUDY_JOBS; i++)
		for (struct kl_proc_result result; pool->job[i].runs;) {
			if (kl_proc_ended(&result, &pool->job[i].proc))
				pool->job[i].runs = false;
			else
				kl_clock_sleep_ms(POLL_MS);
		}
}

static int run_jobs(struct pool *pool)
{
	int running = 1, err = 0;

	while (running) {
		if (kl_proc_interrupted()) {
			stop_jobs(pool);
			return kl_error(KL_EINTR, "interrupted");
		}
		if ((err = fill_jobs(pool)) < 0 || (running = reap_jobs(pool)) < 0) {
			KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last());

			err = err < 0 ? err : running;
			stop_jobs(pool);
			return kl_error((enum kl_err)err, "%s", why);
		}
		if (running)
			kl_clock_sleep_ms(POLL_MS);
		else if (!pool->stop && pool->next < kl_study_cells(pool->jobs->study))
			running = 1;
	}
	return 0;
}

int kl_study_jobs_run(const struct kl_study_jobs *jobs)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	KL_AUTO(pool_release) struct pool pool = { .jobs = jobs };
	int err;

	if ((err = kl_study_lock(&lock, jobs->repo, jobs->study)) < 0 ||
	    (err = kl_fs_program(&pool.program, "git-klineage")) < 0 || (err = run_jobs(&pool)) < 0)
		return err;
	if (pool.cannot)
		return kl_error(KL_ECANNOT, "study '%s': kernels cannot be judged here",
				jobs->study->name);
	if (pool.failed)
		return kl_error_hint(kl_error(KL_ENO, "study '%s' is not done: %zu cells stopped",
					      jobs->study->name, pool.failed),
				     "git klineage study run %s goes on where they stopped",
				     jobs->study->name);
	return 0;
}
