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

static void thinking_release(struct thinking *t)
{
	for (size_t i = 0; i < t->n; i++)
		kl_opstate_release(&t->queue[i].op);
	free(t->queue);
	kl_rewrite_release(&t->dry.rw);
}

static size_t count_collected(const struct thinking *t)
{
	return t->real->collected(t->real->payload);
}

/* takes what the node holds */
static void push_node(struct thinking *t, struct node *n)
{
	KL_GROW(t->queue, t->n + 1, t->alloc);
	n->order = t->made++;
	t->queue[t->n++] = *n;
	*n = (struct node){ .op = { .events = KL_BUF_INIT } };
}

static struct node pop_node(struct thinking *t)
{
	struct node best;
	size_t at = 0;

	for (size_t i = 1; i < t->n; i++)
		if (t->queue[i].cost < t->queue[at].cost ||
		    (t->queue[i].cost == t->queue[at].cost &&
		     t->queue[i].order < t->queue[at].order))
			at = i;
	best = t->queue[at];
	t->queue[at] = t->queue[--t->n];
	return best;
}

/* the gate's word where it has one, else the one that is assumed now */
static int judge_ahead(struct kl_judgement **out, const struct kl_surface *candidate,
		       const struct kl_surface *parent, void *payload)
{
	struct thinking *t = payload;
	int err = t->real->judge(out, candidate, parent, t->real->payload);

	t->assumed = !err && (*out)->deferred;
	if (!t->assumed)
		return err;
	(*out)->deferred = false;
	(*out)->event->verdict = t->verdict;
	(*out)->event->failure = t->verdict == KL_VERDICT_PASS ? KL_FAILURE_NONE :
								 KL_FAILURE_WRONG_ALL;
	return 0;
}

/* `n` as it was before its verdict was made up */
static void remember_node(struct thinking *t, const struct node *n, bool alternative)
{
	const json_t *p = kl_walk_pending(&n->op.walk);
	const struct kl_surface *what = n->op.pending ? n->op.pending : n->op.state;
	json_t *c = json_object();

	kl_json_set_str(c, "surface", what->digest);
	kl_json_set_str(c, "action", p ? kl_json_str_or(p, "action", "") : "expert");
	kl_json_set_str(c, "locus", p ? kl_json_str_or(p, "locus", "") : "");
	kl_json_set_str(c, "rewriter", p ? kl_json_str_or(p, "rewriter", "") : "");
	if (!*kl_json_str_or(c, "action", ""))
		kl_json_set_str(c, "action", "older state");
	kl_json_set_bool(c, "alternative", alternative);
	json_array_append_new(t->candidates, c);
}

/* the sequencer's own step on this node */
static int step_ahead(struct thinking *t, struct node *n, enum kl_verdict verdict,
		      int (*fn)(struct kl_sequencer *s))
{
	int err;

	t->verdict = verdict;
	t->assumed = false;
	t->dry.op = n->op;
	err = fn(&t->dry);
	n->op = t->dry.op;
	t->dry.op = (struct kl_opstate){ .events = KL_BUF_INIT };
	return err;
}

/* Both ways, if nobody knows; the expert passes, or there is no walk. */
static int fork_verdict(struct thinking *t, struct node *n)
{
	bool expert = kl_walk_next(&n->op.walk) == KL_WALK_EXPERT;
	struct node other = { .cost = n->cost + COST_FAIL, .fails = n->fails + 1 };
	size_t before = count_collected(t);
	int err;

	if ((err = kl_opstate_copy(&other.op, &n->op)) < 0)
		return err;
	err = step_ahead(t, n, KL_VERDICT_PASS, expert ? kl_judge_expert : kl_judge_pending);
	if (!err && count_collected(t) > before)
		remember_node(t, &other, n->fails > 0);
	if (!err && t->assumed && !expert &&
	    !(err = step_ahead(t, &other, KL_VERDICT_FAIL, kl_judge_pending)))
		push_node(t, &other);
	kl_opstate_release(&other.op);
	if (err < 0)
		return err;
	n->cost += t->assumed ? COST_PASS : 0;
	push_node(t, n);
	return 0;
}

static int think_ahead(struct thinking *t, struct node *n)
{
	int err;

	switch (kl_walk_next(&n->op.walk)) {
	case KL_WALK_EXPERT:
	case KL_WALK_JUDGE:
		return fork_verdict(t, n);
	case KL_WALK_DERIVE:
	case KL_WALK_JUDGE_DERIVED:
		/* whatever becomes of it, the walk goes on from the same state */
		kl_json_set_str(n->op.walk.state, "phase", "ask");
		json_object_del(n->op.walk.state, "pending");
		kl_surface_free(n->op.pending);
		n->op.pending = NULL;
		push_node(t, n);
		return 0;
	case KL_WALK_ASK:
		if (!(err = step_ahead(t, n, KL_VERDICT_OTHER, kl_sequencer_ask)))
			push_node(t, n);
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

int kl_speculate(json_t *candidates, struct kl_sequencer *s)
{
	KL_AUTO(thinking_release) struct thinking t = { .real = s,
							.dry = *s,
							.candidates = candidates };
	size_t most = s->most_jobs ? s->most_jobs : DEFAULT_JOBS;
	struct node first = { .cost = 0 };
	int err;

	t.dry.op = (struct kl_opstate){ .events = KL_BUF_INIT };
	t.dry.rw = (struct kl_rewrite){ .repo = NULL };
	t.dry.judge = judge_ahead;
	t.dry.payload = &t;
	t.dry.progress = NULL;
	if ((err = kl_opstate_copy(&first.op, &s->op)) < 0)
		return err;
	remember_node(&t, &first, false); /* that one waits already */
	push_node(&t, &first);
	for (size_t i = 0; t.n && count_collected(&t) < most && i < most * THOUGHTS; i++) {
		struct node n = pop_node(&t);

		kl_progress_step(s->progress, "what may follow: %zu job%s", count_collected(&t),
				 count_collected(&t) == 1 ? "" : "s");
		err = think_ahead(&t, &n);
		kl_opstate_release(&n.op);
		if (is_fatal(err))
			return err;
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_error_clear();
	}
	return 0;
}
