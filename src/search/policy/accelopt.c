/* SPDX-License-Identifier: Apache-2.0 */
/* accelopt - AccelOpt (arXiv 2511.15915), a beam search with plans and a memory of lessons */
#include <string.h>

#include "base/error.h"
#include "search/policy/experience.h"

enum { BEAM, PLANS, SAMPLES, FIXES, POSITIVE, NEGATIVE, TOP, ITEMS, ELITE, QUEUE };
enum { NO, YES };
enum { FIFO, SAMPLE };

static const char *const elite_words[] = { "no", "yes", NULL };
static const char *const queue_words[] = { "fifo", "sample", NULL };

static const struct kl_policy_param params[] = {
	KL_PARAM_COUNT("beam", "2", 1, 100, "kernels that a round starts from"),
	KL_PARAM_COUNT("plans", "4", 1, 100, "plans for each of them"),
	KL_PARAM_COUNT("samples", "2", 1, 100, "candidates for each plan"),
	KL_PARAM_COUNT("fixes", "0", 0, 10, "repairs of a candidate that failed"),
	KL_PARAM_DECIMAL("positive", "1.04", 1, 100, "speedup above which a pair is remembered"),
	KL_PARAM_DECIMAL("negative", "1.15", 1, 100, "the same for slowdowns"),
	KL_PARAM_COUNT("top", "8", 0, 100, "pairs of a round that are remembered"),
	KL_PARAM_COUNT("items", "16", 1, 1000, "items that the memory holds"),
	KL_PARAM_WORD("elite", "yes", elite_words, "the beam's kernels can stay in the beam"),
	KL_PARAM_WORD("queue", "fifo", queue_words, "which old items leave: the oldest, or drawn"),
	KL_PARAMS_END,
};

/*
 * In the paper the beam's kernels can stay in the beam, and the oldest items leave the memory. The
 * released program does neither.
 */
static const struct kl_policy_preset presets[] = {
	{ "paper", "elite=yes queue=fifo", "as published" },
	{ "code", "elite=no queue=sample", "as released: the beam can lose its best kernel" },
	{ "nki", "beam=6 plans=12 samples=2", "as run on Trainium" },
	{ .name = NULL },
};

/* --- where a ticket is --------------------------------------------------------------------- */

enum group { PLAN, EDIT, ITEM };

/*
 * The place of a ticket in the search. Each round has three groups of tickets: plans, candidates,
 * and items of the memory. Round 0 starts from the root alone.
 */
struct place {
	int64_t round;
	enum group group;
	int64_t index; /* index of the ticket in its group */
	int64_t first; /* first ticket of the group */
	int64_t size;  /* number of tickets in the group */
};

static struct place place_of(const struct kl_setup *setup, int64_t ticket)
{
	const int64_t *value = setup->value;
	struct place place = { .first = 1 };

	for (;;) {
		int64_t plans = value[PLANS] * (place.round ? value[BEAM] : 1);
		int64_t size[] = { plans, plans * value[SAMPLES], value[TOP] };

		for (int i = 0; i < 3; i++) {
			if (ticket < place.first + size[i]) {
				place.group = (enum group)i;
				place.index = ticket - place.first;
				place.size = size[i];
				return place;
			}
			place.first += size[i];
		}
		place.round++;
	}
}

/* Return the last ticket of the previous group. */
static int64_t group_before(const struct kl_setup *setup, int64_t ticket)
{
	return place_of(setup, ticket).first - 1;
}

/* --- the state ----------------------------------------------------------------------------- */

struct pair {
	int64_t slow, fast; /* tickets of the slower and of the faster kernel */
	double speedup;     /* speed of the child divided by that of its parent */
};

struct state {
	int64_t *beam; /* tickets of the kernels in the beam */
	size_t nbeam;
	struct pair *pair; /* pairs of this round, in the order in which items are written */
	size_t npair;
	int64_t *item; /* tickets of the items in the memory, the oldest first */
	size_t nitem;
	size_t new_items; /* number of items of this round; they are the last in `item` */
};

static void *create_state(const struct kl_setup *setup)
{
	struct state *state = kl_calloc(1, sizeof(*state));

	state->beam = kl_calloc((size_t)setup->value[BEAM], sizeof(*state->beam));
	state->pair = kl_calloc((size_t)setup->value[TOP] + 1, sizeof(*state->pair));
	state->item = kl_calloc((size_t)(setup->value[ITEMS] + setup->value[TOP]),
				sizeof(*state->item));
	state->nbeam = 1; /* the root */
	return state;
}

static void release_state(void *data)
{
	struct state *state = data;

	free(state->beam);
	free(state->pair);
	free(state->item);
	free(state);
}

/*
 * Return the fastest correct sample of a plan, or the slowest one if `fastest` is false; of equal
 * ones the first. Return -1 if no sample is correct.
 */
