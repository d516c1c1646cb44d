/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/similarity.h"

#include <math.h>
#include <string.h>

#include "contract/contract.h"

/* FNV-1a: names are compared, nothing is trusted to differ */
static uint64_t name_digest(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

void kl_case_init(struct kl_case *other, const struct kl_taxonomy *taxonomy, const char *op,
		  const char *dtype)
{
	enum kl_dtype known;

	memset(other, 0, sizeof(*other));
	other->op = kl_taxonomy_op(taxonomy, op);
	other->name = name_digest(other->op >= 0 ? taxonomy->op[other->op].name : op);
	other->dtype = name_digest(dtype);
	other->width = kl_dtype_parse(&known, dtype) ? (uint32_t)kl_dtype_bytes(known) : 0;
}

void kl_case_dim(struct kl_case *other, const struct kl_taxonomy *taxonomy, const char *name,
		 int64_t extent)
{
	unsigned roles = 1u << (kl_taxonomy_role(taxonomy, "rows") >= 0 ?
					kl_taxonomy_role(taxonomy, "rows") :
					0);

	if (other->op >= 0)
		roles = kl_taxonomy_roles(taxonomy, other->op, name);
	for (size_t i = 0; i < KL_TAX_ROLES && extent > 1; i++)
		if (roles >> i & 1)
			other->log2[i] += log2((double)extent);
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

int64_t kl_similarity_operator(const struct kl_taxonomy *taxonomy, const struct kl_case *left,
			       const struct kl_case *right)
{
	int value = left->op, year = right->op, sum;

	if (left->name == right->name)
		return KL_ONE;
	/* what is not in the tree hangs below its root */
	sum = (value < 0 ? 2 : depth_of(taxonomy, value)) +
	      (year < 0 ? 2 : depth_of(taxonomy, year));
	while (value != year) {
		if (depth_of(taxonomy, value) >= depth_of(taxonomy, year))
			value = parent_of(taxonomy, value);
		else
			year = parent_of(taxonomy, year);
	}
	return to_ppm(2.0 * depth_of(taxonomy, value) / sum);
}

int64_t kl_similarity_extents(const struct kl_case *left, const struct kl_case *right)
{
	double sum = 0;
	int n = 0;

	for (size_t i = 0; i < KL_TAX_ROLES; i++) {
		if (left->log2[i] == 0 && right->log2[i] == 0)
			continue;
		sum += fabs(left->log2[i] - right->log2[i]);
		n++;
	}
	return to_ppm(exp(n ? -sum / n / 2 : 0));
}

int64_t kl_similarity_dtype(const struct kl_case *left, const struct kl_case *right)
{
	if (left->dtype == right->dtype)
		return KL_ONE;
	return left->width && left->width == right->width ? KL_ONE / 2 : 0;
}

int64_t kl_similarity_case(const struct kl_taxonomy *taxonomy, const struct kl_case *left,
			   const struct kl_case *right)
{
	return (5 * kl_similarity_operator(taxonomy, left, right) +
		3 * kl_similarity_extents(left, right) + 2 * kl_similarity_dtype(left, right)) /
	       10;
}

int64_t kl_similarity_language(const struct kl_taxonomy *taxonomy, const char *left,
			       const char *right)
{
	int value = kl_taxonomy_language(taxonomy, left),
	    year = kl_taxonomy_language(taxonomy, right);

	if (!strcmp(left, right))
		return KL_ONE;
	return value < 0 || year < 0 ?
		       0 :
		       taxonomy->language_ppm[(size_t)value * taxonomy->languages.n + (size_t)year];
}

int64_t kl_similarity_platform(const struct kl_taxonomy *taxonomy, const char *left,
			       const char *right)
{
	const struct kl_tax_platform *platform = kl_taxonomy_platform(taxonomy, left),
				     *tax_platform = kl_taxonomy_platform(taxonomy, right);
	int both = 0, either = 0;

	if (!strcmp(left, right))
		return KL_ONE;
	if (!platform || !tax_platform)
		return 0;
	for (size_t i = 0; i < KL_ARRAY_SIZE(platform->has.w); i++) {
		both += __builtin_popcountll(platform->has.w[i] & tax_platform->has.w[i]);
		either += __builtin_popcountll(platform->has.w[i] | tax_platform->has.w[i]);
	}
	return either ? to_ppm((double)both / either) : 0;
}

int64_t kl_similarity_score(double product, size_t passed, size_t trials)
{
	/* roots that every machine rounds alike */
	return to_ppm(sqrt(sqrt(product)) * (double)(passed + 1) / (double)(trials + 2));
}
