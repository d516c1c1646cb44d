/* SPDX-License-Identifier: Apache-2.0 */
#include "search/memory_branch.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

#define MOST_ENTRIES 10000
#define MOST_ENTRY ((size_t)16 << 10)

static int load_entry(json_t *entries, struct kl_repo *repo, const struct kl_blob *blob)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t len = strlen(blob->path);
	json_t *entry;
	int err;

	if (kl_utf8_span(blob->path, len) != len)
		return kl_error(KL_EINVALID, "the path is not UTF-8");
	if ((err = kl_repo_blob_read(&text, repo, &blob->oid, MOST_ENTRY)) < 0 ||
	    (err = kl_json_parse(&entry, text.ptr, text.len)) < 0)
		return err;
	kl_json_set(entries, blob->path, entry);
	return 0;
}

static int load_entries(json_t *entries, struct kl_repo *repo, const git_oid *commit)
{
	struct kl_blobs blobs = { 0 };
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, commit);

	if (!err)
		err = kl_repo_tree_list(&blobs, repo, &tree, MOST_ENTRIES);
	for (size_t i = 0; !err && i < blobs.n; i++)
		if ((err = load_entry(entries, repo, &blobs.b[i])) < 0)
			err = kl_error_in(err, "%s", blobs.b[i].path);
	kl_blobs_release(&blobs);
	return err < 0 ? err : kl_memory_check_all(entries);
}

int kl_memory_load(json_t **entries, git_oid *tip, struct kl_repo *repo, const char *name)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf(KL_MEMORY_REFS "%s", name);
	KL_AUTO(json_decrefp) json_t *read = json_object();
	int err = kl_repo_resolve(tip, repo, ref);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		err = kl_repo_resolve(tip, repo, name);
	}
	if (err < 0)
		return err == KL_ENOTFOUND ?
			       kl_error(KL_ENOTFOUND, "there is no memory '%s'", name) :
			       err;
	if ((err = load_entries(read, repo, tip)) < 0)
		return kl_error_in(err, "memory '%s'", name);
	*entries = kl_steal(&read);
	return 0;
}

/* Write the tree of a memory. */
static int write_tree(git_oid *tree, struct kl_repo *repo, const json_t *entries)
{
	size_t n = json_object_size(entries), at = 0;
	KL_AUTO(kl_freep) struct kl_tree_edit *edit = kl_calloc(n + 1, sizeof(*edit));
	KL_AUTO(kl_freep) struct kl_buf *text = kl_calloc(n + 1, sizeof(*text));
	const char *path;
	json_t *entry;
	int err;

	json_object_foreach((json_t *)entries, path, entry) {
		text[at] = (struct kl_buf)KL_BUF_INIT;
		kl_json_pretty(&text[at], entry);
		edit[at] = (struct kl_tree_edit){ .path = path,
						  .data = text[at].ptr,
						  .len = text[at].len };
		at++;
	}
	err = kl_repo_tree_edit(tree, repo, NULL, edit, n);
	while (at > 0)
		kl_buf_release(&text[--at]);
	return err;
}

int kl_memory_store(struct kl_repo *repo, const char *name, const git_oid *was,
		    const json_t *entries, const char *message)
{
	KL_AUTO(kl_freep) char *ref = kl_asprintf(KL_MEMORY_REFS "%s", name);
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(repo);
	bool is_new = git_oid_is_zero(was);
	struct kl_commit_spec spec = { .parent = was,
				       .nparent = is_new ? 0 : 1,
				       .message = message };
	git_oid commit;
	int err;

	if (json_object_size(entries) > MOST_ENTRIES)
		return kl_error(KL_EINVALID, "memory '%s' would have more than %d entries", name,
				MOST_ENTRIES);
	if (is_new && (err = kl_refs_can_create(repo, ref)) < 0)
		return err;
	if ((err = write_tree(&spec.tree, repo, entries)) < 0 ||
	    (err = kl_repo_identity(&spec.author, repo)) < 0 ||
	    (err = kl_repo_commit_write(&commit, repo, &spec)) < 0)
		return err;
	kl_refs_txn_update(txn, ref, &commit, is_new ? NULL : was);
	return kl_refs_txn_commit(txn, "klineage: a memory");
}
