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
#include "base/error.h"
#include "base/mem.h"

/* A signal handler has nothing but a global to write to. */
static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

void kl_proc_catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

void kl_proc_hold_standard(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd)
			return; /* no /dev/null: as well as can be */
}

bool kl_proc_interrupted(void)
{
	return interrupted != 0;
}

struct stream {
	int ours, theirs; /* pipe ends; -1: none */
	struct kl_buf *buf;
};

/* Is this program to be stopped because the user wants us to? */
static bool stop_wanted(const struct kl_proc_opts *o)
{
	return interrupted && !(o->flags & KL_PROC_FINISH);
}

struct run {
	const struct kl_proc_opts *o;
	struct stream in, out, err;
	size_t sent, max;
	pid_t pid;
	bool truncated;
};

static void close_stream(struct stream *s)
{
	kl_closep(&s->ours);
	kl_closep(&s->theirs);
}

static void run_release(struct run *r)
{
	close_stream(&r->in);
	close_stream(&r->out);
	close_stream(&r->err);
}

static int open_pipe(struct stream *s, bool we_read)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return kl_error_errno("cannot make a pipe");
	s->ours = p[we_read ? 0 : 1];
	s->theirs = p[we_read ? 1 : 0];
	if (fcntl(s->ours, F_SETFL, O_NONBLOCK) < 0)
		return kl_error_errno("cannot set up a pipe");
	return 0;
}

static int open_pipes(struct run *r)
{
	int err = 0;

	if (r->o->in)
		err = open_pipe(&r->in, false);
	if (!err && r->o->out)
		err = open_pipe(&r->out, true);
	if (!err && r->o->err)
		err = open_pipe(&r->err, true);
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

/* In the child: never returns. The exec's errno goes back through `report`. */
static void run_child(struct run *r, int report)
{
	const struct kl_proc_opts *o = r->o;
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	int e;

	setpgid(0, 0);
	if (!(o->flags & KL_PROC_FINISH))
		prctl(PR_SET_PDEATHSIG, o->flags & KL_PROC_ASK ? SIGTERM : SIGKILL);
	sigaction(SIGINT, &dfl, NULL);
	sigaction(SIGTERM, &dfl, NULL);
	sigaction(SIGHUP, &dfl, NULL);
	sigaction(SIGPIPE, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	child_stdio(0, r->in.theirs, o->flags & KL_PROC_INHERIT_STDIN, O_RDONLY);
	child_stdio(1, r->out.theirs, o->flags & KL_PROC_INHERIT_STDOUT, O_WRONLY);
	child_stdio(2, r->err.theirs, o->flags & KL_PROC_INHERIT_STDERR, O_WRONLY);
	for (const int *fd = o->keep_fds; fd && *fd >= 0; fd++)
		fcntl(*fd, F_SETFD, 0);
	if (o->dir && chdir(o->dir) < 0)
		goto fail;
	if (o->before_exec) {
		e = o->before_exec(o->payload);
		if (e) {
			errno = e;
			goto fail;
		}
	}
	if (o->env)
		execvpe(o->argv[0], (char *const *)o->argv, (char *const *)o->env);
	else
		execvp(o->argv[0], (char *const *)o->argv);
fail:
	e = errno;
	if (write(report, &e, sizeof(e)) < 0)
		_exit(126);
	_exit(127);
}

static int spawn_child(struct run *r)
{
	int p[2], e = 0;
	ssize_t n;

	if (pipe2(p, O_CLOEXEC) < 0)
		return kl_error_errno("cannot make a pipe");
	fflush(NULL);
	r->pid = fork();
	if (r->pid == 0)
		run_child(r, p[1]);
	close(p[1]);
	if (r->pid < 0) {
		close(p[0]);
		return kl_error_errno("cannot fork");
	}
	setpgid(r->pid, r->pid);
	do
		n = read(p[0], &e, sizeof(e));
	while (n < 0 && errno == EINTR);
	close(p[0]);
	kl_closep(&r->in.theirs);
	kl_closep(&r->out.theirs);
	kl_closep(&r->err.theirs);
	if (n == (ssize_t)sizeof(e)) {
		waitpid(r->pid, NULL, 0);
		errno = e;
		return kl_error_errno("cannot run '%s'", r->o->argv[0]);
	}
	return 0;
}

static void feed_input(struct run *r)
{
	ssize_t n = write(r->in.ours, (const char *)r->o->in + r->sent, r->o->in_len - r->sent);

	if (n > 0)
		r->sent += (size_t)n;
	if ((n < 0 && errno != EAGAIN && errno != EINTR) || r->sent == r->o->in_len)
		kl_closep(&r->in.ours);
}

static void drain_stream(struct run *r, struct stream *s)
{
	char part[65536];
	ssize_t n = read(s->ours, part, sizeof(part));
	size_t room;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		kl_closep(&s->ours);
		return;
	}
	room = s->buf->len < r->max ? r->max - s->buf->len : 0;
	if ((size_t)n > room) {
		r->truncated = true;
		n = (ssize_t)room;
	}
	kl_buf_add(s->buf, part, (size_t)n);
}

/*
 * A program may not read its input. The signal for that is this thread's alone: kept from it here,
 * and what came of it taken back, so that neither the caller's own handling of it nor another
 * thread's is touched.
 */
struct no_pipe_signal {
	sigset_t pipe, before;
	bool had;
};

static void hold_pipe_signal(struct no_pipe_signal *h)
{
	sigset_t pending;

	sigemptyset(&h->pipe);
	sigaddset(&h->pipe, SIGPIPE);
	sigpending(&pending);
	h->had = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &h->pipe, &h->before);
}

