/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/retrieve.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "retrieve/retrieve_parts.h"

#define FIRST_POOL 64 /* best of an axis that are looked at first */
#define MAX_DROPPED 32

const char *kl_axis_name(enum kl_axis a)
{
	static const char *const name[] = { "case", "language", "platform", "prior" };

	return name[a];
}

/* --- life --- */

void kl_retrieved_pres_release(struct kl_retrieved_pres *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].id);
		free(p->v[i].test);
		free(p->v[i].why);
	}
	free(p->v);
	*p = (struct kl_retrieved_pres){ 0 };
}

static void release_all(struct kl_retrieved *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(v[i].id);
		free(v[i].needed_by);
		free(v[i].why);
		kl_retrieved_pres_release(&v[i].sound);
		kl_strvec_release(&v[i].needs);
	}
	free(v);
}

void kl_retrieval_release(struct kl_retrieval *r)
{
	release_all(r->v, r->n);
	release_all(r->dropped, r->ndropped);
	for (size_t i = 0; i < r->npath; i++) {
		for (size_t k = 0; k < r->path[i].n; k++)
			free(r->path[i].v[k].id);
		free(r->path[i].v);
		free(r->path[i].lineage);
	}
	free(r->path);
	*r = (struct kl_retrieval){ 0 };
}

static void asking_init(struct kl_asking *a, const struct kl_index *ix, struct kl_target *t,
			const struct kl_retrieve_opts *o)
{
	size_t ns = kl_index_nstrings(ix), np = kl_index_npriors(ix);

	*a = (struct kl_asking){ .ix = ix, .t = t, .o = o, .n = kl_index_count(ix) };
	a->fit = kl_calloc(a->n + 1, sizeof(*a->fit));
	a->point = kl_calloc(kl_index_npoints(ix) + 1, sizeof(*a->point));
	a->test = kl_calloc(ns + 1, 1);
	a->has = kl_calloc(ns + 1, 1);
	a->able = kl_calloc(ns + 1, 1);
	a->language = kl_calloc(ns + 1, sizeof(*a->language));
	a->platform = kl_calloc(ns + 1, sizeof(*a->platform));
	a->closure = kl_malloc(np + 1);
	memset(a->closure, -2, np + 1);
}

static void asking_release(struct kl_asking *a)
{
	kl_close_release(a);
	free(a->fit);
	free(a->point);
	free(a->test);
	free(a->has);
	free(a->able);
	free(a->language);
	free(a->platform);
	free(a->closure);
}

/* --- facts of one card --- */

static const char *text_of(const struct kl_asking *a, uint32_t string)
{
	return kl_index_string(a->ix, string);
}

static const char *id_of(const struct kl_asking *a, size_t card)
{
	return text_of(a, kl_index_card(a->ix, card)->id);
}

static enum kl_truth truth_of(struct kl_asking *a, uint32_t test)
{
	if (!a->test[test])
		a->test[test] = (int8_t)(kl_target_test(a->t, text_of(a, test), true, NULL) + 1);
	return (enum kl_truth)(a->test[test] - 1);
}

/* The first sound predicate that is false, as its place in the list; -1: none. */
static int false_sound(struct kl_asking *a, size_t card)
{
	struct kl_index_list l = kl_index_card(a->ix, card)->sound;
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i + 1 < l.n; i += 2)
		if (*text_of(a, item[i + 1]) && truth_of(a, item[i + 1]) == KL_FALSE)
			return (int)i;
	return -1;
}

bool kl_asking_is_sound(struct kl_asking *a, size_t card)
{
	struct kl_fit *f = &a->fit[card];

	if (!f->sound)
		f->sound = false_sound(a, card) < 0 ? 1 : 2;
	return f->sound == 1;
}

static void settle_card(struct kl_asking *a, size_t card)
{
	int m;

	if (a->fit[card].settled)
		return;
	a->fit[card].settled = true;
	m = kl_close(a, kl_index_card(a->ix, card)->prior, NULL);
	kl_measure_prior(a, card, m < 0 ? 0 : KL_ONE / (1 + m));
}

