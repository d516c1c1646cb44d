/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_JOB_JAIL_H
#define KL_WORKER_CONFINE_JOB_JAIL_H

/*
 * job_jail - confines the worker's process for a job of surface c from a bundle.
 *
 * git-klineage runs the worker in a jail (src/jail), but a worker that a person runs with a bundle
 * has no jail. The confined process executes no code from the bundle: only its children do, and
 * they are sealed (worker/subject/seal.h). But the confined process reads jobs, images and outputs
 * that anybody may have made. So it may read only files of the system and files of its own, write
 * only below one directory, open no sockets, and trace only its children. From Linux 6.12 on
 * (Landlock ABI 6), it may also send signals only to its children.
 */
enum kl_job_closed {
	KL_JOB_CLOSED_CAPABILITIES = 1, /* all capabilities are dropped */
	KL_JOB_CLOSED_FILES = 2,        /* access to files is limited by Landlock */
	KL_JOB_CLOSED_CALLS = 4,        /* system calls are refused by seccomp */
	KL_JOB_CLOSED_NETWORK = 8,      /* network and IPC are cut off by namespaces */
};

/**
 * Confine this process; with Landlock it can then write only below `dir`, and to devices like
 * /dev/null. Set *closed to the bits of the restrictions that are in force (enum kl_job_closed). A
 * restriction that this Linux does not support is left out, and its bit is not set. Return
 * KL_ECANNOT if this Linux has no seccomp, without which no kernel can be run.
 */
int kl_job_jail_enter(unsigned *closed, const char *dir);

#endif
