/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_YARDSTICK_INPROCESS_H
#define KL_YARDSTICK_INPROCESS_H

#include <stdint.h>

/*
 * inprocess - calls oracles and kernels as functions of this program, not in a process of their
 * own, so that thousands of jobs can be judged in minutes. All else of the worker is as ever. The
 * linker replaces kl_subject_start_cpu() (--wrap).
 *
 * A job has the arguments rows, cols, x, w, y, in this order.
 */
typedef void kl_inprocess_double(int64_t rows, int64_t cols, const double *x, const double *w,
				 double *y);
typedef void kl_inprocess_float(int64_t rows, int64_t cols, const float *x, const float *w,
				float *y);

struct kl_inprocess {
	kl_inprocess_double *truth;
	kl_inprocess_float *honest, *kernel;
};
/* What subjects call from now on. */
extern struct kl_inprocess kl_inprocess;

#endif
