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
 * taxonomy - the tables of operators, languages and platforms that similarity.h compares.
 *
 * They hold the tree of operators with the roles of their dims, the similarities of languages, and
 * the capabilities of platforms. The data is in templates/operators.yaml, templates/languages.yaml
 * and templates/capabilities.yaml, which cite their sources.
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
}; /* roles: bit i stands for kl_taxonomy.roles.v[i] */

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
	struct kl_map op_names; /* name or alias -> struct kl_tax_op * */
	struct kl_strvec languages;
	int64_t *language_ppm; /* similarities in millionths: languages.n rows and columns */
	struct kl_strvec caps;
	struct kl_tax_platform *platform;
	size_t nplatform;
	char digest[KL_DIGEST_HEX]; /* of the three files */
};

/**
 * Load the shipped files; the caller frees *out. KL_EINVALID: a file is malformed, the message is
 * "<file>:<line>:<column>: ...".
 */
int kl_taxonomy_load(struct kl_taxonomy **out);
/** Load the files of a directory. */
int kl_taxonomy_load_dir(struct kl_taxonomy **out, const char *dir);
void kl_taxonomy_free(struct kl_taxonomy *taxonomy);
KL_DEFINE_CLEANUP(struct kl_taxonomy *, kl_taxonomy_free)

/** Index of an operator by its name or an alias; -1: not in the tree. */
int kl_taxonomy_op(const struct kl_taxonomy *taxonomy, const char *name);
/** The roles of an operator's dim as bits, inherited from its ancestors; 0: none. */
unsigned kl_taxonomy_roles(const struct kl_taxonomy *taxonomy, int op, const char *dim);
/** Index of a role, or -1. */
int kl_taxonomy_role(const struct kl_taxonomy *taxonomy, const char *role);
int kl_taxonomy_language(const struct kl_taxonomy *taxonomy, const char *name); /* or -1 */
int kl_taxonomy_cap(const struct kl_taxonomy *taxonomy, const char *name);      /* or -1 */
/** NULL if the platform is not listed. */
const struct kl_tax_platform *kl_taxonomy_platform(const struct kl_taxonomy *taxonomy,
						   const char *name);

static inline bool kl_capset_has(const struct kl_capset *capset, int cap)
{
	return cap >= 0 && capset->w[cap / 64] >> cap % 64 & 1;
}

#endif
