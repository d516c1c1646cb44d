/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CONDITIONS_H
#define KL_BACKEND_C_CONDITIONS_H

#include "backend/tool.h"
#include "contract/surface.h"

/*
 * conditions - checks that the sources of a kernel do not depend on where and when they are
 * compiled. A source that knows (`__FILE__`, `__TIME__`) can be one thing to the gate and another to
 * its users.
 *
 * The sources are preprocessed twice, and the texts must be equal. Each time the directory, the
 * date and the times of the files are drawn at random. Equal texts give equal objects. To compare
 * two objects instead would cost five times as much and show less: a source that compares its name
 * with the one that a gate gives it has the same object in any two other directories.
 */
struct kl_conditions {
	const struct kl_jail *jail;
	const char *dir;            /* for its own files, which nobody else uses; is created */
	const struct kl_file *file; /* all sources */
	size_t nfile;
	/* add the compiler and its options for sources with headers in `folder` */
	void (*command)(struct kl_strvec *argv, const void *payload, const char *folder);
	const void *payload;
};

/**
 * Check all sources that end in .c. Thread-safe. KL_ENO: a source depends on these conditions, or
 * cannot be preprocessed under them; KL_ECANNOT: trouble of the machine.
 */
int kl_conditions_check(const struct kl_conditions *conditions);

#endif
