/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JAIL_JAIL_H
#define KL_JAIL_JAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/proc.h"

/*
 * jail - runs a program on untrusted input, confined to the files that its caller names. There are
 * several levels, listed here from strongest to weakest. The first that works on this machine is
 * used, and every verdict records its tier:
 *
 *	level      means                                               tier
 *	bwrap      bubblewrap: namespaces                              host-sandboxed
 *	landlock   Landlock (ABI >= 2), seccomp, resource limits       host-sandboxed
 *	chroot     root only: another user id, chroot, limits          host-restricted
 *	none       limits; only with config klineage.jail=none         unsandboxed
 *
 * A level can be requested (config klineage.jail, KLINEAGE_JAIL in tests). If the requested level
 * does not work here, that is an error (KL_ECANNOT); a weaker level is never used instead.
 */
enum kl_jail_level { KL_JAIL_AUTO, KL_JAIL_BWRAP, KL_JAIL_LANDLOCK, KL_JAIL_CHROOT, KL_JAIL_NONE };

/*
 * What each level confines, and what it does not:
 *
 *	bwrap     The program sees only /usr, the work directory and the paths of
 *	          `readable`, in pid, ipc, uts and network namespaces of its own.
 *	          If root starts it, it changes to another user id; otherwise it
 *	          gets a user namespace.
 *	landlock  The program can open the same files as with bwrap. It cannot
 *	          list other directories, but can read the sizes and modes (stat)
 *	          of files whose names it knows. Before ABI 6 it can send signals
 *	          to other processes of the user. With KL_JAIL_RUN, the worker's
 *	          own code, but no judged kernel, can change the modes, owners and
 *	          times of the user's files.
 *	chroot    With mount rights: the program sees the same files as with bwrap,
 *	          in mount, ipc and network namespaces. Without: there is no
 *	          chroot, only another user id, so that the program can read
 *	          world-readable files, and can write only to the work directory
 *	          and to what every user can write.
 *	none      Only the resource limits are set.
 *
 * All levels set the resource limits of struct kl_jail_run and a fixed environment. All except none
 * also set no_new_privs and a seccomp filter (no sockets, namespaces, mounts, io_uring, bpf ...),
 * and kill remaining processes at the end. Under the filter a program cannot enter seccomp's strict
 * mode, but can install a second filter. With KL_JAIL_RUN, /proc is visible.
 */
struct kl_jail {
	enum kl_jail_level level;
	bool userns;    /* bwrap: use a user namespace, because we are not root or cannot mount */
	bool no_mounts; /* chroot: only change the user id, because root cannot mount here */
	/* processor time in ms that backend/tool.c allows one compiler run; 0 for its default */
	int64_t compile_ms;
};

/**
 * Choose a level and check by a test run that it works. With KL_JAIL_AUTO, choose the first level
 * that works, but never KL_JAIL_NONE. Return KL_ECANNOT if the level does not work on this machine,
 * or no level does.
 */
int kl_jail_open(struct kl_jail *out, enum kl_jail_level want);
/**
 * Open the level that KLINEAGE_JAIL names; if that is not set, the configured level `name` (NULL
 * for KL_JAIL_AUTO). Return KL_EINVALID if there is no such level. Other errors are those of
 * kl_jail_open().
 */
int kl_jail_open_named(struct kl_jail *out, const char *name);
int kl_jail_level_parse(enum kl_jail_level *out, const char *name);
const char *kl_jail_level_name(enum kl_jail_level level);
/** Return the tier that verdicts record: "host-sandboxed", "host-restricted" or "unsandboxed". */
const char *kl_jail_tier(const struct kl_jail *jail);

enum kl_jail_policy {
	KL_JAIL_COMPILE, /* for a compiler, which forks and executes programs of /usr */
	/* for the worker, which forks and executes only itself */
	KL_JAIL_RUN,
};

struct kl_jail_run {
	enum kl_jail_policy policy;
	const char *const *argv; /* argv[0] is an absolute path, or a name in /usr/bin */
	/*
	 * the only writable directory; absolute path, which is the same inside and outside the jail
	 */
	const char *workdir;
	/*
	 * paths that can be read in addition to those that every jail shows; NULL-terminated; NULL
	 * if there is none
	 */
	const char *const *readable;
	const char *const *env;   /* the complete environment; NULL for a fixed minimal one */
	struct kl_buf *out, *err; /* stdout and stderr are appended; NULL to discard it */
	const void *in;           /* stdin, `in_len` bytes; NULL for /dev/null */
	size_t in_len;
	int64_t timeout_ms; /* limit of wall-clock time; 0 if there is no limit */
	/* limit of processor time of each process, rounded up to seconds; 0 if there is no limit */
	int64_t cpu_ms;
	/* limit in MiB of address space (compiler) or data (worker); 0 for the default */
	int64_t mem_mib;
	int64_t file_mib; /* limit in MiB of the size of a file; 0 for the default */
	int max_procs;    /* maximum number of processes of the user id; 0 for the default */
};

/**
 * Run a program in the jail. Return 0 if it ran, however it ended (see kl_proc_run()). Return
 * KL_ECANNOT if the jail could not be built. As root, this gives the work directory and everything
 * in it to the user id of the jail.
 */
int kl_jail_run(struct kl_proc_result *res, const struct kl_jail *jail,
		const struct kl_jail_run *run);

#endif
