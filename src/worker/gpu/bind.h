/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_BIND_H
#define KL_WORKER_GPU_BIND_H

#include "plan/plan.h"
#include "worker/gpu/memory.h"

/*
 * bind - a cubin, a set of buffers and a resolved plan become launches.
 *
 *	kl_gpu_module_load(&mod, d, image, n);
 *	kl_gpu_set_make(&set, d, layout, n, right);	one set of tensors; as many as you like
 *	kl_gpu_bound_make(&b, d, mod, set, at);		args checked, maps encoded, scratch made
 *	kl_gpu_bound_prepare(b, d, seed);		the untimed launches
 *	... upload, protect ...
 *	kl_gpu_bound_ready(b, d, seed);			before a call: scratch poisoned
 *	kl_gpu_bound_launch(b, d);			the timed part, enqueued: zeroing and launches
 *	kl_gpu_bound_check(b, d, &where);		after it: carried scratch, slack of scratch
 *
 * Every launch's parameters are compared with what the kernel declares (number,
 * sizes), so that no plan passes bytes that the kernel does not have. Errors are
 * KL_EINVALID (class `launch`) where the artefact or its plan is at fault; KL_ECANNOT where
 * this device cannot serve it (made for another processor); KL_EIO where memory is out.
 *
 * Two bindings may share module and set; each has a scratch of its own. Module and set
 * outlive what is bound to them.
 */

/* -- module.c: module -------------------------------------------------- */

struct kl_gpu_module {
	struct kl_cu_module *handle;
	void *image; /* kept, to load it anew */
	size_t nimage;
	unsigned generation; /* rises with each load: bindings look their kernels up again */
};

int kl_gpu_module_load(struct kl_gpu_module **out, const struct kl_gpu_device *device,
		       const void *image, size_t n);
/** Everything that a kernel could have stored in its own globals and constants is gone. */
int kl_gpu_module_reload(struct kl_gpu_module *module, const struct kl_gpu_device *device);
void kl_gpu_module_free(struct kl_gpu_module *module, const struct kl_gpu_device *device);

/* -- set.c: tensors ------------------------------------------------------ */

#define KL_GPU_MAX_TENSORS 32

struct kl_gpu_tensor_layout {
	uint64_t bytes; /* of data; 0: no tensor in this place, or an empty one */
	bool tensor;    /* contract argument i is a tensor */
	bool writable;
	/* pattern that outputs are poisoned with: kl_gpu_pattern, its seed comes with the call */
	bool output;
	uint64_t keep, set;           /* unlike any answer */
	uint64_t keep_like, set_like; /* like one */
};

struct kl_gpu_set {
	size_t n;
	struct kl_gpu_tensor_layout layout[KL_GPU_MAX_TENSORS];
	struct kl_gpu_buffer buffer[KL_GPU_MAX_TENSORS];
	bool right;
	uint64_t slack_seed;
};

int kl_gpu_set_make(struct kl_gpu_set **out, const struct kl_gpu_device *device,
		    const struct kl_gpu_tensor_layout *layout, size_t n, bool right);
void kl_gpu_set_free(struct kl_gpu_set *set, const struct kl_gpu_device *device);
/** Copy `from` (layout.bytes) into tensor i; leaves a read-only one read-only. */
int kl_gpu_set_upload(struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t i,
		      const void *from);
int kl_gpu_set_download(const struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t i,
			void *to);
/** Every output poisoned, with seed and the tensor's place (kl_gpu_set_pattern); enqueued. */
int kl_gpu_set_poison(const struct kl_gpu_set *set, const struct kl_gpu_device *device,
		      uint64_t seed);
/** That pattern: the odd seeds give what looks like an answer. Also used by the parent. */
struct kl_gpu_pattern kl_gpu_set_pattern(const struct kl_gpu_tensor_layout *layout, size_t i,
					 uint64_t seed);
/** New slack everywhere, seeded; a set comes with one. */
int kl_gpu_set_slack(struct kl_gpu_set *set, const struct kl_gpu_device *device, uint64_t seed);
/** KL_ENO (no message): tensor *i was written at byte *where, outside of it. */
int kl_gpu_set_check(const struct kl_gpu_set *set, const struct kl_gpu_device *device, size_t *i,
		     int64_t *where);

/* -- binding ---------------------------------------------------------------- */

struct kl_gpu_bound;

/** `at` is taken over, also on failure; the plan it came from need not live on. */
int kl_gpu_bound_make(struct kl_gpu_bound **out, const struct kl_gpu_device *device,
		      struct kl_gpu_module *module, struct kl_gpu_set *set, struct kl_plan_at *at,
		      bool quirks);
void kl_gpu_bound_free(struct kl_gpu_bound *bound, const struct kl_gpu_device *device);
/**
 * Scratch in its first state and the `prepare` launches; waits at most `limit_ms` for them. Scratch
 * of `prepare` is read-only after. KL_EINVALID: they were refused, did not end well or in time.
 */
int kl_gpu_bound_prepare(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			 uint64_t seed, int64_t limit_ms);
/** Poison what is promised to be poison; looks kernels up again after a reload. Enqueued. */
int kl_gpu_bound_ready(struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
		       uint64_t seed);
/**
 * Enqueue what is timed. Returns the CUDA result of the first call that refused, so that nothing
 * is formatted on the way; *which is the launch, -1 a zeroing.
 */
int kl_gpu_bound_launch(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device,
			int *which);
/** KL_ENO, with a message: "scratch 'tick' (carry) is not zero after the call: byte 4". Waits. */
int kl_gpu_bound_check(const struct kl_gpu_bound *bound, const struct kl_gpu_device *device);
/** Kernel of launch i, for messages. */
const char *kl_gpu_bound_kernel(const struct kl_gpu_bound *bound, int which);
size_t kl_gpu_bound_launches(const struct kl_gpu_bound *bound);
/** Descriptor bits were cleared as CUTLASS does (docs/formats.md, quirks). */
bool kl_gpu_bound_quirk(const struct kl_gpu_bound *bound);

/* -- wait.c: waiting ----------------------------------------------------- */

/**
 * Wait for the stream at most `limit_ms`: its CUDA result, KL_CU_NOT_READY when the time is over.
 * A kernel that hangs never ends; the process that called it has to.
 */
int kl_gpu_wait(const struct kl_gpu_device *device, int64_t limit_ms);

/** Is this result the fault of the kernel that ran (and the context lost)? */
bool kl_gpu_is_fault(int rc);
/** Does it say that a launch was refused, and nothing else is wrong? */
bool kl_gpu_is_refusal(int rc);

#endif
