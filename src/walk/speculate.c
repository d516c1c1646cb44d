/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/speculate.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/proc.h"
#include "walk/judge.h"

#define DEFAULT_JOBS 64

/*
 * Logarithms of how likely, roughly: of ten proposals eight pass, so seven acceptances in a row
 * are about as likely as one rejection.
 */
#define COST_PASS 2
#define COST_FAIL 14

/* Steps of thinking for each job: known verdicts and proposals that do not compile cost no job. */
#define THOUGHTS 16

/* A walk as it might stand. */
struct node {
	struct kl_opstate op;
	int cost, fails;
	size_t order; /* of equals the older first */
};

struct thinking {
	struct kl_sequencer *real;
	struct kl_sequencer dry; /* works on one node at a time */
	struct node *queue;
	size_t n, alloc, made;
	json_t *candidates;
	/* of the judgement that is being made up */
	enum kl_verdict verdict;
	bool assumed;
};

static void thinking_release(struct thinking *thinking)
{
	for (size_t i = 0; i < thinking->n; i++)
		kl_opstate_release(&thinking->queue[i].op);
	free(thinking->queue);
	kl_rewrite_release(&thinking->dry.rw);
}

static size_t count_collected(const struct thinking *thinking)
{
	return thinking->real->collected(thinking->real->payload);
}

/* takes what the node holds */
static void push_node(struct thinking *thinking, struct node *node)
{
	KL_GROW(thinking->queue, thinking->n + 1, thinking->alloc);
	node->order = thinking->made++;
	thinking->queue[thinking->n++] = *node;
	*node = (struct node){ .op = { .events = KL_BUF_INIT } };
}

static struct node pop_node(struct thinking *thinking)
{
	struct node best;
	size_t at = 0;

	for (size_t i = 1; i < thinking->n; i++)
		if (thinking->queue[i].cost < thinking->queue[at].cost ||
		    (thinking->queue[i].cost == thinking->queue[at].cost &&
		     thinking->queue[i].order < thinking->queue[at].order))
			at = i;
	best = thinking->queue[at];
	thinking->queue[at] = thinking->queue[--thinking->n];
	return best;
}

/* the gate's word where it has one, else the one that is assumed now */
static int judge_ahead(struct kl_judgement **out, const struct kl_surface *candidate,
		       const struct kl_surface *parent, void *payload)
{
	struct thinking *thinking = payload;
	int err = thinking->real->judge(out, candidate, parent, thinking->real->payload);

	thinking->assumed = !err && (*out)->deferred;
	if (!thinking->assumed)
		return err;
	(*out)->deferred = false;
	(*out)->event->verdict = thinking->verdict;
	(*out)->event->failure = thinking->verdict == KL_VERDICT_PASS ? KL_FAILURE_NONE :
									KL_FAILURE_WRONG_ALL;
	return 0;
}

/* `node` as it was before its verdict was made up */
static void remember_node(struct thinking *thinking, const struct node *node, bool alternative)
{
	const json_t *profile = kl_walk_pending(&node->op.walk);
	const struct kl_surface *what = node->op.pending ? node->op.pending : node->op.state;
	json_t *child = json_object();

	kl_json_set_str(child, "surface", what->digest);
	kl_json_set_str(child, "action",
			profile ? kl_json_str_or(profile, "action", "") : "expert");
	kl_json_set_str(child, "locus", profile ? kl_json_str_or(profile, "locus", "") : "");
	kl_json_set_str(child, "rewriter", profile ? kl_json_str_or(profile, "rewriter", "") : "");
	if (!*kl_json_str_or(child, "action", ""))
		kl_json_set_str(child, "action", "older state");
	kl_json_set_bool(child, "alternative", alternative);
	json_array_append_new(thinking->candidates, child);
}

