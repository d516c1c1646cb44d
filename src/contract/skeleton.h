/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_SKELETON_H
#define KL_CONTRACT_SKELETON_H

#include <stddef.h>

#include "base/buf.h"

/*
 * skeleton - writes a contract and an oracle to start from, by a kernel's prototype
 * (templates/init). What the prototype says is filled in; what only its author knows (extents,
 * sizes, the meaning) is the word TODO where a value belongs, which no contract parses with. The
 * kernel's language is one with kl_language.init.
 *
 *	KL_AUTO(kl_skeleton_release) struct kl_skeleton sk = KL_SKELETON_INIT;
 *	err = kl_skeleton_make(&sk, "axpy.c", text, len, NULL, NULL);
 */
struct kl_skeleton {
	struct kl_buf contract; /* klineage.yaml */
	struct kl_buf oracle;
	const char *oracle_name; /* of its file: "oracle.c"; borrowed */
	char *prototype;         /* on one line, printable */
	size_t todo;             /* places marked in the contract */
};

#define KL_SKELETON_INIT                                \
	{                                               \
		KL_BUF_INIT, KL_BUF_INIT, NULL, NULL, 0 \
	}

/**
 * `leaf` is the file's name beside which the two will lie. `entry` NULL: the
 * only function that is not static; `workload` NULL: after the entry.
 * KL_ENOTFOUND: no such function; KL_EINVALID: several, or one that cannot be read.
 */
int kl_skeleton_make(struct kl_skeleton *sk, const char *leaf, const char *text, size_t len,
		     const char *entry, const char *workload);
void kl_skeleton_release(struct kl_skeleton *sk);

#endif
