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

#define MAX_IDLE 4 /* candidate, parent, the oracle's two builds */
#define LOCK_WAIT_MS 600000

struct kl_gpu_processes {
	struct kl_gpu_child *idle[MAX_IDLE]; /* least recently used first */
	size_t nidle;
	bool chosen;
	struct kl_gpu_facts facts;
	char driver[64];
	struct kl_lock lock;
	bool sick;       /* the GPU is not healthy after a hang */
	int64_t nhost;   /* number of processes with host code */
	unsigned closed; /* closed to all of them: enum kl_gpu_closed */
	struct kl_strvec notes;
};

struct kl_gpu_processes *kl_gpu_processes_new(void)
{
	struct kl_gpu_processes *keep = kl_calloc(1, sizeof(*keep));

	keep->lock.fd = -1;
	return keep;
}

void kl_gpu_processes_free(struct kl_gpu_processes *keep)
{
	if (!keep)
		return;
	for (size_t i = 0; i < keep->nidle; i++)
		kl_gpu_child_free(keep->idle[i]);
	kl_lock_release(&keep->lock);
	kl_strvec_release(&keep->notes);
	free(keep);
}

void kl_gpu_processes_note(struct kl_gpu_processes *keep, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < keep->notes.n; i++)
		if (!strcmp(keep->notes.v[i], text))
			return;
	kl_strvec_push(&keep->notes, text);
}

const struct kl_gpu_facts *kl_gpu_processes_facts(const struct kl_gpu_processes *keep)
{
	return keep && keep->chosen ? &keep->facts : NULL;
}

void kl_gpu_processes_describe(json_t *result, const struct kl_gpu_processes *keep)
{
	json_t *notes;

	if (!keep || !keep->chosen)
		return;
	kl_json_set_str(result, "device", keep->facts.name);
	kl_json_set_str(result, "driver", keep->driver);
	kl_json_set_int(result, "cc", keep->facts.cc);
	if (!keep->notes.n)
		return;
	notes = json_array();
	for (size_t i = 0; i < keep->notes.n; i++)
		json_array_append_new(notes, json_string(keep->notes.v[i]));
	kl_json_set(result, "gpu_notes", notes);
}

void kl_gpu_processes_walled(struct kl_gpu_processes *keep, const struct kl_gpu_child *child)
{
	keep->closed = keep->nhost++ ? keep->closed & child->launcher.closed :
				       child->launcher.closed;
}

void kl_gpu_processes_describe_wall(json_t *result, const struct kl_gpu_processes *keep)
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
		if (keep->closed & words[i].what)
			json_array_append_new(closed, json_string(words[i].word));
	kl_json_set_int(wall, "processes", keep->nhost);
	kl_json_set(wall, "closed", closed);
	kl_json_set(result, "wall", wall);
}

/* -- the choice of a device ------------------------------------------------------ */

static int try_lock(struct kl_gpu_processes *keep, const char *uuid, int64_t wait_ms)
{
	KL_AUTO(kl_freep) char *resource = kl_asprintf("gpu-%s", uuid);

	return kl_lock_take_machine(&keep->lock, resource, wait_ms);
}

static int none_fits(const struct kl_gpu_child *child, const char *arch)
{
	const struct kl_gpu_facts *facts = &child->hello.device[0];

	return kl_error(KL_ECANNOT, "no GPU here runs code for %s: %s has compute capability %d.%d",
			arch, facts->name, facts->cc / 10, facts->cc % 10);
}

/*
 * Choose the first free device that runs the code; if all are busy, wait for the first that runs
 * it.
 */
static int choose_device(int *out, struct kl_gpu_processes *keep, const struct kl_gpu_child *child,
			 const char *arch)
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
		err = try_lock(keep, child->hello.device[i].uuid, 0);
		if (err == 0)
			return 0;
		if (err != KL_EBUSY) {
			/* if locks do not work here, no other process can hold one */
			kl_gpu_processes_note(keep, "the GPU could not be locked: %s",
					      kl_error_last());
			kl_error_clear();
			return 0;
		}
	}
	if (first < 0)
		return none_fits(child, arch);
	*out = first;
	err = try_lock(keep, child->hello.device[first].uuid, LOCK_WAIT_MS);
	if (err == KL_EBUSY)
		return kl_error_in(KL_ECANNOT, "%s is in use", child->hello.device[first].name);
	return err;
}

