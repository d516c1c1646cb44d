/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_LINKS_H
#define KL_SEARCH_LINKS_H

#include "event/event.h"
#include "repo/refs.h"
#include "search/policy/experience.h"

/*
 * links - the record of a search: a chain of commits, one for each ticket.
 *
 * The first parent of a link is the candidate's commit, or where there is none the commit of the
 * kernel that the ticket was about; the second is the link before. Its tree has observation.json;
 * that of the first link has also cell.json, the setup. The trailers name the ticket and the state
 * of the policy from which it was proposed. So `git log <ref>` shows a search with all candidates.
 */
#define KL_CELL_REFS "refs/klineage/cells/"

struct kl_cell_link {
	struct kl_observation seen;
	enum kl_ticket_kind kind; /* of the root KL_TICKET_END */
	git_oid commit;
	const char *result; /* "root", "best", "node", "known", "fail", "none", "note", "skipped" */
	char *class_;       /* class of a failure, or NULL */
	char *event;        /* id of the gate's event, or NULL */
	char *why;          /* what the author says of the edit, or why there is none; or NULL */
	char state[KL_DIGEST_HEX]; /* digest of the policy's experience before the ticket */
};

struct kl_links {
	struct kl_cell_link *v; /* by ticket */
	size_t n, alloc;
	git_oid tip;
	json_t *cell; /* cell.json: setup, workload, place */
};

/**
 * Read a chain. KL_ENOTFOUND: there is none. KL_EINVALID: it is malformed; the message names the
 * ticket.
 */
int kl_links_load(struct kl_links *out, struct kl_repo *repo, const char *ref);
void kl_links_release(struct kl_links *chain);

/** What one link changes. */
struct kl_links_write {
	struct kl_repo *repo;
	const char *ref;
	const char *branch;     /* is moved to the link's commit; NULL: no branch */
	git_oid was;            /* value of `branch`; zero: it does not exist */
	struct kl_event *event; /* for a note of the link's commit; NULL: none */
};

/**
 * Append a link, move `branch` and write the note, in one transaction. Takes ownership of the
 * strings of `link`. KL_ECHANGED: another process moved the chain or the branch.
 */
int kl_links_append(struct kl_links *chain, struct kl_cell_link *link,
		    const struct kl_links_write *write);
void kl_cell_link_release(struct kl_cell_link *link);

/**
 * Check that the policy proposes from the stored observations what was done: fold them again, and
 * compare the state before each ticket. KL_EINVALID: they differ; the message names the ticket.
 */
int kl_links_check(const struct kl_links *chain, const struct kl_setup *setup);

#endif
