/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/roundtrip.h"

#include <stdio.h>
#include <string.h>

#include "apply/card_commit.h"
#include "base/error.h"
#include "event/note_writer.h"
#include "repo/refs.h"

#define PREFIX "refs/heads/klineage/lineage/"
#define MAX_STEPS 10000
#define ONE 1000000

void kl_roundtrip_release(struct kl_roundtrip *rt)
{
	for (size_t i = 0; i < rt->n; i++)
		kl_materialize_release(&rt->v[i].m);
	free(rt->v);
	kl_surface_free(rt->root);
	kl_surface_free(rt->goal);
	free(rt->lineage);
	*rt = (struct kl_roundtrip){ 0 };
}

static int find_lineage(struct kl_roundtrip *out, struct kl_repo *r, const char *lineage)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	const char *bare = strncmp(lineage, PREFIX, strlen(PREFIX)) ? lineage :
								      lineage + strlen(PREFIX);
	KL_AUTO(kl_freep) char *prefix = kl_asprintf(PREFIX "%s%s", bare,
						     strchr(bare, '/') ? "" : "/");
	int err = kl_refs_list(&refs, r, prefix);

	for (size_t i = 0; !err && i < refs.n; i++) {
		if (strchr(bare, '/') && strcmp(refs.ref[i].name, prefix))
			continue;
		if (out->lineage)
			return kl_error(KL_EUSAGE,
					"'%s' has several lineages; say which, as "
					"<workload>/<name>",
					bare);
		out->lineage = kl_strdup(refs.ref[i].name + strlen(PREFIX));
		out->expert = refs.ref[i].oid;
	}
	if (!err && !out->lineage)
		return kl_error(KL_ENOTFOUND, "no lineage '%s' here", bare);
	return err;
}

static int find_first(struct kl_roundtrip *out, struct kl_repo *r)
{
	out->first = out->expert;
	for (int i = 0; i < MAX_STEPS; i++) {
		KL_AUTO(kl_freep) git_oid *parent = NULL;
		size_t n = 0;
		int err = kl_repo_parents(&parent, &n, r, &out->first);

		if (err < 0 || !n)
			return err;
		out->first = parent[0];
	}
	return kl_error(KL_EINVALID, "lineage '%s' has more than %d steps", out->lineage,
			MAX_STEPS);
}

static int read_state(struct kl_surface **out, struct kl_repo *r, const git_oid *commit)
{
	git_oid tree;
	int err = kl_repo_tree_of(&tree, r, commit);

	return err < 0 ? err : kl_surface_from_tree(out, r, &tree, "");
}

int kl_roundtrip_begin(struct kl_roundtrip *out, struct kl_repo *r, const char *lineage)
{
	int err;

	*out = (struct kl_roundtrip){ 0 };
	if ((err = find_lineage(out, r, lineage)) < 0 || (err = find_first(out, r)) < 0 ||
	    (err = read_state(&out->root, r, &out->first)) < 0)
		return err;
	return read_state(&out->goal, r, &out->expert);
}

/* the note of the best says how it compares with K* */
static int note_event(const struct kl_materialize_opts *o, const git_oid *commit,
		      struct kl_event *event)
{
	KL_AUTO(kl_noting_release) struct kl_noting n = { .repo = o->repo };
	int err = kl_noting_add(&n, commit, event);

	return err < 0 ? err : kl_noting_write(&n);
}

static int weigh_trial(struct kl_roundtrip_trial *t, const struct kl_judgement *v,
		       const struct kl_surface *goal, struct kl_gate *g)
{
	bool same;
	int err;

	if (v->event->verdict == KL_VERDICT_FAIL)
		return 0; /* right before, and not any more: nothing is recovered */
	if (v->event->verdict != KL_VERDICT_PASS)
		return kl_error(KL_ECANNOT, "the gate could not tell: %s",
				*v->event->message ? v->event->message :
						     kl_verdict_name(v->event->verdict));
	if ((err = kl_made_same_code(&same, g, v, goal)) < 0)
		return err == KL_ENO ? kl_error_in(KL_ECANNOT, "K* is not what it was") : err;
	kl_made_speed(&t->recovered, v->event);
	if (same)
		t->recovered = (struct kl_card_ratio){ ONE, ONE, ONE };
	return t->recovered.ppm ?
		       0 :
		       kl_error(KL_ECANNOT, "what it made could not be timed against K* here");
}

static int compare_trial(struct kl_roundtrip_trial *t, const struct kl_roundtrip *rt,
			 const struct kl_materialize_opts *o)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	const struct kl_mat_node *best = &t->m.node[t->m.best];
	int err;

	if (!strcmp(best->state->digest, rt->goal->digest)) {
		t->recovered = (struct kl_card_ratio){ ONE, ONE, ONE };
		return 0;
	}
	if ((err = kl_made_judge(&v, o->gate, best->state, rt->goal, false)) < 0 ||
	    (err = weigh_trial(t, v, rt->goal, o->gate)) < 0)
		return err;
	snprintf(t->event, sizeof(t->event), "%s", v->event->id);
	return note_event(o, &best->commit, v->event);
}

/* does the interval leave it open, or was something that may be faster not built on? */
static bool is_noisy(const struct kl_roundtrip_trial *t)
{
	bool hidden = t->recovered.lo < KL_ROUNDTRIP_SUCCESS &&
		      t->recovered.hi >= KL_ROUNDTRIP_SUCCESS;

	for (size_t i = 0; !t->success && i < t->m.n; i++)
		hidden |= t->m.v[i].outcome == KL_MAT_NODE && t->m.v[i].speed == KL_SPEED_AMBIGUOUS;
	return hidden;
}

static void name_of(char name[65], const struct kl_materialize_opts *o, size_t trial)
{
	snprintf(name, 65, "%.60s-%zu", o->name, trial);
}

/* what is of the lineage */
static struct kl_materialize_opts opts_of(const struct kl_roundtrip *rt,
					  const struct kl_materialize_opts *o)
{
	struct kl_materialize_opts run = *o;

	run.root = rt->root;
	run.commit = rt->first;
	return run;
}

int kl_roundtrip_check(const struct kl_roundtrip *rt, const struct kl_materialize_opts *o,
		       size_t trials)
{
	struct kl_materialize_opts run = opts_of(rt, o);
	char name[65];
	int err = 0;

	run.name = name;
	for (size_t i = 1; !err && i <= trials; i++) {
		name_of(name, o, i);
		err = kl_materialize_check(&run);
	}
	return err;
}

int kl_roundtrip_trial(struct kl_roundtrip *rt, const struct kl_materialize_opts *o)
{
	struct kl_materialize_opts run = opts_of(rt, o);
	struct kl_roundtrip_trial *t;
	int err;

	KL_GROW(rt->v, rt->n + 1, rt->alloc);
	t = &rt->v[rt->n++];
	*t = (struct kl_roundtrip_trial){ .recovered = { 0 } };
	rt->arm = o->arm;
	rt->held_out = o->without != NULL;
	name_of(t->name, o, rt->n);
	run.name = t->name;
	if ((err = kl_materialize(&t->m, &run)) < 0 || (err = compare_trial(t, rt, &run)) < 0)
		return kl_error_in(err, "trial %zu", rt->n);
	t->success = t->recovered.ppm >= KL_ROUNDTRIP_SUCCESS;
	t->noisy = is_noisy(t);
	rt->successes += t->success;
	rt->noisy += t->noisy;
	return 0;
}
