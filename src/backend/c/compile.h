/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_COMPILE_H
#define KL_BACKEND_C_COMPILE_H

#include "backend/artefact.h"
#include "backend/oracle.h"
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

/*
 * Results: 0 and an artefact; KL_ENO and `*class` "compile" (does not compile:
 * message has the first error) or "cheat" (audit refused: constructor, IFUNC,
 * undeclared or reserved symbol, system call, TLS, text relocation ...; message names it);
 * KL_ECANNOT: no compiler.
 */
int kl_compile_surface(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		       const struct kl_platform *platform, const struct kl_surface *surface,
		       const char *dir);

/**
 * An oracle in one arithmetic, as `dir`/truth.so or `dir`/honest.so. KL_ECANNOT while it is not
 * written (kl_oracle_filled); KL_EINVALID: it does not compile, or the audit refuses it.
 */
int kl_compile_oracle(const struct kl_jail *jail, const struct kl_platform *platform,
		      const struct kl_surface *surface, enum kl_oracle which, const char *dir);

/**
 * The runtime that everything here is linked with, as `dir`/rt/runtime-<march>.o; made where it is
 * needed and not there. Who compiles in several directories makes it once and copies it into each.
 */
int kl_compile_runtime(const struct kl_jail *jail, const struct kl_platform *platform,
		       const char *dir);
/** "rt/runtime-<march>.o"; the caller's. */
char *kl_compile_runtime_path(const struct kl_platform *platform);

/**
 * All that what comes out of this machine's compiler depends on and no contract says: part of a
 * key.
 */
void kl_compile_recipe(struct kl_digest *digest, const struct kl_platform *platform);

#endif
