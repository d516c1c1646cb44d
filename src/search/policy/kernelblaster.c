/* SPDX-License-Identifier: Apache-2.0 */
/* kernelblaster - KernelBlaster (arXiv 2602.14293): rollouts that share a base of techniques */
#include <string.h>

#include "base/error.h"
#include "search/policy/experience.h"
#include "search/policy/knowledge.h"
#include "search/policy/memory.h"

enum { ROLLOUTS, STEPS, TRIES, POWER, FLOOR, STOP, GRADIENT, EVERY, STATES, PICK };
enum { OFF, ON };
enum { EACH, FIRST };
enum { DRAWN, GREATEST };

static const char *const gradient_words[] = { "off", "on", NULL };
static const char *const states_words[] = { "each", "first", NULL };
static const char *const pick_words[] = { "drawn", "greatest", NULL };

static const struct kl_policy_param params[] = {
	KL_PARAM_COUNT("rollouts", "10", 1, 1000, "rollouts, all from the root"),
	KL_PARAM_COUNT("steps", "5", 1, 1000, "steps of a rollout"),
	KL_PARAM_COUNT("tries", "4", 1, 10, "tries of a step before its rollout ends"),
	KL_PARAM_COUNT("power", "3", 0, 10, "weight of a technique: its relevance to this power"),
	KL_PARAM_DECIMAL("floor", "0.001", 0, 1, "least weight of a technique"),
	KL_PARAM_DECIMAL("stop", "-500", -100000, 0, "percent saved below which a rollout ends"),
	KL_PARAM_WORD("gradient", "on", gradient_words, "let the model revise the base"),
	KL_PARAM_COUNT("every", "3", 1, 1000, "rollouts that end before it does"),
	KL_PARAM_WORD("states", "each", states_words, "profile each step, or the root only"),
	KL_PARAM_WORD("pick", "drawn", pick_words, "draw a technique, or take the most relevant"),
	KL_PARAMS_END,
};

static const struct kl_policy_preset presets[] = {
	{ "paper", "gradient=on states=each", "as published" },
	{ "code", "gradient=off states=first", "as released: only first steps teach the base" },
	{ .name = NULL },
};

#define LEAST_TECHNIQUES 4
#define SAME_STATE_PPM 600000
#define EVALUATED 10
#define GAPS 5

/* --- where a ticket is --------------------------------------------------------------------- */

enum group { PROFILE, PLAN, EDIT, EVALUATE, ANALYSE, UPDATE };

/*
 * The place of a ticket in the search. Each step has a group of profiles, of plans and of edits,
 * with one ticket for each rollout; then three notes that revise the knowledge base.
 */
struct place {
	int64_t step;
	enum group group;
	int64_t rollout; /* rollout of the ticket in the first three groups; else 0 */
	int64_t first;   /* first ticket of the group */
};

static struct place place_of(const struct kl_setup *setup, int64_t ticket)
{
	int64_t rollouts = setup->value[ROLLOUTS], size = 3 * rollouts + 3;
	int64_t at = (ticket - 1) % size;
	struct place place = { .step = (ticket - 1) / size };

	if (at < 3 * rollouts) {
		place.group = (enum group)(at / rollouts);
		place.rollout = at % rollouts;
	} else {
		place.group = (enum group)(EVALUATE + at - 3 * rollouts);
	}
	place.first = ticket - place.rollout;
	return place;
}

static int64_t group_before(const struct kl_setup *setup, int64_t ticket)
{
	return place_of(setup, ticket).first - 1;
}

/* --- the state ----------------------------------------------------------------------------- */

struct rollout {
	int64_t last; /* ticket of its latest kernel */
	bool ended;
	char *state; /* state of its latest kernel, or NULL if not known */
};

struct step {
	int64_t ticket;
	double saved, predicted, reward;
};

struct state {
	struct rollout *rollout;
	size_t nrollout;
	struct step *step; /* all correct steps, in order of tickets */
	size_t nstep, alloc;
	int64_t ended,
		revised; /* rollouts that have ended, and of them those that were evaluated */
	struct kl_knowledge base;
};

/*
 * Begin the base with the techniques of a memory. They are predictions: the first use here replaces
 * each of them.
 */
