/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant_fake.h"

#include "learn/lift.h"

/* `vector-loop` needs what `prefetch` has, and nothing else */
static char *needing_steps(const char *name)
{
	char *dir = fake_lineage(name);

	fake_state(dir, 0, NULL, (const char *const[]){ "NS:1000", "b", "c", "d", "e", "f" });
	fake_state(dir, 1, "prefetch",
		   (const char *const[]){ "NS:900", "HAS:it  F:prefetch", "c", "d", "e", "f" });
	fake_state(dir, 2, "pack-panel",
		   (const char *const[]){ "NS:900", "HAS:it  F:prefetch", "c",
					  "F:call.memcpy NS:-50", "e", "f" });
	fake_state(dir, 3, "vector-loop",
		   (const char *const[]){ "NS:900", "HAS:it  F:prefetch", "c",
					  "F:call.memcpy NS:-50", "e",
					  "NEEDS:it  F:vec.256 NS:-400" });
	return dir;
}

static void transplant(struct kl_repo *repo, bool runs)
{
	KL_AUTO(kl_transplant_release) struct kl_transplant transplant = { 0 };
	struct fake_transplant fake = { .runs = runs, .session = true };
	struct kl_transplant_opts opts = fake_transplant_opts(&fake);

	assert_ok(kl_transplant_load(&transplant, repo, "copy", "x"));
	assert_ok(kl_transplant_judge(&transplant, repo, &opts));
}

static void test_required(void **state)
{
	KL_AUTO(kl_freep) char *dir = needing_steps("required");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_transitions_release) struct kl_transitions transitions = { 0 };
	char hex[KL_OID_HEX];

	assert_ok(kl_repo_open_at(&repo, dir));
	transplant(repo, true);
	assert_ok(kl_transitions_load(&transitions, repo, NULL));
	assert_int_equal(transitions.n, 3);
	kl_oid_hex(hex, &transitions.v[0].after);
	assert_int_equal(transitions.v[0].requires.n, 0);
	assert_int_equal(transitions.v[1].requires.n, 0);
	assert_int_equal(transitions.v[2].requires.n, 1);
	assert_string_equal(transitions.v[2].requires.v[0], hex);
	assert_int_equal(transitions.v[2].conflicts.n, 0);
}

/* A card of one lineage requires what was shown, not what merely came before. */
static void test_card(void **state)
{
	KL_AUTO(kl_freep) char *dir = needing_steps("card");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_transitions_release) struct kl_transitions transitions = { 0 };
	struct kl_library *library = NULL;
	struct kl_lift lift = { 0 };
	const struct kl_card *card = NULL;

	assert_ok(kl_repo_open_at(&repo, dir));
	transplant(repo, true);
	assert_ok(kl_transitions_load(&transitions, repo, NULL));
	assert_ok(kl_library_open(&library, repo));
	assert_ok(kl_lift_run(&lift, &transitions, library));
	for (size_t i = 0; i < lift.n; i++)
		if (!strcmp(lift.v[i].card->mechanism, "vector-loop"))
			card = lift.v[i].card;
	assert_non_null(card);
	assert_int_equal(card->scope.requires.n, 1);
	assert_string_equal(card->scope.requires.v[0], "prefetch");
	kl_lift_release(&lift);
	kl_library_free(library);
}

/* That a kernel does not compile says that code is used, not that the mechanism is needed. */
static void test_compile(void **state)
{
	KL_AUTO(kl_freep) char *dir = needing_steps("compile");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_transitions_release) struct kl_transitions transitions = { 0 };

	assert_ok(kl_repo_open_at(&repo, dir));
	transplant(repo, false);
	assert_ok(kl_transitions_load(&transitions, repo, NULL));
	assert_int_equal(transitions.n, 3);
	assert_int_equal(transitions.v[2].requires.n, 0);
}

/* The steps of a pruned lineage are no further evidence. */
static void test_pruned(void **state)
{
	KL_AUTO(kl_freep) char *dir = needing_steps("pruned");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_transitions_release) struct kl_transitions transitions = { 0 };
	KL_AUTO(kl_transplant_release) struct kl_transplant from = { 0 };
	struct fake_transplant fake = { .runs = true, .session = true };
	struct kl_prune_opts opts = { .judging = fake_transplant_opts(&fake),
				      .within_ppm = 150000 };
	struct kl_prune prune = { 0 };

	assert_ok(kl_repo_open_at(&repo, dir));
	transplant(repo, true);
	assert_ok(kl_transplant_load(&from, repo, "copy", "x"));
	assert_ok(kl_prune_run(&prune, &from, repo, &opts));
	assert_true(prune.states > 0);
	kl_prune_release(&prune);
	assert_ok(kl_transitions_load(&transitions, repo, NULL));
	assert_int_equal(transitions.n, 3);
	assert_contains(transitions.notes.v[transitions.notes.n - 1], "pruned");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_required),
		cmocka_unit_test(test_card),
		cmocka_unit_test(test_compile),
		cmocka_unit_test(test_pruned),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
