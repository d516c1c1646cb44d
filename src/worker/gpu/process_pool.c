/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/process_pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/vec.h"
#include "worker/gpu/nvml.h"
#include "worker/gpu/wall.h"

#define MAX_IDLE 4
#define MAX_BUILDS 4 /* maximum number of builds of the oracle */
#define MAX_SLOTS 16
#define MAX_AHEAD 2
#define LOCK_WAIT_MS 600000

struct kl_gpu_processes {
	struct kl_gpu_child *idle[MAX_IDLE]; /* least recently used first */
	size_t nidle;
	/* the oracle's process, the paths of its modules, and its slots that are in use */
	struct kl_gpu_child *oracle;
	char *build[MAX_BUILDS];
	bool in_use[MAX_SLOTS];
	/* processes that were started before they are needed; they have no artefact yet */
	struct kl_gpu_child *ahead[MAX_AHEAD];
	size_t nahead;
	struct kl_gpu_child **ended; /* killed processes, not waited for yet */
	size_t nended, ended_alloc;
	bool chosen;
	struct kl_gpu_facts facts;
	char driver[64];
	struct kl_lock lock;
	bool sick;       /* the GPU is not healthy after a hang */
	int64_t nhost;   /* number of processes with host code */
	unsigned closed; /* bits of enum kl_gpu_closed that all processes with host code have */
	struct kl_strvec notes;
};

struct kl_gpu_processes *kl_gpu_processes_new(void)
{
	struct kl_gpu_processes *processes = kl_calloc(1, sizeof(*processes));

	processes->lock.fd = -1;
	return processes;
}

static void wait_ended(struct kl_gpu_processes *processes)
{
	for (size_t i = 0; i < processes->nended; i++)
		kl_gpu_child_free(processes->ended[i]);
	processes->nended = 0;
}

void kl_gpu_processes_drop(struct kl_gpu_processes *processes, struct kl_gpu_child *child)
{
	kl_gpu_child_end(child);
	KL_GROW(processes->ended, processes->nended + 1, processes->ended_alloc);
	processes->ended[processes->nended++] = child;
}

static void end_oracle(struct kl_gpu_processes *processes)
{
	kl_gpu_child_free(processes->oracle);
	processes->oracle = NULL;
	for (size_t i = 0; i < MAX_BUILDS; i++) {
		free(processes->build[i]);
		processes->build[i] = NULL;
	}
}

void kl_gpu_processes_free(struct kl_gpu_processes *processes)
{
	if (!processes)
		return;
	/* kill all before waiting for any, since the driver takes long to end a process */
	if (processes->oracle)
		kl_gpu_child_end(processes->oracle);
	for (size_t i = 0; i < processes->nidle; i++)
		kl_gpu_child_end(processes->idle[i]);
	for (size_t i = 0; i < processes->nahead; i++)
		kl_gpu_child_end(processes->ahead[i]);
	for (size_t i = 0; i < processes->nidle; i++)
		kl_gpu_child_free(processes->idle[i]);
	for (size_t i = 0; i < processes->nahead; i++)
		kl_gpu_child_free(processes->ahead[i]);
	end_oracle(processes);
	wait_ended(processes);
	free(processes->ended);
	kl_lock_release(&processes->lock);
	kl_strvec_release(&processes->notes);
	free(processes);
}

void kl_gpu_processes_note(struct kl_gpu_processes *processes, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < processes->notes.n; i++)
		if (!strcmp(processes->notes.v[i], text))
			return;
	kl_strvec_push(&processes->notes, text);
}

const struct kl_gpu_facts *kl_gpu_processes_facts(const struct kl_gpu_processes *processes)
{
	return processes && processes->chosen ? &processes->facts : NULL;
}

void kl_gpu_processes_describe(json_t *result, const struct kl_gpu_processes *processes)
{
	json_t *notes;

	if (!processes || !processes->chosen)
		return;
	kl_json_set_str(result, "device", processes->facts.name);
	kl_json_set_str(result, "driver", processes->driver);
	kl_json_set_int(result, "cc", processes->facts.cc);
	if (!processes->notes.n)
		return;
	notes = json_array();
	for (size_t i = 0; i < processes->notes.n; i++)
		json_array_append_new(notes, json_string(processes->notes.v[i]));
	kl_json_set(result, "gpu_notes", notes);
}

