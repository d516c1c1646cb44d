/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_VERDICT_LOOKUP_H
#define KL_EVENT_VERDICT_LOOKUP_H

#include "base/map.h"
#include "contract/surface.h"
#include "event/trust.h"

/*
 * verdict_lookup - looks up the verdicts on the kernels that commits change. Verdicts are found by
 * surface and contract, in all notes and segments of the clone and in its cache, so a commit that a merge or
 * rebase makes needs no new verdicts if its kernels were judged before. Only lines that count
 * (event/trust.h) are folded.
 *
 *	KL_AUTO(kl_verdict_lookup_release) struct kl_verdict_lookup j = { 0 };
 *	kl_verdict_lookup_commit(&j, repo, &oid);	add the kernels that the commit changes
 *	kl_verdict_lookup_run(&j, repo);		read all notes once, for all kernels
 */
struct kl_verdict_entry {
	char commit[KL_OID_HEX]; /* "" if there is none */
	char *dir, *workload;
	char *why; /* why the kernel cannot be judged; NULL if it can be judged */
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX];
	struct kl_fold fold; /* this and the following members are set by kl_verdict_lookup_run */
	size_t stale; /* number of events in the commit's note for another surface or contract */
	/* number of passes of the whole gate that lack only the signature of an allowed signer */
	size_t unsigned_;
};

struct kl_verdict_lookup {
	struct kl_verdict_entry *one; /* in the order in which they were added */
	size_t n, alloc;
	struct kl_map commits; /* ids (hex) of the commits that were added */
	size_t noted;          /* number of these commits that have a note */
	/* all lines about the added kernels; a line's tag is the index of its kernel in `one` */
	struct kl_trust trust;
};

/** Add the kernels that a commit changes relative to its first parent. */
int kl_verdict_lookup_commit(struct kl_verdict_lookup *lookup, struct kl_repo *repo,
			     const git_oid *commit);
/**
 * Add a kernel by its surface; `commit` is recorded in the kernel's entry; NULL if there is none.
 */
void kl_verdict_lookup_state(struct kl_verdict_lookup *lookup, const struct kl_surface *surface,
			     const git_oid *commit);
/** Look up the verdicts on all kernels that were added. */
int kl_verdict_lookup_run(struct kl_verdict_lookup *lookup, struct kl_repo *repo);
void kl_verdict_lookup_release(struct kl_verdict_lookup *lookup);

/**
 * Return a correctness failure among the verdicts, or NULL; borrowed. An outdated failure counts
 * only until the kernel passes under the present rules.
 */
const struct kl_event *kl_verdict_entry_failure(const struct kl_verdict_entry *entry);
/** Return the newest pass of the whole gate under its present rules, or NULL; borrowed. */
const struct kl_event *kl_verdict_entry_pass(const struct kl_verdict_entry *entry);
/** Return the newest pass that is outdated (kl_event_is_outdated()), or NULL; borrowed. */
const struct kl_event *kl_verdict_entry_old_pass(const struct kl_verdict_entry *entry);
/** Return true if there is a pass of the quick stages alone, under the present rules. */
bool kl_verdict_entry_checked(const struct kl_verdict_entry *entry);

#endif
