/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ADOPT_ADOPT_PARTS_H
#define KL_ADOPT_ADOPT_PARTS_H

#include "adopt/adopt.h"
#include "adopt/command.h"
#include "adopt/options.h"
#include "backend/c/link/object.h"
#include "backend/machine.h"
#include "base/scratch.h"
#include "contract/contract.h"
#include "contract/language.h"
#include "contract/skeleton.h"
#include "jail/jail.h"

/* adopt_parts - declares the state of one adoption, shared by the files of this folder. */
struct kl_adopting {
	struct kl_repo *repo;
	const struct kl_adopt_opts *opts;
	struct kl_adopt_report *out;
	char *top; /* path of the worktree, without symlinks */
	/* directory of opts->commands; NULL if not given, or it contains the worktree */
	char *build;
	/* language of the kernel's file; NULL if no file is given */
	const struct kl_language *language;
	struct kl_jail jail;
	struct kl_platform platform;
	struct kl_scratch scratch; /* work directory of the jail */
	struct kl_strvec options;  /* the words of opts->build_options */
	git_oid tree;              /* tree of the index */
	struct kl_commands commands;
	struct kl_strvec failures; /* reasons why builds could not be used, one sentence each */
	bool network;              /* at least one of these builds needs the network */
	size_t runs;               /* number of objects compiled so far */
};

/** Return `path` relative to the top, or NULL if it is not below the top; borrowed. */
const char *kl_adopt_below(const struct kl_adopting *adopting, const char *path);
/** Return true if the index has the file; `path` is relative to the top. */
bool kl_adopt_is_tracked(const struct kl_adopting *adopting, const char *path);
/** Return true if a kernel can have this file as a unit, as its suffix says. */
bool kl_adopt_is_unit(const struct kl_adopting *adopting, const char *path);

/*
 * --- project.c
 */
/**
 * Find the build and read its commands. If opts->file is set, the build must compile this file, and
 * `*chosen` is set to its command, which belongs to adopting->commands.
 */
int kl_adopt_find_build(struct kl_adopting *adopting, const struct kl_command **chosen);

/*
 * --- tree_copy.c
 */
/**
 * Copy the tracked files of the worktree to the directory `to`. Return KL_ECANNOT if they are too
 * large in total.
 */
int kl_adopt_copy_tree(struct kl_adopting *adopting, const char *to);
/** In all commands, replace `from`, the path of a copy of the worktree, by that of the worktree. */
void kl_adopt_move_commands(struct kl_adopting *adopting, const char *from);

/*
 * --- compiler.c
 */
/** Begin a command line in `argv`: gcc with the options, and with absolute paths. */
void kl_adopt_gcc(struct kl_strvec *argv, const struct kl_adopting *adopting,
		  const struct kl_options *options);
/**
 * Run a compiler in the jail; `out` receives its stdout. Return KL_ENO if the compiler refused its
 * input. The message is the compiler's first error.
 */
int kl_adopt_run_gcc(struct kl_buf *out, const struct kl_adopting *adopting,
		     const struct kl_strvec *argv, const char *what);

/*
 * --- closure.c
 */
/* The files that units include. Paths are absolute. */
struct kl_closure {
	struct kl_strvec files; /* files in the repository, including the units */
	/* files that git ignores, or that are in the build's or the scratch directory */
	struct kl_strvec generated;
	struct kl_strvec missing; /* names of headers that no include directory has */
	struct kl_strvec foreign; /* headers of the system that the gate does not allow */
};
/**
 * Return true if the kernel may include `path`: after symlinks are followed, it is in the worktree
 * (except .git), in the scratch directory, or in the build's directory. Otherwise a repository
 * could have any file of the user copied into the worktree.
 */
bool kl_closure_may_have(const struct kl_adopting *adopting, const char *path);
/** Move the include directories that the compiler may not read to options->outside. */
void kl_closure_drop_dirs(struct kl_options *options, const struct kl_adopting *adopting);
/**
 * Add the files that the unit `path` includes, and the unit itself. Return KL_EINVALID if the
 * kernel may not include one of these files (kl_closure_may_have()).
 */
int kl_closure_add(struct kl_closure *closure, const struct kl_adopting *adopting, const char *path,
		   const struct kl_options *options);