void kl_gpu_processes_walled(struct kl_gpu_processes *processes, const struct kl_gpu_child *child)
{
	processes->closed = processes->nhost++ ? processes->closed & child->launcher.closed :
						 child->launcher.closed;
}

void kl_gpu_processes_describe_wall(json_t *result, const struct kl_gpu_processes *processes)
{
	static const struct {
		unsigned what;
		const char *word;
	} words[] = {
		{ KL_GPU_CLOSED_CAPABILITIES, "capabilities" },
		{ KL_GPU_CLOSED_FILES, "landlock" },
		{ KL_GPU_CLOSED_CALLS, "seccomp" },
	};
	json_t *wall = json_object(), *closed = json_array();

	for (size_t i = 0; i < KL_ARRAY_SIZE(words); i++)
		if (processes->closed & words[i].what)
			json_array_append_new(closed, json_string(words[i].word));
	kl_json_set_int(wall, "processes", processes->nhost);
	kl_json_set(wall, "closed", closed);
	kl_json_set(result, "wall", wall);
}

/* -- the choice of a device ------------------------------------------------------ */

static int try_lock(struct kl_gpu_processes *processes, const char *uuid, int64_t wait_ms)
{
	KL_AUTO(kl_freep) char *resource = kl_asprintf("gpu-%s", uuid);

	int err = kl_lock_take_machine(&processes->lock, resource, wait_ms);

	if (!err && processes->lock.notice)
		kl_gpu_processes_note(processes, "%s", processes->lock.notice);
	return err;
}

static int none_fits(const struct kl_gpu_child *child, const char *arch)
{
	const struct kl_gpu_facts *facts = &child->hello.device[0];

	return kl_error(
		KL_ECANNOT,
		"no GPU here runs code for %s: %s has compute capability %d.%d (with "
		"--platform cuda/sm_%d a plan for an earlier architecture is compiled for it)",
		arch, facts->name, facts->cc / 10, facts->cc % 10, facts->cc);
}

/*
 * Choose and lock the first free device that runs code for `arch`; if all such devices are busy,
 * wait for the first of them.
 */
static int choose_device(int *out, struct kl_gpu_processes *processes,
			 const struct kl_gpu_child *child, const char *arch)
{
	const char *locked = getenv(KL_GPU_LOCKED);
	int first = -1, err;

	for (int i = 0; i < child->hello.ndevice; i++) {
		if (!kl_plan_arch_runs(arch, child->hello.device[i].cc) ||
		    (locked && strcmp(locked, child->hello.device[i].uuid)))
			continue;
		if (first < 0)
			first = i;
		*out = i;
		if (locked)
			return 0;
		err = try_lock(processes, child->hello.device[i].uuid, 0);
		if (err == 0)
			return 0;
		if (err != KL_EBUSY) {
			/*
			 * locks do not work here, so no other process holds one; continue without a
			 * lock
			 */
			kl_gpu_processes_note(processes, "the GPU could not be locked: %s",
					      kl_error_last());
			kl_error_clear();
			return 0;
		}
	}
	if (first < 0)
		return none_fits(child, arch);
	*out = first;
	err = try_lock(processes, child->hello.device[first].uuid, LOCK_WAIT_MS);
	if (err == KL_EBUSY)
		return kl_error_in(KL_ECANNOT, "%s is in use", child->hello.device[first].name);
	return err;
}

static void note_other_users(struct kl_gpu_processes *processes)
{
	KL_AUTO(kl_gpu_nvml_freep) struct kl_gpu_nvml *nvml = kl_gpu_nvml_open(
		processes->facts.uuid);
	unsigned pid[8];
	int have = nvml ? kl_gpu_nvml_processes(nvml, pid, 8) : -1;

	if (have > 0)
		kl_gpu_processes_note(processes, "%d other process%s compute%s on this GPU", have,
				      have > 1 ? "es" : "", have > 1 ? "" : "s");
}

static int settle_device(struct kl_gpu_processes *processes, const struct kl_gpu_child *child,
			 const char *arch)
{
	int ordinal = 0, err = choose_device(&ordinal, processes, child, arch);

	if (err < 0)
		return err;
	processes->facts = child->hello.device[ordinal];
	if (*child->hello.build)
		snprintf(processes->driver, sizeof(processes->driver), "%s", child->hello.build);
	else
		snprintf(processes->driver, sizeof(processes->driver), "CUDA %d.%d",
			 child->hello.driver / 1000, child->hello.driver % 1000 / 10);
	processes->chosen = true;
	/* this worker has no context yet, so the processes that use the GPU belong to others */
	note_other_users(processes);
	return 0;
}