/* --- the best of an axis --- */

/* Is x better than y on the axis? Ties by the score, then by id. */
static bool is_better(const struct kl_asking *a, int axis, uint32_t x, uint32_t y)
{
	const struct kl_fit *f = &a->fit[x], *g = &a->fit[y];

	if (axis < KL_AXES && f->best[axis] != g->best[axis])
		return f->best[axis] > g->best[axis];
	if (f->score != g->score)
		return f->score > g->score;
	return strcmp(id_of(a, x), id_of(a, y)) < 0;
}

/* A heap whose top is the worst that is kept. */
static void sift_down(const struct kl_asking *a, int axis, uint32_t *heap, size_t n, size_t i)
{
	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		uint32_t t;

		if (k + 1 < n && is_better(a, axis, heap[k], heap[k + 1]))
			k++;
		if (!is_better(a, axis, heap[i], heap[k]))
			return;
		t = heap[i];
		heap[i] = heap[k];
		heap[k] = t;
	}
}

/* Most are far from the best, and told so by a number or two. */
static inline bool is_worse(const struct kl_fit *f, int axis, const struct kl_fit *than)
{
	return f->best[axis] < than->best[axis] ||
	       (f->best[axis] == than->best[axis] && f->score < than->score);
}

/* The best `k` with a score, best first. */
static size_t select_best(const struct kl_asking *a, int axis, uint32_t *heap, size_t k)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (!a->fit[i].score || (n == k && is_worse(&a->fit[i], axis, &a->fit[heap[0]])))
			continue;
		if (n < k) {
			heap[n++] = (uint32_t)i;
			for (size_t at = n == k ? k / 2 : 0; at-- > 0;)
				sift_down(a, axis, heap, n, at);
		} else if (is_better(a, axis, (uint32_t)i, heap[0])) {
			heap[0] = (uint32_t)i;
			sift_down(a, axis, heap, n, 0);
		}
	}
	for (size_t at = n < k ? n / 2 : 0; at-- > 0;)
		sift_down(a, axis, heap, n, at);
	for (size_t left = n; left > 1; left--) {
		uint32_t t = heap[0];

		heap[0] = heap[left - 1];
		heap[left - 1] = t;
		sift_down(a, axis, heap, left - 1, 0);
	}
	return n;
}

/*
 * Go down a list of the best until enough of them are sound and settled; true: nothing on the way
 * was settled only now, which may have moved it.
 */
static bool walk_down(size_t *taken, struct kl_asking *a, const uint32_t *list, size_t n)
{
	bool firm = true;

	*taken = 0;
	for (size_t i = 0; i < n && *taken < a->o->per_axis; i++) {
		if (!kl_asking_is_sound(a, list[i]))
			continue;
		if (a->fit[list[i]].settled) {
			++*taken;
		} else {
			settle_card(a, list[i]);
			firm = false;
		}
	}
	return firm;
}

/* Few, and nearly in order: by insertion. Those without a score any more go; how many are left. */
static size_t put_in_order(const struct kl_asking *a, int axis, uint32_t *list, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t card = list[i];
		size_t k = left;

		if (!a->fit[card].score)
			continue;
		for (; k > 0 && is_better(a, axis, card, list[k - 1]); k--)
			list[k] = list[k - 1];
		list[k] = card;
		left++;
	}
	return left;
}

/* What a card was when the others were found to be no better. */
struct limit {
	int32_t best, score;
	const char *id;
};

static struct limit limit_of(const struct kl_asking *a, int axis, uint32_t card)
{
	return (struct limit){ a->fit[card].best[axis], a->fit[card].score, id_of(a, card) };
}

/*
 * How many at the front of a list still come before all cards that are not in it: settling a card
 * only makes it worse, and those outside were worse than the limit.
 */
