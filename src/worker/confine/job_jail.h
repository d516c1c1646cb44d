/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_JOB_JAIL_H
#define KL_WORKER_CONFINE_JOB_JAIL_H

/*
 * job_jail - confines the process of a bundle's job of surface c. git-klineage runs such jobs in a
 * jail of its own (src/jail); a worker that runs alone has none.
 *
 * The process executes no byte of what it was sent: its children do, sealed (worker/subject/seal.h).
 * But it reads jobs, images and outputs that anybody can have made. It can read only the system's
 * files and its own, write only below one directory, open no socket, and trace no process but its
 * children. From Linux 6.12 on (Landlock ABI 6) it can send signals to no others, either.
 */
enum kl_job_closed {
	KL_JOB_CLOSED_CAPABILITIES = 1,
	KL_JOB_CLOSED_FILES = 2,   /* by Landlock */
	KL_JOB_CLOSED_CALLS = 4,   /* by seccomp */
	KL_JOB_CLOSED_NETWORK = 8, /* by namespaces: network, IPC */
};

/**
 * Confine this process; `dir` is the directory that it can write to. Sets *closed to what is closed
 * (enum kl_job_closed). What Linux does not have here remains open. KL_ECANNOT: it has no seccomp,
 * without which no kernel can be run.
 */
int kl_job_jail_enter(unsigned *closed, const char *dir);

#endif
