/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TOOL_H
#define KL_WORKER_GPU_TOOL_H

#include "worker/gpu/driver.h"

/*
 * tool - an opened device, and the gate's own small kernels on it.
 *
 * The kernels are PTX text in ptx.c (from ptx.cu), which the driver compiles when the device is
 * opened. All run on the device's one stream, in order with everything else, and never fault by
 * themselves: an error they report comes from a kernel before them.
 *
 * The pattern: word i (8 bytes, little-endian, counted from `origin`) of a pattern is
 * (kl_gpu_mix(seed, i) & keep) | set. The same function in C is kl_gpu_pattern(), so that
 * what a device was told to write is known here without a copy.
 */
struct kl_gpu_device {
	struct kl_gpu_driver *cu; /* borrowed */
	int ordinal, dev;
	struct kl_gpu_facts facts;
	struct kl_cu_context *context; /* the primary one, which libraries share */
	struct kl_cu_stream *stream;
	struct kl_cu_module *tools;
	struct kl_cu_function *fill, *check, *print, *scrub_shared, *scrub_local;
	uint64_t result;                /* 64 bytes that tools answer in */
	uint64_t granule;               /* of mappings */
	uint64_t flush_at, flush_bytes; /* what kl_gpu_flush_l2 writes; 0: not yet */
};

/** Context, stream, tools. KL_ECANNOT: this device cannot serve, and why. */
int kl_gpu_device_open(struct kl_gpu_device **out, struct kl_gpu_driver *cu, int ordinal);
void kl_gpu_device_free(struct kl_gpu_device *device);
KL_DEFINE_CLEANUP(struct kl_gpu_device *, kl_gpu_device_free)

/** splitmix64's finalizer over seed + (i + 1) * golden ratio. */
uint64_t kl_gpu_mix(uint64_t seed, uint64_t i);

struct kl_gpu_pattern {
	uint64_t seed, keep, set;
};
/** Bytes [from, from + n) of the pattern. */
void kl_gpu_pattern(void *out, const struct kl_gpu_pattern *pattern, uint64_t from, size_t n);

/* Enqueued on d->stream; any number of bytes, any address with `at` % 8 == `from` % 8. */
int kl_gpu_fill(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t from,
		const struct kl_gpu_pattern *pattern);
/**
 * First byte of [at, at + n) that is not the pattern's, counted from `at`; KL_ENO (no message) if
 * there is one. Waits.
 */
int kl_gpu_check(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t from,
		 const struct kl_gpu_pattern *pattern, uint64_t *where);
/** First byte that is not zero, likewise. */
int kl_gpu_check_zero(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t *where);

/**
 * Enqueue: a fingerprint of n bytes (128 bits, of content and place; key it with a number that no
 * kernel knows) is left in the 16 bytes at device address `out`. kl_gpu_fingerprint is the
 * same and waits for it; kl_gpu_fingerprint_host computes it here.
 */
int kl_gpu_fingerprint_to(const struct kl_gpu_device *device, uint64_t out, uint64_t at, uint64_t n,
			  uint64_t key);
int kl_gpu_fingerprint(const struct kl_gpu_device *device, uint64_t print[2], uint64_t at,
		       uint64_t n, uint64_t key);
void kl_gpu_fingerprint_host(uint64_t print[2], const void *data, uint64_t n, uint64_t key);

/** Enqueue: overwrite the shared memory of every multiprocessor, and local memory. */
int kl_gpu_scrub(const struct kl_gpu_device *device);
/** Enqueue: persisting lines back to normal, then twice the L2's size written. */
int kl_gpu_flush_l2(struct kl_gpu_device *device);
/* The kernels' text, for the driver's own compiler. */
extern const char kl_gpu_ptx[];

/** Bytes that kl_gpu_flush_l2 has for itself are allocated now, not at the first flush. */
int kl_gpu_flush_prepare(struct kl_gpu_device *device);

#endif
