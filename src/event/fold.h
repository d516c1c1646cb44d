/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_FOLD_H
#define KL_EVENT_FOLD_H

#include "event/event.h"

/*
 * fold - reduces a set of events to those that count (docs/formats.md, "The gate event"). The
 * result does not depend on the order of the events. Folding drops lines that do not parse (counted
 * in `skipped`), copies of an event (a signed copy is kept), events for other surfaces, and
 * retracted events.
 */
struct kl_event_list {
	struct kl_event **v;
	size_t n;
}; /* borrowed from the fold */

struct kl_fold {
	/**
	 * One event for each key (workload, surface, contract, platform, device, compiler, flags,
	 * policy, tier): a correctness failure if there is one, otherwise the newest event.
	 */
	struct kl_event_list verdicts;
	/** As `verdicts`, for quick checks that did not fail; a failed check is in `verdicts`. */
	struct kl_event_list checks;
	struct kl_event_list profiles; /* for each platform, the newest event with a profile */
	size_t lines, skipped; /* lines or events that were read; lines that did not parse */
	struct kl_map all;     /* id -> event, owned */
};

/**
 * Fold lines of JSON, or events. If `surface` or `contract` is NULL, accept any. kl_fold_events()
 * applies the retractions among the events. kl_fold_lines() ignores them, since only trust.h knows
 * which retractions count.
 */
void kl_fold_lines(struct kl_fold *out, const char *text, size_t len, const char *surface,
		   const char *contract);
void kl_fold_events(struct kl_fold *out, struct kl_event *const *event, size_t n,
		    const char *surface, const char *contract);
void kl_fold_release(struct kl_fold *fold);

/**
 * Return true if folding would keep `event` and drop `pass`: both have the same key, and `event` is
 * a correctness failure, or a newer result of the whole gate other than a pass.
 */
bool kl_fold_outweighs(const struct kl_event *event, const struct kl_event *pass);

#endif
