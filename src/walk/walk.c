/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/walk.h"

#include <string.h>

#include "base/error.h"
#include "rewrite/rewriter.h"
#include "walk/rejection.h"
#include "walk/step.h"

#define SCHEMA "klineage.operation/1"

/* clang-format off */
static const char *const phase_name[] = {
	[KL_WALK_EXPERT] = "expert", [KL_WALK_ASK] = "ask", [KL_WALK_JUDGE] = "judge",
	[KL_WALK_WAIT] = "wait", [KL_WALK_FINISH] = "finish",
	[KL_WALK_DERIVE] = "derive", [KL_WALK_JUDGE_DERIVED] = "judge-derived",
};
/* clang-format on */

static void set_phase(struct kl_walk *walk, enum kl_walk_do phase)
{
	kl_json_set_str(walk->state, "phase", phase_name[phase]);
}

void kl_walk_init(struct kl_walk *walk, const struct kl_walk_init *init)
{
	json_t *limits = json_object();

	kl_json_set_int(limits, "steps", init->step_limit);
	kl_json_set_int(limits, "rejections", init->rejection_limit);
	walk->state = json_object();
	kl_json_set_str(walk->state, "schema", SCHEMA);
	kl_json_set_str(walk->state, "verb", "deopt");
	kl_json_set_str(walk->state, "workload", init->workload);
	kl_json_set_str(walk->state, "name", init->name);
	kl_json_set_str(walk->state, "platform", init->platform);
	kl_json_set_str(walk->state, "dir", init->dir);
	kl_json_set_str(walk->state, "expert", init->expert);
	kl_json_set_str(walk->state, "surface", init->surface);
	if (init->tokens)
		kl_json_set_str(walk->state, "tokens", init->tokens);
	kl_json_set_str(walk->state, "rewriters", init->rewriters);
	if (init->runner)
		kl_json_set_str(walk->state, "runner", init->runner);
	if (init->rederive)
		kl_json_set_str(walk->state, "rederive", init->rederive);
	if (init->keep_all)
		kl_json_set_bool(walk->state, "keep_all", true);
	kl_json_set_str(walk->state, "termination", "");
	kl_json_set(walk->state, "limits", limits);
	kl_json_set(walk->state, "steps", json_array());
	kl_json_set(walk->state, "rejections", json_array());
	kl_json_set_int(walk->state, "row", 0);
	set_phase(walk, KL_WALK_EXPERT);
}

static int check_records(const json_t *list, const char *what, bool with_class)
{
	size_t i;
	json_t *rec;

	json_array_foreach(list, i, rec) {
		const char *text;
		int err;

		if ((err = kl_json_str(&text, rec, "commit")) < 0 ||
		    (err = kl_json_str(&text, rec, "surface")) < 0 ||
		    (err = kl_json_str(&text, rec, "event")) < 0 ||
		    (with_class && (err = kl_json_str(&text, rec, "class")) < 0))
			return kl_error_in(err, "operation, %s %zu", what, i + 1);
	}
	return 0;
}

static int check_phase(const json_t *state, enum kl_walk_do phase)
{
	bool judges = phase == KL_WALK_JUDGE || phase == KL_WALK_JUDGE_DERIVED;

	if (judges && !json_is_object(json_object_get(state, "pending")))
		return kl_error(KL_EINVALID, "operation: no pending proposal to judge");
	if ((phase == KL_WALK_DERIVE || phase == KL_WALK_JUDGE_DERIVED) &&
	    !json_array_size(json_object_get(state, "steps")))
		return kl_error(KL_EINVALID, "operation: no step to re-derive");
	return 0;
}

static int check_state(const json_t *state)
{
	static const char *const strings[] = { "workload",  "name",   "platform",
					       "dir",       "expert", "surface",
					       "rewriters", "phase",  "termination" };
	const char *text, *phase = "";
	json_t *steps, *rejections, *limits;
	int64_t row;
	int err = kl_json_str(&text, state, "schema");

	if (!err && strcmp(text, SCHEMA))
		return kl_error(KL_EINVALID, "operation: schema is '%s', expected '%s'", text,
				SCHEMA);
	for (size_t i = 0; !err && i < KL_ARRAY_SIZE(strings); i++)
		err = kl_json_str(&text, state, strings[i]);
	if (err < 0 || (err = kl_json_arr(&steps, state, "steps")) < 0 ||
	    (err = kl_json_arr(&rejections, state, "rejections")) < 0 ||
	    (err = kl_json_obj(&limits, state, "limits")) < 0 ||
	    (err = kl_json_int(&row, state, "row")) < 0 ||
	    (err = kl_json_str(&phase, state, "phase")) < 0 ||
	    (err = check_records(steps, "step", false)) < 0 ||
	    (err = check_records(rejections, "rejection", true)) < 0)
		return kl_error_in(err, "operation");
	for (size_t i = 0; i < KL_ARRAY_SIZE(phase_name); i++)
		if (!strcmp(phase, phase_name[i]))
			return check_phase(state, (enum kl_walk_do)i);
	return kl_error(KL_EINVALID, "operation: unknown phase '%s'", phase);
}

