/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_EXEC_SANDBOX_H
#define KL_MODEL_PROVIDER_EXEC_SANDBOX_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * exec_sandbox - hides the repository from a command that derives a step anew. It runs as the
 * user, with the user's files and network, but for what this repository keeps: bubblewrap puts
 * empty directories in the place of its worktrees and of git's own directories, and of those that
 * we work in, and gives it processes of its own (/proc/<pid>/cwd would lead back).
 */

/**
 * Adds the words to run before the command: none, if it cannot be done here: no bubblewrap or no
 * rights to use it, a worktree that has the home directory or the command in it, no repository,
 * or klineage.chat.hide is false. `dir` stays visible.
 */
int kl_hide_prefix(struct kl_strvec *argv, struct kl_repo *repo, const char *dir,
		   const char *command);

#endif
