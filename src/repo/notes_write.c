/* SPDX-License-Identifier: Apache-2.0 */
/* notes_write - adds events to notes by git fast-import, and retries if the ref moved */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/lock.h"
#include "base/proc.h"
#include "base/rng.h"
#include "repo/internal.h"
#include "repo/notes.h"
#include "text/json.h"

#define RETRY_MS 12000

/*
 * A write in preparation. A note that gets new lines keeps its old lines. If a commit has notes at
 * several depths of the tree, they are joined into one, because git would keep only one of them
 * when it changes the fanout.
 */
struct write {
	struct kl_notes_write out;
	/* the new lines, sorted by commit, then in the caller's order */
	const struct kl_note_line **line;
	size_t nline;
};

static void write_release(struct write *write)
{
	kl_notes_write_release(&write->out);
	free(write->line);
}

void kl_notes_write_release(struct kl_notes_write *write)
{
	kl_note_index_release(&write->old);
	kl_buf_release(&write->stream);
}

/* --- joining lines by the id of their event ------------------------------ */

void kl_note_key_release(struct kl_note_key *key)
{
	free(key->id);
	free(key->full);
	free(key->time);
	*key = (struct kl_note_key){ 0 };
}

void kl_note_key_init(struct kl_note_key *key, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *event = NULL;
	const char *id = NULL;

	if (kl_json_parse(&event, line, len) == 0 && json_is_object(event))
		id = kl_json_str_or(event, "id", NULL);
	key->id = id ? kl_asprintf("id %s", id) : kl_asprintf("line %.*s", (int)len, line);
	key->full = id && kl_json_str_or(event, "sig", NULL) ? kl_asprintf("signed %s", id) :
							       kl_strdup(key->id);
	key->time = kl_strdup(id ? kl_json_str_or(event, "time", "") : "");
}

static void remember_key(struct kl_map *seen, const struct kl_note_key *key)
{
	kl_map_put(seen, key->id, seen);
	kl_map_put(seen, key->full, seen);
}

/* Copy the old text without empty and duplicate lines, and remember the keys of its lines. */
static void keep_old(struct kl_buf *out, struct kl_map *seen, const char *text)
{
	KL_AUTO(kl_map_release) struct kl_map lines = KL_MAP_INIT;

	for (const char *at = text; *at;) {
		size_t len = strcspn(at, "\n");
		KL_AUTO(kl_freep) char *line = kl_strndup(at, len);

		if (len && !kl_map_put(&lines, line, seen)) {
			KL_AUTO(kl_note_key_release) struct kl_note_key key;

			kl_note_key_init(&key, line, len);
			kl_buf_addf(out, "%s\n", line);
			remember_key(seen, &key);
		}
		at += len + (at[len] == '\n');
	}
}

/* Append the lines that are not in the note yet, and return their number. */
static size_t add_new(struct kl_buf *out, struct kl_map *seen,
		      const struct kl_note_line *const *line, size_t n)
{
	size_t added = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(line[i]->line);
		KL_AUTO(kl_note_key_release) struct kl_note_key key;

		kl_note_key_init(&key, line[i]->line, len);
		if (!len || kl_map_get(seen, key.full))
			continue;
		kl_buf_addf(out, "%s\n", line[i]->line);
		remember_key(seen, &key);
		added++;
	}
	return added;
}

/* --- building the stream for fast-import --------------------------------- */

static bool has_commit(struct kl_repo *repo, const git_oid *oid)
{
	git_object_t type;
	size_t size;

	return git_odb_read_header(&size, &type, repo->odb, oid) == 0 && type == GIT_OBJECT_COMMIT;
}