static void recall_techniques(struct kl_knowledge *base, json_t *memory)
{
	const char *path;
	json_t *entry;

	json_object_foreach(memory, path, entry) {
		struct kl_knowledge_entry *known;

		if (!kl_memory_is(entry, "technique"))
			continue;
		known = kl_knowledge_have(base, kl_json_str_or(entry, "state", ""),
					  kl_json_str_or(entry, "technique", ""),
					  100.0 * (double)kl_json_int_or(entry, "saved_ppm", 0) /
						  KL_MILLION);
		known->confidence = (double)kl_json_int_or(entry, "confidence_ppm", 0) / KL_MILLION;
	}
}

static void *create_state(const struct kl_setup *setup)
{
	struct state *state = kl_calloc(1, sizeof(*state));

	state->nrollout = (size_t)setup->value[ROLLOUTS];
	state->rollout = kl_calloc(state->nrollout, sizeof(*state->rollout));
	recall_techniques(&state->base, setup->memory);
	return state;
}

static void release_state(void *data)
{
	struct state *state = data;

	for (size_t i = 0; i < state->nrollout; i++)
		free(state->rollout[i].state);
	free(state->step);
	kl_knowledge_release(&state->base);
	free(state->rollout);
	free(state);
}

/*
 * Read the state of a rollout's kernel from a note {"state": name, "confidence_ppm": n, "primary":
 * name}. If the confidence is below SAME_STATE_PPM, the state is `primary`, and if that is another
 * state, it inherits the knowledge about "state".
 */
static void fold_profile(struct state *state, struct rollout *rollout,
			 const struct kl_observation *observation)
{
	const char *match = kl_knowledge_name(observation->note, "state");
	const char *primary = kl_knowledge_name(observation->note, "primary");
	int64_t confidence = kl_json_int_or(observation->note, "confidence_ppm", 0);

	free(rollout->state);
	rollout->state = NULL;
	if (observation->outcome != KL_OUTCOME_NOTE)
		return;
	if (match && confidence >= SAME_STATE_PPM) {
		rollout->state = kl_strdup(match);
	} else if (primary) {
		rollout->state = kl_strdup(primary);
		if (match && strcmp(match, primary))
			kl_knowledge_inherit(&state->base, primary, match);
	}
}

/* Return the saving that a plan predicts for a technique, in percent; 0 if it predicts none. */
static double planned_saving(const json_t *plan, const char *technique)
{
	const json_t *rows = json_object_get(plan, "techniques");

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (!strcmp(kl_json_str_or(row, "name", ""), technique))
			return 100.0 * (double)kl_json_int_or(row, "saved_ppm", 0) / KL_MILLION;
	}
	return 0;
}

static double step_reward(double saved, double predicted)
{
	double reward = saved / 100, ratio;

	if (predicted > 0) {
		ratio = saved / predicted < 2 ? saved / predicted : 2;
		reward += kl_knowledge_foretold(saved, predicted) ? 0.2 :
			  ratio > 1                               ? -0.1 * (ratio - 1) :
								    -0.1 * (1 - ratio);
	}
	return saved > 0 ? reward : reward - 0.5;
}

static void learn_step(struct state *state, const struct rollout *rollout, double saved,
		       const struct kl_observation *observation, const json_t *plan)
{
	struct kl_knowledge_entry *entry = NULL;
	double predicted = 0;

	if (rollout->state && observation->form) {
		entry = kl_knowledge_have(&state->base, rollout->state, observation->form,
					  planned_saving(plan, observation->form));
		predicted = entry->predicted;
		kl_knowledge_learn(entry, saved);
	}
	KL_GROW(state->step, state->nstep + 1, state->alloc);
	state->step[state->nstep++] = (struct step){ observation->ticket, saved, predicted,
						     step_reward(saved, predicted) };
}

static void fold_edit(struct kl_experience *seen, const struct place *place,
		      const struct kl_observation *observation)
{
	struct state *state = seen->state;
	struct rollout *rollout = &state->rollout[place->rollout];
	int64_t plan = observation->ticket - seen->setup->value[ROLLOUTS];
	double saved;

	if (observation->outcome == KL_OUTCOME_SKIPPED)
		return;
	if (observation->outcome != KL_OUTCOME_CORRECT) {
		rollout->ended = true;
		state->ended++;
		return;
	}
	saved = 100 *
		(1 - (double)seen->at[rollout->last].speed_ppm / (double)observation->speed_ppm);
	learn_step(state, rollout, saved, observation, seen->at[plan].note);
	/* Continue from the new kernel, even if it is slower. */
	rollout->last = observation->ticket;
	if (saved < kl_setup_decimal(seen->setup, STOP)) {
		rollout->ended = true;
		state->ended++;
	}
}

