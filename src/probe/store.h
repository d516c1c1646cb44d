/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_STORE_H
#define KL_PROBE_STORE_H

#include "base/lock.h"
#include "event/event.h"
#include "repo/repo.h"

/*
 * store - keeps the events of probes, so that a probe that was stopped or killed judges no point
 * again.
 *
 * The events belong to the campaign `probe` of their workload (event/segment_writer.h). The key of
 * an event, by which it is found, consists of all that its result depends on; each event contains
 * its key. Only events that this clone made are found, because events from elsewhere must not
 * replace a judgement. The inputs of all probes of a clone are drawn from one seed, which is in the
 * file $GIT_COMMON_DIR/klineage/probe/seed.
 *
 * Several probes can run at once. Before a process judges a point, it claims the point and reads
 * what other processes have stored since.
 *
 *	kl_probe_store_open(&store, repo);
 *	if (kl_probe_store_find(&event, store, &key) == KL_ENOTFOUND &&
 *	    kl_probe_store_claim(&lock, store, &key, 0) == 0 &&
 *	    kl_probe_store_find(&event, store, &key) == KL_ENOTFOUND)
 *		kl_probe_store_put(store, event);	a new one; it survives SIGKILL
 *	kl_probe_store_seal(store, workload);	now the events are in the repository
 */
#define KL_PROBE_CAMPAIGN "probe"

struct kl_probe_store;

/** The key of an event: all that its result depends on, besides the rules of the gate. */
struct kl_probe_key {
	const char *surface, *contract; /* digests */
	/* a device "" is not known yet and matches any device */
	const struct kl_platform *platform;
	const json_t *point; /* as in the event */
};

int kl_probe_store_open(struct kl_probe_store **out, struct kl_repo *repo);
/** Free the store. Events that were put but not sealed stay in the log of the campaign. */
void kl_probe_store_free(struct kl_probe_store *store);
KL_DEFINE_CLEANUP(struct kl_probe_store *, kl_probe_store_free)

/**
 * Return the seed from which the inputs of this clone's probes are drawn. It is the same in every
 * run, so that results of several runs can be compared.
 */
uint64_t kl_probe_store_seed(const struct kl_probe_store *store);
/** Return true if a failure of this class says something about the kernel at the point. */
bool kl_probe_store_is_about_kernel(enum kl_failure failure);
/**
 * Return true if the event decides its point for good. Only such events are stored and found. If an
 * event is not final, for example because it is inconclusive, its point is judged again.
 */
bool kl_probe_store_is_final(const struct kl_event *event);
/**
 * Find the event with this key: of several, the newest that is not retracted. *out is borrowed from
 * the store. Return KL_ENOTFOUND if this clone has none.
 */
int kl_probe_store_find(const struct kl_event **out, struct kl_probe_store *store,
			const struct kl_probe_key *key);
/**
 * Claim the point of a key, until the lock is released or its holder dies, and read what other
 * processes have stored. Waits at most `wait_ms`. Return KL_EBUSY if another process judges this
 * point, or one of the few that share its lock. Return KL_EINTR if the user interrupted.
 */
int kl_probe_store_claim(struct kl_lock *lock, struct kl_probe_store *store,
			 const struct kl_probe_key *key, int64_t wait_ms);
/** A function that gets an event, which lives as long as the store. To stop, it returns nonzero. */
typedef int kl_probe_store_fn(const struct kl_event *event, void *payload);
/**
 * Call `fn` for each event that kl_probe_store_find() can find for a surface and contract on some
 * platform, each event once.
 */
int kl_probe_store_each(struct kl_probe_store *store, const char *surface, const char *contract,
			kl_probe_store_fn *fn, void *payload);
/**
 * Add a sealed event of kind "probe". The store keeps a reference to the event. When the function
 * returns, the event is on disk.
 */
int kl_probe_store_put(struct kl_probe_store *store, struct kl_event *event);
/**
 * Make a segment from the events of a workload that are not in a segment yet, including those that
 * a killed probe left in the log.
 */
int kl_probe_store_seal(struct kl_probe_store *store, const char *workload);

#endif
