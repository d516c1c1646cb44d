/* SPDX-License-Identifier: Apache-2.0 */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/sanitizer.h"

/* The last signal that the handler caught; 0 if there is none. */
static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

void kl_proc_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	/*
	 * ignore SIGXFSZ, so that a write beyond the limit of file sizes fails instead of killing
	 * the process
	 */
	action.sa_handler = SIG_IGN;
	sigaction(SIGXFSZ, &action, NULL);
}

void kl_proc_hold_standard(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd)
			return; /* there is no /dev/null, so leave the descriptor closed */
}

bool kl_proc_interrupted(void)
{
	return interrupted != 0;
}

struct stream {
	int ours, theirs; /* our end and the child's end of a pipe; -1 if there is none */
	struct kl_buf *buf;
	bool show;    /* also copy the output to our stderr, made printable */
	size_t shown; /* number of bytes of `buf` that were copied to stderr so far */
};

/* Return true if the program must be stopped because this process was interrupted. */
static bool stop_wanted(const struct kl_proc_opts *opts)
{
	return interrupted && !(opts->flags & KL_PROC_FINISH);
}

struct run {
	const struct kl_proc_opts *o;
	struct stream in, out, err;
	/* environment of the program; borrowed, used only until the program has started */
	const char *const *env;
	size_t sent, max;
	pid_t pid;
	bool truncated;
};

static void close_stream(struct stream *stream)
{
	kl_closep(&stream->ours);
	kl_closep(&stream->theirs);
}

static void run_release(struct run *run)
{
	close_stream(&run->in);
	close_stream(&run->out);
	close_stream(&run->err);
}

static int open_pipe(struct stream *stream, bool we_read)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return kl_error_errno("cannot create a pipe");
	stream->ours = ends[we_read ? 0 : 1];
	stream->theirs = ends[we_read ? 1 : 0];
	if (fcntl(stream->ours, F_SETFL, O_NONBLOCK) < 0)
		return kl_error_errno("cannot make a pipe non-blocking");
	return 0;
}

static int open_pipes(struct run *run)
{
	int err = 0;

	if (run->o->in)
		err = open_pipe(&run->in, false);
	if (!err && run->o->out)
		err = open_pipe(&run->out, true);
	if (!err && run->o->err)
		err = open_pipe(&run->err, true);
	return err;
}

static void child_stdio(int fd, int theirs, bool inherit, int null_flags)
{
	if (theirs < 0 && inherit)
		return;
	if (theirs < 0)
		theirs = open("/dev/null", null_flags);
	if (theirs < 0 || dup2(theirs, fd) < 0)
		_exit(126);
}

/*
 * Start the program in the child process. Never returns. Writes the errno of a failure to `report`.
 */
static void run_child(struct run *run, int report)
{
	const struct kl_proc_opts *opts = run->o;
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	int err;

	setpgid(0, 0);
	if (!(opts->flags & KL_PROC_FINISH))
		prctl(PR_SET_PDEATHSIG, opts->flags & KL_PROC_ASK ? SIGTERM : SIGKILL);
	sigaction(SIGINT, &dfl, NULL);
	sigaction(SIGTERM, &dfl, NULL);
	sigaction(SIGHUP, &dfl, NULL);
	sigaction(SIGPIPE, &dfl, NULL);
	sigaction(SIGXFSZ, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	child_stdio(0, run->in.theirs, opts->flags & KL_PROC_INHERIT_STDIN, O_RDONLY);
	child_stdio(1, run->out.theirs, opts->flags & KL_PROC_INHERIT_STDOUT, O_WRONLY);
	child_stdio(2, run->err.theirs, opts->flags & KL_PROC_INHERIT_STDERR, O_WRONLY);
	for (const int *fd = opts->keep_fds; fd && *fd >= 0; fd++)
		fcntl(*fd, F_SETFD, 0);
	if (opts->dir && chdir(opts->dir) < 0)
		goto fail;
	if (opts->before_exec) {
		err = opts->before_exec(opts->payload);
		if (err) {
			errno = err;
			goto fail;
		}
	}
	execvpe(opts->argv[0], (char *const *)opts->argv, (char *const *)run->env);
fail:
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int spawn_child(struct run *run)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	int report[2], err = 0;
	ssize_t n;

	if (!run->o->env)
		kl_environment_copy(&env);
	run->env = run->o->env ? run->o->env : (const char *const *)env.v;
	if (pipe2(report, O_CLOEXEC) < 0)
		return kl_error_errno("cannot create a pipe");
	fflush(NULL);
	run->pid = fork();
	if (run->pid == 0)
		run_child(run, report[1]);
	close(report[1]);
	if (run->pid < 0) {
		close(report[0]);
		return kl_error_errno("cannot fork");
	}
	setpgid(run->pid, run->pid);
	do
		n = read(report[0], &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	kl_closep(&run->in.theirs);
	kl_closep(&run->out.theirs);
	kl_closep(&run->err.theirs);
	if (n == (ssize_t)sizeof(err)) {
		waitpid(run->pid, NULL, 0);
		errno = err;
		return kl_error_errno("cannot run '%s'", run->o->argv[0]);
	}
	return 0;
}

static void feed_input(struct run *run)
{
	ssize_t n = write(run->in.ours, (const char *)run->o->in + run->sent,
			  run->o->in_len - run->sent);

	if (n > 0)
		run->sent += (size_t)n;
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || run->sent == run->o->in_len)
		kl_closep(&run->in.ours);
}

static void show_stream(struct stream *stream, bool ends)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *from = stream->buf->ptr + stream->shown;
	size_t len = stream->buf->len - stream->shown;

	if (ends)
		kl_printable_add(&text, from, len);
	else
		stream->shown += kl_printable_part(&text, from, len);
	fputs(text.ptr, stderr);
}

