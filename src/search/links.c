/* SPDX-License-Identifier: Apache-2.0 */
#include "search/links.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "event/note_writer.h"
#include "repo/notes.h"

#define MOST_LINKS 100000
#define MOST_JSON ((size_t)4 << 20)
#define MOST_TRIES 20

static const char *const kinds[] = { "root", "skip", "edit", "note" };
static const char *const results[] = {
	"root", "best", "node", "known", "fail", "none", "note", "skipped",
};

void kl_cell_link_release(struct kl_cell_link *link)
{
	kl_observation_release(&link->seen);
	free(link->class_);
	free(link->event);
	free(link->why);
	*link = (struct kl_cell_link){ 0 };
}

void kl_links_release(struct kl_links *chain)
{
	for (size_t i = 0; i < chain->n; i++)
		kl_cell_link_release(&chain->v[i]);
	free(chain->v);
	json_decref(chain->cell);
	kl_search_table_free(chain->table);
	*chain = (struct kl_links){ 0 };
}

/* --- reading ------------------------------------------------------------------------------- */

static int read_json(json_t **out, struct kl_repo *repo, const git_oid *tree, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	git_oid blob;
	int err;

	if ((err = kl_repo_tree_entry(&blob, NULL, repo, tree, path)) < 0 ||
	    (err = kl_repo_blob_read(&text, repo, &blob, MOST_JSON)) < 0)
		return err;
	return kl_json_parse(out, text.ptr, text.len);
}

static char *copy_member(const json_t *json, const char *key)
{
	const char *text = kl_json_str_or(json, key, NULL);

	return text ? kl_strdup(text) : NULL;
}

static int read_result(struct kl_cell_link *link, const json_t *json)
{
	const char *result = kl_json_str_or(json, "result", "");

	for (size_t i = 0; i < KL_ARRAY_SIZE(results); i++)
		if (!strcmp(results[i], result)) {
			link->result = results[i];
			return 0;
		}
	return kl_error(KL_EINVALID, "'result' is '%s', which is none", result);
}

static int read_kind(struct kl_cell_link *link, const json_t *json)
{
	const char *kind = kl_json_str_or(json, "kind", "");

	for (size_t i = 0; i < KL_ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i], kind)) {
			link->kind = (enum kl_ticket_kind)i;
			return 0;
		}
	return kl_error(KL_EINVALID, "'kind' is '%s', which is none", kind);
}

/*
 * Check that a ticket of this kind can have this outcome and this parent, because policies and
 * reports rely on it.
 */
static int check_outcome(const struct kl_cell_link *link)
{
	enum kl_ticket_outcome outcome = link->seen.outcome;
	bool note = outcome == KL_OUTCOME_NOTE, skipped = outcome == KL_OUTCOME_SKIPPED;
	bool is_root = link->seen.ticket == 0, fits;
	bool has_parent = link->kind == KL_TICKET_EDIT || link->kind == KL_TICKET_NOTE;

	if (has_parent != (link->seen.parent >= 0))
		return kl_error(KL_EINVALID, "'parent' %" PRId64 " does not fit to '%s'",
				link->seen.parent, kinds[link->kind]);
	if (link->kind == KL_TICKET_SKIP)
		fits = skipped;
	else if (link->kind == KL_TICKET_NOTE)
		fits = note || outcome == KL_OUTCOME_NONE;
	else if (link->kind == KL_TICKET_EDIT)
		fits = !note && !skipped;
	else
		fits = outcome == KL_OUTCOME_CORRECT;
	if (fits && is_root == (link->kind == KL_TICKET_END))
		return 0;
	return kl_error(KL_EINVALID, "the outcome '%s' does not fit to '%s'",
			kl_outcome_name[outcome], kinds[link->kind]);
}

static int read_trailers(struct kl_cell_link *link, const char *message)
{
	KL_AUTO(kl_freep) char *ticket = kl_trailer_get(message, "Klineage-Ticket");
	KL_AUTO(kl_freep) char *state = kl_trailer_get(message, "Klineage-State");

	if (!ticket || strtoll(ticket, NULL, 10) != link->seen.ticket)
		return kl_error(KL_EINVALID, "Klineage-Ticket is not that of observation.json");
	if (!state || strlen(state) != KL_DIGEST_HEX - 1)
		return kl_error(KL_EINVALID, "Klineage-State is no digest");
	snprintf(link->state, sizeof(link->state), "%s", state);
	return 0;
}

