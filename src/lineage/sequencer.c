/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/sequencer.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "lineage/derive.h"
#include "lineage/finish.h"
#include "lineage/judge.h"
#include "lineage/model.h"
#include "lineage/speculate.h"
#include "lineage/step.h"
#include "rewrite/course.h"

void kl_lineage_ref(char ref[256], const char *kind, const char *workload, const char *name)
{
	const char *top = strcmp(kind, "rejected") ? "refs/heads/klineage" : "refs/klineage";

	snprintf(ref, 256, "%s/%s/%s/%s", top, kind, workload, name);
}

void kl_outcome_release(struct kl_outcome *o)
{
	free(o->edit_dir);
	o->edit_dir = NULL;
	json_decref(o->awaiting);
	json_decref(o->judged);
	o->awaiting = o->judged = NULL;
}

void kl_sequencer_release(struct kl_sequencer *s)
{
	kl_rewrite_release(&s->rw);
	kl_opstate_release(&s->op);
	kl_lock_release(&s->lock);
	free(s->edit_dir);
	free(s->why_not);
	s->edit_dir = s->why_not = NULL;
}

static int hint_busy(int err)
{
	kl_error_hint(err, "'git klineage deopt --continue' goes on with it, '--status' says where it is");
	return kl_error_hint(err, "'git klineage deopt --abort' forgets it, "
			     "'--quit' ends it and keeps what was accepted");
}

/* one process at a time works on the operation of a worktree */
static int enter(struct kl_sequencer *s)
{
	KL_AUTO(kl_freep) char *dir = kl_fs_join(kl_repo_git_dir(s->repo), "klineage");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "op.lock");
	int err, cleared;

	s->edit_dir = kl_fs_join(dir, "edit");
	if ((err = kl_fs_mkdir(dir)) < 0)
		return err;
	err = kl_lock_take(&s->lock, path, 0);
	if (err == KL_EBUSY)
		return kl_error(KL_EBUSY, "another git klineage is at work on this worktree's operation");
	return err < 0 ? err : kl_refs_recover(s->repo, &cleared);
}

/* --- start ---------------------------------------------------------------- */

static int default_name(char **out, const struct kl_sequencer_opts *o, const char *expert)
{
	const char *leaf = strrchr(o->platform, '/');

	*out = o->name ? kl_strdup(o->name) :
			 kl_asprintf("%s-%.7s", leaf ? leaf + 1 : o->platform, expert);
	if (!kl_slug_ok(*out))
		return kl_error(KL_EUSAGE, "'%s' cannot be a lineage's name: lower-case letters, digits, "
				"'.', '_' and '-', at most 64", *out);
	return 0;
}

static int names_free(struct kl_sequencer *s, const char *workload, const char *name)
{
	static const char *const kind[] = { "walk", "lineage", "rejected" };

	for (int i = 0; i < 3; i++) {
		char ref[256];
		git_oid old;
		int err;

		kl_lineage_ref(ref, kind[i], workload, name);
		/* rejections of a walk that accepted nothing are carried on */
		if (i == 2 && !kl_refs_get(&old, s->repo, ref))
			continue;
		err = kl_refs_can_create(s->repo, ref);
		if (err == KL_EEXISTS) {
			err = kl_error(KL_EEXISTS, "there is a %s of '%s' named '%s' already",
				       kind[i], workload, name);
			return kl_error_hint(err, "choose another name with --name; to go on where it "
					     "ended: --expert klineage/walk/%s/%s --name %s-2",
					     workload, name, name);
		}
		if (err < 0)
			return err;
	}
	kl_error_clear();
	return 0;
}