/* -- processes ----------------------------------------------------------------------- */

static struct kl_gpu_child *take_child(struct kl_gpu_processes *processes, size_t i)
{
	struct kl_gpu_child *child = processes->idle[i];

	memmove(&processes->idle[i], &processes->idle[i + 1],
		(--processes->nidle - i) * sizeof(processes->idle[0]));
	return child;
}

/*
 * Start the processes that the job will need after the first, so that their contexts are created
 * while the first process works: one for the correctness stage, which needs the candidate and the
 * oracle, and one for the profile. A failure is ignored, since it costs only time.
 */
static void begin_ahead(struct kl_gpu_processes *processes, const struct kl_job *job, int ordinal)
{
	size_t n = (job->truth_path && job->do_correct ? 1u : 0) + (job->do_profile ? 1u : 0);

	if (job->host || job->do_launch)
		return;
	while (processes->nahead < n && processes->nahead < MAX_AHEAD) {
		if (kl_gpu_child_begin(&processes->ahead[processes->nahead], ordinal) < 0) {
			kl_error_clear();
			return;
		}
		processes->nahead++;
	}
}

/*
 * Return a process that was started ahead and has opened the job's device; NULL if there is none.
 */
static struct kl_gpu_child *take_ahead(struct kl_gpu_processes *processes)
{
	while (processes->nahead) {
		struct kl_gpu_child *child = processes->ahead[0];

		memmove(&processes->ahead[0], &processes->ahead[1],
			--processes->nahead * sizeof(processes->ahead[0]));
		if (kl_gpu_child_ready(child) == 0 &&
		    !strcmp(kl_gpu_child_facts(child)->uuid, processes->facts.uuid))
			return child;
		kl_error_clear();
		kl_gpu_child_free(child);
	}
	return NULL;
}

/* Get a process that has opened the job's device. Choose the device first if none is chosen yet. */
static int open_child(struct kl_gpu_child **out, struct kl_gpu_processes *processes,
		      const struct kl_job *job, bool host)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = NULL;
	bool first = !processes->chosen;
	int err, ordinal;

	wait_ended(processes);
	if (!host && (*out = take_ahead(processes)))
		return 0;
	err = host ? kl_gpu_child_start_host(&child) : kl_gpu_child_start(&child);
	if (err < 0 || (first && (err = settle_device(processes, child, job->arch)) < 0))
		return err;
	ordinal = kl_gpu_child_ordinal(child, processes->facts.uuid);
	if (ordinal < 0)
		return kl_error(KL_EIO, "%s (%s) is no longer available", processes->facts.name,
				processes->facts.uuid);
	if ((err = kl_gpu_child_open(child, ordinal)) < 0)
		return err;
	/*
	 * start other processes only now: creating several contexts at once would have delayed
	 * `child`
	 */
	if (first)
		begin_ahead(processes, job, ordinal);
	*out = kl_steal(&child);
	return 0;
}

static int fresh_child(struct kl_gpu_child **out, struct kl_gpu_processes *processes,
		       const struct kl_job *job, const char *cubin, bool host)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = NULL;
	int err = open_child(&child, processes, job, host);

	if (err < 0)
		return err;
	if (cubin) {
		err = host ? kl_gpu_child_launcher(child, cubin, true) :
			     kl_gpu_child_module(child, 0, cubin);
		if (err < 0)
			return err;
		if (host)
			kl_gpu_processes_walled(processes, child);
		child->cubin = kl_strdup(cubin);
	}
	*out = kl_steal(&child);
	return 0;
}

static int check_healthy(const struct kl_gpu_processes *processes)
{
	return processes->sick ? kl_error(KL_EIO,
					  "%s is not healthy since a kernel hung, so no more "
					  "kernels are run on it",
					  processes->facts.name) :
				 0;
}

int kl_gpu_processes_host(struct kl_gpu_child **out, const struct kl_job *job)
{
	int err = check_healthy(job->gpu);

	return err ? err : fresh_child(out, job->gpu, job, NULL, true);
}

