/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JAIL_JAIL_H
#define KL_JAIL_JAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc.h"

/*
 * jail - runs a program on hostile input with nothing in reach but what is named here. Levels,
 * best first; the first that works on this machine is taken, and every verdict says which:
 *
 *	bwrap      bubblewrap: namespaces, nothing but /usr and the work directory   -> host-sandboxed
 *	landlock   Landlock (ABI >= 2) + seccomp + limits                            -> host-sandboxed
 *	chroot     root only: dropped uid, chroot, limits                            -> host-restricted
 *	none       only with config klineage.jail=none                               -> unsandboxed
 *
 * The level can be forced (config klineage.jail, KLINEAGE_JAIL in tests); a
 * forced level that does not work here is KL_ECANNOT, never a weaker one.
 */
enum kl_jail_level { KL_JAIL_AUTO, KL_JAIL_BWRAP, KL_JAIL_LANDLOCK, KL_JAIL_CHROOT, KL_JAIL_NONE };

/*
 * What each level confines, and what it does not:
 *
 *	bwrap     sees /usr, the work directory and what `readable` names; own
 *	          pid, ipc, uts and network namespaces. Started by root it
 *	          drops to a user id of its own, otherwise it stands in a user
 *	          namespace.
 *	landlock  the same files by rule instead of by absence; names, sizes and
 *	          modes of other files can be asked (stat), contents cannot.
 *	          No sockets (seccomp). Other processes of the same user can be
 *	          signalled before ABI 6; in KL_JAIL_RUN, where only the worker
 *	          can ask for it, modes of the user's files can be changed.
 *	chroot    with mount rights: the files of bwrap, in mount, ipc and network
 *	          namespaces. Without: no chroot, only a user id of its own, so
 *	          that nothing can be written, and what is not world-readable
 *	          not be read; no sockets, limits.
 *	none      limits only.
 *
 * All levels but none: limits of kl_jail_run, a fixed environment, a
 * seccomp filter (no sockets, namespaces, mounts, io_uring, bpf ...), no new
 * privileges; whatever is left is killed at the end. Below the filter seccomp's
 * strict mode cannot be entered; a second filter can. /proc is there
 * in KL_JAIL_RUN.
 */
struct kl_jail {
	enum kl_jail_level level;
	bool userns;        /* bwrap: unprivileged, or root without mount rights */
	bool no_mounts;     /* chroot: only the user id is dropped */
	int64_t compile_ms; /* limit of one compiler run; 0: 30 s */
};

/** Probe once. `want` KL_JAIL_AUTO never yields KL_JAIL_NONE: KL_ECANNOT instead. */
int kl_jail_open(struct kl_jail *out, enum kl_jail_level want);
int kl_jail_level_parse(enum kl_jail_level *out, const char *name);
const char *kl_jail_level_name(enum kl_jail_level level);
const char *kl_jail_tier(const struct kl_jail *jail);

enum kl_jail_policy {
	KL_JAIL_COMPILE, /* the toolchain: fork and exec of anything in /usr */
	/* the worker: its program and libraries; forks and executes itself */
	KL_JAIL_RUN,
};

struct kl_jail_run {
	enum kl_jail_policy policy;
	const char *const *argv;     /* argv[0]: absolute, or a name in /usr/bin */
	const char *workdir;         /* absolute; the one writable directory; same path inside */
	const char *const *readable; /* further paths, NULL-terminated, or NULL */
	const char *const *env;      /* NULL: a fixed minimal environment */
	struct kl_buf *out, *err;
	const void *in;
	size_t in_len;
	int64_t timeout_ms;
	int64_t mem_mib;  /* address space (compile) or data limit; 0: default */
	int64_t file_mib; /* largest file; 0: default */
	int max_procs;    /* 0: default */
};

/**
 * 0 once the program ran, whatever its end (as kl_proc_run); KL_ECANNOT: the jail
 * could not be built. As root the work directory and what lies in it is handed to the
 * jail's user id.
 */
int kl_jail_run(struct kl_proc_result *res, const struct kl_jail *jail,
		const struct kl_jail_run *run);

#endif
