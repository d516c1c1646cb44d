/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_RECOMPILE_H
#define KL_BACKEND_C_RECOMPILE_H

#include "backend/tool.h"
#include "contract/surface.h"

/*
 * recompile - compiles the sources of a kernel a second time, under other conditions: another
 * directory, other names of folders, another date and other times of the files, all drawn. A source
 * that knows where or when it is compiled (`__FILE__`, `__TIME__`) can be one thing to the gate and
 * another to its users.
 *
 * The objects must be the same bytes. The preprocessed texts of two further conditions must be equal
 * as well, since a source can compare such a name or date with those that it expects of a gate, so
 * that two draws have the same object by chance.
 */
struct kl_recompile {
	const struct kl_jail *jail;
	const char *dir;            /* for its own files, which nobody else uses; is created */
	const struct kl_file *file; /* all sources */
	size_t nfile;
	/* make the command that compiles `source` to `object`, with headers in `folder` */
	void (*command)(struct kl_strvec *argv, const void *payload, const char *folder,
			const char *source, const char *object);
	const void *payload;
};

/**
 * Compile, and leave the object of the i-th source in `dir`/object/<i>.o, where only sources that
 * end in .c count. Thread-safe. KL_ENO: the source depends on these conditions or does not compile
 * under them; KL_ECANNOT: trouble of the machine.
 */
int kl_recompile_run(const struct kl_recompile *recompile);
/** Compare an object with that of the first compilation. KL_ENO: it differs. */
int kl_recompile_compare(const struct kl_recompile *recompile, size_t i, const void *bytes,
			 size_t len);

#endif
