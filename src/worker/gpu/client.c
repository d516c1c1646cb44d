/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/par.h"
#include "base/rng.h"
#include "base/vec.h"
#include "worker/gpu/process_pool.h"
#include "worker/gpu/wall.h"

#define PAGE ((uint64_t)4096)
#define SPARE_BYTES ((uint64_t)1 << 30) /* larger mappings are released at once */
/* Waking up a GPU and ending a kernel that hangs can take the driver long. */
#define START_MS 120000
#define ASK_MS 60000
/* Time for copies of tensors around a call of host code; after that it counts as hung. */
#define LAUNCH_MS 20000
#define REAP_MS 60000

/* -- the process -------------------------------------------------------------- */

/* Runs after fork: only async-signal-safe calls. */
static void exec_child(const char *path, char *const *env, int null, int sock)
{
	static char name[] = "klineage-worker", option[] = "--gpu-child";
	static char *const argv[] = { name, option, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sock = fcntl(sock, F_DUPFD, 256);
	null = fcntl(null, F_DUPFD, 256);
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			_exit(70);
	if (dup2(sock, KL_GPU_WIRE_FD) < 0)
		_exit(70);
	/* a profiling tool around the worker may need its descriptors */
	if (!getenv(KL_GPU_LOCKED)) {
		syscall(SYS_close_range, 3U, (unsigned)KL_GPU_WIRE_FD - 1, 0U);
		syscall(SYS_close_range, (unsigned)KL_GPU_WIRE_FD + 1, ~0U, 0U);
	}
	execve(path, argv, env);
	_exit(70);
}

/* Pass only the variables that the driver and libraries need; all of them with KL_GPU_LOCKED. */
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
	};

	if (getenv(KL_GPU_LOCKED)) {
		kl_strvec_pushv(env, (const char *const *)environ);
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
		return kl_error_errno("cannot make a socket pair");
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
 * Reap the process and describe how it ended. If the driver itself is stuck, the process may not
 * end in time; it is then left behind.
 */
static void reap_child(struct kl_gpu_child *child, char how[64])
{
	int64_t end = kl_clock_ns() + (int64_t)REAP_MS * 1000000;
	int status = 0;
	pid_t reaped;

	snprintf(how, 64, "cannot be ended");
	if (!child->pid)
		return;
	do {
		reaped = waitpid(child->pid, &status, WNOHANG);
		if (!reaped)
			kl_clock_sleep_ms(2);
	} while (!reaped && kl_clock_ns() < end);
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

void kl_gpu_child_free(struct kl_gpu_child *child)
{
	if (!child)
		return;
	kl_gpu_child_kill(child);
	kl_gpu_host_release(&child->spare);
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

/* Returns the reply's size; 0: the process is gone; -1: timeout. */
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

	/* it has closed its socket; only the driver can still delay its end */
	if (child->pid)
		kill(child->pid, SIGKILL);
	reap_child(child, how);
	kl_closep(&child->socket);
	return kl_error(KL_EIO, "the GPU process %s", how);
}

int kl_gpu_child_ask(struct kl_gpu_child *child, void *request, size_t n, int fd,
		     struct kl_gpu_reply *reply, size_t nreply, int64_t limit_ms)
{
	struct kl_gpu_head asked;
	ssize_t have;

	memcpy(&asked, request, sizeof(asked));
	if (!child->pid)
		return kl_error(KL_EIO, "the GPU process is gone");
	if (ask_send(child, request, n, fd) < 0)
		return child_gone(child);
	have = ask_receive(child, reply, nreply, limit_ms);
	if (have < 0) {
		child->stuck = true;
		kl_gpu_child_kill(child);
		return kl_error(KL_ETIMEOUT, "the GPU process does not answer within %lld ms",
				(long long)limit_ms);
	}
	if (!have)
		return child_gone(child);
	if ((size_t)have != nreply || reply->head.magic != KL_GPU_WIRE_MAGIC ||
	    reply->head.bytes != nreply || reply->head.op != asked.op ||
	    reply->head.slot != asked.slot) {
		kl_gpu_child_kill(child);
		return kl_error(KL_EIO, "the GPU process answers what it was not asked");
	}
	reply->message[sizeof(reply->message) - 1] = '\0';
	if (reply->state != KL_GPU_WELL) {
		child->stuck = reply->state == KL_GPU_STUCK;
		kl_gpu_child_kill(child);
	}
	return reply->err < 0 ? kl_error((enum kl_err)reply->err, "%s", reply->message) : 0;
}

/* A request whose reply has no further content. */
static int ask_plain(struct kl_gpu_child *child, void *request, size_t n, int fd, int64_t limit_ms)
{
	struct kl_gpu_reply reply;

	return kl_gpu_child_ask(child, request, n, fd, &reply, sizeof(reply), limit_ms);
}

static int start_child(struct kl_gpu_child **out, uint32_t purpose)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = kl_calloc(1, sizeof(*child));
	struct kl_gpu_head head = kl_gpu_head(KL_GPU_OP_HELLO, purpose, sizeof(head));
	int err;

	child->socket = -1;
	child->spare.fd = -1;
	if ((err = spawn_child(child)) < 0 ||
	    (err = kl_gpu_child_ask(child, &head, sizeof(head), -1, &child->hello.r,
				    sizeof(child->hello), START_MS)) < 0)
		return err;
	if (child->hello.ndevice < 1 || child->hello.ndevice > KL_GPU_MAX_DEVICES)
		return kl_error(KL_EIO, "the GPU process counts %d devices", child->hello.ndevice);
	for (int i = 0; i < child->hello.ndevice; i++) {
		child->hello.device[i].name[sizeof(child->hello.device[i].name) - 1] = '\0';
		child->hello.device[i].uuid[sizeof(child->hello.device[i].uuid) - 1] = '\0';
	}
	child->hello.build[sizeof(child->hello.build) - 1] = '\0';
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

int kl_gpu_child_open(struct kl_gpu_child *child, int ordinal)
{
	struct kl_gpu_open open = {
		.head = kl_gpu_head(KL_GPU_OP_OPEN, 0, sizeof(open)),
		.ordinal = ordinal,
	};
	int err = ask_plain(child, &open, sizeof(open), -1, START_MS);

	child->ordinal = ordinal;
	child->open = err == 0;
	return err;
}

/* -- uploads -------------------------------------------------------------------------- */

/* Copy `n` bytes into a new memfd. */
static int share_memory(int *fd, const void *data, size_t n)
{
	size_t done = 0;
	ssize_t part;

	*fd = memfd_create("klineage", MFD_CLOEXEC);
	if (*fd < 0)
		return kl_error_errno("cannot make shared memory");
	while (done < n) {
		part = write(*fd, (const char *)data + done, n - done);
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return kl_error_errno("no memory for %zu bytes", n);
		done += (size_t)part;
	}
	return 0;
}

/* Copy the file at `path` into a new memfd. */
static int share_file(int *memory, uint64_t *bytes, const char *path)
{
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	KL_AUTO(kl_buf_release) struct kl_buf image = KL_BUF_INIT;
	int err;

	if (fd < 0)
		return kl_error_errno("cannot open '%s'", path);
	if ((err = kl_buf_read_fd(&image, fd, KL_GPU_MAX_CUBIN)) < 0)
		return kl_error_in(err, "'%s'", path);
	if (!image.len)
		return kl_error(KL_EINVALID, "'%s' is empty", path);
	*bytes = image.len;
	return share_memory(memory, image.ptr, image.len);
}

int kl_gpu_child_module(struct kl_gpu_child *child, uint32_t slot, const char *path)
{
	struct kl_gpu_put_module module = { .head = kl_gpu_head(KL_GPU_OP_MODULE, slot,
								sizeof(module)) };
	KL_AUTO(kl_closep) int memory = -1;
	int err = share_file(&memory, &module.bytes, path);

	if (err < 0)
		return err;
	err = ask_plain(child, &module, sizeof(module), memory, ASK_MS);
	return err < 0 ? kl_error_in(err, "'%s'", path) : 0;
}

int kl_gpu_child_launcher(struct kl_gpu_child *child, const char *path, bool trace)
{
	struct kl_gpu_put_launcher launcher = {
		.head = kl_gpu_head(KL_GPU_OP_LAUNCHER, 0, sizeof(launcher)),
		.trace = trace,
	};
	KL_AUTO(kl_closep) int memory = -1;
	int err = share_file(&memory, &launcher.bytes, path);

	if (err < 0)
		return err;
	err = kl_gpu_child_ask(child, &launcher, sizeof(launcher), memory, &child->launcher.r,
			       sizeof(child->launcher), ASK_MS);
	child->launcher.why[sizeof(child->launcher.why) - 1] = '\0';
	if (err == 0 && child->launcher.closed != KL_GPU_CLOSED_ALL)
		err = kl_error(KL_ECANNOT,
			       "host code is not run here: its process has no whole wall");
	return err < 0 ? kl_error_in(err, "'%s'", path) : 0;
}

static void end_strings(struct kl_gpu_called *called)
{
	called->name[sizeof(called->name) - 1] = '\0';
	called->kernel[sizeof(called->kernel) - 1] = '\0';
}

int kl_gpu_child_launch(struct kl_gpu_child *child, uint32_t set, const int64_t *dims,
			uint32_t flags, uint64_t seed, int64_t limit_ms,
			struct kl_gpu_launched *out)
{
	struct kl_gpu_do_launch launch = {
		.head = kl_gpu_head(KL_GPU_OP_LAUNCH, set, sizeof(launch)),
		.flags = flags,
		.seed = seed,
		.limit_ms = limit_ms,
	};
	int err;

	memcpy(launch.dim, dims, sizeof(launch.dim));
	err = kl_gpu_child_ask(child, &launch, sizeof(launch), -1, &out->c.r, sizeof(*out),
			       limit_ms + LAUNCH_MS);
	end_strings(&out->c);
	if (out->seen.n > KL_GPU_TRACE_MOST)
		out->seen.n = KL_GPU_TRACE_MOST;
	for (uint32_t i = 0; i < out->seen.n; i++)
		out->seen.one[i].name[KL_GPU_TRACE_NAME - 1] = '\0';
	return err;
}

int kl_gpu_child_threads(const struct kl_gpu_child *child)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("/proc/%d/status", (int)child->pid);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *at;
	int n = -1;

	if (!child->pid || kl_fs_read(&text, path, 65536) < 0) {
		kl_error_clear();
		return -1;
	}
	at = strstr(text.ptr, "\nThreads:");
	return at && sscanf(at, "\nThreads: %d", &n) == 1 ? n : -1;
}

/* Assign each tensor an offset; returns the size of all. */
static uint64_t lay_out(uint64_t *offset, const struct kl_gpu_tensor_layout *layout, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		offset[i] = bytes;
		if (layout[i].tensor)
			bytes += (layout[i].bytes + PAGE - 1) / PAGE * PAGE;
	}
	return bytes ? bytes : PAGE;
}

