/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/retrieve.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "skill/retrieve_parts.h"

#define FIRST_POOL 64		/* best of an axis that are looked at first */
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

static int32_t *unknowns(size_t n)
{
	int32_t *v = kl_malloc((n + 1) * sizeof(*v));

	memset(v, -1, (n + 1) * sizeof(*v));
	return v;
}

static void asking_init(struct kl_asking *a, const struct kl_index *ix, struct kl_target *t,
			const struct kl_retrieve_opts *o)
{
	size_t ns = kl_index_nstrings(ix), np = kl_index_npriors(ix);

	*a = (struct kl_asking){ .ix = ix, .t = t, .o = o, .n = kl_index_count(ix) };
	a->fit = kl_calloc(a->n + 1, sizeof(*a->fit));
	a->sound = kl_calloc(a->n + 1, 1);
	a->test = kl_calloc(ns + 1, 1);
	a->has = kl_calloc(ns + 1, 1);
	a->language = unknowns(ns);
	a->platform = unknowns(ns);
	a->point = unknowns(kl_index_npoints(ix));
	a->closure = kl_malloc(np + 1);
	memset(a->closure, -2, np + 1);
}

static void asking_release(struct kl_asking *a)
{
	kl_close_release(a);
	free(a->fit);
	free(a->sound);
	free(a->test);
	free(a->has);
	free(a->language);
	free(a->platform);
	free(a->point);
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

bool kl_asking_wants(const struct kl_asking *a, size_t card)
{
	return a->o->statuses >> kl_index_card(a->ix, card)->status & 1;
}

bool kl_asking_has(struct kl_asking *a, uint32_t string)
{
	if (!a->has[string])
		a->has[string] = kl_target_has(a->t, text_of(a, string)) ? 2 : 1;
	return a->has[string] == 2;
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
	if (!a->sound[card])
		a->sound[card] = false_sound(a, card) < 0 ? 1 : 2;
	return a->sound[card] == 1;
}

/* The first item of a list for which `ask` answers `want`; -1: none. */
static int64_t first_item(struct kl_asking *a, struct kl_index_list l, bool want)
{
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i < l.n; i++)
		if (kl_asking_has(a, item[i]) == want)
			return item[i];
	return -1;
}

/* A capability that it needs and the target's platform has not; -1: none. */
static int64_t lacking(const struct kl_asking *a, struct kl_index_list l)
{
	const uint32_t *item = kl_index_items(a->ix, l);

	for (size_t i = 0; i < l.n; i++)
		if (!kl_capset_has(&a->t->caps, kl_taxonomy_cap(a->t->tax, text_of(a, item[i]))))
			return item[i];
	return -1;
}

static bool is_there(struct kl_asking *a, const struct kl_index_card *c)
{
	const struct kl_index_prior *p = kl_index_prior(a->ix, c->prior);

	if (kl_asking_has(a, c->id))
		return true;
	return p->provides.n && first_item(a, p->provides, false) < 0;
}

static int64_t prior_axis(struct kl_asking *a, const struct kl_index_card *c)
{
	const struct kl_index_prior *p = kl_index_prior(a->ix, c->prior);
	int m;

	if (first_item(a, p->conflicts, true) >= 0 || (!a->o->repair && is_there(a, c)))
		return 0;
	m = kl_close(a, c->prior, NULL);
	return m < 0 ? 0 : KL_ONE / (1 + m);
}

/* --- similarities --- */

static int64_t case_of(struct kl_asking *a, uint32_t point)
{
	if (a->point[point] < 0)
		a->point[point] = (int32_t)kl_similarity_case(a->t->tax, &a->t->point,
							      kl_index_point(a->ix, point));
	return a->point[point];
}

static int64_t language_of(struct kl_asking *a, uint32_t string)
{
	if (a->language[string] < 0)
		a->language[string] = (int32_t)kl_similarity_language(a->t->tax, text_of(a, string),
								      a->t->language);
	return a->language[string];
}

static int64_t platform_of(struct kl_asking *a, uint32_t string)
{
	if (a->platform[string] < 0)
		a->platform[string] = (int32_t)kl_similarity_platform(a->t->tax, text_of(a, string),
								      a->t->platform);
	return a->platform[string];
}

static int64_t max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* All but the prior axis: what that takes needs this of other cards. */
static void measure(struct kl_asking *a, size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	bool lacks = lacking(a, kl_index_prior(a->ix, c->prior)->needs) >= 0;
	struct kl_fit *f = &a->fit[card];
	int64_t most = -1;

	f->row = -1;
	for (uint32_t i = 0; i < c->nrows; i++) {
		const struct kl_index_row *r = kl_index_row(a->ix, c->rows + i);
		int64_t x[3], product;

		/* what nothing verifies is asked for by its status, and then compared by all it has */
		if (!r->verified && c->status != KL_CARD_HYPOTHESIS)
			continue;
		x[KL_AXIS_CASE] = case_of(a, r->point);
		x[KL_AXIS_LANGUAGE] = language_of(a, r->language);
		x[KL_AXIS_PLATFORM] = lacks ? 0 : platform_of(a, r->platform);
		product = x[0] * x[1] * x[2];	/* at most 10^18 */
		for (int k = 0; k < 3; k++)
			f->best[k] = max(f->best[k], x[k]);
		if (product > most) {
			most = product;
			memcpy(f->axis, x, sizeof(x));
			f->row = (int32_t)i;
		}
	}
}

