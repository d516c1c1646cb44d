/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/retrieve.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "retrieve/retrieve_parts.h"

#define MAX_DROPPED 32

static const char *const order_names[] = { [KL_ORDER_PAPER] = "paper", [KL_ORDER_NEXT] = "next" };

const char *kl_order_name(enum kl_order order)
{
	return order_names[order];
}

int kl_order_parse(enum kl_order *out, const char *name)
{
	for (int order = 0; order < KL_ORDERS; order++)
		if (!strcmp(order_names[order], name)) {
			*out = (enum kl_order)order;
			return 0;
		}
	return kl_error(KL_EINVALID, "unknown order '%.64s': use paper or next", name);
}

const char *kl_axis_name(enum kl_axis axis)
{
	static const char *const name[] = { "case", "language", "platform", "prior" };

	return name[axis];
}

/* --- allocation and release ------------------------------------------------------------------- */

void kl_retrieved_pres_release(struct kl_retrieved_pres *pres)
{
	for (size_t i = 0; i < pres->n; i++) {
		free(pres->v[i].id);
		free(pres->v[i].test);
		free(pres->v[i].why);
	}
	free(pres->v);
	*pres = (struct kl_retrieved_pres){ 0 };
}

void kl_retrieved_release(struct kl_retrieved *retrieved)
{
	free(retrieved->id);
	free(retrieved->needed_by);
	kl_strvec_release(&retrieved->lacks);
	free(retrieved->why);
	kl_retrieved_pres_release(&retrieved->sound);
	kl_strvec_release(&retrieved->needs);
}

static void release_all(struct kl_retrieved *retrieved, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kl_retrieved_release(&retrieved[i]);
	free(retrieved);
}

void kl_retrieval_release(struct kl_retrieval *retrieval)
{
	release_all(retrieval->v, retrieval->n);
	release_all(retrieval->dropped, retrieval->ndropped);
	for (size_t i = 0; i < retrieval->npath; i++) {
		for (size_t k = 0; k < retrieval->path[i].n; k++)
			free(retrieval->path[i].v[k].id);
		free(retrieval->path[i].v);
		free(retrieval->path[i].lineage);
	}
	free(retrieval->path);
	*retrieval = (struct kl_retrieval){ 0 };
}

static void query_init(struct kl_retrieve_query *query, const struct kl_index *ix,
		       struct kl_target *target, const struct kl_retrieve_opts *opts)
{
	size_t ns = kl_index_nstrings(ix), np = kl_index_npriors(ix);

	*query = (struct kl_retrieve_query){
		.ix = ix, .t = target, .o = opts, .n = kl_index_count(ix)
	};
	query->fit = kl_calloc(query->n + 1, sizeof(*query->fit));
	query->point = kl_calloc(kl_index_npoints(ix) + 1, sizeof(*query->point));
	query->test = kl_calloc(ns + 1, 1);
	query->useful = kl_calloc(ns + 1, 1);
	query->has = kl_calloc(ns + 1, 1);
	query->able = kl_calloc(ns + 1, 1);
	query->language = kl_calloc(ns + 1, sizeof(*query->language));
	query->platform = kl_calloc(ns + 1, sizeof(*query->platform));
	query->closure = kl_malloc(np + 1);
	memset(query->closure, -2, np + 1);
}

static void query_release(struct kl_retrieve_query *query)
{
	kl_close_release(query);
	free(query->fit);
	free(query->point);
	free(query->test);
	free(query->useful);
	free(query->has);
	free(query->able);
	free(query->language);
	free(query->platform);
	free(query->closure);
}

/* --- facts of one card ------------------------------------------------------------------------ */

static const char *text_of(const struct kl_retrieve_query *query, uint32_t string)
{
	return kl_index_string(query->ix, string);
}

const char *kl_retrieve_query_id(const struct kl_retrieve_query *query, size_t card)
{
	return text_of(query, kl_index_card(query->ix, card)->id);
}

static enum kl_truth truth_of(struct kl_retrieve_query *query, uint32_t test)
{
	if (!query->test[test])
		query->test[test] =
			(int8_t)(kl_target_test(query->t, text_of(query, test), true, NULL) + 1);
	return (enum kl_truth)(query->test[test] - 1);
}

/*
 * Check whether the condition with index i in the card's list `sound` says anything about the
 * target. A condition that only a launch plan states holds for operators that are related to that
 * of the plan's kernel, because nobody knows what other kernels need.
 */
static bool is_told(const struct kl_retrieve_query *query, size_t card, size_t i)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	const char *said = text_of(query, kl_index_items(query->ix, entry->sound_said)[i / 2]);
	uint32_t row = (uint32_t)strtoul(said, NULL, 10);

	if (!*said || row >= entry->nrows)
		return true;
	return kl_similarity_is_related(
		query->t->tax,
		kl_index_point(query->ix, kl_index_row(query->ix, entry->rows + row)->point),
		&query->t->point);
}

