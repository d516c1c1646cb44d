/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/similarity.h"

#include <math.h>
#include <string.h>

#include "contract/contract.h"

/*
 * Hash a name by FNV-1a. Names whose hashes collide are compared as equal. Security does not depend
 * on this hash.
 */
static uint64_t name_digest(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

void kl_case_init(struct kl_case *point, const struct kl_taxonomy *taxonomy, const char *op,
		  const char *dtype)
{
	enum kl_dtype known;

	memset(point, 0, sizeof(*point));
	point->op = kl_taxonomy_op(taxonomy, op);
	point->name = name_digest(point->op >= 0 ? taxonomy->op[point->op].name : op);
	point->dtype = name_digest(dtype);
	point->width = kl_dtype_parse(&known, dtype) ? (uint32_t)kl_dtype_bytes(known) : 0;
}

void kl_case_dim(struct kl_case *point, const struct kl_taxonomy *taxonomy, const char *name,
		 int64_t extent)
{
	unsigned roles = 1u << (kl_taxonomy_role(taxonomy, "rows") >= 0 ?
					kl_taxonomy_role(taxonomy, "rows") :
					0);

	if (point->op >= 0)
		roles = kl_taxonomy_roles(taxonomy, point->op, name);
	for (size_t i = 0; i < KL_TAX_ROLES && extent > 1; i++)
		if (roles >> i & 1)
			point->log2[i] += log2((double)extent);
}

static int64_t to_ppm(double value)
{
	return llround(value * KL_ONE);
}

static int depth_of(const struct kl_taxonomy *taxonomy, int op)
{
	return op < 0 ? 1 : taxonomy->op[op].depth;
}

static int parent_of(const struct kl_taxonomy *taxonomy, int op)
{
	return op < 0 ? -1 : taxonomy->op[op].parent;
}

/* Return the deepest common ancestor of two operators, or -1 if it is the root. */
static int common_ancestor(const struct kl_taxonomy *taxonomy, int op_a, int op_b)
{
	while (op_a != op_b) {
		if (depth_of(taxonomy, op_a) >= depth_of(taxonomy, op_b))
			op_a = parent_of(taxonomy, op_a);
		else
			op_b = parent_of(taxonomy, op_b);
	}
	return op_a;
}

int64_t kl_similarity_operator(const struct kl_taxonomy *taxonomy, const struct kl_case *a,
			       const struct kl_case *b)
{
	int sum;

	if (a->name == b->name)
		return KL_ONE;
	/* an operator that is not in the tree counts as a child of the root, which has depth 1 */
	sum = (a->op < 0 ? 2 : depth_of(taxonomy, a->op)) +
	      (b->op < 0 ? 2 : depth_of(taxonomy, b->op));
	return to_ppm(2.0 * depth_of(taxonomy, common_ancestor(taxonomy, a->op, b->op)) / sum);
}

bool kl_similarity_is_related(const struct kl_taxonomy *taxonomy, const struct kl_case *a,
			      const struct kl_case *b)
{
	return a->name == b->name || common_ancestor(taxonomy, a->op, b->op) >= 0;
}

int64_t kl_similarity_extents(const struct kl_case *a, const struct kl_case *b)
{
	double sum = 0;
	int n = 0;

	for (size_t i = 0; i < KL_TAX_ROLES; i++) {
		if (a->log2[i] == 0 && b->log2[i] == 0)
			continue;
		sum += fabs(a->log2[i] - b->log2[i]);
		n++;
	}
	return to_ppm(exp(n ? -sum / n / 2 : 0));
}

int64_t kl_similarity_dtype(const struct kl_case *a, const struct kl_case *b)
{
	if (a->dtype == b->dtype)
		return KL_ONE;
	return a->width && a->width == b->width ? KL_ONE / 2 : 0;
}

int64_t kl_similarity_case(const struct kl_taxonomy *taxonomy, const struct kl_case *a,
			   const struct kl_case *b)
{
	return (5 * kl_similarity_operator(taxonomy, a, b) + 3 * kl_similarity_extents(a, b) +
		2 * kl_similarity_dtype(a, b)) /
	       10;
}

int64_t kl_similarity_language(const struct kl_taxonomy *taxonomy, const char *a, const char *b)
{
	int at_a = kl_taxonomy_language(taxonomy, a), at_b = kl_taxonomy_language(taxonomy, b);

	if (!strcmp(a, b))
		return KL_ONE;
	return at_a < 0 || at_b < 0 ?
		       0 :
		       taxonomy->language_ppm[(size_t)at_a * taxonomy->languages.n + (size_t)at_b];
}

int64_t kl_similarity_platform(const struct kl_taxonomy *taxonomy, const char *a, const char *b)
{
	const struct kl_tax_platform *platform_a = kl_taxonomy_platform(taxonomy, a),
				     *platform_b = kl_taxonomy_platform(taxonomy, b);
	int both = 0, either = 0;

	if (!strcmp(a, b))
		return KL_ONE;
	if (!platform_a || !platform_b)
		return 0;
	for (size_t i = 0; i < KL_ARRAY_SIZE(platform_a->has.w); i++) {
		both += __builtin_popcountll(platform_a->has.w[i] & platform_b->has.w[i]);
		either += __builtin_popcountll(platform_a->has.w[i] | platform_b->has.w[i]);
	}
	return either ? to_ppm((double)both / either) : 0;
}

int64_t kl_similarity_score(double product, size_t passed, size_t trials)
{
	/* sqrt() is correctly rounded, so its result is the same on every machine; pow() is not */
	return to_ppm(sqrt(sqrt(product)) * (double)(passed + 1) / (double)(trials + 2));
}
