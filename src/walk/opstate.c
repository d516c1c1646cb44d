/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/opstate.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "event/own.h"
#include "event/signature.h"

#define STATE_FILE "state.json"
#define EVENTS_FILE "gate.jsonl"
#define MAX_STATE (64u << 20)
#define MAX_SOURCE (4u << 20)

void kl_opstate_ref(char ref[128], const struct kl_repo *repo)
{
	snprintf(ref, 128, "refs/klineage/op/%s", kl_repo_worktree_id(repo));
}

void kl_opstate_release(struct kl_opstate *op)
{
	kl_walk_release(&op->walk);
	kl_buf_release(&op->events);
	kl_surface_free(op->state);
	kl_surface_free(op->pending);
	kl_surface_free(op->held);
	kl_map_release(&op->known);
	*op = (struct kl_opstate){ .events = KL_BUF_INIT };
}

static int read_entry(struct kl_buf *out, struct kl_repo *repo, const git_oid *tree,
		      const char *path, size_t max)
{
	git_oid blob;
	int err = kl_repo_tree_entry(&blob, NULL, repo, tree, path);

	return err < 0 ? err : kl_repo_blob_read(out, repo, &blob, max);
}

/*
 * Load the current state, but with the files in `folder` in place of its own. If there is no such
 * folder, *out stays NULL.
 */
static int load_candidate(struct kl_surface **out, struct kl_opstate *op, const git_oid *tree,
			  const char *folder)
{
	const struct kl_surface *surface = op->state;
	KL_AUTO(kl_freep) struct kl_file *edit = kl_calloc(surface->nfile + 1, sizeof(*edit));
	KL_AUTO(kl_strvec_release) struct kl_strvec texts = KL_STRVEC_INIT;
	git_oid sub;
	int err = kl_repo_subtree(&sub, op->repo, tree, folder);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	for (size_t i = 0; !err && i < surface->nfile; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

		err = read_entry(&text, op->repo, &sub, surface->file[i].path, MAX_SOURCE);
		edit[i] = surface->file[i];
		edit[i].len = text.len;
		kl_strvec_take(&texts, kl_buf_detach(&text));
		edit[i].data = texts.v[i];
	}
	return err < 0 ? err : kl_surface_with(out, surface, edit, surface->nfile);
}

static int load_state(struct kl_opstate *op)
{
	git_oid tip;
	int err;

	if ((err = kl_oid_parse(&tip, kl_walk_tip(&op->walk))) < 0 ||
	    (err = kl_repo_tree_of(&op->tree, op->repo, &tip)) < 0)
		return err;
	return kl_surface_from_tree(&op->state, op->repo, &op->tree, kl_walk_str(&op->walk, "dir"));
}

int kl_opstate_load(struct kl_opstate *op, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	git_oid tree;
	int err;

	*op = (struct kl_opstate){ .repo = repo, .events = KL_BUF_INIT };
	kl_opstate_ref(op->ref, repo);
	if ((err = kl_refs_get(&op->at, repo, op->ref)) < 0)
		return err == KL_ENOTFOUND ?
			       kl_error(KL_ENOTFOUND, "no operation in progress in this worktree") :
			       err;
	if ((err = kl_repo_tree_of(&tree, repo, &op->at)) < 0 ||
	    (err = read_entry(&text, repo, &tree, STATE_FILE, MAX_STATE)) < 0 ||
	    (err = kl_walk_parse(&op->walk, text.ptr, text.len)) < 0 ||
	    (err = read_entry(&op->events, repo, &tree, EVENTS_FILE, MAX_STATE)) < 0 ||
	    (err = load_state(op)) < 0 ||
	    (err = load_candidate(&op->pending, op, &tree, "pending")) < 0 ||
	    (err = load_candidate(&op->held, op, &tree, "held")) < 0)
		return kl_error_in(err, "%s", op->ref);
	return 0;
}

static int copy_surface(struct kl_surface **out, const struct kl_surface *surface)
{
	*out = NULL;
	return surface ? kl_surface_with(out, surface, NULL, 0) : 0;
}

