/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_CLIENT_H
#define KL_WORKER_GPU_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "job/job.h"
#include "text/json.h"
#include "worker/gpu/wire.h"

/*
 * client - the worker's side of a GPU process: starts it, sends it requests, kills it.
 *
 * The process holds a CUDA context, modules, sets of tensors, and bindings of a module to a set. A
 * fault or a hang ends the process: kl_gpu_child_alive() then returns false, and the caller starts
 * another process.
 *
 *	kl_gpu_child_start(&c);				hello: lists the devices
 *	kl_gpu_child_open(c, ordinal);
 *	kl_gpu_child_module(c, 0, "/dir/cand.cubin");
 *	kl_gpu_child_set(c, 0, layout, n, right, &host);	tensor i: host.at + host.offset[i]
 *	kl_gpu_child_bind(c, 0, 0, 0, doc, ...);
 *	memcpy(host...)
 *	kl_gpu_child_call(c, 0, &call, &called);
 */
/* The host's memory for a set of tensors: one mapping that the GPU process maps, too. */
struct kl_gpu_host {
	unsigned char *at;
	uint64_t bytes;
	int fd;
	uint64_t offset[KL_GPU_MAX_TENSORS]; /* offset of tensor i from `at` */
};
#define KL_GPU_HOST_INIT \
	{                \
		.fd = -1 \
	}

#define KL_GPU_SPARES 3
struct kl_gpu_child {
	pid_t pid; /* 0 if the process is gone */
	int socket;
	bool open;
	struct kl_gpu_hello hello;
	int ordinal; /* number of the opened device */
	/* the process was killed because a kernel was still running or no reply came */
	bool stuck;
	/* path of the artefact in slot 0, set by process_pool.c; NULL if there is none */
	char *cubin;
	/* reply to LAUNCHER; all zero unless host code is loaded */
	struct kl_gpu_launcher_ready launcher;
	/* mappings that were given back, to be reused by later sets; .at is NULL in a free entry */
	struct kl_gpu_host spare[KL_GPU_SPARES];
};

/**
 * Start a process and receive its reply to HELLO. Return KL_ECANNOT if there is no GPU or no
 * driver, or the driver is too old. The message says which.
 */
int kl_gpu_child_start(struct kl_gpu_child **out);
/**
 * Like kl_gpu_child_start(), but the process confines itself before it opens the driver, so that it
 * can run host code (wall.h). Also return KL_ECANNOT if the process cannot confine itself.
 */
int kl_gpu_child_start_host(struct kl_gpu_child **out);
int kl_gpu_child_open(struct kl_gpu_child *child, int ordinal);
/**
 * Start a process and ask it to open device `ordinal`, without waiting, because creating a context
 * takes long. kl_gpu_child_ready() waits until the device is open, and returns the errors of
 * kl_gpu_child_start() and kl_gpu_child_open(). Send no other request before kl_gpu_child_ready()
 * has returned.
 */
int kl_gpu_child_begin(struct kl_gpu_child **out, int ordinal);
int kl_gpu_child_ready(struct kl_gpu_child *child);
/** Kill the process, reap it and free `child`, which can be NULL. */
void kl_gpu_child_free(struct kl_gpu_child *child);
/** Kill the process without waiting for its end. kl_gpu_child_free() then has to wait less. */
void kl_gpu_child_end(const struct kl_gpu_child *child);
KL_DEFINE_CLEANUP(struct kl_gpu_child *, kl_gpu_child_free)
void kl_gpu_child_kill(struct kl_gpu_child *child);
bool kl_gpu_child_alive(const struct kl_gpu_child *child);
const struct kl_gpu_facts *kl_gpu_child_facts(const struct kl_gpu_child *child);

/**
 * Send one request and receive its reply of exactly `nreply` bytes. `fd` is sent with the request;
 * -1 if there is none. An error that the process reports is returned with its code and message.
 * Return KL_ETIMEOUT if no reply came within `limit_ms`, or KL_EIO if the process closed its
 * socket, or its reply is malformed. In both cases the process has been killed.
 */
