/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SKELETON_H
#define KL_CONTRACT_SKELETON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "contract/todo.h"

/*
 * skeleton - writes a first contract and oracle from a kernel's prototype (templates/init). Both
 * have the word TODO where only the author knows a value (extents, sizes) or the meaning of the
 * kernel. A contract with TODO does not parse. Only languages with kl_language.init are supported.
 *
 *	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
 *	err = kl_skeleton_make(&sk, "axpy.c", text, len, NULL, NULL, false);
 */

/*
 * How the kernel is built, if its file is not compiled by itself. The strings are texts of the
 * contract.
 */
struct kl_skeleton_build {
	const char *sources; /* text between the brackets of `sources` */
	const char *lines;   /* the lines of `surface` after `entry`, each with a newline */
	/* path of the oracle; all paths are relative to the repository's top */
	const char *oracle;
	const char *adapter; /* path of the adapter; NULL if `adapted` is false */
	const char *folder;  /* directory of the kernel's file; "" for the top */
	/* headers that the adapter includes; NULL for those that the kernel's file includes */
	const struct kl_strvec *headers;
	bool finite; /* the flags make NaN and infinities undefined */
};

struct kl_skeleton {
	struct kl_buf contract; /* klineage.yaml */
	struct kl_buf oracle;
	struct kl_buf adapter;           /* empty unless `adapted` */
	struct kl_buf plan, oracle_plan; /* launch plans; empty if the language has none */
	/* source that includes the kernel's file, if that is a header */
	struct kl_buf unit;
	/* names of the files; NULL for a file that is not written */
	char *contract_name, *oracle_name, *plan_name, *oracle_plan_name, *adapter_name;
	/* file name of `unit`; NULL if the kernel's own file is compiled */
	char *unit_name;
	char *workload;  /* name of the workload */
	char *prototype; /* the kernel's prototype on one line, printable */
	/* a parameter or the result has a type that no contract can have */
	bool unknown_type;
	struct kl_todo todo, plan_todo; /* TODO marks in the contract, and in its plan */
	/* names that the kernel's file includes by #include "..." */
	struct kl_strvec headers;
	/* number of parameters whose types no contract can have */
	int unknown;
	bool adapted; /* set by the caller: write an adapter as well */
	/*
	 * set by the caller, borrowed; NULL if the kernel's file is in the contract's directory,
	 * and is compiled by itself
	 */
	const struct kl_skeleton_build *build;
};

#define KL_SKELETON_INIT                                                                       \
	{                                                                                      \
		.contract = KL_BUF_INIT, .oracle = KL_BUF_INIT, .plan = KL_BUF_INIT,           \
		.adapter = KL_BUF_INIT, .headers = KL_STRVEC_INIT, .oracle_plan = KL_BUF_INIT, \
		.unit = KL_BUF_INIT, .todo = KL_TODO_INIT, .plan_todo = KL_TODO_INIT           \
	}

/**
 * Write a contract and an oracle from `text`, the contents of the kernel's file; `leaf` is that
 * file's name without a directory. If `entry` is NULL, use the only function that is not static. If
 * `workload` is NULL, name the workload after the entry. Set `further` if the directory has the
 * contract of another kernel; the files are then called "<workload>.klineage.yaml" and
 * "<workload>.oracle.c". Return KL_ENOTFOUND if there is no such function. Return KL_EINVALID if
 * there are several functions, the prototype cannot be read, or a name cannot be used in a
 * contract.
 */
int kl_skeleton_make(struct kl_skeleton *sk, const char *leaf, const char *text, size_t len,
		     const char *entry, const char *workload, bool further);
void kl_skeleton_release(struct kl_skeleton *sk);

#endif