int kl_walk_parse(struct kl_walk *walk, const char *text, size_t len)
{
	KL_AUTO(json_decrefp) json_t *state = NULL;
	int err = kl_json_parse(&state, text, len);

	if (err < 0)
		return kl_error_in(err, "operation");
	if ((err = check_state(state)) < 0)
		return err;
	walk->state = kl_steal(&state);
	return 0;
}

void kl_walk_release(struct kl_walk *walk)
{
	json_decref(walk->state);
	walk->state = NULL;
}

enum kl_walk_do kl_walk_next(const struct kl_walk *walk)
{
	const char *phase = kl_walk_str(walk, "phase");

	if (kl_walk_awaited(walk))
		return KL_WALK_AWAIT;
	for (size_t i = 0; i < KL_ARRAY_SIZE(phase_name); i++)
		if (!strcmp(phase, phase_name[i]))
			return (enum kl_walk_do)i;
	KL_BUG("phase '%s'", phase);
}

const char *kl_walk_str(const struct kl_walk *walk, const char *key)
{
	return kl_json_str_or(walk->state, key, "");
}

json_t *kl_walk_steps(const struct kl_walk *walk)
{
	return json_object_get(walk->state, "steps");
}

json_t *kl_walk_rejections(const struct kl_walk *walk)
{
	return json_object_get(walk->state, "rejections");
}

static const char *last_commit(const json_t *list, const char *dflt)
{
	size_t n = json_array_size(list);

	return n ? kl_json_str_or(json_array_get(list, n - 1), "commit", dflt) : dflt;
}

const char *kl_walk_tip(const struct kl_walk *walk)
{
	return last_commit(kl_walk_steps(walk), kl_walk_str(walk, "expert"));
}

const char *kl_walk_rejected_tip(const struct kl_walk *walk)
{
	const char *before = kl_walk_str(walk, "rejected_before");

	return kl_json_str_or(walk->state, "rejected_last",
			      last_commit(kl_walk_rejections(walk), before));
}

json_t *kl_walk_pending(const struct kl_walk *walk)
{
	return json_object_get(walk->state, "pending");
}

json_t *kl_walk_held_proposal(const struct kl_walk *walk)
{
	return json_object_get(walk->state, "held");
}

json_t *kl_walk_facts(const struct kl_walk *walk)
{
	return json_object_get(walk->state, "facts");
}

static bool edit_counts(const json_t *rec, const char *edit, bool again)
{
	const char *class_ = kl_json_str_or(rec, "class", "");

	if (!*edit || strcmp(kl_json_str_or(rec, "edit", ""), edit))
		return false;
	return !again || !strcmp(class_, "no-change");
}

bool kl_walk_tried(const struct kl_walk *walk, const char *id, const char *surface,
		   const char *edit, bool again)
{
	size_t i;
	json_t *rec;

	if (!strcmp(surface, kl_walk_str(walk, "surface")))
		return true;
	json_array_foreach(kl_walk_steps(walk), i, rec)
		if (!strcmp(kl_json_str_or(rec, "surface", ""), surface))
			return true;
	json_array_foreach(kl_walk_rejections(walk), i, rec) {
		if (!strcmp(kl_json_str_or(rec, "id", ""), id) || edit_counts(rec, edit, again))
			return true;
		if (!strcmp(kl_json_str_or(rec, "surface", ""), surface) &&
		    !kl_rejection_is_of_step(kl_json_str_or(rec, "class", "")))
			return true;
	}
	rec = kl_walk_held_proposal(walk);
	return rec && !strcmp(kl_json_str_or(rec, "id", ""), id);
}

/*
 * Add the token digest of a record or of the expert, if it has one. If the state does not compile,
 * that may be due to a function that does not count: in this case all tokens must be compared.
 */
static void add_tokens(struct kl_map *out, const json_t *rec)
{
	bool failed = !strcmp(kl_json_str_or(rec, "class", ""), "compile");
	const char *tokens = kl_json_str_or(rec, failed ? "all_tokens" : "tokens", "");

	if (*tokens)
		kl_map_put(out, tokens, (void *)rec);
}