static void fold_state(struct kl_experience *seen, const struct kl_observation *observation)
{
	struct state *state = seen->state;
	struct place place;

	if (!observation->ticket)
		return;
	place = place_of(seen->setup, observation->ticket);
	if (place.group == PROFILE)
		fold_profile(state, &state->rollout[place.rollout], observation);
	else if (place.group == EDIT)
		fold_edit(seen, &place, observation);
	else if (place.group == UPDATE && observation->outcome != KL_OUTCOME_SKIPPED) {
		kl_knowledge_update(&state->base, observation->note);
		state->revised = state->ended;
	}
}

static json_t *write_state(const struct kl_experience *seen)
{
	const struct state *state = seen->state;
	json_t *json = json_object(), *rollouts = json_array();

	for (size_t i = 0; i < state->nrollout; i++) {
		json_t *row = json_array();

		json_array_append_new(row, json_integer(state->rollout[i].last));
		json_array_append_new(row, json_boolean(state->rollout[i].ended));
		json_array_append_new(row, state->rollout[i].state ?
						   json_string(state->rollout[i].state) :
						   json_null());
		json_array_append_new(rollouts, row);
	}
	kl_json_set(json, "rollouts", rollouts);
	kl_json_set_int(json, "revised", state->revised);
	kl_json_set(json, "base", kl_knowledge_write(&state->base));
	return json;
}

/* --- tickets ------------------------------------------------------------------------------- */

static void propose_profile(struct kl_intent *out, const struct kl_experience *seen,
			    const struct place *place)
{
	const struct state *state = seen->state;

	if (place->step && seen->setup->value[STATES] == FIRST) {
		out->kind = KL_TICKET_SKIP;
		return;
	}
	kl_intent_note(out, "profiler", state->rollout[place->rollout].last);
	kl_intent_ask(out, "matcher");
	out->told = json_object();
	kl_json_set(out->told, "base", kl_knowledge_tell(&state->base));
}

static size_t technique_count(const struct kl_setup *setup, int64_t step)
{
	int64_t left = setup->value[STEPS] - step;

	return (size_t)(left > LEAST_TECHNIQUES ? left : LEAST_TECHNIQUES);
}

static void propose_plan(struct kl_intent *out, const struct kl_experience *seen,
			 const struct place *place)
{
	const struct state *state = seen->state;
	const struct rollout *rollout = &state->rollout[place->rollout];

	kl_intent_note(out, "ranker", rollout->last);
	out->told = json_object();
	if (rollout->state)
		kl_json_set_str(out->told, "state", rollout->state);
	kl_json_set_int(out->told, "techniques",
			(int64_t)technique_count(seen->setup, place->step));
	kl_json_set(out->told, "base", kl_knowledge_tell(&state->base));
}

/*
 * Set weight[i] = max(relevance^power, floor) for each of the `n` techniques of a plan. Return
 * false if the plan does not have `n` valid techniques.
 */
static bool weigh_plan(double *weight, const struct kl_setup *setup, const json_t *rows, size_t n)
{
	if (json_array_size(rows) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		int64_t ppm = kl_json_int_or(row, "relevance_ppm", -1);
		double floor = kl_setup_decimal(setup, FLOOR);

		if (ppm < 0 || ppm > KL_MILLION || !kl_knowledge_name(row, "name"))
			return false;
		weight[i] = 1;
		for (int64_t j = 0; j < setup->value[POWER]; j++)
			weight[i] *= (double)ppm / KL_MILLION;
		weight[i] = weight[i] > floor ? weight[i] : floor;
	}
	return true;
}

static size_t greatest_weight(const double *weight, size_t n)
{
	size_t most = 0;

	for (size_t i = 1; i < n; i++)
		if (weight[i] > weight[most])
			most = i;
	return most;
}

/*
 * Choose the technique of a step from its plan or, if the plan is not valid, from the base. Return
 * NULL if the base has no technique for the state.
 */
static const char *pick_technique(const struct kl_experience *seen, const struct place *place,
				  const json_t *plan, const struct kl_draws *draws)
{
	const struct state *state = seen->state;
	const struct rollout *rollout = &state->rollout[place->rollout];
	const json_t *rows = json_object_get(plan, "techniques");
	size_t n = technique_count(seen->setup, place->step), at;
	KL_AUTO(kl_freep) double *weight = kl_calloc(n, sizeof(*weight));
	const struct kl_knowledge_entry *entry;
	struct kl_rng rng;

	if (!weigh_plan(weight, seen->setup, rows, n)) {
		entry = rollout->state ? kl_knowledge_best(&state->base, rollout->state) : NULL;
		return entry ? entry->technique : NULL;
	}
	if (seen->setup->value[PICK] == GREATEST) {
		at = greatest_weight(weight, n);
	} else {
		kl_draw_open(&rng, draws, "pick");
		at = kl_draw_weighted(&rng, weight, n);
	}
	return kl_json_str_or(json_array_get(rows, at), "name", NULL);
}

