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
 *	kl_gpu_bound_prepare(b, d, seed);		runs the untimed launches
 *	... upload, protect ...
 *	kl_gpu_bound_ready(b, d, seed, true);		before a call: poisons scratch
 *	kl_gpu_bound_launch(b, d);			enqueues the timed part: zeroing, launches
 *	kl_gpu_bound_check(b, d, &where);		after a call: checks carried scratch, slack
 *
 * The number and sizes of the parameters in the plan are compared with those that the kernel
 * declares, so that a plan cannot pass bytes for which the kernel has no parameter. Errors are
 * KL_EINVALID (class `launch`) if the artefact or its plan is at fault, KL_ECANNOT if this device
 * cannot run the artefact (compiled for another architecture), KL_EIO if memory runs out.
 *
 * Two bindings can share a module and a set; each has its own scratch. Module and set must outlive
 * the bindings made of them.
 */

/* -- module.c: load and reload a cubin ---------------------------------- */

struct kl_gpu_module {
	struct kl_cu_module *handle;
	void *image; /* copy of the cubin, for reloads */
	size_t nimage;
	/* incremented by each load, so that bindings look up their kernels again */
	unsigned generation;
};

int kl_gpu_module_load(struct kl_gpu_module **out, const struct kl_gpu_device *device,
		       const void *image, size_t n);
/**
 * Unload and load the cubin again, which discards all values that kernels stored in globals and
 * constants.
 */
int kl_gpu_module_reload(struct kl_gpu_module *module, const struct kl_gpu_device *device);
void kl_gpu_module_free(struct kl_gpu_module *module, const struct kl_gpu_device *device);

/* -- set.c: sets of tensors ---------------------------------------------- */

#define KL_GPU_MAX_TENSORS 32

struct kl_gpu_tensor_layout {
	uint64_t bytes; /* size of the data; 0 if it is not a tensor, or an empty one */
	bool tensor;    /* this argument of the contract is a tensor */
	bool writable;  /* the kernel may write the tensor (out, inout) */
	/*
	 * the kernel only writes the tensor (out); before calls it is filled with one of the poison
	 * patterns below
	 */
	bool output;
	/* the tensor is an output that must be zero before each call; its pattern is all zero */
	bool zeros;
	/*
	 * `from`: enum kl_gpu_from, the type of the elements that the host writes (`upload` bytes
	 * in all); the GPU widens each element to `real` bytes. `from` is 0 if the host writes the
	 * bytes as the kernel reads them.
	 */
	uint32_t from, real;
	uint64_t upload;
	uint64_t keep, set;           /* masks (tool.h) of a pattern unlike any answer */
	uint64_t keep_like, set_like; /* (bits & keep_like) | set_like resembles an answer */
};

struct kl_gpu_set {
	size_t n;
	struct kl_gpu_tensor_layout layout[KL_GPU_MAX_TENSORS];
	struct kl_gpu_buffer buffer[KL_GPU_MAX_TENSORS];
	struct kl_gpu_buffer narrow; /* an input as the host wrote it, before it is widened */
	bool right;                  /* data is at the right end of its mapping */
	uint64_t slack_seed;
};

/** Return the size in bytes of a tensor in the host's memory. */
static inline uint64_t kl_gpu_tensor_host_bytes(const struct kl_gpu_tensor_layout *layout)
{
	return layout->from && !layout->writable ? layout->upload : layout->bytes;
}

int kl_gpu_set_make(struct kl_gpu_set **out, const struct kl_gpu_device *device,
		    const struct kl_gpu_tensor_layout *layout, size_t n, bool right);
void kl_gpu_set_free(struct kl_gpu_set *set, const struct kl_gpu_device *device);
/**
 * Enqueue the copying of the host's elements at `from` to tensor i and, if layout[i].from is not 0,
 * their widening. A tensor that kernels only read is read-only again when this returns.
 */
int kl_gpu_set_upload(struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t i,
		      const void *from);
/** Enqueue the zeroing of every output that must be zero before a call. */
int kl_gpu_set_zero(const struct kl_gpu_set *set, const struct kl_gpu_device *device);
int kl_gpu_set_download(const struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t i,
			void *to);
/**
 * Enqueue the poisoning of every output, except those that must be zero before a call. The pattern
 * depends on the seed and the tensor's index.
 */
