/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PROC_H
#define KL_BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * proc - runs a program, or starts one in the background. A run takes its input from a buffer,
 * collects output into bounded buffers, and kills the whole process group at its time limit.
 */
struct kl_proc_opts {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
	/* the complete environment; NULL: ours without keys of models (base/environment.h) */
	const char *const *env;
	const char *dir; /* working directory; NULL: inherit */
	const void *in;  /* stdin bytes; NULL: /dev/null */
	size_t in_len;
	struct kl_buf *out, *err; /* NULL: /dev/null, or ours with KL_PROC_INHERIT_* */
	size_t max_output;        /* bytes per stream; 0: 64 MiB; more is cut, `truncated` is set */
	int64_t timeout_ms;       /* 0: none */
	int flags;                /* enum kl_proc_flags */
	/*
	 * Called in the child between fork and exec, to set up limits or a sandbox. Only
	 * async-signal-safe calls. A non-zero return is an errno: the program is not run.
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
	 * A short program that must not be cut off: neither an interrupt nor our own death kills
	 * it, and an interrupt does not end the wait for it.
	 */
	KL_PROC_FINISH = 1 << 3,
	/*
	 * Our own death sends it SIGTERM instead of SIGKILL, so that it can end its own child
	 * processes.
	 */
	KL_PROC_ASK = 1 << 4,
	/* kl_proc_run() also copies `err` to our stderr as it arrives, made printable. */
	KL_PROC_SHOW_STDERR = 1 << 5,
};

struct kl_proc_result {
	int exit;   /* exit code; -1: ended by a signal */
	int signal; /* signal that killed it; 0: it exited */
	bool timed_out;
	bool truncated;
	int64_t wall_ns;
};

/**
 * Run a program and wait for it. Returns 0 if it ran, whatever its exit code, and also after a
 * timeout. It returns an error if the program could not be started (KL_ENOTFOUND: no such program).
 * An interrupt (SIGINT, SIGTERM, SIGHUP) kills its process group and returns KL_EINTR.
 */
int kl_proc_run(struct kl_proc_result *res, const struct kl_proc_opts *opts);

/**
 * Run with stdout in `out` (can be NULL). KL_EIO: the program was killed or its exit code is not 0;
 * for an exit code the message quotes stderr. Other errors are those of kl_proc_run().
 */
int kl_proc_output(struct kl_buf *out, const char *const *argv);

/**
 * A program that runs in the background. In its `opts`, non-NULL `out` and `err` only request a
 * pipe, and `timeout_ms` and `max_output` are ignored: the caller limits it by kl_proc_stop(). The
 * caller must call kl_proc_release(), which kills the program if it still runs.
 */
struct kl_proc {
	pid_t pid;    /* 0: not started, or already reaped */
	int out, err; /* our ends of the pipes, non-blocking; -1: none, or closed */
};
#define KL_PROC_INIT                 \
	{                            \
		.out = -1, .err = -1 \
	}

int kl_proc_start(struct kl_proc *proc, const struct kl_proc_opts *opts);
/**
 * True if the program has ended; then sets `exit` and `signal` of `res`. It is true only once for a
 * program. Does not wait.
 */
bool kl_proc_ended(struct kl_proc_result *res, struct kl_proc *proc);
/** Send a signal: SIGKILL to the whole process group, any other to the program alone. */
void kl_proc_stop(const struct kl_proc *proc, int sig);
void kl_proc_release(struct kl_proc *proc);

/** Was SIGINT, SIGTERM or SIGHUP received since kl_proc_catch_signals()? */
bool kl_proc_interrupted(void);
/**
 * Install the handlers that kl_proc_interrupted() reports, and let writes fail at the limit of file
 * sizes; main calls it once.
 */
void kl_proc_catch_signals(void);
/**
 * Open those of the descriptors 0 to 2 that are closed, so that no file of ours gets their number.
 * main() calls it first. Writing to a closed stdout stays an error.
 */
void kl_proc_hold_standard(void);

#endif
