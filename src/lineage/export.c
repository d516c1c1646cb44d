/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/export.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/map.h"
#include "lineage/view.h"
#include "repo/notes.h"
#include "text/mail.h"
#include "walk/forward.h"
#include "walk/sequencer.h"

#define MAX_FILES 100000
#define MAX_BLOB (64u << 20)

struct exporter {
	struct kl_repo *repo;
	const char *dir;
	struct kl_view view;
	struct kl_view_rejections rejections;
	json_t *index; /* content of lineage.json */
	struct kl_buf events;
	size_t files;
};

static void exporter_release(struct exporter *exporter)
{
	kl_view_release(&exporter->view);
	kl_view_rejections_release(&exporter->rejections);
	json_decref(exporter->index);
	kl_buf_release(&exporter->events);
}

static int put_file(struct exporter *exporter, const char *path, const void *data, size_t n,
		    int mode)
{
	KL_AUTO(kl_freep) char *full = kl_fs_join(exporter->dir, path);
	int err = kl_fs_mkdir_of(full);

	exporter->files++;
	return err < 0 ? err : kl_fs_put(full, data, n, mode);
}

static int put_root(struct exporter *exporter, const git_oid *tree)
{
	struct kl_blobs blobs = { 0 };
	int err = kl_repo_tree_list(&blobs, exporter->repo, tree, MAX_FILES);

	for (size_t i = 0; !err && i < blobs.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
		KL_AUTO(kl_freep) char *path = kl_fs_join("state-0", blobs.b[i].path);

		if ((blobs.b[i].mode & 0170000) != 0100000 || !kl_fs_path_ok(blobs.b[i].path))
			err = kl_error(KL_EINVALID,
				       "cannot export '%s' of K_0: it is not a regular file, or "
				       "its name is unsafe",
				       blobs.b[i].path);
		else
			err = kl_repo_blob_read(&text, exporter->repo, &blobs.b[i].oid, MAX_BLOB);
		if (!err)
			err = put_file(exporter, path, text.ptr, text.len,
				       blobs.b[i].mode & 0100 ? 0755 : 0644);
	}
	kl_blobs_release(&blobs);
	return err;
}

/* Append the events in the note of a commit, unchanged. */
static int put_events(struct exporter *exporter, const git_oid *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_notes_read(&text, exporter->repo, KL_NOTES_GATE, commit);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	for (const char *at = text.ptr; !err && *at;) {
		size_t n = strcspn(at, "\n");

		if (n) {
			kl_buf_add(&exporter->events, at, n);
			kl_buf_addch(&exporter->events, '\n');
		}
		at += n + (at[n] == '\n');
	}
	return err;
}

/*
 * Return the file name of a patch, "<folder>0003-untile.patch"; it is safe even if the action is
 * not. The caller frees it.
 */
static char *patch_name(const char *folder, size_t number, const char *action)
{
	KL_AUTO(kl_freep) char *slug = kl_proposal_slug(action ? action : "");

	return kl_asprintf("%s%04zu-%s.patch", folder, number, slug);
}

static int put_patch(struct exporter *exporter, const char *file, const git_oid *commit,
		     const git_oid *from, const git_oid *to)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf mail = KL_BUF_INIT;
	struct kl_commit info = { 0 };
	char hex[KL_OID_HEX];
	int err;

	if ((err = kl_repo_diff(&diff, exporter->repo, from, to, NULL)) < 0 ||
	    (err = kl_repo_commit_read(&info, exporter->repo, commit)) < 0)
		return err;
	kl_oid_hex(hex, commit);
	kl_mail_write(&mail, hex, info.author, info.author_time, info.author_offset, info.message,
		      diff.ptr);
	kl_commit_release(&info);
	return put_file(exporter, file, mail.ptr, mail.len, 0644);
}

static void set_oid(json_t *object, const char *key, const git_oid *oid)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, oid);
	kl_json_set_str(object, key, hex);
}