int kl_gpu_child_ask(struct kl_gpu_child *child, void *request, size_t n, int fd,
		     struct kl_gpu_reply *reply, size_t nreply, int64_t limit_ms);
/** Like kl_gpu_child_ask(), for a request whose reply is a plain struct kl_gpu_reply. */
int kl_gpu_child_ask_plain(struct kl_gpu_child *child, void *request, size_t n, int fd,
			   int64_t limit_ms);
/** Return the head of a request. */
struct kl_gpu_head kl_gpu_head(enum kl_gpu_op op, uint32_t slot, size_t bytes);

/**
 * Load the cubin at `path` into `slot`. Return KL_ECANNOT or KL_EINVALID (class `launch`) as
 * described in bind.h.
 */
int kl_gpu_child_module(struct kl_gpu_child *child, uint32_t slot, const char *path);

/**
 * Load host code instead of a module; at most once per process. If `trace` is true, record the
 * kernels, copies and fills of the host code (trace.h). Also return KL_ECANNOT if the process does
 * not have all bits of enum kl_gpu_closed.
 */
int kl_gpu_child_launcher(struct kl_gpu_child *child, const char *path, bool trace);
/** Call the loaded host code on the tensors of `set`. `dims` has KL_MAX_DIMS elements. */
int kl_gpu_child_launch(struct kl_gpu_child *child, uint32_t set, const int64_t *dims,
			uint32_t flags, uint64_t seed, int64_t limit_ms,
			struct kl_gpu_launched *out);
/** Return the number of threads of the process; -1 if unknown. */
int kl_gpu_child_threads(const struct kl_gpu_child *child);

/** Create and map memory for a set of `n` tensors. */
int kl_gpu_host_make(struct kl_gpu_host *host, const struct kl_gpu_tensor_layout *layout, size_t n);
void kl_gpu_host_release(struct kl_gpu_host *host);
/**
 * Like kl_gpu_host_make(), but reuse a mapping that was given back to `child` and is large enough,
 * since the first use of new memory is slow. A mapping that was given back to another process is
 * never reused, because it may hold a truth from an oracle. If `child` has host code, the mapping
 * is always a new one.
 */
int kl_gpu_child_host(struct kl_gpu_child *child, struct kl_gpu_host *host,
		      const struct kl_gpu_tensor_layout *layout, size_t n);
/** Give `host` back for reuse, or release it. Can be called after the process has ended. */
void kl_gpu_child_host_back(struct kl_gpu_child *child, struct kl_gpu_host *host);
/**
 * Make a set of tensors whose host memory is `host`. If `pin` is true, pin that memory, because
 * many copies will follow.
 */
int kl_gpu_child_set(struct kl_gpu_child *child, uint32_t slot,
		     const struct kl_gpu_tensor_layout *layout, size_t n, bool right, bool pin,
		     const struct kl_gpu_host *host);

/**
 * Bind a module to a set by the plan in `doc` (from kl_gpu_doc_make()) and run the plan's `prepare`
 * launches. Also return KL_EINVALID if a `require` of the plan does not hold. out->end says how
 * `prepare` ended; after a fault or a hang the process has been killed.
 */
int kl_gpu_child_bind(struct kl_gpu_child *child, uint32_t slot, uint32_t module, uint32_t set,
		      const json_t *doc, uint64_t seed, int64_t limit_ms,
		      struct kl_gpu_called *out);
int kl_gpu_child_call(struct kl_gpu_child *child, uint32_t bind, uint32_t flags, uint64_t seed,
		      int64_t limit_ms, struct kl_gpu_called *out);
int kl_gpu_child_drop(struct kl_gpu_child *child, enum kl_gpu_op what, uint32_t slot);

/**
 * Check that device `uuid` is healthy after a hang: a new process opens it, writes a pattern, reads
 * it back and compares. Call this before anything else is sent to the device. Return KL_EIO if the
 * device is not healthy. The message says why.
 */
int kl_gpu_child_probe(const char *uuid);
/** Return the number of device `uuid` in this process; -1 if the process does not see it. */
int kl_gpu_child_ordinal(const struct kl_gpu_child *child, const char *uuid);

#endif
