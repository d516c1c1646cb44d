/* SPDX-License-Identifier: Apache-2.0 */
#include "apply/materialize.h"

#include <stdio.h>
#include <string.h>

#include "apply/card_commit.h"
#include "apply/carrier.h"
#include "apply/materialize_parts.h"
#include "base/error.h"
#include "base/fault.h"
#include "repo/refs.h"

static const git_oid none;

const char *kl_mat_outcome_name(enum kl_mat_outcome o)
{
	static const char *const name[] = { "left", "applies", "known", "unused",
					    "fail", "node",    "best" };

	return name[o];
}

void kl_materialize_release(struct kl_materialization *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->v[i].card);
		free(m->v[i].source);
		free(m->v[i].why);
	}
	for (size_t i = 0; i < m->nnode; i++) {
		kl_surface_free(m->node[i].state);
		kl_event_free(m->node[i].event);
	}
	free(m->v);
	free(m->node);
	free(m->ended);
	kl_strvec_release(&m->left_out);
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

int kl_materialize_begun(git_oid *root, struct kl_repo *r, const char *workload, const char *name)
{
	struct kl_mat_log log;
	char branch[256], chain[256];
	int err;

	kl_materialize_refs(branch, chain, workload, name);
	if ((err = kl_mat_log_load(&log, r, chain)) < 0)
		return err;
	if (!log.there)
		err = kl_error(KL_ENOTFOUND, "nothing was begun under the name '%s/%s'", workload,
			       name);
	*root = log.root;
	kl_mat_log_release(&log);
	return err;
}

static void mat_release(struct kl_mat *w)
{
	kl_mat_log_release(&w->log);
	free(w->platform);
}

static size_t add_node(struct kl_mat *w, const git_oid *commit, struct kl_surface *state, int depth)
{
	struct kl_materialization *m = w->m;

	KL_GROW(m->node, m->nnode + 1, m->node_alloc);
	m->node[m->nnode] = (struct kl_mat_node){ .commit = *commit,
						  .state = state,
						  .depth = depth };
	return m->nnode++;
}

/* --- which cards ----------------------------------------------------------------------------- */

static bool learned_from(const struct kl_index *ix, size_t card, const char *lineage)
{
	const struct kl_index_list l = kl_index_card(ix, card)->evidence;
	const uint32_t *v = kl_index_items(ix, l);

	for (size_t i = 0; i + 1 < l.n; i += 2)
		if (!strcmp(kl_index_string(ix, v[i]), lineage))
			return true;
	return false;
}

static void leave_out(struct kl_retrieval *r, const struct kl_mat *w)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (!learned_from(w->o->index, r->v[i].card, w->o->without)) {
			r->v[n++] = r->v[i];
			continue;
		}
		KL_GROW(r->dropped, r->ndropped + 1, r->dropped_alloc);
		r->dropped[r->ndropped++] = r->v[i];
	}
	r->n = n;
}

int kl_mat_pool(struct kl_retrieval *out, const struct kl_mat *w, size_t node)
{
	const struct kl_mat_node *n = &w->m->node[node];
	struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;
	struct kl_target t = { .known = KL_KNOWN_INIT };
	int err = kl_target_of_commit(&t, w->o->tax, w->o->repo, n->state, &n->commit, w->platform);

	opts.statuses = w->o->statuses;
	if (!err)
		err = kl_retrieve(out, w->o->index, &t, &opts);
	if (!err && w->o->without)
		leave_out(out, w);
	kl_target_release(&t);
	return err;
}

static bool was_tried(const struct kl_mat *w, const char *card, size_t node)
{
	for (size_t i = 0; i < w->m->n; i++)
		if (w->m->v[i].on == node && !strcmp(w->m->v[i].by, "card") &&
		    !strcmp(w->m->v[i].card, card))
			return true;
	return false;
}

static bool is_known(const struct kl_mat *w, const struct kl_surface *s)
{
	for (size_t i = 0; i < w->m->nnode; i++)
		if (!strcmp(w->m->node[i].state->digest, s->digest))
			return true;
	return false;
}

/* --- one edit of one node --------------------------------------------------------------------- */

/* is it faster than the best, too? it was compared with the node that it stands on */
static int beats_best(bool *out, const struct kl_mat *w, const struct kl_surface *s, size_t on)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	struct kl_card_ratio ratio;
	int err;

	*out = true;
	if (on == w->m->best)
		return 0;
	err = kl_made_judge(&v, w->o->gate, s, w->m->node[w->m->best].state, false);
	if (!err)
		*out = v->event->verdict == KL_VERDICT_PASS &&
		       kl_made_speed(&ratio, v->event) == KL_SPEED_FAST;
	return err;
}

