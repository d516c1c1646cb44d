/* SPDX-License-Identifier: Apache-2.0 */
/* evolve - evolution on islands with feature cells and an archive, like OpenEvolve's */
#include <string.h>

#include "base/error.h"
#include "search/policy/experience.h"
#include "search/policy/number.h"

enum { ISLANDS, ARCHIVE, INTERVAL, RATE, EXPLORE, EXPLOIT, TOPS, DIVERSE, FORM };

static const char *const form_words[] = { "diff", "full", NULL };

static const struct kl_policy_param params[] = {
	KL_PARAM_COUNT("islands", "0", 0, 100, "islands; 0: 1 below 60 candidates, else 2"),
	KL_PARAM_COUNT("archive", "0", 0, 10000,
		       "kernels in the archive; 0: an eighth, at least 5"),
	KL_PARAM_COUNT("interval", "0", 0, 10000,
		       "generations between migrations; 0: an eighth, at least 6"),
	KL_PARAM_DECIMAL("rate", "0.1", 0, 1, "share of an island that migrates, at least one"),
	KL_PARAM_DECIMAL("explore", "0.2", 0, 1, "share of parents from all of the island"),
	KL_PARAM_DECIMAL("exploit", "0.7", 0, 1, "share of parents from the archive"),
	KL_PARAM_COUNT("tops", "3", 0, 100, "best kernels of the island that are shown"),
	KL_PARAM_COUNT("diverse", "2", 0, 100, "other kernels that are shown"),
	KL_PARAM_WORD("form", "diff", form_words, "ask for edits or for the whole kernel"),
	KL_PARAMS_END,
};

static const struct kl_policy_preset presets[] = {
	{ "scaled", "islands=0 archive=0 interval=0", "by the number of candidates; the default" },
	{ "openevolve", "islands=5 archive=100 interval=50", "the defaults of OpenEvolve" },
	{ "kernel-smith", "islands=0 archive=0 interval=0 form=full",
	  "as Kernel-Smith is described; its islands and archive are not published" },
	{ .name = NULL },
};

#define NEIGHBOUR_TRIES 3
#define NEIGHBOUR_REACH 2
#define LEAST_WEIGHT 0.001

/* --- parameters that follow the budget ----------------------------------------------------- */

static int64_t at_least(int64_t value, int64_t least)
{
	return value > least ? value : least;
}

static size_t island_count(const struct kl_setup *setup)
{
	return setup->value[ISLANDS]  ? (size_t)setup->value[ISLANDS] :
	       setup->candidates < 60 ? 1 :
					2;
}

static size_t archive_size(const struct kl_setup *setup)
{
	return (size_t)(setup->value[ARCHIVE] ? setup->value[ARCHIVE] :
						at_least(setup->candidates / 8, 5));
}

static int64_t migration_interval(const struct kl_setup *setup)
{
	return setup->value[INTERVAL] ? setup->value[INTERVAL] : at_least(setup->candidates / 8, 6);
}

/* --- the state ----------------------------------------------------------------------------- */

/* A kernel on an island. A kernel that migrated is a program on each of its islands. */
struct program {
	int64_t ticket;
	size_t island;
	bool migrant;
	bool gone; /* a fitter program took its cell on the island */
};

struct state {
	struct program *program; /* all programs, in the order in which they were added */
	size_t n, alloc;
	size_t *archive; /* indices of the programs in the archive */
	size_t narchive;
	int64_t *generation; /* number of children that each island has had */
	int64_t migrated;    /* the greatest generation at the last migration */
	int64_t migrations;
};

static void *create_state(const struct kl_setup *setup)
{
	struct state *state = kl_calloc(1, sizeof(*state));

	state->archive = kl_calloc(archive_size(setup), sizeof(*state->archive));
	state->generation = kl_calloc(island_count(setup), sizeof(*state->generation));
	return state;
}

static void release_state(void *data)
{
	struct state *state = data;

	free(state->program);
	free(state->archive);
	free(state->generation);
	free(state);
}

/* The cell of a kernel: the bins of its sizes, and its mechanisms. */
struct cell {
	int bytes, instructions;
	const char *mechanisms;
};

static struct cell cell_of(const struct kl_experience *seen, int64_t ticket)
{
	const struct kl_observation *observation = &seen->at[ticket];

