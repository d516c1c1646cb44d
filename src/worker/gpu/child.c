/* SPDX-License-Identifier: Apache-2.0 */
/* child - starts and ends a GPU process and sends it requests */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/vec.h"
#include "worker/gpu/client.h"
#include "worker/gpu/process_pool.h"

/* The driver can take a long time to wake up a GPU, and to end a kernel that hangs. */
#define START_MS 120000
#define REAP_MS 60000

/* -- the process -------------------------------------------------------------- */

/*
 * Descriptors below NULLED are replaced by /dev/null. With a sanitizer, stderr is kept for its
 * reports; no kernel writes to stderr.
 */
#ifdef __SANITIZE_ADDRESS__
#define NULLED 2
#else
#define NULLED 3
#endif

/* Runs in the child after fork(), so it may call only async-signal-safe functions. */
static void exec_child(const char *path, char *const *env, int null, int sock)
{
	static char name[] = "klineage-worker", option[] = "--gpu-child";
	static char *const argv[] = { name, option, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sock = fcntl(sock, F_DUPFD, 256);
	null = fcntl(null, F_DUPFD, 256);
	for (int i = 0; i < NULLED; i++)
		if (dup2(null, i) < 0)
			_exit(70);
	if (dup2(sock, KL_GPU_WIRE_FD) < 0)
		_exit(70);
	/*
	 * if KL_GPU_LOCKED is set, a profiling tool runs the worker and may need its own open
	 * descriptors
	 */
	if (!getenv(KL_GPU_LOCKED)) {
		syscall(SYS_close_range, 3U, (unsigned)KL_GPU_WIRE_FD - 1, 0U);
		syscall(SYS_close_range, (unsigned)KL_GPU_WIRE_FD + 1, ~0U, 0U);
	}
	execve(path, argv, env);
	_exit(70);
}

/*
 * List the environment for the process: the variables that the driver and libraries need, or, if
 * KL_GPU_LOCKED is set, all variables.
 */
static void set_environment(struct kl_strvec *env)
{
	static const char *const kept[] = {
		"LD_LIBRARY_PATH",
		"CUDA_VISIBLE_DEVICES",
		"CUDA_CACHE_PATH",
		"KLINEAGE_CUDA_LIBRARIES",
		"HOME",
		"TMPDIR",
		"ASAN_OPTIONS",
		"UBSAN_OPTIONS",
	};

	if (getenv(KL_GPU_LOCKED)) {
		kl_environment_copy(env);
		return;
	}
	kl_strvec_push(env, "LC_ALL=C");
	for (size_t i = 0; i < KL_ARRAY_SIZE(kept); i++) {
		const char *value = getenv(kept[i]);
		KL_AUTO(kl_freep) char *line = value ? kl_asprintf("%s=%s", kept[i], value) : NULL;

		if (line)
			kl_strvec_push(env, line);
	}
}

static int spawn_child(struct kl_gpu_child *child)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int pair[2], err;

	if (null < 0)
		return kl_error_errno("cannot open /dev/null");
	if ((err = kl_fs_program(&path, "klineage-worker")) < 0)
		return err;
	set_environment(&env);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return kl_error_errno("cannot create a socket pair");
	child->socket = pair[0];
	child->pid = fork();
	if (!child->pid)
		exec_child(path, env.v, null, pair[1]);
	err = child->pid < 0 ? kl_error_errno("cannot start a process for the GPU") : 0;
	if (err < 0)
		child->pid = 0;
	close(pair[1]);
	return err;
}

/*
 * Reap the process and describe in `how` how it ended. If the driver itself is stuck, the process
 * may not end within REAP_MS; then stop waiting for it.
 */
static void reap_child(struct kl_gpu_child *child, char how[64])
{
	int64_t end = kl_clock_ns() + (int64_t)REAP_MS * 1000000;
	int status = 0;
	pid_t reaped;

	snprintf(how, 64, "cannot be killed");
	if (!child->pid)
		return;
	do {
		reaped = waitpid(child->pid, &status, WNOHANG);
		if (!reaped)
			kl_clock_sleep_ms(2);
	} while (!reaped && kl_clock_ns() < end);
	/* worker/subject/subject_gpu.c looks for the text "ended by signal <number>" */
	if (reaped > 0 && WIFSIGNALED(status))
		snprintf(how, 64, "was ended by signal %d", WTERMSIG(status));
	else if (reaped > 0)
		snprintf(how, 64, "ended with exit code %d", WEXITSTATUS(status));
	child->pid = 0;
}

