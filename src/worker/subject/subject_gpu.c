/* SPDX-License-Identifier: Apache-2.0 */
/* subject_gpu - runs kernels in CUDA through a binding in a GPU process */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "job/tensor.h"
#include "worker/gpu/plan_text.h"
#include "worker/gpu/process_pool.h"
#include "worker/subject/poison.h"
#include "worker/subject/subject_ops.h"

/*
 * A kernel of surface cuda: the binding of its cubin, its plan and a set of tensors in a GPU
 * process (client.h). Device code cannot run on the host, so this process needs no seal. Host code
 * of a candidate launches the kernels itself, in a GPU process that is sealed (launcher.h).
 */
struct gpu_subject {
	struct kl_subject base; /* must be first, see subject_ops.h */
	struct kl_gpu_processes *processes;
	struct kl_gpu_child *child;
	bool oracle;           /* an oracle; the process also has its other builds */
	uint32_t module, slot; /* slot: number of the set of tensors and of its binding */
	struct kl_gpu_host host;
	struct kl_gpu_tensor_layout layout[KL_MAX_ARGS];
	char name[KL_MAX_ARGS][64];
	size_t nargs;
	int64_t call_ms;
	uint32_t flags;
	uint64_t seed;
	bool stale[KL_MAX_ARGS]; /* poisoned on the device, but not yet in the host's copy */
	bool host_code, ordinary;
	/* how the plan's `prepare` ended; after a failure every call ends in the same way */
	struct kl_call prepared;
	int64_t dim[KL_MAX_DIMS];
	struct kl_strvec kernel; /* the kernels that host code may launch; empty if unknown */
};

static struct gpu_subject *as_gpu(struct kl_subject *subject)
{
	return (struct gpu_subject *)subject;
}

static void end_gpu(struct gpu_subject *subject)
{
	if (subject->child) {
		kl_gpu_child_host_back(subject->child, &subject->host);
		if (subject->oracle)
			kl_gpu_processes_oracle_put(subject->processes, subject->slot);
		else
			kl_gpu_processes_put(subject->processes, subject->child);
	}
	kl_gpu_host_release(&subject->host);
	kl_strvec_release(&subject->kernel);
	free(subject);
}
KL_DEFINE_CLEANUP(struct gpu_subject *, end_gpu)

static void gpu_free(struct kl_subject *subject)
{
	end_gpu(as_gpu(subject));
}

/* Outputs are poisoned on the device; the host's copy is poisoned here, when it is first read. */
static void *gpu_buffer(struct kl_subject *base, size_t arg)
{
	struct gpu_subject *subject = as_gpu(base);
	unsigned char *at = subject->host.at + subject->host.offset[arg];
	struct kl_gpu_pattern pattern = kl_gpu_set_pattern(&subject->layout[arg], arg,
							   subject->seed);

	if (!subject->layout[arg].tensor)
		return NULL;
	if (subject->stale[arg])
		kl_gpu_pattern(at, &pattern, 0, subject->layout[arg].bytes);
	subject->stale[arg] = false;
	return at;
}

static void place_gpu(struct kl_subject *subject, const struct kl_place *place)
{
}

static size_t gpu_bytes(const struct kl_subject *subject, size_t arg)
{
	return ((const struct gpu_subject *)subject)->layout[arg].bytes;
}

static bool widens_gpu(const struct kl_subject *subject, size_t arg)
{
	return ((const struct gpu_subject *)subject)->layout[arg].from != 0;
}

static void poison_gpu(struct kl_subject *base, uint64_t seed)
{
	struct gpu_subject *subject = as_gpu(base);

	if (subject->ordinary)
		return;
	subject->seed = seed;
	for (size_t i = 0; i < subject->nargs; i++)
		subject->stale[i] = subject->layout[i].tensor && subject->layout[i].output;
}

static bool gpu_traced(const struct kl_subject *subject)
{
	return true;
}

static int64_t handshake_ns(const struct kl_subject *subject)
{
	return 0;
}

