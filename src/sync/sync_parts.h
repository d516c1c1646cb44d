/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SYNC_SYNC_PARTS_H
#define KL_SYNC_SYNC_PARTS_H

#include "base/map.h"
#include "repo/refs.h"
#include "sync/sync.h"

/*
 * sync_parts - what the files of sync share: one round of it.
 */
enum kl_sync_kind { KL_SYNC_NOTES, KL_SYNC_LINEAGE, KL_SYNC_REJECTED, KL_SYNC_CARDS };

/* A ref of the remote's. */
struct kl_sync_ref {
	enum kl_sync_kind kind;
	char *ref; /* its name, there and here */
	char *tracking;
	char *leaf;  /* "<workload>/<name>" of a lineage or rejected steps, else "" */
	git_oid oid; /* what it is there */
	bool left;   /* refused: nothing is pushed over it either */
};

struct kl_sync_round {
	struct kl_sync *s;
	struct kl_repo *r;
	const char *cards; /* the library's ref */
	struct kl_sync_ref *v;
	size_t n, alloc;
	struct kl_sync_item *item; /* of this round; those of the last one are the result */
	size_t nitem, item_alloc;
	struct kl_map renamed; /* leaf of theirs -> owned leaf of ours */
};

void kl_sync_report(struct kl_sync_round *round, enum kl_sync_how how, const char *ref,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** The remote's ref of that name, or NULL. */
struct kl_sync_ref *kl_sync_find(struct kl_sync_round *round, const char *ref);
/** The one of this kind and workload that is at `oid`, or NULL. */
struct kl_sync_ref *kl_sync_find_oid(struct kl_sync_round *round, enum kl_sync_kind kind,
				     const char *leaf, const git_oid *oid);

/** refs/heads/klineage/x -> refs/klineage-remotes/<remote>/heads/x and so on; the caller frees. */
char *kl_sync_tracking(const char *remote, const char *ref);

/** Refs of ours of one kind, with the same names as there. */
int kl_sync_ours(struct kl_ref_list *out, struct kl_sync_round *round, enum kl_sync_kind kind);
const char *kl_sync_prefix(enum kl_sync_kind kind); /* "refs/heads/klineage/lineage/", ... */

/**
 * Take what the tracking refs have: verify, unite, move ours, all in one transaction.
 * KL_ECHANGED.
 */
int kl_sync_take(struct kl_sync_round *round);
/** Give what the remote has not. KL_ECHANGED: it did not take it, for now. */
int kl_sync_give(struct kl_sync_round *round);

#endif
