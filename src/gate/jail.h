/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_JAIL_H
#define KL_GATE_JAIL_H

#include "base/proc.h"

/*
 * jail - run a program on hostile input with nothing in reach but what is
 * named here (DESIGN: jails). Levels, best first; the first that works on this
 * machine is taken, and every verdict says which:
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

struct kl_jail {
	enum kl_jail_level level;
};

/** Probe once. `want` KL_JAIL_AUTO never yields KL_JAIL_NONE: KL_ECANNOT instead. */
int kl_jail_open(struct kl_jail *out, enum kl_jail_level want);
int kl_jail_level_parse(enum kl_jail_level *out, const char *name);
const char *kl_jail_level_name(enum kl_jail_level level);
const char *kl_jail_tier(const struct kl_jail *j);

enum kl_jail_policy {
	KL_JAIL_COMPILE,	/* toolchain readable, work directory writable; fork and exec allowed; no network, no home */
	KL_JAIL_RUN,		/* the worker: its own program and libraries, work directory writable, no network; children by fork and exec of itself */
};

struct kl_jail_run {
	enum kl_jail_policy policy;
	const char *const *argv;
	const char *workdir;		/* the one writable directory; appears at the same path */
	const char *const *readable;	/* further paths, NULL-terminated, or NULL */
	const char *const *env;		/* NULL: a fixed minimal environment */
	struct kl_buf *out, *err;
	const void *in;
	size_t in_len;
	int64_t timeout_ms;
	int64_t mem_mib;		/* address space (compile) or data limit; 0: default */
	int64_t file_mib;		/* largest file; 0: default */
	int max_procs;			/* 0: default */
};

int kl_jail_run(struct kl_proc_result *res, const struct kl_jail *j, const struct kl_jail_run *o);

#endif