static void drain_stream(struct run *run, struct stream *stream)
{
	char chunk[16384];
	ssize_t n = read(stream->ours, chunk, sizeof(chunk));
	size_t room;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (stream->show)
			show_stream(stream, true);
		kl_closep(&stream->ours);
		return;
	}
	room = stream->buf->len < run->max ? run->max - stream->buf->len : 0;
	if ((size_t)n > room) {
		run->truncated = true;
		n = (ssize_t)room;
	}
	kl_buf_add(stream->buf, chunk, (size_t)n);
	if (stream->show)
		show_stream(stream, false);
}

/*
 * A program can exit without reading its input, which raises SIGPIPE in the writing thread. Block
 * the signal in this thread, and consume a pending SIGPIPE afterwards, so that the handling of
 * SIGPIPE in the caller and in other threads is unaffected.
 */
struct no_pipe_signal {
	sigset_t pipe, before;
	bool had;
};

static void hold_pipe_signal(struct no_pipe_signal *held)
{
	sigset_t pending;

	sigemptyset(&held->pipe);
	sigaddset(&held->pipe, SIGPIPE);
	sigpending(&pending);
	held->had = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &held->pipe, &held->before);
}

static void drop_pipe_signal(const struct no_pipe_signal *held)
{
	const struct timespec at_once = { 0 };

	while (!held->had && sigtimedwait(&held->pipe, NULL, &at_once) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

/*
 * Move data to and from the program until all pipes are closed. Return KL_ETIMEOUT if the time
 * `end` has passed (0 if there is no limit), or KL_EINTR if this process was interrupted.
 */
static int pump_streams(struct run *run, int64_t end)
{
	while (run->in.ours >= 0 || run->out.ours >= 0 || run->err.ours >= 0) {
		struct pollfd pollfds[3] = {
			{ .fd = run->in.ours, .events = POLLOUT },
			{ .fd = run->out.ours, .events = POLLIN },
			{ .fd = run->err.ours, .events = POLLIN },
		};
		int64_t left = end ? (end - kl_clock_ns()) / 1000000 : 1000;

		if (stop_wanted(run->o))
			return KL_EINTR;
		if (end && left <= 0)
			return KL_ETIMEOUT;
		if (poll(pollfds, 3, (int)(left < 1000 ? left : 1000)) < 0 && errno != EINTR)
			return kl_error_errno("cannot wait for input and output of a program");
		if (pollfds[0].revents)
			feed_input(run);
		if (pollfds[1].revents)
			drain_stream(run, &run->out);
		if (pollfds[2].revents)
			drain_stream(run, &run->err);
	}
	return 0;
}

/*
 * Wait for the program to end. If there is a time limit, check repeatedly, with short sleeps.
 * Return errors like pump_streams().
 */
static int reap_child(struct run *run, int64_t end, int *status)
{
	int64_t nap_ns = 50000;

	for (;;) {
		struct timespec nap = { 0, nap_ns };
		pid_t got = waitpid(run->pid, status, end || stop_wanted(run->o) ? WNOHANG : 0);

		if (got == run->pid)
			return 0;
		if (stop_wanted(run->o))
			return KL_EINTR;
		if (got < 0 && errno != EINTR)
			return kl_error_errno("cannot wait for '%s'", run->o->argv[0]);
		if (end && kl_clock_ns() >= end)
			return KL_ETIMEOUT;
		if (end)
			nanosleep(&nap, NULL);
		nap_ns = nap_ns < 5000000 ? nap_ns * 2 : 5000000;
	}
}

int kl_proc_run(struct kl_proc_result *res, const struct kl_proc_opts *opts)
{
	KL_AUTO(run_release) struct run run = {
		.o = opts,
		.in = { -1, -1, NULL, false, 0 },
		.out = { -1, -1, opts->out, false, 0 },
		.err = { -1, -1, opts->err, opts->flags & KL_PROC_SHOW_STDERR, 0 },
		.max = opts->max_output ? opts->max_output : (size_t)64 << 20,
	};
	int64_t start = kl_clock_ns();
	int64_t end = opts->timeout_ms ? start + opts->timeout_ms * 1000000 : 0;
	size_t said = opts->err ? opts->err->len : 0;
	struct no_pipe_signal held;
	int err, status = 0;

	if ((err = open_pipes(&run)) < 0 || (err = spawn_child(&run)) < 0)
		return err;
	hold_pipe_signal(&held);
	err = pump_streams(&run, end);
	if (!err)
		err = reap_child(&run, end, &status);
	drop_pipe_signal(&held);
	if (err) {
		kill(-run.pid, SIGKILL);
		kill(run.pid, SIGKILL);
		while (waitpid(run.pid, &status, 0) < 0 && errno == EINTR)
			;
	} else {
		kill(-run.pid, SIGKILL); /* processes that the program left behind */
	}
	*res = (struct kl_proc_result){
		.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		.timed_out = err == KL_ETIMEOUT,
		.truncated = run.truncated,
		.wall_ns = kl_clock_ns() - start,
	};
	if (opts->err)
		kl_sanitizer_pass_on(opts->err, said);
	if (err == KL_EINTR)
		return kl_error(KL_EINTR, "interrupted");
	return err == KL_ETIMEOUT ? 0 : err;
}

/* --- programs in the background ---------------------------------------------------- */

/*
 * Put the whole input into an anonymous file, so that no thread has to write the input to a pipe
 * while the program is running.
 */
static int input_file(struct run *run)
{
	const char *at = run->o->in;
	size_t left = run->o->in_len;

	run->in.theirs = memfd_create("klineage-input", MFD_CLOEXEC);
	if (run->in.theirs < 0)
		return kl_error_errno("cannot create an anonymous file");
	while (left) {
		ssize_t n = write(run->in.theirs, at, left);

		if (n < 0 && errno != EINTR)
			return kl_error_errno("cannot write to an anonymous file");
		at += n < 0 ? 0 : n;
		left -= n < 0 ? 0 : (size_t)n;
	}
	lseek(run->in.theirs, 0, SEEK_SET);
	return 0;
}

int kl_proc_start(struct kl_proc *proc, const struct kl_proc_opts *opts)
{
	KL_AUTO(run_release) struct run run = {
		.o = opts,
		.in = { -1, -1, NULL, false, 0 },
		.out = { -1, -1, NULL, false, 0 },
		.err = { -1, -1, NULL, false, 0 },
	};
	int err = 0;

	if (opts->in)
		err = input_file(&run);
	if (!err && opts->out)
		err = open_pipe(&run.out, true);
	if (!err && opts->err)
		err = open_pipe(&run.err, true);
	if (err || (err = spawn_child(&run)) < 0)
		return err;
	*proc = (struct kl_proc){ .pid = run.pid, .out = run.out.ours, .err = run.err.ours };
	run.out.ours = run.err.ours = -1;
	return 0;
}

bool kl_proc_ended(struct kl_proc_result *res, struct kl_proc *proc)
{
	int status = 0;

	if (!proc->pid || waitpid(proc->pid, &status, WNOHANG) != proc->pid)
		return false;
	kill(-proc->pid, SIGKILL); /* processes that the program left behind */
	proc->pid = 0;
	*res = (struct kl_proc_result){
		.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	};
	return true;
}

void kl_proc_stop(const struct kl_proc *proc, int sig)
{
	if (proc->pid)
		kill(sig == SIGKILL ? -proc->pid : proc->pid, sig);
}

void kl_proc_release(struct kl_proc *proc)
{
	kl_proc_stop(proc, SIGKILL);
	while (proc->pid && waitpid(proc->pid, NULL, 0) < 0 && errno == EINTR)
		;
	proc->pid = 0;
	kl_closep(&proc->out);
	kl_closep(&proc->err);
}

int kl_proc_output(struct kl_buf *out, const char *const *argv)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_proc_opts opts = { .argv = argv, .out = out, .err = &text };
	struct kl_proc_result res;
	int err = kl_proc_run(&res, &opts);

	if (err < 0)
		return err;
	if (res.exit == 0)
		return 0;
	kl_buf_rtrim(&text);
	if (res.signal)
		return kl_error(KL_EIO, "'%s' was killed by signal %d", argv[0], res.signal);
	return kl_error(KL_EIO, "'%s %s' failed with exit code %d: %s", argv[0],
			argv[1] ? argv[1] : "", res.exit, text.ptr);
}
