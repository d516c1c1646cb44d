/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_PROPOSAL_H
#define KL_REWRITE_PROPOSAL_H

#include "contract/surface.h"
#include "text/json.h"

/*
 * proposal - a simplification that a rewriter proposes: the resulting state and a description of
 * the change, which is only a claim until the gate has judged the state.
 *
 * A proposal's id is a digest of the state it starts from and the state it leads to. So the same
 * edit of the same state always has the same id, whichever rewriter proposes it, and a rejected
 * proposal is not made again.
 *
 * Its `edit` is a digest of the changed lines only. An edit that was rejected on one state is
 * likely to be rejected on the next state, too, so it is made again only if no rewriter has another
 * proposal.
 */
struct kl_proposal {
	char id[KL_DIGEST_HEX];
	char edit[KL_DIGEST_HEX];
	/* digests of the candidate's tokens: of those that count, and of all (token_digest.h) */
	char tokens[KL_DIGEST_HEX], all_tokens[KL_DIGEST_HEX];
	char *rewriter; /* "history", "passes", ... */
	char *source;   /* its origin: a commit, "pass@site", a file */
	char *action;   /* slug; "" if it is named later, by the facts that the step loses */
	/* name in templates/mechanisms.yaml; "" if it is named later, by the lost facts */
	char *mechanism;
	char *locus;        /* "path", "path:symbol", "path:symbol:lines" */
	char *text;         /* reason for the change; one or more lines, or "" */
	const char *origin; /* "induced", "authored" or "historical" */
	json_t *traits;     /* claims about the new state: {"tiled":"no"} */
	/*
	 * of `history`: `commits` are undone by the step, newest first; `folded` are undone along
	 * with them, because undoing those alone changes neither speed nor generality
	 */
	struct kl_strvec commits, folded;
	bool unisolated; /* the author of a re-derived step could read the repository */
	struct kl_surface *candidate; /* the resulting state, owned */
};

void kl_proposal_free(struct kl_proposal *proposal);
KL_DEFINE_CLEANUP(struct kl_proposal *, kl_proposal_free)

/** Compute the members `id` and `edit` of a proposal. */
void kl_proposal_id(char id[KL_DIGEST_HEX], const char *from_digest, const char *to_digest);
void kl_proposal_edit(char edit[KL_DIGEST_HEX], const struct kl_surface *from,
		      const struct kl_surface *to);

/**
 * Convert a proposal to the JSON object that the operation stores; owned by the caller. It does not
 * include the files, which are stored as blobs.
 */
json_t *kl_proposal_to_json(const struct kl_proposal *proposal);
/**
 * Read a stored proposal whose files are `candidate`. On success *out owns `candidate`. Return
 * KL_EINVALID if the proposal is malformed, or the digest of the files is not the stored one.
 */
int kl_proposal_from_json(struct kl_proposal **out, const json_t *value,
			  struct kl_surface *candidate);

/**
 * Return the mechanism that the author of a recorded step named, even if the facts contradict it;
 * "" if the author named none. Borrowed.
 */
const char *kl_proposal_claimed(const json_t *record);

/**
 * Make a slug of at most 40 bytes: "Drop prefetch of B" -> "drop-prefetch-of-b"; "step" if no
 * letters or digits remain. Caller frees.
 */
char *kl_proposal_slug(const char *text);

/**
 * Return where two surfaces differ, as a locus: the first file that differs, the function if all
 * changed lines are in one function, and the lines ("topk.c:scan:12-30"); then " +2" if two more
 * files differ. "-" if no file differs. Caller frees.
 */
char *kl_proposal_locus(const struct kl_surface *from, const struct kl_surface *to);

#endif
