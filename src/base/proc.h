/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PROC_H
#define KL_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * proc - runs a program: input from a buffer, output into buffers with ceilings, a time limit that
 * kills its whole process group. Or starts one and goes on.
 */
struct kl_proc_opts {
	const char *const *argv; /* NULL-terminated; argv[0] through PATH */
	const char *const *env;  /* NULL: inherit; else the whole environment */
	const char *dir;         /* NULL: stay */
	const void *in;          /* stdin bytes; NULL: /dev/null */
	size_t in_len;
	struct kl_buf *out, *err; /* NULL: /dev/null; KL_PROC_INHERIT_* keep ours */
	size_t max_output;        /* per stream; 0: 64 MiB; more is cut and `truncated` set */
	int64_t timeout_ms;       /* 0: none */
	int flags;                /* enum kl_proc_flags */
	/*
	 * Runs in the child after fork, before exec: limits, sandboxes. Only
	 * async-signal-safe calls. Non-zero: the child exits with it as errno.
	 */
	int (*before_exec)(void *payload);
	void *payload;
	const int *keep_fds; /* descriptors the child inherits, -1 ends */
};

enum kl_proc_flags {
	KL_PROC_INHERIT_STDERR = 1 << 0,
	KL_PROC_INHERIT_STDIN = 1 << 1,
	KL_PROC_INHERIT_STDOUT = 1 << 2,
	/*
	 * A short program that must not be cut off: neither an interrupt nor our own death kills
	 * it.
	 */
	KL_PROC_FINISH = 1 << 3,
	/*
	 * Our own death asks it to end, and does not kill it: it has programs of its own to take
	 * along.
	 */
	KL_PROC_ASK = 1 << 4,
};

struct kl_proc_result {
	int exit;   /* exit code, or -1 */
	int signal; /* killing signal, or 0 */
	bool timed_out;
	bool truncated;
	int64_t wall_ns;
};

/**
 * 0 once the program ran, whatever it answered; an error if it could not be
 * started (KL_ENOTFOUND: no such program). SIGINT while waiting kills the
 * group and returns KL_EINTR.
 */
int kl_proc_run(struct kl_proc_result *res, const struct kl_proc_opts *opts);

/**
 * Run with stdout in `out` (may be NULL); any other end than exit 0 is an error that quotes stderr.
 */
int kl_proc_output(struct kl_buf *out, const char *const *argv);

/**
 * A program that runs beside us. `o` as above, but `out` and `err` only say that a pipe is wanted,
 * and limits are the caller's affair: kl_proc_stop(). `p` is the caller's until kl_proc_release(),
 * which kills what still runs.
 */
struct kl_proc {
	pid_t pid;    /* 0: none, or it was reaped */
	int out, err; /* our ends, non-blocking; -1: none, or closed */
};
#define KL_PROC_INIT                 \
	{                            \
		.out = -1, .err = -1 \
	}

int kl_proc_start(struct kl_proc *proc, const struct kl_proc_opts *opts);
/** true: it has ended, `res` says how (not how long); only once. */
bool kl_proc_ended(struct kl_proc_result *res, struct kl_proc *proc);
/** SIGTERM for the program, whose own programs are its affair; SIGKILL for its whole group. */
void kl_proc_stop(const struct kl_proc *proc, int sig);
void kl_proc_release(struct kl_proc *proc);

/** Has the user pressed Ctrl-C (or SIGTERM come) since kl_proc_catch_signals()? */
bool kl_proc_interrupted(void);
/** Install the handlers that kl_proc_interrupted() reports; main calls it once. */
void kl_proc_catch_signals(void);
/**
 * Hold descriptors 0 to 2 that are closed, so that no file of ours becomes one of them; main calls
 * it first. Writing to a closed stdout stays an error.
 */
void kl_proc_hold_standard(void);

#endif
