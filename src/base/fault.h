/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_FAULT_H
#define KL_BASE_FAULT_H

/*
 * fault - fault points before and after every durable step. They are built in only with
 * `make FAULT=1` (macro KL_FAULT_POINTS). With KLINEAGE_FAULT=<n>:kill the n-th point that is
 * reached kills the process with SIGKILL, <n>:fail makes it report KL_EIO.
 * KLINEAGE_FAULT_LOG=<file> gets one line "<n> <name>" for each point reached, so that a sweep
 * knows N.
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