static void set_outcome(struct kl_mat_try *t, const struct kl_event *event)
{
	snprintf(t->event, sizeof(t->event), "%s", event->id);
	t->speed = kl_made_speed(&t->ratio, event);
}

static int weigh_edit(struct kl_mat_try *t, const struct kl_mat *w, const struct kl_judgement *v,
		      const struct kl_surface *s)
{
	const char *class_ = kl_event_class(v->event);
	bool best = false;
	int err;

	set_outcome(t, v->event);
	if (v->event->verdict != KL_VERDICT_PASS) {
		t->outcome = KL_MAT_FAIL;
		t->why = kl_strdup(*class_ ? class_ : kl_verdict_name(v->event->verdict));
		return 0;
	}
	t->outcome = KL_MAT_NODE;
	if (t->speed != KL_SPEED_FAST)
		return 0;
	if (!(err = beats_best(&best, w, s, t->on)) && best)
		t->outcome = KL_MAT_BEST;
	return err;
}

/* a failed one is a node that nothing is built on, so that it is not judged twice */
static void make_node(struct kl_mat_try *t, struct kl_mat *w, const git_oid *commit,
		      struct kl_surface *to, struct kl_event *event)
{
	struct kl_materialization *m = w->m;

	t->node = add_node(w, commit, to, m->node[t->on].depth + 1);
	m->node[t->node].event = kl_event_ref(event);
	m->node[t->node].correct = t->outcome != KL_MAT_FAIL;
	if (t->outcome == KL_MAT_BEST)
		m->best = t->node;
}

static int keep_edit(struct kl_mat_try *t, struct kl_mat *w, const struct kl_mat_edit *e,
		     struct kl_event *event, const git_oid *commit)
{
	const struct kl_mat_node on = w->m->node[t->on];
	bool best = t->outcome == KL_MAT_BEST;
	KL_AUTO(kl_keep_release) struct kl_keep k = { .repo = w->o->repo, .chain = w->m->chain };
	struct kl_made made = {
		.repo = w->o->repo,
		.parent = on.commit,
		.from = on.state,
		.to = *e->to,
		.card = e->card,
		.blob = t->blob,
		.how = e->how,
		.rewriter = t->by,
		.source = t->source,
		.action = e->action,
		.mechanism = e->mechanism,
		.number = on.depth + 1,
		.class_ = t->outcome == KL_MAT_FAIL ? t->why : "",
		.outcome = kl_mat_outcome_name(t->outcome),
		.event = event,
	};
	git_oid oid;
	int err = 0;

	if (commit) /* made before, when noise hid what it is worth */
		oid = *commit;
	else
		err = kl_made_write(&oid, NULL, &made);
	if (err < 0 || (err = kl_keep_add(&k, &oid, &made)) < 0 ||
	    (err = kl_keep_move(&k, best ? w->m->branch : NULL, &oid, &w->tip)) < 0)
		return err;
	if (best)
		w->tip = oid;
	make_node(t, w, &oid, kl_steal(e->to), event);
	return 0;
}

/* what a killed run knew of it; false: nothing, or nothing that is worth it */
static int recall_edit(bool *done, const git_oid **commit, struct kl_mat_try *t, struct kl_mat *w,
		       const struct kl_mat_edit *e)
{
	const struct kl_mat_node *on = &w->m->node[t->on];
	const struct kl_mat_logged *was;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	git_oid tree;
	struct kl_made made = {
		.repo = w->o->repo, .parent = on->commit, .from = on->state, .to = *e->to
	};
	int err = kl_made_tree(&tree, &made);

	*done = false;
	*commit = NULL;
	if (err < 0 || !(was = kl_mat_log_find(&w->log, &on->commit, &tree)))
		return err;
	*commit = &was->commit;
	if ((err = kl_mat_log_event(&event, w->o->repo, &was->commit, *e->to, on->state)) < 0 ||
	    !event)
		return err;
	set_outcome(t, event);
	if (was->outcome == KL_MAT_NODE && t->speed == KL_SPEED_AMBIGUOUS)
		return 0;
	*done = true;
	t->outcome = was->outcome;
	if (t->outcome == KL_MAT_FAIL)
		t->why = kl_strdup(was->class_);
	make_node(t, w, &was->commit, kl_steal(e->to), event);
	return 0;
}