void kl_walk_known(struct kl_map *out, const struct kl_walk *walk)
{
	size_t i;
	json_t *rec;

	add_tokens(out, walk->state);
	json_array_foreach(kl_walk_steps(walk), i, rec)
		add_tokens(out, rec);
	json_array_foreach(kl_walk_rejections(walk), i, rec) {
		const char *class_ = kl_json_str_or(rec, "class", "");

		/*
		 * A state of class no-change has the same machine code as a state that was visited,
		 * so do not propose its sources again.
		 */
		if (!kl_rejection_is_of_step(class_) || !strcmp(class_, "no-change"))
			add_tokens(out, rec);
	}
}

static int64_t read_limit(const struct kl_walk *walk, const char *key)
{
	return kl_json_int_or(json_object_get(walk->state, "limits"), key, 0);
}

/*
 * Count the rejected proposals of a model, which cost money, and its timeouts, which may have cost
 * money.
 */
static int64_t count_model_rejections(const struct kl_walk *walk)
{
	int64_t n = kl_json_int_or(walk->state, "timeouts", 0);
	size_t i;
	json_t *rec;

	json_array_foreach(kl_walk_rejections(walk), i, rec)
		n += kl_rewriters_model(kl_json_str_or(rec, "rewriter", "")) != NULL;
	return n;
}

const char *kl_walk_limit(const struct kl_walk *walk)
{
	if ((int64_t)json_array_size(kl_walk_steps(walk)) >= read_limit(walk, "steps"))
		return "step-limit";
	if (kl_json_int_or(walk->state, "row", 0) >= read_limit(walk, "rejections") ||
	    count_model_rejections(walk) >= read_limit(walk, "rejections"))
		return "rejection-limit";
	return NULL;
}

bool kl_walk_has_code(const struct kl_walk *walk, const char *code)
{
	size_t i;
	json_t *visited;

	json_array_foreach(json_object_get(walk->state, "codes"), i, visited)
		if (*code && json_is_string(visited) && !strcmp(json_string_value(visited), code))
			return true;
	return false;
}

static void set_state(struct kl_walk *walk, const struct kl_walk_seen *seen)
{
	const char *code = kl_json_str_or(seen->facts, "code", "");
	json_t *codes = json_object_get(walk->state, "codes");

	if (!codes) {
		codes = json_array();
		kl_json_set(walk->state, "codes", codes);
	}
	if (*code)
		json_array_append_new(codes, json_string(code));
	kl_json_set(walk->state, "facts", seen->facts);
	kl_json_set_int(walk->state, "ns", seen->ns);
	kl_json_set_str(walk->state, "event", seen->event);
}

void kl_walk_expert_passed(struct kl_walk *walk, const struct kl_walk_seen *seen)
{
	set_state(walk, seen);
	kl_json_set_str(walk->state, "expert_event", seen->event);
	set_phase(walk, KL_WALK_ASK);
}

void kl_walk_proposed(struct kl_walk *walk, json_t *proposal)
{
	kl_json_set(walk->state, "pending", proposal);
	set_phase(walk, KL_WALK_JUDGE);
}

void kl_walk_waiting(struct kl_walk *walk)
{
	set_phase(walk, KL_WALK_WAIT);
}

bool kl_walk_exhausted(struct kl_walk *walk)
{
	json_t *held = kl_walk_held_proposal(walk);

	if (!held)
		return false;
	kl_json_set_bool(held, "final", true);
	json_incref(held);
	json_object_del(walk->state, "held");
	kl_walk_proposed(walk, held);
	return true;
}

void kl_walk_await(struct kl_walk *walk, json_t *what)
{
	kl_json_set(walk->state, "awaiting", what);
}

void kl_walk_go_on(struct kl_walk *walk)
{
	json_object_del(walk->state, "awaiting");
}

json_t *kl_walk_awaited(const struct kl_walk *walk)
{
	json_t *awaited = json_object_get(walk->state, "awaiting");

	return json_is_object(awaited) ? awaited : NULL;
}

/* Make the record of a step or rejection from the pending proposal and its verdict. */
static json_t *seen_record(struct kl_walk *walk, const struct kl_walk_seen *seen)
{
	json_t *rec = json_deep_copy(kl_walk_pending(walk));

	json_object_del(rec, "final");
	kl_json_set_str(rec, "commit", seen->commit);
	kl_json_set_str(rec, "surface", seen->surface);
	kl_json_set_str(rec, "event", seen->event);
	kl_json_set_int(rec, "ns", seen->ns);
	json_object_del(walk->state, "pending");
	set_phase(walk, KL_WALK_ASK);
	return rec;
}

