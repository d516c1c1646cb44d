/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/layout.h"

#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/prefix.h"
#include "base/utf8.h"

#define MAX_SOURCE ((size_t)4 << 20)

static int put_file(const char *dir, const struct kl_file *file)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, file->path);
	int err;

	if ((err = kl_fs_mkdir_of(path)) < 0)
		return err;
	return kl_fs_put(path, file->data, file->len, file->mode & 0100 ? 0755 : 0644);
}

int kl_layout_write(const char *dir, const struct kl_surface *surface)
{
	int err;

	if ((err = kl_fs_remove(dir)) < 0 || (err = kl_fs_mkdir(dir)) < 0)
		return err;
	for (size_t i = 0; i < surface->nfile; i++)
		if ((err = put_file(dir, &surface->file[i])) < 0)
			return err;
	for (size_t i = 0; i < surface->noracle; i++)
		if ((err = put_file(dir, &surface->oracle[i])) < 0)
			return err;
	return put_file(dir, &surface->contract_file);
}

/*
 * --- collect --------------------------------------------------------------------
 */

static bool has_edits(const struct kl_buf *reply)
{
	static const char *const tag[] = { "<file ", "<function ", "<edit ", "<nothing-left" };

	for (const char *line = reply->ptr; line; line = strchr(line, '\n')) {
		line += strspn(line, "\n \t");
		for (size_t i = 0; i < KL_ARRAY_SIZE(tag); i++)
			if (kl_prefix_has(line, tag[i]))
				return true;
	}
	return false;
}

/* Return the defect of an edited file, or NULL. No part of `path` may be a symlink. */
static const char *find_trouble(const char *dir, const char *path)
{
	KL_AUTO(kl_freep) char *whole = kl_fs_join(dir, path);
	struct stat st;

	for (char *slash = whole + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (lstat(whole, &st) < 0 || !S_ISDIR(st.st_mode))
			return "lies in something that is no directory any more";
		*slash = '/';
	}
	if (lstat(whole, &st) < 0)
		return "is gone";
	if (!S_ISREG(st.st_mode))
		return S_ISLNK(st.st_mode) ? "became a symbolic link" : "is no file any more";
	return (uint64_t)st.st_size > MAX_SOURCE ? "is larger than 4 MiB" : NULL;
}

static void collect_file(struct kl_buf *reply, const char *dir, const struct kl_file *file)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, file->path);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *why = find_trouble(dir, file->path);

	if (!why && kl_fs_read(&text, path, MAX_SOURCE) < 0)
		why = "cannot be read";
	if (!why && text.len == file->len && !memcmp(text.ptr, file->data, file->len))
		return;
	if (!why && kl_utf8_span(text.ptr, text.len) != text.len)
		why = "is not text in UTF-8";
	if (why) {
		kl_error_clear();
		kl_buf_addf(reply, "<refused>%s %s</refused>\n", file->path, why);
		return;
	}
	kl_buf_addf(reply, strchr(file->path, '"') ? "<file path='%s'>\n" : "<file path=\"%s\">\n",
		    file->path);
	kl_buf_add(reply, text.ptr, text.len);
	if (!text.len || text.ptr[text.len - 1] != '\n')
		kl_buf_addch(reply, '\n');
	kl_buf_adds(reply, "</file>\n");
}

int kl_layout_collect(struct kl_buf *reply, const char *dir, void *payload)
{
	const struct kl_surface *surface = payload;

	if (has_edits(reply))
		return 0;
	if (reply->len && reply->ptr[reply->len - 1] != '\n')
		kl_buf_addch(reply, '\n');
	for (size_t i = 0; i < surface->nfile; i++)
		collect_file(reply, dir, &surface->file[i]);
	for (size_t i = 0; i < surface->noracle; i++)
		collect_file(reply, dir, &surface->oracle[i]);
	collect_file(reply, dir, &surface->contract_file);
	return 0;
}
