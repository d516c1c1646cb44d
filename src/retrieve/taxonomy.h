/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_TAXONOMY_H
#define KL_RETRIEVE_TAXONOMY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "card/card.h"
#include "text/digest.h"

/*
 * taxonomy - operators, languages and platforms, as similarity.h compares them: the tree of
 * operators with what their dims are for, the languages and how near they are, what each platform
 * can do. All of it is data, in templates/operators.yaml, templates/languages.yaml and
 * templates/capabilities.yaml, which say where they have it from.
 *
 *	err = kl_taxonomy_load(&tax);		the shipped files
 *	op = kl_taxonomy_op(tax, "sgemm");	the node of gemm
 */
#define KL_TAX_ROLES 8
#define KL_TAX_CAPS 256

/** A set of capabilities, by their index. */
struct kl_capset {
	uint64_t w[KL_TAX_CAPS / 64];
};

struct kl_tax_dim {
	char *name;
	unsigned roles;
}; /* bit i: role[i] */

struct kl_tax_op {
	char *name;
	int parent; /* index, -1: the root */
	int depth;  /* the root's is 1 */
	struct kl_tax_dim *dim;
	size_t ndim;
};

struct kl_tax_platform {
	char *name; /* "cuda/sm_90" */
	struct kl_capset has;
	struct kl_card_dims numbers; /* {smem_block_bytes: 232448} */
};

struct kl_taxonomy {
	struct kl_strvec roles; /* at most KL_TAX_ROLES */
	struct kl_tax_op *op;
	size_t nop;
	struct kl_map op_names; /* name or other name -> struct kl_tax_op * */
	struct kl_strvec languages;
	int64_t *language_ppm; /* languages.n squared */
	struct kl_strvec caps;
	struct kl_tax_platform *platform;
	size_t nplatform;
	char digest[KL_DIGEST_HEX]; /* of the three files */
};

/** The shipped files. KL_EINVALID "<file>:<line>:<column>: ..." */
int kl_taxonomy_load(struct kl_taxonomy **out);
/** Those of a directory. */
int kl_taxonomy_load_dir(struct kl_taxonomy **out, const char *dir);
void kl_taxonomy_free(struct kl_taxonomy *taxonomy);
KL_DEFINE_CLEANUP(struct kl_taxonomy *, kl_taxonomy_free)

/** Index of an operator by any of its names; -1: not in the tree. */
int kl_taxonomy_op(const struct kl_taxonomy *taxonomy, const char *name);
/** The roles of an operator's dim, its parents' asked too; 0: none. */
unsigned kl_taxonomy_roles(const struct kl_taxonomy *taxonomy, int op, const char *dim);
/** Index of a role, -1. */
int kl_taxonomy_role(const struct kl_taxonomy *taxonomy, const char *role);
int kl_taxonomy_language(const struct kl_taxonomy *taxonomy, const char *name); /* or -1 */
int kl_taxonomy_cap(const struct kl_taxonomy *taxonomy, const char *name);      /* or -1 */
/** NULL: a platform that is not listed. */
const struct kl_tax_platform *kl_taxonomy_platform(const struct kl_taxonomy *taxonomy,
						   const char *name);

static inline bool kl_capset_has(const struct kl_capset *capset, int cap)
{
	return cap >= 0 && capset->w[cap / 64] >> cap % 64 & 1;
}

#endif
