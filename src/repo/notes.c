/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/notes.h"

#include <stdlib.h>
#include <string.h>

#include "repo/internal.h"

#define MAX_NOTE ((size_t)64 << 20)
/* limit for untrusted notes: a small pack can hold very many names if it shares subtrees */
#define MAX_ENTRIES ((size_t)1 << 23)
#define MAX_FANOUT (GIT_OID_HEXSZ / 2 - 1)

void kl_note_index_release(struct kl_note_index *index)
{
	free(index->e);
	*index = (struct kl_note_index){ 0 };
}

void kl_notes_path(char out[80], const git_oid *commit, unsigned depth)
{
	char hex[KL_OID_HEX];
	size_t at = 0;

	kl_oid_hex(hex, commit);
	for (size_t i = 0; hex[i]; i++) {
		if (i && i % 2 == 0 && i / 2 <= depth)
			out[at++] = '/';
		out[at++] = hex[i];
	}
	out[at] = '\0';
}

static bool all_hex(const char *text)
{
	return text[strspn(text, "0123456789abcdef")] == '\0';
}

/*
 * Collect the notes of a tree. `hex` is the beginning of the commit ids, which is made of the names
 * of the directories above. Entries that are neither a note nor a fanout directory are ignored.
 * `*seen` counts all entries.
 */
static int collect_notes(struct kl_note_index *index, size_t *seen, struct kl_repo *repo,
			 const git_oid *tree_oid, const char *hex)
{
	KL_AUTO(git_tree_freep) git_tree *tree = NULL;
	size_t prefix_len = strlen(hex);
	int err = git_tree_lookup(&tree, repo->git, tree_oid);

	if (err < 0)
		return kl_error_git(err, "cannot read notes tree %s", git_oid_tostr_s(tree_oid));
	for (size_t i = 0; !err && i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
		const char *name = git_tree_entry_name(entry);
		size_t name_len = strlen(name);
		char whole[KL_OID_HEX];

		if (++*seen > MAX_ENTRIES)
			return kl_error(KL_EINVALID, "notes tree has more than %zu entries",
					MAX_ENTRIES);
		if (prefix_len + name_len > GIT_OID_HEXSZ || !all_hex(name))
			continue;
		memcpy(whole, hex, prefix_len);
		memcpy(whole + prefix_len, name, name_len + 1);
		if (git_tree_entry_type(entry) == GIT_OBJECT_TREE) {
			if (name_len == 2 && prefix_len + name_len < GIT_OID_HEXSZ)
				err = collect_notes(index, seen, repo, git_tree_entry_id(entry),
						    whole);
		} else if (git_tree_entry_type(entry) == GIT_OBJECT_BLOB &&
			   prefix_len + name_len == GIT_OID_HEXSZ) {
			KL_GROW(index->e, index->n + 1, index->alloc);
			index->e[index->n] = (struct kl_note_entry){
				.blob = *git_tree_entry_id(entry),
				.depth = (unsigned)prefix_len / 2,
			};
			kl_oid_parsen(&index->e[index->n++].commit, whole, GIT_OID_HEXSZ);
		}
	}
	return err;
}

static int by_commit(const void *left, const void *right)
{
	const struct kl_note_entry *x = left, *y = right;
	int order = git_oid_cmp(&x->commit, &y->commit);

	return order ? order : (y->depth > x->depth) - (y->depth < x->depth);
}

int kl_notes_index(struct kl_note_index *out, struct kl_repo *repo, const git_oid *tip)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index index = { 0 };
	size_t seen = 0;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, repo, tip);

	if (err < 0 || (err = collect_notes(&index, &seen, repo, &tree, "")) < 0)
		return err;
	if (index.n)
		qsort(index.e, index.n, sizeof(*index.e), by_commit);
	*out = index;
	index = (struct kl_note_index){ 0 };
	return 0;
}