static int carry_on_rejections(struct kl_sequencer *s)
{
	char ref[256], hex[KL_OID_HEX];
	git_oid tip;
	int err;

	kl_lineage_ref(ref, "rejected", kl_walk_str(&s->op.walk, "workload"),
		       kl_walk_str(&s->op.walk, "name"));
	err = kl_refs_get(&tip, s->repo, ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	kl_oid_hex(hex, &tip);
	kl_json_set_str(s->op.walk.state, "rejected_before", hex);
	return 0;
}

int kl_sequencer_start(struct kl_sequencer *s, const struct kl_sequencer_opts *o)
{
	KL_AUTO(kl_freep) char *name = NULL;
	char hex[KL_OID_HEX];
	git_oid expert, there;
	struct kl_chat *chat;
	struct kl_walk_init init = {
		.platform = o->platform, .dir = o->dir, .rewriters = o->rewriters, .runner = o->runner,
		.rederive = o->rederive, .step_limit = o->step_limit, .rejection_limit = o->rejection_limit,
	};
	int err;

	if ((err = enter(s)) < 0)
		return err;
	s->op.repo = s->repo;
	kl_opstate_ref(s->op.ref, s->repo);
	if (!kl_refs_get(&there, s->repo, s->op.ref))
		return hint_busy(kl_error(KL_EBUSY, "an operation is already in progress in this worktree"));
	kl_error_clear();
	if ((err = kl_rewriters_check(o->rewriters)) < 0 ||
	    (err = kl_repo_resolve(&expert, s->repo, o->expert ? o->expert : "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&s->op.tree, s->repo, &expert)) < 0 ||
	    (err = kl_surface_from_tree(&s->op.state, s->repo, &s->op.tree, o->dir)) < 0)
		return err;
	kl_oid_hex(hex, &expert);
	init.expert = hex;
	init.workload = s->op.state->contract->workload;
	init.surface = s->op.state->digest;
	if ((err = default_name(&name, o, hex)) < 0 ||
	    (err = names_free(s, init.workload, name)) < 0)
		return err;
	init.name = name;
	kl_walk_init(&s->op.walk, &init);
	if ((err = carry_on_rejections(s)) < 0 ||
	    (kl_model_name(s) && ((err = kl_model_chat(&chat, s)) < 0 ||
				  (err = kl_chat_begun(s->repo, name, s->op.state)) < 0)))
		return err;
	err = kl_opstate_save(&s->op, "klineage deopt: start");
	return err == KL_EBUSY ? hint_busy(err) : err;
}

int kl_sequencer_resume(struct kl_sequencer *s)
{
	int err = enter(s);

	return err < 0 ? err : kl_opstate_load(&s->op, s->repo);
}

/* --- running --------------------------------------------------------------- */

static int save(struct kl_sequencer *s, const char *what)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("klineage deopt: %s", what);

	return kl_opstate_save(&s->op, text);
}

static bool tried(const char *id, const char *surface, const char *edit, bool again, void *payload)
{
	const struct kl_sequencer *s = payload;

	return kl_walk_tried(&s->op.walk, id, surface, edit, again);
}

static void say(const char *text, void *payload)
{
	struct kl_sequencer *s = payload;

	kl_progress_say(s->progress, "%s", text);
}

/* the rewriters see the state as it is now */
static int aim(struct kl_sequencer *s)
{
	struct kl_rewrite *rw = &s->rw;
	int err;

	rw->repo = s->repo;
	rw->jail = s->jail;
	rw->state = s->op.state;
	rw->tree = s->op.tree;
	rw->edit_dir = s->edit_dir;
	rw->steps = kl_walk_steps(&s->op.walk);
	rw->rejections = kl_walk_rejections(&s->op.walk);
	rw->tried = tried;
	rw->say = s->op.dry ? NULL : say;
	rw->payload = s;
	if ((err = kl_model_aim(rw, s)) < 0)
		return err;
	return kl_oid_parse(&rw->expert, kl_walk_str(&s->op.walk, "expert"));
}

static int end(struct kl_sequencer *s, const char *termination)
{
	struct kl_commit spare = { 0 };
	git_oid probe;
	char *author = NULL;
	int err;
	/* a commit of our own says who and when, with git's own rules for both */
	struct kl_commit_spec spec = { .tree = s->op.tree, .message = "klineage deopt: end\n" };

	if (s->op.dry) {
		kl_walk_end(&s->op.walk, termination, 0, "", 0);
		return 0;
	}
	if ((err = kl_repo_commit_write(&probe, s->repo, &spec)) < 0 ||
	    (err = kl_repo_commit_read(&spare, s->repo, &probe)) < 0)
		return err;
	author = kl_strdup(spare.author);
	kl_walk_end(&s->op.walk, termination, spare.author_time, author, spare.author_offset);
	kl_commit_release(&spare);
	free(author);
	kl_surface_free(s->op.pending);
	kl_surface_free(s->op.held);
	s->op.pending = s->op.held = NULL;
	return save(s, termination);
}

static int load_held(struct kl_proposal **out, struct kl_sequencer *s)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *copy = NULL;
	int err = kl_surface_with(&copy, s->op.held, NULL, 0);

	if (!err)
		err = kl_proposal_from_json(out, kl_walk_held_proposal(&s->op.walk), copy);
	if (!err)
		copy = NULL;
	return err;
}

static int propose(struct kl_sequencer *s, struct kl_proposal *p)
{
	kl_walk_proposed(&s->op.walk, kl_proposal_to_json(p));
	kl_surface_free(s->op.pending);
	s->op.pending = kl_steal(&p->candidate);
	return save(s, "proposal");
}

/* a person is not asked what would be if */
static char *who_is_asked(const struct kl_sequencer *s)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	struct kl_buf list = KL_BUF_INIT;

	kl_strvec_split(&words, kl_walk_str(&s->op.walk, "rewriters"), ", ");
	for (size_t i = 0; i < words.n; i++)
		if (!s->op.dry || strcmp(words.v[i], "stepwise"))
			kl_buf_addf(&list, "%s%s", list.len ? "," : "", words.v[i]);
	return kl_buf_detach(&list);
}

