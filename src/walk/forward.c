/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/forward.h"

#include <string.h>

#include "base/error.h"
#include "event/own.h"
#include "event/signature.h"

#define MAX_FILES 100000

void kl_forward_release(struct kl_forward *forward)
{
	free(forward->commit);
	free(forward->note);
	kl_strvec_release(&forward->lines);
	*forward = (struct kl_forward){ 0 };
}

static void add_files(struct kl_tree_edit *edit, size_t *n, const struct kl_file *file,
		      size_t nfile)
{
	for (size_t i = 0; i < nfile; i++)
		edit[(*n)++] = (struct kl_tree_edit){ .path = file[i].path,
						      .data = file[i].data,
						      .len = file[i].len,
						      .mode = file[i].mode };
}

/* Write a tree of the files that a contract names, with the contract as its klineage.yaml. */
static int named_tree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *place)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) struct kl_tree_edit *edit = NULL;
	struct kl_file contract;
	size_t n = 0;
	int err = kl_surface_from_tree(&surface, repo, tree, place);

	if (err < 0)
		return err;
	edit = kl_calloc(surface->nfile + surface->noracle + 1, sizeof(*edit));
	contract = surface->contract_file;
	contract.path = (char *)KL_CONTRACT_FILE;
	add_files(edit, &n, surface->file, surface->nfile);
	add_files(edit, &n, surface->oracle, surface->noracle);
	add_files(edit, &n, &contract, 1);
	return kl_repo_tree_edit(out, repo, NULL, edit, n);
}

static int directory_tree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *dir)
{
	struct kl_blobs blobs = { 0 };
	struct kl_tree_edit *drop;
	size_t n = 0;
	git_oid sub;
	int err;

	if ((err = kl_repo_subtree(&sub, repo, tree, dir)) < 0 ||
	    (err = kl_repo_tree_list(&blobs, repo, &sub, MAX_FILES)) < 0)
		return err;
	drop = kl_calloc(blobs.n + 1, sizeof(*drop));
	for (size_t i = 0; i < blobs.n; i++)
		if ((blobs.b[i].mode & 0170000) != 0100000)
			drop[n++].path = blobs.b[i].path;
	*out = sub;
	err = n ? kl_repo_tree_edit(out, repo, &sub, drop, n) : 0;
	free(drop);
	kl_blobs_release(&blobs);
	return err;
}

int kl_forward_tree(git_oid *out, struct kl_repo *repo, const git_oid *tree, const char *place)
{
	return kl_contract_place_is_file(place) ? named_tree(out, repo, tree, place) :
						  directory_tree(out, repo, tree, place);
}

struct builder {
	const struct kl_opstate *op;
	struct kl_map events; /* id -> struct kl_event * */
	struct kl_forward *out;
	struct kl_strvec made; /* ids of the events that this file makes for forward steps */
};

static void add_note(struct kl_forward *forward, const git_oid *commit, const git_oid *tree,
		     const struct kl_event *event)
{
	KL_AUTO(kl_event_freep) struct kl_event *noted = kl_event_copy(event);
	struct kl_buf line = KL_BUF_INIT;

	kl_event_set_commit(noted, commit, tree);
	kl_event_write(&line, noted);
	kl_strvec_take(&forward->lines, kl_buf_detach(&line));
	KL_GROW(forward->note, forward->nnote + 1, forward->note_alloc);
	forward->note[forward->nnote].commit = *commit;
	forward->note[forward->nnote++].line = forward->lines.v[forward->lines.n - 1];
}

static int write_one(git_oid *out, struct builder *builder, const struct kl_step *step,
		     const git_oid *tree, const git_oid *parent, size_t nparent)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	const struct kl_walk *walk = &builder->op->walk;
	struct kl_commit_spec spec = {
		.tree = *tree,
		.parent = parent,
		.nparent = nparent,
		.author = kl_walk_str(walk, "author"),
		.time = kl_json_int_or(walk->state, "end_time", 0),
		.offset = (int)kl_json_int_or(walk->state, "end_offset", 0),
	};

	kl_step_message(&message, step);
	spec.message = message.ptr;
	return kl_repo_commit_write(out, builder->op->repo, &spec);
}

static int write_root(struct builder *builder, const git_oid *tree)
{
	const struct kl_walk *walk = &builder->op->walk;
	KL_AUTO(kl_step_release) struct kl_step root = {
		.kind = KL_STEP_ROOT,
		.workload = kl_strdup(kl_walk_str(walk, "workload")),
		.platform = kl_strdup(kl_walk_str(walk, "platform")),
		.expert = kl_strdup(kl_walk_str(walk, "expert")),
		.termination = kl_strdup(kl_walk_str(walk, "termination")),
	};

	return write_one(&builder->out->commit[0], builder, &root, tree, NULL, 0);
}

/*
 * Return the classes of the failed attempts in order, separated by commas; the caller frees the
 * text.
 */
static char *list_failures(const json_t *record)
{
	struct kl_buf buf = KL_BUF_INIT;
	size_t i;
	json_t *attempt;

	json_array_foreach(json_object_get(record, "attempts"), i, attempt)
		kl_buf_addf(&buf, "%s%s", i ? ", " : "", kl_json_str_or(attempt, "class", "?"));
	return kl_buf_detach(&buf);
}

/*
 * Note the events of K_i' on `commit`: first those of measurements that were too noisy, then the
 * event that decided. Skip events that are not in the operation.
 */
