/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_LAYOUT_H
#define KL_REWRITE_LAYOUT_H

#include "contract/surface.h"

/*
 * layout - writes a state into a directory for editing, and collects the edited files.
 *
 * The editor is a person (stepwise) or a command (exec).
 */

/** Write sources, oracle and contract. An existing `dir` is removed first. */
int kl_layout_write(const char *dir, const struct kl_surface *surface);

/**
 * kl_request.collect for exec: append the changed files to the command's reply as <file> blocks,
 * unless the reply has edits of its own or says that nothing is left. Files that cannot be taken
 * are appended as <refused>, new files are ignored. `payload` is the surface.
 */
int kl_layout_collect(struct kl_buf *reply, const char *dir, void *payload);

#endif
