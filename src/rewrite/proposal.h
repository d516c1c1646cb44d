/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_PROPOSAL_H
#define KL_REWRITE_PROPOSAL_H

#include "contract/surface.h"
#include "text/json.h"

/*
 * proposal - one simplification that a rewriter believes in: the state it
 * would lead to, and what it says of itself. Nothing is true of it before the
 * gate has judged it.
 *
 * A proposal's id is a digest of the state it starts from and of the state it
 * leads to, so the same edit of the same state has the same id for ever,
 * whoever proposes it: what was rejected is not proposed again.
 *
 * Its `edit` is a digest of the changed lines alone. An edit that was rejected
 * on one state will most likely be so on the next; it is put off, not given up.
 */
struct kl_proposal {
	char id[KL_DIGEST_HEX];
	char edit[KL_DIGEST_HEX];
	char *rewriter;     /* "history", "passes", ... */
	char *source;       /* what it was made from: a commit, "pass@site", a file */
	char *action;       /* slug; "" : to be named from the facts that go */
	char *mechanism;    /* of templates/mechanisms.yaml; "" : likewise */
	char *locus;        /* "path", "path:symbol", "path:symbol:lines" */
	char *text;         /* why, for people; one or more lines, may be "" */
	const char *origin; /* "induced", "authored" or "historical" */
	json_t *traits;     /* claims about the new state: {"tiled":"no"} */
	bool unisolated;    /* a step derived anew by somebody who could see the repository */
	struct kl_surface *candidate; /* the state it leads to */
};

void kl_proposal_free(struct kl_proposal *proposal);
KL_DEFINE_CLEANUP(struct kl_proposal *, kl_proposal_free)

void kl_proposal_id(char id[KL_DIGEST_HEX], const char *from_digest, const char *to_digest);
void kl_proposal_edit(char edit[KL_DIGEST_HEX], const struct kl_surface *from,
		      const struct kl_surface *to);

/**
 * Everything but the files, for the operation's state; the files travel
 * beside it as blobs.
 */
json_t *kl_proposal_to_json(const struct kl_proposal *proposal);
/** Takes `candidate` only on success. */
int kl_proposal_from_json(struct kl_proposal **out, const json_t *value,
			  struct kl_surface *candidate);

/** "Drop prefetch of B" -> "drop-prefetch-of-b", at most 40 bytes; else "step". Caller frees. */
char *kl_proposal_slug(const char *text);

/**
 * Where two surfaces differ: the path of the first file that does, with
 * the function of the first changed line if all changed lines lie in one
 * ("topk.c:scan"), or "topk.c +2" when more files differ. Caller frees.
 */
char *kl_proposal_locus(const struct kl_surface *from, const struct kl_surface *to);

#endif
