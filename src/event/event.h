/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_EVENT_H
#define KL_EVENT_EVENT_H

#include "base/map.h"
#include "event/facts.h"
#include "event/platform.h"
#include "event/profile.h"
#include "event/vocabulary.h"
#include "repo/repo.h"
#include "text/digest.h"

/*
 * event - one gate result (docs/formats.md, "The gate event"): made once, never changed, named by
 * its content. It is kept as one line of JSON, which is read and written here and nowhere else.
 *
 *	err = kl_event_parse(&event, line, len);	from outside: checked, and hostile
 *	if (event->verdict == KL_VERDICT_PASS && event->profile.there) ...
 *	kl_event_write(&text, event);			the same bytes again
 *
 * An event that was read keeps its document: a member that is not known here, or not of its type,
 * is written as it was. Whoever makes an event sets members and seals it, once all that the id
 * covers is there: everything but id, sig, commit and tree.
 *
 *	struct kl_event *event = kl_event_new();
 *	event->kind = KL_KIND_GATE;
 *	event->time = kl_event_keep(event, now); ...
 *	kl_event_seal(event);
 *
 * Strings are "" where the event says nothing, never NULL. They live as long as the event: they
 * belong to its document, are constants, or are kept by kl_event_keep(). Events are counted: each
 * kl_event_ref() is one more kl_event_free().
 */

/**
 * Version of the gate's rules; events of another version are not reused. It rises when a stage
 * changes.
 */
#define KL_GATE_POLICY 2

struct kl_event {
	enum kl_event_kind kind;
	enum kl_verdict verdict;
	enum kl_failure failure; /* the class; kl_event_class() has its word */
	enum kl_tier tier;
	int64_t policy;
	const char *id;   /* 64 hex digits, as the next but one line */
	const char *time; /* "2026-11-20T10:00:00Z": order is that of the text */
	const char *workload, *surface, *contract;
	const char *commit, *tree; /* where its note stands; not in the id, as `sig` */
	const char *message;       /* why, for a person */
	const char *by, *job, *signer, *sig;
	const char *of; /* retract: the event that is taken back */
	struct kl_place place;
	bool compiled;         /* features are known */
	struct kl_facts facts; /* features, traits, code */
	struct kl_profile profile;
	/** Computed, not measured: of which two events (kl_event_inverse). */
	struct {
		bool there;
		const char *state, *pair;
	} inverse;
	/** Members that are JSON; owned, NULL: absent. `statics` is "static". */
	json_t *correct, *counters, *statics, *audit, *notes;

	/* event_json.c's and event.c's own */
	json_t *doc;             /* as it was read; NULL: it was made here */
	const char *other_class; /* of KL_FAILURE_OTHER */
	struct kl_strvec kept;
	unsigned refs;
};

/** Empty: every member is absent. */
struct kl_event *kl_event_new(void);
struct kl_event *kl_event_ref(const struct kl_event *event);
void kl_event_free(struct kl_event *event);
KL_DEFINE_CLEANUP(struct kl_event *, kl_event_free)
/** The same for kl_map's free_value. */
void kl_event_free_value(void *event);
/** A copy of the text that lives as long as the event. */
const char *kl_event_keep(struct kl_event *event, const char *text);

/** Parse and check one line: an object, v 1, a kind, an id that matches. KL_EINVALID. */
int kl_event_parse(struct kl_event **out, const char *line, size_t len);
/** From a document whose id need not be checked, or is not there yet; takes its own reference. */
struct kl_event *kl_event_from_json(json_t *doc);
/** With the same document, to be changed by itself. */
struct kl_event *kl_event_copy(const struct kl_event *event);
/** Each event of these lines by its id, owned by the map. KL_EINVALID "<name>:<line>". */
int kl_event_load(struct kl_map *out, const char *name, const char *text, size_t len);
/** The caller's reference. */
json_t *kl_event_json(const struct kl_event *event);
/** The same before anybody has judged: the time and the device are the result's to say. */
json_t *kl_event_draft(const struct kl_event *event);
/** Canonical, without the end of the line. */
void kl_event_write(struct kl_buf *out, const struct kl_event *event);
/** Set `id`. */
void kl_event_seal(struct kl_event *event);
/** Set `commit` and `tree`: where its note is to stand. */
void kl_event_set_commit(struct kl_event *event, const git_oid *commit, const git_oid *tree);

/** A class of failure by its word, which is kept where no enum has it; NULL and "": none. */
void kl_event_set_class(struct kl_event *event, const char *word);
const char *kl_event_class(const struct kl_event *event);
/** A fail of correctness: being slow, or changing nothing, says nothing of the answers. */
bool kl_event_is_fail(const struct kl_event *event);
/** Was it reached for just these files under just this contract (NULL: any)? Else it is stale. */
bool kl_event_is_for(const struct kl_event *event, const char *surface, const char *contract);
/** By time, then by id; anything is newer than NULL. */
bool kl_event_is_newer(const struct kl_event *event, const struct kl_event *than);
/** Was it compared with these files as its parent? */
bool kl_event_is_against(const struct kl_event *event, const char *surface);

/**
 * The forward event of a state on a lineage: `state`, its own event, with the comparison with the
 * state before it in the place of the old one. That is turned round from `pair`, the event of the
 * state before, which was compared with it. `time` in seconds. Sealed.
 */
struct kl_event *kl_event_inverse(const struct kl_event *state, const struct kl_event *pair,
				  int64_t time);

#endif