static size_t count_ahead(const struct kl_asking *a, int axis, const uint32_t *list, size_t n,
			  const struct limit *l)
{
	size_t i = 0;

	for (; i < n; i++) {
		const struct kl_fit *f = &a->fit[list[i]];

		if (f->best[axis] < l->best)
			break;
		if (f->best[axis] > l->best)
			continue;
		if (f->score < l->score ||
		    (f->score == l->score && strcmp(id_of(a, list[i]), l->id) > 0))
			break;
	}
	return i;
}

/*
 * Settle what is on the way down, and go down again, for as long as the list tells who is the best;
 * false: it no longer does. `whole`: no card with a score is outside of it.
 */
static bool settle_down(size_t *taken, struct kl_asking *a, int axis, uint32_t *list, size_t *n,
			bool whole)
{
	const struct limit l = *n ? limit_of(a, axis, list[*n - 1]) : (struct limit){ 0 };
	bool first = true;

	for (size_t ahead = *n; !walk_down(taken, a, list, ahead); first = false) {
		*n = put_in_order(a, axis, list, *n);
		ahead = whole ? *n : count_ahead(a, axis, list, *n, &l);
	}
	return first || whole || *taken == a->o->per_axis;
}

/* Mark the best of an axis that are sound; more are looked at only where many are not. */
static void mark_axis(struct kl_asking *a, int axis, uint8_t *top)
{
	size_t pool = FIRST_POOL;

	for (;;) {
		KL_AUTO(kl_freep) uint32_t *list = kl_calloc(pool + 1, sizeof(*list));
		size_t taken, n = select_best(a, axis, list, pool);

		if (!settle_down(&taken, a, axis, list, &n, n < pool))
			continue;
		if (taken < a->o->per_axis && n == pool) {
			pool *= 16;
			continue;
		}
		for (size_t i = 0, t = 0; i < n && t < taken; i++)
			if (a->fit[list[i]].sound == 1) {
				top[list[i]] |= (uint8_t)(1u << axis);
				t++;
			}
		return;
	}
}

/* --- the result --- */

static void add_pre(struct kl_retrieved_pres *out, struct kl_target *t, const char *id,
		    const char *test, bool everywhere)
{
	struct kl_buf why = KL_BUF_INIT;
	struct kl_retrieved_pre p = { .id = kl_strdup(id),
				      .test = kl_strdup(test),
				      .truth = KL_UNKNOWN };

	if (*test)
		p.truth = kl_target_test(t, test, everywhere, &why);
	p.why = kl_buf_detach(&why);
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = p;
}

void kl_retrieve_useful(struct kl_retrieved_pres *out, const struct kl_card *c, struct kl_target *t)
{
	for (size_t i = 0; i < c->useful.n; i++)
		add_pre(out, t, c->useful.v[i].id, c->useful.v[i].test ? c->useful.v[i].test : "",
			false);
}

static void describe_card(struct kl_retrieved *v, struct kl_asking *a, size_t card, unsigned top)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	const uint32_t *item = kl_index_items(a->ix, c->sound);

	*v = (struct kl_retrieved){
		.card = card,
		.id = kl_strdup(text_of(a, c->id)),
		.status = (enum kl_card_status)c->status,
		.score = a->fit[card].score,
		.top = top,
		.passed = c->passed,
		.trials = c->trials,
		.row = a->fit[card].row,
	};
	kl_measure_row(v->axis, a, card);
	v->axis[KL_AXIS_PRIOR] = a->fit[card].best[KL_AXIS_PRIOR];
	for (int i = 0; i < KL_AXES; i++)
		v->best[i] = a->fit[card].best[i];
	for (size_t i = 0; i + 1 < c->sound.n; i += 2)
		add_pre(&v->sound, a->t, text_of(a, item[i]), text_of(a, item[i + 1]), true);
}

