/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_ERROR_H
#define KL_BASE_ERROR_H

/*
 * error - error codes and the thread's last error message.
 *
 * A function returns 0 or one of these negative codes, which the caller can act on; the message for
 * the user is kept in one thread-local slot:
 *
 *	if (fd < 0)
 *		return kl_error_errno("cannot open '%s'", path);
 *	...
 *	err = kl_contract_read(&c, ...);
 *	if (err < 0)
 *		return kl_error_in(err, "workload '%s'", name);
 *
 * The message is set once, where the failure occurs; callers can prefix it with context. Only
 * src/cmd and the main() of klineage-worker print it. Messages start in lower case, have no full
 * stop, and say what failed, where, and what to do.
 */
enum kl_err {
	KL_ENOTFOUND = -1, /* something does not exist */
	KL_EINVALID = -2,  /* malformed input, or input that violates a requirement */
	KL_EEXISTS = -3,   /* the thing to create already exists */
	KL_ECHANGED = -4,  /* another process changed the data, so read them again */
	KL_EBUSY = -5,     /* a lock is held, or an operation is in progress */
	KL_ECANNOT = -6,   /* a kernel cannot be tested on this machine (exit code 125) */
	KL_EIO = -7,       /* a system call or a program failed */
	KL_ETIMEOUT = -8,  /* a time limit was exceeded */
	KL_EINTR = -9,     /* the user interrupted the program (exit code 130) */
	KL_ENO = -10,      /* a negative result, not a failure (exit code 1) */
	KL_EUSAGE = -11,   /* wrong command line (exit code 129) */
};

/** Set the message, clear the hints, and return `kind`. */
int kl_error(enum kl_err kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * Set the message with ": <strerror(errno)>" appended. Return KL_ENOTFOUND for ENOENT, KL_EEXISTS
 * for EEXIST, KL_EINTR for EINTR and KL_EIO for any other errno.
 */
int kl_error_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Prefix the current message with "<context>: " and return `err`. */
int kl_error_in(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Replace the message and keep the hints; return `err`. */
int kl_error_reword(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Add a line that src/cmd prints as a `hint:`, and return `err`. */
int kl_error_hint(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * Return the message, or "no message" if there is none. Borrowed; valid until this thread sets or
 * clears an error.
 */
const char *kl_error_last(void);

/** Return the hints, separated by newlines, or "" if there are none. Borrowed. */
const char *kl_error_hints(void);

void kl_error_clear(void);

/** Return the exit code of the program for an error code: 0, 1, 125, 128, 129 or 130. */
int kl_error_exit(int err);

/** Report a bug in git-klineage itself and abort. */
#define KL_BUG(...) kl_bug(__FILE__, __LINE__, __VA_ARGS__)
void kl_bug(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

#endif
