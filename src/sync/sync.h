/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SYNC_SYNC_H
#define KL_SYNC_SYNC_H

#include "repo/repo.h"

/*
 * sync - exchanges lineages, cards and gate events with a remote, losing nothing
 * (docs/formats.md, "Sync").
 *
 * Theirs comes into tracking refs first and is verified there. Then notes are united by event,
 * the skills branch by card, lineages and rejected steps appear under their names, or, where
 * another one has that name already, under theirs with the remote's after it; all in one
 * transaction. What the remote lacks goes there in one atomic push that names what each ref is
 * expected to be. Whenever somebody else was quicker, there or here, all begins anew, for some
 * minutes.
 *
 *	struct kl_sync s = { .repo = repo, .remote = "origin", .fetch = true, .push = true };
 *	err = kl_sync_run(&s);
 *	for (i = 0; i < s.n; i++) ... s.v[i]
 *	kl_sync_release(&s);
 */
enum kl_sync_how {
	KL_SYNC_TAKEN,   /* new here */
	KL_SYNC_MOVED,   /* it had more than ours */
	KL_SYNC_UNITED,  /* both sides had what the other had not */
	KL_SYNC_RENAMED, /* taken under another name, since ours is another one */
	KL_SYNC_GIVEN,   /* pushed */
	KL_SYNC_LEFT,    /* not exchanged: `what` says why, and what to do */
};
const char *kl_sync_how_name(enum kl_sync_how how);

struct kl_sync_item {
	enum kl_sync_how how;
	char *ref;
	char *what; /* more of it, for people; "" */
};

struct kl_sync {
	struct kl_repo *repo;
	const char *remote;
	bool fetch, push;
	/* from inside a push: gate events alone, and no hooks of the user's */
	bool notes_only;
	bool dry_run;           /* only ask the remote: items say what would be done */
	struct kl_sync_item *v; /* out, in the order done */
	size_t n, alloc;
	size_t rounds; /* how often it was begun */
};

/**
 * 0: done, though items may have been left. KL_ENOTFOUND: no such remote. KL_EIO: the remote
 * cannot be reached, or does not take the push; what was fetched until then stays.
 */
int kl_sync_run(struct kl_sync *sync);
void kl_sync_release(struct kl_sync *sync);

/** The refspecs by which a plain `git fetch` brings the tracking refs up to date, too. */
void kl_sync_refspecs(struct kl_strvec *out, const char *remote);
/** Which of them are configured? */
int kl_sync_configured(struct kl_strvec *out, struct kl_repo *repo, const char *remote);
/** Add them to, or remove them from, remote.<remote>.fetch; `changed` names those that it did. */
int kl_sync_setup(struct kl_strvec *changed, struct kl_repo *repo, const char *remote, bool on);

#endif
