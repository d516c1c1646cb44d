/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_TOOL_H
#define KL_WORKER_GPU_TOOL_H

#include "worker/gpu/driver.h"
#include "worker/gpu/widen.h"

/*
 * tool - opens a device and runs the gate's own small kernels on it.
 *
 * The kernels are PTX text in ptx.c (from ptx.cu), which the driver compiles when the device is
 * opened. They run on the device's only stream, in order with everything else, and never fault, so
 * that an error reported for them comes from an earlier kernel.
 *
 * Word i (8 bytes, little-endian) of a pattern is (kl_gpu_mix(seed, i) & keep) | set.
 * kl_gpu_pattern() computes the same words in C, so that the host knows a pattern without copying
 * it from the device.
 */
struct kl_gpu_device {
	struct kl_gpu_driver *cu; /* borrowed */
	int ordinal, dev;
	struct kl_gpu_facts facts;
	struct kl_cu_context *context; /* the primary context, which libraries share */
	struct kl_cu_stream *stream;
	struct kl_cu_module *tools;
	struct kl_cu_function *fill, *check, *print, *scrub_shared, *scrub_local, *widen;
	uint64_t result;                /* device address of 64 bytes for the tools' results */
	uint64_t granule;               /* granularity of mappings in bytes */
	uint64_t flush_at, flush_bytes; /* buffer that kl_gpu_flush writes; 0 if not allocated */
};

/**
 * Open a device: create its context and stream, load the tools. `cu` is borrowed. Return KL_ECANNOT
 * if the device cannot be used. The message says why.
 */
int kl_gpu_device_open(struct kl_gpu_device **out, struct kl_gpu_driver *cu, int ordinal);
void kl_gpu_device_free(struct kl_gpu_device *device);
KL_DEFINE_CLEANUP(struct kl_gpu_device *, kl_gpu_device_free)

/** Return number i (counted from 0) of the sequence that splitmix64 generates from `seed`. */
uint64_t kl_gpu_mix(uint64_t seed, uint64_t i);

struct kl_gpu_pattern {
	uint64_t seed, keep, set;
};
/** Write bytes [from, from + n) of the pattern to `out`. */
void kl_gpu_pattern(void *out, const struct kl_gpu_pattern *pattern, uint64_t from, size_t n);

/*
 * Enqueue the writing of bytes [from, from + n) of the pattern to `at`, which must equal `from`
 * modulo 8.
 */
int kl_gpu_fill(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t from,
		const struct kl_gpu_pattern *pattern);
/**
 * Wait for the stream and compare the n bytes at `at` with bytes [from, from + n) of the pattern.
 * Return KL_ENO, without a message, if they differ; *where is then the first byte that differs,
 * counted from `at`.
 */
int kl_gpu_check(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t from,
		 const struct kl_gpu_pattern *pattern, uint64_t *where);
/** Wait for the stream and check that the n bytes at `at` are 0; results as in kl_gpu_check(). */
int kl_gpu_check_zero(const struct kl_gpu_device *device, uint64_t at, uint64_t n, uint64_t *where);

/**
 * Enqueue a kernel that stores a fingerprint of the n bytes at `at` in the 16 bytes at device
 * address `out`. The fingerprint has 128 bits and depends on the bytes and their positions; use a
 * `key` that no kernel of a candidate knows. kl_gpu_fingerprint() also waits and stores the
 * fingerprint in `print`; kl_gpu_fingerprint_host() computes it on the host.
 */
int kl_gpu_fingerprint_to(const struct kl_gpu_device *device, uint64_t out, uint64_t at, uint64_t n,
			  uint64_t key);
int kl_gpu_fingerprint(const struct kl_gpu_device *device, uint64_t print[2], uint64_t at,
		       uint64_t n, uint64_t key);
void kl_gpu_fingerprint_host(uint64_t print[2], const void *data, uint64_t n, uint64_t key);

/**
 * Enqueue the conversion of the n elements of type `kind` at `from` to floats (`size` is 4) or
 * doubles (`size` is 8) at `to` (widen.h).
 */
int kl_gpu_widen(const struct kl_gpu_device *device, uint64_t to, uint64_t from, uint64_t n,
		 unsigned size, enum kl_gpu_from kind);

/** Enqueue kernels that overwrite the shared memory of every multiprocessor, and local memory. */
int kl_gpu_scrub(const struct kl_gpu_device *device);
/** Allocate the buffer that kl_gpu_flush() writes, once for a device. */
int kl_gpu_flush_prepare(struct kl_gpu_device *device);
/**
 * Enqueue the writing of a buffer that is larger than the L2 cache, which evicts all but persisting
 * lines. Persisting lines stay, because resetting them can block while the stream is held.
 */
int kl_gpu_flush(const struct kl_gpu_device *device);
/* PTX text of the gate's kernels, which the driver compiles. */
extern const char kl_gpu_ptx[];

#endif
