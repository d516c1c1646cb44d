/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_LINKS_H
#define KL_SEARCH_LINKS_H

#include "event/event.h"
#include "repo/refs.h"
#include "search/policy/experience.h"
#include "search/table/table.h"

/*
 * links - the record of a search: a chain of commits, one for each ticket.
 *
 * The first parent of a link is the candidate's commit; if the ticket made no candidate, it is the
 * commit of the kernel that the ticket was about. The second parent is the previous link. The tree
 * of a link contains observation.json; that of the first link also contains cell.json, the setup,
 * and table.jsonl, if the verdicts come from a table.
 * The trailers name the ticket and the state of the policy from which the ticket was proposed. So
 * `git log <ref>` shows a search with all its candidates.
 */
#define KL_CELL_REFS "refs/klineage/cells/"

struct kl_cell_link {
	struct kl_observation seen;
	enum kl_ticket_kind kind; /* KL_TICKET_END for the root */
	git_oid commit;
	const char *result; /* "root", "best", "node", "known", "fail", "none", "note", "skipped" */
	char *class_;       /* class of the failure, or NULL if the ticket did not fail */
	char *event;        /* id of the gate's event, or NULL if there is none */
	char *why;          /* the author's words about the edit, or why there is none; or NULL */
	char state[KL_DIGEST_HEX]; /* digest of the policy's experience before the ticket */
};

struct kl_links {
	struct kl_cell_link *v; /* v[t] is the link of ticket t */
	size_t n, alloc;
	git_oid tip;
	/* the table with the verdicts of the search, or NULL if the gate judges; owned */
	struct kl_search_table *table;
	json_t *cell; /* content of cell.json: the setup, the workload, the place and others */
};

/**
 * Read the chain of `ref`. Return KL_ENOTFOUND if there is none, and KL_EINVALID if the chain is
 * malformed; then the message names the ticket. The caller releases *out.
 */
int kl_links_load(struct kl_links *out, struct kl_repo *repo, const char *ref);
void kl_links_release(struct kl_links *chain);

/** The refs that kl_links_append() changes together with the chain. */
struct kl_links_write {
	struct kl_repo *repo;
	const char *ref;
	const char *branch; /* branch to move to link->commit, or NULL to move none */
	git_oid was;        /* present value of `branch`; zero if it does not exist */
	/* table to store with the first link, or NULL to store none */
	const struct kl_search_table *table;
	struct kl_event *event; /* event to note on link->commit, or NULL to write no note */
};

/**
 * Append a link, move the branch and write the note in one transaction. On success take ownership
 * of the strings of `link`, and clear *link. Return KL_ECHANGED if another process moved the chain
 * or the branch.
 */
int kl_links_append(struct kl_links *chain, struct kl_cell_link *link,
		    const struct kl_links_write *write);
void kl_cell_link_release(struct kl_cell_link *link);

/**
 * Check that the policy, given the stored observations again, has the stored state before each
 * ticket and proposes the ticket that was done. Return KL_EINVALID if it does not; the message
 * names the ticket.
 */
int kl_links_check(const struct kl_links *chain, const struct kl_setup *setup);

#endif