/* a part of the held proposal; when there is none it stands as it is */
static int ask_for_part(struct kl_sequencer *s)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *whole = NULL, *p = NULL;
	int err = load_held(&whole, s);

	if (!err)
		err = kl_rewrite_split(&p, &s->rw, whole);
	if (err == KL_ENO) {	/* no money to ask how it might be split */
		kl_error_clear();
		err = 0;
	}
	if (err < 0)
		return err;
	if (p)
		return propose(s, p);
	kl_walk_exhausted(&s->op.walk);
	s->op.pending = kl_steal(&s->op.held);
	return save(s, "compound");
}

int kl_sequencer_ask(struct kl_sequencer *s)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = NULL;
	KL_AUTO(kl_freep) char *list = who_is_asked(s);
	const char *limit = kl_walk_limit(&s->op.walk);
	bool stop = false;
	int err;

	if ((err = aim(s)) < 0)
		return err;
	if (kl_walk_held_proposal(&s->op.walk))
		return ask_for_part(s);
	if (limit)
		return end(s, limit);
	kl_progress_step(s->progress, "looking for something to remove");
	err = kl_rewrite_next(&p, &stop, &s->rw, list);
	if (err == KL_ENO && kl_rewriters_talk(list)) {
		kl_progress_say(s->progress, "%s", kl_error_last());
		kl_error_clear();
		return end(s, "budget");
	}
	if (err < 0)
		return err;
	if (p)
		return propose(s, p);
	if (!stop)
		return end(s, s->rw.limited ? "rejection-limit" : "complete");
	kl_walk_waiting(&s->op.walk);
	return save(s, "waiting for an edit");
}

static size_t count_derived(const struct kl_walk *w, const char *how)
{
	size_t i, n = 0;
	json_t *step;

	json_array_foreach(kl_walk_steps(w), i, step)
		n += !strcmp(kl_walk_derivation(json_object_get(step, "rederived")), how);
	return n;
}

/* the records from `from` on, each with what the gate said */
static void add_judged(json_t *list, struct kl_sequencer *s, const json_t *records, size_t from)
{
	static const char *const keys[] = {
		"action", "mechanism", "locus", "rewriter", "commit", "class", "delta", "ns",
	};

	for (size_t i = from; i < json_array_size(records); i++) {
		const json_t *rec = json_array_get(records, i);
		const json_t *event = kl_opstate_known(&s->op, kl_json_str_or(rec, "event", ""));
		json_t *j = json_object();

		kl_json_set_bool(j, "accepted", !json_object_get(rec, "class"));
		for (size_t k = 0; k < KL_ARRAY_SIZE(keys); k++)
			if (json_object_get(rec, keys[k]))
				kl_json_set(j, keys[k], json_deep_copy(json_object_get(rec, keys[k])));
		kl_json_set(j, "event", event ? json_deep_copy(event) : json_null());
		json_array_append_new(list, j);
	}
}

static void fill_outcome(struct kl_outcome *out, struct kl_sequencer *s)
{
	const struct kl_walk *w = &s->op.walk;

	json_decref(out->judged);
	out->judged = json_array();
	add_judged(out->judged, s, kl_walk_steps(w), s->had_steps);
	add_judged(out->judged, s, kl_walk_rejections(w), s->had_rejections);

	snprintf(out->workload, sizeof(out->workload), "%s", kl_walk_str(w, "workload"));
	snprintf(out->name, sizeof(out->name), "%s", kl_walk_str(w, "name"));
	snprintf(out->termination, sizeof(out->termination), "%s", kl_walk_str(w, "termination"));
	out->steps = json_array_size(kl_walk_steps(w));
	out->rejections = json_array_size(kl_walk_rejections(w));
	out->rederived = count_derived(w, "rederived");
	out->unisolated = count_derived(w, "unisolated");
}

