/* SPDX-License-Identifier: Apache-2.0 */
/* contract_diff_points - compares the operator, the points and the domain of two contracts */
#include <string.h>

#include "base/error.h"
#include "card/predicate.h"
#include "review/contract_diff_parts.h"

/* --- points ------------------------------------------------------------------- */

static const char *dims_text(struct kl_buf *buf, const struct kl_contract *contract,
			     const struct kl_dims *dims)
{
	kl_buf_clear(buf);
	for (size_t i = 0; i < dims->n; i++)
		kl_buf_addf(buf, "%s%s: %lld", i ? ", " : "", contract->dim_name[i],
			    (long long)dims->v[i]);
	return buf->ptr;
}

/*
 * Check that two points have the same dims by name: `before` is a point of the old contract,
 * `after` one of the new contract.
 */
static bool same_point(const struct kl_contract_pair *pair, const struct kl_dims *before,
		       const struct kl_dims *after)
{
	for (size_t i = 0; i < before->n; i++) {
		bool same = false;

		for (size_t k = 0; k < after->n; k++)
			same |= !strcmp(pair->old->dim_name[i], pair->now->dim_name[k]) &&
				before->v[i] == after->v[k];
		if (!same)
			return false;
	}
	return before->n == after->n;
}

static void diff_case(struct kl_contract_pair *pair)
{
	KL_AUTO(kl_buf_release) struct kl_buf before = KL_BUF_INIT, after = KL_BUF_INIT;

	if (strcmp(pair->old->op, pair->now->op))
		ANSWER(pair, "op", "the operator is %s (was %s)", pair->now->op, pair->old->op);
	if (same_point(pair, &pair->old->dims, &pair->now->dims))
		return;
	dims_text(&before, pair->old, &pair->old->dims);
	dims_text(&after, pair->now, &pair->now->dims);
	for (size_t i = 0; i < pair->old->dims.n; i++) {
		for (size_t k = 0; k < pair->now->dims.n; k++)
			if (!strcmp(pair->old->dim_name[i], pair->now->dim_name[k]) &&
			    pair->now->dims.v[k] < pair->old->dims.v[i]) {
				ANSWER(pair, "dims-narrowed", "the case is smaller: %s (was %s)",
				       after.ptr, before.ptr);
				return;
			}
	}
	ANSWER(pair, "dims-changed", "the case is %s (was %s)", after.ptr, before.ptr);
}

static const struct kl_perf_case *find_perf(const struct kl_contract_pair *pair,
					    const struct kl_perf_case *before)
{
	for (size_t i = 0; i < pair->now->nperf; i++)
		if (same_point(pair, &before->dims, &pair->now->perf[i].dims))
			return &pair->now->perf[i];
	return NULL;
}

static void diff_cases(struct kl_contract_pair *pair)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < pair->old->nperf; i++) {
		const struct kl_perf_case *before = &pair->old->perf[i],
					  *after = find_perf(pair, before);

		dims_text(&buf, pair->old, &before->dims);
		if (!after) {
			ANSWER(pair, "case-removed", "a case is no longer measured: %s", buf.ptr);
			continue;
		}
		if (before->weight != after->weight)
			ANSWER(pair, "case-weight", "the weight of the case %s is %d (was %d)",
			       buf.ptr, after->weight, before->weight);
		if (before->hot != after->hot)
			ANSWER(pair, "case-rank", "the case %s is measured %w (was %w)", buf.ptr,
			       after->hot ? "hot" : "cold", before->hot ? "hot" : "cold");
	}
	for (size_t i = 0; i < pair->now->nperf; i++) {
		bool known = false;

		for (size_t k = 0; k < pair->old->nperf; k++)
			known |= same_point(pair, &pair->old->perf[k].dims,
					    &pair->now->perf[i].dims);
		if (!known)
			NOTE(pair, "case-added", "a further case is measured: %s",
			     dims_text(&buf, pair->now, &pair->now->perf[i].dims));
	}
}

static void diff_also(struct kl_contract_pair *pair)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;

	for (size_t i = 0; i < pair->old->nalso; i++) {
		bool there = false;

		for (size_t k = 0; k < pair->now->nalso; k++)
			there |= same_point(pair, &pair->old->also[i], &pair->now->also[k]);
		if (!there)
			ANSWER(pair, "also-removed", "a shape of 'also' is no longer checked: %s",
			       dims_text(&buf, pair->old, &pair->old->also[i]));
	}
	for (size_t k = 0; k < pair->now->nalso; k++) {
		bool known = false;

		for (size_t i = 0; i < pair->old->nalso; i++)
			known |= same_point(pair, &pair->old->also[i], &pair->now->also[k]);
		if (!known)
			NOTE(pair, "also-added", "a further shape is checked: %s",
			     dims_text(&buf, pair->now, &pair->now->also[k]));
	}
}

/* --- domain ---------------------------------------------------------------------- */

/*
 * Parse the whole domain as one predicate; NULL if the domain is empty (no restriction), or its
 * text is too long.
 */
static struct kl_predicate *whole_domain(const struct kl_contract *contract)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_predicate *predicate = NULL;

	for (size_t i = 0; i < contract->ndomain; i++)
		kl_buf_addf(&buf, "%s(%s)", i ? " && " : "", contract->domain_text[i]);
	if (buf.len && kl_predicate_parse(&predicate, buf.ptr, NULL) < 0)
		kl_error_clear();
	return predicate;
}

/*
 * Return true if a condition follows from the domain of `from`; `whole` is that domain as one
 * predicate. If `whole` is NULL or the predicates cannot be compared, a condition follows only if
 * the domain has a condition with the same text.
 */
static bool follows_from(const struct kl_contract *from, const struct kl_predicate *whole,
			 const char *text)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *part = NULL;

	for (size_t i = 0; i < from->ndomain; i++)
		if (!strcmp(from->domain_text[i], text))
			return true;
	if (!whole || kl_predicate_parse(&part, text, NULL) < 0) {
		kl_error_clear();
		return false;
	}
	switch (kl_predicate_relation(whole, part, NULL)) {
	case KL_RELATION_SAME:
	case KL_RELATION_WEAKER:
		return true;
	default:
		return false;
	}
}

static void diff_domain(struct kl_contract_pair *pair)
{
	KL_AUTO(kl_predicate_freep)
	struct kl_predicate *old = whole_domain(pair->old), *now = whole_domain(pair->now);

	for (size_t i = 0; i < pair->now->ndomain; i++)
		if (!follows_from(pair->old, old, pair->now->domain_text[i]))
			ANSWER(pair, "domain-narrowed",
			       "the domain is narrower: it now requires %s",
			       pair->now->domain_text[i]);
	for (size_t i = 0; i < pair->old->ndomain; i++)
		if (!follows_from(pair->now, now, pair->old->domain_text[i]))
			NOTE(pair, "domain-widened",
			     "the domain is wider: it no longer requires %s",
			     pair->old->domain_text[i]);
}

void kl_contract_diff_points(struct kl_contract_pair *pair)
{
	diff_case(pair);
	diff_domain(pair);
	diff_cases(pair);
	diff_also(pair);
}