int kl_gpu_processes_child(struct kl_gpu_child **out, const struct kl_job *job, const char *cubin)
{
	struct kl_gpu_processes *processes = job->gpu;
	int err = check_healthy(processes);

	if (err < 0)
		return err;
	for (size_t i = 0; i < processes->nidle && cubin; i++) {
		if (strcmp(processes->idle[i]->cubin, cubin))
			continue;
		*out = take_child(processes, i);
		return 0;
	}
	return fresh_child(out, processes, job, cubin, cubin && kl_job_is_host(job, cubin));
}

static void probe_device(struct kl_gpu_processes *processes)
{
	if (kl_gpu_child_probe(processes->facts.uuid) == 0) {
		kl_gpu_processes_note(processes,
				      "after a kernel hung, another process found the GPU healthy");
		return;
	}
	processes->sick = true;
	kl_gpu_processes_note(processes, "after a kernel hung: %s", kl_error_last());
	kl_error_clear();
}

/* -- the oracle ------------------------------------------------------------------------ */

static bool oracle_in_use(const struct kl_gpu_processes *processes)
{
	for (size_t i = 0; i < MAX_SLOTS; i++)
		if (processes->in_use[i])
			return true;
	return false;
}

/*
 * Start a process for the oracle unless it has one. Return KL_EIO if its process ended while slots
 * were in use.
 */
static int open_oracle(struct kl_gpu_processes *processes, const struct kl_job *job,
		       const char *cubin)
{
	if (processes->oracle && kl_gpu_child_alive(processes->oracle))
		return 0;
	if (processes->oracle && oracle_in_use(processes))
		return kl_error(KL_EIO, "the oracle's GPU process has ended");
	end_oracle(processes);
	return open_child(&processes->oracle, processes, job, false);
}

static int load_build(uint32_t *module, struct kl_gpu_processes *processes, const char *cubin)
{
	int err;

	for (uint32_t i = 0; i < MAX_BUILDS; i++) {
		*module = i;
		if (processes->build[i] && !strcmp(processes->build[i], cubin))
			return 0;
		if (processes->build[i])
			continue;
		err = kl_gpu_child_module(processes->oracle, i, cubin);
		if (err == 0)
			processes->build[i] = kl_strdup(cubin);
		return err;
	}
	KL_BUG("an oracle with more than %d builds", MAX_BUILDS);
}

int kl_gpu_processes_oracle(struct kl_gpu_child **out, uint32_t *module, uint32_t *slot,
			    const struct kl_job *job, const char *cubin)
{
	struct kl_gpu_processes *processes = job->gpu;
	int err = check_healthy(processes);

	if (err < 0 || (err = open_oracle(processes, job, cubin)) < 0 ||
	    (err = load_build(module, processes, cubin)) < 0)
		return err;
	for (*slot = 0; *slot < MAX_SLOTS && processes->in_use[*slot];)
		++*slot;
	if (*slot == MAX_SLOTS)
		KL_BUG("an oracle is called in more than %d ways at once", MAX_SLOTS);
	processes->in_use[*slot] = true;
	*out = processes->oracle;
	return 0;
}

/* Keep the message of the last error, since this function is often called after an error. */
void kl_gpu_processes_oracle_put(struct kl_gpu_processes *processes, uint32_t slot)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());

	processes->in_use[slot] = false;
	if (kl_gpu_child_alive(processes->oracle))
		kl_gpu_child_drop(processes->oracle, KL_GPU_OP_SET, slot);
	if (processes->oracle->stuck)
		probe_device(processes);
	processes->oracle->stuck = false; /* probe only once */
	kl_error(KL_EIO, "%s", message);
}

/* Keep the message of the last error, since this function is often called after an error. */
void kl_gpu_processes_put(struct kl_gpu_processes *processes, struct kl_gpu_child *child)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	bool stuck;

	/*
	 * Free the buffers of `child` now: its next user makes new ones. Even if this succeeds, the
	 * reply can say that a kernel is still running; then `child` has been killed.
	 */
	if (kl_gpu_child_alive(child) && child->cubin &&
	    kl_gpu_child_drop(child, KL_GPU_OP_SET, 0) == 0 && kl_gpu_child_alive(child)) {
		if (processes->nidle == MAX_IDLE)
			kl_gpu_child_free(take_child(processes, 0));
		processes->idle[processes->nidle++] = child;
		return;
	}
	stuck = child->stuck; /* freeing its buffers can hang, too */
	kl_gpu_child_free(child);
	if (stuck)
		probe_device(processes);
	kl_error(KL_EIO, "%s", message);
}
