/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/sealed.h"
#include "worker/gpu/wall.h"

#define ENDED 1 /* the socket is closed, so no request follows */
#define SETTLE_MS 1000

/* -- receiving requests, sending replies ------------------------------------------ */

/*
 * Return the state of the process (enum kl_gpu_state_after). Waiting for SETTLE_MS is enough,
 * because only the gate's own small kernels can still be running, unless a kernel of the candidate
 * hangs.
 */
static int state_of(const struct kl_gpu_server *server)
{
	int rc = server->device ? kl_gpu_wait(server->device, SETTLE_MS) : 0;

	return !rc ? KL_GPU_WELL : rc == KL_CU_NOT_READY ? KL_GPU_STUCK : KL_GPU_LOST;
}

int kl_gpu_server_reply(struct kl_gpu_server *server, const struct kl_gpu_head *request,
			void *reply, size_t n)
{
	struct kl_gpu_reply *common = reply;

	common->head = *request;
	common->head.bytes = (uint32_t)n;
	if (common->state == KL_GPU_WELL)
		common->state = state_of(server);
	if (send(server->socket, reply, n, MSG_NOSIGNAL) != (ssize_t)n)
		return kl_error_errno("cannot send a reply");
	return 0;
}

int kl_gpu_server_answer(struct kl_gpu_server *server, const struct kl_gpu_head *request, int err,
			 void *reply, size_t n)
{
	struct kl_gpu_reply *common = reply;

	common->err = err;
	if (err < 0)
		snprintf(common->message, sizeof(common->message), "%s", kl_error_last());
	kl_error_clear();
	return kl_gpu_server_reply(server, request, reply, n);
}

/*
 * Receive a message into `room`; *n is its size in bytes. *fd is the descriptor sent with it; -1 if
 * there is none. Return ENDED if the socket is closed.
 */
