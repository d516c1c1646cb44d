/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LOOKUPS_H
#define KL_BACKEND_C_LOOKUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "jail/jail.h"
#include "text/digest.h"

/*
 * lookups - the files that a compiler looked for while it compiled a kernel, whether they exist or
 * not: templates/runtime/lookups.c records them. A source that can learn which files a machine has
 * (`__has_include`, `#include`, `.incbin`) is compiled to other code elsewhere than what was judged.
 *
 * The source may look for the surface's own files, headers that come with the compiler, and headers
 * of the C library; nothing else, even if the jail hides it.
 */
struct kl_lookups_rules {
	const char *sources; /* folder of the sources, relative: "src-kernel" */
	const char *objects; /* folder of the objects, relative */
	const char *gate;    /* folder with the gate's own headers, relative; NULL: none */
};

/** The library that records, below the directory in which a compiler runs. */
#define KL_LOOKUPS_LIBRARY "rt/lookups.so"

/** Make the library in `dir`, unless it is there. */
int kl_lookups_make(const struct kl_jail *jail, const char *dir);
/** Add the sources of the library to a digest. */
int kl_lookups_recipe(struct kl_digest *digest);
/** Begin a command that runs in `dir` and adds to the record `dir`/`folder`/lookups. */
void kl_lookups_watch(struct kl_strvec *argv, const char *folder);
/**
 * Check the record `dir`/`folder`/lookups. KL_ENO: the message names the first file that a source
 * must not look for. KL_ECANNOT: the record is incomplete, so other files can have been looked for.
 */
int kl_lookups_check(const char *dir, const char *folder, const struct kl_lookups_rules *rules);
/** The same for the bytes of a record. */
int kl_lookups_check_record(const char *record, size_t len, const struct kl_lookups_rules *rules);

/** Is it a header of the C library, such as "stdint.h" or "bits/types.h"? */
bool kl_lookups_is_header_of_c(const char *name);

#endif