int kl_mat_settle(struct kl_mat_try *t, struct kl_mat *w, const struct kl_mat_edit *e)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	const git_oid *commit;
	bool done;
	int err;

	t->outcome = KL_MAT_KNOWN;
	if (is_known(w, *e->to))
		return 0;
	if ((err = recall_edit(&done, &commit, t, w, e)) < 0 || done)
		return err;
	w->judged++;
	if ((err = kl_made_judge(&v, w->o->gate, *e->to, w->m->node[t->on].state, false)) < 0 ||
	    (err = KL_FAULT("mat-judged")) < 0 || (err = weigh_edit(t, w, v, *e->to)) < 0)
		return err;
	return keep_edit(t, w, e, v->event, commit);
}

size_t kl_mat_add_try(struct kl_mat *w, struct kl_mat_try *t)
{
	struct kl_materialization *m = w->m;

	if (!t->why)
		t->why = kl_strdup("");
	if (!t->source)
		t->source = kl_strdup("");
	KL_GROW(m->v, m->n + 1, m->alloc);
	m->v[m->n] = *t;
	return m->n++;
}

/* --- a carrier, by a tool --------------------------------------------------------------------- */

static int try_into(struct kl_mat_try *t, struct kl_mat *w, const struct kl_card *c)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *to = NULL;
	struct kl_carrier_try carrier = {
		.repo = w->o->repo,
		.library = w->o->library,
		.jail = w->o->gate ? kl_gate_jail(w->o->gate) : NULL,
		.card = c,
		.state = w->m->node[t->on].state,
	};
	int err = kl_carrier_apply(&to, &t->how, &carrier);

	if (err == KL_ENO) {
		t->outcome = KL_MAT_LEFT;
		t->why = kl_strdup(kl_error_last());
		kl_error_clear();
		return 0;
	}
	t->outcome = KL_MAT_APPLIES;
	if (err < 0 || w->o->dry)
		return err;
	return kl_mat_settle(t, w, &(struct kl_mat_edit){ .card = c, .how = t->how, .to = &to });
}

/* the card as it is now; `*tried` is where its outcome stands */
static int try_card(size_t *tried, struct kl_card **card, struct kl_mat *w, size_t on,
		    const struct kl_retrieved *r)
{
	struct kl_mat_try t = { .on = on, .status = r->status, .how = "", .by = "card" };
	int err = kl_index_load(card, w->o->index, w->o->library, r->card);

	if (err)
		return err;
	t.card = kl_strdup(r->id);
	kl_oid_hex(t.blob, &kl_index_card(w->o->index, r->card)->blob);
	err = try_into(&t, w, *card);
	*tried = kl_mat_add_try(w, &t);
	return err;
}

static bool is_enough(const struct kl_mat *w)
{
	return w->o->one && w->judged;
}

/*
 * Every card of the pool that `only` names (NULL: all), until the best moves. What is correct and
 * not faster is built on, `left` steps more, by what its card enables.
 */
static int try_pool(struct kl_mat *w, size_t node, const struct kl_strvec *only, int left)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	size_t best = w->m->best;
	int err = kl_mat_pool(&pool, w, node);

	if (!node && !only)
		w->m->offered = pool.n;
	for (size_t i = 0;
	     !err && i < pool.n && w->m->n < KL_MAT_TRIES && w->m->best == best && !is_enough(w);
	     i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		size_t tried;

		if ((only && !kl_strvec_has(only, pool.v[i].id)) ||
		    was_tried(w, pool.v[i].id, node))
			continue;
		err = try_card(&tried, &card, w, node, &pool.v[i]);
		if (!err && w->m->v[tried].outcome == KL_MAT_NODE && card->enables.n && left)
			err = try_pool(w, w->m->v[tried].node, &card->enables, left - 1);
	}
	return err;
}

int kl_mat_climb(struct kl_mat *w)
{
	size_t at;
	int err;

	do {
		at = w->m->best;
		err = try_pool(w, at, NULL, KL_MAT_BUILD_ON);
	} while (!err && w->m->best != at && !is_enough(w));
	return err;
}

/* --- the root --------------------------------------------------------------------------------- */

