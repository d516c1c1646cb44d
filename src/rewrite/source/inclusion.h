/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_INCLUSION_H
#define KL_REWRITE_INCLUSION_H

#include "base/map.h"
#include "contract/surface.h"

/*
 * inclusion - completes a source of an older commit: writes into it the files that it includes, if
 * the commit has them and the contract does not list them.
 *
 * The contract of the expert lists the files that the expert consists of. A file that only older
 * sources include is written into the source in place of its #include, so that the state has the
 * files of the contract and no others. It is searched for as the compiler does: beside the file
 * that includes it, then in the contract's directories. Its name may be a macro that the sources or
 * the contract define (include_name.h). A header that is not in the commit is left to the compiler.
 * So is a header that the sources of the expert include although the contract does not list it,
 * such as a header for another platform.
 */
struct kl_inclusion {
	struct kl_repo *repo; /* borrowed, like all pointers here */
	const struct kl_contract *contract;
	const char *dir;              /* directory that the contract's paths are relative to */
	const git_oid *tree;          /* tree of the older commit */
	const struct kl_strvec *now;  /* paths of the sources in the repository */
	const struct kl_strvec *then; /* their paths in the older commit, in the same order */
	const struct kl_map *left;    /* names that are left to the compiler; NULL if none */
};

/**
 * Append the text of source `i` with the files that it includes. `inlined` gets the paths of the
 * files that were written into it, each once. A text that would exceed 4 MiB is appended unchanged.
 */
int kl_inclusion_complete(struct kl_buf *out, struct kl_strvec *inlined,
			  const struct kl_inclusion *inclusion, size_t i, const char *text,
			  size_t len);
/**
 * Collect the names of the files that source `i` includes and that are not among the sources. Looks
 * at names only; the repository and the older commit are not read. Return true if it also includes
 * a file by a macro that it does not define itself.
 */
bool kl_inclusion_open(struct kl_map *out, const struct kl_inclusion *inclusion, size_t i,
		       const char *text, size_t len);

#endif
