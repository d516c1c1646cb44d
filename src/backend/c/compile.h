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
 * The surface is linked with the gate's own runtime (templates/runtime: malloc from the arena,
 * nothing else) and with fixed flags. The contract supplies only the sources and flags of the
 * allow-list (docs/formats.md, "flags").
 */

/**
 * Compile and audit a surface. The caller frees the artefact. KL_ENO with `*class_` "compile": it
 * does not compile, and the message is the first error; with "cheat": the audit refuses it
 * (constructor, IFUNC, undeclared or reserved symbol, system call, TLS, text relocation ...), and
 * the message names the reason. KL_ECANNOT: no compiler.
 */
int kl_compile_surface(struct kl_artefact **out, const char **class_, const struct kl_jail *jail,
		       const struct kl_platform *platform, const struct kl_surface *surface,
		       const char *dir);

/**
 * Compile an oracle in one arithmetic to `dir`/truth.so or `dir`/honest.so. KL_ECANNOT: it is not
 * written yet (kl_oracle_filled); KL_EINVALID: it does not compile, or the audit refuses it.
 */
int kl_compile_oracle(const struct kl_jail *jail, const struct kl_platform *platform,
		      const struct kl_surface *surface, enum kl_oracle which, const char *dir);

/**
 * Compile the runtime, which every object is linked with, to `dir`/rt/runtime-<march>.o, unless it
 * exists. The functions above do so as needed; a caller that compiles in several directories can
 * make it once and copy it into each.
 */
int kl_compile_runtime(const struct kl_jail *jail, const struct kl_platform *platform,
		       const char *dir);
/** "rt/runtime-<march>.o"; the caller frees it. */
char *kl_compile_runtime_path(const struct kl_platform *platform);

/**
 * Add to a key what compiled objects depend on besides the contract: the compiler, the machine
 * level and the fixed flags.
 */
void kl_compile_recipe(struct kl_digest *digest, const struct kl_platform *platform);

#endif
