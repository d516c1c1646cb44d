/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_TEAM_LOOP_H
#define KL_WORKER_SUBJECT_TEAM_LOOP_H

#include <stdint.h>

/*
 * team_loop - the loop in which the threads of a kernel wait (team.h).
 *
 *	joined:	decrement kl_team_working; at 0, wake the first thread
 *		spin, then sleep, as long as the number of regions is still that in r15
 *	look:	r15 = the number of regions, if that differs from r15
 *	begun:	reset the floating-point environment and the direction flag
 *		kl_team_work(), then joined
 *
 * A thread between `joined` and `look` that has its first stack pointer runs no code of the kernel
 * until the number of regions differs from its r15. A thread between `look` and `begun` may have
 * read a number that differed from its r15, so the parent makes it read the number again.
 */
void kl_team_loop(void) __attribute__((noreturn));
extern const char kl_team_joined[], kl_team_look[], kl_team_begun[];

extern uint32_t kl_team_regions;  /* number of regions that were begun */
extern uint32_t kl_team_working;  /* threads that have not ended the last region */
extern uint32_t kl_team_sleepers; /* threads that sleep on kl_team_regions */

/** Run this thread's part of the region, if it has one. */
void kl_team_work(void);

/* 1 if the loop exists for this processor, else 0. */
#ifdef __x86_64__
#define KL_TEAM_LOOP 1
#else
#define KL_TEAM_LOOP 0
#endif

#endif