static void flush_gpu(struct kl_subject *subject)
{
}

/* -- calling a kernel --------------------------------------------------------------- */

static const char *error_meaning(const char *error)
{
	static const struct {
		const char *error, *means;
	} known[] = {
		{ "CUDA_ERROR_ILLEGAL_ADDRESS",
		  "reached beyond its tensors or stored to an input" },
		{ "CUDA_ERROR_MISALIGNED_ADDRESS", "made a misaligned access" },
		{ "CUDA_ERROR_ILLEGAL_INSTRUCTION", "executed an illegal instruction" },
		{ "CUDA_ERROR_INVALID_ADDRESS_SPACE",
		  "used an address of the wrong address space" },
		{ "CUDA_ERROR_INVALID_PC", "jumped to an address without code" },
		{ "CUDA_ERROR_HARDWARE_STACK_ERROR", "corrupted its call stack" },
		{ "CUDA_ERROR_ASSERT", "failed its own assertion" },
		{ "CUDA_ERROR_LAUNCH_FAILED", "trapped or faulted" },
		{ "CUDA_ERROR_LAUNCH_TIMEOUT", "ran into the time limit of the driver" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(known); i++)
		if (!strcmp(known[i].error, error))
			return known[i].means;
	return "failed";
}

static void describe_end(struct kl_call *out, const struct gpu_subject *subject,
			 const struct kl_gpu_called *called)
{
	char where[300] = "";

	if (*called->kernel)
		snprintf(where, sizeof(where), " in '%s'", called->kernel);
	switch (called->end) {
	case KL_GPU_CALL_OK:
		out->end = KL_CALL_OK;
		break;
	case KL_GPU_CALL_HANG:
		out->end = KL_CALL_HANG;
		snprintf(out->what, sizeof(out->what), "did not end within %" PRId64 " ms",
			 subject->call_ms);
		break;
	case KL_GPU_CALL_REFUSED:
		out->end = KL_CALL_LAUNCH;
		snprintf(out->what, sizeof(out->what), "could not be launched: %s%s", called->name,
			 where);
		break;
	case KL_GPU_CALL_SLACK:
		out->end = KL_CALL_FAULT;
		snprintf(out->what, sizeof(out->what),
			 "wrote out of bounds of '%s': byte %" PRId64 " of %" PRIu64,
			 subject->name[called->arg], called->where,
			 subject->layout[called->arg].bytes);
		break;
	case KL_GPU_CALL_RETURNED:
		out->end = KL_CALL_LAUNCH;
		snprintf(out->what, sizeof(out->what), "returned %d from klineage_launch",
			 called->launch);
		break;
	case KL_GPU_CALL_LATE:
		out->end = KL_CALL_CHEAT;
		snprintf(out->what, sizeof(out->what),
			 "kept the device busy for %" PRId64 " ns after its "
			 "stream was done",
			 called->where);
		break;
	case KL_GPU_CALL_SCRATCH:
		out->end = KL_CALL_FAULT;
		snprintf(out->what, sizeof(out->what), "%s", called->r.message);
		break;
	default:
		out->end = KL_CALL_FAULT;
		snprintf(out->what, sizeof(out->what), "%s: %s%s", error_meaning(called->name),
			 called->name, where);
		break;
	}
}

static bool is_own(const struct gpu_subject *subject, const char *seen)
{
	char name[KL_GPU_TRACE_NAME];

	for (size_t i = 0; i < subject->kernel.n; i++) {
		kl_gpu_trace_name(name, subject->kernel.v[i]);
		if (!strcmp(name, seen))
			return true;
	}
	return false;
}

/*
 * Check what host code ran on the device: kernels, copies and fills only on its own stream, at
 * least one kernel of the candidate, and no other kernel.
 */
static void check_seen(struct kl_call *out, const struct gpu_subject *subject,
		       const struct kl_gpu_seen *seen)
{
	size_t own_kernels = 0;

	for (uint32_t i = 0; i < seen->n; i++) {
		const struct kl_gpu_seen_one *one = &seen->one[i];
		const char *what = one->kind == KL_GPU_SEEN_KERNEL ? one->name :
				   one->kind == KL_GPU_SEEN_COPY   ? "a copy" :
								     "a fill";

		if (one->elsewhere) {
			out->end = KL_CALL_CHEAT;
			snprintf(out->what, sizeof(out->what),
				 "ran '%.120s' on another stream than its own", what);
			return;
		}
		if (one->kind != KL_GPU_SEEN_KERNEL)
			continue;
		if (!is_own(subject, one->name)) {
			out->end = KL_CALL_CHEAT;
			snprintf(out->what, sizeof(out->what),
				 "launched '%.120s', which is not one of its own "
				 "kernels",
				 one->name);
			return;
		}
		own_kernels++;
	}
	if (!own_kernels && !seen->lost) {
		out->end = KL_CALL_CHEAT;
		snprintf(out->what, sizeof(out->what), "launched no kernel of its own%s",
			 seen->n ? ", but copied or filled" : "");
	}
}

static int call_host(struct gpu_subject *subject, uint32_t flags, struct kl_gpu_launched *launched,
		     struct kl_call *out)
{
	int before = kl_gpu_child_threads(subject->child), after;
	int err = kl_gpu_child_launch(subject->child, 0, subject->dim, flags, subject->seed,
				      subject->call_ms, launched);

	/* the process ended by a signal: it made a forbidden system call (SIGSYS), or crashed */
	if (err == KL_EIO && !kl_gpu_child_alive(subject->child) &&
	    strstr(kl_error_last(), "ended by signal")) {
		bool system_call = strstr(kl_error_last(), "signal 31") != NULL;

		out->end = system_call ? KL_CALL_CHEAT : KL_CALL_FAULT;
		snprintf(out->what, sizeof(out->what), "%s",
			 system_call ? "made a system call that host code must not make" :
				       "crashed in its host code");
		kl_error_clear();
		return 0;
	}
	if (err < 0 || launched->c.end != KL_GPU_CALL_OK || !(flags & KL_GPU_CALL_RUN))
		return err;
	after = kl_gpu_child_threads(subject->child);
	if (before > 0 && after > before) {
		out->end = KL_CALL_CHEAT;
		snprintf(out->what, sizeof(out->what), "started %d thread%s", after - before,
			 after - before > 1 ? "s" : "");
	} else if (subject->child->launcher.traced && subject->kernel.n) {
		check_seen(out, subject, &launched->seen);
	}
	return 0;
}

/* Ask the GPU process to do the parts of a call that are in `flags` (KL_GPU_CALL_*). */
static int ask_call(struct gpu_subject *subject, uint32_t flags, struct kl_call *out)
{
	struct kl_gpu_launched launched;
	struct kl_gpu_called called;
	int err;

	memset(out, 0, sizeof(*out));
	memset(&called, 0, sizeof(called));
	memset(&launched, 0, sizeof(launched));
	if (subject->host_code) {
		err = call_host(subject, flags, &launched, out);
		called = launched.c;
	} else {
		err = kl_gpu_child_call(subject->child, subject->slot, flags, subject->seed,
					subject->call_ms, &called);
	}
	if (err == 0 && out->end != KL_CALL_OK) {
		kl_gpu_child_kill(subject->child);
		return 0;
	}
	if (err == KL_ETIMEOUT) { /* no reply: the driver still waits for the kernel */
		called.end = KL_GPU_CALL_HANG;
		kl_error_clear();
	} else if (err < 0) {
		return err;
	}
	if (called.arg < -1 || called.arg >= (int32_t)subject->nargs ||
	    (called.end == KL_GPU_CALL_SLACK && called.arg < 0))
		return kl_error(
			KL_EIO,
			"the GPU process answered with argument %d, which the kernel does not have",
			called.arg);
	memset(subject->stale, 0, sizeof(subject->stale));
	describe_end(out, subject, &called);
	out->ns = called.event_ns;
	out->wall_ns = called.event_ns;
	if (called.quirk)
		kl_gpu_processes_note(subject->processes,
				      "a bit of small tensor maps was cleared, as CUTLASS does for "
				      "drivers up to CUDA 13.1");
	/* do not use a process again after any failure */
	if (out->end != KL_CALL_OK)
		kl_gpu_child_kill(subject->child);
	return 0;
}

static int call_gpu(struct kl_subject *base, struct kl_call *out)
{
	if (as_gpu(base)->prepared.end != KL_CALL_OK) {
		*out = as_gpu(base)->prepared;
		return 0;
	}
	return ask_call(as_gpu(base), as_gpu(base)->flags, out);
}

static int check_gpu(struct kl_subject *base, struct kl_call *out)
{
	return ask_call(as_gpu(base), KL_GPU_CALL_CHECK, out);
}

static void limit_gpu(struct kl_subject *base, int64_t ms)
{
	as_gpu(base)->call_ms = ms;
}

static const struct kl_subject_ops operations = {
	.free = gpu_free,
	.place = place_gpu,
	.buffer = gpu_buffer,
	.bytes = gpu_bytes,
	.widens = widens_gpu,
	.poison = poison_gpu,
	.traced = gpu_traced,
	.handshake_ns = handshake_ns,
	.flush = flush_gpu,
	.call = call_gpu,
	.check = check_gpu,
	.limit = limit_gpu,
};

/* -- starting a subject --------------------------------------------------------------- */

/*
 * Let an oracle's input take elements of the kernel's type, if they are smaller than kl_real; the
 * GPU converts them.
 */
static void take_elements(struct kl_gpu_tensor_layout *layout, const struct kl_job_arg *arg,
			  size_t real)
{
	static const enum kl_gpu_from from[] = {
		[KL_F32] = KL_GPU_FROM_F32,
		[KL_F16] = KL_GPU_FROM_F16,
		[KL_BF16] = KL_GPU_FROM_BF16,
	};
	size_t size = kl_dtype_bytes(arg->dtype);

	if (!kl_arg_is_input(arg) || size >= real)
		return;
	layout->from = from[arg->dtype];
	layout->real = (uint32_t)real;
	layout->upload = layout->bytes / real * size;
}

static void lay_out(struct kl_gpu_tensor_layout *layout, const struct kl_job_arg *arg, int64_t n,
		    size_t real)
{
	enum kl_dtype dtype = arg->dtype;

	layout->tensor = kl_arg_is_input(arg) || kl_arg_is_output(arg);
	if (!layout->tensor)
		return;
	layout->bytes = (uint64_t)n;
	if (real && kl_dtype_is_float(dtype)) {
		dtype = real == 8 ? KL_F64 : KL_F32;
		take_elements(layout, arg, real);
	}
	layout->writable = kl_arg_is_output(arg);
	layout->output = arg->kind == KL_ARG_OUT;
	layout->zeros = arg->zeros;
	if (layout->zeros)
		return; /* the masks stay 0, so that the tensor is filled with zeros */
	kl_poison_mask(&layout->keep, &layout->set, dtype, false);
	kl_poison_mask(&layout->keep_like, &layout->set_like, dtype, true);
}

static const struct kl_plan *plan_of(const struct kl_job *job, const struct kl_subject_spec *spec)
{
	if (spec->kind == KL_SUBJECT_ORACLE)
		return job->oracle_plan;
	return job->parent_path && spec->path == job->parent_path ? job->parent_plan : job->plan;
}

static int bind_all(struct gpu_subject *subject, const struct kl_job *job,
		    const struct kl_point *pt, const struct kl_subject_spec *spec)
{
	const struct kl_plan *plan = plan_of(job, spec);
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	struct kl_gpu_called called = { .end = KL_GPU_CALL_OK };
	int err;

	if (subject->host_code) {
		if ((err = kl_gpu_host_make(&subject->host, subject->layout, subject->nargs)) < 0)
			return err;
		return kl_gpu_child_set(subject->child, 0, subject->layout, subject->nargs,
					spec->align_right, true, &subject->host);
	}
	if (!plan)
		return kl_error(KL_EINVALID, "the job has no launch plan for '%s'", spec->path);
	doc = kl_gpu_doc_make(job, pt, plan);
	if ((err = kl_gpu_child_host(subject->child, &subject->host, subject->layout,
				     subject->nargs)) < 0 ||
	    (err = kl_gpu_child_set(subject->child, subject->slot, subject->layout, subject->nargs,
				    spec->align_right, true, &subject->host)) < 0)
		return err;
	err = kl_gpu_child_bind(subject->child, subject->slot, subject->module, subject->slot, doc,
				kl_rng_os_seed(), subject->call_ms, &called);
	if (err == 0 && called.end != KL_GPU_CALL_OK) {
		describe_end(&subject->prepared, subject, &called);
		strncat(subject->prepared.what, ", in prepare",
			sizeof(subject->prepared.what) - strlen(subject->prepared.what) - 1);
	}
	return err;
}

/* Add a note to the result if the kernels that host code launches cannot be checked here. */
static void note_host(struct gpu_subject *subject)
{
	const struct kl_gpu_launcher_ready *ready = &subject->child->launcher;

	if (!ready->traced)
		kl_gpu_processes_note(subject->processes,
				      "kernels that host code launched were not checked: %s",
				      ready->why);
}

int kl_subject_start_gpu(struct kl_subject **out, const struct kl_job *job,
			 const struct kl_point *pt, const struct kl_subject_spec *spec)
{
	KL_AUTO(end_gpup) struct gpu_subject *subject = kl_calloc(1, sizeof(*subject));
	size_t real = spec->kind != KL_SUBJECT_ORACLE ? 0 : spec->real_is_double ? 8 : 4;
	int64_t size[KL_MAX_ARGS];
	int err;

	if (spec->other)
		KL_BUG("a subject on a GPU is called at one point");
	if (spec->kind == KL_SUBJECT_BASELINE)
		return kl_error(
			KL_ECANNOT,
			"a vendor library on a GPU can be called only by the stage 'profile'");
	subject->base.ops = &operations;
	subject->processes = job->gpu;
	subject->host.fd = -1;
	subject->nargs = job->nargs;
	subject->call_ms = job->call_ms;
	subject->ordinary = spec->ordinary;
	/* an oracle is trusted not to keep data between calls */
	subject->flags = real ? KL_GPU_CALL_ORDINARY | KL_GPU_CALL_POISON | KL_GPU_CALL_CHECK :
			 spec->ordinary ? KL_GPU_CALL_ORDINARY :
					  KL_GPU_CALL_ALL;
	kl_job_tensor_bytes(size, job, pt, real);
	for (size_t i = 0; i < job->nargs; i++) {
		memcpy(subject->name[i], job->arg[i].name, sizeof(subject->name[i]));
		lay_out(&subject->layout[i], &job->arg[i], size[i], real);
	}
	subject->host_code = kl_job_is_host(job, spec->path);
	memcpy(subject->dim, pt->dim, sizeof(subject->dim));
	if (subject->host_code && !strcmp(spec->path, job->candidate_path))
		kl_strvec_copy(&subject->kernel, &job->kernel);
	subject->oracle = spec->kind == KL_SUBJECT_ORACLE;
	err = subject->oracle ? kl_gpu_processes_oracle(&subject->child, &subject->module,
							&subject->slot, job, spec->path) :
				kl_gpu_processes_child(&subject->child, job, spec->path);
	if (err < 0 || (err = bind_all(subject, job, pt, spec)) < 0)
		return err;
	if (subject->host_code)
		note_host(subject);
	poison_gpu(&subject->base, 1);
	*out = &kl_steal(&subject)->base;
	return 0;
}
