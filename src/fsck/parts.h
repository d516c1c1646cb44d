/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_PARTS_H
#define KL_FSCK_PARTS_H

#include "base/map.h"
#include "contract/surface.h"
#include "event/trust.h"
#include "fsck/check.h"
#include "walk/step.h"

/*
 * parts - declarations shared by check.c and the files with its checks: checks of walks and
 * rejected steps (check_walk.c), of lineages (check_lineage.c), of campaigns (check_segment.c), and
 * of gate events (check_event.c).
 * A check reports its findings and goes on.
 */
struct kl_checker {
	struct kl_check *c;
	struct kl_map
		cited; /* ids of all events in notes and segments; events may cite only these */
	/* signed events and retractions; the tag of each is an index into `signed_at` */
	struct kl_trust signed_;
	struct kl_strvec signed_at; /* the commit or campaign of each event in `signed_` */
	/* "<commit> <id>": an event in the note of <commit> cites the event <id> */
	struct kl_strvec citing;
	/* check a ref from a remote, and look at no refs of this clone */
	bool foreign;
	git_oid digests_of;       /* tree that `digests` belong to */
	struct kl_strvec digests; /* pairs of a surface digest and a contract digest */
};

/** Report a finding and count it. */
void kl_check_report(struct kl_checker *checker, enum kl_check_severity severity, const char *where,
		     const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** Report the current error as a finding, and clear the error. */
void kl_check_report_error(struct kl_checker *checker, const char *where);
/** Write a short form of the commit id, for messages. */
void kl_check_short(char out[KL_OID_HEX], const git_oid *oid);

/* --- checks of walks and rejected steps (check_walk.c) -------------------------------- */

struct kl_chain {
	struct kl_commit *c; /* newest first */
	/* trailers of each commit; unset if the commit is not a step, as at the end of a walk */
	struct kl_step *step;
	size_t n, alloc, step_alloc;
};

void kl_chain_release(struct kl_chain *chain);
/**
 * Read the commits from `tip` along parent[via], up to the root. If `past_end` is set, stop after
 * the first commit that is not a step. Return KL_EINVALID if there are too many commits, or they
 * are too large.
 */
int kl_chain_read(struct kl_chain *out, struct kl_checker *checker, const git_oid *tip, size_t via,
		  bool past_end);
/**
 * Find the surface of a workload in a tree, and the place of the workload's contract. The caller
 * frees both.
 */
int kl_check_contract(struct kl_surface **out, char **place, struct kl_checker *checker,
		      const git_oid *tree, const char *workload);

void kl_check_walk(struct kl_checker *checker, const char *ref, const git_oid *tip,
		   const char *workload);
void kl_check_rejected(struct kl_checker *checker, const char *ref, const git_oid *tip);

/* --- checks of lineages (check_lineage.c) and events (check_event.c) ------------------ */

void kl_check_lineage(struct kl_checker *checker, const char *ref, const git_oid *tip,
		      const char *workload, const char *name);
/** Check all events in all notes. Return an error only if the notes cannot be read. */
int kl_check_events(struct kl_checker *checker);
/** Return true if the event is for one of the surfaces in this tree. */
bool kl_check_is_for_tree(struct kl_checker *checker, const struct kl_event *event,
			  const git_oid *tree);

/* --- checks of searches (check_search.c), after those of events ----------------------- */

void kl_check_search(struct kl_checker *checker, const char *ref);
/** Check all studies (check_study.c), but not the chains of their cells. */
int kl_check_studies(struct kl_checker *checker);
int kl_check_memories(struct kl_checker *checker);

/** Check the chain of the transplants of a lineage (check_transplant.c). */
void kl_check_transplant(struct kl_checker *checker, const char *ref, const git_oid *tip,
			 const char *workload, const char *name);

/* --- checks of campaigns (check_segment.c), before those of events -------------------- */

void kl_check_campaign(struct kl_checker *checker, const char *ref, const git_oid *tip,
		       const char *workload);
/** Check the events that are in no segment yet. */
int kl_check_logs(struct kl_checker *checker);

#endif