	return (struct cell){
		.bytes = kl_number_half_octave(observation->bytes),
		.instructions = kl_number_half_octave(observation->instructions),
		.mechanisms = observation->mechanisms ? observation->mechanisms : "",
	};
}

static bool same_cell(struct cell one, struct cell two)
{
	return one.bytes == two.bytes && one.instructions == two.instructions &&
	       !strcmp(one.mechanisms, two.mechanisms);
}

static int64_t fitness(const struct kl_experience *seen, size_t program)
{
	const struct state *state = seen->state;

	return seen->at[state->program[program].ticket].speed_ppm;
}

/* Remove from the island of the added program all less fit programs that have the same cell. */
static void take_cell(const struct kl_experience *seen, size_t added)
{
	struct state *state = seen->state;
	struct cell cell = cell_of(seen, state->program[added].ticket);

	for (size_t i = 0; i < added; i++) {
		struct program *other = &state->program[i];

		if (!other->gone && other->island == state->program[added].island &&
		    same_cell(cell_of(seen, other->ticket), cell) &&
		    fitness(seen, added) > fitness(seen, i))
			other->gone = true;
	}
}

/*
 * Add a program to the archive. If the archive is full, replace its least fit program, unless that
 * is at least as fit as the added one.
 */
static void join_archive(const struct kl_experience *seen, size_t added)
{
	struct state *state = seen->state;
	size_t worst = 0;

	if (state->narchive < archive_size(seen->setup)) {
		state->archive[state->narchive++] = added;
		return;
	}
	for (size_t i = 1; i < state->narchive; i++)
		if (fitness(seen, state->archive[i]) < fitness(seen, state->archive[worst]))
			worst = i;
	if (fitness(seen, added) > fitness(seen, state->archive[worst]))
		state->archive[worst] = added;
}

static void add_program(const struct kl_experience *seen, int64_t ticket, size_t island,
			bool migrant)
{
	struct state *state = seen->state;

	KL_GROW(state->program, state->n + 1, state->alloc);
	state->program[state->n] = (struct program){ ticket, island, migrant, false };
	take_cell(seen, state->n);
	join_archive(seen, state->n++);
}

/*
 * Put into `out` the programs of an island, the fittest first; of equally fit ones the older first.
 * Return their number.
 */
static size_t ranked_island(size_t *out, const struct kl_experience *seen, size_t island)
{
	const struct state *state = seen->state;
	size_t n = 0;

	for (size_t i = 0; i < state->n; i++) {
		size_t at = n;

		if (state->program[i].gone || state->program[i].island != island)
			continue;
		for (; at > 0 && fitness(seen, out[at - 1]) < fitness(seen, i); at--)
			out[at] = out[at - 1];
		out[at] = i;
		n++;
	}
	return n;
}

static bool has_code(const struct kl_experience *seen, size_t island, int64_t ticket)
{
	const struct state *state = seen->state;

	for (size_t i = 0; i < state->n; i++)
		if (!state->program[i].gone && state->program[i].island == island &&
		    !strcmp(seen->at[state->program[i].ticket].surface, seen->at[ticket].surface))
			return true;
	return false;
}

/*
 * Copy the fittest programs of an island to both of its neighbours on the ring of islands. Programs
 * that have migrated do not migrate again. `before` is the number of programs before this
 * migration.
 */
static void migrate_island(const struct kl_experience *seen, size_t island, size_t before)
{
	struct state *state = seen->state;
	size_t islands = island_count(seen->setup);
	size_t to[] = { (island + 1) % islands, (island + islands - 1) % islands };
	KL_AUTO(kl_freep) size_t *rank = kl_calloc(before + 1, sizeof(*rank));
	size_t all = state->n, n, count;

	state->n = before; /* ignore the programs that this migration added */
	n = ranked_island(rank, seen, island);
	state->n = all;
	count = (size_t)(kl_setup_decimal(seen->setup, RATE) * (double)n);
	for (size_t i = 0; i < n && i < (count ? count : 1); i++) {
		int64_t ticket = state->program[rank[i]].ticket;

		if (state->program[rank[i]].migrant)
			continue;
		for (int side = 0; side < (islands > 2 ? 2 : 1); side++)
			if (!has_code(seen, to[side], ticket))
				add_program(seen, ticket, to[side], true);
	}
}