void kl_gpu_child_kill(struct kl_gpu_child *child)
{
	char how[64];

	if (child->pid)
		kill(child->pid, SIGKILL);
	reap_child(child, how);
	kl_closep(&child->socket);
}

void kl_gpu_child_end(const struct kl_gpu_child *child)
{
	if (child->pid)
		kill(child->pid, SIGKILL);
}

void kl_gpu_child_free(struct kl_gpu_child *child)
{
	if (!child)
		return;
	kl_gpu_child_kill(child);
	for (size_t i = 0; i < KL_GPU_SPARES; i++)
		kl_gpu_host_release(&child->spare[i]);
	free(child->cubin);
	free(child);
}

bool kl_gpu_child_alive(const struct kl_gpu_child *child)
{
	return child->pid != 0;
}

const struct kl_gpu_facts *kl_gpu_child_facts(const struct kl_gpu_child *child)
{
	return &child->hello.device[child->ordinal];
}

int kl_gpu_child_ordinal(const struct kl_gpu_child *child, const char *uuid)
{
	for (int i = 0; i < child->hello.ndevice; i++)
		if (!strcmp(child->hello.device[i].uuid, uuid))
			return i;
	return -1;
}

/* -- requests ------------------------------------------------------------------ */

struct kl_gpu_head kl_gpu_head(enum kl_gpu_op op, uint32_t slot, size_t bytes)
{
	return (struct kl_gpu_head){
		.magic = KL_GPU_WIRE_MAGIC,
		.op = (uint32_t)op,
		.bytes = (uint32_t)bytes,
		.slot = slot,
	};
}

