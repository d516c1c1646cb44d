/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_COMPILE_H
#define KL_BACKEND_C_COMPILE_H

#include "backend/artefact.h"
#include "backend/c/link/libraries.h"
#include "backend/oracle.h"
#include "event/platform.h"
#include "jail/jail.h"
#include "text/digest.h"

/*
 * compile - compiles sources to an image in the compile jail, and audits it before any of its code
 * runs.
 *
 * The surface is compiled with fixed flags and linked (link.h) with the system's libraries and the
 * gate's own runtime (templates/runtime), which does little more than allocate memory from the
 * arena. The contract supplies only the sources, and flags of the allow-list (docs/formats.md,
 * "flags").
 *
 *	kl_compile_tools_open(&tools, jail, platform);
 *	kl_compile_runtime(&tools, dir);
 *	kl_compile_surface(&artefact, &class_, &tools, surface, dir);	from any thread
 */

/* The tools that are needed to compile kernels; `jail` and `platform` are borrowed. */
struct kl_compile_tools {
	const struct kl_jail *jail;
	const struct kl_platform *platform;
	struct kl_libraries *libraries;
	struct kl_object *runtime; /* NULL until kl_compile_runtime() succeeds */
};

/** Find the libraries that kernels are linked with. Return KL_ECANNOT if some are not installed. */
int kl_compile_tools_open(struct kl_compile_tools *out, const struct kl_jail *jail,
			  const struct kl_platform *platform);
void kl_compile_tools_release(struct kl_compile_tools *tools);

/**
 * Compile the runtime that every kernel is linked with to `dir`/rt/runtime-<march>.o, unless that
 * file exists, and read it.
 */
int kl_compile_runtime(struct kl_compile_tools *tools, const char *dir);
/** Return "rt/runtime-<march>.o"; the caller frees it. */
char *kl_compile_runtime_path(const struct kl_platform *platform);
/** Add the runtime's sources to a digest. */
int kl_compile_digest_runtime(struct kl_digest *digest);

/**
 * Compile and audit a surface. The caller frees the artefact. Return KL_ENO with `*class_`
 * "compile" if the surface does not compile. The message is then the first error. Return KL_ENO
 * with `*class_` "cheat" if the audit refuses the surface (for a constructor, IFUNC, undeclared or
 * reserved symbol, system call, TLS or user-defined section, among others), the message then names
 * the reason. Return KL_ECANNOT if there is no compiler, or the machine is in trouble.
 */
int kl_compile_surface(struct kl_artefact **out, const char **class_,
		       const struct kl_compile_tools *tools, const struct kl_surface *surface,
		       const char *dir);

/**
 * Compile an oracle in one arithmetic to `dir`/truth.image or `dir`/honest.image. Return KL_ECANNOT
 * if the oracle is not written yet (kl_oracle_filled), or KL_EINVALID if it does not compile, or
 * the audit refuses it.
 */
int kl_compile_oracle(const struct kl_compile_tools *tools, const struct kl_surface *surface,
		      enum kl_oracle which, const char *dir);

/**
 * Add to a digest everything that compiled images depend on, except the contract: the compiler, the
 * libraries, the level of x86-64 and the fixed flags.
 */
void kl_compile_recipe(struct kl_digest *digest, const struct kl_compile_tools *tools);

#endif
