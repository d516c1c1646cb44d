/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant_fake.h"

static const char *const K0[] = { "NS:1000", "NS:800", "c", "d", "e", "f" };

/* `bee` and `ash` gain; `sea` gains nothing, but `dee` needs it, which gains nothing either */
static char *four_steps(const char *name)
{
	char *dir = fake_lineage(name);

	fake_state(dir, 0, NULL, K0);
	fake_state(dir, 1, "bee", (const char *const[]){ "NS:1000", "NS:100", "c", "d", "e", "f" });
	fake_state(dir, 2, "sea",
		   (const char *const[]){ "NS:1000", "NS:100", "HAS:sea", "d", "e", "f" });
	fake_state(dir, 3, "dee",
		   (const char *const[]){ "NS:1000", "NS:100", "HAS:sea", "NEEDS:sea ", "e", "f" });
	fake_state(dir, 4, "ash",
		   (const char *const[]){ "NS:500", "NS:100", "HAS:sea", "NEEDS:sea ", "e", "f" });
	return dir;
}

static struct kl_transplant judged(const char *dir, struct kl_repo **repo,
				   struct fake_transplant *fake)
{
	struct kl_transplant transplant;
	struct kl_transplant_opts opts = fake_transplant_opts(fake);

	assert_ok(kl_repo_open_at(repo, dir));
	assert_ok(kl_transplant_load(&transplant, *repo, "copy", "x"));
	assert_ok(kl_transplant_judge(&transplant, *repo, &opts));
	return transplant;
}

static enum kl_cell_finding finding(const struct kl_transplant *transplant, size_t step,
				    size_t place)
{
	return kl_transplant_finding(kl_transplant_at(transplant, step, place));
}

static void test_cells(void **state)
{
	KL_AUTO(kl_freep) char *dir = four_steps("cells");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct fake_transplant fake = { 0 };
	KL_AUTO(kl_transplant_release) struct kl_transplant transplant = judged(dir, &repo, &fake);
	struct kl_comparison gain;

	assert_int_equal(kl_transplant_steps(&transplant), 4);
	/* a step that needs `sea` fails without it, and is right with it */
	assert_int_equal(finding(&transplant, 3, 1), KL_CELL_FAILS);
	assert_int_equal(finding(&transplant, 3, 2), KL_CELL_PASSES);
	assert_int_equal(finding(&transplant, 2, 4), KL_CELL_FAILS);
	/* 1800 to 1300, but 1100 to 600: the gain of a step depends on the other steps */
	kl_transplant_gain(&gain, &transplant, 4, 0);
	assert_int_equal(gain.ratio.ppm, 1800 * 1000000LL / 1300);
	kl_transplant_gain(&gain, &transplant, 4, 3);
	assert_int_equal(gain.ratio.ppm, 1100 * 1000000LL / 600);
	/* at K* the gain is that of undoing */
	kl_transplant_gain(&gain, &transplant, 1, 4);
	assert_in_range(gain.ratio.ppm, 2160000, 2170000);
	assert_false(kl_transplant_is_idle(&transplant, 1, 20000));
	assert_true(kl_transplant_is_idle(&transplant, 3, 20000));
	assert_clean(dir);
}

static void test_relations(void **state)
{
	KL_AUTO(kl_freep) char *dir = four_steps("relations");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct fake_transplant fake = { 0 };
	KL_AUTO(kl_transplant_release) struct kl_transplant transplant = judged(dir, &repo, &fake);
	KL_AUTO(kl_relations_release) struct kl_relations relations = { 0 };
	struct kl_ratio ratio;

	kl_relations_find(&relations, &transplant);
	assert_int_equal(relations.n, 1);
	assert_int_equal(relations.v[0].kind, KL_RELATION_REQUIRES);
	assert_int_equal(relations.v[0].step, 3);
	assert_int_equal(relations.v[0].other, 2);
	assert_false(relations.v[0].by_merge);
	assert_string_equal(relations.v[0].class_, "compile");
	assert_int_equal(strlen(relations.v[0].fails), 64);
	/* bee gains 1.64x at its place and 2.17x at K* */
	assert_true(kl_relations_interaction(&ratio, &transplant, 1));
	assert_in_range(ratio.ppm, 1310000, 1330000);
	assert_false(kl_relations_interaction(&ratio, &transplant, 3));
}

