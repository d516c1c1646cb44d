/* SPDX-License-Identifier: Apache-2.0 */
/* subject_cpu - runs kernels in C in a sealed child process that maps the arguments */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/vec.h"
#include "worker/subject/baseline.h"
#include "worker/subject/child.h"
#include "worker/subject/dirt.h"
#include "worker/subject/image_file.h"
#include "worker/subject/processors.h"
#include "worker/subject/stub.h"
#include "worker/subject/threads.h"

#define PAGE ((uint64_t)4096)
#define MOST_FDS (KL_WIRE_FD_TENSOR + KL_MAX_ARGS + 1) /* the last one is for the workspaces */
/*
 * An adapter's workspace at a point has WORK_BYTES plus WORK_SHARE times the bytes of the tensors.
 */
#define WORK_BYTES ((uint64_t)256 << 10)
#define WORK_SHARE 2
/*
 * The program that the child runs. Sanitized builds define it as the unsanitized worker, because a
 * sanitizer's runtime does not survive the seal.
 */
#ifndef KL_CHILD_PROGRAM
#define KL_CHILD_PROGRAM "klineage-worker"
#endif
/* Time limit for a child to start. A vendor library can compile code while it loads. */
#define HELLO_SECONDS 60

static bool is_float(enum kl_dtype dtype)
{
	return dtype == KL_F64 || dtype == KL_F32 || dtype == KL_F16 || dtype == KL_BF16;
}

/* Return the bits of a scalar in its dtype, in the low bytes of a word. */
static uint64_t scalar_bits(enum kl_dtype dtype, double value)
{
	uint64_t bits = 0;
	float single = (float)value;
	int64_t integer = (dtype == KL_U64 && value >= 9223372036854775808.0) ?
				  (int64_t)(uint64_t)value :
				  (int64_t)value;

	switch (dtype) {
	case KL_F64:
		memcpy(&bits, &value, sizeof(value));
		break;
	case KL_F32:
		memcpy(&bits, &single, sizeof(single));
		break;
	default:
		memcpy(&bits, &integer, kl_dtype_bytes(dtype));
		break;
	}
	return bits;
}

static void plan_value(struct kl_wire_arg *planned, const struct kl_job_arg *arg, int64_t dim,
		       bool oracle, bool real_is_double)
{
	double value = arg->value;

	if (arg->kind == KL_ARG_DIM) {
		planned->extent[0] = dim;
		memcpy(&planned->bits, &dim, kl_dtype_bytes(planned->dtype));
		return;
	}
	/* round the value as for the kernel, so that the oracle gets the same number */
	if (planned->dtype == KL_F32)
		value = (float)value;
	if (oracle && is_float(planned->dtype))
		planned->dtype = real_is_double ? KL_F64 : KL_F32;
	planned->bits = scalar_bits(planned->dtype, value);
}

static uint64_t whole_pages(uint64_t bytes)
{
	return bytes ? (bytes + PAGE - 1) / PAGE * PAGE : PAGE;
}

static int plan_tensor(struct kl_wire_arg *planned, const struct kl_point *pt, size_t arg,
		       const struct kl_subject_spec *spec)
{
	uint64_t n = (uint64_t)kl_point_elements(pt, arg);

	if (spec->kind == KL_SUBJECT_ORACLE && is_float(planned->dtype))
		planned->dtype = spec->real_is_double ? KL_F64 : KL_F32;
	if (n > (uint64_t)1 << 40)
		return kl_error(KL_EINVALID, "argument %zu has too many elements", arg);
	planned->tensor = 1;
	planned->bytes = n * kl_dtype_bytes(planned->dtype);
	planned->map_bytes = whole_pages(planned->bytes + 2 * planned->base);
	planned->writable = planned->kind != KL_ARG_IN;
	planned->naxes = (int)pt->arg[arg].naxes;
	memcpy(planned->extent, pt->arg[arg].extent, sizeof(planned->extent));
	return 0;
}

static int plan_point(struct kl_wire_arg *args, const struct kl_job *job, const struct kl_point *pt,
		      const struct kl_subject_spec *spec)
{
	bool oracle = spec->kind == KL_SUBJECT_ORACLE;
	int err;

	for (size_t i = 0; i < job->nargs; i++) {
		struct kl_wire_arg *arg = &args[i];

		arg->kind = job->arg[i].kind;
		arg->dtype = job->arg[i].dtype;
		arg->zeros = job->arg[i].zeros;
		arg->returned = job->arg[i].returned;
		arg->base = spec->kind == KL_SUBJECT_KERNEL ? (uint64_t)job->arg[i].base : 0;
		if (arg->kind == KL_ARG_DIM || arg->kind == KL_ARG_SCALAR)
			plan_value(arg, &job->arg[i], pt->arg[i].value, oracle,
				   spec->real_is_double);
		else if ((err = plan_tensor(arg, pt, i, spec)) < 0)
			return err;
	}
	return 0;
}

