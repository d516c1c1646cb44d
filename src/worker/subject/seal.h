/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SEAL_H
#define KL_WORKER_SUBJECT_SEAL_H

/*
 * seal - confines the child, in three steps. No byte of a kernel is read before the second, and
 * none runs before the third.
 *
 * kl_seal_limits: no core dumps, no writing to files, death with the parent. Can be called while
 * ordinary work remains to be done.
 *
 * kl_seal_begin: no descriptor but `keep`; no clock (the time-stamp counter faults, the clock pages
 * that Linux shares are unmapped); no identification of the processor, where Linux can forbid that;
 * no file by its name, where Linux has Landlock; and no system call but those that map `keep`: no
 * memory can become both writable and executable.
 *
 * kl_seal_end: no descriptor, and no system call but exit.
 *
 * System calls are refused by seccomp filters that kill the process. A Linux without filters is not
 * supported: strict mode would allow more, and too late.
 *
 * All return 0, or a negative error with its message.
 */
int kl_seal_limits(void);
int kl_seal_begin(int keep);
int kl_seal_end(int keep);

#endif
