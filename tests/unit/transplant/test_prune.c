/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant_fake.h"

#define WITHIN 20000

static struct kl_prune pruned(const char *dir, struct fake_transplant *fake, int want)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_transplant_release) struct kl_transplant transplant = { 0 };
	struct kl_prune_opts opts = { .judging = fake_transplant_opts(fake), .within_ppm = WITHIN };
	struct kl_prune prune = { 0 };

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_transplant_load(&transplant, repo, "copy", "x"));
	assert_int_equal(kl_prune_run(&prune, &transplant, repo, &opts), want);
	return prune;
}

/* K_1 pays; K_2 gains nothing, but K_3, which gains nothing either, needs it */
static char *chained_steps(const char *name)
{
	char *dir = fake_lineage(name);

	fake_state(dir, 0, NULL, (const char *const[]){ "NS:1000", "b", "c", "d", "e", "f" });
	fake_state(dir, 1, "pays", (const char *const[]){ "NS:500", "b", "c", "d", "e", "f" });
	fake_state(dir, 2, "base",
		   (const char *const[]){ "NS:500", "HAS:it ", "c", "d", "e", "f" });
	fake_state(dir, 3, "user",
		   (const char *const[]){ "NS:500", "HAS:it ", "NEEDS:it ", "d", "e", "f" });
	return dir;
}

static void test_chained(void **state)
{
	KL_AUTO(kl_freep) char *dir = chained_steps("chained");
	struct fake_transplant fake = { 0 };
	struct kl_prune prune = pruned(dir, &fake, 0);

	/* a step that another step needs is undone once that other step is gone */
	assert_int_equal(prune.nundone, 2);
	assert_int_equal(prune.undone[0], 3);
	assert_int_equal(prune.undone[1], 2);
	assert_int_equal(prune.trial[1].end, KL_PRUNE_SLOWER);
	assert_true(prune.complete);
	assert_int_equal(fake.anew, 1);
	assert_int_equal(prune.states, 2);
	sh(dir, "test $(git rev-list --count klineage/lineage/copy/x-pruned) = 2 && "
		"git diff --quiet klineage/lineage/copy/x~2 klineage/lineage/copy/x-pruned");
	assert_clean(dir);
	kl_prune_release(&prune);
	/* the lineage exists, so that the kernel need not be confirmed again */
	prune = pruned(dir, &fake, 0);
	assert_true(prune.already);
	assert_int_equal(fake.anew, 1);
	kl_prune_release(&prune);
}

static void test_put_back(void **state)
{
	KL_AUTO(kl_freep) char *dir = chained_steps("put-back");
	struct fake_transplant fake = { .unconfirmed = 1 };
	struct kl_prune prune = pruned(dir, &fake, 0);

	assert_int_equal(prune.put_back, 1);
	assert_int_equal(prune.nundone, 1);
	assert_int_equal(prune.undone[0], 3);
	assert_int_equal(prune.trial[2].end, KL_PRUNE_NOISY);
	sh(dir, "git diff --quiet klineage/lineage/copy/x~1 klineage/lineage/copy/x-pruned");
	kl_prune_release(&prune);

	/* nothing is confirmed: no lineage */
	sh(dir, "git update-ref -d refs/heads/klineage/lineage/copy/x-pruned");
	fake = (struct fake_transplant){ .unconfirmed = 2 };
	prune = pruned(dir, &fake, 0);
	assert_int_equal(prune.nundone, 0);
	assert_int_equal(prune.states, 0);
	sh(dir, "! git rev-parse -q --verify klineage/lineage/copy/x-pruned");
	kl_prune_release(&prune);
}

/* A state that fails without the undone step is left out, and its step belongs to the next one. */
static void test_folded(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_lineage("folded");
	struct fake_transplant fake = { 0 };
	struct kl_prune prune;

	fake_state(dir, 0, NULL, (const char *const[]){ "NS:1000", "b", "c", "d", "e", "f" });
	fake_state(dir, 1, "idle",
		   (const char *const[]){ "NS:1000", "HAS:it ", "c", "d", "e", "f" });
	fake_state(dir, 2, "user",
		   (const char *const[]){ "NS:1000", "HAS:it ", "NS:-200 NEEDS:it ", "d", "e",
					  "f" });
	fake_state(dir, 3, "other",
		   (const char *const[]){ "NS:1000", "HAS:it ", "NS:-200 NEEDS:it ",
					  "HAS:it NS:-300", "e", "f" });
	prune = pruned(dir, &fake, 0);
	assert_int_equal(prune.nundone, 1);
	assert_int_equal(prune.undone[0], 1);
	assert_int_equal(prune.states, 2);
	sh(dir, "git log -1 --format=%%B klineage/lineage/copy/x-pruned >log && "
		"grep '^With step 2 (user), whose own state the gate refuses.$' log && "
		"grep '^Klineage-Delta: compound$' log && grep '^Klineage-Step: 1$' log");
	kl_prune_release(&prune);
	assert_clean(dir);
}

static void test_nothing_idle(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_lineage("nothing");
	struct fake_transplant fake = { 0 };
	struct kl_prune prune;

	fake_state(dir, 0, NULL, (const char *const[]){ "NS:1000", "b", "c", "d", "e", "f" });
	fake_state(dir, 1, "one", (const char *const[]){ "NS:900", "b", "c", "d", "e", "f" });
	prune = pruned(dir, &fake, 0);
	assert_true(prune.complete);
	assert_int_equal(prune.nundone, 0);
	assert_int_equal(prune.states, 0);
	assert_int_equal(fake.anew, 0);
	kl_prune_release(&prune);
}

static void test_all_idle(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_lineage("all");
	struct fake_transplant fake = { 0 };
	struct kl_prune prune;

	fake_state(dir, 0, NULL, (const char *const[]){ "NS:1000", "b", "c", "d", "e", "f" });
	fake_state(dir, 1, "one", (const char *const[]){ "NS:1000", "bb", "c", "d", "e", "f" });
	prune = pruned(dir, &fake, 0);
	assert_int_equal(prune.nundone, 1);
	assert_int_equal(prune.states, 1);
	sh(dir, "git diff --quiet klineage/lineage/copy/x~1 klineage/lineage/copy/x-pruned");
	kl_prune_release(&prune);
	assert_clean(dir);
}

/* Interrupted at any judgement, it writes no lineage; then it ends as if it had not been. */
static void test_interrupted(void **state)
{
	KL_AUTO(kl_freep) char *dir = chained_steps("interrupted");
	struct kl_prune prune = { 0 };

	for (int at = 1;; at++) {
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		KL_AUTO(kl_transplant_release) struct kl_transplant transplant = { 0 };
		struct fake_transplant fake = { .gate.interrupt_at = at };
		struct kl_prune_opts opts = { .judging = fake_transplant_opts(&fake),
					      .within_ppm = WITHIN };

		assert_true(at < 100);
		kl_prune_release(&prune);
		assert_ok(kl_repo_open_at(&repo, dir));
		assert_ok(kl_transplant_load(&transplant, repo, "copy", "x"));
		if (kl_prune_run(&prune, &transplant, repo, &opts) == 0)
			break;
		assert_int_equal(prune.states, 0);
		sh(dir, "! git rev-parse -q --verify klineage/lineage/copy/x-pruned");
	}
	assert_int_equal(prune.nundone, 2);
	assert_int_equal(prune.states, 2);
	kl_prune_release(&prune);
	assert_clean(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chained),  cmocka_unit_test(test_put_back),
		cmocka_unit_test(test_folded),   cmocka_unit_test(test_nothing_idle),
		cmocka_unit_test(test_all_idle), cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