void kl_walk_accepted(struct kl_walk *walk, const struct kl_walk_seen *seen)
{
	json_t *rec = seen_record(walk, seen);

	kl_json_set_str(rec, "delta", seen->delta ? seen->delta : "");
	json_array_append_new(kl_walk_steps(walk), rec);
	json_object_del(walk->state, "held");
	kl_json_set_int(walk->state, "row", 0);
	set_state(walk, seen);
	if (*kl_walk_rederiver(walk))
		set_phase(walk, KL_WALK_DERIVE);
}

void kl_walk_rejected(struct kl_walk *walk, const struct kl_walk_seen *seen)
{
	json_t *rec = seen_record(walk, seen);

	kl_json_set_str(rec, "class", seen->class_ ? seen->class_ : "");
	kl_json_set_str(rec, "on", kl_walk_tip(walk));
	json_array_append_new(kl_walk_rejections(walk), rec);
	kl_json_set_str(walk->state, "rejected_last", seen->commit);
	if (kl_rejection_counts(rec))
		kl_json_set_int(walk->state, "row", kl_json_int_or(walk->state, "row", 0) + 1);
}

static void add_count(struct kl_walk *walk, const char *key, size_t n)
{
	if (n)
		kl_json_set_int(walk->state, key, kl_json_int_or(walk->state, key, 0) + (int64_t)n);
}

void kl_walk_skipped(struct kl_walk *walk, size_t equal, size_t unreadable)
{
	add_count(walk, "skipped", equal);
	add_count(walk, "unreadable", unreadable);
}

void kl_walk_timed_out(struct kl_walk *walk)
{
	kl_json_set_int(walk->state, "timeouts", kl_json_int_or(walk->state, "timeouts", 0) + 1);
}

void kl_walk_held(struct kl_walk *walk)
{
	json_t *proposal = kl_walk_pending(walk);

	json_incref(proposal);
	kl_json_set(walk->state, "held", proposal);
	json_object_del(walk->state, "pending");
	set_phase(walk, KL_WALK_ASK);
}

void kl_walk_end(struct kl_walk *walk, const char *termination, int64_t time, const char *author,
		 int offset)
{
	json_object_del(walk->state, "pending");
	json_object_del(walk->state, "held");
	kl_walk_go_on(walk);
	kl_json_set_str(walk->state, "termination", termination);
	kl_json_set_int(walk->state, "end_time", time);
	kl_json_set_int(walk->state, "end_offset", offset);
	kl_json_set_str(walk->state, "author", author);
	set_phase(walk, KL_WALK_FINISH);
}

/* Return the number of commits that a proposal of `history` takes back; 0 for other proposals. */
static size_t count_commits(const json_t *proposal)
{
	return json_array_size(json_object_get(proposal, "commits"));
}

const char *kl_walk_delta(const struct kl_walk_ruling *ruling)
{
	return ruling->contradicted ? "contradicted" :
	       ruling->compound     ? "compound" :
	       ruling->unknown      ? "unknown" :
				      "clean";
}

/* Decide about a proposal that passed and changed the machine code. */
static enum kl_walk_choice decide_step(const char **class_, const char **delta,
				       const struct kl_walk *walk,
				       const struct kl_walk_ruling *ruling)
{
	const json_t *held = kl_walk_held_proposal(walk);
	bool final = kl_json_bool_or(kl_walk_pending(walk), "final", false);
	bool parts = ruling->compound && !ruling->whole;
	size_t n = count_commits(kl_walk_pending(walk));

	*delta = kl_walk_delta(ruling);
	if (final || (!parts && (held || n < 2)))
		return KL_CHOICE_ACCEPT;
	/* a single commit is the smallest part into which the history can divide the step */
	if (count_commits(held) > 1 && n == 1)
		return KL_CHOICE_ACCEPT;
	*delta = "";
	if (!held)
		return KL_CHOICE_HOLD;
	/* a compound part of the held proposal is not better than the whole */
	*class_ = "compound";
	return KL_CHOICE_REJECT;
}

enum kl_walk_choice kl_walk_decide(const char **class_, const char **delta,
				   const struct kl_walk *walk, const struct kl_walk_ruling *ruling)
{
	*class_ = "";
	*delta = "";
	if (ruling->verdict != KL_VERDICT_PASS)
		*class_ = *ruling->class_ ? ruling->class_ : kl_verdict_name(ruling->verdict);
	else if (ruling->same_code)
		*class_ = "no-change";
	else if (ruling->no_effect)
		*class_ = "no-effect";
	else
		return decide_step(class_, delta, walk, ruling);
	return KL_CHOICE_REJECT;
}
