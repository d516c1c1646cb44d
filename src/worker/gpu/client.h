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
 * The process holds a CUDA context and what it was sent: several modules, several sets of tensors,
 * several bindings of a module to a set. After a fault or a hang the process is gone:
 * kl_gpu_child_alive() returns false, and the caller starts another one.
 *
 *	kl_gpu_child_start(&c);				hello: lists the devices
 *	kl_gpu_child_open(c, ordinal);
 *	kl_gpu_child_module(c, 0, "/dir/cand.cubin");
 *	kl_gpu_child_set(c, 0, layout, n, right, &host);	host.at + host.offset[i]
 *	kl_gpu_child_bind(c, 0, 0, 0, doc, ...);
 *	memcpy(host...)
 *	kl_gpu_child_call(c, 0, &call, &called);
 */
/* The host's side of a set: one mapping shared with the GPU process. */
struct kl_gpu_host {
	unsigned char *at;
	uint64_t bytes;
	int fd;
	uint64_t offset[KL_GPU_MAX_TENSORS];
};
#define KL_GPU_HOST_INIT \
	{                \
		.fd = -1 \
	}

#define KL_GPU_SPARES 3
struct kl_gpu_child {
	pid_t pid; /* 0: the process is gone */
	int socket;
	bool open;
	struct kl_gpu_hello hello;
	int ordinal; /* of the opened device */
	/* killed because a kernel was still running or no reply came */
	bool stuck;
	char *cubin; /* path of the artefact in slot 0, for process_pool.c */
	/* reply to LAUNCHER; all zero unless host code is loaded */
	struct kl_gpu_launcher_ready launcher;
	/* mappings given back, for the next sets; .at is NULL where there is none */
	struct kl_gpu_host spare[KL_GPU_SPARES];
};

/**
 * Start a process and receive its HELLO. KL_ECANNOT: no GPU, no driver, or the driver is too old;
 * the message says which.
 */
int kl_gpu_child_start(struct kl_gpu_child **out);
/**
 * Start a process that can run host code: it confines itself first (wall.h). KL_ECANNOT if it
 * cannot.
 */
int kl_gpu_child_start_host(struct kl_gpu_child **out);
int kl_gpu_child_open(struct kl_gpu_child *child, int ordinal);
/**
 * Start a process that opens device `ordinal` by itself, and do not wait for it: a context takes
 * long to create. kl_gpu_child_ready() waits, and returns what kl_gpu_child_start() and
 * kl_gpu_child_open() would; until then nothing else may be asked.
 */
int kl_gpu_child_begin(struct kl_gpu_child **out, int ordinal);
int kl_gpu_child_ready(struct kl_gpu_child *child);
/** SIGKILL and reap, then free; `child` can be NULL. */
void kl_gpu_child_free(struct kl_gpu_child *child);
/** SIGKILL without waiting: kl_gpu_child_free() then takes less time. */
void kl_gpu_child_end(const struct kl_gpu_child *child);
KL_DEFINE_CLEANUP(struct kl_gpu_child *, kl_gpu_child_free)
void kl_gpu_child_kill(struct kl_gpu_child *child);
bool kl_gpu_child_alive(const struct kl_gpu_child *child);
const struct kl_gpu_facts *kl_gpu_child_facts(const struct kl_gpu_child *child);

/**
 * Send one request and receive its reply of exactly `nreply` bytes. `fd` is sent with the request;
 * -1: none. An error that the process reports is returned with its code and message. KL_ETIMEOUT
 * after `limit_ms`, KL_EIO if the process has ended or its reply is malformed; it has been killed
 * in all these cases.
 */
int kl_gpu_child_ask(struct kl_gpu_child *child, void *request, size_t n, int fd,
		     struct kl_gpu_reply *reply, size_t nreply, int64_t limit_ms);
/** The same for a request whose reply has no further content. */
int kl_gpu_child_ask_plain(struct kl_gpu_child *child, void *request, size_t n, int fd,
			   int64_t limit_ms);
/** Return the head of a request. */
struct kl_gpu_head kl_gpu_head(enum kl_gpu_op op, uint32_t slot, size_t bytes);

/** Load the cubin at `path` into `slot`. KL_ECANNOT, KL_EINVALID (class launch) as in bind.h. */
int kl_gpu_child_module(struct kl_gpu_child *child, uint32_t slot, const char *path);

/**
 * Load host code instead of a module; at most once per process. `trace`: record what it runs.
 * KL_ECANNOT: the process does not report everything in enum kl_gpu_closed as closed.
 */
int kl_gpu_child_launcher(struct kl_gpu_child *child, const char *path, bool trace);
/** Call the host code on a set. `dims` has KL_MAX_DIMS elements. */
int kl_gpu_child_launch(struct kl_gpu_child *child, uint32_t set, const int64_t *dims,
			uint32_t flags, uint64_t seed, int64_t limit_ms,
			struct kl_gpu_launched *out);
/** Number of threads of the process; -1: unknown. */
int kl_gpu_child_threads(const struct kl_gpu_child *child);

int kl_gpu_host_make(struct kl_gpu_host *host, const struct kl_gpu_tensor_layout *layout, size_t n);
void kl_gpu_host_release(struct kl_gpu_host *host);
/**
 * Like kl_gpu_host_make(), but reuse the mapping that this process gave back if it is large enough,
 * since fresh memory is slow. A mapping of another process is never reused: it can be an oracle's
 * and hold a truth. If the process has host code, the mapping is always fresh.
 */
int kl_gpu_child_host(struct kl_gpu_child *child, struct kl_gpu_host *host,
		      const struct kl_gpu_tensor_layout *layout, size_t n);
/** Give `host` back for reuse, or release it; valid even if the process is gone. */
void kl_gpu_child_host_back(struct kl_gpu_child *child, struct kl_gpu_host *host);
/** Make a set of tensors with `host` as its host side; `pin`: many copies will follow. */
int kl_gpu_child_set(struct kl_gpu_child *child, uint32_t slot,
		     const struct kl_gpu_tensor_layout *layout, size_t n, bool right, bool pin,
		     const struct kl_gpu_host *host);

/**
 * `doc` comes from kl_gpu_doc_make(). KL_EINVALID also if a `require` of the plan does not hold.
 * out->end says how the plan's `prepare` ended; after a fault or a hang the process is gone.
 */
int kl_gpu_child_bind(struct kl_gpu_child *child, uint32_t slot, uint32_t module, uint32_t set,
		      const json_t *doc, uint64_t seed, int64_t limit_ms,
		      struct kl_gpu_called *out);
int kl_gpu_child_call(struct kl_gpu_child *child, uint32_t bind, uint32_t flags, uint64_t seed,
		      int64_t limit_ms, struct kl_gpu_called *out);
int kl_gpu_child_drop(struct kl_gpu_child *child, enum kl_gpu_op what, uint32_t slot);

/**
 * Check a GPU after a hang, before anything else is sent to it: a fresh process opens device
 * `uuid`, writes, reads back and compares. 0 if it is healthy, KL_EIO with the reason if not.
 */
int kl_gpu_child_probe(const char *uuid);
/** Ordinal of device `uuid` as this process numbers them; -1: not present. */
int kl_gpu_child_ordinal(const struct kl_gpu_child *child, const char *uuid);

#endif
