/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_FSCK_PARTS_H
#define KL_FSCK_PARTS_H

#include "base/map.h"
#include "contract/surface.h"
#include "event/trust.h"
#include "fsck/check.h"
#include "walk/step.h"

/*
 * parts - the parts of check.c: walks and rejections (check_walk.c), lineages (check_lineage.c),
 * gate events (check_event.c). What is wrong is said, and the check goes on.
 */
struct kl_checker {
	struct kl_check *c;
	struct kl_map cited;     /* event ids that are here */
	struct kl_trust signed_; /* events with a signature, and where each stands */
	struct kl_strvec signed_at;
	struct kl_strvec citing; /* "commit id" pairs of events that cite */
	bool foreign;            /* a remote's: nothing of ours is compared with it */
	git_oid digests_of;      /* the commit that `digests` are of */
	struct kl_strvec digests;
};

/** A finding, counted and reported. */
void kl_check_report(struct kl_checker *checker, enum kl_check_severity severity, const char *where,
		     const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** An error of reading is a finding, too; it is cleared. */
void kl_check_report_error(struct kl_checker *checker, const char *where);
/** A commit as messages name it. */
void kl_check_short(char out[KL_OID_HEX], const git_oid *oid);

/* -- check_walk.c ------------------------------------------------------------------- */

struct kl_chain {
	struct kl_commit *c;  /* newest first */
	struct kl_step *step; /* parsed; kind of the last one of a walk is unset */
	size_t n, alloc, step_alloc;
};

void kl_chain_release(struct kl_chain *chain);
/** Commits with steps, by parent number `via`, to the first that has none (kept) or the root. */
int kl_chain_read(struct kl_chain *out, struct kl_checker *checker, const git_oid *tip, size_t via,
		  bool past_end);
/** The contract of that workload in a tree, and the directory it lies in. */
int kl_check_contract(struct kl_surface **out, char **dir, struct kl_checker *checker,
		      const git_oid *tree, const char *workload);

void kl_check_walk(struct kl_checker *checker, const char *ref, const git_oid *tip,
		   const char *workload);
void kl_check_rejected(struct kl_checker *checker, const char *ref, const git_oid *tip);

/* -- check_lineage.c, check_event.c ---------------------------------------------------- */

void kl_check_lineage(struct kl_checker *checker, const char *ref, const git_oid *tip,
		      const char *workload, const char *name);
/** All events of all notes. Negative: they cannot be read. */
int kl_check_events(struct kl_checker *checker);

#endif
