/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_GATE_OPTIONS_H
#define KL_CMD_GATE_OPTIONS_H

#include <stdbool.h>

#include "cmd/cli/listing.h"
#include "cmd/cli/term.h"

#define KL_GATE_MAX_REVS 4096 /* maximum number of jobs in a bundle */

/* gate_options - the options of git klineage gate. */
struct kl_gate_options {
	struct kl_listing out;
	bool worktree, staged, no_profile, quick, fresh, bisect, no_note, quiet, progress;
	int sign; /* 1: --sign; -1: --no-sign; 0: not given, decide by the configuration */
	const char *workload, *require, *jail, *platform, *seed, *dims, *runner, *output, *import,
		*since;
	const char *segment, *retract, *reason;
	const struct kl_term *term;
};

/** Parse and check the options; returns like kl_opt_parse(). The revisions are left in `argv`. */
int kl_gate_options_parse(struct kl_gate_options *options, int *argc, char ***argv);

#endif