int kl_opstate_copy(struct kl_opstate *out, const struct kl_opstate *op)
{
	int err;

	*out = (struct kl_opstate){
		.repo = op->repo,
		.at = op->at,
		.tree = op->tree,
		.events = KL_BUF_INIT,
		.dry = true,
		.walk = { .state = json_deep_copy(op->walk.state) },
	};
	memcpy(out->ref, op->ref, sizeof(out->ref));
	if ((err = copy_surface(&out->state, op->state)) < 0 ||
	    (err = copy_surface(&out->pending, op->pending)) < 0 ||
	    (err = copy_surface(&out->held, op->held)) < 0)
		kl_opstate_release(out);
	return err;
}

struct edits {
	struct kl_tree_edit *e;
	struct kl_strvec paths;
	size_t n, alloc;
};

static void edits_release(struct edits *edits)
{
	free(edits->e);
	kl_strvec_release(&edits->paths);
}

static void add_edit(struct edits *edits, char *path, const void *data, size_t len)
{
	kl_strvec_take(&edits->paths, path);
	KL_GROW(edits->e, edits->n + 1, edits->alloc);
	edits->e[edits->n++] = (struct kl_tree_edit){ .path = path, .data = data, .len = len };
}

static void add_surface(struct edits *edits, const char *folder, const struct kl_surface *surface)
{
	for (size_t i = 0; surface && i < surface->nfile; i++)
		add_edit(edits, kl_fs_join(folder, surface->file[i].path), surface->file[i].data,
			 surface->file[i].len);
}

static int write_tree(git_oid *out, struct kl_opstate *op)
{
	KL_AUTO(edits_release) struct edits edits = { .paths = KL_STRVEC_INIT };
	KL_AUTO(kl_buf_release) struct kl_buf state = KL_BUF_INIT;

	kl_json_pretty(&state, op->walk.state);
	add_edit(&edits, kl_strdup(STATE_FILE), state.ptr, state.len);
	add_edit(&edits, kl_strdup(EVENTS_FILE), op->events.ptr, op->events.len);
	add_surface(&edits, "pending", op->pending);
	add_surface(&edits, "held", op->held);
	return kl_repo_tree_edit(out, op->repo, NULL, edits.e, edits.n);
}

int kl_opstate_save(struct kl_opstate *op, const char *reflog)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(op->repo);
	const char *rejected = kl_walk_rejected_tip(&op->walk);
	const char *derived = kl_walk_derived_tip(&op->walk);
	git_oid parent[3], next;
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1, .message = reflog };
	int err;

	if (op->dry)
		return 0;
	if ((err = KL_FAULT("op-write")) < 0 ||
	    (err = kl_oid_parse(&parent[0], kl_walk_tip(&op->walk))) < 0 ||
	    (*rejected && (err = kl_oid_parse(&parent[spec.nparent++], rejected)) < 0) ||
	    (*derived && (err = kl_oid_parse(&parent[spec.nparent++], derived)) < 0) ||
	    (err = write_tree(&spec.tree, op)) < 0 ||
	    (err = kl_repo_commit_write(&next, op->repo, &spec)) < 0 ||
	    (err = KL_FAULT("op-move")) < 0)
		return err;
	kl_refs_txn_update(txn, op->ref, &next, git_oid_is_zero(&op->at) ? NULL : &op->at);
	if ((err = kl_refs_txn_commit(txn, reflog)) < 0)
		return err == KL_ECHANGED ?
			       kl_error(KL_EBUSY,
					"an operation is already in progress in this worktree") :
			       err;
	op->at = next;
	return KL_FAULT("op-moved");
}

/*
 * --- commits ---------------------------------------------------------------
 */

