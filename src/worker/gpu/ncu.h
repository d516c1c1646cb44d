/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_NCU_H
#define KL_WORKER_GPU_NCU_H

#include "base/vec.h"
#include "text/json.h"

/*
 * ncu - reads the hardware counters of a program's kernels with Nsight Compute.
 *
 * It is optional, slow (every launch is repeated several times) and often forbidden. The list of
 * counters is fixed here. A job never chooses the program: it is KLINEAGE_NCU in the worker's own
 * environment, ncu on PATH, or the toolkit's ncu.
 *
 *	kl_ncu_find(&path);
 *	kl_ncu_run(&launches, &(struct kl_ncu){ .path = path, .argv = argv, .kernel = &names... });
 */
struct kl_ncu {
	const char *path;
	const char *const *argv; /* the program to measure (absolute path) and its arguments */
	const struct kl_strvec *kernel; /* names of the kernels to measure, as in the cubin */
	const char *log;                /* path of ncu's log file; created and removed */
	/* do not flush caches between repetitions */
	bool hot;
	int64_t limit_ms;
};

/** Find the ncu program; the caller frees *path. KL_ECANNOT: not installed. */
int kl_ncu_find(char **path);

/**
 * Run the program under ncu. *launches is an array with one object per launch (the first 16), in
 * order: kernel, ns, dram_ppm, sm_ppm, occupancy_ppm, l1_hit_ppm, l2_hit_ppm, dram_read,
 * dram_written (bytes). Counters that ncu did not report are absent; all are integers. KL_ECANNOT:
 * no counters; the message says why (no permission to read them, too slow, another GPU).
 */
int kl_ncu_run(json_t **launches, const struct kl_ncu *ncu);

/**
 * Parse ncu's output (--csv --page raw) into such an array; `text` can be any bytes. KL_ECANNOT: it
 * has no table of these counters.
 */
int kl_ncu_parse(json_t **launches, const char *text, size_t len);

#endif