void kl_notes_find(size_t *from, size_t *to, const struct kl_note_index *index,
		   const git_oid *commit)
{
	size_t lo = 0, hi = index->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (git_oid_cmp(&index->e[mid].commit, commit) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*from = lo;
	while (lo < index->n && git_oid_equal(&index->e[lo].commit, commit))
		lo++;
	*to = lo;
}

/*
 * Use the `N` command of fast-import, which chooses the fanout itself, but works only if the commit
 * is in this clone. If the commit is not here, write the note at its old path or, if the note is
 * new, at `depth`.
 */
void kl_notes_emit(struct kl_notes_write *write, const git_oid *commit, const struct kl_buf *text,
		   const git_oid *blob, unsigned depth)
{
	char path[80], hex[KL_OID_HEX], blob_name[KL_OID_HEX] = "inline";
	size_t from, to;

	kl_notes_find(&from, &to, &write->old, commit);
	for (size_t i = from; i < to; i++) {
		kl_notes_path(path, commit, write->old.e[i].depth);
		kl_buf_addf(&write->stream, "D %s\n", path);
	}
	if (!blob && !text->len)
		return;
	if (blob)
		kl_oid_hex(blob_name, blob);
	kl_oid_hex(hex, commit);
	if (has_commit(write->r, commit)) {
		kl_buf_addf(&write->stream, "N %s %s\n", blob_name, hex);
	} else {
		kl_notes_path(path, commit, from < to ? write->old.e[from].depth : depth);
		kl_buf_addf(&write->stream, "M 100644 %s %s\n", blob_name, path);
	}
	if (blob)
		return;
	kl_buf_addf(&write->stream, "data %zu\n", text->len);
	kl_buf_add(&write->stream, text->ptr, text->len);
	kl_buf_addch(&write->stream, '\n');
}

/*
 * Add lines to the note of one commit. If `n` is 0, only join the commit's notes at several depths
 * into one note.
 */
static int unite_note(struct write *write, const git_oid *commit,
		      const struct kl_note_line *const *line, size_t n)
{
	KL_AUTO(kl_map_release) struct kl_map seen = KL_MAP_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf old = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t from, to, added;
	int err;

	kl_notes_find(&from, &to, &write->out.old, commit);
	for (size_t i = from; i < to; i++)
		if ((err = kl_notes_concat(&old, write->out.r, &write->out.old.e[i].blob)) < 0)
			return err;
	keep_old(&text, &seen, old.ptr);
	added = add_new(&text, &seen, line, n);
	if (added || to - from > 1)
		kl_notes_emit(&write->out, commit, &text, NULL, 0);
	write->out.events += added;
	write->out.commits += added > 0;
	return 0;
}

static int by_commit(const void *left, const void *right)
{
	const struct kl_note_line *const *x = left, *const *y = right;
	int order = git_oid_cmp(&(*x)->commit, &(*y)->commit);

	/* keep the caller's order: both pointers are into the caller's array */
	return order ? order : (*x > *y) - (*x < *y);
}

static bool is_named(const struct write *write, const git_oid *commit)
{
	struct kl_note_line key = { .commit = *commit };
	size_t lo = 0, hi = write->nline;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		int order = git_oid_cmp(&write->line[mid]->commit, &key.commit);

		if (!order)
			return true;
		if (order < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

static int unite_doubled(struct write *write)
{
	int err = 0;

	for (size_t i = 1; !err && i < write->out.old.n; i++) {
		const git_oid *commit = &write->out.old.e[i].commit;

		if (git_oid_equal(commit, &write->out.old.e[i - 1].commit) &&
		    !is_named(write, commit) &&
		    (i == 1 || !git_oid_equal(commit, &write->out.old.e[i - 2].commit)))
			err = unite_note(write, commit, NULL, 0);
	}
	return err;
}

static int build_trees(struct write *write, const struct kl_note_line *line, size_t n)
{
	int err = 0;

	write->line = kl_calloc(n + 1, sizeof(*write->line));
	write->nline = n;
	for (size_t i = 0; i < n; i++) {
		if (strchr(line[i].line, '\n'))
			return kl_error(KL_EINVALID, "an event must be one line");
		write->line[i] = line + i;
	}
	qsort(write->line, n, sizeof(*write->line), by_commit);
	for (size_t i = 0, end; !err && i < n; i = end) {
		const git_oid *commit = &write->line[i]->commit;

		for (end = i; end < n && git_oid_equal(&write->line[end]->commit, commit); end++)
			;
		if (!has_commit(write->out.r, commit))
			return kl_error(KL_ENOTFOUND,
					"cannot add an event to the note of %s: no such commit",
					git_oid_tostr_s(commit));
		err = unite_note(write, commit, write->line + i, end - i);
	}
	return err < 0 ? err : unite_doubled(write);
}

/* --- writing the commit and moving the ref ------------------------------- */

static char *commit_subject(const struct kl_notes_write *write)
{
	if (!git_oid_is_zero(&write->second))
		return kl_asprintf("notes: merge %zu event%s on %zu commit%s", write->events,
				   write->events == 1 ? "" : "s", write->commits,
				   write->commits == 1 ? "" : "s");
	return kl_asprintf("notes: add %zu event%s on %zu commit%s", write->events,
			   write->events == 1 ? "" : "s", write->commits,
			   write->commits == 1 ? "" : "s");
}

/*
 * Write the notes commit on a temporary ref. The end of the stream deletes that ref. fast-import
 * moves refs only when it finishes, so if it is killed, no ref is left behind.
 */
static int import_tree(git_oid *out, struct kl_notes_write *write)
{
	KL_AUTO(kl_buf_release) struct kl_buf head = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf answer = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *message = commit_subject(write);
	KL_AUTO(kl_freep) char *ref = kl_asprintf("refs/klineage/tmp/%ld-%016llx", (long)getpid(),
						  (unsigned long long)kl_rng_os_seed());
	struct kl_git_call call = {
		.args = KL_ARGS("fast-import", "--quiet", "--done"),
		.out = &answer,
	};
	const char *committer;
	int err = kl_ident_now(&committer, write->r, false);

	if (err < 0)
		return err;
	kl_buf_addf(&head, "commit %s\nmark :1\ncommitter %s\ndata %zu\n%s\n", ref, committer,
		    strlen(message), message);
	if (!git_oid_is_zero(&write->tip))
		kl_buf_addf(&head, "from %s\n", git_oid_tostr_s(&write->tip));
	if (!git_oid_is_zero(&write->second))
		kl_buf_addf(&head, "merge %s\n", git_oid_tostr_s(&write->second));
	kl_buf_add(&head, write->stream.ptr, write->stream.len);
	kl_buf_addf(&head, "\nget-mark :1\nreset %s\nfrom %040d\n\ndone\n", ref, 0);
	call.in = head.ptr;
	call.in_len = head.len;
	if ((err = KL_FAULT("notes-import")) < 0 || (err = kl_git_do(write->r, &call)) < 0)
		return err;
	kl_buf_rtrim(&answer);
	if ((err = kl_oid_parse(out, answer.ptr)) < 0)
		return kl_error_in(err, "git fast-import");
	return KL_FAULT("notes-imported");
}

/*
 * Commit the same tree again with a signature if commits are to be signed, because fast-import
 * cannot sign.
 */
static int sign_tip(git_oid *tip, struct kl_notes_write *write)
{
	KL_AUTO(kl_freep) char *message = commit_subject(write);
	git_oid parent[2] = { write->tip, write->second };
	struct kl_commit_spec spec = { .message = message, .parent = parent };
	bool wanted;
	int err = kl_repo_config_bool(&wanted, write->r, "commit.gpgsign", false);

	if (err < 0 || !wanted)
		return err;
	spec.nparent = (size_t)!git_oid_is_zero(&write->tip) + !git_oid_is_zero(&write->second);
	if ((err = kl_repo_tree_of(&spec.tree, write->r, tip)) < 0)
		return err;
	return kl_repo_commit_write(tip, write->r, &spec);
}

int kl_notes_commit(git_oid *out, struct kl_notes_write *write)
{
	git_oid made;
	int err = import_tree(&made, write);

	if (!err)
		err = sign_tip(&made, write);
	if (!err)
		*out = made;
	return err;
}

int kl_notes_prepare(git_oid *tip, git_oid *old, struct kl_repo *repo, const char *ref,
		     const struct kl_note_line *line, size_t n)
{
	KL_AUTO(write_release) struct write write = { .out = { .r = repo, .stream = KL_BUF_INIT } };
	git_oid made;
	int err = kl_txn_now(&write.out.tip, repo, ref);

	if (err < 0)
		return err;
	if (!git_oid_is_zero(&write.out.tip) &&
	    (err = kl_notes_index(&write.out.old, repo, &write.out.tip)) < 0)
		return err;
	if ((err = build_trees(&write, line, n)) < 0)
		return err;
	made = write.out.tip;
	if (write.out.events && (err = kl_notes_commit(&made, &write.out)) < 0)
		return err;
	*old = write.out.tip;
	*tip = made;
	return 0;
}

static int move_ref(struct kl_repo *repo, const char *ref, const git_oid *tip, const git_oid *old)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(repo);

	kl_refs_txn_update(txn, ref, tip, old);
	return kl_refs_txn_commit(txn, "klineage: add events");
}

/*
 * Take a lock, so that the processes of git-klineage write one after the other and do not repeat
 * work. The lock is only an optimization; the result is correct without it, because the ref is
 * moved only if it still has the old value.
 */
int kl_notes_add(struct kl_repo *repo, const char *ref, const struct kl_note_line *line, size_t n)
{
	KL_AUTO(kl_lock_release) struct kl_lock queue = KL_LOCK_INIT;
	KL_AUTO(kl_freep) char *path = NULL;
	int64_t start;
	git_oid tip, old;
	int err = n ? kl_repo_private(&path, repo, "notes-lock") : 0;

	if (err < 0 || !n)
		return err;
	err = kl_lock_take(&queue, path, RETRY_MS);
	start = kl_clock_ns();
	for (int64_t nap = 4; err == KL_EBUSY || !err; nap = nap < 256 ? nap * 2 : 256) {
		if ((err = kl_notes_prepare(&tip, &old, repo, ref, line, n)) < 0)
			return err;
		if (git_oid_equal(&tip, &old))
			return 0;
		err = move_ref(repo, ref, &tip, &old);
		if (!err || (err != KL_ECHANGED && err != KL_EBUSY))
			return err;
		if ((kl_clock_ns() - start) / 1000000 > RETRY_MS)
			return kl_error_in(err, "gave up, because other processes kept moving '%s'",
					   ref);
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_clock_sleep_ms(nap + (int64_t)(kl_rng_os_seed() % (uint64_t)nap));
		err = 0;
	}
	return err;
}