void kl_closure_release(struct kl_closure *closure);

/*
 * --- entry.c
 */
/* The function that is adopted. */
struct kl_adopt_entry {
	char *name;    /* the name that the contract uses */
	size_t params; /* number of parameters; 0 in C, where it does not matter */
};
void kl_adopt_entry_release(struct kl_adopt_entry *entry);
/** Read the kernel's file or, if `preprocessed`, the preprocessor's output for it. */
int kl_adopt_read(struct kl_buf *out, const struct kl_adopting *adopting,
		  const struct kl_options *options, bool preprocessed);
/** Find the function that opts->entry names or, if it is NULL, the only one that is not static. */
int kl_adopt_find_entry(struct kl_adopt_entry *out, const struct kl_adopting *adopting,
			const struct kl_options *options);
/**
 * Parse a contract that has the entry and the texts of its `surface` in `build`, and otherwise only
 * the keys that every contract needs.
 */
int kl_adopt_parse(struct kl_contract **out, const struct kl_adopting *adopting,
		   const struct kl_skeleton_build *build, const struct kl_adopt_entry *entry);
/**
 * Compile the kernel's file and find the symbol of the entry function. In C the symbol is the
 * function's name; in C++ it is the mangled name (backend/c/cxx.h). Return KL_ENOTFOUND if the file
 * does not define the entry, or if the entry is not visible to other files. The caller frees the
 * symbol.
 */
typedef int kl_adopt_compile_fn(struct kl_object **out, struct kl_adopting *adopting,
				const char *path, const struct kl_options *options);
int kl_adopt_compile_entry(struct kl_object **out, char **symbol, struct kl_adopting *adopting,
			   const struct kl_adopt_entry *entry, const struct kl_options *options,
			   kl_adopt_compile_fn *compile);

/*
 * --- units.c
 */
struct kl_units {
	struct kl_strvec path; /* absolute; the kernel's own file first */
	/* the needed symbol that each defines; "" if the user named the file */
	struct kl_strvec why;
	struct kl_strvec traps;   /* undefined symbols that can be traps */
	struct kl_strvec missing; /* names of needed symbols that no source defines */
	/* parts of the runtime of C++ that kernels do not have: "<part>: <advice>" */
	struct kl_strvec runtime;
	struct kl_options options; /* merged options of all units */
};
/**
 * Find the units that `entry`, a function of the first unit, needs. The caller sets the first unit
 * and its options in `out`.
 */
int kl_units_find(struct kl_units *out, struct kl_adopting *adopting,
		  const struct kl_adopt_entry *entry);
void kl_units_release(struct kl_units *units);

/* --- adopted.c */
/** The contents of the contract that describe the build; all paths are relative to the top. */
struct kl_adopted {
	struct kl_options options; /* options of the contract, with its directories */
	struct kl_strvec sources, units, traps;
	struct kl_strvec copy_from, copy_to; /* generated headers */
	char *contract, *oracle, *adapter;   /* paths of these files; `adapter` can be NULL */
};
void kl_adopted_release(struct kl_adopted *adopted);
/** Fill `adopted`, with all paths relative to the top; the caller has set `contract`. */
int kl_adopted_fill(struct kl_adopted *adopted, struct kl_adopting *adopting,
		    const struct kl_units *units, const struct kl_closure *closure,
		    const char *workload);
/** Compile and audit the kernel as the gate does. If the gate refuses it, add a note. */
int kl_adopted_try(struct kl_adopting *adopting, const struct kl_adopted *adopted,
		   const struct kl_skeleton_build *build, const struct kl_adopt_entry *entry);
/** Write all files, or none if one of them exists. */
int kl_adopted_write(struct kl_adopting *adopting, const struct kl_adopted *adopted,
		     const struct kl_skeleton *sk);

/* --- contract_text.c */
/**
 * Return the text between the brackets of a list, wrapped into lines; its first line begins at
 * `column`. The caller frees it.
 */
char *kl_adopted_list(const struct kl_strvec *list, size_t column);
/** Append the keys of `surface` that describe how the kernel is built, one indented string each. */
void kl_adopted_lines(struct kl_strvec *out, const struct kl_adopted *adopted);

#endif
