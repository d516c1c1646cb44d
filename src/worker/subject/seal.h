/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SEAL_H
#define KL_WORKER_SUBJECT_SEAL_H

/*
 * seal - confines the child: first by limits, then by removing every way out.
 *
 * kl_seal_limits: no core dumps, a small stack, no writing to files, death with the parent. Can be
 * called while ordinary work remains to be done.
 *
 * kl_seal: no descriptors, no clock (the time-stamp counter faults, the clock pages that Linux
 * shares are unmapped), and no system call but exit: by a seccomp filter that kills, or by strict
 * mode if Linux was built without filters. A filter is preferred because strict mode is refused to
 * a process that already has one, as everything in a container does, and because it also kills on
 * read and write, which strict mode allows.
 *
 * Both return 0, or a negative error with its message.
 */
int kl_seal_limits(void);
int kl_seal(void);

#endif
