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
 * taxonomy - loads the tables by which similarity.h compares operators, languages and platforms.
 *
 * The tables are templates/operators.yaml (the tree of operators and the roles of their dims),
 * templates/languages.yaml (similarities of languages) and templates/capabilities.yaml
 * (capabilities of platforms). The files cite their sources.
 *
 *	err = kl_taxonomy_load(&tax);		the shipped files
 *	op = kl_taxonomy_op(tax, "sgemm");	the operator gemm, by an alias
 */
#define KL_TAX_ROLES 8
#define KL_TAX_CAPS 256

/** A set of capabilities: bit i stands for kl_taxonomy.caps.v[i]. */
struct kl_capset {
	uint64_t w[KL_TAX_CAPS / 64];
};

struct kl_tax_dim {
	char *name;
	unsigned roles;
}; /* roles: bit i stands for kl_taxonomy.roles.v[i] */

struct kl_tax_op {
	char *name;
	int parent; /* index of the parent in kl_taxonomy.op; -1 if the parent is the root */
	int depth;  /* the root has depth 1 */
	struct kl_tax_dim *dim;
	size_t ndim;
};

struct kl_tax_platform {
	char *name; /* "cuda/sm_90" */
	struct kl_capset has;
	struct kl_card_dims numbers; /* numbers of the platform: {smem_block_bytes: 232448} */
};

struct kl_taxonomy {
	struct kl_strvec roles; /* names of roles, at most KL_TAX_ROLES */
	struct kl_tax_op *op;
	size_t nop;
	struct kl_map op_names; /* name or alias -> struct kl_tax_op * */
	struct kl_strvec languages;
	/* similarities in millionths, a matrix of languages.n rows and columns */
	int64_t *language_ppm;
	struct kl_strvec caps;
	struct kl_tax_platform *platform;
	size_t nplatform;
	char digest[KL_DIGEST_HEX]; /* digest of the three files */
};

/**
 * Load the shipped files; the caller frees *out. Return KL_EINVALID if a file is malformed; the
 * message is "<file>:<line>:<column>: ...".
 */
int kl_taxonomy_load(struct kl_taxonomy **out);
/** Like kl_taxonomy_load(), but load the files in the directory `dir`. */
int kl_taxonomy_load_dir(struct kl_taxonomy **out, const char *dir);
void kl_taxonomy_free(struct kl_taxonomy *taxonomy);
KL_DEFINE_CLEANUP(struct kl_taxonomy *, kl_taxonomy_free)

/** Return the index of an operator by its name or an alias, or -1 if it is not in the tree. */
int kl_taxonomy_op(const struct kl_taxonomy *taxonomy, const char *name);
/**
 * Return the roles of a dim of an operator, as bits; operators inherit dims from their ancestors.
 * Return 0 if the dim has no role.
 */
unsigned kl_taxonomy_roles(const struct kl_taxonomy *taxonomy, int op, const char *dim);
/**
 * Return the index of a role, language or capability by its name, or -1 if it is not in the tables.
 */
int kl_taxonomy_role(const struct kl_taxonomy *taxonomy, const char *role);
int kl_taxonomy_language(const struct kl_taxonomy *taxonomy, const char *name);
int kl_taxonomy_cap(const struct kl_taxonomy *taxonomy, const char *name);
/** Find a platform by its name. Return NULL if it is not in the tables. */
const struct kl_tax_platform *kl_taxonomy_platform(const struct kl_taxonomy *taxonomy,
						   const char *name);

static inline bool kl_capset_has(const struct kl_capset *capset, int cap)
{
	return cap >= 0 && capset->w[cap / 64] >> cap % 64 & 1;
}

#endif
