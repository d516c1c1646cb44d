/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/starter.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/fs.h"
#include "text/mail.h"
#include "text/yaml.h"

#define MAX_FILE ((size_t)1 << 20)

void kl_starter_free(struct kl_starter *starter)
{
	if (!starter)
		return;
	free(starter->name);
	free(starter->summary);
	free(starter->author);
	free(starter->dir);
	kl_strvec_release(&starter->files);
	kl_strvec_release(&starter->patches);
	free(starter);
}

int kl_starter_list(struct kl_strvec *out)
{
	KL_AUTO(kl_freep) char *dir = NULL;
	int err = kl_fs_share(&dir, "templates/workloads");

	return err < 0 ? err : kl_fs_list(out, dir);
}

static int refuse_unknown(const char *name)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	int err = kl_starter_list(&names);

	if (err < 0)
		return err;
	for (size_t i = 0; i < names.n; i++)
		kl_buf_addf(&buf, " %s", names.v[i]);
	kl_error(KL_ENOTFOUND, "unknown template '%s'", name);
	return kl_error_hint(KL_ENOTFOUND, "available templates:%s", buf.ptr);
}

static int read_text(char **out, const struct kl_yaml *node, const char *key, const char *path)
{
	const struct kl_yaml *value = kl_yaml_get(node, key);

	if (!value || value->kind != KL_YAML_SCALAR)
		return kl_error(KL_EINVALID, "%s: '%s' is missing", path, key);
	*out = kl_strdup(value->text);
	return 0;
}

static int read_template(struct kl_starter *starter)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(starter->dir, "template.yaml");
	KL_AUTO(kl_freep) char *date = NULL, *portable = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_yaml_freep) struct kl_yaml *node = NULL;
	struct tm tm = { 0 };
	int err = kl_fs_read(&text, path, MAX_FILE);

	if (!err)
		err = kl_yaml_parse(&node, path, text.ptr, text.len);
	if (!err)
		err = read_text(&starter->summary, node, "summary", path);
	if (!err)
		err = read_text(&starter->author, node, "author", path);
	if (!err)
		err = read_text(&date, node, "date", path);
	if (!err)
		err = read_text(&portable, node, "portable", path);
	if (err < 0)
		return err;
	if (!strptime(date, "%Y-%m-%dT%H:%M:%SZ", &tm))
		return kl_error(KL_EINVALID, "%s: invalid date '%s'", path, date);
	starter->time = timegm(&tm);
	starter->portable = (size_t)strtoul(portable, NULL, 10);
	return 0;
}

static int read_files(struct kl_starter *starter)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *history = kl_fs_join(starter->dir, "history");
	int err = kl_fs_list(&names, starter->dir);

	for (size_t i = 0; !err && i < names.n; i++)
		if (strcmp(names.v[i], "history") && strcmp(names.v[i], "rejected") &&
		    strcmp(names.v[i], "template.yaml"))
			kl_strvec_push(&starter->files, names.v[i]);
	return err < 0 ? err : kl_fs_list(&starter->patches, history);
}

int kl_starter_open(struct kl_starter **out, const char *name)
{
	KL_AUTO(kl_starter_freep) struct kl_starter *starter = kl_calloc(1, sizeof(*starter));
	KL_AUTO(kl_freep) char *relative = kl_asprintf("templates/workloads/%s", name);
	int err;

	if (!kl_fs_path_ok(name) || strchr(name, '/') || kl_fs_share(&starter->dir, relative) < 0)
		return refuse_unknown(name);
	starter->name = kl_strdup(name);
	err = read_template(starter);
	if (!err)
		err = read_files(starter);
	if (err < 0)
		return kl_error_in(err, "template '%s'", name);
	*out = kl_steal(&starter);
	return 0;
}

/* Add the files of the first commit to the tree, except the source of the kernel. */
static int base_tree(git_oid *tree, struct kl_repo *repo, const struct kl_starter *starter,
		     const char *prefix)
{
	for (size_t i = 0; i < starter->files.n; i++) {
		KL_AUTO(kl_freep) char *from = kl_fs_join(starter->dir, starter->files.v[i]);
		KL_AUTO(kl_freep) char *to = kl_fs_join(prefix, starter->files.v[i]);
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		struct kl_tree_edit edit = { .path = to };
		int err = kl_fs_read(&text, from, MAX_FILE);

		if (err < 0)
			return err;
		edit.data = text.ptr;
		edit.len = text.len;
		err = kl_repo_tree_edit(tree, repo, git_oid_is_zero(tree) ? NULL : tree, &edit, 1);
		if (err < 0)
			return err;
	}
	return 0;
}

static int replay_one(git_oid *commit, git_oid *tree, struct kl_repo *repo,
		      const struct kl_starter *starter, const char *prefix, size_t i,
		      const git_oid *parent)
{
	KL_AUTO(kl_freep) char *history = kl_fs_join(starter->dir, "history");
	KL_AUTO(kl_freep) char *path = kl_fs_join(history, starter->patches.v[i]);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_mail_release) struct kl_mail mail = { NULL, NULL, NULL, NULL };
	struct kl_commit_spec spec = {
		.parent = parent,
		.nparent = parent ? 1 : 0,
		.author = starter->author,
		.time = starter->time + 60 * (int64_t)i,
	};
	int err = kl_fs_read(&text, path, MAX_FILE);

	if (!err)
		err = kl_mail_parse(&mail, path, text.ptr, text.len);
	if (!err)
		err = kl_repo_apply(tree, repo, tree, prefix, mail.diff, strlen(mail.diff));
	if (err < 0)
		return kl_error_in(err, "'%s'", starter->patches.v[i]);
	spec.tree = *tree;
	spec.message = mail.message;
	return kl_repo_commit_write(commit, repo, &spec);
}

int kl_starter_replay(git_oid *tip, struct kl_repo *repo, const struct kl_starter *starter,
		      const git_oid *parent, const char *prefix, size_t limit)
{
	git_oid tree = kl_oid_none, commit;
	int err = parent ? kl_repo_tree_of(&tree, repo, parent) : 0;

	if (!err)
		err = base_tree(&tree, repo, starter, prefix);
	for (size_t i = 0; !err && i < starter->patches.n && (!limit || i < limit); i++)
		err = replay_one(&commit, &tree, repo, starter, prefix, i, i ? &commit : parent);
	if (!err && !starter->patches.n)
		err = kl_error(KL_EINVALID, "template '%s' has no history", starter->name);
	if (!err)
		*tip = commit;
	return err;
}
