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

#define MAX_IDLE 4 /* candidate, parent, the oracle twice */
#define LOCK_WAIT_MS 600000

struct kl_gpu_keep {
	struct kl_gpu_child *idle[MAX_IDLE]; /* the longest unused first */
	size_t nidle;
	bool chosen;
	struct kl_gpu_facts facts;
	char driver[64];
	struct kl_lock lock;
	bool sick;       /* a hang was not survived */
	int64_t nhost;   /* processes that host code was loaded into */
	unsigned closed; /* to every one of them: enum kl_gpu_closed */
	struct kl_strvec notes;
};

struct kl_gpu_keep *kl_gpu_keep_new(void)
{
	struct kl_gpu_keep *k = kl_calloc(1, sizeof(*k));

	k->lock.fd = -1;
	return k;
}

void kl_gpu_keep_free(struct kl_gpu_keep *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->nidle; i++)
		kl_gpu_child_free(k->idle[i]);
	kl_lock_release(&k->lock);
	kl_strvec_release(&k->notes);
	free(k);
}

void kl_gpu_keep_note(struct kl_gpu_keep *k, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < k->notes.n; i++)
		if (!strcmp(k->notes.v[i], text))
			return;
	kl_strvec_push(&k->notes, text);
}

const struct kl_gpu_facts *kl_gpu_keep_facts(const struct kl_gpu_keep *k)
{
	return k && k->chosen ? &k->facts : NULL;
}

void kl_gpu_keep_describe(json_t *result, const struct kl_gpu_keep *k)
{
	json_t *notes;

	if (!k || !k->chosen)
		return;
	kl_json_set_str(result, "device", k->facts.name);
	kl_json_set_str(result, "driver", k->driver);
	kl_json_set_int(result, "cc", k->facts.cc);
	if (!k->notes.n)
		return;
	notes = json_array();
	for (size_t i = 0; i < k->notes.n; i++)
		json_array_append_new(notes, json_string(k->notes.v[i]));
	kl_json_set(result, "gpu_notes", notes);
}

void kl_gpu_keep_walled(struct kl_gpu_keep *k, const struct kl_gpu_child *c)
{
	k->closed = k->nhost++ ? k->closed & c->launcher.closed : c->launcher.closed;
}

void kl_gpu_keep_describe_wall(json_t *result, const struct kl_gpu_keep *k)
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
		if (k->closed & words[i].what)
			json_array_append_new(closed, json_string(words[i].word));
	kl_json_set_int(wall, "processes", k->nhost);
	kl_json_set(wall, "closed", closed);
	kl_json_set(result, "wall", wall);
}

/* -- the choice of a device ------------------------------------------------------ */

static int try_lock(struct kl_gpu_keep *k, const char *uuid, int64_t wait_ms)
{
	KL_AUTO(kl_freep) char *resource = kl_asprintf("gpu-%s", uuid);

	return kl_lock_take_machine(&k->lock, resource, wait_ms);
}

static int none_fits(const struct kl_gpu_child *c, const char *arch)
{
	const struct kl_gpu_facts *f = &c->hello.device[0];

	return kl_error(KL_ECANNOT, "no GPU here runs code for %s: %s has compute capability %d.%d",
			arch, f->name, f->cc / 10, f->cc % 10);
}

/* The first free one that runs the code; where none is free, wait for the first. */
static int choose_device(int *out, struct kl_gpu_keep *k, const struct kl_gpu_child *c,
			 const char *arch)
{
	const char *locked = getenv(KL_GPU_LOCKED);
	int first = -1, err;

	for (int i = 0; i < c->hello.ndevice; i++) {
		if (!kl_plan_arch_runs(arch, c->hello.device[i].cc) ||
		    (locked && strcmp(locked, c->hello.device[i].uuid)))
			continue;
		if (first < 0)
			first = i;
		*out = i;
		if (locked)
			return 0;
		err = try_lock(k, c->hello.device[i].uuid, 0);
		if (err == 0)
			return 0;
		if (err != KL_EBUSY) {
			/* where no lock can be had nobody else can have it either */
			kl_gpu_keep_note(k, "the GPU could not be locked: %s", kl_error_last());
			kl_error_clear();
			return 0;
		}
	}
	if (first < 0)
		return none_fits(c, arch);
	*out = first;
	err = try_lock(k, c->hello.device[first].uuid, LOCK_WAIT_MS);
	if (err == KL_EBUSY)
		return kl_error_in(KL_ECANNOT, "%s is in use", c->hello.device[first].name);
	return err;
}

