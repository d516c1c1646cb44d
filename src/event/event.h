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
 * event - one result of the gate (docs/formats.md, "The gate event"). It is never changed and is
 * identified by its content. It is stored as one line of JSON, which only src/event reads and
 * writes.
 *
 *	err = kl_event_parse(&event, line, len);	validates untrusted input
 *	if (event->verdict == KL_VERDICT_PASS && event->profile.there) ...
 *	kl_event_write(&text, event);			the same bytes again
 *
 * An event that was parsed keeps its document: unknown members, and members of the wrong type, are
 * written unchanged. To make a new event, set its members, then seal it. The id covers all members
 * except id, sig, commit and tree, so those can be set afterwards.
 *
 *	struct kl_event *event = kl_event_new();
 *	event->kind = KL_KIND_GATE;
 *	event->time = kl_event_keep(event, now); ...
 *	kl_event_seal(event);
 *
 * Strings are never NULL; "" means that the member is absent. They live as long as the event: they
 * belong to its document, are constants, or were copied by kl_event_keep(). Events are reference
 * counted: each kl_event_ref() needs a kl_event_free().
 */

/**
 * Version of the gate's rules. It is increased when a stage changes; a verdict of an older version
 * does not count (kl_event_is_outdated()).
 */
#define KL_GATE_POLICY 3

struct kl_event {
	enum kl_event_kind kind;
	enum kl_verdict verdict;
	enum kl_failure failure; /* class of the failure; kl_event_class() returns its name */
	enum kl_tier tier;
	int64_t policy;
	const char *id;   /* 64 hex digits, like `surface` and `contract` */
	const char *time; /* "2026-11-20T10:00:00Z"; sorts as text */
	const char *workload, *surface, *contract;
	const char *commit, *tree; /* commit that has the note, and its tree; not part of the id */
	const char *message;       /* reason, for the user */
	const char *by, *job, *signer, *sig;
	const char *of;        /* id of the retracted event, or of the label that is replaced */
	const char *mechanism; /* in a label (label.h) */
	struct kl_place place;
	bool compiled;         /* the kernel compiled, so `facts` has features */
	struct kl_facts facts; /* features, traits, code */
	struct kl_profile profile;
	/** If `there`, ids of the two events that kl_event_inverse() computed this event from. */
	struct {
		bool there;
		const char *state, *pair;
	} inverse;
	/**
	 * If `there`, one session timed all states of a lineage (lineage/measure.h), this state
	 * against the state before it. `states` is the number of states, `rounds` the number of
	 * rounds.
	 */
	struct {
		bool there;
		int64_t states, rounds;
	} session;
	/** JSON members; owned, NULL if absent. `statics` is the member "static". */
	json_t *correct, *counters, *statics, *audit, *notes;
	/* of a probe: {"dims": {"m": 3}, "values": "plain"}; owned, NULL if absent */
	json_t *point;

	/* private to event_json.c and event.c */
	json_t *doc;             /* the document that was parsed; NULL for a new event */
	const char *other_class; /* the class if `failure` is KL_FAILURE_OTHER */
	struct kl_strvec kept;
	unsigned refs;
};

/** Return a new event in which all members are absent. */
struct kl_event *kl_event_new(void);
struct kl_event *kl_event_ref(const struct kl_event *event);
void kl_event_free(struct kl_event *event);
KL_DEFINE_CLEANUP(struct kl_event *, kl_event_free)
/** Like kl_event_free(), with the type of kl_map.free_value. */
void kl_event_free_value(void *event);
/** Copy a string into the event; the copy lives as long as the event. */
const char *kl_event_keep(struct kl_event *event, const char *text);

/**
 * Parse and validate one line. Return KL_EINVALID if the line is not an object, is not of version
 * 1, has no kind, or has an id that does not match the content.
 */
int kl_event_parse(struct kl_event **out, const char *line, size_t len);
/** Make an event from a document without checking its id; takes its own reference to `doc`. */
struct kl_event *kl_event_from_json(json_t *doc);
/** Return a copy that can be changed independently; the caller frees it. */
struct kl_event *kl_event_copy(const struct kl_event *event);
/**
 * Parse lines into a map from id to event, which owns the events. Return KL_EINVALID if a line is
 * invalid. The message starts with "<name>:<line>".
 */
int kl_event_load(struct kl_map *out, const char *name, const char *text, size_t len);
/** Return the event as JSON; the caller owns the reference. */
json_t *kl_event_json(const struct kl_event *event);
/** Like kl_event_json(), but without time and device: for a kernel that has not been judged yet. */
json_t *kl_event_draft(const struct kl_event *event);
/** Append the event as canonical JSON without a newline. */
void kl_event_write(struct kl_buf *out, const struct kl_event *event);
/** Compute the id from the other members, and set it. */
void kl_event_seal(struct kl_event *event);
/** Set `commit`, the commit that gets the note, and `tree`, that commit's tree. */
void kl_event_set_commit(struct kl_event *event, const git_oid *commit, const git_oid *tree);

/** Set the failure class by its name; an unknown name is kept. NULL and "" mean no class. */
void kl_event_set_class(struct kl_event *event, const char *word);
const char *kl_event_class(const struct kl_event *event);
/** Return true for a correctness failure: a fail of any class except slower and no-change. */
bool kl_event_is_fail(const struct kl_event *event);
/**
 * Return true if the event was made under rules of the gate that have changed since. It is history:
 * it can be shown and learned from, but the kernel must be judged again.
 */
bool kl_event_is_outdated(const struct kl_event *event);
/** Return true if the event is about this surface and contract (NULL for any). */
bool kl_event_is_for(const struct kl_event *event, const char *surface, const char *contract);
/**
 * Return true if `event` is newer than `than`. Times are compared first, then ids. Every event is
 * newer than NULL.
 */
bool kl_event_is_newer(const struct kl_event *event, const struct kl_event *than);
/** Return true if the kernel was timed against this surface as its parent. */
bool kl_event_is_against(const struct kl_event *event, const char *surface);

/**
 * Return the forward event of a lineage state: a sealed copy of `state`, the state's own event. In
 * the copy, a comparison with the preceding state replaces the comparison with the parent. The new
 * comparison is the inverse of that in `pair`, the event of the preceding state that was timed with
 * this state as its parent. `time` is in seconds since the epoch. The caller frees the event.
 */
struct kl_event *kl_event_inverse(const struct kl_event *state, const struct kl_event *pair,
				  int64_t time);

#endif
