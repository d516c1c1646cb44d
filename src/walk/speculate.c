/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/speculate.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/proc.h"
#include "walk/judge.h"

#define DEFAULT_JOBS 64

/*
 * Negative logarithms of rough probabilities: about eight of ten proposals pass, so that seven
 * passes in a row are about as likely as one fail.
 */
#define COST_PASS 2
#define COST_FAIL 14

/*
 * Maximum iterations of the search per job. A known verdict, or a proposal that does not compile,
 * takes an iteration but no job.
 */
#define STEPS_PER_JOB 16

/* One possible continuation of the walk. */
struct node {
	struct kl_opstate op;
	/*
	 * cost: sum of the costs of all verdicts assumed so far; fails: number of fails among them
	 */
	int cost, fails;
	/* of several nodes with the same cost, the one with the least `order` is taken first */
	size_t order;
};

struct search {
	struct kl_sequencer *real;
	/* the dry copy of the sequencer, which runs on one node at a time */
	struct kl_sequencer dry;
	struct node *queue;
	size_t n, alloc, made;
	json_t *candidates;
	enum kl_verdict verdict; /* the verdict to assume if the gate has none */
	bool assumed; /* the last judgement had no verdict of the gate, so `verdict` was assumed */
};

static void search_release(struct search *search)
{
	for (size_t i = 0; i < search->n; i++)
		kl_opstate_release(&search->queue[i].op);
	free(search->queue);
	kl_rewrite_release(&search->dry.rw);
}

static size_t count_collected(const struct search *search)
{
	return search->real->collected(search->real->payload);
}

/* Add a node to the queue; takes over its contents. */
static void push_node(struct search *search, struct node *node)
{
	KL_GROW(search->queue, search->n + 1, search->alloc);
	node->order = search->made++;
	search->queue[search->n++] = *node;
	*node = (struct node){ .op = { .events = KL_BUF_INIT } };
}

static struct node pop_node(struct search *search)
{
	struct node best;
	size_t at = 0;

	for (size_t i = 1; i < search->n; i++)
		if (search->queue[i].cost < search->queue[at].cost ||
		    (search->queue[i].cost == search->queue[at].cost &&
		     search->queue[i].order < search->queue[at].order))
			at = i;
	best = search->queue[at];
	search->queue[at] = search->queue[--search->n];
	return best;
}

/* Get the gate's judgement. If it is deferred, give it the verdict to assume. */
static int judge_dry(struct kl_judgement **out, const struct kl_surface *candidate,
		     const struct kl_surface *parent, void *payload)
{
	struct search *search = payload;
	int err = search->real->judge(out, candidate, parent, search->real->payload);

	search->assumed = !err && (*out)->deferred;
	if (!search->assumed)
		return err;
	(*out)->deferred = false;
	(*out)->event->verdict = search->verdict;
	(*out)->event->failure = search->verdict == KL_VERDICT_PASS ? KL_FAILURE_NONE :
								      KL_FAILURE_WRONG_ALL;
	return 0;
}

/*
 * Append the candidate of `node` to the list. `node` must be a copy from before the candidate was
 * judged: an assumed verdict moves a node on to its next candidate.
 */
static void add_candidate(struct search *search, const struct node *node, bool alternative)
{
	const json_t *pending = kl_walk_pending(&node->op.walk);
	const struct kl_surface *surface = node->op.pending ? node->op.pending : node->op.state;
	json_t *candidate = json_object();

	kl_json_set_str(candidate, "surface", surface->digest);
	kl_json_set_str(candidate, "action",
			pending ? kl_json_str_or(pending, "action", "") : "expert");
	kl_json_set_str(candidate, "locus", pending ? kl_json_str_or(pending, "locus", "") : "");
	kl_json_set_str(candidate, "rewriter",
			pending ? kl_json_str_or(pending, "rewriter", "") : "");
	if (!*kl_json_str_or(candidate, "action", ""))
		kl_json_set_str(candidate, "action", "older state");
	kl_json_set_bool(candidate, "alternative", alternative);
	json_array_append_new(search->candidates, candidate);
}

