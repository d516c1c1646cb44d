/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SEAL_H
#define KL_WORKER_SUBJECT_SEAL_H

#include <stdbool.h>

/*
 * seal - confines the child, in four steps. No byte of a kernel is read before the third step is
 * done, and none of its code runs before the fourth is done.
 *
 * kl_seal_limits: forbid core dumps and writing to files, and make the process end with its parent.
 * The process can still do ordinary work.
 *
 * kl_seal_begin: close every descriptor but `keep`; forbid reading clocks (the time-stamp counter
 * faults, the clock pages that Linux shares are unmapped); forbid cpuid, where Linux can; forbid
 * opening files by name, where Linux has Landlock. Threads that are started now inherit all this;
 * each must then call kl_seal_thread(), which allows only the system calls that kl_seal_end allows
 * a kernel with threads.
 *
 * kl_seal_mapping: allow only the system calls that map `keep`. No memory can become both writable
 * and executable.
 *
 * kl_seal_end: close `keep`, and allow no system call but exit; with `threads` also futex, to wait
 * for other threads of the process without a time limit, and to wake them.
 *
 * Seccomp filters kill the process for any other system call. A Linux without filters is not
 * supported: the older strict mode of seccomp allows read and write, but not the calls that map the
 * image.
 *
 * All return 0, or a negative error with its message.
 */
int kl_seal_limits(void);
int kl_seal_begin(int keep);
int kl_seal_thread(void);
int kl_seal_mapping(int keep);
int kl_seal_end(int keep, bool threads);

#endif