static int finish(struct kl_sequencer *s, struct kl_outcome *out)
{
	int err;

	fill_outcome(out, s);
	kl_progress_title(s->progress, "writing the lineage");
	if ((err = kl_finish_write(&s->op, out)) < 0)
		return err;
	kl_fs_remove(s->edit_dir);
	if (!out->steps)
		return kl_error(KL_ENO, "nothing could be removed from %.7s: %zu proposal%s rejected, "
				"none accepted", kl_walk_str(&s->op.walk, "expert"),
				out->rejections, out->rejections == 1 ? "" : "s");
	return 0;
}

/* --- results from elsewhere --------------------------------------------------- */

static json_t *what_awaits(const struct kl_parcel *p, json_t *candidates)
{
	json_t *j = json_object();

	kl_json_set_str(j, "file", p->file);
	kl_json_set_str(j, "bundle", p->digest);
	kl_json_set_str(j, "command", p->command);
	kl_json_set_int(j, "jobs", (int64_t)p->jobs);
	json_object_set(j, "candidates", candidates);
	return j;
}

/* The same files asked for twice, with a send between: then nothing came of it. */
static int guard(struct kl_sequencer *s)
{
	const struct kl_surface *at = s->op.pending ? s->op.pending : s->op.state;

	if (!strcmp(s->sent_for, at->digest))
		return kl_error(KL_ECANNOT, "no result came back for %.12s%s%s", at->digest,
				s->why_not ? ": " : "", s->why_not ? s->why_not : "");
	memcpy(s->sent_for, at->digest, sizeof(s->sent_for));
	return 0;
}

/*
 * The job at hand waits, and with it all that may follow, one way or the other. Their results
 * are here when this returns 0; 1: a person is to bring them.
 */
static int send_away(struct kl_sequencer *s, struct kl_outcome *out, const char *before)
{
	KL_AUTO(json_decrefp) json_t *candidates = json_array();
	KL_AUTO(kl_parcel_release) struct kl_parcel p = { 0 };
	int err;

	if ((err = guard(s)) < 0 || (err = kl_speculate(candidates, s)) < 0 ||
	    (err = s->send(&p, s->payload)) < 0)
		return err;
	if (!p.waiting) {
		free(s->why_not);
		s->why_not = kl_steal(&p.why);
		return 0;
	}
	kl_walk_await(&s->op.walk, what_awaits(&p, candidates));
	if ((err = save(s, "waiting for results")) < 0)
		return err;
	fill_outcome(out, s);
	out->waiting = true;
	out->still = !strcmp(before, p.digest);
	out->awaiting = json_incref(kl_walk_awaited(&s->op.walk));
	return 1;
}

/*
 * A model that did not answer in time has had a turn, as if it had been refused. It is asked again;
 * whoever is silent three times in a row is gone, and a person is to see to it.
 */
static int timed_out(struct kl_sequencer *s)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	KL_AUTO(kl_freep) char *hints = kl_strdup(kl_error_hints());
	int err;

	kl_walk_timed_out(&s->op.walk);
	if ((err = save(s, "time-out")) < 0)
		return err;
	if (++s->timeouts < KL_COURSE_UNUSABLE) {
		kl_progress_say(s->progress, "  %s; that counts as a turn of the model", message);
		kl_error_clear();
		return 0;
	}
	err = kl_error(KL_ETIMEOUT, "%s; %d times in a row", message, s->timeouts);
	return *hints ? kl_error_hint(err, "%s", hints) : err;
}

static int run_on(struct kl_sequencer *s, struct kl_outcome *out)
{
	char before[KL_DIGEST_HEX] = "";

	for (;;) {
		int err = 0;

		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		switch (kl_walk_next(&s->op.walk)) {
		case KL_WALK_EXPERT:
			err = kl_judge_expert(s);
			break;
		case KL_WALK_ASK:
			err = kl_sequencer_ask(s);
			break;
		case KL_WALK_JUDGE:
			err = kl_judge_pending(s);
			break;
		case KL_WALK_WAIT:
			fill_outcome(out, s);
			out->waiting = true;
			out->edit_dir = kl_strdup(s->edit_dir);
			return 0;
		case KL_WALK_DERIVE:
			err = kl_derive_ask(s);
			break;
		case KL_WALK_JUDGE_DERIVED:
			err = kl_derive_judge(s);
			break;
		case KL_WALK_FINISH:
			return finish(s, out);
		case KL_WALK_AWAIT:
			snprintf(before, sizeof(before), "%s",
				 kl_json_str_or(kl_walk_awaited(&s->op.walk), "bundle", ""));
			kl_walk_go_on(&s->op.walk);
			break;
		}
		if (err == KL_JUDGE_LATER)
			err = send_away(s, out, before);
		if (err == KL_ETIMEOUT && s->chat)
			err = timed_out(s);
		else
			s->timeouts = 0;
		if (err)
			return err < 0 ? err : 0;
	}
}