int kl_gpu_host_make(struct kl_gpu_host *host, const struct kl_gpu_tensor_layout *layout, size_t n)
{
	void *map;
	int err;

	host->bytes = lay_out(host->offset, layout, n);
	host->fd = memfd_create("tensors", MFD_CLOEXEC);
	if (host->fd < 0)
		return kl_error_errno("cannot make shared memory");
	/* allocate now, so that a lack of memory is an error here, not a bus error later */
	err = posix_fallocate(host->fd, 0, (off_t)host->bytes);
	if (err) {
		errno = err;
		return kl_error_errno("no memory for %llu bytes", (unsigned long long)host->bytes);
	}
	map = mmap(NULL, host->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, host->fd, 0);
	if (map == MAP_FAILED)
		return kl_error_errno("cannot map shared memory");
	host->at = map;
	kl_par_populate(host->at, host->bytes, true);
	return 0;
}

int kl_gpu_child_host(struct kl_gpu_child *child, struct kl_gpu_host *host,
		      const struct kl_gpu_tensor_layout *layout, size_t n)
{
	uint64_t offset[KL_GPU_MAX_TENSORS];

	if (n > KL_GPU_MAX_TENSORS)
		return kl_error(KL_EINVALID, "%zu arguments are too many", n);
	if (!child->spare.at || child->spare.bytes < lay_out(offset, layout, n))
		return kl_gpu_host_make(host, layout, n);
	*host = child->spare;
	memcpy(host->offset, offset, n * sizeof(offset[0]));
	child->spare = (struct kl_gpu_host)KL_GPU_HOST_INIT;
	return 0;
}

