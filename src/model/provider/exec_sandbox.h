/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_EXEC_SANDBOX_H
#define KL_MODEL_PROVIDER_EXEC_SANDBOX_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * exec_sandbox - hides the repository from a command, while it derives a step again or tries a
 * card. The command runs as the user, with the user's files and network. Bubblewrap mounts empty
 * directories over the worktrees, the git directories, the object directories that they borrow
 * from, the cards and lineages that are installed with the program, and our temporary directories.
 * It gives the command its own process namespace, since /proc/<pid>/cwd would lead back to the
 * repository.
 */

/**
 * Append the bubblewrap command line, up to the command that bubblewrap is to run. Append nothing
 * if the repository cannot be hidden: bubblewrap is missing or not permitted, a worktree contains
 * the home directory or the command, there is no repository, or klineage.chat.hide is false. `dir`
 * stays visible.
 */
int kl_hide_prefix(struct kl_strvec *argv, struct kl_repo *repo, const char *dir,
		   const char *command);

#endif
