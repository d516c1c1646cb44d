/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_LAYOUT_H
#define KL_REWRITE_LAYOUT_H

#include "contract/surface.h"

/*
 * layout - a state as files in a directory, for those who edit it there: a
 * person (stepwise), or a command (exec).
 */

/** Sources, oracle and contract; `dir` is emptied first. */
int kl_layout_write(const char *dir, const struct kl_surface *surface);

/**
 * kl_request.collect of exec: what became of the state's files, added to the command's reply as
 * <file> blocks unless that has edits of its own; what cannot be taken as <refused>. `payload` is
 * the surface. Files that were not there before are passed over.
 */
int kl_layout_collect(struct kl_buf *reply, const char *dir, void *payload);

#endif