static void add_events(struct builder *builder, const json_t *rederived, const git_oid *commit,
		       const git_oid *tree)
{
	const char *last = kl_json_str_or(rederived, "event", "");
	const struct kl_event *event;
	size_t i;
	json_t *id;

	json_array_foreach(json_object_get(rederived, "measured"), i, id)
		if (json_is_string(id) && strcmp(json_string_value(id), last) &&
		    (event = kl_map_get(&builder->events, json_string_value(id))))
			add_note(builder->out, commit, tree, event);
	if ((event = kl_map_get(&builder->events, last)))
		add_note(builder->out, commit, tree, event);
}

/* Write K_i' as a commit on K_{i-1}. */
static int write_rederived(git_oid *out, struct builder *builder, size_t i, const json_t *record)
{
	const json_t *rederived = json_object_get(record, "rederived");
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	git_oid commit, full, tree;
	int err;

	if ((err = kl_oid_parse(&commit, kl_json_str_or(rederived, "commit", ""))) < 0 ||
	    (err = kl_repo_tree_of(&full, builder->op->repo, &commit)) < 0 ||
	    (err = kl_forward_tree(&tree, builder->op->repo, &full,
				   kl_walk_str(&builder->op->walk, "dir"))) < 0)
		return err;
	kl_step_from_attempt(&step, record, rederived);
	step.kind = KL_STEP_FORWARD;
	step.number = (int)i;
	step.derivation = kl_strdup(kl_walk_derivation(rederived));
	if ((err = write_one(out, builder, &step, &tree, &builder->out->commit[i - 1], 1)) < 0)
		return err;
	add_events(builder, rederived, out, &tree);
	return 0;
}

static int write_step(struct builder *builder, size_t i, const json_t *record, const git_oid *tree)
{
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	const json_t *rederived = json_object_get(record, "rederived");
	bool second = json_is_object(rederived);
	git_oid parent[2] = { builder->out->commit[i - 1] };
	int err;

	if (second && (err = write_rederived(&parent[1], builder, i, record)) < 0)
		return err;
	kl_step_from_json(&step, record);
	step.kind = KL_STEP_FORWARD;
	step.number = (int)i;
	step.derivation = kl_strdup(kl_walk_derivation(rederived));
	step.attempts = list_failures(record);
	return write_one(&builder->out->commit[i], builder, &step, tree, parent, second ? 2 : 1);
}

/*
 * Find the event of the walk's state that is `back` steps away from K*; NULL if the event is not
 * known.
 */
static const struct kl_event *event_of(struct builder *builder, size_t back)
{
	const struct kl_walk *walk = &builder->op->walk;
	const char *id = back ? kl_json_str_or(json_array_get(kl_walk_steps(walk), back - 1),
					       "event", "") :
				kl_walk_str(walk, "expert_event");

	return kl_map_get(&builder->events, id);
}

static int state_tree(git_oid *out, struct builder *builder, size_t back)
{
	const struct kl_walk *walk = &builder->op->walk;
	const char *hex = back ? kl_json_str_or(json_array_get(kl_walk_steps(walk), back - 1),
						"commit", "") :
				 kl_walk_str(walk, "expert");
	git_oid commit, tree;
	int err;

	if ((err = kl_oid_parse(&commit, hex)) < 0 ||
	    (err = kl_repo_tree_of(&tree, builder->op->repo, &commit)) < 0)
		return err;
	return kl_forward_tree(out, builder->op->repo, &tree, kl_walk_str(walk, "dir"));
}

static int build_commits(struct builder *builder)
{
	const struct kl_walk *walk = &builder->op->walk;
	size_t n = json_array_size(kl_walk_steps(walk));
	struct kl_forward *forward = builder->out;

	forward->commit = kl_calloc(n + 1, sizeof(*forward->commit));
	for (size_t i = 0; i <= n; i++) {
		const struct kl_event *own = event_of(builder, n - i);
		const struct kl_event *before = i ? event_of(builder, n - i + 1) : NULL;
		git_oid tree;
		int err = state_tree(&tree, builder, n - i);

		if (!err)
			err = i ? write_step(builder, i, json_array_get(kl_walk_steps(walk), n - i),
					     &tree) :
				  write_root(builder, &tree);
		if (err < 0)
			return err;
		if (own)
			add_note(forward, &forward->commit[i], &tree, own);
		if (own && before) {
			KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_inverse(
				own, before, kl_json_int_or(walk->state, "end_time", 0));

			kl_strvec_push(&builder->made, event->id);
			if ((err = kl_sign_event(builder->op->repo, event)) < 0)
				return err;
			add_note(forward, &forward->commit[i], &tree, event);
		}
	}
	forward->n = n + 1;
	forward->tip = forward->commit[n];
	return 0;
}

int kl_forward_build(struct kl_forward *out, const struct kl_opstate *op)
{
	struct builder builder = { .op = op, .out = out };
	int err;

	*out = (struct kl_forward){ 0 };
	err = kl_event_load(&builder.events, "gate.jsonl", op->events.ptr, op->events.len);
	if (!err)
		err = build_commits(&builder);
	if (!err)
		err = kl_own_add(op->repo, (const char *const *)builder.made.v, builder.made.n);
	kl_map_release(&builder.events);
	kl_strvec_release(&builder.made);
	if (err < 0)
		kl_forward_release(out);
	return err;
}