static void who_else(struct kl_gpu_keep *k)
{
	KL_AUTO(kl_gpu_nvml_freep) struct kl_gpu_nvml *n = kl_gpu_nvml_open(k->facts.uuid);
	unsigned pid[8];
	int have = n ? kl_gpu_nvml_processes(n, pid, 8) : -1;

	if (have > 0)
		kl_gpu_keep_note(k, "%d other process%s compute%s on this GPU", have,
				 have > 1 ? "es" : "", have > 1 ? "" : "s");
}

static int settle_child(struct kl_gpu_keep *k, const struct kl_gpu_child *c, const char *arch)
{
	int ordinal = 0, err = choose_device(&ordinal, k, c, arch);

	if (err < 0)
		return err;
	k->facts = c->hello.device[ordinal];
	if (*c->hello.build)
		snprintf(k->driver, sizeof(k->driver), "%s", c->hello.build);
	else
		snprintf(k->driver, sizeof(k->driver), "CUDA %d.%d", c->hello.driver / 1000,
			 c->hello.driver % 1000 / 10);
	k->chosen = true;
	who_else(k); /* none of our own processes has a context yet */
	return 0;
}

/* -- processes ----------------------------------------------------------------------- */

static struct kl_gpu_child *take_child(struct kl_gpu_keep *k, size_t i)
{
	struct kl_gpu_child *c = k->idle[i];

	memmove(&k->idle[i], &k->idle[i + 1], (--k->nidle - i) * sizeof(k->idle[0]));
	return c;
}

static int fresh_child(struct kl_gpu_child **out, struct kl_gpu_keep *k, const struct kl_job *job,
		       const char *cubin, bool host)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *c = NULL;
	int err = host ? kl_gpu_child_start_host(&c) : kl_gpu_child_start(&c), ordinal = -1;

	if (err < 0 || (!k->chosen && (err = settle_child(k, c, job->arch)) < 0))
		return err;
	ordinal = kl_gpu_child_ordinal(c, k->facts.uuid);
	if (ordinal < 0)
		return kl_error(KL_EIO, "%s (%s) is not there any more", k->facts.name,
				k->facts.uuid);
	if ((err = kl_gpu_child_open(c, ordinal)) < 0)
		return err;
	if (cubin) {
		err = host ? kl_gpu_child_launcher(c, cubin, true) :
			     kl_gpu_child_module(c, 0, cubin);
		if (err < 0)
			return err;
		if (host)
			kl_gpu_keep_walled(k, c);
		c->cubin = kl_strdup(cubin);
	}
	*out = kl_steal(&c);
	return 0;
}

static int wait_well(const struct kl_gpu_keep *k)
{
	return k->sick ? kl_error(KL_EIO,
				  "%s is not well since a kernel hung on it: nothing more is asked "
				  "of it",
				  k->facts.name) :
			 0;
}

int kl_gpu_keep_host(struct kl_gpu_child **out, const struct kl_job *job)
{
	int err = wait_well(job->gpu);

	return err ? err : fresh_child(out, job->gpu, job, NULL, true);
}

int kl_gpu_keep_child(struct kl_gpu_child **out, const struct kl_job *job, const char *cubin)
{
	struct kl_gpu_keep *k = job->gpu;
	int err = wait_well(k);

	if (err < 0)
		return err;
	for (size_t i = 0; i < k->nidle && cubin; i++) {
		if (strcmp(k->idle[i]->cubin, cubin))
			continue;
		*out = take_child(k, i);
		return 0;
	}
	return fresh_child(out, k, job, cubin, cubin && kl_job_is_host(job, cubin));
}

static void probe_pool(struct kl_gpu_keep *k)
{
	if (kl_gpu_child_probe(k->facts.uuid) == 0) {
		kl_gpu_keep_note(k, "after a hang another process found the GPU healthy");
		return;
	}
	k->sick = true;
	kl_gpu_keep_note(k, "after a hang: %s", kl_error_last());
	kl_error_clear();
}

/* Often the end of something that failed, whose message stands. */
void kl_gpu_keep_back(struct kl_gpu_keep *k, struct kl_gpu_child *c)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	bool stuck = c->stuck;

	/* its buffers go now: the next use makes others */
	if (kl_gpu_child_alive(c) && c->cubin && kl_gpu_child_drop(c, KL_GPU_OP_SET, 0) == 0) {
		if (k->nidle == MAX_IDLE)
			kl_gpu_child_free(take_child(k, 0));
		k->idle[k->nidle++] = c;
		return;
	}
	kl_gpu_child_free(c);
	if (stuck)
		probe_pool(k);
	kl_error(KL_EIO, "%s", message);
}