static void propose_edit(struct kl_intent *out, const struct kl_experience *seen,
			 const struct place *place, const struct kl_draws *draws)
{
	const struct state *state = seen->state;
	int64_t plan = draws->ticket - seen->setup->value[ROLLOUTS];

	kl_intent_edit(out, "coder", state->rollout[place->rollout].last);
	out->tries = seen->setup->value[TRIES];
	out->form = pick_technique(seen, place, seen->at[plan].note, draws);
	out->told = json_object();
	if (out->form)
		kl_json_set_str(out->told, "technique", out->form);
	kl_json_set(out->told, "base", kl_knowledge_tell(&state->base));
}

/*
 * Show the last steps: to the evaluator all steps, to the analyst (`short_ones`) only those that
 * had a negative reward or saved less than half of what was predicted.
 */
static void show_steps(struct kl_intent *out, const struct state *state, bool short_ones)
{
	size_t most = short_ones ? GAPS : EVALUATED, n = 0, first = state->nstep;

	while (first > 0 && n < most) {
		const struct step *step = &state->step[--first];

		n += !short_ones || step->reward < 0 || step->saved < step->predicted / 2;
	}
	for (size_t i = first; i < state->nstep; i++)
		if (!short_ones || state->step[i].reward < 0 ||
		    state->step[i].saved < state->step[i].predicted / 2)
			kl_intent_show(out, "step", state->step[i].ticket);
}

static void propose_revision(struct kl_intent *out, const struct kl_experience *seen,
			     const struct place *place, int64_t ticket)
{
	static const char *const role[] = { "evaluator", "analyst", "updater" };
	const struct state *state = seen->state;
	bool is_due = state->ended - state->revised >= seen->setup->value[EVERY];
	/* after the last step, no ticket would use a revised base */
	bool is_last = place->step == seen->setup->value[STEPS] - 1;
	int64_t before = place->group - EVALUATE;

	if (seen->setup->value[GRADIENT] == OFF || !is_due || is_last) {
		out->kind = KL_TICKET_SKIP;
		return;
	}
	kl_intent_note(out, role[before], 0);
	for (int64_t i = before; i > 0; i--)
		kl_intent_show(out, role[before - i], ticket - i);
	if (place->group != UPDATE)
		show_steps(out, state, place->group == ANALYSE);
	out->told = json_object();
	kl_json_set(out->told, "base", kl_knowledge_tell(&state->base));
}

static void propose_next(struct kl_intent *out, const struct kl_experience *seen,
			 const struct kl_draws *draws)
{
	const struct state *state = seen->state;
	struct place place = place_of(seen->setup, draws->ticket);

	if (place.step >= seen->setup->value[STEPS])
		out->kind = KL_TICKET_END;
	else if (place.group >= EVALUATE)
		propose_revision(out, seen, &place, draws->ticket);
	else if (state->rollout[place.rollout].ended)
		out->kind = KL_TICKET_SKIP;
	else if (place.group == PROFILE)
		propose_profile(out, seen, &place);
	else if (place.group == PLAN)
		propose_plan(out, seen, &place);
	else
		propose_edit(out, seen, &place, draws);
}

static void cannot_happen(struct kl_strvec *lines, const struct kl_setup *setup)
{
	int64_t all = setup->value[ROLLOUTS] * setup->value[STEPS];

	if (setup->candidates < all)
		kl_strvec_pushf(
			lines,
			"whole rollouts: %lld rollouts of %lld steps need %lld candidates, not "
			"%lld",
			(long long)setup->value[ROLLOUTS], (long long)setup->value[STEPS],
			(long long)all, (long long)setup->candidates);
}

const struct kl_policy kl_policy_kernelblaster = {
	.name = "kernelblaster",
	.what = "KernelBlaster: rollouts of steps by techniques, and a base of what each saved",
	.param = params,
	.preset = presets,
	.memory = "technique",
	.horizon = group_before,
	.create = create_state,
	.fold = fold_state,
	.propose = propose_next,
	.write = write_state,
	.release = release_state,
	.cannot = cannot_happen,
};