static void maybe_migrate(const struct kl_experience *seen)
{
	struct state *state = seen->state;
	size_t islands = island_count(seen->setup), before = state->n;
	int64_t most = 0;

	for (size_t i = 0; i < islands; i++)
		most = at_least(state->generation[i], most);
	if (islands < 2 || most - state->migrated < migration_interval(seen->setup))
		return;
	for (size_t i = 0; i < islands; i++)
		migrate_island(seen, i, before);
	state->migrated = most;
	state->migrations++;
}

/* Return the island for which a ticket makes a child. The islands take turns. */
static size_t island_of(const struct kl_setup *setup, int64_t ticket)
{
	return ticket ? (size_t)(ticket - 1) % island_count(setup) : 0;
}

static void fold_state(struct kl_experience *seen, const struct kl_observation *observation)
{
	struct state *state = seen->state;
	size_t island = island_of(seen->setup, observation->ticket);

	/* A child that is not correct is not added, and does not count as a generation. */
	if (observation->outcome != KL_OUTCOME_CORRECT)
		return;
	add_program(seen, observation->ticket, island, false);
	if (!observation->ticket)
		return;
	state->generation[island]++;
	maybe_migrate(seen);
}

static json_t *write_state(const struct kl_experience *seen)
{
	const struct state *state = seen->state;
	json_t *json = json_object(), *programs = json_array(), *archive = json_array();

	for (size_t i = 0; i < state->n; i++) {
		const struct program *program = &state->program[i];

		json_array_append_new(programs, json_pack("[I,I,b,b]", (json_int_t)program->ticket,
							  (json_int_t)program->island,
							  program->migrant, program->gone));
	}
	for (size_t i = 0; i < state->narchive; i++)
		json_array_append_new(archive, json_integer((json_int_t)state->archive[i]));
	kl_json_set(json, "programs", programs);
	kl_json_set(json, "archive", archive);
	kl_json_set_int(json, "migrated", state->migrated);
	kl_json_set_int(json, "migrations", state->migrations);
	return json;
}

/* --- tickets ------------------------------------------------------------------------------- */

/*
 * Put into `out` the programs of the archive that are on an island or, if there are none, all
 * programs of the archive. Return their number.
 */
static size_t archive_members(size_t *out, const struct state *state, size_t island)
{
	size_t n = 0;

	for (size_t i = 0; i < state->narchive; i++)
		if (state->program[state->archive[i]].island == island)
			out[n++] = state->archive[i];
	for (size_t i = 0; !n && i < state->narchive; i++)
		out[i] = state->archive[i];
	return n ? n : state->narchive;
}

/*
 * Draw a parent. With probability `explore`, all programs of the island are equally likely; with
 * probability `exploit`, all of its programs in the archive are. Otherwise the fitness is the
 * weight.
 */
static size_t draw_parent(const struct kl_experience *seen, size_t *member, size_t n, size_t island,
			  const struct kl_draws *draws)
{
	const struct state *state = seen->state;
	double coin = kl_draw_coin(draws, "mode");
	double explore = kl_setup_decimal(seen->setup, EXPLORE);
	double exploit = kl_setup_decimal(seen->setup, EXPLOIT);
	KL_AUTO(kl_freep) double *weight = kl_calloc(n, sizeof(*weight));
	struct kl_rng rng;

	if (coin < explore)
		return member[kl_draw_below(draws, "parent", n)];
	if (coin < explore + exploit) {
		KL_AUTO(kl_freep) size_t *from = kl_calloc(state->narchive, sizeof(*from));

		n = archive_members(from, state, island);
		return from[kl_draw_below(draws, "parent", n)];
	}
	for (size_t i = 0; i < n; i++) {
		double fit = (double)fitness(seen, member[i]) / KL_MILLION;

		weight[i] = fit > LEAST_WEIGHT ? fit : LEAST_WEIGHT;
	}
	kl_draw_open(&rng, draws, "parent");
	return member[kl_draw_weighted(&rng, weight, n)];
}

static bool is_shown(const struct kl_intent *out, int64_t ticket)
{
	if (ticket == out->parent)
		return true;
	for (size_t i = 0; i < out->nshown; i++)
		if (out->shown[i].ticket == ticket)
			return true;
	return false;
}