static void finish(struct kl_asking *a, size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	struct kl_fit *f = &a->fit[card];

	if (!f->axis[KL_AXIS_CASE] || !f->axis[KL_AXIS_LANGUAGE] || !f->axis[KL_AXIS_PLATFORM])
		return;
	f->best[KL_AXIS_PRIOR] = f->axis[KL_AXIS_PRIOR] = prior_axis(a, c);
	f->score = kl_similarity_score(f->axis, c->passed, c->trials);
}

/* --- the best of an axis --- */

/* Is x better than y on the axis? Ties by the score, then by id. */
static bool better(const struct kl_asking *a, int axis, uint32_t x, uint32_t y)
{
	const struct kl_fit *f = &a->fit[x], *g = &a->fit[y];

	if (axis < KL_AXES && f->best[axis] != g->best[axis])
		return f->best[axis] > g->best[axis];
	if (f->score != g->score)
		return f->score > g->score;
	return strcmp(id_of(a, x), id_of(a, y)) < 0;
}

/* A heap whose top is the worst that is kept. */
static void sift(const struct kl_asking *a, int axis, uint32_t *heap, size_t n, size_t i)
{
	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		uint32_t t;

		if (k + 1 < n && better(a, axis, heap[k], heap[k + 1]))
			k++;
		if (!better(a, axis, heap[i], heap[k]))
			return;
		t = heap[i];
		heap[i] = heap[k];
		heap[k] = t;
	}
}

/* The best `k` with a score, best first. */
static size_t select_best(const struct kl_asking *a, int axis, uint32_t *heap, size_t k)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++) {
		if (!a->fit[i].score)
			continue;
		if (n < k) {
			heap[n++] = (uint32_t)i;
			for (size_t at = n == k ? k / 2 : 0; at-- > 0; )
				sift(a, axis, heap, n, at);
		} else if (better(a, axis, (uint32_t)i, heap[0])) {
			heap[0] = (uint32_t)i;
			sift(a, axis, heap, n, 0);
		}
	}
	for (size_t at = n < k ? n / 2 : 0; at-- > 0; )
		sift(a, axis, heap, n, at);
	for (size_t left = n; left > 1; left--) {
		uint32_t t = heap[0];

		heap[0] = heap[left - 1];
		heap[left - 1] = t;
		sift(a, axis, heap, left - 1, 0);
	}
	return n;
}

/* Mark the best of an axis that are sound; more are looked at only where many are not. */
static void mark_axis(struct kl_asking *a, int axis, uint8_t *top)
{
	for (size_t k = FIRST_POOL; ; k *= 16) {
		size_t pool = k < a->n ? k : a->n, n, taken = 0;
		uint32_t *heap = kl_calloc(pool + 1, sizeof(*heap));

		n = select_best(a, axis, heap, pool);
		for (size_t i = 0; i < n && taken < a->o->per_axis; i++)
			taken += kl_asking_is_sound(a, heap[i]);
		if (taken == a->o->per_axis || n < pool || pool == a->n) {
			for (size_t i = 0, t = 0; i < n && t < taken; i++)
				if (a->sound[heap[i]] == 1) {
					top[heap[i]] |= (uint8_t)(1u << axis);
					t++;
				}
			free(heap);
			return;
		}
		free(heap);
	}
}

/* --- the result --- */

static void add_pre(struct kl_retrieved_pres *out, struct kl_target *t, const char *id, const char *test,
		    bool everywhere)
{
	struct kl_buf why = KL_BUF_INIT;
	struct kl_retrieved_pre p = { .id = kl_strdup(id), .test = kl_strdup(test), .truth = KL_UNKNOWN };

	if (*test)
		p.truth = kl_target_test(t, test, everywhere, &why);
	p.why = kl_buf_detach(&why);
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = p;
}

void kl_retrieve_useful(struct kl_retrieved_pres *out, const struct kl_card *c, struct kl_target *t)
{
	for (size_t i = 0; i < c->useful.n; i++)
		add_pre(out, t, c->useful.v[i].id, c->useful.v[i].test ? c->useful.v[i].test : "", false);
}