static void drop_pipe_signal(const struct no_pipe_signal *h)
{
	const struct timespec now = { 0 };

	while (!h->had && sigtimedwait(&h->pipe, NULL, &now) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &h->before, NULL);
}

/* Move bytes until all pipes are closed; KL_ETIMEOUT or KL_EINTR otherwise. */
static int pump_streams(struct run *r, int64_t end)
{
	while (r->in.ours >= 0 || r->out.ours >= 0 || r->err.ours >= 0) {
		struct pollfd p[3] = {
			{ .fd = r->in.ours, .events = POLLOUT },
			{ .fd = r->out.ours, .events = POLLIN },
			{ .fd = r->err.ours, .events = POLLIN },
		};
		int64_t left = end ? (end - kl_clock_ns()) / 1000000 : 1000;

		if (stop_wanted(r->o))
			return KL_EINTR;
		if (end && left <= 0)
			return KL_ETIMEOUT;
		if (poll(p, 3, (int)(left < 1000 ? left : 1000)) < 0 && errno != EINTR)
			return kl_error_errno("cannot poll");
		if (p[0].revents)
			feed_input(r);
		if (p[1].revents)
			drain_stream(r, &r->out);
		if (p[2].revents)
			drain_stream(r, &r->err);
	}
	return 0;
}

/* Wait for the program's end, by short naps once its pipes are closed. */
static int reap_child(struct run *r, int64_t end, int *status)
{
	int64_t nap_ns = 50000;

	for (;;) {
		struct timespec t = { 0, nap_ns };
		pid_t got = waitpid(r->pid, status, end || stop_wanted(r->o) ? WNOHANG : 0);

		if (got == r->pid)
			return 0;
		if (stop_wanted(r->o))
			return KL_EINTR;
		if (got < 0 && errno != EINTR)
			return kl_error_errno("cannot wait for '%s'", r->o->argv[0]);
		if (end && kl_clock_ns() >= end)
			return KL_ETIMEOUT;
		if (end)
			nanosleep(&t, NULL);
		nap_ns = nap_ns < 5000000 ? nap_ns * 2 : 5000000;
	}
}

