/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PROC_H
#define KL_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * proc - runs a program, or starts one in the background. kl_proc_run() takes the input from a
 * buffer, collects output in bounded buffers, and kills the whole process group at the time limit.
 */
struct kl_proc_opts {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
	/*
	 * the complete environment; NULL for the environment of this process without the API keys
	 * of model providers (base/environment.h)
	 */
	const char *const *env;
	const char *dir; /* working directory; NULL to inherit */
	const void *in;  /* stdin bytes; NULL for /dev/null */
	size_t in_len;
	/* receive stdout and stderr; NULL for /dev/null, or for our own with KL_PROC_INHERIT_* */
	struct kl_buf *out, *err;
	/*
	 * limit in bytes for each stream; 0 for 64 MiB. The rest is dropped, and `truncated` is
	 * set.
	 */
	size_t max_output;
	int64_t timeout_ms; /* 0 if there is no time limit */
	int flags;          /* enum kl_proc_flags */
	/*
	 * Called in the child between fork and exec, to set up limits or a sandbox. It can make
	 * only async-signal-safe calls. If it returns an errno instead of 0, the program is not
	 * run.
	 */
	int (*before_exec)(void *payload);
	void *payload;
	const int *keep_fds; /* descriptors that the child inherits, terminated by -1; or NULL */
};

enum kl_proc_flags {
	KL_PROC_INHERIT_STDERR = 1 << 0,
	KL_PROC_INHERIT_STDIN = 1 << 1,
	KL_PROC_INHERIT_STDOUT = 1 << 2,
	/*
	 * For a short program that must run to its end: neither an interrupt nor the death of our
	 * process kills it, and kl_proc_run() waits for it even after an interrupt.
	 */
	KL_PROC_FINISH = 1 << 3,
	/*
	 * If our process dies, the program gets SIGTERM instead of SIGKILL, so that it can end its
	 * own child processes.
	 */
	KL_PROC_ASK = 1 << 4,
	/* kl_proc_run() also copies `err` to our stderr as it arrives, made printable. */
	KL_PROC_SHOW_STDERR = 1 << 5,
};

struct kl_proc_result {
	int exit;   /* exit code; -1 if ended by a signal */
	int signal; /* signal that killed the program; 0 if the program exited */
	bool timed_out;
	bool truncated;
	int64_t wall_ns;
};

/**
 * Run a program and wait for it. Return 0 if the program ran, whatever its exit code, and also
 * after a timeout. It returns an error if the program could not be started (KL_ENOTFOUND if there
 * is no such program). An interrupt (SIGINT, SIGTERM, SIGHUP) kills the program's process group and
 * returns KL_EINTR.
 */
int kl_proc_run(struct kl_proc_result *res, const struct kl_proc_opts *opts);

/**
 * Run a program and append its stdout to `out` (NULL to discard it). Return KL_EIO if the program
 * was killed or its exit code is not 0; in the second case the message quotes its stderr. Other
 * errors are those of kl_proc_run().
 */
int kl_proc_output(struct kl_buf *out, const char *const *argv);

/**
 * A program that runs in the background. In the options of kl_proc_start(), a non-NULL `out` or
 * `err` only requests a pipe, and `timeout_ms` and `max_output` are ignored: the caller must call
 * kl_proc_stop() if the program runs for too long. The caller must also call kl_proc_release(),
 * which kills the program if it is still running.
 */
struct kl_proc {
	pid_t pid; /* 0 if not started, or already reaped */
	/* our ends of the pipes, non-blocking; -1 if there is none, or it is closed */
	int out, err;
};
#define KL_PROC_INIT                 \
	{                            \
		.out = -1, .err = -1 \
	}

int kl_proc_start(struct kl_proc *proc, const struct kl_proc_opts *opts);
/**
 * Return true if the program has ended, without waiting for it. The function returns true only once
 * for a program, and then sets `exit` and `signal` of `res`.
 */
bool kl_proc_ended(struct kl_proc_result *res, struct kl_proc *proc);
/** Send a signal: SIGKILL to the whole process group, any other signal to the program alone. */
void kl_proc_stop(const struct kl_proc *proc, int sig);
void kl_proc_release(struct kl_proc *proc);

/** Return true if SIGINT, SIGTERM or SIGHUP was received since kl_proc_catch_signals(). */
bool kl_proc_interrupted(void);
/**
 * Catch the signals that kl_proc_interrupted() reports, and ignore SIGXFSZ, so that a write beyond
 * the limit of file sizes fails instead of killing the process. main() calls it once.
 */
void kl_proc_catch_signals(void);
/**
 * If any of the descriptors 0 to 2 is closed, open /dev/null in its place, so that no file that we
 * open later gets the number of a standard stream. Writing to a stdout that was closed still fails.
 * main() calls this function first.
 */
void kl_proc_hold_standard(void);

#endif
