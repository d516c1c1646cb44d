/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_STARTER_H
#define KL_LINEAGE_STARTER_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * starter - a shipped workload with its history (templates/workloads/<name>):
 *
 *	template.yaml		{template, summary, author, date, portable}
 *	klineage.yaml, ...	the contract and other files of the first commit
 *	history/NNNN-*.patch	the history of the kernel as mails; 0001 creates its source
 *	rejected/NNNN-*.patch	simplifications that fail the gate; not replayed
 *
 * A replay makes a series of commits with fixed authors and dates, so their ids are the same
 * everywhere.
 */
struct kl_starter {
	char *name, *summary;
	char *author; /* "Name <mail>" */
	/*
	 * time of the first commit, in seconds since the epoch; each later commit is one minute
	 * later
	 */
	int64_t time;
	size_t portable;          /* number of leading patches whose kernels need no AVX2 */
	char *dir;                /* directory of the template */
	struct kl_strvec files;   /* all files except template.yaml, history/ and rejected/ */
	struct kl_strvec patches; /* file names in history/, in order */
};

/**
 * Open a template. Return KL_ENOTFOUND if there is no template of that name; a hint lists all
 * templates.
 */
int kl_starter_open(struct kl_starter **out, const char *name);
void kl_starter_free(struct kl_starter *starter);
KL_DEFINE_CLEANUP(struct kl_starter *, kl_starter_free)
/** List the names of all templates, sorted. */
int kl_starter_list(struct kl_strvec *out);

/**
 * Write the commits of the history, with their files below `prefix` ("" or "a/b"). The parent of
 * the first commit is `parent`; if `parent` is NULL, it has none. At most `limit` commits are
 * written; 0 means all. Moves no ref.
 */
int kl_starter_replay(git_oid *tip, struct kl_repo *repo, const struct kl_starter *starter,
		      const git_oid *parent, const char *prefix, size_t limit);

#endif