static void describe(struct kl_retrieved *v, struct kl_asking *a, size_t card, unsigned top)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	const uint32_t *item = kl_index_items(a->ix, c->sound);

	*v = (struct kl_retrieved){
		.card = card, .id = kl_strdup(text_of(a, c->id)),
		.status = (enum kl_card_status)c->status, .score = a->fit[card].score, .top = top,
		.passed = c->passed, .trials = c->trials, .row = a->fit[card].row,
	};
	memcpy(v->best, a->fit[card].best, sizeof(v->best));
	memcpy(v->axis, a->fit[card].axis, sizeof(v->axis));
	for (size_t i = 0; i + 1 < c->sound.n; i += 2)
		add_pre(&v->sound, a->t, text_of(a, item[i]), text_of(a, item[i + 1]), true);
}

static struct kl_retrieved *push(struct kl_retrieval *out, struct kl_asking *a, size_t card, unsigned top)
{
	KL_GROW(out->v, out->n + 1, out->alloc);
	describe(&out->v[out->n], a, card, top);
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
static void list_card(struct kl_retrieval *out, struct kl_asking *a, const uint8_t *top, size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	size_t need[KL_CLOSURE_MAX];
	struct kl_retrieved *v;
	int m = kl_close(a, c->prior, need);

	for (int i = 0; i < m; i++)
		if (!is_listed(out, need[i]) && need[i] != card) {
			v = push(out, a, need[i], top[need[i]]);
			v->needed_by = kl_strdup(text_of(a, c->id));
		}
	if (is_listed(out, card))
		return;
	v = push(out, a, card, top[card]);
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
		for (size_t k = i; k > 0 && better(a, KL_AXES, all[k], all[k - 1]); k--) {
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
			 (p->v[i - 1].step == step && strcmp(p->v[i - 1].id, id) > 0)); i--)
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

static char *why_not(struct kl_asking *a, size_t card)
{
	const struct kl_index_card *c = kl_index_card(a->ix, card);
	const struct kl_index_prior *p = kl_index_prior(a->ix, c->prior);
	const struct kl_fit *f = &a->fit[card];
	int64_t s;

	if (f->row < 0)
		return kl_strdup("it has no verified row");
	s = lacking(a, p->needs);
	if (s >= 0)
		return kl_asprintf("platform: it needs %s", text_of(a, (uint32_t)s));
	if (!f->axis[KL_AXIS_PLATFORM] || !f->axis[KL_AXIS_LANGUAGE])
		return kl_asprintf("%s: it is verified on nothing like this one",
				   f->axis[KL_AXIS_PLATFORM] ? "language" : "platform");
	s = first_item(a, p->conflicts, true);
	if (s >= 0)
		return kl_asprintf("prior: it conflicts with %s", text_of(a, (uint32_t)s));
	if (!a->o->repair && is_there(a, c))
		return kl_strdup("prior: what it provides is there");
	s = first_item(a, p->requires, false);
	if (!f->axis[KL_AXIS_PRIOR] && s >= 0)
		return kl_asprintf("prior: it requires %s, and no %d cards close that",
				   text_of(a, (uint32_t)s), KL_CLOSURE_MAX);
	if (!kl_asking_is_sound(a, card)) {
		const uint32_t *item = kl_index_items(a->ix, c->sound);

		return kl_asprintf("sound '%s' is false", text_of(a, item[false_sound(a, card)]));
	}
	return NULL;
}

/* Those that came nearest of all that are ruled out. */
static double nearness(const struct kl_fit *f)
{
	double x = 1;

	for (int k = 0; k < KL_AXES; k++)
		x *= f->axis[k] ? (double)f->axis[k] / KL_ONE : 0.01;
	return x;
}

static bool nearer(const struct kl_asking *a, uint32_t x, uint32_t y)
{
	double d = nearness(&a->fit[x]) - nearness(&a->fit[y]);

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
		if (!kl_asking_wants(a, i) || (a->fit[i].score && a->sound[i] != 2))
			continue;
		if (n == MAX_DROPPED && !nearer(a, (uint32_t)i, best[n - 1]))
			continue;
		for (; k > 0 && nearer(a, (uint32_t)i, best[k - 1]); k--)
			best[k] = best[k - 1];
		best[k] = (uint32_t)i;
		n += n < MAX_DROPPED;
	}
	for (size_t i = 0; i < n; i++) {
		KL_GROW(out->dropped, out->ndropped + 1, out->dropped_alloc);
		describe(&out->dropped[out->ndropped], a, best[i], 0);
		out->dropped[out->ndropped++].why = why_not(a, best[i]);
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
	for (size_t i = 0; i < a.n; i++)
		if (kl_asking_wants(&a, i)) {
			measure(&a, i);
			out->cards++;
		}
	for (size_t i = 0; i < a.n; i++)
		if (kl_asking_wants(&a, i))
			finish(&a, i);
	for (int axis = 0; axis < KL_AXES; axis++)
		mark_axis(&a, axis, top);
	list_best(out, &a, top);
	add_paths(out, &a);
	if (o->explain)
		add_dropped(out, &a);
	return 0;
}
