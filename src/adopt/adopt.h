/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ADOPT_ADOPT_H
#define KL_ADOPT_ADOPT_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * adopt - writes a contract for a kernel as its project builds it.
 *
 * The build's command for the kernel's file gives flags, defines and include directories; the
 * compiler lists the files that it includes; the object shows which symbols the entry needs, and
 * the files that define them are added. Commands are read from compile_commands.json. If there is
 * none, make -n, CMake or Meson is run in the compile jail. These execute files of the project, so
 * this room is only for a person who asked for it; the gate reads the contract instead.
 */
struct kl_adopt_opts {
	const char *file;     /* the kernel's file, relative to the top of the worktree */
	const char *entry;    /* NULL: the only function that is not static */
	const char *workload; /* NULL: named after the entry */
	const char *contract; /* path of the contract, relative to the top; NULL: a default */
	const char *commands; /* path of a compile_commands.json; NULL: look for one */
	const char *build;    /* "make", "cmake", "meson" or "none"; NULL: whichever is there */
	const char *target;   /* of make; NULL: its default */
	int64_t index;        /* which of the commands for the file to take, from 1; 0: the first */
	/* further arguments of the build system, or of the compiler if there is none; NULL: none */
	const char *build_options;
	bool adapted;             /* write an adapter, too */
	struct kl_strvec sources; /* further files to compile, relative to the top */
};

struct kl_adopt_report {
	/* paths of the files that were written, relative to the top; adapter: NULL: none */
	char *contract, *oracle, *adapter;
	int unknown; /* arguments whose types contracts do not have */
	char *workload, *prototype;
	char *origin; /* where the command was found */
	size_t commands,
		taken; /* commands for the file, and the number of the one that was taken */
	struct kl_strvec units;     /* "<path>" or "<path> (defines '<symbol>')" */
	struct kl_strvec flags;     /* all that the contract says of the build, one line a key */
	struct kl_strvec dropped;   /* "<option>: <reason>" */
	struct kl_strvec generated; /* "<path of the copy> (from <path>)" */
	struct kl_strvec notes;     /* what else there is to know, one sentence each */
	struct kl_strvec todo;      /* "<line>: <text>": places of the contract to fill in */
	size_t sources;             /* files in the surface */
};

/**
 * Write the contract, the oracle and copies of generated headers; the repository has a worktree.
 * KL_EEXISTS: one of them exists, and nothing was written. KL_ECANNOT: the build does not run in the
 * jail; KL_ENOTFOUND: it does not compile the file; KL_EUSAGE: build_options are no options;
 * KL_EINVALID: the file or the build cannot be adopted. Hints say what to do.
 */
int kl_adopt_write(struct kl_adopt_report *out, struct kl_repo *repo,
		   const struct kl_adopt_opts *opts);
void kl_adopt_release(struct kl_adopt_report *report);

/**
 * List the C files that the project's build compiles, relative to the top, sorted; opts->file is
 * NULL. `origin` says where they were found; the caller frees it.
 */
int kl_adopt_list(struct kl_strvec *files, char **origin, struct kl_repo *repo,
		  const struct kl_adopt_opts *opts);

#endif
