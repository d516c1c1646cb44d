/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_VERDICT_LOOKUP_H
#define KL_EVENT_VERDICT_LOOKUP_H

#include "base/map.h"
#include "contract/surface.h"
#include "event/trust.h"

/*
 * verdict_lookup - looks up the verdicts of kernels that commits bring: for each those on just
 * these files, from every note of the clone and from its cache. A verdict is looked for by what
 * was judged: a merge or a rebase needs none of its own. Only lines that count (event/trust.h) are
 * folded.
 *
 *	KL_AUTO(kl_verdict_lookup_release) struct kl_verdict_lookup j = { 0 };
 *	kl_verdict_lookup_commit(&j, repo, &oid);	each kernel that it brings against its first parent
 *	kl_verdict_lookup_run(&j, repo);		one pass over the notes, for all that was asked
 */
struct kl_verdict_entry {
	char commit[KL_OID_HEX]; /* "": of no commit */
	char *dir, *workload;
	char *why; /* it cannot be judged at all; NULL: it can */
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX];
	struct kl_fold fold; /* this and the rest by kl_verdict_lookup_run */
	size_t stale;        /* events on the commit's own note, on other files */
	/* passes that do not count: nobody of the list signed them */
	size_t unsigned_;
};

struct kl_verdict_lookup {
	struct kl_verdict_entry *one; /* in the order asked for */
	size_t n, alloc;
	struct kl_map commits; /* hex of those that were asked for */
	size_t noted;          /* of them, those that bear a note */
	/* every line that was looked at; its tag: the index in `one` */
	struct kl_trust trust;
};

int kl_verdict_lookup_commit(struct kl_verdict_lookup *lookup, struct kl_repo *repo,
			     const git_oid *commit);
/** One state of one kernel; `commit` may be NULL. */
void kl_verdict_lookup_state(struct kl_verdict_lookup *lookup, const struct kl_surface *surface,
			     const git_oid *commit);
int kl_verdict_lookup_run(struct kl_verdict_lookup *lookup, struct kl_repo *repo);
void kl_verdict_lookup_release(struct kl_verdict_lookup *lookup);

/** The failure among the verdicts, or NULL; borrowed, as the next. */
const struct kl_event *kl_verdict_entry_failure(const struct kl_verdict_entry *one);
/** The newest passing verdict of the whole gate, or NULL. */
const struct kl_event *kl_verdict_entry_pass(const struct kl_verdict_entry *one);
/** Did the quick stages pass, at least? */
bool kl_verdict_entry_checked(const struct kl_verdict_entry *one);

#endif
