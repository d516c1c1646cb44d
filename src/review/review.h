/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_REVIEW_H
#define KL_REVIEW_REVIEW_H

#include "repo/repo.h"
#include "review/finding.h"
#include "text/json.h"

/*
 * review - reviews a range of commits: its contracts, kernels, commits and cards.
 *
 * Contracts are compared with those of the base, verdicts on kernels are looked up, and cards are
 * compared field by field. Nothing is compiled, run or written.
 *
 * The range has the commits of `head` that `base` lacks: it begins at the merge base of the two.
 * The review fails if a finding must be answered (review/finding.h). Titles and findings mark
 * untrusted text as quoted; print them with kl_finding_plain(), kl_finding_markdown() or the
 * functions below.
 *
 *	KL_AUTO(kl_review_release) struct kl_review v = { 0 };
 *	kl_review_run(&v, repo, "main..topic");
 *	kl_review_markdown(&b, &v);
 */
enum kl_review_part {
	KL_REVIEW_CONTRACTS,
	KL_REVIEW_KERNELS,
	KL_REVIEW_COMMITS,
	KL_REVIEW_CARDS,
	KL_REVIEW_PARTS
};

struct kl_review_item {
	char *title;   /* one line, made by kl_finding_addf() */
	json_t *facts; /* members of the item in --json, such as its name; owned */
	struct kl_findings found;
};

struct kl_review {
	char *base_name, *head_name; /* revisions as the user gave them, or the defaults */
	git_oid base, head;          /* `base` is the commit at which the range begins */
	size_t commits;
	/* findings about the range itself, git notes and evidence files */
	struct kl_findings general;
	struct {
		struct kl_review_item *v;
		size_t n, alloc;
	} part[KL_REVIEW_PARTS];
	size_t answers, notes; /* numbers of findings with weight KL_ANSWER and KL_NOTE */
};

/**
 * Review a range: "<base>..<head>", or "<base>" for "<base>..HEAD". If `range` is NULL, the base is
 * the first of these that exists: the upstream of HEAD, origin/HEAD, main, master. The caller
 * releases `out`, even after an error. Return KL_ENOTFOUND if there is no such revision, no base,
 * or no common commit.
 */
int kl_review_run(struct kl_review *out, struct kl_repo *repo, const char *range);
void kl_review_release(struct kl_review *review);

/** Return the name of a part: "contracts", "kernels", "commits" or "cards". */
const char *kl_review_part_name(enum kl_review_part part);

/**
 * Append a comment for a pull request: a summary, then folded details. The comment always has fewer
 * than KL_REVIEW_COMMENT_MAX bytes. If lines do not fit, the comment says how many are left out.
 */
#define KL_REVIEW_COMMENT_MAX 65536
void kl_review_markdown(struct kl_buf *out, const struct kl_review *review);
/** Return the review as an object of schema klineage.review/1, owned by the caller. */
json_t *kl_review_json(const struct kl_review *review);

#endif