static int64_t extreme_sample(const struct kl_experience *seen, int64_t first, bool fastest)
{
	int64_t found = -1;

	for (int64_t i = first; i < first + seen->setup->value[SAMPLES]; i++) {
		int64_t speed = seen->at[i].speed_ppm;

		if (!kl_experience_is_correct(seen, i))
			continue;
		if (found < 0 || (fastest ? speed > seen->at[found].speed_ppm :
					    speed < seen->at[found].speed_ppm))
			found = i;
	}
	return found;
}

/* A kernel that can be chosen for the next beam. */
struct branch {
	int64_t ticket;
	int64_t speed; /* 0 if no sample of the plan is correct; then `ticket` is the parent */
	size_t order;
};

static int by_latency(const void *left, const void *right)
{
	const struct branch *one = left, *two = right;

	if (one->speed != two->speed)
		return one->speed > two->speed ? -1 : 1;
	return (one->order > two->order) - (one->order < two->order);
}

/* Put the fastest kernels into the next beam, as many as it has room for. */
static void choose_beam(const struct kl_experience *seen, struct branch *branch, size_t n)
{
	struct state *state = seen->state;
	size_t most = (size_t)seen->setup->value[BEAM];

	qsort(branch, n, sizeof(*branch), by_latency);
	state->nbeam = n < most ? n : most;
	for (size_t i = 0; i < state->nbeam; i++)
		state->beam[i] = branch[i].ticket;
}

/* Sort pairs by falling speedup; equal ones stay in order of tickets. */
static void sort_pairs(struct pair *pair, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && pair[j].speedup > pair[j - 1].speedup; j--) {
			struct pair swapped = pair[j];

			pair[j] = pair[j - 1];
			pair[j - 1] = swapped;
		}
}

/*
 * Choose the pairs about which items are written: first the greatest speedups, which take at most
 * half of the room, then the greatest slowdowns.
 */
static void choose_pairs(const struct kl_experience *seen, struct pair *pair, size_t n)
{
	struct state *state = seen->state;
	size_t top = (size_t)seen->setup->value[TOP];
	double above = kl_setup_decimal(seen->setup, POSITIVE);
	double below = 1 / kl_setup_decimal(seen->setup, NEGATIVE);

	sort_pairs(pair, n);
	state->npair = 0;
	for (size_t i = 0; i < n && pair[i].speedup > above && state->npair < top / 2; i++)
		state->pair[state->npair++] = pair[i];
	for (size_t i = n; i > 0 && pair[i - 1].speedup < below && state->npair < top; i--)
		state->pair[state->npair++] = pair[i - 1];
}

/*
 * Pair the parent of a plan's samples with the fastest correct sample or, if that is slower than
 * the parent, with the slowest one. Return false if no sample is correct, or if the fastest is as
 * fast as the parent.
 */
static bool pair_of_plan(struct pair *out, const struct kl_experience *seen, int64_t first)
{
	int64_t parent = seen->at[first].parent, child = extreme_sample(seen, first, true);
	double base = parent < 0 ? 0 : (double)seen->at[parent].speed_ppm;

	if (child < 0 || !(base > 0) || (double)seen->at[child].speed_ppm == base)
		return false;
	if ((double)seen->at[child].speed_ppm < base)
		child = extreme_sample(seen, first, false);
	out->speedup = (double)seen->at[child].speed_ppm / base;
	out->slow = out->speedup > 1 ? parent : child;
	out->fast = out->speedup > 1 ? child : parent;
	return true;
}

/* After the last candidate of a round, choose the next beam and the pairs to remember. */
static void end_round(const struct kl_experience *seen, const struct place *edits)
{
	struct state *state = seen->state;
	int64_t samples = seen->setup->value[SAMPLES];
	size_t plans = (size_t)(edits->size / samples), n = 0, npair = 0;
	KL_AUTO(kl_freep) struct branch *branch = kl_calloc(plans + state->nbeam, sizeof(*branch));
	KL_AUTO(kl_freep) struct pair *pair = kl_calloc(plans, sizeof(*pair));
	bool elite = seen->setup->value[ELITE] == YES;

	for (size_t i = 0; elite && i < state->nbeam; i++, n++)
		branch[n] = (struct branch){ state->beam[i], seen->at[state->beam[i]].speed_ppm,
					     n };
	for (size_t i = 0; i < plans; i++) {
		int64_t first = edits->first + (int64_t)i * samples;
		int64_t best = extreme_sample(seen, first, true);

		if (best >= 0)
			branch[n] = (struct branch){ best, seen->at[best].speed_ppm, n };
		else if (!elite && seen->at[first].parent >= 0)
			branch[n] = (struct branch){ seen->at[first].parent, 0, n };
		else
			continue;
		n++;
		npair += pair_of_plan(&pair[npair], seen, first);
	}
	choose_beam(seen, branch, n);
	choose_pairs(seen, pair, npair);
}

static void add_item(struct state *state, int64_t ticket)
{
	state->item[state->nitem++] = ticket;
	state->new_items++;
}

