/* SPDX-License-Identifier: Apache-2.0 */
/* counters - reads the candidate's hardware counters with ncu (stages launch and counters) */
#include "worker/stage/stages.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "worker/gpu/ncu.h"
#include "worker/gpu/process_pool.h"
#include "worker/measure/blocks.h"
#include "worker/subject/trial.h"

/*
 * To read the counters of the candidate's launches, this program runs a second worker under ncu,
 * with a job for one call of the candidate. This process keeps the GPU locked, and tells the second
 * worker so in the environment variable KLINEAGE_GPU_LOCKED.
 */
#define LIMIT_MS 120000 /* time limit of the run of ncu */
#define CALL_MS 100000  /* limit of one call, in which ncu repeats each launch several times */
#define MAX_KERNELS 64

static const struct kl_point *perf_point(const struct kl_job *job)
{
	for (size_t i = 0; i < job->npoint; i++)
		if (job->point[i].perf)
			return &job->point[i];
	return NULL;
}

int kl_stage_launch(json_t *result, const struct kl_job *job, struct kl_pool *pool)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	const struct kl_point *pt = perf_point(job);
	struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_KERNEL,
		.path = job->candidate_path,
		.cpu = -1,
	};
	const struct kl_member *member;
	struct kl_trial trial = { .poison = 2 };
	struct kl_call end;
	int err;

	if (!pt || !kl_pool_noise(pool, pt, &member, 1))
		return kl_error(KL_EINVALID,
				"the job has no performance point at which to call the candidate");
	trial.input = member->input;
	if ((err = kl_subject_start(&subject, job, pt, &spec)) < 0 ||
	    (err = kl_trial_kernel(&end, subject, job, &trial)) < 0)
		return err;
	return end.end == KL_CALL_OK ? 0 : kl_error(KL_ECANNOT, "the kernel %s", end.what);
}

static int write_job(const char *path, const json_t *doc)
{
	KL_AUTO(json_decrefp) json_t *job = json_deep_copy(doc);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_json_set(job, "do", json_pack("[s]", "launch"));
	kl_json_set_int(job, "call_ms", CALL_MS);
	kl_json_canonical(&text, job);
	return kl_fs_put(path, text.ptr, text.len, 0600);
}

/* Replace the symbols in `kernel` of each launch by the names that the plan has for them. */
static void name_launches(json_t *launches, const struct kl_plan *plan, const char *const *kernel,
			  size_t n)
{
	json_t *launch;
	size_t i;

	json_array_foreach(launches, i, launch) {
		const char *seen = kl_json_str_or(launch, "kernel", "");

		for (size_t k = 0; k < n; k++)
			if (!strcmp(kl_plan_symbol(plan, kernel[k]), seen)) {
				kl_json_set_str(launch, "kernel", kernel[k]);
				break;
			}
	}
}

static int run_ncu(json_t **launches, const struct kl_job *job, const char *file)
{
	KL_AUTO(kl_freep) char *self = NULL, *ncu = NULL;
	KL_AUTO(kl_freep) char *log = kl_asprintf("%s.csv", file);
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	const char *kernel[MAX_KERNELS];
	size_t n = kl_plan_kernels(job->plan, kernel, MAX_KERNELS);
	int err;

	for (size_t i = 0; i < n && i < MAX_KERNELS; i++)
		kl_strvec_push(&names, kl_plan_symbol(job->plan, kernel[i]));
	if ((err = kl_ncu_find(&ncu)) < 0 || (err = kl_fs_program(&self, "klineage-worker")) < 0)
		return err;
	const char *argv[] = { self, "--job", file, NULL };
	const struct kl_ncu look = {
		.path = ncu,
		.argv = argv,
		.kernel = &names,
		.log = log,
		.hot = perf_point(job)->hot,
		.limit_ms = LIMIT_MS,
	};

	err = kl_ncu_run(launches, &look);
	if (!err)
		name_launches(*launches, job->plan, kernel, n);
	return err;
}

static int count_launches(json_t **launches, const struct kl_job *job, const json_t *doc)
{
	KL_AUTO(kl_freep) char *file = kl_asprintf("%s/counters-%d", job->pool, (int)getpid());
	const struct kl_gpu_facts *gpu = kl_gpu_processes_facts(job->gpu);
	int err;

	if (job->surface != KL_SURFACE_CUDA || job->host || !job->plan || !gpu || !perf_point(job))
		return kl_error(
			KL_ECANNOT,
			"counters are read only for device code that the worker itself launches");
	if ((err = write_job(file, doc)) < 0)
		return err;
	setenv(KL_GPU_LOCKED, gpu->uuid, 1);
	err = run_ncu(launches, job, file);
	unsetenv(KL_GPU_LOCKED);
	unlink(file);
	return err;
}

/*
 * Return an error only after an interrupt. Any other failure becomes a note, which does not affect
 * the verdict.
 */
int kl_stage_counters(json_t *result, const struct kl_job *job, const json_t *doc)
{
	json_t *object = json_object(), *launches = NULL, *notes = json_array();
	int err = count_launches(&launches, job, doc);

	if (err < 0)
		kl_blocks_note(notes, "no counters: %s", kl_error_last());
	if (json_array_size(notes))
		kl_json_set(object, "notes", json_incref(notes));
	if (launches) {
		kl_json_set_str(object, "by", "ncu");
		kl_json_set(object, "launches", launches);
	}
	kl_json_set(result, "counters", object);
	json_decref(notes);
	if (err == KL_EINTR)
		return err;
	kl_error_clear();
	return 0;
}
