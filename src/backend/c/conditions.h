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
 * The sources are preprocessed twice, each time in a directory and under names, at a date and with
 * times of the files that are drawn; the texts must be equal. The compiler makes the same object of
 * the same text, so this says more than comparing two objects, and costs a fifth: a source that
 * compares a name with the one that it expects of a gate has the same object in two other places.
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
