/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/materialize.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "gate/noting.h"
#include "lineage/record.h"
#include "repo/refs.h"
#include "skill/carrier.h"
#include "skill/made.h"

#define MAX_TRIES 256		/* cards tried in one run, on all nodes */
#define BUILD_ON 3		/* steps more on a node that is not faster */

const char *kl_mat_outcome_name(enum kl_mat_outcome o)
{
	static const char *const name[] = { "left", "applies", "known", "fail", "node", "best" };

	return name[o];
}

void kl_materialize_release(struct kl_materialization *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].card);
		free(m->v[i].why);
	}
	for (size_t i = 0; i < m->nnode; i++)
		kl_surface_free(m->node[i].state);
	free(m->v);
	free(m->node);
	*m = (struct kl_materialization){ 0 };
}

char *kl_materialize_name(const char *platform, const git_oid *commit)
{
	const char *leaf = strrchr(platform, '/');
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	return kl_asprintf("%s-%.7s", leaf ? leaf + 1 : platform, hex);
}

void kl_materialize_refs(char branch[256], char chain[256], const char *workload, const char *name)
{
	snprintf(branch, 256, "refs/heads/klineage/materialize/%s/%s", workload, name);
	snprintf(chain, 256, "refs/klineage/nodes/%s/%s", workload, name);
}

struct work {
	const struct kl_materialize_opts *o;
	struct kl_materialization *m;
	char *platform;
};

static void work_release(struct work *w)
{
	free(w->platform);
}

static size_t add_node(struct work *w, const git_oid *commit, struct kl_surface *state, int depth)
{
	struct kl_materialization *m = w->m;

	KL_GROW(m->node, m->nnode + 1, m->node_alloc);
	m->node[m->nnode] = (struct kl_mat_node){ .commit = *commit, .state = state, .depth = depth };
	return m->nnode++;
}

/* --- which cards ----------------------------------------------------------------------------- */

static int pool_of(struct kl_retrieval *out, const struct work *w, size_t node)
{
	const struct kl_mat_node *n = &w->m->node[node];
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;
	struct kl_target t = { .known = KL_KNOWN_INIT };
	int err = kl_target_of_commit(&t, w->o->tax, w->o->repo, n->state, &n->commit, w->platform);

	opts.statuses = w->o->statuses;
	if (!err)
		err = kl_retrieve(out, w->o->index, &t, &opts);
	kl_target_release(&t);
	return err;
}

static bool was_tried(const struct work *w, const char *card, size_t node)
{
	for (size_t i = 0; i < w->m->n; i++)
		if (w->m->v[i].on == node && !strcmp(w->m->v[i].card, card))
			return true;
	return false;
}

static bool is_known(const struct work *w, const struct kl_surface *s)
{
	for (size_t i = 0; i < w->m->nnode; i++)
		if (!strcmp(w->m->node[i].state->digest, s->digest))
			return true;
	return false;
}

/* --- one card on one node ---------------------------------------------------------------------- */

/* is it faster than the best, too? it was compared with the node that it stands on */
static int beats_best(bool *out, const struct work *w, const struct kl_surface *s, size_t on)
{
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = NULL;
	struct kl_card_ratio ratio;
	int err;

	*out = true;
	if (on == w->m->best)
		return 0;
	err = kl_made_judge(&v, w->o->gate, s, w->m->node[w->m->best].state, false);
	if (!err)
		*out = !strcmp(v->verdict, "pass") && !strcmp(kl_made_speed(&ratio, v->event), "fast");
	return err;
}

static int weigh(struct kl_mat_try *t, const struct work *w, const struct kl_verdict *v,
		 const struct kl_surface *s)
{
	bool best = false;
	int err;

	snprintf(t->event, sizeof(t->event), "%s", kl_record_id(v->event));
	if (strcmp(v->verdict, "pass")) {
		t->outcome = KL_MAT_FAIL;
		t->why = kl_strdup(v->class_[0] ? v->class_ : v->verdict);
		return 0;
	}
	snprintf(t->speed, sizeof(t->speed), "%s", kl_made_speed(&t->ratio, v->event));
	t->outcome = KL_MAT_NODE;
	if (strcmp(t->speed, "fast"))
		return 0;
	if (!(err = beats_best(&best, w, s, t->on)) && best)
		t->outcome = KL_MAT_BEST;
	return err;
}

static int keep(struct kl_mat_try *t, struct work *w, const struct kl_card *c, json_t *event,
		struct kl_surface *to)
{
	struct kl_materialization *m = w->m;
	const struct kl_mat_node on = m->node[t->on];
	bool best = t->outcome == KL_MAT_BEST;
	struct kl_made made = {
		.repo = w->o->repo, .parent = on.commit, .from = on.state, .to = to, .card = c,
		.blob = t->blob, .how = t->how, .number = on.depth + 1,
		.class_ = t->outcome == KL_MAT_FAIL ? t->why : "", .event = event, .chain = m->chain,
		.branch = best ? m->branch : NULL,
	};
	git_oid commit;
	int err;

	if (best && (m->best || w->o->go_on))
		made.branch_was = m->node[m->best].commit;
	if ((err = kl_made_put(&commit, &made)) < 0) {
		kl_surface_free(to);
		return err;
	}
	/* a failed one is a node that nothing is built on, so that it is not judged twice */
	t->node = add_node(w, &commit, to, on.depth + 1);
	if (best)
		m->best = t->node;
	return 0;
}