/*
 * Return the index in the card's list `sound` of the first condition (of its id) whose predicate is
 * false; -1 if no predicate is false.
 */
static int false_sound(struct kl_retrieve_query *query, size_t card)
{
	struct kl_index_list list = kl_index_card(query->ix, card)->sound;
	const uint32_t *item = kl_index_items(query->ix, list);

	for (size_t i = 0; i + 1 < list.n; i += 2)
		if (*text_of(query, item[i + 1]) && truth_of(query, item[i + 1]) == KL_FALSE &&
		    is_told(query, card, i))
			return (int)i;
	return -1;
}

bool kl_retrieve_query_is_sound(struct kl_retrieve_query *query, size_t card)
{
	struct kl_fit *fit = &query->fit[card];

	if (!fit->sound)
		fit->sound = false_sound(query, card) < 0 ? 1 : 2;
	return fit->sound == 1;
}

bool kl_retrieve_query_is_useful(struct kl_retrieve_query *query, size_t card)
{
	struct kl_index_list list = kl_index_card(query->ix, card)->useful;
	const uint32_t *item = kl_index_items(query->ix, list);

	for (size_t i = 0; i < list.n; i++) {
		int8_t *kept = &query->useful[item[i]];

		if (!*kept)
			*kept = (int8_t)(1 + kl_target_test(query->t, text_of(query, item[i]),
							    false, NULL));
		if (*kept - 1 == KL_FALSE)
			return false;
	}
	return true;
}

void kl_retrieve_query_settle(struct kl_retrieve_query *query, size_t card)
{
	int further;

	if (query->fit[card].settled)
		return;
	query->fit[card].settled = true;
	further = kl_close(query, kl_index_card(query->ix, card)->prior, NULL);
	kl_measure_prior(query, card, further < 0 ? 0 : KL_ONE / (1 + further));
}

/* --- filling the result ----------------------------------------------------------------------- */

static void add_pre(struct kl_retrieved_pres *out, struct kl_target *target, const char *id,
		    const char *test, bool everywhere)
{
	struct kl_buf why = KL_BUF_INIT;
	struct kl_retrieved_pre pre = { .id = kl_strdup(id),
					.test = kl_strdup(test),
					.truth = KL_UNKNOWN };

	if (*test)
		pre.truth = kl_target_test(target, test, everywhere, &why);
	pre.why = kl_buf_detach(&why);
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = pre;
}

void kl_retrieve_useful(struct kl_retrieved_pres *out, const struct kl_card *card,
			struct kl_target *target)
{
	for (size_t i = 0; i < card->useful.n; i++)
		add_pre(out, target, card->useful.v[i].id,
			card->useful.v[i].test ? card->useful.v[i].test : "", false);
}

static void describe_card(struct kl_retrieved *retrieved, struct kl_retrieve_query *query,
			  size_t card, unsigned top)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	const uint32_t *item = kl_index_items(query->ix, entry->sound);

	*retrieved = (struct kl_retrieved){
		.card = card,
		.id = kl_strdup(text_of(query, entry->id)),
		.status = (enum kl_card_status)entry->status,
		.score = query->fit[card].score,
		.next = query->fit[card].next,
		.top = top,
		.passed = entry->passed,
		.trials = entry->trials,
		.row = query->fit[card].row,
	};
	kl_measure_row(retrieved->axis, query, card);
	retrieved->axis[KL_AXIS_PRIOR] = query->fit[card].best[KL_AXIS_PRIOR];
	for (int i = 0; i < KL_AXES; i++)
		retrieved->best[i] = query->fit[card].best[i];
	for (size_t i = 0; i + 1 < entry->sound.n; i += 2) {
		add_pre(&retrieved->sound, query->t, text_of(query, item[i]),
			text_of(query, item[i + 1]), true);
		if (retrieved->sound.v[i / 2].truth == KL_FALSE && !is_told(query, card, i))
			retrieved->sound.v[i / 2].truth = KL_UNKNOWN;
	}
}

static struct kl_retrieved *push_card(struct kl_retrieval *out, struct kl_retrieve_query *query,
				      size_t card, unsigned top)
{
	kl_retrieve_query_settle(query, card);
	KL_GROW(out->v, out->n + 1, out->alloc);
	describe_card(&out->v[out->n], query, card, top);
	return &out->v[out->n++];
}

static bool is_listed(const struct kl_retrieval *out, size_t card)
{
	for (size_t i = 0; i < out->n; i++)
		if (out->v[i].card == card)
			return true;
	return false;
}

