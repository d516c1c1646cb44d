/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_FOLD_H
#define KL_EVENT_FOLD_H

#include "event/event.h"

/*
 * fold - what a set of events says together (docs/formats.md, "The gate event"), in whatever order
 * they came. Left out are lines that do not parse (`skipped` counts them), an id that came before
 * (the signed one stays), events for other files, and those that a `retract` takes back.
 */
struct kl_event_list {
	struct kl_event **v;
	size_t n;
}; /* borrowed from the fold */

struct kl_fold {
	/**
	 * One for each key (surface, contract, platform, device, compiler, flags, policy, tier): a
	 * correctness fail outranks any pass, else the newest.
	 */
	struct kl_event_list verdicts;
	/** The same of checks that pass: one that fails is a failed verdict. */
	struct kl_event_list checks;
	struct kl_event_list profiles; /* the newest of each platform */
	size_t lines, skipped;
	struct kl_map all; /* id -> event, owned */
};

/** `surface`, `contract` NULL: any. */
void kl_fold_lines(struct kl_fold *out, const char *text, size_t len, const char *surface,
		   const char *contract);
void kl_fold_events(struct kl_fold *out, struct kl_event *const *event, size_t n,
		    const char *surface, const char *contract);
void kl_fold_release(struct kl_fold *fold);

#endif
