/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/forward.h"

#include <string.h>

#include "base/error.h"
#include "event/signature.h"

#define MAX_FILES 100000

void kl_forward_release(struct kl_forward *f)
{
	free(f->commit);
	free(f->note);
	kl_strvec_release(&f->lines);
	*f = (struct kl_forward){ 0 };
}

int kl_forward_tree(git_oid *out, struct kl_repo *r, const git_oid *tree, const char *dir)
{
	struct kl_blobs blobs = { 0 };
	struct kl_tree_edit *drop;
	size_t n = 0;
	git_oid sub;
	int err;

	if ((err = kl_repo_subtree(&sub, r, tree, dir)) < 0 ||
	    (err = kl_repo_tree_list(&blobs, r, &sub, MAX_FILES)) < 0)
		return err;
	drop = kl_calloc(blobs.n + 1, sizeof(*drop));
	for (size_t i = 0; i < blobs.n; i++)
		if ((blobs.b[i].mode & 0170000) != 0100000)
			drop[n++].path = blobs.b[i].path;
	*out = sub;
	err = n ? kl_repo_tree_edit(out, r, &sub, drop, n) : 0;
	free(drop);
	kl_blobs_release(&blobs);
	return err;
}

struct builder {
	const struct kl_opstate *op;
	struct kl_map events; /* id -> struct kl_event * */
	struct kl_forward *out;
};

static void add_note(struct kl_forward *f, const git_oid *commit, const git_oid *tree,
		     const struct kl_event *event)
{
	KL_AUTO(kl_event_freep) struct kl_event *noted = kl_event_copy(event);
	struct kl_buf line = KL_BUF_INIT;

	kl_event_set_commit(noted, commit, tree);
	kl_event_write(&line, noted);
	kl_strvec_take(&f->lines, kl_buf_detach(&line));
	KL_GROW(f->note, f->nnote + 1, f->note_alloc);
	f->note[f->nnote].commit = *commit;
	f->note[f->nnote++].line = f->lines.v[f->lines.n - 1];
}

static int write_one(git_oid *out, struct builder *b, const struct kl_step *step,
		     const git_oid *tree, const git_oid *parent, size_t nparent)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	const struct kl_walk *w = &b->op->walk;
	struct kl_commit_spec spec = {
		.tree = *tree,
		.parent = parent,
		.nparent = nparent,
		.author = kl_walk_str(w, "author"),
		.time = kl_json_int_or(w->state, "end_time", 0),
		.offset = (int)kl_json_int_or(w->state, "end_offset", 0),
	};

	kl_step_message(&message, step);
	spec.message = message.ptr;
	return kl_repo_commit_write(out, b->op->repo, &spec);
}

static int write_root(struct builder *b, const git_oid *tree)
{
	const struct kl_walk *w = &b->op->walk;
	KL_AUTO(kl_step_release) struct kl_step root = {
		.kind = KL_STEP_ROOT,
		.workload = kl_strdup(kl_walk_str(w, "workload")),
		.platform = kl_strdup(kl_walk_str(w, "platform")),
		.expert = kl_strdup(kl_walk_str(w, "expert")),
		.termination = kl_strdup(kl_walk_str(w, "termination")),
	};

	return write_one(&b->out->commit[0], b, &root, tree, NULL, 0);
}

/* what was tried and failed, in order */
static char *describe_failures(const json_t *record)
{
	struct kl_buf b = KL_BUF_INIT;
	size_t i;
	json_t *a;

	json_array_foreach(json_object_get(record, "attempts"), i, a)
		kl_buf_addf(&b, "%s%s", i ? ", " : "", kl_json_str_or(a, "class", "?"));
	return kl_buf_detach(&b);
}

/* as far as they are known: the note of what stands on the walk is not needed for it */
static void add_events(struct builder *b, const json_t *rederived, const git_oid *commit,
		       const git_oid *tree)
{
	const char *last = kl_json_str_or(rederived, "event", "");
	const struct kl_event *event;
	size_t i;
	json_t *id;

	json_array_foreach(json_object_get(rederived, "measured"), i, id)
		if (json_is_string(id) && strcmp(json_string_value(id), last) &&
		    (event = kl_map_get(&b->events, json_string_value(id))))
			add_note(b->out, commit, tree, event);
	if ((event = kl_map_get(&b->events, last)))
		add_note(b->out, commit, tree, event);
}