static int candidate_tree(git_oid *out, const struct kl_opstate *op)
{
	const struct kl_surface *surface = op->pending;
	KL_AUTO(kl_strvec_release) struct kl_strvec paths = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) struct kl_tree_edit *edit = kl_calloc(surface->nfile + 1, sizeof(*edit));
	size_t n = 0;

	for (size_t i = 0; i < surface->nfile; i++) {
		const struct kl_file *old = &op->state->file[i], *file = &surface->file[i];

		if (old->len == file->len && !memcmp(old->data, file->data, file->len))
			continue;
		if (*surface->dir)
			kl_strvec_pushf(&paths, "%s/%s", surface->dir, file->path);
		else
			kl_strvec_push(&paths, file->path);
		edit[n] = (struct kl_tree_edit){ .path = paths.v[n],
						 .data = file->data,
						 .len = file->len };
		n++;
	}
	return kl_repo_tree_edit(out, op->repo, &op->tree, edit, n);
}

/*
 * Return the last commit of this kind, or "". The next commit of the kind has it as a parent, so
 * that all of them stay reachable.
 */
static const char *last_of_kind(const struct kl_walk *walk, enum kl_step_kind kind)
{
	if (kind == KL_STEP_REJECTED)
		return kl_walk_rejected_tip(walk);
	return kind == KL_STEP_FORWARD ? kl_walk_derived_tip(walk) : "";
}

int kl_opstate_commit(git_oid *out, git_oid *tree, struct kl_opstate *op, struct kl_step *step)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	const char *last = last_of_kind(&op->walk, step->kind);
	bool forward = step->kind == KL_STEP_FORWARD || step->forward;
	git_oid parent[2];
	struct kl_commit_spec spec = { .parent = parent, .nparent = 1 };
	int err;

	if (op->dry) { /* a dry walk needs an id for the commit, so use the id of the tree */
		err = candidate_tree(tree, op);
		*out = *tree;
		return err;
	}
	/* a forward step has the number of the backward step that it reverses */
	step->number = (int)json_array_size(kl_walk_steps(&op->walk)) + !forward;
	kl_step_message(&message, step);
	spec.message = message.ptr;
	if ((err = candidate_tree(tree, op)) < 0 ||
	    (err = kl_oid_parse(&parent[0], kl_walk_tip(&op->walk))) < 0 ||
	    (*last && (err = kl_oid_parse(&parent[spec.nparent++], last)) < 0) ||
	    (err = KL_FAULT("step-write")) < 0)
		return err;
	spec.tree = *tree;
	return kl_repo_commit_write(out, op->repo, &spec);
}

int kl_opstate_goal(struct kl_surface **out, const struct kl_opstate *op)
{
	git_oid commit, tree;
	int err;

	if ((err = kl_oid_parse(&commit, kl_walk_goal(&op->walk))) < 0 ||
	    (err = kl_repo_tree_of(&tree, op->repo, &commit)) < 0)
		return err;
	return kl_surface_from_tree(out, op->repo, &tree, kl_walk_str(&op->walk, "dir"));
}

const struct kl_event *kl_opstate_known(struct kl_opstate *op, const char *id)
{
	if (op->known_to != op->events.len) {
		kl_map_release(&op->known);
		op->known = (struct kl_map)KL_MAP_INIT;
		if (kl_event_load(&op->known, "gate.jsonl", op->events.ptr, op->events.len) < 0)
			/* no error: the events before the malformed line are loaded */
			kl_error_clear();
		op->known_to = op->events.len;
	}
	return kl_map_get(&op->known, id);
}

int kl_opstate_event(struct kl_opstate *op, struct kl_event *event, const char *commit)
{
	git_oid oid, tree;
	int err;

	if (op->dry)
		return 0;
	if ((err = kl_oid_parse(&oid, commit)) < 0 ||
	    (err = kl_repo_tree_of(&tree, op->repo, &oid)) < 0)
		return err;
	kl_event_set_commit(event, &oid, &tree);
	/*
	 * an event without a signature was made by this clone: sign it; any other event keeps the
	 * signature that it came with
	 */
	if (!*event->sig && ((err = kl_own_add_one(op->repo, event->id)) < 0 ||
			     (err = kl_sign_event(op->repo, event)) < 0))
		return err;
	kl_event_write(&op->events, event);
	kl_buf_addch(&op->events, '\n');
	return 0;
}