static int export_root(struct exporter *exporter)
{
	struct kl_commit commit = { 0 };
	json_t *root = json_object();
	int err;

	kl_json_set(exporter->index, "root", root);
	if ((err = kl_repo_commit_read(&commit, exporter->repo, &exporter->view.step[0].commit)) <
	    0)
		return err;
	set_oid(root, "commit", &commit.oid);
	kl_json_set_str(root, "author", commit.author);
	kl_json_set_int(root, "time", commit.author_time);
	kl_json_set_int(root, "offset", commit.author_offset);
	kl_json_set_str(root, "message", commit.message);
	err = put_root(exporter, &commit.tree);
	kl_commit_release(&commit);
	return err < 0 ? err : put_events(exporter, &exporter->view.step[0].commit);
}

/* Export K_i', the re-derived K_i, as a patch on K_{i-1}, in the same form as that of K_i. */
static int export_rederived(struct exporter *exporter, size_t i, const git_oid *second,
			    const git_oid *before, json_t *entry)
{
	KL_AUTO(kl_freep) char *file = patch_name("rederived/", i,
						  exporter->view.step[i].step.action);
	git_oid tree;
	int err;

	if ((err = kl_repo_tree_of(&tree, exporter->repo, second)) < 0 ||
	    (err = put_patch(exporter, file, second, before, &tree)) < 0)
		return err;
	kl_json_set_str(entry, "rederived", file);
	set_oid(entry, "rederived_commit", second);
	return put_events(exporter, second);
}

static int export_step(struct exporter *exporter, size_t i)
{
	const struct kl_view_step *step = &exporter->view.step[i];
	KL_AUTO(kl_freep) char *file = patch_name("", i, step->step.action);
	KL_AUTO(kl_freep) git_oid *parent = NULL;
	json_t *entry = json_object();
	git_oid before, after;
	size_t n;
	int err;

	json_array_append_new(json_object_get(exporter->index, "steps"), entry);
	kl_json_set_str(entry, "file", file);
	set_oid(entry, "commit", &step->commit);
	if ((err = kl_repo_tree_of(&before, exporter->repo, &exporter->view.step[i - 1].commit)) <
		    0 ||
	    (err = kl_repo_tree_of(&after, exporter->repo, &step->commit)) < 0 ||
	    (err = kl_repo_parents(&parent, &n, exporter->repo, &step->commit)) < 0 ||
	    (n > 1 && (err = export_rederived(exporter, i, &parent[1], &before, entry)) < 0) ||
	    (err = put_patch(exporter, file, &step->commit, &before, &after)) < 0)
		return err;
	return put_events(exporter, &step->commit);
}

/*
 * Set *out to the number i of the state K_i that a commit contains, and *tree to the tree of K_i in
 * the lineage. The commit is from the walk or, after an import, from the lineage.
 */
static int state_index(size_t *out, git_oid *tree, struct exporter *exporter,
		       const struct kl_map *trees, const git_oid *commit, const char *dir)
{
	char hex[KL_OID_HEX];
	const char *found;
	git_oid full;
	int err = kl_repo_tree_of(&full, exporter->repo, commit);

	kl_oid_hex(hex, &full);
	*tree = full;
	found = err ? NULL : kl_map_get(trees, hex);
	if (!err && !found) {
		if ((err = kl_forward_tree(tree, exporter->repo, &full, dir)) < 0)
			return err;
		kl_oid_hex(hex, tree);
		found = kl_map_get(trees, hex);
	}
	if (err < 0)
		return err;
	if (!found)
		return kl_error(KL_ENOTFOUND,
				"a rejected step was tried on a state that is not in this lineage");
	*out = (size_t)(found - (const char *)exporter->view.step) / sizeof(*exporter->view.step);
	return 0;
}

/*
 * Find the directory of the contract in the tree of a rejected step. A tree from a walk has the
 * contract where the kernel's repository has it; a tree from a lineage has it at the top.
 */
static int contract_dir(char **out, struct exporter *exporter, const git_oid *rejected)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	git_oid tree;
	int err;

	if ((err = kl_repo_tree_of(&tree, exporter->repo, rejected)) < 0 ||
	    (err = kl_surface_find(&dirs, &workloads, exporter->repo, &tree)) < 0)
		return err;
	for (size_t i = 0; i < dirs.n; i++)
		if (!strcmp(workloads.v[i], exporter->view.workload)) {
			*out = kl_strdup(dirs.v[i]);
			return 0;
		}
	return kl_error(KL_EINVALID, "the tree of a rejected step has no contract of '%s'",
			exporter->view.workload);
}