int kl_proc_run(struct kl_proc_result *res, const struct kl_proc_opts *o)
{
	KL_AUTO(run_release) struct run r = {
		.o = o,
		.in = { -1, -1, NULL },
		.out = { -1, -1, o->out },
		.err = { -1, -1, o->err },
		.max = o->max_output ? o->max_output : (size_t)64 << 20,
	};
	int64_t start = kl_clock_ns();
	int64_t end = o->timeout_ms ? start + o->timeout_ms * 1000000 : 0;
	struct no_pipe_signal held;
	int err, status = 0;

	if ((err = open_pipes(&r)) < 0 || (err = spawn_child(&r)) < 0)
		return err;
	hold_pipe_signal(&held);
	err = pump_streams(&r, end);
	if (!err)
		err = reap_child(&r, end, &status);
	drop_pipe_signal(&held);
	if (err) {
		kill(-r.pid, SIGKILL);
		kill(r.pid, SIGKILL);
		while (waitpid(r.pid, &status, 0) < 0 && errno == EINTR)
			;
	} else {
		kill(-r.pid, SIGKILL); /* whatever it left behind */
	}
	*res = (struct kl_proc_result){
		.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		.timed_out = err == KL_ETIMEOUT,
		.truncated = r.truncated,
		.wall_ns = kl_clock_ns() - start,
	};
	if (err == KL_EINTR)
		return kl_error(KL_EINTR, "interrupted");
	return err == KL_ETIMEOUT ? 0 : err;
}

/* --- beside us ----------------------------------------------------------------- */

/* All of the input in a file without a name: nobody has to feed it. */
static int input_file(struct run *r)
{
	const char *p = r->o->in;
	size_t left = r->o->in_len;

	r->in.theirs = memfd_create("klineage-input", MFD_CLOEXEC);
	if (r->in.theirs < 0)
		return kl_error_errno("cannot make a file in memory");
	while (left) {
		ssize_t n = write(r->in.theirs, p, left);

		if (n < 0 && errno != EINTR)
			return kl_error_errno("cannot write to memory");
		p += n < 0 ? 0 : n;
		left -= n < 0 ? 0 : (size_t)n;
	}
	lseek(r->in.theirs, 0, SEEK_SET);
	return 0;
}

int kl_proc_start(struct kl_proc *p, const struct kl_proc_opts *o)
{
	KL_AUTO(run_release) struct run r = {
		.o = o,
		.in = { -1, -1, NULL },
		.out = { -1, -1, NULL },
		.err = { -1, -1, NULL },
	};
	int err = 0;

	if (o->in)
		err = input_file(&r);
	if (!err && o->out)
		err = open_pipe(&r.out, true);
	if (!err && o->err)
		err = open_pipe(&r.err, true);
	if (err || (err = spawn_child(&r)) < 0)
		return err;
	*p = (struct kl_proc){ .pid = r.pid, .out = r.out.ours, .err = r.err.ours };
	r.out.ours = r.err.ours = -1;
	return 0;
}

bool kl_proc_ended(struct kl_proc_result *res, struct kl_proc *p)
{
	int status = 0;

	if (!p->pid || waitpid(p->pid, &status, WNOHANG) != p->pid)
		return false;
	kill(-p->pid, SIGKILL); /* whatever it left behind */
	p->pid = 0;
	*res = (struct kl_proc_result){
		.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	};
	return true;
}

void kl_proc_stop(const struct kl_proc *p, int sig)
{
	if (p->pid)
		kill(sig == SIGKILL ? -p->pid : p->pid, sig);
}

void kl_proc_release(struct kl_proc *p)
{
	kl_proc_stop(p, SIGKILL);
	while (p->pid && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	kl_closep(&p->out);
	kl_closep(&p->err);
}

int kl_proc_output(struct kl_buf *out, const char *const *argv)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_proc_opts o = { .argv = argv, .out = out, .err = &text };
	struct kl_proc_result res;
	int err = kl_proc_run(&res, &o);

	if (err < 0)
		return err;
	if (res.exit == 0)
		return 0;
	kl_buf_rtrim(&text);
	if (res.signal)
		return kl_error(KL_EIO, "'%s' was killed by signal %d", argv[0], res.signal);
	return kl_error(KL_EIO, "'%s %s' failed with %d: %s", argv[0], argv[1] ? argv[1] : "",
			res.exit, text.ptr);
}
