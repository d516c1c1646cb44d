/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_CONTENT_H
#define KL_REPORT_CONTENT_H

#include "card/card.h"
#include "contract/surface.h"
#include "event/chain.h"
#include "lineage/view.h"

/*
 * content - collects what a report shows of one lineage: its view, and from the contract of K*, from
 * the gate's events and from the cards what the view lacks.
 *
 * Speeds are given as a share of the reference: the fastest of the vendor's kernels that the expert
 * was compared with or, if there is none, the expert itself.
 */
struct kl_report_speed {
	struct kl_ratio
		share; /* speed of the state by the speed of the reference; ppm 0: unknown */
	bool measured; /* compared with the reference directly, not through other states */
};

/* A rejected step; `step` in the view's rejections has its action and class. */
struct kl_report_rejected {
	size_t on;     /* index of the state that it was tried on; SIZE_MAX: not in this lineage */
	char *event;   /* id of the gate's event; "": this clone has none */
	char *message; /* why it was rejected, without the command that replays it; or "" */
	char *element; /* the first wrong element: "C[0,1] is 3, wanted 2"; or "" */
	char *input;   /* the point and the values at which it is wrong: "case0, noise"; or "" */
	char *clause;  /* the condition that a card learned from it; or "" */
	char *card;    /* id of that card; or "" */
};

struct kl_report_content {
	const struct kl_view *view; /* borrowed */
	char *id;                   /* begins the ids of this lineage's elements on the page */
	struct kl_surface *surface; /* of K*; NULL: it cannot be read */
	char *device, *driver, *compiler;
	char *first, *last;            /* days of the oldest and newest event: "2026-11-21"; "" */
	char *reference;               /* name of the reference; "": it is the expert */
	struct kl_report_speed *speed; /* of each state */
	struct kl_view_rejections rejections;
	struct kl_report_rejected *rejected; /* of each rejection */
	struct kl_card **card; /* owned; cards that have a step of this lineage as evidence */
	size_t ncard, card_alloc;
	char *forge; /* address of a commit without its id, "https://x/commit/"; "": not known */
	int64_t bytes, flops; /* of a call at the first timed case, by the floor; 0: not known */
};

/** Collect the content. `view` is borrowed, and must outlive *out. The caller releases *out. */
int kl_report_collect(struct kl_report_content *out, struct kl_repo *repo,
		      const struct kl_view *view);
void kl_report_content_release(struct kl_report_content *content);

/** Return true if `card` has step `i` of the lineage as evidence. */
bool kl_report_is_evidence(const struct kl_card *card, const struct kl_view *view, size_t i);
/**
 * Fill in `share` of the states that were not compared with the reference, from the ratios of
 * neighbouring states. Without a reference, the share of K* is 1.
 */
void kl_report_chain_speeds(struct kl_report_content *content);
/** Collect the rejected steps. `content` has its view and its cards. */
int kl_report_collect_rejected(struct kl_report_content *content, struct kl_repo *repo);

#endif