int kl_sequencer_run(struct kl_sequencer *s, struct kl_outcome *out)
{
	git_oid at;
	int err;

	*out = (struct kl_outcome){ 0 };
	s->had_steps = json_array_size(kl_walk_steps(&s->op.walk));
	s->had_rejections = json_array_size(kl_walk_rejections(&s->op.walk));
	err = run_on(s, out);
	if (err < 0 && err != KL_ENO && !kl_refs_get(&at, s->repo, s->op.ref))
		kl_error_hint(err, "nothing is lost: 'git klineage deopt --continue' goes on, "
			      "'--abort' forgets the operation");
	return err;
}

/* --- the other verbs ------------------------------------------------------- */

int kl_sequencer_collect(struct kl_sequencer *s, const struct kl_claim *claim)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = NULL;
	int err;

	if (kl_walk_next(&s->op.walk) != KL_WALK_WAIT)
		return 0;	/* it was not waiting: just go on */
	if ((err = aim(s)) < 0 || (err = kl_stepwise_collect(&p, &s->rw, claim)) < 0)
		return err;
	if (p)
		return propose(s, p);
	err = kl_error(KL_EINVALID, "nothing new in '%s': it is the state as it was, or one that was judged",
		       s->edit_dir);
	return kl_error_hint(err, "edit a source there and --continue; '--quit' ends the walk here");
}

int kl_sequencer_take(struct kl_sequencer *s, const struct kl_envelope *step)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *p = NULL;
	int err;

	if (kl_walk_next(&s->op.walk) != KL_WALK_WAIT)
		return kl_error(KL_EINVALID, "the walk does not wait for a step; --continue alone goes "
				"on with it");
	if ((err = aim(s)) < 0 || (err = kl_rewrite_check_names(&s->rw, step)) < 0 ||
	    (err = kl_rewrite_take(&p, &s->rw, step, "stepwise", "step")) < 0)
		return err;
	return propose(s, p);
}

int kl_sequencer_skip(struct kl_sequencer *s)
{
	kl_walk_go_on(&s->op.walk);
	switch (kl_walk_next(&s->op.walk)) {
	case KL_WALK_JUDGE:
		return kl_judge_skip(s);
	case KL_WALK_DERIVE:
	case KL_WALK_JUDGE_DERIVED:
		return kl_derive_skip(s);
	case KL_WALK_WAIT:
		kl_json_set_str(s->op.walk.state, "phase", "ask");
		return save(s, "edit dropped");
	default:
		return kl_error(KL_EUSAGE, "there is no proposal at hand to skip; --continue goes on");
	}
}

int kl_sequencer_stop(struct kl_sequencer *s)
{
	kl_walk_go_on(&s->op.walk);
	if (kl_walk_next(&s->op.walk) == KL_WALK_FINISH)
		return 0;
	if (kl_walk_next(&s->op.walk) == KL_WALK_EXPERT)
		return kl_error(KL_EUSAGE, "the expert has not been judged yet, there is nothing to keep; "
				"use --abort");
	return end(s, "stopped");
}

int kl_sequencer_abort(struct kl_sequencer *s)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(s->repo);
	git_oid at;
	int err;

	if (!s->edit_dir && (err = enter(s)) < 0)
		return err;
	kl_opstate_ref(s->op.ref, s->repo);
	err = kl_refs_get(&at, s->repo, s->op.ref);
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ENOTFOUND, "no operation in progress in this worktree");
	if (err < 0 || (err = KL_FAULT("abort")) < 0)
		return err;
	kl_refs_txn_delete(t, s->op.ref, &at);
	if ((err = kl_refs_txn_commit(t, "klineage deopt: abort")) < 0)
		return err;
	return kl_fs_remove(s->edit_dir);
}
