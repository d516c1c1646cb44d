/* SPDX-License-Identifier: Apache-2.0 */
/* gate_job - makes the job of a candidate and runs it on this machine */
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "gate/gate_parts.h"
#include "gate/resolve.h"

#define WORKER_MS (15 * 60 * 1000)

int kl_gate_job_make(json_t **doc, struct kl_gate *gate, const struct kl_surface *surface,
		     const struct kl_gate_task *task)
{
	const struct kl_resolve_of of = {
		.backend = task->backend,
		.contract = surface->contract,
		.platform = &task->platform,
		.truth = task->oracle->truth,
		.honest = task->oracle->honest,
		.pool = task->oracle->pool,
		.oracle_launch = task->oracle->launch,
		.candidate = task->candidate->artefact,
		.parent = task->parent ? task->parent->artefact : NULL,
		.baseline = task->baseline,
		.audit = !gate->opts.quick && !gate->opts.dims &&
			 (!gate->runner.way->run ||
			  !kl_map_get(&gate->audited, surface->contract_digest)),
		.correct = true,
		.profile = !gate->opts.no_profile,
		.also_only = gate->opts.quick,
		.counters = gate->counters && !gate->opts.no_profile && task->backend->counters,
		.seed = gate->opts.seed,
		.dims = gate->opts.dims,
		.timed = gate->opts.timed,
		.base = gate->opts.base,
		.profile_max_ms = gate->opts.profile_ms ? gate->opts.profile_ms :
							  KL_GATE_PROFILE_MS,
	};
	KL_AUTO(kl_job_freep) struct kl_job *job = NULL;
	int err = kl_resolve_job(&job, &of);

	if (!err)
		*doc = kl_job_write(job);
	return err;
}

/* Report why the worker cannot judge the job. If it found no device, suggest other runners. */
static int refuse_result(struct kl_gate *gate, const json_t *result,
			 const struct kl_backend *backend)
{
	int err = kl_error(KL_ECANNOT, "%s",
			   kl_json_str_or(result, "message", "the worker gave no reason"));

	gate->no_device = backend->device && kl_runner_lacks_device(result);
	gate->refused = !gate->no_device;
	if (gate->no_device)
		kl_error_hint(
			err,
			"to judge the kernel on a machine with such a %s, use --runner bundle "
			"to write the jobs to a file, or --runner ssh:<host> to send them",
			backend->device->name);
	return err;
}

/* Add a note about how the profile was measured. */
static void add_note(json_t *result, const char *note)
{
	json_t *profile = json_object_get(result, "profile");

	if (!json_is_object(profile))
		return;
	if (!json_is_array(json_object_get(profile, "notes")))
		kl_json_set(profile, "notes", json_array());
	json_array_append_new(json_object_get(profile, "notes"), json_string(note));
}

static void say_wait(void *payload, long pid, int64_t ms)
{
	KL_AUTO(kl_freep) char *text = kl_lock_wait_text(pid, ms);

	kl_progress_wait(payload, ms, "%s", text);
}

int kl_gate_job_run(json_t **result, struct kl_gate *gate, const struct kl_surface *surface,
		    const struct kl_backend *backend, const json_t *job)
{
	KL_AUTO(kl_lock_release) struct kl_lock lock = KL_LOCK_INIT;
	const struct kl_runner_work work = {
		.jail = &gate->jail,
		.job = job,
		.dir = gate->dir,
		.timeout_ms = WORKER_MS,
		.ncu = gate->ncu,
		.device = backend->device,
	};
	static char passed[] = "";
	int err = 0;

	/*
	 * if the job needs a device, the worker locks it, because only the worker knows which
	 * device it uses
	 */
	if (!gate->opts.no_profile && !backend->device)
		err = kl_lock_await_machine(&lock, "cpu", say_wait, gate->opts.progress);
	kl_progress_step(gate->opts.progress,
			 gate->opts.no_profile ? "correctness" : "correctness and profile");
	if (!err)
		err = kl_ahead_run(result, &gate->runner, &work, &gate->builder, &gate->ahead);
	if (err < 0)
		return err;
	if (lock.notice)
		add_note(*result, lock.notice);
	if (!strcmp(kl_json_str_or(*result, "status", ""), "cannot"))
		return refuse_result(gate, *result, backend);
	if (backend->walled && (err = kl_runner_check_wall(*result)) < 0)
		return err;
	if (!gate->opts.quick && !gate->opts.dims)
		kl_map_put(&gate->audited, surface->contract_digest, passed);
	return 0;
}