/*
 * After the items of a round, remove old items until all items fit into the memory. Remove the
 * oldest ones, or with queue=sample ones that are drawn.
 */
static void trim_items(const struct kl_experience *seen, int64_t ticket)
{
	struct state *state = seen->state;
	size_t most = (size_t)seen->setup->value[ITEMS], old = state->nitem - state->new_items;
	size_t gone = state->nitem > most ? state->nitem - most : 0;
	struct kl_draws draws = { .key = seen->setup->key, .ticket = ticket };
	struct kl_rng rng;

	if (gone && seen->setup->value[QUEUE] == SAMPLE && gone < old) {
		/* move the items that are drawn to the front, where they are removed below */
		kl_draw_open(&rng, &draws, "items");
		kl_draw_sample(&rng, state->item, old, gone);
	}
	memmove(state->item, state->item + gone, (state->nitem - gone) * sizeof(*state->item));
	state->nitem -= gone;
	state->new_items = 0;
}

static void fold_state(struct kl_experience *seen, const struct kl_observation *observation)
{
	struct place place;
	bool is_last;

	if (!observation->ticket)
		return;
	place = place_of(seen->setup, observation->ticket);
	is_last = place.index == place.size - 1;
	if (place.group == EDIT && is_last)
		end_round(seen, &place);
	if (place.group == ITEM && observation->outcome == KL_OUTCOME_NOTE)
		add_item(seen->state, observation->ticket);
	if (place.group == ITEM && is_last)
		trim_items(seen, observation->ticket);
}

static json_t *write_state(const struct kl_experience *seen)
{
	const struct state *state = seen->state;
	json_t *json = json_object(), *beam = json_array(), *items = json_array();

	for (size_t i = 0; i < state->nbeam; i++)
		json_array_append_new(beam, json_integer(state->beam[i]));
	for (size_t i = 0; i < state->nitem; i++)
		json_array_append_new(items, json_integer(state->item[i]));
	kl_json_set(json, "beam", beam);
	kl_json_set(json, "items", items);
	return json;
}

/* --- tickets ------------------------------------------------------------------------------- */

static void propose_plan(struct kl_intent *out, const struct kl_experience *seen, int64_t index)
{
	const struct state *state = seen->state;
	size_t kernel = (size_t)(index / seen->setup->value[PLANS]);

	if (kernel >= state->nbeam) {
		out->kind = KL_TICKET_SKIP;
		return;
	}
	kl_intent_note(out, "planner", state->beam[kernel]);
	for (size_t i = 0; i < state->nitem; i++)
		kl_intent_show(out, "item", state->item[i]);
}

static void propose_edit(struct kl_intent *out, const struct kl_experience *seen,
			 const struct place *place)
{
	int64_t plans = place->size / seen->setup->value[SAMPLES];
	int64_t plan = place->first - plans + place->index / seen->setup->value[SAMPLES];

	/* The executor is shown only the plan, so without a plan there is nothing to do. */
	if (seen->at[plan].outcome != KL_OUTCOME_NOTE) {
		out->kind = KL_TICKET_SKIP;
		return;
	}
	kl_intent_edit(out, "executor", seen->at[plan].parent);
	out->tries = 1 + seen->setup->value[FIXES];
	kl_intent_show(out, "plan", plan);
}

static void propose_item(struct kl_intent *out, const struct kl_experience *seen, int64_t index)
{
	const struct state *state = seen->state;

	if ((size_t)index >= state->npair) {
		out->kind = KL_TICKET_SKIP;
		return;
	}
	kl_intent_note(out, "summariser", state->pair[index].fast);
	kl_intent_show(out, "slow", state->pair[index].slow);
	kl_intent_show(out, "fast", state->pair[index].fast);
}

static void propose_next(struct kl_intent *out, const struct kl_experience *seen,
			 const struct kl_draws *draws)
{
	struct place place = place_of(seen->setup, draws->ticket);

	switch (place.group) {
	case PLAN:
		propose_plan(out, seen, place.index);
		break;
	case EDIT:
		propose_edit(out, seen, &place);
		break;
	case ITEM:
		propose_item(out, seen, place.index);
		break;
	}
}

static void cannot_happen(struct kl_strvec *lines, const struct kl_setup *setup)
{
	int64_t first = setup->value[PLANS] * setup->value[SAMPLES];

	if (setup->candidates <= first)
		kl_strvec_pushf(lines,
				"memory: no item is read within %lld candidates; the first round "
				"alone makes %lld",
				(long long)setup->candidates, (long long)first);
}

const struct kl_policy kl_policy_accelopt = {
	.name = "accelopt",
	.what = "AccelOpt: a beam of kernels, plans for each, and a memory of slow and fast pairs",
	.param = params,
	.preset = presets,
	.horizon = group_before,
	.create = create_state,
	.fold = fold_state,
	.propose = propose_next,
	.write = write_state,
	.release = release_state,
	.cannot = cannot_happen,
};
