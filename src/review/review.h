/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_REVIEW_H
#define KL_REVIEW_REVIEW_H

#include "repo/repo.h"
#include "review/finding.h"
#include "text/json.h"

/*
 * review - what a range of commits means: its contracts against those of the base, its kernels by
 * their verdicts, its cards field by field. Reads only; nothing is compiled or run.
 *
 * The range is what `head` has and `base` has not: it begins at their merge base. A finding that
 * must be answered (review/finding.h) makes the review a "no". All that others wrote is kept quoted
 * in the texts; who shows them uses kl_finding_plain or kl_finding_markdown, or the functions
 * below.
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
	char *title;   /* one line, by kl_finding_addf */
	json_t *facts; /* owned object: its name and the like, for programs */
	struct kl_findings found;
};

struct kl_review {
	char *base_name, *head_name; /* as the user or the defaults said */
	git_oid base, head;          /* base: where the range begins */
	size_t commits;
	struct kl_findings general; /* of the range itself, and of notes */
	struct {
		struct kl_review_item *v;
		size_t n, alloc;
	} part[KL_REVIEW_PARTS];
	size_t answers, notes; /* of all */
};

/**
 * `range`: "<base>..<head>", "<base>" (to HEAD), or NULL: from the upstream of HEAD, the remote's
 * default branch, main or master. KL_ENOTFOUND: no such revision, no base, or histories without a
 * common commit.
 */
int kl_review_run(struct kl_review *out, struct kl_repo *repo, const char *range);
void kl_review_release(struct kl_review *review);

/** "contracts", ... */
const char *kl_review_part_name(enum kl_review_part part);

/**
 * A comment for a pull request: short first, details folded; fewer bytes than this, whatever is in
 * it.
 */
#define KL_REVIEW_COMMENT_MAX 65536
void kl_review_markdown(struct kl_buf *out, const struct kl_review *review);
/** One object of schema klineage.review/1; the caller's. */
json_t *kl_review_json(const struct kl_review *review);

#endif
