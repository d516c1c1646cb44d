/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JAIL_JAIL_H
#define KL_JAIL_JAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc.h"

/*
 * jail - runs a program on untrusted input, confined to the files that its caller names. Levels,
 * best first; the first that works on this machine is used, and every verdict records its tier:
 *
 *	bwrap      bubblewrap: namespaces; /usr and the work directory           -> host-sandboxed
 *	landlock   Landlock (ABI >= 2) + seccomp + limits                        -> host-sandboxed
 *	chroot     root only: dropped uid, chroot, limits                        -> host-restricted
 *	none       only with config klineage.jail=none                           -> unsandboxed
 *
 * The level can be forced (config klineage.jail, KLINEAGE_JAIL in tests). A forced level that does
 * not work here is an error (KL_ECANNOT); a weaker one is never used instead.
 */
enum kl_jail_level { KL_JAIL_AUTO, KL_JAIL_BWRAP, KL_JAIL_LANDLOCK, KL_JAIL_CHROOT, KL_JAIL_NONE };

/*
 * What each level confines, and what it does not:
 *
 *	bwrap     shows only /usr, the work directory and the paths of
 *	          `readable`; own pid, ipc, uts and network namespaces.
 *	          Started by root, it drops to another user id; otherwise it
 *	          uses a user namespace.
 *	landlock  allows the same files by rules; other files cannot be opened,
 *	          but their names, sizes and modes can be read (stat).
 *	          No sockets (seccomp). Before ABI 6, other processes of the
 *	          same user can be signalled. In KL_JAIL_RUN, where only the
 *	          worker can make such calls, modes of the user's files can be
 *	          changed.
 *	chroot    with mount rights: the files of bwrap, in mount, ipc and network
 *	          namespaces. Without: no chroot, only another user id, so
 *	          that nothing can be written, and only world-readable files
 *	          can be read; no sockets, limits.
 *	none      limits only.
 *
 * All levels except none: limits of kl_jail_run, a fixed environment, a
 * seccomp filter (no sockets, namespaces, mounts, io_uring, bpf ...), no new
 * privileges; remaining processes are killed at the end. Under the filter a
 * program cannot enter seccomp's strict mode, but can install a second
 * filter. /proc is visible in KL_JAIL_RUN.
 */
struct kl_jail {
	enum kl_jail_level level;
	bool userns;        /* bwrap: unprivileged, or root without mount rights */
	bool no_mounts;     /* chroot: only the user id is dropped */
	int64_t compile_ms; /* processor time of one compiler run; 0: 30 s */
};

/**
 * Open a level after a test run; KL_JAIL_AUTO: the first that works, but never KL_JAIL_NONE.
 * KL_ECANNOT: the level does not work on this machine, or no level does.
 */
int kl_jail_open(struct kl_jail *out, enum kl_jail_level want);
int kl_jail_level_parse(enum kl_jail_level *out, const char *name);
const char *kl_jail_level_name(enum kl_jail_level level);
/** The tier of a verdict: "host-sandboxed" ... "unsandboxed". */
const char *kl_jail_tier(const struct kl_jail *jail);

enum kl_jail_policy {
	KL_JAIL_COMPILE, /* the toolchain: forks, and executes anything in /usr */
	/* the worker: its program and libraries; forks and executes itself */
	KL_JAIL_RUN,
};

struct kl_jail_run {
	enum kl_jail_policy policy;
	const char *const *argv;     /* argv[0]: absolute, or a name in /usr/bin */
	const char *workdir;         /* absolute; the only writable directory; same path inside */
	const char *const *readable; /* further paths, NULL-terminated, or NULL */
	const char *const *env;      /* NULL: a fixed minimal environment */
	struct kl_buf *out, *err;    /* receive stdout and stderr; can be NULL */
	const void *in;              /* stdin, `in_len` bytes */
	size_t in_len;
	int64_t timeout_ms;
	int64_t cpu_ms;   /* processor time of each process, rounded up to seconds; 0: no limit */
	int64_t mem_mib;  /* address space (compile) or data limit; 0: default */
	int64_t file_mib; /* largest file; 0: default */
	int max_procs;    /* 0: default */
};

/**
 * Run a program. Returns 0 if it ran, however it ended (as kl_proc_run); KL_ECANNOT: the jail could
 * not be built. As root, the work directory and everything in it is given to the jail's user id.
 */
int kl_jail_run(struct kl_proc_result *res, const struct kl_jail *jail,
		const struct kl_jail_run *run);

#endif