/*
 * Draw a cell near that of the parent, and return the ticket of a program in it that is not shown
 * yet. Try NEIGHBOUR_TRIES times, then return -1.
 */
static int64_t draw_neighbour(const struct kl_intent *out, const struct kl_experience *seen,
			      const size_t *member, size_t n, struct kl_rng *rng)
{
	const struct state *state = seen->state;

	for (int try = 0; try < NEIGHBOUR_TRIES; try++) {
		struct cell cell = cell_of(seen, out->parent);

		cell.bytes += (int)kl_rng_below(rng, 2 * NEIGHBOUR_REACH + 1) - NEIGHBOUR_REACH;
		cell.instructions += (int)kl_rng_below(rng, 2 * NEIGHBOUR_REACH + 1) -
				     NEIGHBOUR_REACH;
		for (size_t i = 0; i < n; i++) {
			int64_t ticket = state->program[member[i]].ticket;

			if (!is_shown(out, ticket) && same_cell(cell_of(seen, ticket), cell))
				return ticket;
		}
	}
	return -1;
}

/*
 * Show kernels that are not shown already: kernels from cells near the parent's or, if no such
 * kernel is found, any from the island.
 */
static void show_diverse(struct kl_intent *out, const struct kl_experience *seen,
			 const size_t *member, size_t n, const struct kl_draws *draws)
{
	const struct state *state = seen->state;
	KL_AUTO(kl_freep) int64_t *rest = kl_calloc(n, sizeof(*rest));
	struct kl_rng rng;

	kl_draw_open(&rng, draws, "diverse");
	for (int64_t slot = 0; slot < seen->setup->value[DIVERSE]; slot++) {
		int64_t ticket = draw_neighbour(out, seen, member, n, &rng);
		size_t left = 0;

		for (size_t i = 0; i < n; i++)
			if (!is_shown(out, state->program[member[i]].ticket))
				rest[left++] = state->program[member[i]].ticket;
		if (!left)
			return;
		if (ticket < 0)
			ticket = rest[kl_rng_below(&rng, left)];
		kl_intent_show(out, "diverse", ticket);
	}
}

static void propose_child(struct kl_intent *out, const struct kl_experience *seen,
			  const struct kl_draws *draws)
{
	const struct state *state = seen->state;
	KL_AUTO(kl_freep) size_t *member = kl_calloc(state->n, sizeof(*member));
	size_t island = island_of(seen->setup, draws->ticket), n;
	int64_t tops = seen->setup->value[TOPS];

	n = ranked_island(member, seen, island);
	if (!n) { /* if the island is empty, take the parent from island 0 */
		island = 0;
		n = ranked_island(member, seen, island);
	}
	kl_intent_edit(out, "mutator",
		       state->program[draw_parent(seen, member, n, island, draws)].ticket);
	out->form = form_words[seen->setup->value[FORM]];
	for (size_t i = 0; i < n && tops > 0; i++)
		if (!is_shown(out, state->program[member[i]].ticket)) {
			kl_intent_show(out, "top", state->program[member[i]].ticket);
			tops--;
		}
	show_diverse(out, seen, member, n, draws);
}

static void cannot_happen(struct kl_strvec *lines, const struct kl_setup *setup)
{
	size_t islands = island_count(setup);
	int64_t first = (int64_t)islands * migration_interval(setup);

	if (islands < 2)
		kl_strvec_push(lines, "migration: there is one island");
	else if (first > setup->candidates)
		kl_strvec_pushf(lines,
				"migration: never within %lld candidates, the first is after %lld",
				(long long)setup->candidates, (long long)first);
	if ((int64_t)archive_size(setup) > setup->candidates)
		kl_strvec_pushf(
			lines,
			"selection by the archive: it has room for %zu, so that it holds all "
			"%lld candidates",
			archive_size(setup), (long long)setup->candidates);
}

const struct kl_policy kl_policy_evolve = {
	.name = "evolve",
	.what = "evolution on islands with an archive, as OpenEvolve and Kernel-Smith",
	.param = params,
	.preset = presets,
	.horizon = kl_policy_sequence,
	.create = create_state,
	.fold = fold_state,
	.propose = propose_child,
	.write = write_state,
	.release = release_state,
	.cannot = cannot_happen,
};
