/* SPDX-License-Identifier: Apache-2.0 */
#include "repo/notes.h"

#include <stdlib.h>
#include <string.h>

#include "repo/internal.h"

#define MAX_NOTE ((size_t)64 << 20)
#define MAX_ENTRIES ((size_t)1 << 23) /* shared subtrees: few bytes spell many names */
#define MAX_FANOUT (GIT_OID_HEXSZ / 2 - 1)

void kl_note_index_release(struct kl_note_index *x)
{
	free(x->e);
	*x = (struct kl_note_index){ 0 };
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

static bool all_hex(const char *s)
{
	return s[strspn(s, "0123456789abcdef")] == '\0';
}

/* `name` below the `hex` that the directories above spelled: note, fanout or neither. */
static int collect_notes(struct kl_note_index *x, size_t *seen, struct kl_repo *r,
			 const git_oid *tree, const char *hex)
{
	KL_AUTO(git_tree_freep) git_tree *t = NULL;
	size_t have = strlen(hex);
	int err = git_tree_lookup(&t, r->git, tree);

	if (err < 0)
		return kl_error_git(err, "cannot read notes tree %s", git_oid_tostr_s(tree));
	for (size_t i = 0; !err && i < git_tree_entrycount(t); i++) {
		const git_tree_entry *e = git_tree_entry_byindex(t, i);
		const char *name = git_tree_entry_name(e);
		size_t n = strlen(name);
		char whole[KL_OID_HEX];

		if (++*seen > MAX_ENTRIES)
			return kl_error(KL_EINVALID, "a tree of more than %zu notes", MAX_ENTRIES);
		if (have + n > GIT_OID_HEXSZ || !all_hex(name))
			continue;
		memcpy(whole, hex, have);
		memcpy(whole + have, name, n + 1);
		if (git_tree_entry_type(e) == GIT_OBJECT_TREE) {
			if (n == 2 && have + n < GIT_OID_HEXSZ)
				err = collect_notes(x, seen, r, git_tree_entry_id(e), whole);
		} else if (git_tree_entry_type(e) == GIT_OBJECT_BLOB && have + n == GIT_OID_HEXSZ) {
			KL_GROW(x->e, x->n + 1, x->alloc);
			x->e[x->n] = (struct kl_note_entry){
				.blob = *git_tree_entry_id(e),
				.depth = (unsigned)have / 2,
			};
			kl_oid_parsen(&x->e[x->n++].commit, whole, GIT_OID_HEXSZ);
		}
	}
	return err;
}

static int by_commit(const void *a, const void *b)
{
	const struct kl_note_entry *x = a, *y = b;
	int c = git_oid_cmp(&x->commit, &y->commit);

	return c ? c : (y->depth > x->depth) - (y->depth < x->depth);
}

int kl_notes_index(struct kl_note_index *out, struct kl_repo *r, const git_oid *tip)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index x = { 0 };
	size_t seen = 0;
	git_oid tree;
	int err = kl_repo_tree_of(&tree, r, tip);

	if (err < 0 || (err = collect_notes(&x, &seen, r, &tree, "")) < 0)
		return err;
	if (x.n)
		qsort(x.e, x.n, sizeof(*x.e), by_commit);
	*out = x;
	x = (struct kl_note_index){ 0 };
	return 0;
}

int kl_notes_concat(struct kl_buf *out, struct kl_repo *r, const git_oid *blob)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_repo_blob_read(&text, r, blob, MAX_NOTE);

	if (err < 0 || !text.len)
		return err;
	/* between two notes git puts one empty line */
	if (out->len)
		kl_buf_adds(out, out->ptr[out->len - 1] == '\n' ? "\n" : "\n\n");
	kl_buf_add(out, text.ptr, text.len);
	return 0;
}

/* Note blobs of one commit, deepest first: the order in which git puts them together. */
static int find_notes(git_oid blob[MAX_FANOUT + 1], size_t *n, struct kl_repo *r,
		      const git_oid *tree, const char *hex)
{
	KL_AUTO(git_tree_freep) git_tree *t = NULL;
	const git_tree_entry *e;
	char dir[3] = { hex[0], hex[1], '\0' };
	int err = git_tree_lookup(&t, r->git, tree);

	if (err < 0)
		return kl_error_git(err, "cannot read notes tree %s", git_oid_tostr_s(tree));
	e = hex[2] ? git_tree_entry_byname(t, dir) : NULL;
	if (e && git_tree_entry_type(e) == GIT_OBJECT_TREE &&
	    (err = find_notes(blob, n, r, git_tree_entry_id(e), hex + 2)) < 0)
		return err;
	e = git_tree_entry_byname(t, hex);
	if (e && git_tree_entry_type(e) == GIT_OBJECT_BLOB)
		git_oid_cpy(blob + (*n)++, git_tree_entry_id(e));
	return 0;
}

int kl_notes_read(struct kl_buf *out, struct kl_repo *r, const char *ref, const git_oid *commit)
{
	git_oid blob[MAX_FANOUT + 1], tip, tree;
	char hex[KL_OID_HEX];
	size_t n = 0;
	int err = kl_txn_now(&tip, r, ref);

	if (err < 0 || git_oid_is_zero(&tip))
		return err;
	kl_oid_hex(hex, commit);
	if ((err = kl_repo_tree_of(&tree, r, &tip)) < 0 ||
	    (err = find_notes(blob, &n, r, &tree, hex)) < 0)
		return err;
	for (size_t i = 0; !err && i < n; i++)
		if (!i || !git_oid_equal(blob + i, blob + i - 1))
			err = kl_notes_concat(out, r, blob + i);
	return err;
}

int kl_notes_list(struct kl_note_at **out, size_t *n, git_oid *tip, struct kl_repo *r,
		  const char *ref)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index x = { 0 };
	int err = kl_txn_now(tip, r, ref);

	if (err < 0 || (!git_oid_is_zero(tip) && (err = kl_notes_index(&x, r, tip)) < 0))
		return err;
	*out = kl_calloc(x.n + 1, sizeof(**out));
	for (size_t i = 0; i < x.n; i++)
		(*out)[i] = (struct kl_note_at){ x.e[i].commit, x.e[i].blob };
	*n = x.n;
	return 0;
}

int kl_notes_each(struct kl_repo *r, const char *ref,
		  int (*fn)(const git_oid *commit, const char *text, size_t len, void *payload),
		  void *payload)
{
	KL_AUTO(kl_note_index_release) struct kl_note_index x = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	git_oid tip;
	int err = kl_txn_now(&tip, r, ref);

	if (err < 0 || git_oid_is_zero(&tip) || (err = kl_notes_index(&x, r, &tip)) < 0)
		return err;
	for (size_t i = 0, next; i < x.n; i = next) {
		kl_buf_clear(&text);
		for (next = i; next < x.n && git_oid_equal(&x.e[i].commit, &x.e[next].commit);
		     next++) {
			if (next > i && git_oid_equal(&x.e[next].blob, &x.e[next - 1].blob))
				continue;
			if ((err = kl_notes_concat(&text, r, &x.e[next].blob)) < 0)
				return err;
		}
		err = fn(&x.e[i].commit, text.ptr, text.len, payload);
		if (err)
			return err;
	}
	return 0;
}