/* the first link of the chain is the root, so that nothing that a note stands on can go */
static int begin_run(struct kl_mat *w, struct kl_event *event)
{
	KL_AUTO(kl_keep_release) struct kl_keep k = { .repo = w->o->repo, .chain = w->m->chain };
	KL_AUTO(kl_freep) char *text = kl_asprintf("begun: %s\n\nKlineage-Outcome: root\n",
						   w->o->root->contract->workload);
	int err = kl_keep_root(&k, &w->o->commit, text, event);

	if (err < 0 || (err = KL_FAULT("mat-begin")) < 0)
		return err;
	return kl_keep_move(&k, NULL, NULL, NULL);
}

static int judge_root(struct kl_mat *w)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	int err = 0;

	if (w->log.there)
		err = kl_mat_log_event(&w->m->node[0].event, w->o->repo, &w->o->commit, w->o->root,
				       NULL);
	if (err < 0 || w->m->node[0].event)
		return err;
	if ((err = kl_made_judge(&v, w->o->gate, w->o->root, NULL, false)) < 0)
		return err;
	if (v->event->verdict != KL_VERDICT_PASS)
		return kl_error(KL_ENO, "the root fails the gate%s%s: %s",
				*kl_event_class(v->event) ? ", " : "", kl_event_class(v->event),
				v->event->message);
	w->m->node[0].event = kl_event_ref(v->event);
	return begin_run(w, v->event);
}

static bool is_ours(const struct kl_mat *w)
{
	bool ours = !memcmp(&w->tip, &w->o->commit, sizeof(none));

	for (size_t i = 0; !ours && i < w->log.n; i++)
		ours = !memcmp(&w->tip, &w->log.v[i].commit, sizeof(none));
	return ours;
}

static int read_tip(struct kl_mat *w)
{
	int err = kl_refs_get(&w->tip, w->o->repo, w->m->branch);

	if (!err && w->o->again && !is_ours(w))
		return kl_error(KL_ECHANGED, "'%s' was moved by somebody else", w->m->branch);
	if (err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	w->tip = none;
	return 0;
}

static int can_begin(struct kl_mat *w)
{
	int err;

	if (w->o->dry)
		return 0;
	if ((err = read_tip(w)) < 0 || w->o->go_on || w->o->again)
		return err;
	err = kl_refs_can_create(w->o->repo, w->m->branch);
	if (err == KL_EEXISTS)
		return kl_error_hint(
			err, "'--continue' goes on with that run, '--root best' from its best; "
			     "'--name' gives another name");
	if (!err && w->log.there && memcmp(&w->log.root, &w->o->commit, sizeof(none)))
		return kl_error_hint(kl_error(KL_EEXISTS,
					      "a run from another root has the name '%s'",
					      w->o->name),
				     "'--name' gives another one");
	return err;
}

static int find_platform(struct kl_mat *w)
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

int kl_materialize_check(const struct kl_materialize_opts *o)
{
	struct kl_materialization m = { .left_out = KL_STRVEC_INIT };
	KL_AUTO(mat_release) struct kl_mat w = { .o = o, .m = &m };
	int err;

	kl_materialize_refs(m.branch, m.chain, o->root->contract->workload, o->name);
	err = kl_mat_log_load(&w.log, o->repo, m.chain);
	return err < 0 ? err : can_begin(&w);
}

/* tools are not to see what the model is not to see */
static int climb_all(struct kl_mat *w)
{
	KL_AUTO(kl_retrieval_release) struct kl_retrieval pool = { 0 };
	int err;

	if (w->o->arm == KL_CARDS_FULL)
		return kl_mat_climb(w);
	err = kl_mat_pool(&pool, w, 0);
	w->m->offered = pool.n;
	return err;
}

int kl_materialize(struct kl_materialization *out, const struct kl_materialize_opts *o)
{
	KL_AUTO(mat_release) struct kl_mat w = { .o = o, .m = out };
	struct kl_surface *root = NULL;
	int err;

	*out = (struct kl_materialization){ .left_out = KL_STRVEC_INIT, .nano = -1 };
	kl_materialize_refs(out->branch, out->chain, o->root->contract->workload, o->name);
	if ((err = kl_mat_log_load(&w.log, o->repo, out->chain)) < 0 ||
	    (err = find_platform(&w)) < 0 || (err = can_begin(&w)) < 0 ||
	    (err = kl_surface_with(&root, o->root, NULL, 0)) < 0)
		return err;
	add_node(&w, &o->commit, root, 0);
	out->node[0].correct = true;
	if ((!o->dry && (err = judge_root(&w)) < 0) || (err = climb_all(&w)) < 0)
		return err;
	out->stopped = is_enough(&w);
	return o->session && !o->dry ? kl_mat_ask(&w) : 0;
}
