/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_INTERNAL_H
#define KL_REPO_INTERNAL_H

/*
 * internal - declarations shared inside src/repo: the repository struct, libgit2's errors mapped to
 * ours, and git as a child process.
 */
#include <git2.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "repo/refs.h"
#include "repo/repo.h"

KL_DEFINE_CLEANUP(git_blob *, git_blob_free)
KL_DEFINE_CLEANUP(git_commit *, git_commit_free)
KL_DEFINE_CLEANUP(git_diff *, git_diff_free)
KL_DEFINE_CLEANUP(git_odb_object *, git_odb_object_free)
KL_DEFINE_CLEANUP(git_object *, git_object_free)
KL_DEFINE_CLEANUP(git_reference *, git_reference_free)
KL_DEFINE_CLEANUP(git_reference_iterator *, git_reference_iterator_free)
KL_DEFINE_CLEANUP(git_tree *, git_tree_free)
KL_DEFINE_CLEANUP(git_tree_entry *, git_tree_entry_free)
KL_DEFINE_CLEANUP(git_treebuilder *, git_treebuilder_free)

/* An identity as git reports it. Owns its strings. */
struct kl_ident {
	char *who;   /* "Name <mail>"; NULL: not read yet */
	char *dated; /* "Name <mail> <seconds> <zone>" of the latest call */
};

struct kl_repo {
	git_repository *git;
	git_odb *odb;
	char *start_dir; /* working directory of a git call with `here` */
	char *git_dir, *common_dir, *worktree, *prefix, *worktree_id;
	/* the index that git would use here; honours GIT_INDEX_FILE, which hooks rely on */
	char *index;
	bool bare;
	bool isolated;        /* opened by directory: ignore GIT_DIR etc. of the environment */
	struct kl_map config; /* normalised key -> value, owned */
	struct kl_ident author, committer;
};

