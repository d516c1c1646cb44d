/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_RECORD_H
#define KL_EVENT_RECORD_H

#include "event/event.h"

/* record - reads from gate events what a lineage needs */

/** "" if there is none. */
const char *kl_record_id(const json_t *event);

/** Ratio against the parent in ppm, 0 if it was not compared; `lo`, `hi` may be NULL. */
int64_t kl_record_ratio(const json_t *event, int64_t *lo, int64_t *hi);
/** The same against the contract's baseline; `*what` is its name, borrowed. */
int64_t kl_record_baseline(const json_t *event, const char **what);
/**
 * Is what `event` judged not slower than the surface `goal` it was compared with, or clearly slower
 * (event/speed.h)? One case that is makes the whole so. Both false: it does not say. So it is, too,
 * where 3 A/A is above 10 % and only that margin makes it not slower: else noise would be proof.
 */
void kl_record_against(bool *not_slower, bool *slower, const json_t *event, const char *goal);
/** ns of the first case; 0: not profiled. */
int64_t kl_record_ns(const json_t *event);

/** JSON Lines: each event by its id; values are json_t *. Malformed lines are KL_EINVALID "<name>:<line>". */
int kl_record_load(struct kl_map *out, const char *name, const char *text, size_t len);

/* event.h on documents, until their owners have events */
struct kl_noting;
int kl_event_doc_parse(json_t **out, const char *line, size_t len);
void kl_event_doc_seal(json_t *doc);
bool kl_event_doc_is_fail(const json_t *doc);
bool kl_event_doc_is_for(const json_t *doc, const char *surface, const char *contract);
int kl_noting_add_doc(struct kl_noting *n, const git_oid *commit, json_t *doc);
int kl_sign_event_doc(struct kl_repo *r, json_t *doc);

#endif