/*
 * Run a function of the sequencer on this node. If the gate has no verdict, `verdict` is assumed.
 */
static int step_dry(struct search *search, struct node *node, enum kl_verdict verdict,
		    int (*fn)(struct kl_sequencer *sequencer))
{
	int err;

	search->verdict = verdict;
	search->assumed = false;
	search->dry.op = node->op;
	err = fn(&search->dry);
	node->op = search->dry.op;
	search->dry.op = (struct kl_opstate){ .events = KL_BUF_INIT };
	return err;
}

/*
 * Judge the candidate of `node`. If the gate has no verdict, go on once with a pass and once with a
 * fail. For the expert go on only with a pass, since a fail of the expert ends the walk.
 */
static int fork_verdict(struct search *search, struct node *node)
{
	bool expert = kl_walk_next(&node->op.walk) == KL_WALK_EXPERT;
	struct node failed = { .cost = node->cost + COST_FAIL, .fails = node->fails + 1 };
	size_t before = count_collected(search);
	int err;

	if ((err = kl_opstate_copy(&failed.op, &node->op)) < 0)
		return err;
	err = step_dry(search, node, KL_VERDICT_PASS, expert ? kl_judge_expert : kl_judge_pending);
	if (!err && count_collected(search) > before)
		add_candidate(search, &failed, node->fails > 0);
	if (!err && search->assumed && !expert &&
	    !(err = step_dry(search, &failed, KL_VERDICT_FAIL, kl_judge_pending)))
		push_node(search, &failed);
	kl_opstate_release(&failed.op);
	if (err < 0)
		return err;
	node->cost += search->assumed ? COST_PASS : 0;
	push_node(search, node);
	return 0;
}

static int expand_node(struct search *search, struct node *node)
{
	int err;

	switch (kl_walk_next(&node->op.walk)) {
	case KL_WALK_EXPERT:
	case KL_WALK_JUDGE:
		return fork_verdict(search, node);
	case KL_WALK_DERIVE:
	case KL_WALK_JUDGE_DERIVED:
		/* leave re-derivations out: whatever their outcome, they do not change the walk */
		kl_json_set_str(node->op.walk.state, "phase", "ask");
		json_object_del(node->op.walk.state, "pending");
		kl_surface_free(node->op.pending);
		node->op.pending = NULL;
		push_node(search, node);
		return 0;
	case KL_WALK_ASK:
		if (!(err = step_dry(search, node, KL_VERDICT_OTHER, kl_sequencer_ask)))
			push_node(search, node);
		return err;
	default:
		return 0;
	}
}

/*
 * Return true for an error that ends the search. Any other error only drops the current node.
 */
static bool is_fatal(int err)
{
	return err == KL_EINTR || err == KL_EIO;
}

int kl_speculate(json_t *candidates, struct kl_sequencer *sequencer)
{
	KL_AUTO(search_release) struct search search = { .real = sequencer,
							 .dry = *sequencer,
							 .candidates = candidates };
	size_t most = sequencer->most_jobs ? sequencer->most_jobs : DEFAULT_JOBS;
	struct node first = { .cost = 0 };
	int err;

	search.dry.op = (struct kl_opstate){ .events = KL_BUF_INIT };
	search.dry.rw = (struct kl_rewrite){ .repo = NULL };
	search.dry.judge = judge_dry;
	search.dry.payload = &search;
	search.dry.progress = NULL;
	if ((err = kl_opstate_copy(&first.op, &sequencer->op)) < 0)
		return err;
	/* the job of this candidate has already been collected */
	add_candidate(&search, &first, false);
	push_node(&search, &first);
	for (size_t i = 0; search.n && count_collected(&search) < most && i < most * STEPS_PER_JOB;
	     i++) {
		struct node node = pop_node(&search);

		kl_progress_step(sequencer->progress, "looking ahead: %zu job%s",
				 count_collected(&search),
				 count_collected(&search) == 1 ? "" : "s");
		err = expand_node(&search, &node);
		kl_opstate_release(&node.op);
		if (is_fatal(err))
			return err;
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_error_clear();
	}
	return 0;
}