int kl_notes_concat(struct kl_buf *out, struct kl_repo *repo, const git_oid *blob)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_repo_blob_read(&text, repo, blob, MAX_NOTE);

	if (err < 0 || !text.len)
		return err;
	/* git puts one empty line between two notes */
	if (out->len)
		kl_buf_adds(out, out->ptr[out->len - 1] == '\n' ? "\n" : "\n\n");
	kl_buf_add(out, text.ptr, text.len);
	return 0;
}

/* Find the note blobs of one commit, deepest first, which is the order in which git joins them. */
static int find_notes(git_oid blob[MAX_FANOUT + 1], size_t *n, struct kl_repo *repo,
		      const git_oid *tree_oid, const char *hex)
{
	KL_AUTO(git_tree_freep) git_tree *tree = NULL;
	const git_tree_entry *entry;
	char dir[3] = { hex[0], hex[1], '\0' };
	int err = git_tree_lookup(&tree, repo->git, tree_oid);

	if (err < 0)
		return kl_error_git(err, "cannot read notes tree %s", git_oid_tostr_s(tree_oid));
	entry = hex[2] ? git_tree_entry_byname(tree, dir) : NULL;
	if (entry && git_tree_entry_type(entry) == GIT_OBJECT_TREE &&
	    (err = find_notes(blob, n, repo, git_tree_entry_id(entry), hex + 2)) < 0)
		return err;
	entry = git_tree_entry_byname(tree, hex);
	if (entry && git_tree_entry_type(entry) == GIT_OBJECT_BLOB)
		git_oid_cpy(blob + (*n)++, git_tree_entry_id(entry));
	return 0;
}

int kl_notes_read(struct kl_buf *out, struct kl_repo *repo, const char *ref, const git_oid *commit)
{
	git_oid blob[MAX_FANOUT + 1], tip, tree;
	char hex[KL_OID_HEX];
	size_t n = 0;
	int err = kl_txn_now(&tip, repo, ref);

	if (err < 0 || git_oid_is_zero(&tip))
		return err;
	kl_oid_hex(hex, commit);
	if ((err = kl_repo_tree_of(&tree, repo, &tip)) < 0 ||
	    (err = find_notes(blob, &n, repo, &tree, hex)) < 0)
		return err;
	for (size_t i = 0; !err && i < n; i++)
		if (!i || !git_oid_equal(blob + i, blob + i - 1))
			err = kl_notes_concat(out, repo, blob + i);
	return err;
}

int kl_notes_list(struct kl_note_at **out, size_t *n, git_oid *tip, struct kl_repo *repo,
		  const char *ref)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index index = { 0 };
	int err = kl_txn_now(tip, repo, ref);

	if (err < 0 || (!git_oid_is_zero(tip) && (err = kl_notes_index(&index, repo, tip)) < 0))
		return err;
	*out = kl_calloc(index.n + 1, sizeof(**out));
	for (size_t i = 0; i < index.n; i++)
		(*out)[i] = (struct kl_note_at){ index.e[i].commit, index.e[i].blob };
	*n = index.n;
	return 0;
}

int kl_notes_each(struct kl_repo *repo, const char *ref,
		  int (*fn)(const git_oid *commit, const char *text, size_t len, void *payload),
		  void *payload)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index index = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	git_oid tip;
	int err = kl_txn_now(&tip, repo, ref);

	if (err < 0 || git_oid_is_zero(&tip) || (err = kl_notes_index(&index, repo, &tip)) < 0)
		return err;
	for (size_t i = 0, next; i < index.n; i = next) {
		kl_buf_clear(&text);
		for (next = i;
		     next < index.n && git_oid_equal(&index.e[i].commit, &index.e[next].commit);
		     next++) {
			if (next > i && git_oid_equal(&index.e[next].blob, &index.e[next - 1].blob))
				continue;
			if ((err = kl_notes_concat(&text, repo, &index.e[next].blob)) < 0)
				return err;
		}
		err = fn(&index.e[i].commit, text.ptr, text.len, payload);
		if (err)
			return err;
	}
	return 0;
}