int kl_gpu_set_poison(const struct kl_gpu_set *set, const struct kl_gpu_device *device,
		      uint64_t seed);
/**
 * Return the poison pattern of tensor i. Odd seeds give values that look like an answer. The worker
 * calls this, too: it needs no GPU.
 */
struct kl_gpu_pattern kl_gpu_set_pattern(const struct kl_gpu_tensor_layout *layout, size_t i,
					 uint64_t seed);
/** Fill the slack (memory.h) of all tensors with a new pattern. kl_gpu_set_make() does so, too. */
int kl_gpu_set_slack(struct kl_gpu_set *set, const struct kl_gpu_device *device, uint64_t seed);
/**
 * Check the slack of writable tensors. Return KL_ENO, without a message, if something wrote outside
 * of tensor *tensor, at byte *where (counted from the tensor's first byte).
 */
int kl_gpu_set_check(const struct kl_gpu_set *set, const struct kl_gpu_device *device,
		     size_t *tensor, int64_t *where);

/* -- bindings --------------------------------------------------------------- */

struct kl_gpu_bound;

/**
 * Bind a module to a set by the resolved plan `at`. Takes ownership of `at`, also on failure; the
 * plan that `at` was resolved from can be freed after this call. If `quirks` is true, do as CUTLASS
 * does and clear a bit that some drivers wrongly set in tensor maps (docs/formats.md, quirks).
 */
int kl_gpu_bound_make(struct kl_gpu_bound **out, const struct kl_gpu_device *device,
		      struct kl_gpu_module *module, struct kl_gpu_set *set, struct kl_plan_at *at,
		      bool quirks);
void kl_gpu_bound_free(struct kl_gpu_bound *bound, const struct kl_gpu_device *device);
/**
 * Initialize scratch and run the `prepare` launches; wait at most `limit_ms` for them. Scratch that
 * `prepare` fills is read-only afterwards. Return KL_EINVALID if a launch was refused. Return
 * KL_ENO, without a message, if a launch faulted or did not end in time; *ran is then the CUDA
 * result, KL_CU_NOT_READY if a launch is still running.
 */
int kl_gpu_bound_prepare(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			 uint64_t seed, int64_t limit_ms, int *ran);
/**
 * Return the name of the kernel of the `prepare` launch; "" if the plan does not have exactly one.
 */
const char *kl_gpu_bound_preparer(const struct kl_gpu_bound *bound);
/**
 * Look up the kernels again if the module was reloaded. With `poison`, also enqueue the poisoning
 * of the scratch that the plan wants poisoned before each call.
 */
int kl_gpu_bound_ready(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
		       uint64_t seed, bool poison);
/**
 * Enqueue the timed part: the zeroing of scratch and the launches. Return 0, or the CUDA result of
 * the first operation that was refused; it sets no error, since formatting a message here would
 * take time. *which is the index of the last launch that was tried; -1 if the zeroing was refused.
 */
int kl_gpu_bound_launch(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			int *which);
/**
 * Wait for the stream and check scratch after a call. Return KL_ENO if the call wrote outside of a
 * scratch buffer, or left a nonzero byte in a buffer that the plan carries from call to call. The
 * message names the buffer and the byte.
 */
int kl_gpu_bound_check(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device);
/** Return the name of the kernel of launch `which`; "" if there is no such launch. */
const char *kl_gpu_bound_kernel(const struct kl_gpu_bound *bound, int which);
size_t kl_gpu_bound_launches(const struct kl_gpu_bound *bound);
/** Return true if a wrongly set bit of a tensor map was cleared (docs/formats.md, quirks). */
bool kl_gpu_bound_quirk(const struct kl_gpu_bound *bound);

/* -- wait.c: wait for the stream, classify CUDA results ------------------ */

/**
 * Wait for the stream, at most `limit_ms`. Return the stream's CUDA result, or KL_CU_NOT_READY if
 * the stream was not done in time. A kernel that hangs can be ended only with its process.
 */
int kl_gpu_wait(const struct kl_gpu_device *device, int64_t limit_ms);

/**
 * Return true if this CUDA result is a fault of a kernel that ran; the context is then unusable.
 */
bool kl_gpu_is_fault(int rc);
/** Return true if this CUDA result means that a launch was refused; the context is still usable. */
bool kl_gpu_is_refusal(int rc);

#endif
