/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SEAL_H
#define KL_WORKER_SUBJECT_SEAL_H

/*
 * seal - confines the child: limits, and then no way out.
 *
 * kl_seal_limits: core dumps off, small stack, no new files, dies with its
 * parent. May be called while ordinary work still has to be done.
 *
 * kl_seal: no descriptors, no clock (the time-stamp counter faults, the kernel's
 * shared clock pages are unmapped), and no system call but exit: a seccomp
 * filter that kills, or where filters are not compiled in, strict mode. A filter
 * is preferred since strict mode is refused to a process that is already under
 * one, as everything in a container is, and since it also kills for read and
 * write, which strict mode lets through.
 *
 * Both return 0, or a negative error with its message.
 */
int kl_seal_limits(void);
int kl_seal(void);

#endif