static int judge_card(struct kl_mat_try *t, struct work *w, const struct kl_card *c, struct kl_surface **to)
{
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = NULL;
	int err = kl_made_judge(&v, w->o->gate, *to, w->m->node[t->on].state, false);

	if (!err)
		err = weigh(t, w, v, *to);
	return err ? err : keep(t, w, c, v->event, kl_steal(to));
}

static int try_into(struct kl_mat_try *t, struct work *w, const struct kl_card *c)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *to = NULL;
	struct kl_carrier_try carrier = {
		.repo = w->o->repo, .library = w->o->library,
		.jail = w->o->gate ? kl_gate_jail(w->o->gate) : NULL, .card = c,
		.state = w->m->node[t->on].state,
	};
	int err = kl_carrier_apply(&to, &t->how, &carrier);

	if (err == KL_ENO) {
		t->outcome = KL_MAT_LEFT;
		t->why = kl_strdup(kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err)
		return err;
	t->outcome = w->o->dry ? KL_MAT_APPLIES : KL_MAT_KNOWN;
	return w->o->dry || is_known(w, to) ? 0 : judge_card(t, w, c, &to);
}

/* the card as it is now; `*tried` is where its outcome stands */
static int try_card(size_t *tried, struct kl_card **card, struct work *w, size_t on,
		    const struct kl_retrieved *r)
{
	struct kl_materialization *m = w->m;
	struct kl_mat_try t = { .on = on, .status = r->status, .how = "" };
	int err = kl_index_load(card, w->o->index, w->o->library, r->card);

	if (err)
		return err;
	t.card = kl_strdup(r->id);
	kl_oid_hex(t.blob, &kl_index_card(w->o->index, r->card)->blob);
	err = try_into(&t, w, *card);
	if (!t.why)
		t.why = kl_strdup("");
	KL_GROW(m->v, m->n + 1, m->alloc);
	m->v[m->n] = t;
	*tried = m->n++;
	return err;
}

/* --- the order ---------------------------------------------------------------------------------- */

/*
 * Every card of the pool that `only` names (NULL: all), until the best moves. What is correct and not faster
 * is built on, `left` steps more, by what its card enables.
 */
static int try_pool(struct work *w, size_t node, const struct kl_strvec *only, int left)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	size_t best = w->m->best;
	int err = pool_of(&pool, w, node);

	if (!node && !only)
		w->m->offered = pool.n;
	for (size_t i = 0; !err && i < pool.n && w->m->n < MAX_TRIES && w->m->best == best; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		size_t tried;

		if ((only && !kl_strvec_has(only, pool.v[i].id)) || was_tried(w, pool.v[i].id, node))
			continue;
		err = try_card(&tried, &card, w, node, &pool.v[i]);
		if (!err && w->m->v[tried].outcome == KL_MAT_NODE && card->enables.n && left)
			err = try_pool(w, w->m->v[tried].node, &card->enables, left - 1);
	}
	return err;
}

static int climb(struct work *w)
{
	size_t at;
	int err;

	do {
		at = w->m->best;
		err = try_pool(w, at, NULL, BUILD_ON);
	} while (!err && w->m->best != at);
	return err;
}

/* --- the root ----------------------------------------------------------------------------------- */

static int judge_root(struct work *w)
{
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = NULL;
	KL_AUTO(kl_noting_release) struct kl_noting n = { .repo = w->o->repo };
	int err = kl_made_judge(&v, w->o->gate, w->o->root, NULL, false);

	if (err)
		return err;
	if (strcmp(v->verdict, "pass"))
		return kl_error(KL_ENO, "the root fails the gate%s%s: %s", v->class_[0] ? ", " : "",
				v->class_, v->message ? v->message : v->verdict);
	if ((err = kl_noting_add(&n, &w->o->commit, v->event)) < 0)
		return err;
	return kl_noting_write(&n);
}

static int can_begin(const struct work *w)
{
	int err;

	if (w->o->go_on || w->o->dry)
		return 0;
	err = kl_refs_can_create(w->o->repo, w->m->branch);
	if (err == KL_EEXISTS)
		kl_error_hint(err, "'--root best' goes on from it, '--name' gives another one");
	return err;
}

static int find_platform(struct work *w)
{
	struct kl_platform p;
	int err;

	if (w->o->platform || !w->o->gate) {
		w->platform = w->o->platform ? kl_strdup(w->o->platform) : NULL;
		return 0;
	}
	err = kl_gate_platform(&p, w->o->gate, w->o->root);
	if (!err)
		w->platform = kl_strdup(p.id);
	return err;
}

int kl_materialize(struct kl_materialization *out, const struct kl_materialize_opts *o)
{
	KL_AUTO(work_release) struct work w = { .o = o, .m = out };
	struct kl_surface *root = NULL;
	int err;

	*out = (struct kl_materialization){ 0 };
	kl_materialize_refs(out->branch, out->chain, o->root->contract->workload, o->name);
	if ((err = find_platform(&w)) < 0 || (err = can_begin(&w)) < 0 ||
	    (err = kl_surface_with(&root, o->root, NULL, 0)) < 0)
		return err;
	add_node(&w, &o->commit, root, 0);
	if (!o->dry && (err = judge_root(&w)) < 0)
		return err;
	return climb(&w);
}
