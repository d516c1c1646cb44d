/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_FAULT_H
#define KL_BASE_FAULT_H

/*
 * fault - fault points before and after every durable step. They are compiled in only with `make
 * FAULT=1` (macro KL_FAULT_POINTS). KLINEAGE_FAULT=<n>:kill kills the process with SIGKILL at the
 * n-th point that it reaches; <n>:fail makes the n-th point return KL_EIO. A line "<n> <name>" for
 * each point reached is appended to the file $KLINEAGE_FAULT_LOG, so that a test can count the
 * points and then make each of them fail in turn.
 *
 *	if ((err = KL_FAULT("op-ref")) < 0)
 *		return err;
 */
#ifdef KL_FAULT_POINTS
int kl_fault(const char *name);
#define KL_FAULT(name) kl_fault(name)
#else
#define KL_FAULT(name) 0
#endif

#endif
