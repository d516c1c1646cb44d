/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SYNC_SYNC_H
#define KL_SYNC_SYNC_H

#include "repo/repo.h"

/*
 * sync - exchanges lineages, cards and gate events with a remote, losing nothing (docs/formats.md,
 * "Sync").
 *
 * The remote's refs are first fetched into tracking refs and verified there. Then one transaction
 * updates our refs. Notes are merged by event, campaigns by file, transplants by link, and the
 * skills branch by card. Lineages and rejected steps are created under the names that they have at
 * the remote; if we have another ref of such a name, "-<remote>" is appended to the name of the new
 * ref. Then everything that the remote lacks is pushed in one atomic push with the expected old
 * values. If a ref changes meanwhile, here or at the remote, everything is repeated, for at most
 * five minutes.
 *
 *	struct kl_sync s = { .repo = repo, .remote = "origin", .fetch = true, .push = true };
 *	err = kl_sync_run(&s);
 *	for (i = 0; i < s.n; i++) ... s.v[i]
 *	kl_sync_release(&s);
 */
enum kl_sync_how {
	KL_SYNC_TAKEN, /* the remote's ref is new here */
	KL_SYNC_MOVED, /* our ref was fast-forwarded to theirs */
	/* our ref was merged with theirs, because each had something that the other lacked */
	KL_SYNC_UNITED,
	/* the remote's ref is new here; it was renamed because we have another ref of its name */
	KL_SYNC_RENAMED,
	KL_SYNC_GIVEN, /* our ref was pushed */
	KL_SYNC_LEFT,  /* the ref was not exchanged; `what` gives the reason and what to do */
};
const char *kl_sync_how_name(enum kl_sync_how how);

struct kl_sync_item {
	enum kl_sync_how how;
	char *ref;
	char *what; /* details for the user; "" if there are none */
};

struct kl_sync {
	struct kl_repo *repo;
	const char *remote;
	bool fetch, push;
	/*
	 * for a sync from inside a push: exchange only gate events, and do not run the user's hooks
	 */
	bool notes_only;
	/* change nothing: only list the remote's refs and report what a sync would do */
	bool dry_run;
	/* result for each ref, in the order in which the refs were handled */
	struct kl_sync_item *v;
	size_t n, alloc;
	size_t rounds; /* result: number of rounds that were run */
};

/**
 * Sync with the remote. Return 0 if the sync ran to its end, even if it left some refs. Return
 * KL_ENOTFOUND if there is no such remote. Return KL_EIO if the remote cannot be reached or rejects
 * the push; everything that was fetched before the error is kept. Return KL_EBUSY if another sync
 * is running, or a ref here stays locked.
 */
int kl_sync_run(struct kl_sync *sync);
void kl_sync_release(struct kl_sync *sync);

/**
 * Set *n to how many of our refs the remote lacks or has with another value, as far as the tracking
 * refs of the last exchange tell. The remote is not asked.
 */
int kl_sync_unsent(size_t *n, struct kl_repo *repo, const char *remote);

/** Append the refspecs with which a plain `git fetch` also updates our tracking refs. */
void kl_sync_refspecs(struct kl_strvec *out, const char *remote);
/** Append the refspecs of kl_sync_refspecs() that are configured for the remote. */
int kl_sync_configured(struct kl_strvec *out, struct kl_repo *repo, const char *remote);
/**
 * Add the refspecs of kl_sync_refspecs() to remote.<remote>.fetch or, if `on` is false, remove them
 * from it. The refspecs that were added or removed are appended to `changed`.
 */
int kl_sync_setup(struct kl_strvec *changed, struct kl_repo *repo, const char *remote, bool on);

#endif
