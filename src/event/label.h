/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_LABEL_H
#define KL_EVENT_LABEL_H

#include "event/event.h"

/*
 * label - what a person says a step's mechanism is. A trailer of a commit cannot be changed, so a
 * label is an event of kind "label" in the note of the lineage's commit. It is never changed either:
 * a later one names the one that it replaces, and one without a mechanism takes the label back. It
 * is signed like other events, and goes where the notes go.
 */
struct kl_label_opts {
	const git_oid *commit; /* K_i: the step leads to it */
	const char *workload, *surface, *contract;
	const char *mechanism; /* NULL: take the label back */
	const char *reason;    /* for people; NULL: none */
	int sign;              /* as in struct kl_noting */
};

/** Note a label. *out is the event, which the caller frees. KL_EINVALID: the reason is no text. */
int kl_label_put(struct kl_event **out, struct kl_repo *repo, const struct kl_label_opts *opts);
/**
 * Return the label that holds among events: one that no other label replaces; of several, made in
 * different clones, the newest. NULL: there is no label. One without a mechanism can hold.
 */
const struct kl_event *kl_label_holding(struct kl_event *const *event, size_t n);
/**
 * Set *out to the label that holds in the text of a note, or to NULL if there is none or it was taken
 * back. Who wrote it is not checked. The caller frees *out.
 */
void kl_label_in_note(struct kl_event **out, const char *text, size_t len);
/** Return who set a label, without the mail address; the caller frees. */
char *kl_label_author(const struct kl_event *label);

#endif
