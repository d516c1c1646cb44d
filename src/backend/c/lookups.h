/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LOOKUPS_H
#define KL_BACKEND_C_LOOKUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"
#include "jail/jail.h"
#include "text/digest.h"

/*
 * lookups - checks which files a compiler looked for while it compiled a kernel. A library
 * preloaded into gcc's programs (templates/runtime/lookups.c) records each lookup, whether the file
 * exists or not. A source that can find out which files a machine has (`__has_include`, `#include`,
 * `.incbin`) could compile to other code on another machine.
 *
 * A source may look for files of its surface, for headers that come with the compiler and for
 * headers of the C library. Looking for any other file is refused, even if the jail hides that
 * file.
 */
struct kl_lookups_rules {
	const char *sources; /* relative folder of the sources: "src-kernel" */
	const char *objects; /* relative folder of the objects */
	/* relative folder of the gate's own headers; NULL if they are not allowed */
	const char *gate;
};

/** Path of the library that records lookups, relative to the directory in which a compiler runs. */
#define KL_LOOKUPS_LIBRARY "rt/lookups.so"

/** Compile the library to `dir`/KL_LOOKUPS_LIBRARY, unless that file exists. */
int kl_lookups_make(const struct kl_jail *jail, const char *dir);
/** Add the sources of the library to a digest. */
int kl_lookups_recipe(struct kl_digest *digest);
/**
 * Start a command line in the empty `argv`, to which the caller adds the compiler. The compiler
 * then appends its lookups to the record `folder`/lookups below its work directory.
 */
void kl_lookups_watch(struct kl_strvec *argv, const char *folder);
/**
 * Check the record `dir`/`folder`/lookups. Return KL_ENO if a source looked for a file that the
 * rules do not allow. The message names the first. Return KL_ECANNOT if the record is damaged or
 * incomplete, so lookups could be missing.
 */
int kl_lookups_check(const char *dir, const char *folder, const struct kl_lookups_rules *rules);
/** Check the bytes of a record as kl_lookups_check() does. */
int kl_lookups_check_record(const char *record, size_t len, const struct kl_lookups_rules *rules);

/** Return true if `name` is a header of the C library, such as "stdint.h" or "bits/types.h". */
bool kl_lookups_is_header_of_c(const char *name);

#endif
