/* SPDX-License-Identifier: Apache-2.0 */
/* tree_copy - copies a project's tracked files, for build systems that write beside the sources */
#include <string.h>
#include <sys/stat.h>

#include "adopt/adopt_parts.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"

#define MAX_FILES 20000
#define MAX_FILE ((size_t)64 << 20)
#define MAX_TOTAL ((size_t)512 << 20)

static int copy_file(size_t *total, const struct kl_adopting *adopting, const char *to,
		     const char *path)
{
	KL_AUTO(kl_freep) char *from = kl_fs_join(adopting->top, path);
	KL_AUTO(kl_freep) char *dest = kl_fs_join(to, path);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct stat st;
	int err;

	/* skip files that were removed from the worktree, and symlinks */
	if (lstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if ((err = kl_fs_read(&text, from, MAX_FILE)) < 0 || (err = kl_fs_mkdir_of(dest)) < 0)
		return err;
	*total += text.len;
	if (*total > MAX_TOTAL)
		return kl_error(KL_ECANNOT, "the project is too large to copy for its build");
	return kl_fs_put(dest, text.ptr ? text.ptr : "", text.len, st.st_mode & 0111 ? 0755 : 0644);
}

int kl_adopt_copy_tree(struct kl_adopting *adopting, const char *to)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs blobs = { 0 };
	size_t total = 0;
	int err = kl_repo_tree_list(&blobs, adopting->repo, &adopting->tree, MAX_FILES);

	for (size_t i = 0; !err && i < blobs.n; i++)
		err = copy_file(&total, adopting, to, blobs.b[i].path);
	return err;
}

/* Replace each `from` in a text by `to`. */
static void replace_path(char **text, const char *from, const char *to)
{
	struct kl_buf out = KL_BUF_INIT;
	const char *at = *text, *found;

	kl_buf_adds(&out, "");
	while ((found = strstr(at, from))) {
		kl_buf_add(&out, at, (size_t)(found - at));
		kl_buf_adds(&out, to);
		at = found + strlen(from);
	}
	kl_buf_adds(&out, at);
	free(*text);
	*text = kl_buf_detach(&out);
}

void kl_adopt_move_commands(struct kl_adopting *adopting, const char *from)
{
	for (size_t i = 0; i < adopting->commands.n; i++) {
		struct kl_command *command = &adopting->commands.v[i];

		replace_path(&command->dir, from, adopting->top);
		replace_path(&command->file, from, adopting->top);
		for (size_t k = 0; k < command->word.n; k++)
			replace_path(&command->word.v[k], from, adopting->top);
	}
}
