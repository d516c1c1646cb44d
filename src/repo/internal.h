/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_INTERNAL_H
#define KL_REPO_INTERNAL_H

/*
 * internal - declarations shared inside src/repo: the structure of a repository, errors of libgit2,
 * and git as a child process.
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
	char *who;   /* "Name <mail>"; NULL if not read yet */
	char *dated; /* "Name <mail> <seconds> <zone>", with the time of the last query */
};

struct kl_repo {
	git_repository *git;
	git_odb *odb;
	char *start_dir; /* the user's current directory, where a git call with `here` runs */
	char *git_dir, *common_dir, *worktree, *prefix, *worktree_id;
	/*
	 * path of the index that git would use here: GIT_INDEX_FILE, which git sets for some hooks,
	 * or the default
	 */
	char *index;
	bool bare;
	/* opened by kl_repo_open_at(): ignore GIT_DIR etc. in the environment */
	bool isolated;
	struct kl_map config; /* maps a key in its normal form to its value; owns the values */
	struct kl_ident author, committer;
};

/**
 * Set the error "<our message>: <message of libgit2>". Return the enum kl_err that corresponds to
 * libgit2's `code`.
 */
int kl_error_git(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A call of git as a child process. By default git runs in the git directory with --git-dir and
 * without a worktree, so that no path depends on the user's current directory. With `here` it runs
 * in the user's directory and environment instead.
 */
struct kl_git_call {
	const char *const *args; /* arguments after "git"; NULL-terminated */
	/* more variables, "NAME=value", NULL-terminated; NULL if there is none */
	const char *const *setenv;
	bool here;
	bool finish; /* let git finish even if this process is interrupted or dies */
	/*
	 * The command can connect to a remote and then ask the user for a passphrase, so it gets
	 * the terminal. Each file that it writes is limited to `max_file` bytes (0 if there is no
	 * limit).
	 */
	bool remote;
	uint64_t max_file;
	const void *in; /* stdin, `in_len` bytes; NULL for /dev/null */
	size_t in_len;
	/* if not NULL, stdin is this file, which is locked by a record lock while git runs */
	const char *in_path;
	struct kl_buf *out; /* stdout is appended; NULL to discard it */
	/* stderr is appended; if NULL, kl_git_do() uses stderr only for its message */
	struct kl_buf *err;
};

/** Run git. `*status` is git's exit code, or 128 + n if signal n ended git. */
int kl_git_run(int *status, const struct kl_repo *repo, const struct kl_git_call *call);
/** Run git. Return KL_EIO, with git's own message, if git did not exit with 0. */
int kl_git_do(const struct kl_repo *repo, const struct kl_git_call *call);
/**
 * Return git's message from its stderr: the first "fatal:" or "error:" line without that prefix, or
 * the first line. It points into `err`, which is modified.
 */
const char *kl_git_complaint(struct kl_buf *err);

#define KL_ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/**
 * Get the text "Name <mail> <seconds> <zone>" for a new commit. It is borrowed and valid until the
 * next call with the same `author`.
 */
int kl_ident_now(const char **out, struct kl_repo *repo, bool author);
/** Read git's configuration into `repo->config`. */
int kl_config_load(struct kl_repo *repo);

/**
 * Set *out to the path `$GIT_COMMON_DIR/klineage/<name>`, and create the directory `klineage`. The
 * caller frees *out.
 */
int kl_repo_private(char **out, const struct kl_repo *repo, const char *name);

/**
 * Like kl_oid_parse(), but for `n` bytes without a NUL. Returns false if the bytes are not 40 hex
 * digits.
 */
bool kl_oid_parsen(git_oid *out, const char *hex, size_t n);

/*
 * --- transactions of refs ----------------------------------------------
 */

enum kl_refs_verb { KL_REFS_UPDATE, KL_REFS_DELETE, KL_REFS_VERIFY };

struct kl_refs_cmd {
	enum kl_refs_verb verb;
	char *ref;
	git_oid to;   /* new value (KL_REFS_UPDATE only) */
	git_oid from; /* expected old value; zero if the ref must not exist */
	bool any;     /* for KL_REFS_DELETE: do not check the old value */
};

struct kl_refs_txn {
	struct kl_repo *r;
	struct kl_refs_cmd *cmd;
	size_t n, alloc;
};

/**
 * kl_txn_format() writes a transaction as input of `git update-ref --stdin`, and kl_txn_parse()
 * reads it back. `name` is the file name for error messages.
 */
void kl_txn_format(struct kl_buf *out, const struct kl_refs_txn *txn);
int kl_txn_parse(struct kl_refs_txn *txn, const char *text, const char *name);
/** Run `git update-ref --stdin` on the journal file; `err` gets its stderr. */
int kl_txn_run(int *status, struct kl_repo *repo, const char *journal, const char *reflog,
	       struct kl_buf *err);
/** Get the current value of a ref; zero if it does not exist. */
int kl_txn_now(git_oid *out, struct kl_repo *repo, const char *ref);
/**
 * Recover from a transaction that was killed. The caller must hold our lock. Removes the stale
 * locks of the transaction; if some of its refs have moved, moves the others as well; then removes
 * the journal. `*cleared` is the number of locks removed.
 */
int kl_txn_recover(struct kl_repo *repo, int *cleared);

/*
 * --- notes trees and notes commits -------------------------------------
 */

struct kl_note_entry {
	git_oid commit, blob;
	unsigned depth; /* number of fanout directories in its path */
};

struct kl_note_index {
	/* sorted by commit; entries of the same commit are sorted by depth, deepest first */
	struct kl_note_entry *e;
	size_t n, alloc;
};

/** List all notes of a notes tree. Return KL_EINVALID if the tree has too many entries. */
int kl_notes_index(struct kl_note_index *out, struct kl_repo *repo, const git_oid *tip);
void kl_note_index_release(struct kl_note_index *index);
/** Write the path of a note in its tree, with `depth` fanout directories. */
void kl_notes_path(char out[80], const git_oid *commit, unsigned depth);
/**
 * A notes commit in preparation, as a stream for `git fast-import` with the changes against its
 * first parent.
 */
struct kl_notes_write {
	struct kl_repo *r;
	struct kl_note_index old; /* the notes of the first parent */
	git_oid tip;              /* first parent; zero if there are no notes yet */
	git_oid second;           /* second parent; zero if it is not a merge */
	struct kl_buf stream;
	size_t events, commits; /* number of new events, and of commits that got new events */
};
void kl_notes_write_release(struct kl_notes_write *write);
/** Find the entries of a commit. They have the indices from *from up to, but not including, *to. */
void kl_notes_find(size_t *from, size_t *to, const struct kl_note_index *index,
		   const git_oid *commit);
/**
 * Replace all entries of a commit by one note. The note is `blob` or, if that is NULL, `text`; an
 * empty text removes the note. `depth` is the fanout of the path if the commit is not in this clone
 * and had no note before.
 */
void kl_notes_emit(struct kl_notes_write *write, const git_oid *commit, const struct kl_buf *text,
		   const git_oid *blob, unsigned depth);
/** Write the commit with the user's identity, signed if commit.gpgSign is set. */
int kl_notes_commit(git_oid *out, struct kl_notes_write *write);

/*
 * The key of a line of a note: the "id" of the event, and whether the event is signed, so that a
 * signed line can be added to a note that has the same event unsigned. A line that is not an event
 * is its own key. `time` is used to sort lines.
 */
struct kl_note_key {
	char *id, *full; /* `full` differs from `id` only if the line is signed */
	char *time;      /* time of the event; "" if it has none */
};
void kl_note_key_init(struct kl_note_key *key, const char *line, size_t len);
void kl_note_key_release(struct kl_note_key *key);

/**
 * Append a note to the text of the deeper notes of the same commit, with the separator that git
 * uses.
 */
int kl_notes_concat(struct kl_buf *out, struct kl_repo *repo, const git_oid *blob);

#endif
