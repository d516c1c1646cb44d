/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_INTERNAL_H
#define KL_REPO_INTERNAL_H

/*
 * internal - what the files of src/repo share: the repository's insides,
 * libgit2 behind our errors, and git itself as a child process.
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

/* An identity as git gave it: "Name <mail>", and whether the date is ours. */
struct kl_ident {
	char *who;   /* NULL: not asked yet */
	char *dated; /* "Name <mail> <seconds> <zone>" of the last question */
};

struct kl_repo {
	git_repository *git;
	git_odb *odb;
	char *start_dir; /* where children of the user's view run */
	char *git_dir, *common_dir, *worktree, *prefix, *worktree_id;
	/* the one git would use here: GIT_INDEX_FILE counts, as a hook needs */
	char *index;
	bool bare;
	bool isolated;        /* opened by directory: the environment's GIT_DIR is not ours */
	struct kl_map config; /* normalised key -> value, owned */
	struct kl_ident author, committer;
};

/** Message of libgit2 behind ours; its code becomes one of our kinds. */
int kl_error_git(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A child git. By default it sees the repository alone: --git-dir, standing
 * in the git directory, no worktree, so that no path is relative to where
 * the user stands. `here` gives it the user's own view instead.
 */
struct kl_git_call {
	const char *const *args;   /* after "git"; NULL-terminated */
	const char *const *setenv; /* "NAME=value", NULL-terminated, or NULL */
	bool here;
	bool finish; /* neither an interrupt nor our death ends it */
	/*
	 * It may talk to a remote, and so to the user: it gets the terminal, and no file
	 * that it writes may be longer than `max_file` bytes (0: any length).
	 */
	bool remote;
	uint64_t max_file;
	const void *in; /* stdin; NULL: none */
	size_t in_len;
	const char *in_path; /* stdin is this file, record-locked while git runs */
	struct kl_buf *out;  /* NULL: dropped */
	struct kl_buf *err;  /* whole stderr; NULL: for the message only */
};

/** Run git; `*status` is its exit code, 128 + n if signal n ended it. */
int kl_git_run(int *status, const struct kl_repo *repo, const struct kl_git_call *call);
/** Run git; any end but exit 0 is KL_EIO with git's own words. */
int kl_git_do(const struct kl_repo *repo, const struct kl_git_call *call);
/**
 * What git complained of, from its stderr: the first fatal or error line
 * without its prefix, in `err` itself.
 */
const char *kl_git_complaint(struct kl_buf *err);

#define KL_ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/**
 * "Name <mail> <seconds> <zone>" for a new commit; borrowed until the next
 * call for the same role.
 */
int kl_ident_now(const char **out, struct kl_repo *repo, bool author);
/** Fill `repo->config`. */
int kl_config_load(struct kl_repo *repo);

/** `$GIT_COMMON_DIR/klineage/<name>`, the directory made; the caller frees. */
int kl_repo_private(char **out, const struct kl_repo *repo, const char *name);

/** Same as kl_oid_parse, for `n` bytes that need no NUL; false: not 40 hex digits. */
bool kl_oid_parsen(git_oid *out, const char *hex, size_t n);

/* --- transactions ------------------------------------------------------ */

enum kl_refs_verb { KL_REFS_UPDATE, KL_REFS_DELETE, KL_REFS_VERIFY };

struct kl_refs_cmd {
	enum kl_refs_verb verb;
	char *ref;
	git_oid to;   /* update only */
	git_oid from; /* zero: must not exist */
	bool any;     /* delete whatever it is */
};

struct kl_refs_txn {
	struct kl_repo *r;
	struct kl_refs_cmd *cmd;
	size_t n, alloc;
};

/** The transaction as `git update-ref --stdin` reads it, and back. */
void kl_txn_format(struct kl_buf *out, const struct kl_refs_txn *txn);
int kl_txn_parse(struct kl_refs_txn *txn, const char *text, const char *name);
/** Run the journal file as a transaction; stderr in `err`. */
int kl_txn_run(int *status, struct kl_repo *repo, const char *journal, const char *reflog,
	       struct kl_buf *err);
/** Present value of a ref; zero if there is none. */
int kl_txn_now(git_oid *out, struct kl_repo *repo, const char *ref);
/**
 * With our lock held: clear what a killed transaction left, finish what it
 * had begun to move, drop the journal.
 */
int kl_txn_recover(struct kl_repo *repo, int *cleared);

/* --- notes ------------------------------------------------------------- */

struct kl_note_entry {
	git_oid commit, blob;
	unsigned depth; /* directories above it */
};

struct kl_note_index {
	struct kl_note_entry *e; /* by commit, deepest first */
	size_t n, alloc;
};

/** All notes of a notes tree; KL_EINVALID: it has more than a tree of notes may. */
int kl_notes_index(struct kl_note_index *out, struct kl_repo *repo, const git_oid *tip);
void kl_note_index_release(struct kl_note_index *index);
/** Path of a note in its tree: fanout of `depth` directories. */
void kl_notes_path(char out[80], const git_oid *commit, unsigned depth);
/**
 * A notes commit in the making: what changes against `old`, the notes of its first
 * parent, as a stream for `git fast-import`.
 */
struct kl_notes_write {
	struct kl_repo *r;
	struct kl_note_index old;
	git_oid tip;    /* first parent; zero: no notes yet */
	git_oid second; /* zero: no merge */
	struct kl_buf stream;
	size_t events, commits; /* what is new */
};
void kl_notes_write_release(struct kl_notes_write *write);
/** The entries of a commit are [*from, *to) of an index. */
void kl_notes_find(size_t *from, size_t *to, const struct kl_note_index *index,
		   const git_oid *commit);
/**
 * All old entries of a commit give way to one with this text, or, where `blob` is given, to that
 * blob; empty text: to none. `depth` is for a note on an object that this clone has not, and that
 * had none before.
 */
void kl_notes_emit(struct kl_notes_write *write, const git_oid *commit, const struct kl_buf *text,
		   const git_oid *blob, unsigned depth);
/** Write the commit, with the user's identity and signature. */
int kl_notes_commit(git_oid *out, struct kl_notes_write *write);

/*
 * What a line of a note is known by: its "id", and whether it is signed, so that a signature can
 * come later; a line that is no event is known by itself. `time` is for an order of lines.
 */
struct kl_note_key {
	char *id, *full; /* the same unless the line is signed */
	char *time;      /* "" if it says none */
};
void kl_note_key_init(struct kl_note_key *key, const char *line, size_t n);
void kl_note_key_release(struct kl_note_key *key);

/** Append a note's bytes to those of the deeper ones as git does. */
int kl_notes_concat(struct kl_buf *out, struct kl_repo *repo, const git_oid *blob);

#endif
