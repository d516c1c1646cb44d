/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_LAYOUT_H
#define KL_REWRITE_LAYOUT_H

#include "contract/surface.h"

/*
 * layout - writes a state into a directory for editing, and collects the edited files.
 *
 * The editor is a person (stepwise) or a command (exec).
 */

/** Write the sources, oracle and contract into `dir`, which is removed first if it exists. */
int kl_layout_write(const char *dir, const struct kl_surface *surface);

/**
 * Append the changed files to a command's reply as <file> blocks, unless the reply has edits of its
 * own or says that nothing is left. A changed file that cannot be taken (a symlink, for example) is
 * appended as <refused>; new files are ignored. This is the function `collect` of struct kl_request
 * for exec; `payload` is the surface.
 */
int kl_layout_collect(struct kl_buf *reply, const char *dir, void *payload);

#endif