static int read_link(struct kl_cell_link *link, json_t **cell, struct kl_repo *repo,
		     const struct kl_commit *commit)
{
	KL_AUTO(json_decrefp) json_t *json = NULL;
	int err;

	if (commit->nparent < 1 || commit->nparent > 2)
		return kl_error(KL_EINVALID, "a link has %zu parents, not 1 or 2", commit->nparent);
	link->commit = commit->parent[0];
	if ((err = read_json(&json, repo, &commit->tree, "observation.json")) < 0 ||
	    (err = kl_observation_read(&link->seen, json)) < 0 ||
	    (err = read_result(link, json)) < 0 || (err = read_kind(link, json)) < 0 ||
	    (err = check_outcome(link)) < 0 || (err = read_trailers(link, commit->message)) < 0)
		return err;
	link->class_ = copy_member(json, "class");
	link->event = copy_member(json, "event");
	link->why = copy_member(json, "why");
	return commit->nparent == 1 ? read_json(cell, repo, &commit->tree, "cell.json") : 0;
}

static void turn_around(struct kl_links *chain)
{
	for (size_t i = 0; i < chain->n / 2; i++) {
		struct kl_cell_link link = chain->v[i];

		chain->v[i] = chain->v[chain->n - 1 - i];
		chain->v[chain->n - 1 - i] = link;
	}
}

static int check_numbers(const struct kl_links *chain)
{
	for (size_t i = 0; i < chain->n; i++)
		if (chain->v[i].seen.ticket != (int64_t)i)
			return kl_error(KL_EINVALID, "ticket %zu is missing", i);
	return 0;
}

/* Read the table of a search whose plan names one. */
static int load_table(struct kl_links *out, struct kl_repo *repo, const git_oid *tree)
{
	const json_t *judge = json_object_get(out->cell, "judge");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *digest;
	git_oid blob;
	int err;

	if (!judge || !json_object_get(judge, "table"))
		return 0;
	if ((err = kl_json_str(&digest, judge, "table")) < 0 ||
	    (err = kl_repo_tree_entry(&blob, NULL, repo, tree, "table.jsonl")) < 0 ||
	    (err = kl_repo_blob_read(&text, repo, &blob, KL_SEARCH_TABLE_BYTES)) < 0 ||
	    (err = kl_search_table_parse(&out->table, text.ptr ? text.ptr : "", text.len)) < 0)
		return kl_error_in(err, "table.jsonl");
	return strcmp(digest, out->table->digest) ?
		       kl_error(KL_EINVALID, "table.jsonl is not the table that cell.json names") :
		       0;
}

static int load_links(struct kl_links *out, struct kl_repo *repo)
{
	git_oid at = out->tip;

	for (bool more = true; more;) {
		KL_AUTO(kl_commit_release) struct kl_commit commit = { 0 };
		int err;

		if (out->n == MOST_LINKS)
			return kl_error(KL_EINVALID, "it has more than %d links", MOST_LINKS);
		if ((err = kl_repo_commit_read(&commit, repo, &at)) < 0)
			return err;
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n] = (struct kl_cell_link){ 0 };
		if ((err = read_link(&out->v[out->n++], &out->cell, repo, &commit)) < 0)
			return err;
		more = commit.nparent == 2;
		if (!more && (err = load_table(out, repo, &commit.tree)) < 0)
			return err;
		if (more)
			at = commit.parent[1];
	}
	turn_around(out);
	return check_numbers(out);
}

int kl_links_load(struct kl_links *out, struct kl_repo *repo, const char *ref)
{
	int err;

	*out = (struct kl_links){ 0 };
	if ((err = kl_refs_get(&out->tip, repo, ref)) < 0)
		return err;
	if ((err = load_links(out, repo)) < 0) {
		kl_links_release(out);
		return kl_error_in(KL_EINVALID, "'%s'", ref);
	}
	return 0;
}

/* --- writing ------------------------------------------------------------------------------- */

static void add_trailer(struct kl_buf *out, const char *key, const char *value)
{
	if (value)
		kl_buf_addf(out, "Klineage-%s: %s\n", key, value);
}

static void link_message(struct kl_buf *out, const struct kl_cell_link *link)
{
	kl_buf_addf(out, "search: ticket %" PRId64 ", %s\n\n", link->seen.ticket, link->result);
	kl_buf_addf(out, "Klineage-Ticket: %" PRId64 "\n", link->seen.ticket);
	add_trailer(out, "Kind", kinds[link->kind]);
	add_trailer(out, "Form", link->seen.form);
	add_trailer(out, "State", link->state);
	add_trailer(out, "Outcome", link->result);
}

