/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_TICKET_H
#define KL_SEARCH_TICKET_H

#include "search/cell.h"

/*
 * ticket - does one ticket of a search: asks its roles, has the candidate judged, and appends the
 * link.
 */

/**
 * Do a ticket. If the verdict on its candidate comes later, set *open and append no link; the same
 * call finds the stored replies again and, once the results are imported, the verdict. If `ahead`
 * is true, an earlier ticket is open: append no link, because links are in order of tickets.
 */
int kl_ticket_do(bool *open, struct kl_cell *cell, const struct kl_intent *intent, int64_t ticket,
		 bool ahead);
/**
 * Judge a kernel by the gate, or find its verdict in the search's table, and compare it with `root`;
 * `root` is NULL if the kernel is the root. The caller frees *out.
 */
int kl_ticket_judge(struct kl_judgement **out, const struct kl_cell *cell,
		    const struct kl_surface *surface, const struct kl_surface *root);
/** Append a link, with the gate's event on its candidate or NULL, and count it. */
int kl_ticket_append(struct kl_cell *cell, struct kl_cell_link *link, struct kl_event *event);
/** Update the counts and the best candidate of a search by a link of its chain. */
void kl_ticket_count(struct kl_cell *cell, const struct kl_cell_link *link);
/** Load the kernel of a ticket. */
int kl_ticket_kernel(struct kl_surface **out, const struct kl_cell *cell, int64_t ticket);

#endif