static struct kl_retrieved *push_card(struct kl_retrieval *out, struct kl_asking *a, size_t card,
				      unsigned top)
{
	settle_card(a, card);
	KL_GROW(out->v, out->n + 1, out->alloc);
	describe_card(&out->v[out->n], a, card, top);
	return &out->v[out->n++];
}

static bool is_listed(const struct kl_retrieval *out, size_t card)
{
	for (size_t i = 0; i < out->n; i++)
		if (out->v[i].card == card)
			return true;
	return false;
}

/* A card after those that it takes to close what it requires. */
static void list_card(struct kl_retrieval *out, struct kl_asking *a, const uint8_t *top,
		      size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	size_t need[KL_CLOSURE_MAX];
	struct kl_retrieved *v;
	int m = kl_close(a, c->prior, need);

	for (int i = 0; i < m; i++)
		if (!is_listed(out, need[i]) && need[i] != card) {
			v = push_card(out, a, need[i], top[need[i]]);
			v->needed_by = kl_strdup(text_of(a, c->id));
		}
	if (is_listed(out, card))
		return;
	v = push_card(out, a, card, top[card]);
	for (int i = 0; i < m; i++)
		kl_strvec_push(&v->needs, id_of(a, need[i]));
}

static void list_best(struct kl_retrieval *out, struct kl_asking *a, const uint8_t *top)
{
	uint32_t *all = kl_calloc(KL_AXES * a->o->per_axis + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		if (top[i])
			all[n++] = (uint32_t)i;
	/* few: by insertion */
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && is_better(a, KL_AXES, all[k], all[k - 1]); k--) {
			uint32_t t = all[k];

			all[k] = all[k - 1];
			all[k - 1] = t;
		}
	for (size_t i = 0; i < n && (!a->o->limit || i < a->o->limit); i++)
		list_card(out, a, top, all[i]);
	free(all);
}

/* --- lineage paths --- */

static struct kl_retrieved_path *path_of(struct kl_retrieval *out, const char *lineage)
{
	size_t i;

	for (i = 0; i < out->npath; i++)
		if (!strcmp(out->path[i].lineage, lineage))
			return &out->path[i];
	KL_GROW(out->path, out->npath + 1, out->path_alloc);
	out->path[i] = (struct kl_retrieved_path){ .lineage = kl_strdup(lineage) };
	out->npath++;
	return &out->path[i];
}

static int by_lineage(const void *a, const void *b)
{
	const struct kl_retrieved_path *x = a, *y = b;

	return strcmp(x->lineage, y->lineage);
}

static void add_step(struct kl_retrieved_path *p, int64_t step, const char *id)
{
	size_t i = p->n;

	KL_GROW(p->v, p->n + 1, p->alloc);
	for (; i > 0 && (p->v[i - 1].step > step ||
			 (p->v[i - 1].step == step && strcmp(p->v[i - 1].id, id) > 0));
	     i--)
		p->v[i] = p->v[i - 1];
	p->v[i].step = step;
	p->v[i].id = kl_strdup(id);
	p->n++;
}

static void add_paths(struct kl_retrieval *out, const struct kl_asking *a)
{
	for (size_t i = 0; i < out->n; i++) {
		struct kl_index_list l = kl_index_card(a->ix, out->v[i].card)->evidence;
		const uint32_t *item = kl_index_items(a->ix, l);

		for (size_t k = 0; k + 1 < l.n; k += 2)
			add_step(path_of(out, text_of(a, item[k])),
				 strtoll(text_of(a, item[k + 1]), NULL, 10), out->v[i].id);
	}
	if (out->npath)
		qsort(out->path, out->npath, sizeof(*out->path), by_lineage);
}

/* --- what was not taken --- */