static int ask_send(struct kl_gpu_child *child, void *request, size_t n, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec io = { .iov_base = request, .iov_len = n };
	struct msghdr msg = { .msg_iov = &io, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	}
	return sendmsg(child->socket, &msg, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

/* Receive a reply. Return its size; 0 if the process has ended; -1 after a timeout. */
static ssize_t ask_receive(struct kl_gpu_child *child, void *reply, size_t n, int64_t limit_ms)
{
	int64_t end = kl_clock_ns() + limit_ms * 1000000, left;
	struct pollfd pfd = { .fd = child->socket, .events = POLLIN };
	ssize_t have;

	do {
		left = (end - kl_clock_ns()) / 1000000;
		if (left < 0)
			return -1;
	} while (poll(&pfd, 1, left < 1000 ? (int)left + 1 : 1000) <= 0);
	do
		have = recv(child->socket, reply, n, MSG_TRUNC);
	while (have < 0 && errno == EINTR);
	return have < 0 ? 0 : have;
}

static int child_gone(struct kl_gpu_child *child)
{
	char how[64];

	/* the process has closed its socket; now only the driver can delay its end */
	if (child->pid)
		kill(child->pid, SIGKILL);
	reap_child(child, how);
	kl_closep(&child->socket);
	return kl_error(KL_EIO, "the GPU process %s", how);
}

/* Receive the reply to the request whose head is `asked`. */
static int take_reply(struct kl_gpu_child *child, struct kl_gpu_head asked,
		      struct kl_gpu_reply *reply, size_t nreply, int64_t limit_ms)
{
	ssize_t have;

	have = ask_receive(child, reply, nreply, limit_ms);
	if (have < 0) {
		child->stuck = true;
		kl_gpu_child_kill(child);
		return kl_error(KL_ETIMEOUT, "the GPU process did not reply within %lld ms",
				(long long)limit_ms);
	}
	if (!have)
		return child_gone(child);
	if ((size_t)have != nreply || reply->head.magic != KL_GPU_WIRE_MAGIC ||
	    reply->head.bytes != nreply || reply->head.op != asked.op ||
	    reply->head.slot != asked.slot) {
		kl_gpu_child_kill(child);
		return kl_error(KL_EIO,
				"the GPU process sent a reply that does not fit the request");
	}
	reply->message[sizeof(reply->message) - 1] = '\0';
	if (reply->state != KL_GPU_WELL) {
		child->stuck = reply->state == KL_GPU_STUCK;
		kl_gpu_child_kill(child);
	}
	return reply->err < 0 ? kl_error((enum kl_err)reply->err, "%s", reply->message) : 0;
}

int kl_gpu_child_ask(struct kl_gpu_child *child, void *request, size_t n, int fd,
		     struct kl_gpu_reply *reply, size_t nreply, int64_t limit_ms)
{
	struct kl_gpu_head asked;

	memcpy(&asked, request, sizeof(asked));
	if (!child->pid)
		return kl_error(KL_EIO, "the GPU process has ended");
	if (ask_send(child, request, n, fd) < 0)
		return child_gone(child);
	return take_reply(child, asked, reply, nreply, limit_ms);
}

int kl_gpu_child_ask_plain(struct kl_gpu_child *child, void *request, size_t n, int fd,
			   int64_t limit_ms)
{
	struct kl_gpu_reply reply;

	return kl_gpu_child_ask(child, request, n, fd, &reply, sizeof(reply), limit_ms);
}

static struct kl_gpu_head hello_head(uint32_t purpose)
{
	return kl_gpu_head(KL_GPU_OP_HELLO, purpose, sizeof(struct kl_gpu_head));
}

static struct kl_gpu_open open_request(int ordinal)
{
	return (struct kl_gpu_open){
		.head = kl_gpu_head(KL_GPU_OP_OPEN, 0, sizeof(struct kl_gpu_open)),
		.ordinal = ordinal,
	};
}

/* Spawn a process and send it HELLO. */
static int greet_child(struct kl_gpu_child **out, uint32_t purpose)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = kl_calloc(1, sizeof(*child));
	struct kl_gpu_head head = hello_head(purpose);
	int err;

	child->socket = -1;
	for (size_t i = 0; i < KL_GPU_SPARES; i++)
		child->spare[i].fd = -1;
	if ((err = spawn_child(child)) < 0)
		return err;
	if (ask_send(child, &head, sizeof(head), -1) < 0)
		return child_gone(child);
	*out = kl_steal(&child);
	return 0;
}

/* Receive the reply to HELLO. */
static int take_hello(struct kl_gpu_child *child, uint32_t purpose)
{
	int err = take_reply(child, hello_head(purpose), &child->hello.r, sizeof(child->hello),
			     START_MS);

	if (err < 0)
		return err;
	if (child->hello.ndevice < 1 || child->hello.ndevice > KL_GPU_MAX_DEVICES)
		return kl_error(KL_EIO,
				"the GPU process reports an impossible number of devices: %d",
				child->hello.ndevice);
	for (int i = 0; i < child->hello.ndevice; i++) {
		child->hello.device[i].name[sizeof(child->hello.device[i].name) - 1] = '\0';
		child->hello.device[i].uuid[sizeof(child->hello.device[i].uuid) - 1] = '\0';
	}
	child->hello.build[sizeof(child->hello.build) - 1] = '\0';
	return 0;
}

static int start_child(struct kl_gpu_child **out, uint32_t purpose)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = NULL;
	int err = greet_child(&child, purpose);

	if (err < 0 || (err = take_hello(child, purpose)) < 0)
		return err;
	*out = kl_steal(&child);
	return 0;
}

int kl_gpu_child_start(struct kl_gpu_child **out)
{
	return start_child(out, KL_GPU_FOR_DEVICE);
}

int kl_gpu_child_start_host(struct kl_gpu_child **out)
{
	return start_child(out, KL_GPU_FOR_HOST);
}

int kl_gpu_child_begin(struct kl_gpu_child **out, int ordinal)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = NULL;
	struct kl_gpu_open open = open_request(ordinal);
	int err = greet_child(&child, KL_GPU_FOR_DEVICE);

	if (err < 0)
		return err;
	if (ask_send(child, &open, sizeof(open), -1) < 0)
		return child_gone(child);
	child->ordinal = ordinal;
	*out = kl_steal(&child);
	return 0;
}

int kl_gpu_child_ready(struct kl_gpu_child *child)
{
	struct kl_gpu_reply reply;
	int err = take_hello(child, KL_GPU_FOR_DEVICE);

	if (err < 0 || (err = take_reply(child, open_request(child->ordinal).head, &reply,
					 sizeof(reply), START_MS)) < 0)
		return err;
	if (child->ordinal >= child->hello.ndevice)
		return kl_error(KL_EIO, "the GPU process reports only %d devices",
				child->hello.ndevice);
	child->open = true;
	return 0;
}

int kl_gpu_child_open(struct kl_gpu_child *child, int ordinal)
{
	struct kl_gpu_open open = open_request(ordinal);
	int err = kl_gpu_child_ask_plain(child, &open, sizeof(open), -1, START_MS);

	child->ordinal = ordinal;
	child->open = err == 0;
	return err;
}
