/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant/transplant_log.h"

#include <string.h>

#include "apply/card_commit.h"
#include "base/error.h"

#define MAX_LINKS 1000000

/*
 * --- writing ---------------------------------------------------------------------------------
 */

static const char *way_of(size_t step, size_t place)
{
	return place >= step ? "undo" : "put-in";
}

/* Append "K_3", or "K*" for the expert. */
static void add_state(struct kl_buf *out, const struct kl_transplant *transplant, size_t state)
{
	if (state == kl_transplant_steps(transplant))
		kl_buf_adds(out, "K*");
	else
		kl_buf_addf(out, "K_%zu", state);
}

/* Append the subject: "put loop-fusion of K_9 in at K_3". */
static void add_subject(struct kl_buf *out, const struct kl_transplant *transplant, size_t step,
			size_t place)
{
	const struct kl_step *of = &transplant->view.step[step].step;
	const char *name = of->mechanism && *of->mechanism ? of->mechanism : of->action;

	kl_buf_addf(out, "%s %s of ", place >= step ? "undo" : "put", name);
	add_state(out, transplant, step);
	kl_buf_adds(out, place >= step ? " at " : " in at ");
	add_state(out, transplant, place);
	kl_buf_addch(out, '\n');
}

/*
 * Write the commit of a kernel on the state that it was made from, with the author and time of that
 * state, so that a later run writes the same commit.
 */
static int write_kernel(git_oid *out, struct kl_transplant *transplant, struct kl_repo *repo,
			size_t step, size_t place, const struct kl_surface *kernel)
{
	const git_oid *parent = &transplant->view.step[place].commit;
	const struct kl_card_commit tree = {
		.repo = repo, .parent = *parent, .from = transplant->state[place], .to = kernel
	};
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1 };
	struct kl_commit commit = { 0 };
	int err = kl_card_commit_tree(&spec.tree, &tree);

	if (err < 0 || (err = kl_repo_commit_read(&commit, repo, parent)) < 0)
		return err;
	add_subject(&message, transplant, step, place);
	spec.message = message.ptr;
	spec.author = commit.author;
	spec.time = commit.author_time;
	spec.offset = commit.author_offset;
	err = kl_repo_commit_write(out, repo, &spec);
	kl_commit_release(&commit);
	return err;
}

/* Write the link and the note of a verdict. */
static int write_link(const char *ref, struct kl_repo *repo, const git_oid *commit,
		      const char *text, struct kl_event *event, int sign)
{
	KL_AUTO(kl_keep_release) struct kl_keep keep = { .repo = repo, .chain = ref };
	int err;

	keep.noting.sign = sign;
	err = kl_keep_root(&keep, commit, text, event);
	return err < 0 ? err : kl_keep_move(&keep, NULL, NULL, NULL);
}

int kl_transplant_log_add(struct kl_transplant *transplant, struct kl_repo *repo, size_t step,
			  size_t place, const struct kl_surface *kernel, int sign)
{
	struct kl_transplant_cell *cell = kl_transplant_at(transplant, step, place);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char of[KL_OID_HEX], at[KL_OID_HEX];
	int err = 0;

	if (place + 1 == step)
		cell->commit = transplant->view.step[step].commit;
	else
		err = write_kernel(&cell->commit, transplant, repo, step, place, kernel);
	if (err < 0)
		return err;
	kl_oid_hex(of, &transplant->view.step[step].commit);
	kl_oid_hex(at, &transplant->view.step[place].commit);
	add_subject(&text, transplant, step, place);
	kl_buf_addf(&text,
		    "\nKlineage-Transplant: %s\nKlineage-Of: %s\nKlineage-At: %s\n"
		    "Klineage-Event: %s\n",
		    way_of(step, place), of, at, cell->event->id);
	return write_link(transplant->ref, repo, &cell->commit, text.ptr, cell->event, sign);
}

int kl_transplant_log_root(struct kl_transplant *transplant, struct kl_repo *repo, int sign)
{
	const git_oid *commit = &transplant->view.step[0].commit;
	KL_AUTO(kl_freep) char *text = NULL;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	text = kl_asprintf("judge K_0 alone\n\nKlineage-Transplant: root\nKlineage-Of: %s\n"
			   "Klineage-At: %s\nKlineage-Event: %s\n",
			   hex, hex, transplant->root->id);
	return write_link(transplant->ref, repo, commit, text, transplant->root, sign);
}

