/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ADOPT_ADOPT_H
#define KL_ADOPT_ADOPT_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * adopt - writes a contract for a kernel as its project builds it.
 *
 * The build's command for the kernel's file gives flags, defines and include directories. The
 * compiler lists the files that the kernel's file includes. The compiled object shows which symbols
 * the entry needs, and the files that define these symbols are added. Commands are read from
 * compile_commands.json. If there is no such file, make -n, CMake or Meson is run in the compile
 * jail. These execute files of the project, so the code in this folder runs only when a person asks
 * for it. The gate does not use it, and reads the contract instead.
 */
struct kl_adopt_opts {
	const char *file; /* the kernel's file, relative to the top of the worktree */
	/*
	 * the function: "tile", or in C++ "ns::tile<float, 8>"; NULL for the only one that is not
	 * static
	 */
	const char *entry;
	const char *workload; /* NULL to name it after the entry */
	const char *contract; /* path of the contract, relative to the top; NULL for a default */
	const char *commands; /* path of a compile_commands.json; NULL to look for one */
	const char *build;    /* "make", "cmake", "meson" or "none"; NULL to try each */
	const char *target;   /* target of make; NULL for the default target */
	/*
	 * number of the command to take if several compile the file, counted from 1; 0 for the
	 * first
	 */
	int64_t index;
	/*
	 * further arguments of the build system or, without a build, of the compiler; NULL if none
	 */
	const char *build_options;
	bool adapted;             /* write an adapter as well */
	struct kl_strvec sources; /* further files to compile, relative to the top */
};

struct kl_adopt_report {
	/* paths of the files that were written, relative to the top; `adapter` can be NULL */
	char *contract, *oracle, *adapter;
	int unknown; /* number of arguments whose types no contract can have */
	char *workload, *prototype;
	char *origin; /* where the command was found */
	/* how many commands compile the file, and the number of the one taken, from 1 */
	size_t commands, taken;
	struct kl_strvec units;     /* "<path>" or "<path> (defines '<symbol>')" */
	struct kl_strvec flags;     /* keys of the contract that describe the build, one per line */
	struct kl_strvec dropped;   /* "<option>: <reason>" */
	struct kl_strvec generated; /* "<path of the copy> (from <path>)" */
	struct kl_strvec notes;     /* other information for the user, one sentence each */
	struct kl_strvec todo;      /* "<line>: <text>" for each line of the contract to fill in */
	size_t sources;             /* number of files in the surface */
};

/**
 * Write the contract, the oracle and copies of generated headers; the repository must have a
 * worktree. Return KL_EEXISTS if one of these files exists; nothing is written then. Return
 * KL_ECANNOT if the build cannot run in the jail. Return KL_ENOTFOUND if no build was found that
 * compiles the file. Return KL_EUSAGE if `build_options` is not a list of options. Return
 * KL_EINVALID if the file or the build cannot be adopted. Hints tell the user what to do.
 */
int kl_adopt_write(struct kl_adopt_report *out, struct kl_repo *repo,
		   const struct kl_adopt_opts *opts);
void kl_adopt_release(struct kl_adopt_report *report);

/**
 * List the files in C and C++ that the project's build compiles, relative to the top, sorted;
 * opts->file must be NULL. `*origin` is set to the source of the build's commands, for the user;
 * the caller frees it.
 */
int kl_adopt_list(struct kl_strvec *files, char **origin, struct kl_repo *repo,
		  const struct kl_adopt_opts *opts);

#endif
