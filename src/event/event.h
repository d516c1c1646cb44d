/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_EVENT_H
#define KL_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "text/digest.h"
#include "text/json.h"

/*
 * event - one gate result as one JSON line (docs/formats.md, "event"): made
 * once, never changed, named by its content. Lines from elsewhere are hostile
 * input: an event whose id is not the digest of what it says is no event.
 */

/** Version of the gate's rules; events of another version are not reused. It rises when a stage changes. */
#define KL_GATE_POLICY 2

/** SHA-256 of the canonical line without id, sig, commit and tree. */
void kl_event_id(char id[KL_DIGEST_HEX], const json_t *event);

/** Set "id"; call last. */
void kl_event_seal(json_t *event);

/** Parse and check one line: an object, v 1, a kind, an id that matches. KL_EINVALID. */
int kl_event_parse(json_t **out, const char *line, size_t len);

/** A fail of correctness: one for being slow, or for changing nothing, says nothing of the answers. */
bool kl_event_is_fail(const json_t *event);

/** Was it reached for just these files under just this contract? If not, it is stale. */
bool kl_event_is_for(const json_t *event, const char *surface, const char *contract);

/**
 * What a set of lines says together. Lines are skipped when they do not parse
 * (`skipped` counts them), when their id came before (the signed one stays), or when they
 * are for other files.
 * - `verdicts`: one event for each key (surface, contract, platform, device, compiler,
 *   flags, policy, tier): a correctness fail (not slower, no-change) outranks any pass,
 *   else the newest;
 * - `checks`: the same of the fast stages alone (kind "check"), passes only: a check that
 *   fails is a failed verdict, one that passes is none;
 * - `profiles`: platform id -> the newest event with a profile.
 * An event of kind "retract" takes back the one named in its "of".
 */
struct kl_fold {
	json_t *verdicts;	/* array */
	json_t *checks;		/* array */
	json_t *profiles;	/* object */
	size_t lines, skipped;
};
/** `surface`, `contract` NULL: any. */
void kl_event_fold(struct kl_fold *out, const char *text, size_t len,
		   const char *surface, const char *contract);
void kl_fold_release(struct kl_fold *f);

#endif