static char *why_not(struct kl_asking *a, const struct kl_retrieved *v)
{
	const struct kl_index_card *c = kl_index_card(a->ix, v->card);
	const struct kl_index_prior *p = kl_index_prior(a->ix, c->prior);
	int64_t s = kl_measure_lacking(a, c->prior);

	if (v->row < 0)
		return kl_strdup("it has no verified row");
	if (s >= 0)
		return kl_asprintf("platform: it needs %s", text_of(a, (uint32_t)s));
	if (!v->axis[KL_AXIS_PLATFORM] || !v->axis[KL_AXIS_LANGUAGE])
		return kl_asprintf("%s: it is verified on nothing like this one",
				   v->axis[KL_AXIS_PLATFORM] ? "language" : "platform");
	s = kl_asking_first(a, p->conflicts, true);
	if (s >= 0)
		return kl_asprintf("prior: it conflicts with %s", text_of(a, (uint32_t)s));
	if (!a->o->repair && kl_asking_is_done(a, c))
		return kl_strdup("prior: what it provides is there");
	s = kl_asking_first(a, p->requires, false);
	if (!v->axis[KL_AXIS_PRIOR] && s >= 0)
		return kl_asprintf("prior: it requires %s, and no %d cards close that",
				   text_of(a, (uint32_t)s), KL_CLOSURE_MAX);
	if (!kl_asking_is_sound(a, v->card)) {
		const uint32_t *item = kl_index_items(a->ix, c->sound);

		return kl_asprintf("sound '%s' is false",
				   text_of(a, item[false_sound(a, v->card)]));
	}
	return NULL;
}

/* Those that came nearest of all that are ruled out. */
static double fit_nearness(const struct kl_fit *f)
{
	double x = 1;

	for (int k = 0; k < KL_AXES; k++)
		x *= f->best[k] ? (double)f->best[k] / KL_ONE : 0.01;
	return x;
}

static bool is_nearer(const struct kl_asking *a, uint32_t x, uint32_t y)
{
	double d = fit_nearness(&a->fit[x]) - fit_nearness(&a->fit[y]);

	if (d != 0)
		return d > 0;
	return strcmp(id_of(a, x), id_of(a, y)) < 0;
}

static void add_dropped(struct kl_retrieval *out, struct kl_asking *a)
{
	uint32_t best[MAX_DROPPED + 1];
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		size_t k = n;

		/* a score and not known to be unsound: it was only not among the best */
		if (!a->fit[i].wanted || (a->fit[i].score && a->fit[i].sound != 2))
			continue;
		if (n == MAX_DROPPED && !is_nearer(a, (uint32_t)i, best[n - 1]))
			continue;
		for (; k > 0 && is_nearer(a, (uint32_t)i, best[k - 1]); k--)
			best[k] = best[k - 1];
		best[k] = (uint32_t)i;
		n += n < MAX_DROPPED;
	}
	for (size_t i = 0; i < n; i++) {
		KL_GROW(out->dropped, out->ndropped + 1, out->dropped_alloc);
		describe_card(&out->dropped[out->ndropped], a, best[i], 0);
		out->dropped[out->ndropped].why = why_not(a, &out->dropped[out->ndropped]);
		out->ndropped++;
	}
}

int kl_retrieve(struct kl_retrieval *out, const struct kl_index *ix, struct kl_target *t,
		const struct kl_retrieve_opts *o)
{
	KL_AUTO(asking_release) struct kl_asking a;
	KL_AUTO(kl_freep) uint8_t *top = NULL;

	asking_init(&a, ix, t, o);
	*out = (struct kl_retrieval){ 0 };
	if (!o->per_axis)
		return kl_error(KL_EINVALID, "no card of any axis is asked for");
	top = kl_calloc(a.n + 1, 1);
	kl_measure(&a);
	for (size_t i = 0; i < a.n; i++)
		out->cards += a.fit[i].wanted;
	/* to say why, all must be known */
	for (size_t i = 0; o->explain && i < a.n; i++)
		if (a.fit[i].wanted)
			settle_card(&a, i);
	for (int axis = 0; axis < KL_AXES; axis++)
		mark_axis(&a, axis, top);
	list_best(out, &a, top);
	add_paths(out, &a);
	if (o->explain)
		add_dropped(out, &a);
	return 0;
}