static int receive_request(int socket, void *room, size_t *n, int *fd)
{
	union {
		char bytes[CMSG_SPACE(4 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec io = { .iov_base = room, .iov_len = KL_GPU_WIRE_MAX };
	struct msghdr msg = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int all[4], got = 0;
	ssize_t have;

	*fd = -1;
	do
		have = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
	while (have < 0 && errno == EINTR);
	if (have <= 0)
		return ENDED;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		got = (int)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(all, CMSG_DATA(cmsg), (size_t)got * sizeof(int));
	}
	for (int i = 1; i < got; i++)
		close(all[i]);
	if (got)
		*fd = all[0];
	if (got > 1 || msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		return kl_error(KL_EINVALID,
				"the request is too large or has more than one descriptor");
	*n = (size_t)have;
	return 0;
}

int kl_gpu_server_map(void **out, int fd, uint64_t bytes)
{
	void *map;

	if (!bytes || !kl_sealed_check(fd, bytes))
		return kl_error(KL_EINVALID, "the request came without sealed memory of %llu bytes",
				(unsigned long long)bytes);
	map = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return kl_error_errno("cannot map the memory that the request passed");
	*out = map;
	return 0;
}

/* -- operations ----------------------------------------------------------------------- */

static int serve_hello(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_head *head = request;
	struct kl_gpu_hello hello = { 0 };
	int err = 0, n = 0, rc;

	if (head->slot == KL_GPU_FOR_HOST && server->closed != KL_GPU_CLOSED_WALL && !server->cu)
		err = kl_gpu_wall(&server->closed);
	if (!err && !server->cu)
		err = kl_gpu_driver_open(&server->cu);
	if (err == 0 && (rc = server->cu->init(0)))
		err = kl_gpu_error(server->cu, rc, KL_ECANNOT,
				   "no GPU here: cannot initialize the driver (%s, "
				   "CUDA %d.%d)",
				   *server->cu->build ? server->cu->build : "of unknown version",
				   server->cu->version / 1000, server->cu->version % 1000 / 10);
	if (err == 0 && ((rc = server->cu->device_count(&n)) || n < 1))
		err = kl_error(KL_ECANNOT, "no GPU here: the CUDA driver finds no device");
	for (int i = 0; i < n && i < KL_GPU_MAX_DEVICES && err == 0; i++) {
		err = kl_gpu_facts_read(&hello.device[i], server->cu, i);
		hello.ndevice = i + 1;
	}
	if (server->cu) {
		hello.driver = server->cu->version;
		memcpy(hello.build, server->cu->build, sizeof(hello.build));
	}
	return kl_gpu_server_answer(server, request, err, &hello, sizeof(hello));
}

static int open_device(struct kl_gpu_server *server, const void *request, int fd)
{
	const struct kl_gpu_open *open = request;
	struct kl_gpu_reply reply = { 0 };
	int err = 0, rc;

	if (!server->cu || server->device)
		err = kl_error(KL_EINVALID, "the device must be opened after HELLO and only once");
	if (err == 0)
		err = kl_gpu_device_open(&server->device, server->cu, open->ordinal);
	if (err == 0 && ((rc = server->cu->event_create(&server->before, 0)) ||
			 (rc = server->cu->event_create(&server->after, 0)) ||
			 (rc = server->cu->event_create(&server->others, KL_CU_EVENT_NO_TIMING))))
		err = kl_gpu_error(server->cu, rc, KL_ECANNOT, "cannot create events");
	return kl_gpu_server_answer(server, request, err, &reply, sizeof(reply));
}

/* Write a pattern, check it on the device, and compare the device's fingerprint with the host's. */
static int probe_device(struct kl_gpu_server *server)
{
	enum { BYTES = 1 << 20 };
	struct kl_gpu_pattern pattern = { .seed = kl_rng_os_seed(), .keep = ~(uint64_t)0 };
	KL_AUTO(kl_freep) char *here = kl_malloc(BYTES);
	uint64_t there[2], own[2], where;
	struct kl_gpu_buffer buffer;
	int err = kl_gpu_buffer_make(&buffer, server->device, BYTES, 256, false);

	if (err < 0)
		return err;
	kl_gpu_pattern(here, &pattern, 0, BYTES);
	kl_gpu_fingerprint_host(own, here, BYTES, pattern.seed);
	if ((err = kl_gpu_fill(server->device, buffer.at, BYTES, 0, &pattern)) == 0 &&
	    (err = kl_gpu_check(server->device, buffer.at, BYTES, 0, &pattern, &where)) == 0)
		err = kl_gpu_fingerprint(server->device, there, buffer.at, BYTES, pattern.seed);
	if (err == KL_ENO || (err == 0 && memcmp(there, own, sizeof(own))))
		err = kl_error(KL_EIO,
			       "the memory of %s does not keep the data that is written to it",
			       server->device->facts.name);
	kl_gpu_buffer_release(&buffer, server->device);
	return err;
}

static int serve_probe(struct kl_gpu_server *server, const void *request, int fd)
{
	struct kl_gpu_reply reply = { 0 };

	return kl_gpu_server_answer(server, request, probe_device(server), &reply, sizeof(reply));
}

/* -- the main loop ---------------------------------------------------------------------- */

static const struct {
	size_t bytes;
	bool needs_device;
	int (*serve)(struct kl_gpu_server *s, const void *request, int fd);
} operations[] = {
	[KL_GPU_OP_HELLO] = { sizeof(struct kl_gpu_head), false, serve_hello },
	[KL_GPU_OP_OPEN] = { sizeof(struct kl_gpu_open), false, open_device },
	[KL_GPU_OP_MODULE] = { sizeof(struct kl_gpu_put_module), true, kl_gpu_server_put_module },
	[KL_GPU_OP_SET] = { sizeof(struct kl_gpu_put_set), true, kl_gpu_server_put_set },
	[KL_GPU_OP_BIND] = { sizeof(struct kl_gpu_put_bind), true, kl_gpu_server_put_bind },
	[KL_GPU_OP_CALL] = { sizeof(struct kl_gpu_do_call), true, kl_gpu_server_call },
	[KL_GPU_OP_DROP] = { sizeof(struct kl_gpu_drop), true, kl_gpu_server_drop },
	[KL_GPU_OP_PROBE] = { sizeof(struct kl_gpu_head), true, serve_probe },
	[KL_GPU_OP_LAUNCHER] = { sizeof(struct kl_gpu_put_launcher), true, kl_gpu_server_launcher },
	[KL_GPU_OP_LAUNCH] = { sizeof(struct kl_gpu_do_launch), true, kl_gpu_server_launch },
};

static int serve_one(struct kl_gpu_server *server, const struct kl_gpu_head *head, size_t n, int fd)
{
	if (n < sizeof(*head) || head->magic != KL_GPU_WIRE_MAGIC || head->bytes != n)
		return kl_error(KL_EINVALID, "the request is malformed");
	if (head->op >= KL_GPU_OP_TIME && head->op < KL_GPU_OP_TIME_END && server->device)
		return kl_gpu_time_serve ? kl_gpu_time_serve(server, head, n, fd) : -1;
	if (head->op >= KL_ARRAY_SIZE(operations) || !operations[head->op].serve ||
	    operations[head->op].bytes != n ||
	    (operations[head->op].needs_device && !server->device))
		return kl_error(KL_EINVALID, "unexpected operation %u of %zu bytes", head->op, n);
	return operations[head->op].serve(server, head, fd);
}

static void set_limits(void)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int kl_gpu_server_main(void)
{
	static _Alignas(64) char room[KL_GPU_WIRE_MAX];
	struct kl_gpu_server *server = kl_calloc(1, sizeof(*server));
	size_t n = 0;
	int err, fd;

	set_limits();
	server->socket = KL_GPU_WIRE_FD;
	for (;;) {
		err = receive_request(server->socket, room, &n, &fd);
		if (err == 0)
			err = serve_one(server, (const struct kl_gpu_head *)room, n, fd);
		if (fd >= 0)
			close(fd);
		if (err)
			break;
	}
	/* skip the driver's exit handlers, which can wait for a kernel that hangs */
	_exit(err == ENDED ? 0 : 70);
}
