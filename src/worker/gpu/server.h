/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_SERVER_H
#define KL_WORKER_GPU_SERVER_H

#include "worker/gpu/host_map.h"
#include "worker/gpu/wire.h"

/*
 * server - runs the main loop of the GPU process, `klineage-worker --gpu-child`.
 *
 * It carries out the requests listed in wire.h until the socket is closed. Except for host code
 * (launcher.h), no code of a candidate runs on the CPU in this process.
 */
int kl_gpu_server_main(void);

/* A set of tensors on the device, and its memory that is shared with the worker. */
struct kl_gpu_server_set {
	struct kl_gpu_set *set; /* NULL if empty slot */
	struct kl_gpu_host_map map;
	unsigned char *host;                 /* address of `map` */
	uint64_t offset[KL_GPU_MAX_TENSORS]; /* offset of tensor i from `host` */
};

/* State of the process. The operations of the profile (timing/server_state.h) use it, too. */
struct kl_gpu_server {
	int socket;
	unsigned closed; /* bits of enum kl_gpu_closed */
	struct kl_gpu_driver *cu;
	struct kl_gpu_device *device; /* NULL until OPEN */
	struct kl_gpu_module *module[KL_GPU_MAX_MODULES];
	struct kl_gpu_server_set set[KL_GPU_MAX_SETS];
	struct kl_gpu_host_maps maps;
	struct {
		struct kl_gpu_bound *bound;
		uint32_t module, set;
	} bind[KL_GPU_MAX_BINDS];
	struct kl_cu_event *before, *after; /* recorded before and after the launches of a call */
	struct kl_cu_event *others;         /* with host code: recorded to wait for other streams */
	struct kl_gpu_launcher *launcher;   /* loaded host code; NULL if there is none */
	/* struct kl_gpu_timing of timing/server_state.h; NULL until the profile needs it */
	void *time;
};

/**
 * Fill in the head of a reply, which begins with a struct kl_gpu_reply, and send its `n` bytes. A
 * state of KL_GPU_WELL is replaced by the real state of the process.
 */
int kl_gpu_server_reply(struct kl_gpu_server *server, const struct kl_gpu_head *request,
			void *reply, size_t n);
/**
 * Send a reply of `n` bytes with the result `err` of a handler and, if `err` is an error, its
 * message.
 */
int kl_gpu_server_answer(struct kl_gpu_server *server, const struct kl_gpu_head *request, int err,
			 void *reply, size_t n);
/**
 * Get the binding or the set in a slot. Return KL_EINVALID if the slot is empty or out of range.
 */
int kl_gpu_server_get_bound(struct kl_gpu_bound **out, struct kl_gpu_server *server, uint32_t slot);
int kl_gpu_server_get_set(struct kl_gpu_server_set **out, struct kl_gpu_server *server,
			  uint32_t slot);
/** Copy the set's inputs from its shared mapping to the device. */
int kl_gpu_server_upload(struct kl_gpu_server *server, struct kl_gpu_server_set *set);
int kl_gpu_server_download(struct kl_gpu_server *server, struct kl_gpu_server_set *set);
/**
 * Map `bytes` of `fd` for reading; the caller unmaps them and closes `fd`. Return KL_EINVALID if
 * `fd` is not sealed memory of that size (base/sealed.h).
 */
int kl_gpu_server_map(void **out, int fd, uint64_t bytes);

/* server_slots.c: operations MODULE, SET, BIND and DROP. */
int kl_gpu_server_put_module(struct kl_gpu_server *server, const void *request, int fd);
int kl_gpu_server_put_set(struct kl_gpu_server *server, const void *request, int fd);
int kl_gpu_server_put_bind(struct kl_gpu_server *server, const void *request, int fd);
int kl_gpu_server_drop(struct kl_gpu_server *server, const void *request, int fd);

/* server_call.c: operation CALL. */
int kl_gpu_server_call(struct kl_gpu_server *server, const void *request, int fd);

/* server_host.c: operations LAUNCHER and LAUNCH. */
int kl_gpu_server_launcher(struct kl_gpu_server *server, const void *request, int fd);
int kl_gpu_server_launch(struct kl_gpu_server *server, const void *request, int fd);

/**
 * Carry out an operation from KL_GPU_OP_TIME to KL_GPU_OP_TIME_END and send its reply
 * (timing/server.c). `request` has `n` bytes; `fd` is -1 or a descriptor that the caller closes. A
 * negative return value ends the process.
 */
int kl_gpu_time_serve(struct kl_gpu_server *server, const struct kl_gpu_head *request, size_t n,
		      int fd) __attribute__((weak));

#endif
