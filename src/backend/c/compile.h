/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_COMPILE_H
#define KL_BACKEND_C_COMPILE_H

#include "contract/surface.h"
#include "event/facts.h"
#include "event/platform.h"
#include "jail/jail.h"
#include "text/digest.h"

/*
 * compile - compiles sources to an audited shared object, in the compile jail. No byte of it runs
 * before the audit.
 *
 * The object links the surface with the gate's own runtime (templates/runtime: malloc
 * over the arena, nothing else) and is linked by us with fixed flags; from
 * the contract come only the sources and flags on the allow-list
 * (docs/formats.md, "flags").
 */

struct kl_artefact {
	char *so;		/* path of the shared object, in the operation's directory */
	char digest[65];	/* sha256 of its bytes */
	struct kl_facts facts;
	char *log;		/* compiler's messages, cut at 16 KiB */
	struct kl_strvec kernels;	/* cuda with host code: the kernels it holds */
	json_t *statics;	/* cuda: figures of each kernel that need no run; else NULL */
};
void kl_artefact_free(struct kl_artefact *a);
KL_DEFINE_CLEANUP(struct kl_artefact *, kl_artefact_free)

/*
 * Results: 0 and an artefact; KL_ENO and `*class` "compile" (does not compile:
 * message has the first error) or "cheat" (audit refused: constructor, IFUNC,
 * undeclared or reserved symbol, system call, TLS, text relocation ...; message names it);
 * KL_ECANNOT: no compiler.
 */
int kl_compile_surface(struct kl_artefact **out, const char **class_, const struct kl_jail *j,
		       const struct kl_platform *p, const struct kl_surface *s, const char *dir);

/*
 * An oracle is compiled twice, to `dir`/truth.so with kl_real as double and to `dir`/honest.so as float, both
 * without contraction.
 */
enum kl_oracle { KL_ORACLE_TRUTH, KL_ORACLE_HONEST };
/** "truth", "honest" */
const char *kl_oracle_name(enum kl_oracle which);

/** One of them. KL_ECANNOT while KL_ORACLE_TODO stands in it; KL_EINVALID: it does not compile, or the audit
 * refuses it. */
int kl_compile_oracle(const struct kl_jail *j, const struct kl_platform *p,
		      const struct kl_surface *s, enum kl_oracle which, const char *dir);
/** KL_ECANNOT: somebody has yet to write it. */
int kl_oracle_filled(const struct kl_surface *s);

/**
 * The runtime that everything here is linked with, as `dir`/rt/runtime-<march>.o; made where it is needed and
 * not there. Who compiles in several directories makes it once and copies it into each.
 */
int kl_compile_runtime(const struct kl_jail *j, const struct kl_platform *p, const char *dir);
/** "rt/runtime-<march>.o"; the caller's. */
char *kl_compile_runtime_path(const struct kl_platform *p);

/** All that what comes out of this machine's compiler depends on and no contract says: part of a key. */
void kl_compile_recipe(struct kl_digest *d, const struct kl_platform *p);

#endif
