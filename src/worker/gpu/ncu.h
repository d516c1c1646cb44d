/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_NCU_H
#define KL_WORKER_GPU_NCU_H

#include "base/vec.h"
#include "text/json.h"

/*
 * ncu - hardware counters of a program's kernels, by Nsight Compute. It is optional, slow (every
 * launch is repeated several times) and often forbidden; which counters are read is fixed here. A
 * job never says which program is run: that is KLINEAGE_NCU in the worker's own environment, ncu on
 * PATH, or the toolkit's.
 *
 *	kl_ncu_find(&path);
 *	kl_ncu_run(&launches, &(struct kl_ncu){ .path = path, .argv = argv, .kernel = &names, ... });
 */
struct kl_ncu {
	const char *path;
	const char *const *argv;        /* the program, absolute, with its arguments */
	const struct kl_strvec *kernel; /* which are looked at, as the cubin names them */
	const char *log;                /* a file for its words, made and removed */
	/* caches are left as they are between repetitions */
	bool hot;
	int64_t limit_ms;
};

/** KL_ECANNOT: it is not here. */
int kl_ncu_find(char **path);

/**
 * An array, for each launch in order: kernel, ns, dram_ppm, sm_ppm, occupancy_ppm, l1_hit_ppm,
 * l2_hit_ppm, dram_read, dram_written (bytes), each as far as it was told, all integers.
 * KL_ECANNOT: nothing came, the message says why (no right to the counters, too slow, another GPU).
 */
int kl_ncu_run(json_t **launches, const struct kl_ncu *ncu);

/** What it wrote (--csv --page raw), as above; any bytes. KL_ECANNOT: no table of ours in there. */
int kl_ncu_parse(json_t **launches, const char *text, size_t len);

#endif
