/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_ERROR_H
#define KL_BASE_ERROR_H

/*
 * error - error codes, and the message that goes with one.
 *
 * A function returns 0, or one of these negative kinds, which a caller may
 * act on; the words for a person lie in one thread-local slot:
 *
 *	if (fd < 0)
 *		return kl_error_errno("cannot open '%s'", path);
 *	...
 *	err = kl_contract_read(&c, ...);
 *	if (err < 0)
 *		return kl_error_in(err, "workload '%s'", name);
 *
 * The message is set exactly once, where the failure begins, and may be
 * given context on the way up. Only src/cmd prints it. Messages are lower
 * case, without a full stop, and say what, where and what to do.
 */
enum kl_err {
	KL_ENOTFOUND = -1, /* it is not there */
	KL_EINVALID = -2,  /* input that breaks its format or its promise */
	KL_EEXISTS = -3,   /* the name is taken */
	KL_ECHANGED = -4,  /* somebody else moved it meanwhile: read again */
	KL_EBUSY = -5,     /* a lock is held, an operation in progress */
	KL_ECANNOT = -6,   /* cannot be tested here (exit code 125) */
	KL_EIO = -7,       /* the system refused: disk, memory, process */
	KL_ETIMEOUT = -8,  /* a limit ran out */
	KL_EINTR = -9,     /* the user interrupted */
	KL_ENO = -10,      /* a negative answer, not a failure (exit 1) */
	KL_EUSAGE = -11,   /* the command line is wrong (exit 129) */
};

/** Set the message, return `kind`. */
int kl_error(enum kl_err kind, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * The same from errno: ": <strerror>" is added; ENOENT is KL_ENOTFOUND, EEXIST
 * KL_EEXISTS, the rest KL_EIO.
 */
int kl_error_errno(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** Put "<context>: " in front of the present message; returns `err`. */
int kl_error_in(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Add "\n<hint line>" that the command layer prints as a `hint:`; returns `err`. */
int kl_error_hint(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** The message; borrowed, valid until the next error of this thread. */
const char *kl_error_last(void);

/** The hints, newline-separated, or "" . */
const char *kl_error_hints(void);

void kl_error_clear(void);

/** Exit code of an error kind: 1, 125, 129 or 128. */
int kl_error_exit(int err);

/** A bug in git-klineage itself: print and abort. */
#define KL_BUG(...) kl_bug(__FILE__, __LINE__, __VA_ARGS__)
void kl_bug(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

#endif