static void link_json(struct kl_buf *out, const struct kl_cell_link *link)
{
	KL_AUTO(json_decrefp) json_t *json = kl_observation_write(&link->seen);

	kl_json_set_str(json, "schema", "klineage.observation/1");
	kl_json_set_str(json, "result", link->result);
	kl_json_set_str(json, "kind", kinds[link->kind]);
	if (link->class_)
		kl_json_set_str(json, "class", link->class_);
	if (link->event)
		kl_json_set_str(json, "event", link->event);
	if (link->why)
		kl_json_set_str(json, "why", link->why);
	kl_json_canonical(out, json);
	kl_buf_addch(out, '\n');
}

/* Check that a file of a link can be read again. */
static int check_size(const struct kl_buf *json, const char *path)
{
	return json->len <= MOST_JSON ? 0 :
					kl_error(KL_EINVALID, "%s would have more than %zu MiB",
						 path, MOST_JSON >> 20);
}

static int write_tree(git_oid *out, const struct kl_links *chain, const struct kl_cell_link *link,
		      const struct kl_links_write *write)
{
	KL_AUTO(kl_buf_release) struct kl_buf observation = KL_BUF_INIT, cell = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf table = KL_BUF_INIT;
	struct kl_tree_edit edit[3];
	size_t n = 1;
	int err;

	link_json(&observation, link);
	if ((err = check_size(&observation, "observation.json")) < 0)
		return err;
	edit[0] = (struct kl_tree_edit){ .path = "observation.json",
					 .data = observation.ptr,
					 .len = observation.len };
	if (!chain->n) {
		kl_json_canonical(&cell, chain->cell);
		kl_buf_addch(&cell, '\n');
		if ((err = check_size(&cell, "cell.json")) < 0)
			return kl_error_hint(err, "use a memory with fewer entries");
		edit[n++] = (struct kl_tree_edit){ .path = "cell.json",
						   .data = cell.ptr,
						   .len = cell.len };
	}
	if (!chain->n && write->table) {
		kl_search_table_write(&table, write->table);
		edit[n++] = (struct kl_tree_edit){ .path = "table.jsonl",
						   .data = table.ptr,
						   .len = table.len };
	}
	return kl_repo_tree_edit(out, write->repo, NULL, edit, n);
}

/*
 * Write the commit of a link. Use the author time of the candidate's commit, so that a search that
 * was killed and continued writes the same link.
 */
static int write_link(git_oid *out, const struct kl_links *chain, const struct kl_cell_link *link,
		      const struct kl_links_write *write)
{
	struct kl_repo *repo = write->repo;
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	KL_AUTO(kl_commit_release) struct kl_commit commit = { 0 };
	git_oid parent[2] = { link->commit, chain->tip };
	struct kl_commit_spec spec = { .parent = parent, .nparent = chain->n ? 2 : 1 };
	int err;

	link_message(&message, link);
	spec.message = message.ptr;
	if ((err = kl_repo_identity(&spec.author, repo)) < 0 ||
	    (err = kl_repo_commit_read(&commit, repo, &link->commit)) < 0 ||
	    (err = write_tree(&spec.tree, chain, link, write)) < 0)
		return err;
	spec.time = commit.author_time;
	spec.offset = commit.author_offset;
	return kl_repo_commit_write(out, repo, &spec);
}

static int add_note(struct kl_refs_txn *txn, struct kl_noting *noting, struct kl_repo *repo)
{
	git_oid notes, was;
	int err;

	for (size_t i = 0; i < noting->n; i++)
		noting->note[i].line = noting->texts.v[i];
	if ((err = kl_notes_prepare(&notes, &was, repo, KL_NOTES_GATE, noting->note, noting->n)) <
	    0)
		return err;
	if (memcmp(&notes, &was, sizeof(notes)))
		kl_refs_txn_update(txn, KL_NOTES_GATE, &notes, git_oid_is_zero(&was) ? NULL : &was);
	return 0;
}