/** Set an error "<our message>: <libgit2's message>"; maps libgit2's code to an enum kl_err. */
int kl_error_git(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A call of git as a child process. By default it runs in the git directory with --git-dir and
 * without a worktree, so that no path depends on the user's current directory. With `here` it runs
 * in the user's directory and environment instead.
 */
struct kl_git_call {
	const char *const *args;   /* after "git"; NULL-terminated */
	const char *const *setenv; /* "NAME=value", NULL-terminated, or NULL */
	bool here;
	bool finish; /* let it finish even if we are interrupted or die */
	/*
	 * The command can talk to a remote and so ask the user for a passphrase: it gets the
	 * terminal. Files that it writes are limited to `max_file` bytes (0: no limit).
	 */
	bool remote;
	uint64_t max_file;
	const void *in; /* stdin; NULL: none */
	size_t in_len;
	const char *in_path; /* stdin is this file, record-locked while git runs */
	struct kl_buf *out;  /* gets stdout; NULL: dropped */
	struct kl_buf *err;  /* gets stderr; NULL: used for the error message only */
};

/** Run git; `*status` is its exit code, 128 + n if signal n ended it. */
int kl_git_run(int *status, const struct kl_repo *repo, const struct kl_git_call *call);
/** Run git; if it does not exit with 0, KL_EIO with git's own error message. */
int kl_git_do(const struct kl_repo *repo, const struct kl_git_call *call);
/**
 * git's error message from its stderr: the first "fatal:" or "error:" line without that prefix, or
 * the first line. Borrowed from `err`, which is modified.
 */
const char *kl_git_complaint(struct kl_buf *err);

#define KL_ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/**
 * "Name <mail> <seconds> <zone>" for a new commit; borrowed, valid until the next call for the same
 * role.
 */
int kl_ident_now(const char **out, struct kl_repo *repo, bool author);
/** Read git's configuration into `repo->config`. */
int kl_config_load(struct kl_repo *repo);

/** Path `$GIT_COMMON_DIR/klineage/<name>`; creates the directory. The caller frees. */
int kl_repo_private(char **out, const struct kl_repo *repo, const char *name);

/** As kl_oid_parse, for `n` bytes without a NUL; false if they are not 40 hex digits. */
bool kl_oid_parsen(git_oid *out, const char *hex, size_t n);

/* --- transactions ------------------------------------------------------ */

enum kl_refs_verb { KL_REFS_UPDATE, KL_REFS_DELETE, KL_REFS_VERIFY };

struct kl_refs_cmd {
	enum kl_refs_verb verb;
	char *ref;
	git_oid to;   /* new value; update only */
	git_oid from; /* expected old value; zero: must not exist */
	bool any;     /* delete without checking the old value */
};

struct kl_refs_txn {
	struct kl_repo *r;
	struct kl_refs_cmd *cmd;
	size_t n, alloc;
};

/**
 * Format a transaction as input of `git update-ref --stdin`, and parse it back. `name` is the file
 * name for error messages.
 */
void kl_txn_format(struct kl_buf *out, const struct kl_refs_txn *txn);
int kl_txn_parse(struct kl_refs_txn *txn, const char *text, const char *name);
/** Run the journal file through `git update-ref --stdin`; `err` gets its stderr. */
int kl_txn_run(int *status, struct kl_repo *repo, const char *journal, const char *reflog,
	       struct kl_buf *err);
/** Current value of a ref; zero if it does not exist. */
int kl_txn_now(git_oid *out, struct kl_repo *repo, const char *ref);
/**
 * Recover from a killed transaction; our lock must be held. Removes its stale locks, finishes
 * moving the refs if some have moved, and removes the journal. `*cleared` is the number of locks
 * removed.
 */
int kl_txn_recover(struct kl_repo *repo, int *cleared);

/* --- notes ------------------------------------------------------------- */

struct kl_note_entry {
	git_oid commit, blob;
	unsigned depth; /* number of directories in its path */
};

struct kl_note_index {
	struct kl_note_entry *e; /* by commit, deepest first */
	size_t n, alloc;
};

/** List all notes of a notes tree; KL_EINVALID: the tree has too many entries. */
int kl_notes_index(struct kl_note_index *out, struct kl_repo *repo, const git_oid *tip);
void kl_note_index_release(struct kl_note_index *index);
/** Path of a note in its tree, with `depth` fanout directories. */
void kl_notes_path(char out[80], const git_oid *commit, unsigned depth);
/**
 * A notes commit in preparation: its changes against `old`, the notes of its first parent, as a
 * stream for `git fast-import`.
 */
struct kl_notes_write {
	struct kl_repo *r;
	struct kl_note_index old;
	git_oid tip;    /* first parent; zero: no notes yet */
	git_oid second; /* second parent; zero: not a merge */
	struct kl_buf stream;
	size_t events, commits; /* new events, and commits that got some */
};
void kl_notes_write_release(struct kl_notes_write *write);
/** Find the entries of a commit: [*from, *to) of the index. */
void kl_notes_find(size_t *from, size_t *to, const struct kl_note_index *index,
		   const git_oid *commit);
/**
 * Replace all entries of a commit by one note: `blob`, or if that is NULL, `text` (empty: remove
 * the note). `depth` is the fanout for a commit that is not in this clone and had no note before.
 */
void kl_notes_emit(struct kl_notes_write *write, const git_oid *commit, const struct kl_buf *text,
		   const git_oid *blob, unsigned depth);
/** Write the commit with the user's identity, signed if commit.gpgSign is set. */
int kl_notes_commit(git_oid *out, struct kl_notes_write *write);

/*
 * Key that identifies a line of a note: the event's "id" and whether it is signed, so that a signed
 * line can be added to an unsigned one later. A line that is not an event is its own key. `time` is
 * used to sort lines.
 */
struct kl_note_key {
	char *id, *full; /* the same unless the line is signed */
	char *time;      /* "" if the line has none */
};
void kl_note_key_init(struct kl_note_key *key, const char *line, size_t len);
void kl_note_key_release(struct kl_note_key *key);

/** Append a note to the deeper notes of the same commit, separated as git separates them. */
int kl_notes_concat(struct kl_buf *out, struct kl_repo *repo, const git_oid *blob);

#endif
