/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_JOB_JAIL_H
#define KL_WORKER_CONFINE_JOB_JAIL_H

/*
 * job_jail - confines the worker's process for a job of surface c from a bundle.
 *
 * git-klineage runs the worker in a jail (src/jail), but a worker that runs a bundle by itself has
 * no jail. The confined process does not execute the code that it was sent: only its children do,
 * and they are sealed (worker/subject/seal.h). But it reads jobs, images and outputs that anybody
 * may have made. So it can read only the system's files and its own, write only below one
 * directory, open no sockets, and trace only its children. From Linux 6.12 on (Landlock ABI 6), it
 * can also send signals only to its children.
 */
enum kl_job_closed {
	KL_JOB_CLOSED_CAPABILITIES = 1,
	KL_JOB_CLOSED_FILES = 2,   /* access is limited by Landlock */
	KL_JOB_CLOSED_CALLS = 4,   /* system calls are refused by seccomp */
	KL_JOB_CLOSED_NETWORK = 8, /* network and IPC are cut off by namespaces */
};

/**
 * Confine this process, so that it can write only below `dir`. Set *closed to what is closed (enum
 * kl_job_closed); what this Linux cannot close stays open. KL_ECANNOT: this Linux has no seccomp,
 * without which no kernel can be run.
 */
int kl_job_jail_enter(unsigned *closed, const char *dir);

#endif
