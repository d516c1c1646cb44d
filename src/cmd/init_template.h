/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_INIT_TEMPLATE_H
#define KL_CMD_INIT_TEMPLATE_H

struct kl_repo;

/*
 * init_template - copies a shipped workload with its history, for the verb `init`.
 *
 * Inside a repository that does not ignore <dir>, commits on the current branch add the files in
 * <dir>. Otherwise a repository is created. A killed call does not prevent the next one: if <dir>
 * does not exist, it is built under another name and then renamed; if it is an empty directory,
 * only `.git` is built elsewhere and then moved in, with a mark that the files are not checked out
 * yet. If the next call finds that mark, it checks the files out.
 */
int kl_init_template(const char *name, const char *dir);

/** For each remote that is not set up yet, print how to exchange lineages and cards with it. */
void kl_init_offer_remotes(struct kl_repo *repo);

#endif