/* the sequencer's own step on this node */
static int step_ahead(struct thinking *thinking, struct node *node, enum kl_verdict verdict,
		      int (*fn)(struct kl_sequencer *s))
{
	int err;

	thinking->verdict = verdict;
	thinking->assumed = false;
	thinking->dry.op = node->op;
	err = fn(&thinking->dry);
	node->op = thinking->dry.op;
	thinking->dry.op = (struct kl_opstate){ .events = KL_BUF_INIT };
	return err;
}

/* Both ways, if nobody knows; the expert passes, or there is no walk. */
static int fork_verdict(struct thinking *thinking, struct node *node)
{
	bool expert = kl_walk_next(&node->op.walk) == KL_WALK_EXPERT;
	struct node other = { .cost = node->cost + COST_FAIL, .fails = node->fails + 1 };
	size_t before = count_collected(thinking);
	int err;

	if ((err = kl_opstate_copy(&other.op, &node->op)) < 0)
		return err;
	err = step_ahead(thinking, node, KL_VERDICT_PASS,
			 expert ? kl_judge_expert : kl_judge_pending);
	if (!err && count_collected(thinking) > before)
		remember_node(thinking, &other, node->fails > 0);
	if (!err && thinking->assumed && !expert &&
	    !(err = step_ahead(thinking, &other, KL_VERDICT_FAIL, kl_judge_pending)))
		push_node(thinking, &other);
	kl_opstate_release(&other.op);
	if (err < 0)
		return err;
	node->cost += thinking->assumed ? COST_PASS : 0;
	push_node(thinking, node);
	return 0;
}

static int think_ahead(struct thinking *thinking, struct node *node)
{
	int err;

	switch (kl_walk_next(&node->op.walk)) {
	case KL_WALK_EXPERT:
	case KL_WALK_JUDGE:
		return fork_verdict(thinking, node);
	case KL_WALK_DERIVE:
	case KL_WALK_JUDGE_DERIVED:
		/* whatever becomes of it, the walk goes on from the same state */
		kl_json_set_str(node->op.walk.state, "phase", "ask");
		json_object_del(node->op.walk.state, "pending");
		kl_surface_free(node->op.pending);
		node->op.pending = NULL;
		push_node(thinking, node);
		return 0;
	case KL_WALK_ASK:
		if (!(err = step_ahead(thinking, node, KL_VERDICT_OTHER, kl_sequencer_ask)))
			push_node(thinking, node);
		return err;
	default:
		return 0;
	}
}

/* What is wrong with a thought is no trouble of the walk's, unless the machine is to blame. */
static bool is_fatal(int err)
{
	return err == KL_EINTR || err == KL_EIO;
}

int kl_speculate(json_t *candidates, struct kl_sequencer *sequencer)
{
	KL_AUTO(thinking_release) struct thinking thinking = { .real = sequencer,
							       .dry = *sequencer,
							       .candidates = candidates };
	size_t most = sequencer->most_jobs ? sequencer->most_jobs : DEFAULT_JOBS;
	struct node first = { .cost = 0 };
	int err;

	thinking.dry.op = (struct kl_opstate){ .events = KL_BUF_INIT };
	thinking.dry.rw = (struct kl_rewrite){ .repo = NULL };
	thinking.dry.judge = judge_ahead;
	thinking.dry.payload = &thinking;
	thinking.dry.progress = NULL;
	if ((err = kl_opstate_copy(&first.op, &sequencer->op)) < 0)
		return err;
	remember_node(&thinking, &first, false); /* that one waits already */
	push_node(&thinking, &first);
	for (size_t i = 0; thinking.n && count_collected(&thinking) < most && i < most * THOUGHTS;
	     i++) {
		struct node node = pop_node(&thinking);

		kl_progress_step(sequencer->progress, "what may follow: %zu job%s",
				 count_collected(&thinking),
				 count_collected(&thinking) == 1 ? "" : "s");
		err = think_ahead(&thinking, &node);
		kl_opstate_release(&node.op);
		if (is_fatal(err))
			return err;
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_error_clear();
	}
	return 0;
}