/* Return the largest size of a tensor's mapping at any point of this child or of the job. */
static uint64_t largest_tensor(const struct kl_wire *wire, const struct kl_job *job,
			       const struct kl_subject_spec *spec)
{
	size_t real = spec->kind != KL_SUBJECT_ORACLE ? 0 :
		      spec->real_is_double            ? sizeof(double) :
							sizeof(float);
	int64_t bytes[KL_MAX_ARGS];
	uint64_t most = PAGE;

	for (uint32_t point = 0; point < wire->npoint; point++)
		for (uint32_t i = 0; i < wire->nargs; i++)
			if (wire->arg[point][i].map_bytes > most)
				most = wire->arg[point][i].map_bytes;
	for (size_t point = 0; point < job->npoint; point++) {
		kl_job_tensor_bytes(bytes, job, &job->point[point], real);
		for (size_t i = 0; i < job->nargs; i++)
			if (whole_pages((uint64_t)bytes[i]) > most)
				most = whole_pages((uint64_t)bytes[i]);
	}
	return most;
}

/* Return the bytes of the adapter's workspace at a point. */
static uint64_t plan_workspace(const struct kl_wire *wire, enum kl_wire_point point)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < wire->nargs; i++)
		bytes += wire->arg[point][i].bytes;
	return whole_pages(WORK_BYTES + WORK_SHARE * bytes);
}

/* Plan the threads of a kernel; oracles and baselines have one thread. */
static void plan_threads(struct kl_cpu_subject *subject, const struct kl_job *job,
			 const struct kl_subject_spec *spec)
{
	struct kl_wire *wire = subject->wire;
	bool many = spec->kind == KL_SUBJECT_KERNEL && job->threads > 1;

	wire->cpu = spec->cpu;
	wire->nthread = many ? (uint32_t)job->threads : 1;
	if (many)
		subject->threads.crowded = kl_processors_spread(wire->thread_cpu, wire->nthread,
								spec->cpu) <= wire->nthread;
}

static int plan_memory(struct kl_cpu_subject *subject, const struct kl_job *job,
		       const struct kl_point *pt, const struct kl_subject_spec *spec)
{
	struct kl_wire *wire = subject->wire;
	int err;

	wire->baseline = spec->kind == KL_SUBJECT_BASELINE;
	plan_threads(subject, job, spec);
	wire->arena_bytes = job->arena_bytes;
	wire->nargs = (uint32_t)job->nargs;
	wire->npoint = spec->other ? 2 : 1;
	for (size_t i = 0; i < job->nargs; i++)
		memcpy(subject->name[i], job->arg[i].name, sizeof(subject->name[i]));
	if ((err = plan_point(wire->arg[KL_WIRE_MAIN], job, pt, spec)) < 0 ||
	    (spec->other &&
	     (err = plan_point(wire->arg[KL_WIRE_OTHER], job, spec->other, spec)) < 0))
		return err;
	wire->largest = largest_tensor(wire, job, spec);
	for (uint32_t point = 0; point < wire->npoint; point++) {
		wire->nview[point] = kl_place_views(wire, point);
		if (job->adapter && spec->kind == KL_SUBJECT_KERNEL)
			wire->work_bytes[point] = plan_workspace(wire, point);
	}
	if (spec->baseline && strlen(spec->baseline) >= sizeof(wire->baseline_name))
		return kl_error(KL_EINVALID, "the name of the baseline is too long");
	snprintf(wire->baseline_name, sizeof(wire->baseline_name), "%s",
		 spec->baseline ? spec->baseline : "");
	return 0;
}

/* Become the child. This runs after fork(), so only async-signal-safe calls are allowed. */
static void exec_child(const char *path, char *const *env, const int *fd, int nfd)
{
	static char name[] = "klineage-worker", option[] = "--child";
	static char *const argv[] = { name, option, NULL };
	int high[MOST_FDS];
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* first move the descriptors away from the numbers that the child uses */
	for (int i = 0; i < nfd; i++)
		if ((high[i] = fcntl(fd[i], F_DUPFD, 256)) < 0)
			_exit(KL_CHILD_NOT_READY);
	for (int i = 0; i < nfd; i++)
		if (dup2(high[i], i) < 0)
			_exit(KL_CHILD_NOT_READY);
	syscall(SYS_close_range, (unsigned)nfd, ~0U, 0U);
	execve(path, argv, env);
	_exit(KL_CHILD_NOT_READY);
}

/* Descriptors that a child inherits besides those of its tensors and the socket; -1 if none. */
struct lent {
	int plan, control, args, image, dirt;
};

