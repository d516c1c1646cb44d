/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/similarity.h"

#include <math.h>
#include <string.h>

#include "contract/contract.h"

/* FNV-1a: names are compared, nothing is trusted to differ */
static uint64_t name_digest(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h;
}

void kl_case_init(struct kl_case *c, const struct kl_taxonomy *t, const char *op, const char *dtype)
{
	memset(c, 0, sizeof(*c));
	c->op = kl_taxonomy_op(t, op);
	c->name = name_digest(c->op >= 0 ? t->op[c->op].name : op);
	c->dtype = name_digest(dtype);
	c->width = (uint32_t)kl_dtype_size(dtype);
}

void kl_case_dim(struct kl_case *c, const struct kl_taxonomy *t, const char *name, int64_t extent)
{
	unsigned roles = 1u << (kl_taxonomy_role(t, "rows") >= 0 ? kl_taxonomy_role(t, "rows") : 0);

	if (c->op >= 0)
		roles = kl_taxonomy_roles(t, c->op, name);
	for (size_t i = 0; i < KL_TAX_ROLES && extent > 1; i++)
		if (roles >> i & 1)
			c->log2[i] += log2((double)extent);
}

static int64_t to_ppm(double x)
{
	return llround(x * KL_ONE);
}

static int depth_of(const struct kl_taxonomy *t, int op)
{
	return op < 0 ? 1 : t->op[op].depth;
}

static int parent_of(const struct kl_taxonomy *t, int op)
{
	return op < 0 ? -1 : t->op[op].parent;
}

int64_t kl_similarity_operator(const struct kl_taxonomy *t, const struct kl_case *a,
			       const struct kl_case *b)
{
	int x = a->op, y = b->op, sum;

	if (a->name == b->name)
		return KL_ONE;
	/* what is not in the tree hangs below its root */
	sum = (x < 0 ? 2 : depth_of(t, x)) + (y < 0 ? 2 : depth_of(t, y));
	while (x != y) {
		if (depth_of(t, x) >= depth_of(t, y))
			x = parent_of(t, x);
		else
			y = parent_of(t, y);
	}
	return to_ppm(2.0 * depth_of(t, x) / sum);
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

int64_t kl_similarity_case(const struct kl_taxonomy *t, const struct kl_case *a,
			   const struct kl_case *b)
{
	return (5 * kl_similarity_operator(t, a, b) + 3 * kl_similarity_extents(a, b) +
		2 * kl_similarity_dtype(a, b)) /
	       10;
}

int64_t kl_similarity_language(const struct kl_taxonomy *t, const char *a, const char *b)
{
	int x = kl_taxonomy_language(t, a), y = kl_taxonomy_language(t, b);

	if (!strcmp(a, b))
		return KL_ONE;
	return x < 0 || y < 0 ? 0 : t->language_ppm[(size_t)x * t->languages.n + (size_t)y];
}

int64_t kl_similarity_platform(const struct kl_taxonomy *t, const char *a, const char *b)
{
	const struct kl_tax_platform *x = kl_taxonomy_platform(t, a),
				     *y = kl_taxonomy_platform(t, b);
	int both = 0, either = 0;

	if (!strcmp(a, b))
		return KL_ONE;
	if (!x || !y)
		return 0;
	for (size_t i = 0; i < KL_ARRAY_SIZE(x->has.w); i++) {
		both += __builtin_popcountll(x->has.w[i] & y->has.w[i]);
		either += __builtin_popcountll(x->has.w[i] | y->has.w[i]);
	}
	return either ? to_ppm((double)both / either) : 0;
}

int64_t kl_similarity_score(double product, size_t passed, size_t trials)
{
	/* roots that every machine rounds alike */
	return to_ppm(sqrt(sqrt(product)) * (double)(passed + 1) / (double)(trials + 2));
}
