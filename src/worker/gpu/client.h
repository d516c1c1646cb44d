/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_CLIENT_H
#define KL_WORKER_GPU_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "job/job.h"
#include "text/json.h"
#include "worker/gpu/wire.h"

/*
 * client - the worker's end of a GPU process: start it, ask it, kill it.
 *
 * The process holds a CUDA context and whatever it was given: several modules, several sets
 * of tensors, several bindings of one to the other. One that met a fault or a hang is
 * gone afterwards; kl_gpu_child_alive() says so, and the next one starts fresh.
 *
 *	kl_gpu_child_start(&c);				hello: which devices are there
 *	kl_gpu_child_open(c, ordinal);
 *	kl_gpu_child_module(c, 0, "/dir/cand.cubin");
 *	kl_gpu_child_set(c, 0, layout, n, right, &host);	host.at + host.offset[i]
 *	kl_gpu_child_bind(c, 0, 0, 0, doc, ...);
 *	memcpy(host...)
 *	kl_gpu_child_call(c, 0, &call, &called);
 */
/* The host's side of a set: one shared mapping. */
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

struct kl_gpu_child {
	pid_t pid; /* 0: gone */
	int socket;
	bool open;
	struct kl_gpu_hello hello;
	int ordinal; /* of the opened device */
	/* it had to be killed while a kernel ran, or did not answer */
	bool stuck;
	char *cubin;                           /* what slot 0 holds, for process_pool.c */
	struct kl_gpu_launcher_ready launcher; /* host code: what its process is like */
	/* memory this process had before, for its next set, or at NULL */
	struct kl_gpu_host spare;
};

/** Spawn and greet. KL_ECANNOT: no GPU, no driver, too old: the message says. */
int kl_gpu_child_start(struct kl_gpu_child **out);
/** One that may run host code: with a wall around it (wall.h), or KL_ECANNOT. */
int kl_gpu_child_start_host(struct kl_gpu_child **out);
int kl_gpu_child_open(struct kl_gpu_child *child, int ordinal);
/** SIGKILL and reap; NULL is fine. */
void kl_gpu_child_free(struct kl_gpu_child *child);
KL_DEFINE_CLEANUP(struct kl_gpu_child *, kl_gpu_child_free)
void kl_gpu_child_kill(struct kl_gpu_child *child);
bool kl_gpu_child_alive(const struct kl_gpu_child *child);
const struct kl_gpu_facts *kl_gpu_child_facts(const struct kl_gpu_child *child);

/**
 * One request and its reply, of exactly `nreply` bytes; `fd` -1: none goes with it. An error that
 * the process reports comes back as ours. KL_ETIMEOUT after `limit_ms`, KL_EIO when the process
 * ended: in both it has been killed.
 */
int kl_gpu_child_ask(struct kl_gpu_child *child, void *request, size_t n, int fd,
		     struct kl_gpu_reply *reply, size_t nreply, int64_t limit_ms);
/** Fill a head. */
struct kl_gpu_head kl_gpu_head(enum kl_gpu_op op, uint32_t slot, size_t bytes);

/** KL_ECANNOT, KL_EINVALID (class launch) as in bind.h. */
int kl_gpu_child_module(struct kl_gpu_child *child, uint32_t slot, const char *path);

/**
 * Host code in place of a module: once in a process. `trace`: what it runs is to be seen.
 * KL_ECANNOT: the process does not say that all of enum kl_gpu_closed is closed to it.
 */
int kl_gpu_child_launcher(struct kl_gpu_child *child, const char *path, bool trace);
/** Call it on a set. `dims`: KL_MAX_DIMS of them. */
int kl_gpu_child_launch(struct kl_gpu_child *child, uint32_t set, const int64_t *dims,
			uint32_t flags, uint64_t seed, int64_t limit_ms,
			struct kl_gpu_launched *out);
/** Threads of its process; -1: not known. */
int kl_gpu_child_threads(const struct kl_gpu_child *child);

int kl_gpu_host_make(struct kl_gpu_host *host, const struct kl_gpu_tensor_layout *layout, size_t n);
void kl_gpu_host_release(struct kl_gpu_host *host);
/**
 * The same from what this very process gave back, if that is large enough: fresh memory is dear.
 * Never another's, which may have been an oracle's and hold a truth. Where host code runs it is
 * always fresh.
 */
int kl_gpu_child_host(struct kl_gpu_child *child, struct kl_gpu_host *host,
		      const struct kl_gpu_tensor_layout *layout, size_t n);
/** Done with it, also when the process is gone. */
void kl_gpu_child_host_back(struct kl_gpu_child *child, struct kl_gpu_host *host);
int kl_gpu_child_set(struct kl_gpu_child *child, uint32_t slot,
		     const struct kl_gpu_tensor_layout *layout, size_t n, bool right,
		     const struct kl_gpu_host *host);

/** `doc` is kl_gpu_doc_make()'s. KL_EINVALID also where a `require` does not hold. */
int kl_gpu_child_bind(struct kl_gpu_child *child, uint32_t slot, uint32_t module, uint32_t set,
		      const json_t *doc, uint64_t seed, int64_t limit_ms);
int kl_gpu_child_call(struct kl_gpu_child *child, uint32_t bind, uint32_t flags, uint64_t seed,
		      int64_t limit_ms, struct kl_gpu_called *out);
int kl_gpu_child_drop(struct kl_gpu_child *child, enum kl_gpu_op what, uint32_t slot);

/**
 * A fresh process opens device `uuid`, writes, reads back and compares: 0 if it is well, KL_EIO and
 * why if not. After a hang, before anything else is asked of that GPU.
 */
int kl_gpu_child_probe(const char *uuid);
/** Ordinal of a device, as this process numbers them; -1: not there. */
int kl_gpu_child_ordinal(const struct kl_gpu_child *child, const char *uuid);

#endif
