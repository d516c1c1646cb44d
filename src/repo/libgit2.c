/* SPDX-License-Identifier: Apache-2.0 */
/* libgit2 - returns the version of libgit2, and sets whether libgit2 syncs objects to disk */
#include "repo/repo.h"

#include <git2/common.h>

#include <stdio.h>

const char *kl_repo_backend(void)
{
	static char text[32];
	int major, minor, rev;

	git_libgit2_version(&major, &minor, &rev);
	snprintf(text, sizeof(text), "%d.%d.%d", major, minor, rev);
	return text;
}

void kl_repo_sync_objects(bool on)
{
	git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, (int)on);
}
