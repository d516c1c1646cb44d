/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SYNC_SYNC_PARTS_H
#define KL_SYNC_SYNC_PARTS_H

#include "base/map.h"
#include "fsck/check.h"
#include "repo/refs.h"
#include "sync/sync.h"

/* sync_parts - declarations shared inside src/sync: the state of one round of a sync */
enum kl_sync_kind {
	KL_SYNC_NOTES,
	KL_SYNC_LINEAGE,
	KL_SYNC_REJECTED,
	KL_SYNC_CAMPAIGN,
	KL_SYNC_TRANSPLANT,
	KL_SYNC_CARDS
};

/* A ref of the remote. */
struct kl_sync_ref {
	enum kl_sync_kind kind;
	char *ref;      /* name of the ref at the remote, and here unless it is renamed */
	char *tracking; /* name of its tracking ref */
	/*
	 * "<workload>/<name>" of a lineage, of rejected steps, of a campaign or of transplants; ""
	 * if the ref is of another kind
	 */
	char *leaf;
	git_oid oid; /* value of the ref at the remote */
	/* the ref is invalid, so it was not merged and must not be overwritten by a push */
	bool left;
};

struct kl_sync_round {
	struct kl_sync *s;
	struct kl_repo *r;
	const char *cards;     /* name of the library's ref */
	struct kl_sync_ref *v; /* the refs of the remote */
	size_t n, alloc;
	/* the result of this round for each ref; keep_items() moves it to the result of the sync */
	struct kl_sync_item *item;
	size_t nitem, item_alloc;
	struct kl_map renamed; /* leaf at the remote -> leaf here; values owned */
};

/** Record the result for a ref in this round. `fmt` and its arguments give the details. */
void kl_sync_report(struct kl_sync_round *round, enum kl_sync_how how, const char *ref,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** Return the remote's ref with the name `ref`, or NULL; borrowed. */
struct kl_sync_ref *kl_sync_find(struct kl_sync_round *round, const char *ref);
/**
 * Return the remote's ref of this kind whose value is `oid` and whose workload is that in `leaf`,
 * or NULL; borrowed.
 */
struct kl_sync_ref *kl_sync_find_oid(struct kl_sync_round *round, enum kl_sync_kind kind,
				     const char *leaf, const git_oid *oid);

/**
 * Return the name of the tracking ref for a ref of the remote, such as
 * refs/klineage-remotes/<remote>/heads/x for refs/heads/klineage/x. The caller frees it.
 */
char *kl_sync_tracking(const char *remote, const char *ref);

/** List our refs of one kind. */
int kl_sync_ours(struct kl_ref_list *out, struct kl_sync_round *round, enum kl_sync_kind kind);
/* Return the prefix of the refs of one kind, such as "refs/heads/klineage/lineage/". */
const char *kl_sync_prefix(enum kl_sync_kind kind);

/**
 * Verify the tracking refs and merge them into our refs, in one transaction. Return KL_ECHANGED if
 * one of our refs changed meanwhile.
 */
int kl_sync_take(struct kl_sync_round *round);
/**
 * Verify a campaign of the remote, and add its files to ours. If it is invalid, report that it was
 * left.
 */
int kl_sync_take_campaign(struct kl_sync_round *round, struct kl_refs_txn *txn,
			  struct kl_sync_ref *ref);
/**
 * Verify the remote's chain of a lineage's transplants, and unite the chain with ours. If the chain
 * is invalid or the lineage is missing, leave the chain and report this.
 */
int kl_sync_take_transplants(struct kl_sync_round *round, struct kl_refs_txn *txn,
			     struct kl_sync_ref *ref);
/**
 * Set *can to true if `ref`, a chain of our transplants, can be pushed: the chain is valid, and the
 * remote has its lineage or gets it in this push. If the chain is invalid, report that it was left.
 */
int kl_sync_can_give_transplants(bool *can, struct kl_sync_round *round, const char *ref,
				 const git_oid *tip);
/** Make segments of all events that are in no segment yet, so that they are pushed. */
int kl_sync_seal_logs(struct kl_repo *repo);
/** Check a ref with "<kind>/<leaf>" (fsck/check.h). If it is invalid, report that it was left. */
int kl_sync_verify(bool *good, struct kl_check *check, struct kl_sync_round *round,
		   struct kl_sync_ref *ref, const char *kind);
/** Push everything that the remote lacks. Return KL_ECHANGED if the remote rejected the push. */
int kl_sync_give(struct kl_sync_round *round);

#endif