/*
 * Name the cards to apply before this one or, if no such cards are enough, the requirements that
 * the target does not meet.
 */
static void add_needs(struct kl_retrieved *retrieved, struct kl_retrieve_query *query)
{
	uint32_t prior = kl_index_card(query->ix, retrieved->card)->prior;
	const struct kl_index_list requires = kl_index_prior(query->ix, prior)->requires;
	const uint32_t *item = kl_index_items(query->ix, requires);
	size_t need[KL_CLOSURE_MAX];
	int count = kl_close(query, prior, need);

	for (int i = 0; i < count; i++)
		kl_strvec_push(&retrieved->needs, kl_retrieve_query_id(query, need[i]));
	for (size_t i = 0; count < 0 && i < requires.n; i++)
		if (!kl_retrieve_query_has(query, item[i]))
			kl_strvec_push(&retrieved->lacks, text_of(query, item[i]));
}

/* Append a card, preceded by the cards that it requires. */
static void list_card(struct kl_retrieval *out, struct kl_retrieve_query *query, const uint8_t *top,
		      size_t card)
{
	const struct kl_index_card *entry = kl_index_card(query->ix, card);
	size_t need[KL_CLOSURE_MAX];
	struct kl_retrieved *retrieved;
	int count = kl_close(query, entry->prior, need);

	for (int i = 0; i < count; i++)
		if (!is_listed(out, need[i]) && need[i] != card) {
			retrieved = push_card(out, query, need[i], top[need[i]]);
			retrieved->needed_by = kl_strdup(text_of(query, entry->id));
		}
	if (is_listed(out, card))
		return;
	add_needs(push_card(out, query, card, top[card]), query);
}

static void list_best(struct kl_retrieval *out, struct kl_retrieve_query *query, const uint8_t *top)
{
	uint32_t *all = kl_calloc(KL_AXES * query->o->per_axis + 1, sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < query->n; i++)
		if (top[i])
			all[n++] = (uint32_t)i;
	/* insertion sort is enough for a few cards */
	for (size_t i = 1; i < n; i++)
		for (size_t k = i;
		     k > 0 && kl_retrieve_query_is_better(query, KL_AXES, all[k], all[k - 1]);
		     k--) {
			uint32_t swap = all[k];

			all[k] = all[k - 1];
			all[k - 1] = swap;
		}
	for (size_t i = 0; i < n && (!query->o->limit || i < query->o->limit); i++)
		list_card(out, query, top, all[i]);
	free(all);
}

static void list_next(struct kl_retrieval *out, struct kl_retrieve_query *query, const uint8_t *top)
{
	KL_AUTO(kl_freep) uint32_t *card = kl_calloc(query->n + 1, sizeof(*card));
	size_t n = kl_retrieve_query_next(query, card);

	for (size_t i = 0; i < n && (!query->o->limit || i < query->o->limit); i++)
		add_needs(push_card(out, query, card[i], top[card[i]]), query);
}

/* --- listing the lineages of the cards -------------------------------------------------------- */

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

static int by_lineage(const void *left, const void *right)
{
	const struct kl_retrieved_path *x = left, *y = right;

	return strcmp(x->lineage, y->lineage);
}

static void add_step(struct kl_retrieved_path *path, int64_t step, const char *id)
{
	size_t i = path->n;

	KL_GROW(path->v, path->n + 1, path->alloc);
	for (; i > 0 && (path->v[i - 1].step > step ||
			 (path->v[i - 1].step == step && strcmp(path->v[i - 1].id, id) > 0));
	     i--)
		path->v[i] = path->v[i - 1];
	path->v[i].step = step;
	path->v[i].id = kl_strdup(id);
	path->n++;
}

static void add_paths(struct kl_retrieval *out, const struct kl_retrieve_query *query)
{
	for (size_t i = 0; i < out->n; i++) {
		struct kl_index_list list = kl_index_card(query->ix, out->v[i].card)->evidence;
		const uint32_t *item = kl_index_items(query->ix, list);

		for (size_t k = 0; k + 1 < list.n; k += 2)
			add_step(path_of(out, text_of(query, item[k])),
				 strtoll(text_of(query, item[k + 1]), NULL, 10), out->v[i].id);
	}
	if (out->npath)
		qsort(out->path, out->npath, sizeof(*out->path), by_lineage);
}

/* --- explaining dropped cards ----------------------------------------------------------------- */