static int export_rejection(struct exporter *exporter, const struct kl_view_rejection *rejection,
			    size_t number, const struct kl_map *trees)
{
	KL_AUTO(kl_freep) char *file = patch_name("rejected/", number, rejection->step.action);
	KL_AUTO(kl_freep) char *dir = NULL;
	json_t *entry;
	git_oid full, tree, on_tree;
	size_t on = 0;
	int err;

	if ((err = contract_dir(&dir, exporter, &rejection->commit)) < 0)
		return err;
	err = state_index(&on, &on_tree, exporter, trees, &rejection->on, dir);
	/* the step was rejected in an earlier walk of the same name, which has other states */
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0 || (err = kl_repo_tree_of(&full, exporter->repo, &rejection->commit)) < 0 ||
	    (err = kl_forward_tree(&tree, exporter->repo, &full, dir)) < 0 ||
	    (err = put_patch(exporter, file, &rejection->commit, &on_tree, &tree)) < 0)
		return err;
	entry = json_object();
	kl_json_set_str(entry, "file", file);
	set_oid(entry, "commit", &rejection->commit);
	kl_json_set_int(entry, "on", (int64_t)on);
	json_array_append_new(json_object_get(exporter->index, "rejected"), entry);
	return put_events(exporter, &rejection->commit);
}

static int export_rejections(struct exporter *exporter)
{
	KL_AUTO(kl_map_release) struct kl_map trees = KL_MAP_INIT;
	int err = 0;

	for (size_t i = 0; i < exporter->view.n; i++) {
		char hex[KL_OID_HEX];
		git_oid tree;

		if ((err = kl_repo_tree_of(&tree, exporter->repo, &exporter->view.step[i].commit)) <
		    0)
			return err;
		kl_oid_hex(hex, &tree);
		kl_map_put(&trees, hex, &exporter->view.step[i]);
	}
	for (size_t i = exporter->rejections.n; !err && i-- > 0;)
		err = export_rejection(exporter, &exporter->rejections.r[i],
				       exporter->rejections.n - i, &trees);
	return err;
}

static int check_dir(const char *dir)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err;

	if (!kl_fs_exists(dir))
		return kl_fs_mkdir(dir);
	if (!kl_fs_is_dir(dir))
		return kl_error(KL_EEXISTS, "'%s' is not a directory", dir);
	if ((err = kl_fs_list(&names, dir)) < 0)
		return err;
	if (names.n)
		return kl_error(KL_EEXISTS, "'%s' is not empty", dir);
	return 0;
}

static int write_all(struct exporter *exporter)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	kl_json_set(exporter->index, "steps", json_array());
	kl_json_set(exporter->index, "rejected", json_array());
	if ((err = export_root(exporter)) < 0)
		return err;
	for (size_t i = 1; i < exporter->view.n; i++)
		if ((err = export_step(exporter, i)) < 0)
			return err;
	if ((err = export_rejections(exporter)) < 0 ||
	    (err = put_file(exporter, "gate.jsonl", exporter->events.ptr, exporter->events.len,
			    0644)) < 0)
		return err;
	kl_json_pretty(&text, exporter->index);
	return put_file(exporter, "lineage.json", text.ptr, text.len, 0644);
}

int kl_export_write(struct kl_repo *repo, const char *workload, const char *name, const char *dir,
		    size_t *files)
{
	KL_AUTO(exporter_release) struct exporter exporter = {
		.repo = repo,
		.dir = dir,
		.events = KL_BUF_INIT,
		.index = json_object(),
	};
	int err;

	if ((err = kl_view_load(&exporter.view, repo, workload, name)) < 0 ||
	    (err = kl_view_rejections(&exporter.rejections, repo, workload, name)) < 0 ||
	    (err = check_dir(dir)) < 0)
		return err;
	kl_json_set_str(exporter.index, "schema", KL_EXPORT_SCHEMA);
	kl_json_set_str(exporter.index, "workload", workload);
	kl_json_set_str(exporter.index, "name", name);
	set_oid(exporter.index, "tip", &exporter.view.step[exporter.view.n - 1].commit);
	err = write_all(&exporter);
	*files = exporter.files;
	return err;
}
