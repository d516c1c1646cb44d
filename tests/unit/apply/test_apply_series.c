/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "apply/series.h"
#include "base/mem.h"
#include "card/exchange.h"
#include "lineage/import.h"
#include "retrieve/taxonomy.h"
#include "scratch.h"

/* the shipped lineages whose kernels are C, and all others: cards name steps of both */
static const char *const lineages[] = {
	"c-topk",          "c-sgemm",      "c-conv2d",  "c-gdn",
	"cuda-gdn-cumsum", "cuda-gdn-kkt", "cuda-gemm", "cuda-topk"
};
#define IN_C 4

/* A repository with the shipped cards and lineages, and a retrieval that lists every card. */
struct world {
	struct kl_repo *repo;
	struct kl_taxonomy *tax;
	struct kl_index *index;
	struct kl_retrieval all;
	struct kl_import_result from[KL_ARRAY_SIZE(lineages)];
};

static char top[4096];

static void refuse(const char *path, void *payload)
{
	(void)payload;
	fail_msg("%s: %s", path, kl_error_last());
}

static int open_world(void **state)
{
	static struct world world;
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	KL_AUTO(kl_freep) char *cards = NULL;
	struct kl_exchange_result read = { 0 };

	assert_non_null(getcwd(top, sizeof(top)));
	assert_int_equal(scratch_setup(state), 0);
	*state = &world;
	dir = scratch_dir("r");
	cards = kl_asprintf("%s/skills", top);
	sh(dir, "git init -q . && git commit -q --allow-empty -m start");
	assert_ok(kl_repo_open_at(&world.repo, dir));
	for (size_t i = 0; i < KL_ARRAY_SIZE(lineages); i++) {
		KL_AUTO(kl_freep) char *from = kl_asprintf("%s/lineages/%s", cards, lineages[i]);

		assert_ok(kl_import_read(&world.from[i], world.repo, from, NULL));
	}
	assert_ok(kl_library_open(&library, world.repo));
	assert_ok(kl_exchange_import(&read, library, cards, refuse, NULL));
	assert_true(read.added >= 56);
	assert_ok(kl_taxonomy_load(&world.tax));
	assert_ok(kl_index_open(&world.index, world.repo, world.tax));
	world.all.n = world.all.alloc = kl_index_count(world.index);
	world.all.v = kl_calloc(world.all.n, sizeof(*world.all.v));
	for (size_t i = 0; i < world.all.n; i++)
		world.all.v[i].card = i;
	return 0;
}

static int close_world(void **state)
{
	struct world *world = *state;

	free(world->all.v);
	kl_index_free(world->index);
	kl_taxonomy_free(world->tax);
	kl_repo_free(world->repo);
	return scratch_teardown(state);
}

static const char *name_of(const struct kl_import_result *from)
{
	return from->lineage + strlen("refs/heads/klineage/lineage/");
}

/* Read the state `back` steps before K*. */
static struct kl_surface *read_state(const struct world *world, const struct kl_import_result *from,
				     size_t back)
{
	KL_AUTO(kl_freep) char *rev = kl_asprintf("%s~%zu", from->lineage, back);
	struct kl_surface *out = NULL;
	git_oid commit, tree;

	assert_ok(kl_repo_resolve(&commit, world->repo, rev));
	assert_ok(kl_repo_tree_of(&tree, world->repo, &commit));
	assert_ok(kl_surface_from_tree(&out, world->repo, &tree, ""));
	return out;
}

/* Apply one step to *state by its diff. */
static void take_step(struct kl_surface **state, const struct world *world,
		      const struct kl_series_step *step)
{
	KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
	struct kl_surface *to = NULL;
	char how[KL_CARRIER_HOW];
	struct kl_carrier_try try = { .repo = world->repo,
				      .library = world->repo,
				      .state = *state };

	assert_ok(kl_index_load(&card, world->index, world->repo, world->all.v[step->at].card));
	try.card = card;
	assert_ok(kl_series_find_way(&try, step));
	assert_ok(kl_carrier_apply(&to, how, &try));
	assert_string_equal(how, "merged three-way");
	kl_surface_free(*state);
	*state = to;
}

static void the_cards_of_a_lineage_lead_from_its_first_state_to_its_expert(void **state)
{
	struct world *world = *state;
	KL_AUTO(kl_series_release) struct kl_series series = { 0 };

	kl_series_list(&series, world->index, &world->all, world->all.n);
	for (size_t i = 0; i < IN_C; i++) {
		const struct kl_import_result *from = &world->from[i];
		struct kl_surface *at = read_state(world, from, from->steps);
		size_t taken = 0;

		for (size_t k = 0; k < series.n; k++) {
			struct kl_surface *want;

			if (strcmp(series.v[k].lineage, name_of(from)) != 0)
				continue;
			assert_int_equal(series.v[k].number, ++taken);
			take_step(&at, world, &series.v[k]);
			want = read_state(world, from, from->steps - taken);
			assert_string_equal(at->digest, want->digest);
			kl_surface_free(want);
		}
		assert_int_equal(taken, from->steps);
		kl_surface_free(at);
	}
}

static void a_card_that_a_lineage_uses_twice_has_two_steps(void **state)
{
	struct world *world = *state;
	KL_AUTO(kl_series_release) struct kl_series series = { 0 };
	size_t twice = 0;

	kl_series_list(&series, world->index, &world->all, world->all.n);
	for (size_t i = 1; i < series.n; i++)
		for (size_t k = 0; k < i; k++)
			twice += series.v[i].lineage == series.v[k].lineage &&
				 series.v[i].at == series.v[k].at;
	assert_true(twice >= 2); /* c-conv2d and c-sgemm pack twice */
}

static void a_list_has_the_steps_of_the_first_cards_only(void **state)
{
	struct world *world = *state;
	KL_AUTO(kl_series_release) struct kl_series none = { 0 }, one = { 0 };
	const struct kl_index_list evidence =
		kl_index_card(world->index, world->all.v[0].card)->evidence;

	kl_series_list(&none, world->index, &world->all, 0);
	assert_int_equal(none.n, 0);
	kl_series_list(&one, world->index, &world->all, 1);
	assert_int_equal(one.n, evidence.n / 2);
	for (size_t i = 0; i < one.n; i++)
		assert_int_equal(one.v[i].at, 0);
}

static void a_step_of_another_language_has_no_way(void **state)
{
	struct world *world = *state;
	KL_AUTO(kl_series_release) struct kl_series series = { 0 };
	struct kl_surface *at = read_state(world, &world->from[0], 0);
	size_t refused = 0;

	kl_series_list(&series, world->index, &world->all, world->all.n);
	for (size_t i = 0; i < series.n; i++) {
		KL_AUTO(kl_card_freep) struct kl_card *card = NULL;
		struct kl_carrier_try try = { .state = at };

		if (strcmp(series.v[i].lineage, name_of(&world->from[6])) != 0)
			continue;
		assert_ok(kl_index_load(&card, world->index, world->repo,
					world->all.v[series.v[i].at].card));
		try.card = card;
		assert_int_equal(kl_series_find_way(&try, &series.v[i]), KL_ENO);
		refused++;
	}
	assert_int_equal(refused, world->from[6].steps);
	kl_surface_free(at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cards_of_a_lineage_lead_from_its_first_state_to_its_expert),
		cmocka_unit_test(a_card_that_a_lineage_uses_twice_has_two_steps),
		cmocka_unit_test(a_list_has_the_steps_of_the_first_cards_only),
		cmocka_unit_test(a_step_of_another_language_has_no_way),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