static char *why_not(struct kl_retrieve_query *query, const struct kl_retrieved *retrieved)
{
	const struct kl_index_card *card = kl_index_card(query->ix, retrieved->card);
	const struct kl_index_prior *prior = kl_index_prior(query->ix, card->prior);
	int64_t string = kl_measure_lacking(query, card->prior);

	if (retrieved->row < 0)
		return kl_strdup("none of the card's rows is verified");
	if (string >= 0)
		return kl_asprintf("platform: lacks %s", text_of(query, (uint32_t)string));
	if (!retrieved->axis[KL_AXIS_PLATFORM] || !retrieved->axis[KL_AXIS_LANGUAGE])
		return kl_asprintf("none of the card's verified rows is for a similar %s",
				   retrieved->axis[KL_AXIS_PLATFORM] ? "language" : "platform");
	string = kl_retrieve_query_first(query, prior->conflicts, true);
	if (string >= 0)
		return kl_asprintf("prior: conflicts with %s", text_of(query, (uint32_t)string));
	if (!query->o->repair && kl_retrieve_query_is_done(query, card))
		return kl_strdup("prior: the target already has what the card provides");
	string = kl_retrieve_query_first(query, prior->requires, false);
	if (!retrieved->axis[KL_AXIS_PRIOR] && string >= 0)
		return kl_asprintf(
			"prior: requires %s, and no set of %d cards or fewer provides it",
			text_of(query, (uint32_t)string), KL_CLOSURE_MAX);
	if (!kl_retrieve_query_is_sound(query, retrieved->card)) {
		const uint32_t *item = kl_index_items(query->ix, card->sound);

		return kl_asprintf("the sound precondition '%s' is false",
				   text_of(query, item[false_sound(query, retrieved->card)]));
	}
	return NULL;
}

/*
 * Return how near a ruled-out card is to the target: the product of its axes, in which an axis of 0
 * counts as 0.01.
 */
static double fit_nearness(const struct kl_fit *fit)
{
	double product = 1;

	for (int k = 0; k < KL_AXES; k++)
		product *= fit->best[k] ? (double)fit->best[k] / KL_ONE : 0.01;
	return product;
}

static bool is_nearer(const struct kl_retrieve_query *query, uint32_t x, uint32_t y)
{
	double difference = fit_nearness(&query->fit[x]) - fit_nearness(&query->fit[y]);

	if (difference != 0)
		return difference > 0;
	return strcmp(kl_retrieve_query_id(query, x), kl_retrieve_query_id(query, y)) < 0;
}

static void add_dropped(struct kl_retrieval *out, struct kl_retrieve_query *query)
{
	uint32_t best[MAX_DROPPED + 1];
	size_t n = 0;

	for (size_t i = 0; i < query->n; i++) {
		size_t k = n;

		/*
		 * skip a card that is not ruled out: it has a score, and no sound predicate is
		 * known to be false
		 */
		if (!query->fit[i].wanted || query->fit[i].listed ||
		    (query->fit[i].score && query->fit[i].sound != 2))
			continue;
		if (n == MAX_DROPPED && !is_nearer(query, (uint32_t)i, best[n - 1]))
			continue;
		for (; k > 0 && is_nearer(query, (uint32_t)i, best[k - 1]); k--)
			best[k] = best[k - 1];
		best[k] = (uint32_t)i;
		n += n < MAX_DROPPED;
	}
	for (size_t i = 0; i < n; i++) {
		KL_GROW(out->dropped, out->ndropped + 1, out->dropped_alloc);
		describe_card(&out->dropped[out->ndropped], query, best[i], 0);
		out->dropped[out->ndropped].why = why_not(query, &out->dropped[out->ndropped]);
		out->ndropped++;
	}
}

int kl_retrieve(struct kl_retrieval *out, const struct kl_index *ix, struct kl_target *target,
		const struct kl_retrieve_opts *opts)
{
	KL_AUTO(query_release) struct kl_retrieve_query query;
	KL_AUTO(kl_freep) uint8_t *top = NULL;

	query_init(&query, ix, target, opts);
	*out = (struct kl_retrieval){ 0 };
	if (!opts->per_axis)
		return kl_error(KL_EINVALID, "the number of cards per axis must be at least 1");
	top = kl_calloc(query.n + 1, 1);
	kl_measure(&query);
	for (size_t i = 0; i < query.n; i++)
		out->cards += query.fit[i].wanted;
	/* settle every card, because only this shows whether a card is ruled out, and why */
	for (size_t i = 0; opts->explain && i < query.n; i++)
		if (query.fit[i].wanted)
			kl_retrieve_query_settle(&query, i);
	for (int axis = 0; opts->order == KL_ORDER_PAPER && axis < KL_AXES; axis++)
		kl_retrieve_query_mark_axis(&query, axis, top);
	if (opts->order == KL_ORDER_NEXT)
		list_next(out, &query, top);
	else
		list_best(out, &query, top);
	add_paths(out, &query);
	if (opts->explain)
		add_dropped(out, &query);
	return 0;
}