static void test_conflict(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_lineage("conflict");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct fake_transplant fake = { 0 };
	KL_AUTO(kl_transplant_release) struct kl_transplant transplant = { 0 };
	KL_AUTO(kl_relations_release) struct kl_relations relations = { 0 };

	/* `bee` removes code that `dee` needs, and `sea` adds it again at another place */
	fake_state(dir, 0, NULL, (const char *const[]){ "NS:1000", "HAS:it ", "c", "d", "e", "f" });
	fake_state(dir, 1, "bee", (const char *const[]){ "NS:1000", "b", "c", "d", "e", "f" });
	fake_state(dir, 2, "sea",
		   (const char *const[]){ "NS:1000", "b", "HAS:it ", "d", "e", "f" });
	fake_state(dir, 3, "dee",
		   (const char *const[]){ "NS:1000", "b", "HAS:it ", "NEEDS:it ", "e", "f" });
	transplant = judged(dir, &repo, &fake);
	kl_relations_find(&relations, &transplant);
	assert_int_equal(relations.n, 2);
	for (size_t i = 0; i < relations.n; i++) {
		const struct kl_relation *relation = &relations.v[i];

		assert_int_equal(relation->step, 3);
		assert_int_equal(relation->other, relation->kind == KL_RELATION_CONFLICTS ? 1 : 2);
	}
}

/* Two steps on one line: the first cannot be undone alone, nor the second be put in without it. */
static void test_unmerged(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_lineage("unmerged");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct fake_transplant fake = { 0 };
	KL_AUTO(kl_transplant_release) struct kl_transplant transplant = { 0 };
	KL_AUTO(kl_relations_release) struct kl_relations relations = { 0 };

	fake_state(dir, 0, NULL, K0);
	fake_state(dir, 1, "one", (const char *const[]){ "NS:900", "NS:800", "c", "d", "e", "f" });
	fake_state(dir, 2, "two", (const char *const[]){ "NS:700", "NS:800", "c", "d", "e", "f" });
	transplant = judged(dir, &repo, &fake);
	assert_int_equal(kl_transplant_at(&transplant, 1, 2)->state, KL_CELL_UNMERGED);
	assert_non_null(strstr(kl_transplant_at(&transplant, 1, 2)->why, "copy.c"));
	assert_int_equal(kl_transplant_at(&transplant, 2, 0)->state, KL_CELL_UNMERGED);
	kl_relations_find(&relations, &transplant);
	assert_int_equal(relations.n, 1);
	assert_true(relations.v[0].by_merge);
	assert_int_equal(relations.v[0].step, 2);
	assert_int_equal(relations.v[0].other, 1);
}

/* After an interrupt at any judgement, all verdicts so far are read back. */
static void test_interrupted(void **state)
{
	KL_AUTO(kl_freep) char *dir = four_steps("interrupted");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	bool done = false;

	assert_ok(kl_repo_open_at(&repo, dir));
	for (int at = 1; !done; at++) {
		KL_AUTO(kl_transplant_release) struct kl_transplant transplant;
		struct fake_transplant fake = { .gate.interrupt_at = at };
		struct kl_transplant_opts opts = fake_transplant_opts(&fake);
		size_t known = 0;
		int err;

		assert_true(at < 100);
		assert_ok(kl_transplant_load(&transplant, repo, "copy", "x"));
		for (size_t i = 0; i < 4 * 5; i++)
			known += transplant.cell[i].state == KL_CELL_JUDGED;
		known += transplant.root != NULL;
		assert_int_equal(known, at < 3 ? 0 : at - 2);
		err = kl_transplant_judge(&transplant, repo, &opts);
		done = !err;
		if (err)
			assert_int_equal(err, KL_EINTR);
	}
	assert_clean(dir);
}

static void test_one_state(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_lineage("one");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_transplant transplant;

	fake_state(dir, 0, NULL, K0);
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_error(KL_ENO, "one state", kl_transplant_load(&transplant, repo, "copy", "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells),       cmocka_unit_test(test_relations),
		cmocka_unit_test(test_conflict),    cmocka_unit_test(test_unmerged),
		cmocka_unit_test(test_interrupted), cmocka_unit_test(test_one_state),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
