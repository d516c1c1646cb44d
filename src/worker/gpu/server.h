/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_SERVER_H
#define KL_WORKER_GPU_SERVER_H

#include "worker/gpu/wire.h"

/*
 * server - the GPU process: `klineage-worker --gpu-child`. It carries out what wire.h
 * lists until the socket is closed. No candidate's code runs on this side's processor.
 */
int kl_gpu_server_main(void);

/* What the process holds; server_state.h works on it too. */
struct kl_gpu_server_set {
	struct kl_gpu_set *set; /* NULL: empty slot */
	unsigned char *host;    /* the shared mapping */
	uint64_t host_bytes;
	uint64_t offset[KL_GPU_MAX_TENSORS];
};

struct kl_gpu_server {
	int socket;
	unsigned closed; /* enum kl_gpu_closed: may it run host code? */
	struct kl_gpu_driver *cu;
	struct kl_gpu_device *device; /* NULL until OPEN */
	struct kl_gpu_module *module[KL_GPU_MAX_MODULES];
	struct kl_gpu_server_set set[KL_GPU_MAX_SETS];
	struct {
		struct kl_gpu_bound *bound;
		uint32_t module, set;
	} bind[KL_GPU_MAX_BINDS];
	struct kl_cu_event *before, *after;
	struct kl_gpu_launcher *launcher; /* host code; NULL: none */
	void *time;                       /* server_state.h's own; NULL at first */
};

/**
 * Send a reply of `n` bytes that begins with a struct kl_gpu_reply. Its head is filled in, and its
 * state unless it says one.
 */
int kl_gpu_server_reply(struct kl_gpu_server *server, const struct kl_gpu_head *request,
			void *reply, size_t n);
/** The slot's content, or KL_EINVALID. */
int kl_gpu_server_get_bound(struct kl_gpu_bound **out, struct kl_gpu_server *server, uint32_t slot);
int kl_gpu_server_get_set(struct kl_gpu_server_set **out, struct kl_gpu_server *server,
			  uint32_t slot);
/** Inputs of the set from its shared mapping. */
int kl_gpu_server_upload(struct kl_gpu_server *server, struct kl_gpu_server_set *set);
int kl_gpu_server_download(struct kl_gpu_server *server, struct kl_gpu_server_set *set);
/** A shared mapping of `bytes` of `fd`, whose size is checked; closes nothing. */
int kl_gpu_server_map(void **out, int fd, uint64_t bytes, bool writable);

/* server_host.c: LAUNCHER and LAUNCH. */
int kl_gpu_server_launcher(struct kl_gpu_server *server, const void *request, int fd);
int kl_gpu_server_launch(struct kl_gpu_server *server, const void *request, int fd);

/**
 * server.c: operations KL_GPU_OP_TIME to KL_GPU_OP_TIME_END. `request` has `n` bytes, `fd` is -1 or
 * a descriptor that is closed afterwards. It sends the reply itself; a negative return ends the
 * process.
 */
int kl_gpu_time_serve(struct kl_gpu_server *server, const struct kl_gpu_head *request, size_t n,
		      int fd) __attribute__((weak));

#endif
