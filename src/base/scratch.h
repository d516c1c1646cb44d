/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_SCRATCH_H
#define KL_BASE_SCRATCH_H

/*
 * scratch - a private directory of a process for large or secret files. The directory is removed
 * when it is released, or, if its process was killed, by the next process that opens a directory
 * with the same prefix.
 *
 * The directory is "<base>/<prefix>-<pid>-XXXXXX". Its process holds an flock on it, so a directory
 * of this user that no process has locked is abandoned. Other files with such a name, and the
 * directories of other users, are left alone.
 */
struct kl_scratch {
	char *path;
	int fd; /* descriptor of the directory, which holds the lock; -1 if not open */
};

#define KL_SCRATCH_INIT  \
	{                \
		.fd = -1 \
	}

/** Create a directory (mode 0700) below $TMPDIR or /tmp, after removing abandoned directories. */
int kl_scratch_open(struct kl_scratch *out, const char *prefix);
/** Like kl_scratch_open(), but below `base`. */
int kl_scratch_open_in(struct kl_scratch *out, const char *base, const char *prefix);
/** Remove the directory and release its lock. */
void kl_scratch_release(struct kl_scratch *scratch);

#endif
