/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_BIND_H
#define KL_WORKER_GPU_BIND_H

#include "plan/plan.h"
#include "worker/gpu/memory.h"

/*
 * bind - makes launches from a cubin, a set of buffers and a resolved plan.
 *
 *	kl_gpu_module_load(&mod, d, image, n);
 *	kl_gpu_set_make(&set, d, layout, n, right);	one set of tensors; there can be any number
 *	kl_gpu_bound_make(&b, d, mod, set, at);	args checked, maps encoded, scratch allocated
 *	kl_gpu_bound_prepare(b, d, seed);		the untimed launches
 *	... upload, protect ...
 *	kl_gpu_bound_ready(b, d, seed, true);		before a call: scratch poisoned
 *	kl_gpu_bound_launch(b, d);			enqueues the timed part: zeroing, launches
 *	kl_gpu_bound_check(b, d, &where);		after it: carried scratch, slack of scratch
 *
 * The parameters of every launch are compared with those that the kernel declares (number and
 * sizes), so that no plan passes bytes that the kernel does not have. Errors are KL_EINVALID (class
 * `launch`) if the artefact or its plan is at fault, KL_ECANNOT if this device cannot run it
 * (compiled for another architecture), KL_EIO if memory runs out.
 *
 * Two bindings can share a module and a set; each has its own scratch. Module and set must outlive
 * the bindings made of them.
 */

/* -- module.c: module -------------------------------------------------- */

struct kl_gpu_module {
	struct kl_cu_module *handle;
	void *image; /* kept to reload it */
	size_t nimage;
	/* incremented by each load: bindings then look their kernels up again */
	unsigned generation;
};

int kl_gpu_module_load(struct kl_gpu_module **out, const struct kl_gpu_device *device,
		       const void *image, size_t n);
/** Unload and load again; discards everything that a kernel stored in its globals and constants. */
int kl_gpu_module_reload(struct kl_gpu_module *module, const struct kl_gpu_device *device);
void kl_gpu_module_free(struct kl_gpu_module *module, const struct kl_gpu_device *device);

/* -- set.c: tensors ------------------------------------------------------ */

#define KL_GPU_MAX_TENSORS 32

struct kl_gpu_tensor_layout {
	uint64_t bytes; /* of data; 0: not a tensor, or an empty one */
	bool tensor;    /* contract argument i is a tensor */
	bool writable;
	/* an output is poisoned with a kl_gpu_pattern of these masks; the seed is the call's */
	bool output;
	/*
	 * An enum kl_gpu_from: the host writes elements of this type, `upload` bytes in all, and the
	 * GPU makes elements of `real` bytes of them. 0: the host writes what the kernel reads.
	 */
	uint32_t from, real;
	uint64_t upload;
	uint64_t keep, set;           /* values unlike any answer */
	uint64_t keep_like, set_like; /* values that look like an answer */
};

struct kl_gpu_set {
	size_t n;
	struct kl_gpu_tensor_layout layout[KL_GPU_MAX_TENSORS];
	struct kl_gpu_buffer buffer[KL_GPU_MAX_TENSORS];
	struct kl_gpu_buffer narrow; /* what the host wrote of one input, if any is widened */
	bool right;
	uint64_t slack_seed;
};

/** What the host's copy of a tensor needs. */
static inline uint64_t kl_gpu_tensor_host_bytes(const struct kl_gpu_tensor_layout *layout)
{
	return layout->from && !layout->writable ? layout->upload : layout->bytes;
}

int kl_gpu_set_make(struct kl_gpu_set **out, const struct kl_gpu_device *device,
		    const struct kl_gpu_tensor_layout *layout, size_t n, bool right);
void kl_gpu_set_free(struct kl_gpu_set *set, const struct kl_gpu_device *device);
/**
 * Enqueue: copy the host's elements at `from` into tensor i and widen them if its layout says so; a
 * read-only tensor stays read-only.
 */
