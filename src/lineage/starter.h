/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_STARTER_H
#define KL_LINEAGE_STARTER_H

#include "base/vec.h"
#include "repo/repo.h"

/*
 * starter - a shipped workload with its history (templates/workloads/<name>):
 *
 *	template.yaml		{template, summary, author, date, portable}
 *	klineage.yaml, ...	the contract and other files present from the first commit on
 *	history/NNNN-*.patch	the kernel's history as mails; 0001 creates the file
 *	rejected/NNNN-*.patch	simplifications that fail; not replayed
 *
 * A replay makes a series of commits with fixed authors and dates, so their ids are the same
 * everywhere.
 */
struct kl_starter {
	char *name, *summary;
	char *author;    /* "Name <mail>" */
	int64_t time;    /* of the first commit; each further one is a minute later */
	size_t portable; /* the first `portable` patches need no AVX2 */
	char *dir;
	struct kl_strvec files; /* all but template.yaml, history/ and rejected/ */
	struct kl_strvec patches;
};

/** Open a template. KL_ENOTFOUND: unknown name; the hint lists the available ones. */
int kl_starter_open(struct kl_starter **out, const char *name);
void kl_starter_free(struct kl_starter *starter);
KL_DEFINE_CLEANUP(struct kl_starter *, kl_starter_free)
/** Names of all templates, sorted. */
int kl_starter_list(struct kl_strvec *out);

/**
 * Write the commits of the history with their files below `prefix` ("" or "a/b"), the first on
 * `parent` (NULL: an orphan), at most `limit` of them (0: all). Moves no ref.
 */
int kl_starter_replay(git_oid *tip, struct kl_repo *repo, const struct kl_starter *starter,
		      const git_oid *parent, const char *prefix, size_t limit);

#endif