/* K_i', on K_{i-1} */
static int write_rederived(git_oid *out, struct builder *b, size_t i, const json_t *record)
{
	const json_t *rederived = json_object_get(record, "rederived");
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	git_oid walk, full, tree;
	int err;

	if ((err = kl_oid_parse(&walk, kl_json_str_or(rederived, "commit", ""))) < 0 ||
	    (err = kl_repo_tree_of(&full, b->op->repo, &walk)) < 0 ||
	    (err = kl_forward_tree(&tree, b->op->repo, &full, kl_walk_str(&b->op->walk, "dir"))) <
		    0)
		return err;
	kl_step_from_attempt(&step, record, rederived);
	step.kind = KL_STEP_FORWARD;
	step.number = (int)i;
	step.derivation = kl_strdup(kl_walk_derivation(rederived));
	if ((err = write_one(out, b, &step, &tree, &b->out->commit[i - 1], 1)) < 0)
		return err;
	add_events(b, rederived, out, &tree);
	return 0;
}

static int write_step(struct builder *b, size_t i, const json_t *record, const git_oid *tree)
{
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	const json_t *rederived = json_object_get(record, "rederived");
	bool second = json_is_object(rederived);
	git_oid parent[2] = { b->out->commit[i - 1] };
	int err;

	if (second && (err = write_rederived(&parent[1], b, i, record)) < 0)
		return err;
	kl_step_from_json(&step, record);
	step.kind = KL_STEP_FORWARD;
	step.number = (int)i;
	step.derivation = kl_strdup(kl_walk_derivation(rederived));
	step.attempts = describe_failures(record);
	return write_one(&b->out->commit[i], b, &step, tree, parent, second ? 2 : 1);
}

/* event of a walk's state: `back` steps away from K* */
static const struct kl_event *event_of(struct builder *b, size_t back)
{
	const struct kl_walk *w = &b->op->walk;
	const char *id = back ? kl_json_str_or(json_array_get(kl_walk_steps(w), back - 1), "event",
					       "") :
				kl_walk_str(w, "expert_event");

	return kl_map_get(&b->events, id);
}

static int state_tree(git_oid *out, struct builder *b, size_t back)
{
	const struct kl_walk *w = &b->op->walk;
	const char *hex = back ? kl_json_str_or(json_array_get(kl_walk_steps(w), back - 1),
						"commit", "") :
				 kl_walk_str(w, "expert");
	git_oid commit, tree;
	int err;

	if ((err = kl_oid_parse(&commit, hex)) < 0 ||
	    (err = kl_repo_tree_of(&tree, b->op->repo, &commit)) < 0)
		return err;
	return kl_forward_tree(out, b->op->repo, &tree, kl_walk_str(w, "dir"));
}

static int build_commits(struct builder *b)
{
	const struct kl_walk *w = &b->op->walk;
	size_t n = json_array_size(kl_walk_steps(w));
	struct kl_forward *f = b->out;

	f->commit = kl_calloc(n + 1, sizeof(*f->commit));
	for (size_t i = 0; i <= n; i++) {
		const struct kl_event *own = event_of(b, n - i);
		const struct kl_event *pair = i ? event_of(b, n - i + 1) : NULL;
		git_oid tree;
		int err = state_tree(&tree, b, n - i);

		if (!err)
			err = i ? write_step(b, i, json_array_get(kl_walk_steps(w), n - i), &tree) :
				  write_root(b, &tree);
		if (err < 0)
			return err;
		if (own)
			add_note(f, &f->commit[i], &tree, own);
		if (own && pair) {
			KL_AUTO(kl_event_freep) struct kl_event *e = kl_event_inverse(
				own, pair, kl_json_int_or(w->state, "end_time", 0));

			if ((err = kl_sign_event(b->op->repo, e)) < 0)
				return err;
			add_note(f, &f->commit[i], &tree, e);
		}
	}
	f->n = n + 1;
	f->tip = f->commit[n];
	return 0;
}

int kl_forward_build(struct kl_forward *out, const struct kl_opstate *op)
{
	struct builder b = { .op = op, .out = out };
	int err;

	*out = (struct kl_forward){ 0 };
	err = kl_event_load(&b.events, "gate.jsonl", op->events.ptr, op->events.len);
	if (!err)
		err = build_commits(&b);
	kl_map_release(&b.events);
	if (err < 0)
		kl_forward_release(out);
	return err;
}
