/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CONDITIONS_H
#define KL_BACKEND_C_CONDITIONS_H

#include "backend/tool.h"
#include "contract/surface.h"

/*
 * conditions - checks that the sources of a kernel do not depend on where and when they are
 * compiled. A source that depends on them (`__FILE__`, `__TIME__`) could give the gate one machine
 * code and its users another.
 *
 * The sources are preprocessed twice, each time with a directory, a date and file times drawn at
 * random. The two texts must be equal in every part that the kernel reaches (declarations.h); equal
 * texts compile to equal objects. The objects are not compared, because that would take five times
 * as long and detect less: a source that compares its file name with the name that the gate uses
 * compiles to equal objects in any two directories that do not have this name.
 */
struct kl_conditions {
	const struct kl_jail *jail;
	/* private scratch directory, created by kl_conditions_check() */
	const char *dir;
	const struct kl_file *file; /* all sources */
	size_t nfile;
	/*
	 * names of the functions that are called, NULL-terminated; NULL to count everything as
	 * reached
	 */
	const char *const *entries;
	bool (*is_unit)(const void *payload, const char *path); /* true if the source is compiled */
	/* append the compiler and its flags to `argv`; headers are in `folder` */
	void (*command)(struct kl_strvec *argv, const void *payload, const char *folder);
	const void *payload;
};

/**
 * Check all sources that are compiled. Thread-safe. Return KL_ENO if a source depends on the
 * directory or the date, or cannot be preprocessed. Return KL_ECANNOT if the machine is in trouble.
 */
int kl_conditions_check(const struct kl_conditions *conditions);

#endif
