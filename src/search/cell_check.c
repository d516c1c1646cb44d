/* SPDX-License-Identifier: Apache-2.0 */
#include "search/cell_check.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "repo/notes.h"
#include "search/candidate.h"
#include "search/judging.h"
#include "search/links.h"

/* Find the event of a candidate in the gate's note on the candidate's commit. */
static int find_event(struct kl_event **out, struct kl_repo *repo, const struct kl_cell_link *link)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_notes_read(&text, repo, KL_NOTES_GATE, &link->commit);

	for (const char *at = text.ptr; !err && *at;) {
		size_t n = strcspn(at, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, at, n) && !strcmp(event->id, link->event)) {
			*out = kl_steal(&event);
			return 0;
		}
		kl_error_clear();
		at += n + (at[n] == '\n');
	}
	return err < 0 ? err :
			 kl_error(KL_ENOTFOUND, "event %.12s is not in the note of its commit",
				  link->event);
}

/* Check that the stored observation has the same members and values as `again`. */
static int compare_observations(const struct kl_observation *stored, struct kl_observation *again)
{
	KL_AUTO(json_decrefp) json_t *one = NULL;
	KL_AUTO(json_decrefp) json_t *two = NULL;
	const char *key;
	json_t *value;

	again->ticket = stored->ticket;
	again->parent = stored->parent;
	again->form = stored->form;
	one = kl_observation_write(stored);
	two = kl_observation_write(again);
	again->form = NULL;
	json_object_foreach(one, key, value)
		if (!json_equal(value, json_object_get(two, key)))
			return kl_error(KL_EINVALID, "'%s' is not what the gate's event says", key);
	return json_object_size(one) == json_object_size(two) ?
		       0 :
		       kl_error(KL_EINVALID, "it lacks a member that the gate's event gives");
}

/* Find what the observation of a candidate was made from: the gate's note, or the table. */
static int find_verdict(struct kl_event **out, struct kl_repo *repo, const struct kl_links *chain,
			const struct kl_cell_link *link)
{
	const json_t *judge = json_object_get(chain->cell, "judge");
	const json_t *setup = json_object_get(chain->cell, "setup");
	struct kl_judging judging = { .table = chain->table };
	struct kl_draws draws = { .key = kl_json_str_or(setup, "key", ""),
				  .ticket = link->seen.ticket };
	int err;

	if (!chain->table)
		return find_event(out, repo, link);
	if (kl_judging_parse(&judging.mode, kl_json_str_or(judge, "mode", "")) < 0)
		return kl_error(KL_EINVALID, "cell.json: 'judge' has no such mode");
	if ((err = kl_judging_event(out, &judging, link->seen.surface, chain->v[0].seen.surface,
				    &draws)) < 0)
		return err;
	return strcmp((*out)->id, link->event) ?
		       kl_error(KL_EINVALID, "its event is not that of the table") :
		       0;
}

static int check_candidate(struct kl_repo *repo, const struct kl_links *chain,
			   const struct kl_cell_link *link, const char *place)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	KL_AUTO(kl_observation_release) struct kl_observation again = { 0 };
	git_oid tree;
	int err;

	if ((err = kl_repo_tree_of(&tree, repo, &link->commit)) < 0 ||
	    (err = kl_surface_from_tree(&surface, repo, &tree, place)) < 0)
		return err;
	if (strcmp(surface->digest, link->seen.surface))
		return kl_error(KL_EINVALID,
				"the kernel of its commit is not the one that it names");
	if ((err = find_verdict(&event, repo, chain, link)) < 0)
		return err;
	if (strcmp(event->surface, surface->digest))
		return kl_error(KL_EINVALID, "its event judged another kernel");
	if (link->kind == KL_TICKET_END)
		kl_candidate_observe_root(&again, event, surface);
	else
		kl_candidate_observe(&again, event, surface);
	return compare_observations(&link->seen, &again);
}

/* Check that the link has the verdict of the earlier ticket that made the same kernel. */
static int check_known(const struct kl_links *chain, const struct kl_cell_link *link)
{
	for (int64_t i = 0; i < link->seen.ticket; i++)
		if (!strcmp(chain->v[i].seen.surface, link->seen.surface))
			return chain->v[i].seen.outcome == link->seen.outcome &&
					       chain->v[i].seen.speed_ppm == link->seen.speed_ppm ?
				       0 :
				       kl_error(KL_EINVALID,
						"it has another verdict than ticket %" PRId64
						", which made the same kernel",
						i);
	return kl_error(KL_EINVALID, "no earlier ticket made its kernel");
}

static int check_link(struct kl_repo *repo, const struct kl_links *chain,
		      const struct kl_cell_link *link)
{
	const char *place;
	int err = kl_json_str(&place, chain->cell, "place");

	if (err < 0)
		return kl_error_in(err, "cell.json");
	if (!strcmp(link->result, "known"))
		return check_known(chain, link);
	if (!link->event)
		return link->seen.outcome == KL_OUTCOME_CORRECT ||
				       kl_observation_is_candidate(&link->seen) ?
			       kl_error(KL_EINVALID,
					"a candidate was judged, but no event is named") :
			       0;
	return check_candidate(repo, chain, link, place);
}

int kl_cell_check(struct kl_repo *repo, const char *ref)
{
	KL_AUTO(kl_links_release) struct kl_links chain = { 0 };
	struct kl_setup setup;
	int err;

	if ((err = kl_links_load(&chain, repo, ref)) < 0)
		return err;
	if ((err = kl_setup_read(&setup, json_object_get(chain.cell, "setup"))) < 0)
		return kl_error_in(err, "cell.json");
	if ((err = kl_links_check(&chain, &setup)) < 0)
		return err;
	for (size_t i = 0; i < chain.n; i++)
		if ((err = check_link(repo, &chain, &chain.v[i])) < 0)
			return kl_error_in(err, "ticket %zu", i);
	return 0;
}
