/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_STARTER_H
#define KL_LINEAGE_STARTER_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * starter - a shipped workload with its history (templates/workloads/<name>):
 *
 *	template.yaml		{template, summary, author, date, portable}
 *	klineage.yaml, ...	the contract and what else stands from the first commit on
 *	history/NNNN-*.patch	the kernel's history as mails; 0001 makes the file
 *	rejected/NNNN-*.patch	simplifications that fail; not replayed
 *
 * Replayed, it is a series of commits with fixed authors and dates: the same
 * ids everywhere.
 */
struct kl_starter {
	char *name, *summary;
	char *author;    /* "Name <mail>" */
	int64_t time;    /* of the first commit; one minute more each */
	size_t portable; /* patches up to here need no AVX2 */
	char *dir;
	struct kl_strvec files; /* beside template.yaml, history/ and rejected/ */
	struct kl_strvec patches;
};

/** KL_ENOTFOUND lists the names there are. */
int kl_starter_open(struct kl_starter **out, const char *name);
void kl_starter_free(struct kl_starter *starter);
KL_DEFINE_CLEANUP(struct kl_starter *, kl_starter_free)
/** Names of all templates, sorted. */
int kl_starter_list(struct kl_strvec *out);

/**
 * Write the history's commits below `prefix` ("" or "a/b"), the first on
 * `parent` (NULL: an orphan), at most `limit` of them (0: all). No ref moves.
 */
int kl_starter_replay(git_oid *tip, struct kl_repo *repo, const struct kl_starter *starter,
		      const git_oid *parent, const char *prefix, size_t limit);

#endif