int kl_gpu_set_upload(struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t i,
		      const void *from);
int kl_gpu_set_download(const struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t i,
			void *to);
/** Enqueue: poison every output; the pattern depends on the seed and the tensor's index. */
int kl_gpu_set_poison(const struct kl_gpu_set *set, const struct kl_gpu_device *device,
		      uint64_t seed);
/**
 * The pattern for tensor i: odd seeds give values that look like an answer. Also used outside of
 * the GPU process.
 */
struct kl_gpu_pattern kl_gpu_set_pattern(const struct kl_gpu_tensor_layout *layout, size_t i,
					 uint64_t seed);
/** Fill the slack of all tensors with a new pattern; kl_gpu_set_make() has done it once. */
int kl_gpu_set_slack(struct kl_gpu_set *set, const struct kl_gpu_device *device, uint64_t seed);
/**
 * Check the slack of writable tensors. KL_ENO (no message): there was a write outside of tensor
 * *tensor, at byte *where.
 */
int kl_gpu_set_check(const struct kl_gpu_set *set, const struct kl_gpu_device *device,
		     size_t *tensor, int64_t *where);

/* -- binding ---------------------------------------------------------------- */

struct kl_gpu_bound;

/**
 * Takes ownership of `at`, also on failure; the plan that it was resolved from can be freed after
 * this call.
 */
int kl_gpu_bound_make(struct kl_gpu_bound **out, const struct kl_gpu_device *device,
		      struct kl_gpu_module *module, struct kl_gpu_set *set, struct kl_plan_at *at,
		      bool quirks);
void kl_gpu_bound_free(struct kl_gpu_bound *bound, const struct kl_gpu_device *device);
/**
 * Initialize scratch and run the `prepare` launches; waits at most `limit_ms` for them. Scratch
 * that `prepare` fills is read-only afterwards. KL_EINVALID: a launch was refused. KL_ENO (no
 * message): a launch faulted or did not end in time; *ran is the CUDA result, KL_CU_NOT_READY if it
 * still runs.
 */
int kl_gpu_bound_prepare(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			 uint64_t seed, int64_t limit_ms, int *ran);
/** Name of the kernel of the only `prepare` launch; "" if there are several, or none. */
const char *kl_gpu_bound_preparer(const struct kl_gpu_bound *bound);
/**
 * Look kernels up again after a reload. Enqueue, unless `poison` is false: poison the scratch that
 * the plan declares as poison.
 */
int kl_gpu_bound_ready(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
		       uint64_t seed, bool poison);
/**
 * Enqueue the timed part. Returns the CUDA result of the first refused call instead of an error, so
 * that no message is formatted meanwhile; *which is the index of the launch, -1: a zeroing.
 */
int kl_gpu_bound_launch(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			int *which);
/**
 * Check scratch after a call; waits. KL_ENO: a write outside of it, or carried scratch is not zero;
 * the message names the scratch and the byte.
 */
int kl_gpu_bound_check(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device);
/** Name of the kernel of launch `which`, for messages; "" if there is no such launch. */
const char *kl_gpu_bound_kernel(const struct kl_gpu_bound *bound, int which);
size_t kl_gpu_bound_launches(const struct kl_gpu_bound *bound);
/** True if bits of a tensor map were cleared, as CUTLASS does (docs/formats.md, quirks). */
bool kl_gpu_bound_quirk(const struct kl_gpu_bound *bound);

/* -- wait.c: waiting ----------------------------------------------------- */

/**
 * Wait for the stream, at most `limit_ms`. Returns its CUDA result, KL_CU_NOT_READY on timeout: a
 * kernel that hangs can only be ended with its process.
 */
int kl_gpu_wait(const struct kl_gpu_device *device, int64_t limit_ms);

/** Is this result a fault of the kernel that ran (which also loses the context)? */
bool kl_gpu_is_fault(int rc);
/** Does this result mean only that a launch was refused? */
bool kl_gpu_is_refusal(int rc);

#endif
