/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_NCU_H
#define KL_WORKER_GPU_NCU_H

#include "base/vec.h"
#include "text/json.h"

/*
 * ncu - reads the hardware counters of a program's kernels with Nsight Compute.
 *
 * Counters are optional, slow to read (ncu repeats every launch several times) and often forbidden.
 * The list of counters is fixed. A job cannot choose which ncu is run: the worker runs the one that
 * its environment variable KLINEAGE_NCU names, else ncu on PATH, else ncu of the CUDA toolkit.
 *
 *	kl_ncu_find(&path);
 *	kl_ncu_run(&launches, &(struct kl_ncu){ .path = path, .argv = argv, .kernel = &names... });
 */
struct kl_ncu {
	const char *path;               /* path of ncu */
	const char *const *argv;        /* absolute path of the program to measure; its arguments */
	const struct kl_strvec *kernel; /* names of the kernels to measure, as in the cubin */
	const char *log;                /* path of ncu's log file; created and removed */
	/* do not flush caches between repetitions of a launch */
	bool hot;
	int64_t limit_ms;
};

/**
 * Find the ncu program; the caller frees *path. Return KL_ECANNOT if ncu is not installed, or
 * KLINEAGE_NCU names no executable file.
 */
int kl_ncu_find(char **path);

/**
 * Run the program under ncu. *launches is an array with one object for each launch, in order, but
 * at most 16. The members of an object are `kernel`, `ns`, `dram_ppm`, `sm_ppm`, `occupancy_ppm`,
 * `l1_hit_ppm`, `l2_hit_ppm`, `dram_read` and `dram_written` (bytes). All counters are integers;
 * those that ncu did not report are absent. Return KL_ECANNOT if no counters could be read. The
 * message says why (no permission or too slow, for example).
 */
int kl_ncu_run(json_t **launches, const struct kl_ncu *ncu);

/**
 * Parse ncu's output (--csv --page raw) into an array like that of kl_ncu_run(); `text` can be any
 * bytes. Return KL_ECANNOT if `text` has no table of these counters.
 */
int kl_ncu_parse(json_t **launches, const char *text, size_t len);

#endif