void kl_gpu_child_host_back(struct kl_gpu_child *child, struct kl_gpu_host *host)
{
	if (!host->at || child->launcher.r.head.magic || host->bytes > SPARE_BYTES ||
	    host->bytes < child->spare.bytes) {
		kl_gpu_host_release(host);
		return;
	}
	kl_gpu_host_release(&child->spare);
	child->spare = *host;
	*host = (struct kl_gpu_host)KL_GPU_HOST_INIT;
}

void kl_gpu_host_release(struct kl_gpu_host *host)
{
	if (host->at)
		munmap(host->at, host->bytes);
	host->at = NULL;
	kl_closep(&host->fd);
}

int kl_gpu_child_set(struct kl_gpu_child *child, uint32_t slot,
		     const struct kl_gpu_tensor_layout *layout, size_t n, bool right,
		     const struct kl_gpu_host *host)
{
	struct kl_gpu_put_set set = {
		.head = kl_gpu_head(KL_GPU_OP_SET, slot, sizeof(set)),
		.n = (uint32_t)n,
		.right = right,
		.host_bytes = host->bytes,
	};

	if (n > KL_GPU_MAX_TENSORS)
		return kl_error(KL_EINVALID, "%zu arguments are too many", n);
	memcpy(set.offset, host->offset, n * sizeof(set.offset[0]));
	memcpy(set.layout, layout, n * sizeof(set.layout[0]));
	return ask_plain(child, &set, sizeof(set), host->fd, ASK_MS);
}