/*
 * --- reading ---------------------------------------------------------------------------------
 */

/* Find an event in the note of a commit by its id; NULL if the note does not have it. */
static struct kl_event *find_event(struct kl_repo *repo, const git_oid *commit, const char *id)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	struct kl_event *event = NULL;

	if (kl_notes_read(&text, repo, KL_NOTES_GATE, commit) == 0)
		kl_strvec_split(&lines, text.ptr, "\n");
	for (size_t i = 0; !event && i < lines.n; i++)
		if (strstr(lines.v[i], id) &&
		    kl_event_parse(&event, lines.v[i], strlen(lines.v[i])) == 0 &&
		    strcmp(event->id, id)) {
			kl_event_free(event);
			event = NULL;
		}
	kl_error_clear();
	return event;
}

/* Find the state of the lineage with this commit; view.n if there is none. */
static size_t find_state(const struct kl_view *view, const char *hex)
{
	git_oid oid;
	size_t i = 0;

	if (kl_oid_parse(&oid, hex) < 0) {
		kl_error_clear();
		return view->n;
	}
	while (i < view->n && memcmp(&view->step[i].commit, &oid, sizeof(oid)))
		i++;
	return i;
}

enum { WAY, OF, AT, EVENT, TRAILERS };

/* Return where to put the verdict of a link; NULL if it belongs to no cell, or the cell has one. */
static struct kl_event **place_of(struct kl_transplant_cell **cell, const char **digest,
				  struct kl_transplant *transplant, char *const *value)
{
	size_t step, place, n = transplant->view.n;

	*cell = NULL;
	if (!value[WAY] || !value[OF] || !value[AT] || !value[EVENT])
		return NULL;
	step = find_state(&transplant->view, value[OF]);
	place = find_state(&transplant->view, value[AT]);
	if (!strcmp(value[WAY], "root")) {
		*digest = transplant->state[0]->digest;
		return step == 0 && place == 0 && !transplant->root ? &transplant->root : NULL;
	}
	if (!step || step >= n || place >= n || strcmp(value[WAY], way_of(step, place)))
		return NULL;
	*cell = kl_transplant_at(transplant, step, place);
	*digest = (*cell)->digest;
	return (*cell)->state == KL_CELL_OPEN ? &(*cell)->event : NULL;
}

static void read_link(struct kl_transplant *transplant, struct kl_repo *repo,
		      const struct kl_commit *link)
{
	static const char *const key[TRAILERS] = {
		[WAY] = "Klineage-Transplant",
		[OF] = "Klineage-Of",
		[AT] = "Klineage-At",
		[EVENT] = "Klineage-Event",
	};
	char *value[TRAILERS] = { NULL };
	struct kl_transplant_cell *cell;
	struct kl_event **to, *event;
	const char *digest;

	kl_trailers_get(value, link->message, key, TRAILERS);
	to = place_of(&cell, &digest, transplant, value);
	event = to ? find_event(repo, &link->parent[0], value[EVENT]) : NULL;
	if (event && !kl_event_is_outdated(event) &&
	    kl_event_is_for(event, digest, transplant->state[0]->contract_digest)) {
		*to = event;
		if (cell) {
			cell->state = KL_CELL_JUDGED;
			cell->commit = link->parent[0];
		}
	} else {
		kl_event_free(event);
	}
	for (size_t i = 0; i < TRAILERS; i++)
		free(value[i]);
}

int kl_transplant_log_read(struct kl_transplant *transplant, struct kl_repo *repo)
{
	git_oid at;
	int err = kl_refs_get(&at, repo, transplant->ref);
	bool more = !err;

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	for (size_t i = 0; !err && more && i < MAX_LINKS; i++) {
		struct kl_commit link = { 0 };

		err = kl_repo_commit_read(&link, repo, &at);
		if (err < 0)
			break;
		if (link.nparent)
			read_link(transplant, repo, &link);
		more = link.nparent > 1;
		if (more)
			at = link.parent[1];
		kl_commit_release(&link);
	}
	return err < 0 ? kl_error_in(err, "%s", transplant->ref) : 0;
}