static void who_else(struct kl_gpu_processes *keep)
{
	KL_AUTO(kl_gpu_nvml_freep) struct kl_gpu_nvml *nvml = kl_gpu_nvml_open(keep->facts.uuid);
	unsigned pid[8];
	int have = nvml ? kl_gpu_nvml_processes(nvml, pid, 8) : -1;

	if (have > 0)
		kl_gpu_processes_note(keep, "%d other process%s compute%s on this GPU", have,
				      have > 1 ? "es" : "", have > 1 ? "" : "s");
}

static int settle_child(struct kl_gpu_processes *keep, const struct kl_gpu_child *child,
			const char *arch)
{
	int ordinal = 0, err = choose_device(&ordinal, keep, child, arch);

	if (err < 0)
		return err;
	keep->facts = child->hello.device[ordinal];
	if (*child->hello.build)
		snprintf(keep->driver, sizeof(keep->driver), "%s", child->hello.build);
	else
		snprintf(keep->driver, sizeof(keep->driver), "CUDA %d.%d",
			 child->hello.driver / 1000, child->hello.driver % 1000 / 10);
	keep->chosen = true;
	who_else(keep); /* all of them are foreign: no process of this worker has a context yet */
	return 0;
}

/* -- processes ----------------------------------------------------------------------- */

static struct kl_gpu_child *take_child(struct kl_gpu_processes *keep, size_t i)
{
	struct kl_gpu_child *child = keep->idle[i];

	memmove(&keep->idle[i], &keep->idle[i + 1], (--keep->nidle - i) * sizeof(keep->idle[0]));
	return child;
}

static int fresh_child(struct kl_gpu_child **out, struct kl_gpu_processes *keep,
		       const struct kl_job *job, const char *cubin, bool host)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = NULL;
	int err = host ? kl_gpu_child_start_host(&child) : kl_gpu_child_start(&child), ordinal = -1;

	if (err < 0 || (!keep->chosen && (err = settle_child(keep, child, job->arch)) < 0))
		return err;
	ordinal = kl_gpu_child_ordinal(child, keep->facts.uuid);
	if (ordinal < 0)
		return kl_error(KL_EIO, "%s (%s) is not there any more", keep->facts.name,
				keep->facts.uuid);
	if ((err = kl_gpu_child_open(child, ordinal)) < 0)
		return err;
	if (cubin) {
		err = host ? kl_gpu_child_launcher(child, cubin, true) :
			     kl_gpu_child_module(child, 0, cubin);
		if (err < 0)
			return err;
		if (host)
			kl_gpu_processes_walled(keep, child);
		child->cubin = kl_strdup(cubin);
	}
	*out = kl_steal(&child);
	return 0;
}

static int wait_well(const struct kl_gpu_processes *keep)
{
	return keep->sick ?
		       kl_error(KL_EIO,
				"%s is not well since a kernel hung on it: nothing more is asked "
				"of it",
				keep->facts.name) :
		       0;
}

int kl_gpu_processes_host(struct kl_gpu_child **out, const struct kl_job *job)
{
	int err = wait_well(job->gpu);

	return err ? err : fresh_child(out, job->gpu, job, NULL, true);
}

int kl_gpu_processes_child(struct kl_gpu_child **out, const struct kl_job *job, const char *cubin)
{
	struct kl_gpu_processes *keep = job->gpu;
	int err = wait_well(keep);

	if (err < 0)
		return err;
	for (size_t i = 0; i < keep->nidle && cubin; i++) {
		if (strcmp(keep->idle[i]->cubin, cubin))
			continue;
		*out = take_child(keep, i);
		return 0;
	}
	return fresh_child(out, keep, job, cubin, cubin && kl_job_is_host(job, cubin));
}

static void probe_pool(struct kl_gpu_processes *keep)
{
	if (kl_gpu_child_probe(keep->facts.uuid) == 0) {
		kl_gpu_processes_note(keep, "after a hang another process found the GPU healthy");
		return;
	}
	keep->sick = true;
	kl_gpu_processes_note(keep, "after a hang: %s", kl_error_last());
	kl_error_clear();
}

/* Often called after an error, whose message must be kept. */
void kl_gpu_processes_put(struct kl_gpu_processes *keep, struct kl_gpu_child *child)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	bool stuck = child->stuck;

	/* free its buffers now: the next use makes new ones */
	if (kl_gpu_child_alive(child) && child->cubin &&
	    kl_gpu_child_drop(child, KL_GPU_OP_SET, 0) == 0) {
		if (keep->nidle == MAX_IDLE)
			kl_gpu_child_free(take_child(keep, 0));
		keep->idle[keep->nidle++] = child;
		return;
	}
	kl_gpu_child_free(child);
	if (stuck)
		probe_pool(keep);
	kl_error(KL_EIO, "%s", message);
}