static int try_append(const struct kl_links *chain, const git_oid *tip,
		      const struct kl_cell_link *link, const struct kl_links_write *write,
		      struct kl_noting *noting)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(write->repo);
	int err = write->event ? add_note(txn, noting, write->repo) : 0;

	if (err < 0)
		return err;
	kl_refs_txn_update(txn, write->ref, tip, chain->n ? &chain->tip : NULL);
	if (write->branch)
		kl_refs_txn_update(txn, write->branch, &link->commit,
				   git_oid_is_zero(&write->was) ? NULL : &write->was);
	if ((err = KL_FAULT("cell-link")) < 0)
		return err;
	err = kl_refs_txn_commit(txn, "klineage: a ticket of a search");
	return err < 0 ? err : KL_FAULT("cell-linked");
}

/*
 * Return true if the ref of the chain still has the value that we expect. Then another process has
 * moved only the notes, and the transaction can be tried again.
 */
static bool is_ours(const struct kl_links *chain, const struct kl_links_write *write)
{
	git_oid now = kl_oid_none;

	if (kl_refs_get(&now, write->repo, write->ref) < 0)
		kl_error_clear();
	return !memcmp(&now, &chain->tip, sizeof(now));
}

int kl_links_append(struct kl_links *chain, struct kl_cell_link *link,
		    const struct kl_links_write *write)
{
	KL_AUTO(kl_noting_release) struct kl_noting noting = { .repo = write->repo };
	git_oid tip;
	int err = write_link(&tip, chain, link, write);

	if (!err && write->event)
		err = kl_noting_add(&noting, &link->commit, write->event);
	for (int i = 0; !err; i++) {
		err = try_append(chain, &tip, link, write, &noting);
		if (err != KL_ECHANGED || i == MOST_TRIES || !is_ours(chain, write))
			break;
		err = 0;
		kl_clock_sleep_ms(20 * (i + 1));
	}
	if (err < 0)
		return err == KL_ECHANGED ?
			       kl_error(KL_ECHANGED, "'%s' was changed by another process",
					write->ref) :
			       err;
	chain->tip = tip;
	KL_GROW(chain->v, chain->n + 1, chain->alloc);
	chain->v[chain->n++] = *link;
	*link = (struct kl_cell_link){ 0 };
	return 0;
}

/* --- checking ------------------------------------------------------------------------------ */

/* Check that the stored ticket is of the kind, parent and form that the intent asks for. */
static int check_intent(const struct kl_intent *intent, const struct kl_cell_link *link)
{
	bool is_skip = link->kind == KL_TICKET_SKIP;
	const struct kl_observation *seen = &link->seen;

	if (intent->kind != link->kind)
		return kl_error(KL_EINVALID, "the policy wants another kind of ticket");
	if (!is_skip && intent->parent != seen->parent)
		return kl_error(KL_EINVALID,
				"the policy changes the kernel of ticket %" PRId64
				", not of %" PRId64,
				intent->parent, seen->parent);
	if (!is_skip && strcmp(intent->form ? intent->form : "", seen->form ? seen->form : ""))
		return kl_error(KL_EINVALID, "the policy asks for '%s', not '%s'",
				intent->form ? intent->form : "", seen->form ? seen->form : "");
	return 0;
}

static int check_ticket(struct kl_experience *seen, const struct kl_links *chain, int64_t ticket)
{
	int64_t horizon = seen->setup->policy->horizon(seen->setup, ticket);
	const struct kl_cell_link *link = &chain->v[ticket];
	KL_AUTO(kl_intent_release) struct kl_intent intent = { 0 };
	char state[KL_DIGEST_HEX];

	while (seen->n <= horizon)
		kl_experience_add(seen, &chain->v[seen->n].seen);
	kl_experience_digest(state, seen);
	if (strcmp(state, link->state))
		return kl_error(KL_EINVALID, "the observations before it give another state");
	kl_experience_propose(&intent, seen, ticket);
	return check_intent(&intent, link);
}

int kl_links_check(const struct kl_links *chain, const struct kl_setup *setup)
{
	struct kl_experience seen;
	char state[KL_DIGEST_HEX];
	int err = 0;

	kl_experience_init(&seen, setup);
	kl_experience_digest(state, &seen);
	if (strcmp(state, chain->v[0].state))
		err = kl_error(KL_EINVALID, "ticket 0: the setup gives another state");
	for (size_t i = 1; !err && i < chain->n; i++)
		if ((err = check_ticket(&seen, chain, (int64_t)i)) < 0)
			err = kl_error_in(err, "ticket %zu", i);
	kl_experience_release(&seen);
	return err;
}