static int spawn_child(struct kl_cpu_subject *subject, const struct kl_job *job,
		       const struct lent *lent)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *path = NULL;
	KL_AUTO(kl_closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd[MOST_FDS] = { null, null, null, lent->plan, lent->control };
	int nfd = KL_WIRE_FD_TENSOR, pair[2], err;
	struct timeval wait = { .tv_sec = HELLO_SECONDS };

	if (null < 0)
		return kl_error_errno("cannot open /dev/null");
	if ((err = kl_fs_program(&path, KL_CHILD_PROGRAM)) < 0)
		return err;
	kl_strvec_push(&env, "LC_ALL=C");
	kl_strvec_push(&env, "LD_BIND_NOW=1");
	if (subject->wire->baseline)
		kl_baseline_env(&env, job->isa);
	for (uint32_t i = 0; i < subject->wire->nargs; i++)
		if (subject->wire->arg[KL_WIRE_MAIN][i].tensor)
			fd[nfd++] = subject->tensor[i].fd;
	if (subject->work.map)
		fd[nfd++] = subject->work.fd;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return kl_error_errno("cannot create a socket pair");
	subject->socket = pair[0];
	fd[KL_WIRE_FD_SOCKET] = pair[1];
	fd[KL_WIRE_FD_IMAGE] = lent->image < 0 ? null : lent->image;
	fd[KL_WIRE_FD_ARGS] = lent->args;
	fd[KL_WIRE_FD_DIRT] = lent->dirt < 0 ? null : lent->dirt;
	setsockopt(subject->socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	subject->pid = fork();
	if (!subject->pid)
		exec_child(path, env.v, fd, nfd);
	err = subject->pid < 0 ? kl_error_errno("cannot start a process for the kernel") : 0;
	if (err < 0)
		subject->pid = 0;
	close(pair[1]);
	return err;
}

static int read_hello(struct kl_cpu_subject *subject, const struct kl_subject_spec *spec)
{
	char *to = (char *)&subject->hello;
	size_t have = 0;
	ssize_t n;

	while (have < sizeof(subject->hello)) {
		n = recv(subject->socket, to + have, sizeof(subject->hello) - have, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	/* not the kernel's fault: none of its code has run yet, and vendor libraries are trusted */
	if (have < sizeof(subject->hello))
		return kl_error(KL_ECANNOT, "the process of '%s' %s",
				spec->path ? spec->path : spec->baseline,
				n < 0 ? "takes too long to start: the machine is too busy" :
					"ended while it was starting");
	subject->hello.message[sizeof(subject->hello.message) - 1] = '\0';
	if (subject->hello.err < 0)
		return kl_error((enum kl_err)subject->hello.err, "%s", subject->hello.message);
	return 0;
}

static int greet_child(struct kl_cpu_subject *subject, const struct kl_subject_spec *spec)
{
	char answer;
	int err = read_hello(subject, spec);

	if (err < 0)
		return err;
	subject->first = (struct kl_place){ .right = spec->align_right };
	kl_cpu_subject_place(subject, &subject->first);
	kl_buffers_surround(subject, 1);
	subject->traced = KL_STUB_TRACE && !spec->untraced && kl_trace_attach(subject->pid);
	if (!subject->traced && subject->wire->nthread > 1)
		return kl_error(KL_ECANNOT, "a kernel with threads cannot be run here: the system "
					    "does not let this process trace it (ptrace)");
	/* a kernel that takes over the loop of the stub could compute outside the timed call */
	if (subject->work.map && !subject->traced && !spec->untraced)
		return kl_error(KL_ECANNOT,
				"a kernel with an adapter can only be judged where Linux "
				"allows ptrace");
	answer = subject->traced ? KL_WIRE_TRACED : KL_WIRE_ALONE;
	if (send(subject->socket, &answer, 1, MSG_NOSIGNAL) != 1)
		return kl_error_errno("cannot send to the kernel's process");
	close(subject->socket);
	subject->socket = -1;
	return kl_call_settle(subject);
}

void kl_cpu_subject_reap(struct kl_cpu_subject *subject)
{
	int status;

	if (!subject->pid)
		return;
	kill(subject->pid, SIGKILL);
	/* a child stopped in its exit event ignores signals: it must be continued */
	kl_trace_continue(subject->pid);
	kl_threads_reap(subject);
	for (;;) {
		if (waitpid(subject->pid, &status, __WALL) < 0 && errno != EINTR)
			break;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;
		kl_trace_continue(subject->pid); /* stopped in its exit event */
	}
	subject->pid = 0;
}

static void end_cpu(struct kl_cpu_subject *subject)
{
	kl_cpu_subject_reap(subject);
	if (subject->socket >= 0)
		close(subject->socket);
	kl_memory_give(subject);
	kl_adapter_give(subject);
	if (subject->wire)
		munmap(subject->wire, sizeof(*subject->wire));
	if (subject->control)
		munmap(subject->control, sizeof(*subject->control));
	if (subject->args)
		munmap(subject->args, sizeof(*subject->args));
	free(subject);
}

KL_DEFINE_CLEANUP(struct kl_cpu_subject *, end_cpu)

/* -- the operations of subject.h ----------------------------------------- */

static struct kl_cpu_subject *as_cpu(struct kl_subject *subject)
{
	return (struct kl_cpu_subject *)subject;
}

static void cpu_free(struct kl_subject *subject)
{
	end_cpu(as_cpu(subject));
}

static void *cpu_buffer(struct kl_subject *base, size_t arg)
{
	struct kl_cpu_subject *subject = as_cpu(base);

	return subject->tensor[arg].map ? subject->tensor[arg].map + subject->offset[arg] : NULL;
}

static size_t cpu_bytes(const struct kl_subject *subject, size_t arg)
{
	return ((const struct kl_cpu_subject *)subject)->arg[arg].bytes;
}

static void place_cpu(struct kl_subject *subject, const struct kl_place *place)
{
	kl_cpu_subject_place(as_cpu(subject), place);
}

static void poison_cpu(struct kl_subject *subject, uint64_t seed)
{
	kl_cpu_subject_poison(as_cpu(subject), seed);
}

static bool cpu_traced(const struct kl_subject *subject)
{
	return ((const struct kl_cpu_subject *)subject)->traced;
}

static int64_t handshake_ns(const struct kl_subject *subject)
{
	return ((const struct kl_cpu_subject *)subject)->empty_done;
}

static void flush_cpu(struct kl_subject *subject)
{
	kl_cpu_subject_flush(as_cpu(subject));
}

static int call_cpu(struct kl_subject *subject, struct kl_call *out)
{
	return kl_cpu_subject_call(as_cpu(subject), out);
}

static void extend_cpu(struct kl_subject *base, int times)
{
	struct kl_cpu_subject *subject = as_cpu(base);

	subject->limit_ms = subject->call_ms * times;
}

static const struct kl_subject_ops operations = {
	.free = cpu_free,
	.place = place_cpu,
	.buffer = cpu_buffer,
	.bytes = cpu_bytes,
	.poison = poison_cpu,
	.traced = cpu_traced,
	.handshake_ns = handshake_ns,
	.flush = flush_cpu,
	.call = call_cpu,
	.extend = extend_cpu,
};

static void lent_release(struct lent *lent)
{
	kl_closep(&lent->plan);
	kl_closep(&lent->control);
	kl_closep(&lent->args);
	kl_closep(&lent->image);
	kl_closep(&lent->dirt);
}

static int lend_bytes(struct kl_cpu_subject *subject, struct lent *lent,
		      const struct kl_subject_spec *spec)
{
	int err;

	if (spec->kind == KL_SUBJECT_BASELINE)
		return 0;
	if ((err = kl_dirt_lend(&lent->dirt)) < 0)
		return err;
	err = kl_image_file_open(&lent->image, &subject->wire->image_bytes, subject->work.has,
				 spec->path);
	return err < 0 ? kl_error_in(KL_ECANNOT, "the kernel") : 0;
}

int kl_subject_start_cpu(struct kl_subject **out, const struct kl_job *job,
			 const struct kl_point *pt, const struct kl_subject_spec *spec)
{
	KL_AUTO(end_cpup) struct kl_cpu_subject *subject = kl_calloc(1, sizeof(*subject));
	KL_AUTO(lent_release)
	struct lent lent = { .plan = -1, .control = -1, .args = -1, .image = -1, .dirt = -1 };
	int err;

	subject->base.ops = &operations;
	subject->socket = -1;
	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		subject->tensor[i].fd = -1;
	subject->precise = spec->timed;
	subject->call_ms = subject->limit_ms = job->call_ms;
	subject->memory = spec->memory;
	kl_rng_fresh(&subject->rng);
	if ((err = kl_memory_shared((void **)&subject->wire, &lent.plan, "plan",
				    sizeof(*subject->wire))) < 0 ||
	    (err = kl_memory_shared((void **)&subject->control, &lent.control, "control",
				    sizeof(*subject->control))) < 0 ||
	    (err = kl_memory_shared((void **)&subject->args, &lent.args, "arguments",
				    sizeof(*subject->args))) < 0 ||
	    (err = plan_memory(subject, job, pt, spec)) < 0 ||
	    (err = kl_memory_take(subject)) < 0 || (err = kl_adapter_take(subject)) < 0 ||
	    (err = lend_bytes(subject, &lent, spec)) < 0)
		return err;
	if ((err = spawn_child(subject, job, &lent)) < 0 || (err = greet_child(subject, spec)) < 0)
		return err;
	*out = &kl_steal(&subject)->base;
	return 0;
}
