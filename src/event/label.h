/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_LABEL_H
#define KL_EVENT_LABEL_H

#include "event/event.h"

/*
 * label - records which mechanism a person says a step has. A commit's trailer cannot be changed,
 * so a label is an event of kind "label" in the note of the lineage's commit. A label is never
 * changed either. To replace a label, a later label names it; to take a label back, a later label
 * without a mechanism names it. Labels are signed like other events, and are pushed with the notes.
 */
struct kl_label_opts {
	const git_oid *commit; /* K_i, the commit that the step leads to */
	const char *workload, *surface, *contract;
	const char *mechanism; /* NULL to take the label back */
	const char *reason;    /* for people; NULL if there is none */
	int sign;              /* as in struct kl_noting */
};

/**
 * Write a label as a note; the caller frees *out, its event. Return KL_EINVALID if the reason is
 * not UTF-8 text, or is too long.
 */
int kl_label_put(struct kl_event **out, struct kl_repo *repo, const struct kl_label_opts *opts);
/**
 * Return the label in force among these events: the newest of the labels that no other label
 * replaces. (Labels made in different clones do not replace each other.) The label returned can
 * lack a mechanism, which means that an earlier label was taken back. Return NULL if there is no
 * label.
 */
const struct kl_event *kl_label_holding(struct kl_event *const *event, size_t n);
/**
 * Set *out to the label in force in the text of a note, or to NULL if there is no label or it was
 * taken back. The author of the label is not checked. The caller frees *out.
 */
void kl_label_in_note(struct kl_event **out, const char *text, size_t len);
/** Return the name of the person who set a label, without the mail address; the caller frees. */
char *kl_label_author(const struct kl_event *label);

#endif