int kl_gpu_child_bind(struct kl_gpu_child *child, uint32_t slot, uint32_t module, uint32_t set,
		      const json_t *doc, uint64_t seed, int64_t limit_ms, struct kl_gpu_called *out)
{
	struct kl_gpu_put_bind bind = {
		.head = kl_gpu_head(KL_GPU_OP_BIND, slot, sizeof(bind)),
		.module = module,
		.set = set,
		.seed = seed,
		.limit_ms = limit_ms,
	};
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_closep) int memory = -1;
	int err;

	kl_json_canonical(&text, doc);
	if ((err = share_memory(&memory, text.ptr, text.len)) < 0)
		return err;
	bind.bytes = text.len;
	err = kl_gpu_child_ask(child, &bind, sizeof(bind), memory, &out->r, sizeof(*out),
			       limit_ms + ASK_MS);
	end_strings(out);
	return err;
}

int kl_gpu_child_call(struct kl_gpu_child *child, uint32_t bind, uint32_t flags, uint64_t seed,
		      int64_t limit_ms, struct kl_gpu_called *out)
{
	struct kl_gpu_do_call call = {
		.head = kl_gpu_head(KL_GPU_OP_CALL, bind, sizeof(call)),
		.flags = flags,
		.seed = seed,
		.limit_ms = limit_ms,
	};
	int err = kl_gpu_child_ask(child, &call, sizeof(call), -1, &out->r, sizeof(*out),
				   limit_ms + ASK_MS);

	end_strings(out);
	return err;
}

int kl_gpu_child_drop(struct kl_gpu_child *child, enum kl_gpu_op what, uint32_t slot)
{
	struct kl_gpu_drop drop = {
		.head = kl_gpu_head(KL_GPU_OP_DROP, slot, sizeof(drop)),
		.op = (uint32_t)what,
	};

	return ask_plain(child, &drop, sizeof(drop), -1, ASK_MS);
}

int kl_gpu_child_probe(const char *uuid)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = NULL;
	struct kl_gpu_head head = kl_gpu_head(KL_GPU_OP_PROBE, 0, sizeof(head));
	int err = kl_gpu_child_start(&child), ordinal;

	if (err < 0)
		return kl_error_in(KL_EIO, "the GPU is not well any more");
	ordinal = kl_gpu_child_ordinal(child, uuid);
	if (ordinal < 0)
		return kl_error(KL_EIO, "%s is not there any more", uuid);
	if ((err = kl_gpu_child_open(child, ordinal)) == 0)
		err = ask_plain(child, &head, sizeof(head), -1, ASK_MS);
	return err < 0 ? kl_error_in(KL_EIO, "%s is not well any more", uuid) : 0;
}
