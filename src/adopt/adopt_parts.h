/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ADOPT_ADOPT_PARTS_H
#define KL_ADOPT_ADOPT_PARTS_H

#include "adopt/adopt.h"
#include "adopt/command.h"
#include "adopt/options.h"
#include "backend/machine.h"
#include "base/scratch.h"
#include "contract/skeleton.h"
#include "jail/jail.h"

/*
 * adopt_parts - the state of one adoption, shared by the files of the room.
 */
struct kl_adopting {
	struct kl_repo *repo;
	const struct kl_adopt_opts *opts;
	struct kl_adopt_report *out;
	char *top;   /* of the worktree, without symlinks */
	char *build; /* directory of opts->commands; NULL: none, or the worktree is inside of it */
	struct kl_jail jail;
	struct kl_platform platform;
	struct kl_scratch scratch; /* work directory of the jail */
	struct kl_strvec options;  /* the words of opts->build_options */
	git_oid tree;              /* the index */
	struct kl_commands commands;
	struct kl_strvec failures; /* why builds could not be used, one sentence each */
	bool network;              /* one of them wants the network */
	size_t runs;               /* objects made so far */
};

/** Return `path` below the top as a path relative to it, or NULL; borrowed. */
const char *kl_adopt_below(const struct kl_adopting *adopting, const char *path);
/** Return true if the index has the file; `path` is relative to the top. */
bool kl_adopt_is_tracked(const struct kl_adopting *adopting, const char *path);
/** Return true if the file's suffix is ".c". */
bool kl_adopt_is_c(const char *path);

/* --- project.c */
/**
 * Find the build and read its commands. With opts->file, the build must compile that file; `chosen`
 * is set to the command for it, which belongs to adopting->commands.
 */
int kl_adopt_find_build(struct kl_adopting *adopting, const struct kl_command **chosen);

/* --- tree_copy.c */
/** Copy the tracked files of the worktree to the directory `to`. KL_ECANNOT: they are too many. */
int kl_adopt_copy_tree(struct kl_adopting *adopting, const char *to);
/** In all commands, replace paths below `from`, a copy of the worktree, by those in the worktree. */
void kl_adopt_move_commands(struct kl_adopting *adopting, const char *from);

/* --- compiler.c */
/** Start a command line in `argv`: gcc with the options, as absolute paths, in the jail. */
void kl_adopt_gcc(struct kl_strvec *argv, const struct kl_adopting *adopting,
		  const struct kl_options *options);
/**
 * Run a compiler in the jail; `out` receives its stdout. KL_ENO: it refused its input; the message
 * is its first error.
 */
int kl_adopt_run_gcc(struct kl_buf *out, const struct kl_adopting *adopting,
		     const struct kl_strvec *argv, const char *what);

/* --- closure.c */
/* The files that units include. Paths are absolute. */
struct kl_closure {
	struct kl_strvec files;     /* in the repository, the units among them */
	struct kl_strvec generated; /* untracked and ignored, or in the build's directory */
	struct kl_strvec missing;   /* names that no directory has */
	struct kl_strvec foreign;   /* headers of the system that the gate does not allow */
};
/**
 * Return true if the kernel may include files at `path`, with symlinks followed: in the worktree
 * but for .git, in the scratch directory, or in the build's directory. A repository could otherwise
 * have any file of the user copied into it.
 */
bool kl_closure_may_have(const struct kl_adopting *adopting, const char *path);
/** Move the include directories that the compiler may not read to options->outside. */
void kl_closure_drop_dirs(struct kl_options *options, const struct kl_adopting *adopting);
/**
 * Add the files that the unit `path` includes, and the unit itself. KL_EINVALID: one of them lies
 * elsewhere.
 */
int kl_closure_add(struct kl_closure *closure, const struct kl_adopting *adopting, const char *path,
		   const struct kl_options *options);
void kl_closure_release(struct kl_closure *closure);

/* --- units.c */
struct kl_units {
	struct kl_strvec path;           /* absolute; the kernel's own file first */
	struct kl_strvec why;            /* the symbol that each defines; "": it was asked for */
	struct kl_strvec traps, missing; /* symbols that nobody defines */
	struct kl_options options;       /* of all units together */
};
/** Find the units that `entry` of the first unit needs. `out` has the first unit and its options. */
int kl_units_find(struct kl_units *out, struct kl_adopting *adopting, const char *entry);
void kl_units_release(struct kl_units *units);

/* --- adopted.c */
/** What the contract says of the build; all paths are relative to the top. */
struct kl_adopted {
	struct kl_options options; /* directories that the contract names */
	struct kl_strvec sources, units, traps;
	struct kl_strvec copy_from, copy_to; /* generated headers */
	char *contract, *oracle, *adapter;   /* adapter: NULL: none */
};
void kl_adopted_release(struct kl_adopted *adopted);
/** Name all paths from the top; `contract` is set before. */
int kl_adopted_fill(struct kl_adopted *adopted, struct kl_adopting *adopting,
		    const struct kl_units *units, const struct kl_closure *closure,
		    const char *workload);
/** Compile and audit the kernel as the gate does. If the gate refuses it, add a note. */
int kl_adopted_try(struct kl_adopting *adopting, const struct kl_adopted *adopted,
		   const struct kl_skeleton_build *build, const char *entry);
/** Write all files, or none if one of them exists. */
int kl_adopted_write(struct kl_adopting *adopting, const struct kl_adopted *adopted,
		     const struct kl_skeleton *sk);

/* --- contract_text.c */
/**
 * Return what stands between the brackets of a list; it begins at `column` of its line, and goes on
 * in further lines. The caller frees it.
 */
char *kl_adopted_list(const struct kl_strvec *list, size_t column);
/** Append the keys of `surface` that say how the kernel is built, one string each, indented. */
void kl_adopted_lines(struct kl_strvec *out, const struct kl_adopted *adopted);

#endif
