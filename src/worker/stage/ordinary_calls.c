/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/ordinary_calls.h"

#include "base/rng.h"
#include "worker/measure/blocks.h"

/* Calls at a performance point: MANY plus a random number below MORE that no kernel can foresee. */
#define MANY 40
#define MORE 24
#define FEW 6   /* calls at any other point: FEW plus a random number below FEW */
#define AGAIN 3 /* calls at the first performance point after all points, unless calls are slow */
/*
 * Time for the calls at a performance point (POINT_NS) and at any other point (OTHER_NS). LEAST and
 * LEAST_OTHER calls are made even if they take longer.
 */
#define POINT_NS ((int64_t)400000000)
#define OTHER_NS ((int64_t)40000000)
#define LEAST 6
#define LEAST_OTHER 2

/* The inputs of one point. The kernel is called alternately with the two inputs of `pair`. */
struct inputs {
	const struct kl_point *point;
	size_t *all; /* pool indices, including the twin */
	size_t n;
	size_t pair[2]; /* the first draw and its twin; if there is no twin, another input */
	bool twins;
	struct kl_rng rng;
};

static void inputs_release(struct inputs *inputs)
{
	free(inputs->all);
}

static void inputs_init(struct inputs *inputs, const struct kl_inquiry *inquiry,
			const struct kl_point *pt, const char *label)
{
	KL_AUTO(kl_freep) char *full = kl_asprintf("%s/%s", label, pt->id);
	struct kl_key key = kl_key_derive(&inquiry->order, full);
	const struct kl_member *twin = kl_pool_twin(inquiry->pool, pt);

	*inputs = (struct inputs){ .point = pt, .twins = twin != NULL };
	kl_rng_key(&inputs->rng, &key, 0);
	inputs->all = kl_calloc(kl_pool_size(inquiry->pool) + 1, sizeof(*inputs->all));
	for (size_t i = 0; i < kl_pool_size(inquiry->pool); i++) {
		const struct kl_member *member = kl_pool_get(inquiry->pool, i);

		if (member->point != pt)
			continue;
		if (twin ? member == twin : inputs->n == 1)
			inputs->pair[1] = i;
		if (!inputs->n)
			inputs->pair[0] = inputs->pair[1] = i;
		inputs->all[inputs->n++] = i;
	}
}

/*
 * Draw the order of `n` calls: the inputs of the pair alternate. After the first LEAST calls, a
 * random input comes in between now and then.
 */
static void draw_order(struct inputs *inputs, size_t *order, size_t n)
{
	size_t turn = (size_t)kl_rng_below(&inputs->rng, 2);

	for (size_t i = 0; i < n; i++) {
		bool away = i >= LEAST && kl_rng_below(&inputs->rng, 4) == 0;

		order[i] = away ? inputs->all[kl_rng_below(&inputs->rng, inputs->n)] :
				  inputs->pair[turn++ % 2];
	}
}

static int run_calls(struct kl_inquiry *inquiry, struct inputs *inputs, size_t n)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(n + 1, sizeof(*order));
	struct kl_round round = {
		.point = inputs->point,
		.right = kl_rng_below(&inputs->rng, 2),
		.member = order,
		.n = n,
		.ordinary = true,
		.twins = inputs->twins,
		.where = "ordinary calls: ",
	};

	if (!inputs->n)
		return 0;
	draw_order(inputs, order, n);
	return kl_inquiry_round(inquiry, &round);
}

/*
 * Return the number of calls for which there is time: at most `wanted`, and at least LEAST at a
 * performance point or LEAST_OTHER at any other point.
 */
static size_t affordable_calls(const struct kl_inquiry *inquiry, const struct kl_point *pt,
			       size_t wanted)
{
	int64_t cost = inquiry->cost[pt - inquiry->job->point];
	int64_t n = (pt->perf ? POINT_NS : OTHER_NS) / (cost > 0 ? cost : 1);
	size_t least = pt->perf ? LEAST : LEAST_OTHER;

	return n >= (int64_t)wanted ? wanted : n > (int64_t)least ? (size_t)n : least;
}

static int one_point(struct kl_inquiry *inquiry, const struct kl_point *pt, json_t *notes)
{
	KL_AUTO(inputs_release) struct inputs inputs = { .all = NULL };
	size_t wanted, n;
	int err;

	inputs_init(&inputs, inquiry, pt, "ordinary calls");
	wanted = pt->perf ? MANY + (size_t)kl_rng_below(&inputs.rng, MORE) :
			    FEW + (size_t)kl_rng_below(&inputs.rng, FEW);
	n = affordable_calls(inquiry, pt, wanted);
	err = run_calls(inquiry, &inputs, n);
	if (err == 0 && !inquiry->class && pt->perf && n < MANY)
		kl_blocks_note(
			notes,
			"%s: calls are slow, so only %zu ordinary calls were made in a row, not %d",
			pt->id, n, MANY);
	return err;
}

/* Call the candidate at a performance point again, after all other points, in the same process. */
static int call_again(struct kl_inquiry *inquiry, const struct kl_point *pt)
{
	KL_AUTO(inputs_release) struct inputs inputs = { .all = NULL };

	if (affordable_calls(inquiry, pt, MANY) < MANY)
		return 0;
	inputs_init(&inputs, inquiry, pt, "ordinary calls again");
	return run_calls(inquiry, &inputs, AGAIN);
}

int kl_ordinary_calls(struct kl_inquiry *inquiry, json_t *notes)
{
	const struct kl_job *job = inquiry->job;
	const struct kl_point *first = NULL;
	bool others = false;
	int err = 0;

	for (size_t k = 0; k < 2 * job->npoint && err == 0 && !inquiry->class; k++) {
		const struct kl_point *pt = &job->point[k % job->npoint];

		if (pt->perf != (k < job->npoint))
			continue;
		first = first ? first : pt;
		others = others || pt != first;
		err = one_point(inquiry, pt, notes);
	}
	if (err == 0 && !inquiry->class && others)
		err = call_again(inquiry, first);
	return err;
}
