/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_FORGE_H
#define KL_REPORT_FORGE_H

#include "repo/repo.h"

/*
 * forge - computes the address of a commit's page at a forge from the URL of a remote. Nothing is
 * asked of the network.
 */

/**
 * Return what comes before the id in the address of a commit, such as "https://github.com/a/b/commit/",
 * or "" if the host is not one of the known forges. Names and passwords in the URL are left out. The
 * caller frees it.
 */
char *kl_forge_commits(const char *url);
/**
 * As kl_forge_commits(), for the remote "origin" or, if there is none, the first remote; "" also if
 * that remote is not known to have the commit.
 */
char *kl_forge_of(struct kl_repo *repo, const git_oid *commit);

#endif
