/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_INIT_TEMPLATE_H
#define KL_CMD_INIT_TEMPLATE_H

struct kl_repo;

/*
 * init_template - copies a shipped workload with its history, for the verb `init`.
 *
 * In a repository, <dir> gets the files by commits on the current branch. Otherwise a repository is
 * made. It is complete when it appears under its name, so a process that is killed leaves nothing
 * that the next one refuses: a directory that does not exist yet appears by one rename; in an empty
 * directory the `.git` appears so, with a mark that its files are not checked out yet, which the
 * next call goes on with.
 */
int kl_init_template(const char *name, const char *dir);

/** For each remote that is not set up yet, print how to exchange lineages and cards with it. */
void kl_init_offer_remotes(struct kl_repo *repo);

#endif
