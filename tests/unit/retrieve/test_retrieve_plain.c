/* SPDX-License-Identifier: Apache-2.0 */
/* Retrieval against a reader that is slow and plain, over random libraries. */
#include "skill_lib.h"

struct plain {
	const struct lib *l;
	struct kl_target *t;
	int64_t best[KL_AXES][64], axis[KL_AXES][64], score[64];
	bool ok[64]; /* sound, and of a status that counts */
};

static bool lists(const struct kl_strvec *list, const char *text)
{
	return kl_strvec_has(list, text);
}

static bool gives(const struct kl_card *card, const char *text)
{
	return !strcmp(card->id, text) || lists(&card->provides, text) ||
	       lists(&card->scope.provides, text);
}

static bool clashes(const struct kl_card *left, const struct kl_card *right)
{
	for (size_t i = 0; i < left->scope.conflicts.n; i++)
		if (lists(&right->provides, left->scope.conflicts.v[i]) ||
		    lists(&right->scope.provides, left->scope.conflicts.v[i]))
			return true;
	return false;
}

/* is there a first one, and then a next? */
static bool can_order(struct plain *plain, const size_t *set, size_t n)
{
	unsigned placed = 0;

	for (size_t round = 0; round < n; round++)
		for (size_t k = 0; k < n; k++) {
			const struct kl_card *card = plain->l->card[set[k]];
			bool ready = true;

			for (size_t i = 0; i < card->scope.requires.n && ready; i++) {
				ready = kl_target_has(plain->t, card->scope.requires.v[i]);
				for (size_t count = 0; count < n && !ready; count++)
					ready = placed >> count & 1 &&
						gives(plain->l->card[set[count]],
						      card->scope.requires.v[i]);
			}
			if (ready)
				placed |= 1u << k;
		}
	return placed == (1u << n) - 1;
}

/* do these cards close what each of them and `card` requires? */
static bool closes(struct plain *plain, const struct kl_card *card, const size_t *set, size_t n)
{
	for (size_t k = 0; k <= n; k++) {
		const struct kl_card *who = k ? plain->l->card[set[k - 1]] : card;

		for (size_t i = 0; i < who->scope.requires.n; i++) {
			bool met = kl_target_has(plain->t, who->scope.requires.v[i]);

			for (size_t count = 0; count < n && !met; count++)
				met = gives(plain->l->card[set[count]], who->scope.requires.v[i]);
			if (!met)
				return false;
		}
	}
	if (!can_order(plain, set, n))
		return false;
	for (size_t first = 0; first < n; first++) {
		if (clashes(card, plain->l->card[set[first]]) ||
		    clashes(plain->l->card[set[first]], card))
			return false;
		for (size_t second = 0; second < n; second++)
			if (first != second &&
			    clashes(plain->l->card[set[first]], plain->l->card[set[second]]))
				return false;
	}
	return true;
}

static bool any_prior(struct plain *plain, const struct kl_strvec *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (kl_target_has(plain->t, list->v[i]))
			return true;
	return false;
}

/* may it be one of those that close? */
static bool usable(struct plain *plain, size_t i)
{
	return plain->ok[i] && plain->axis[0][i] && plain->axis[1][i] && plain->axis[2][i] &&
	       !any_prior(plain, &plain->l->card[i]->scope.conflicts);
}

static int least(struct plain *plain, const struct kl_card *card)
{
	size_t set[3], n = plain->l->n;

	if (closes(plain, card, set, 0))
		return 0;
	for (set[0] = 0; set[0] < n; set[0]++)
		if (usable(plain, set[0]) && closes(plain, card, set, 1))
			return 1;
	for (set[0] = 0; set[0] < n; set[0]++)
		for (set[1] = set[0] + 1; set[1] < n; set[1]++)
			if (usable(plain, set[0]) && usable(plain, set[1]) &&
			    closes(plain, card, set, 2))
				return 2;
	for (set[0] = 0; set[0] < n; set[0]++)
		for (set[1] = set[0] + 1; set[1] < n; set[1]++)
			for (set[2] = set[1] + 1; set[2] < n; set[2]++)
				if (usable(plain, set[0]) && usable(plain, set[1]) &&
				    usable(plain, set[2]) && closes(plain, card, set, 3))
					return 3;
	return -1;
}

static bool false_somewhere(struct plain *plain, const struct kl_card *card)
{
	for (size_t i = 0; i < card->sound.n; i++)
		if (card->sound.v[i].test &&
		    kl_target_test(plain->t, card->sound.v[i].test, true, NULL) == KL_FALSE)
			return true;
	return false;
}

static void read_plainly(struct plain *plain)
{
	for (size_t i = 0; i < plain->l->n; i++) {
		const struct kl_card *card = plain->l->card[i];
		int64_t most = -1;

		plain->ok[i] = (card->status == KL_CARD_ADMITTED ||
				card->status == KL_CARD_PROVISIONAL) &&
			       !false_somewhere(plain, card);
		for (size_t k = 0; k < card->rows.n; k++) {
			const struct kl_card_row *row = &card->rows.v[k];
			struct kl_case point;
			int64_t values[3];

			if (!kl_card_row_is_verified(card, row))
				continue;
			kl_case_init(&point, tax, row->case_, row->dtype);
			for (size_t dim = 0; dim < row->dims.n; dim++)
				kl_case_dim(&point, tax, row->dims.v[dim].name, row->dims.v[dim].v);
			values[0] = kl_similarity_case(tax, &point, &plain->t->point);
			values[1] = kl_similarity_language(tax, row->language, plain->t->language);
			values[2] = kl_similarity_platform(tax, row->platform, plain->t->platform);
			for (size_t n = 0; n < card->scope.needs.n; n++)
				if (!kl_capset_has(&plain->t->caps,
						   kl_taxonomy_cap(tax, card->scope.needs.v[n])))
					values[2] = 0;
			for (int first = 0; first < 3; first++)
				plain->best[first][i] = plain->best[first][i] > values[first] ?
								plain->best[first][i] :
								values[first];
			if (values[0] * values[1] * values[2] > most) {
				most = values[0] * values[1] * values[2];
				for (int first = 0; first < 3; first++)
					plain->axis[first][i] = values[first];
			}
		}
	}
	for (size_t i = 0; i < plain->l->n; i++) {
		const struct kl_card *card = plain->l->card[i];
		int64_t axis[4] = { plain->axis[0][i], plain->axis[1][i], plain->axis[2][i], 0 };
		bool there = kl_target_has(plain->t, card->id) || card->provides.n;
		size_t passed, trials;
		int count;

		for (size_t k = 0; k < card->provides.n; k++)
			there = there && (kl_target_has(plain->t, card->id) ||
					  kl_target_has(plain->t, card->provides.v[k]));
		count = there || any_prior(plain, &card->scope.conflicts) ? -1 : least(plain, card);
		axis[3] = plain->best[3][i] = plain->axis[3][i] = count < 0 ? 0 :
									      KL_ONE / (1 + count);
		kl_status_count(&passed, &trials, card);
		plain->score[i] = kl_similarity_score((double)(axis[0] * axis[1] * axis[2]) / 1e18 *
							      (double)axis[3] / KL_ONE,
						      passed, trials);
	}
}

/* is `first` before `second` on an axis (4: by score)? */
static bool before(const struct plain *plain, int axis, size_t first, size_t second)
{
	if (axis < 4 && plain->best[axis][first] != plain->best[axis][second])
		return plain->best[axis][first] > plain->best[axis][second];
	if (plain->score[first] != plain->score[second])
		return plain->score[first] > plain->score[second];
	return strcmp(plain->l->card[first]->id, plain->l->card[second]->id) < 0;
}

static bool is_top(const struct plain *plain, int axis, size_t i, size_t k)
{
	size_t better = 0;

	for (size_t j = 0; j < plain->l->n; j++)
		better += plain->ok[j] && plain->score[j] && j != i && before(plain, axis, j, i);
	return plain->ok[i] && plain->score[i] && better < k;
}

static void random_prior(struct kl_target *target, struct kl_rng *rng, const struct skill_gen *gen)
{
	struct kl_strvec list = KL_STRVEC_INIT;

	skill_gen_facts(&list, gen, rng, kl_rng_below(rng, 4));
	for (size_t i = 0; i < list.n; i++)
		kl_target_add_prior(target, list.v[i]);
	if (!kl_rng_below(rng, 3))
		kl_target_add_prior(target, "skill-000003");
	kl_strvec_release(&list);
}

static void same_list(const struct kl_retrieval *left, const struct kl_retrieval *right)
{
	assert_int_equal(left->n, right->n);
	for (size_t i = 0; i < left->n; i++) {
		assert_string_equal(left->v[i].id, right->v[i].id);
		assert_int_equal(left->v[i].score, right->v[i].score);
		assert_int_equal(left->v[i].top, right->v[i].top);
		assert_int_equal(left->v[i].needs.n, right->v[i].needs.n);
	}
}

static void one_library(uint64_t seed)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("random-%d", (int)seed);
	KL_AUTO(lib_release) struct lib lib = lib_new(name);
	static const char *const platform[] = { "cpu/x86-64-v3", "cuda/sm_90", "cuda/sm_80",
						"cpu/x86-64-v1" };
	struct skill_gen gen = {
		.seed = seed, .facts = 12, .lineages = 6, .text = 50, .simple = seed % 3 == 0
	};
	struct kl_rng rng;

	kl_rng_seed(&rng, seed);
	fill(&lib, &gen, 24 + kl_rng_below(&rng, 16));
	for (int round = 0; round < 4; round++) {
		KL_AUTO(kl_target_release) struct kl_target other = target(
			platform[kl_rng_below(&rng, 4)]);
		KL_AUTO(kl_retrieval_release) struct kl_retrieval retrieval = { 0 }, again = { 0 };
		size_t k = 1 + kl_rng_below(&rng, 8), last = SIZE_MAX;
		struct kl_retrieve_opts opts = KL_RETRIEVE_OPTS_INIT;
		struct plain plain = { .l = &lib, .t = &other };

		opts.per_axis = k;
		random_prior(&other, &rng, &gen);
		read_plainly(&plain);
		retrieval = ask_opts(&lib, &other, opts);
		again = ask_opts(&lib, &other, opts);
		same_list(&retrieval, &again);
		for (size_t i = 0; i < lib.n; i++) {
			const struct kl_retrieved *retrieved = NULL;
			unsigned top = 0;

			for (size_t j = 0; j < retrieval.n; j++)
				if (!strcmp(retrieval.v[j].id, lib.card[i]->id))
					retrieved = &retrieval.v[j];
			for (int first = 0; first < 4; first++)
				top |= is_top(&plain, first, i, k) ? 1u << first : 0;
			if (top && !retrieved)
				fail_msg("seed %d: %s is not offered", (int)seed, lib.card[i]->id);
			if (!retrieved)
				continue;
			/* never one that is unsound, or that nothing verified */
			assert_true(plain.ok[i]);
			assert_int_equal(retrieved->top, top);
			assert_int_equal(retrieved->score, plain.score[i]);
			for (int first = 0; first < 4; first++) {
				assert_int_equal(retrieved->best[first], plain.best[first][i]);
				assert_int_equal(retrieved->axis[first], plain.axis[first][i]);
			}
			assert_true(top || retrieved->needed_by);
			if (plain.axis[3][i])
				assert_int_equal(KL_ONE / (1 + (int64_t)retrieved->needs.n),
						 retrieved->needed_by && !retrieved->needs.n ?
							 KL_ONE :
							 plain.axis[3][i]);
		}
		/* those that were looked for, in order; each after what it needs */
		for (size_t j = 0; j < retrieval.n; j++) {
			size_t i = (size_t)atoi(retrieval.v[j].id + 6);

			for (size_t n = 0; n < retrieval.v[j].needs.n; n++) {
				bool earlier = false;

				for (size_t end = 0; end < j && !earlier; end++)
					earlier = !strcmp(retrieval.v[end].id,
							  retrieval.v[j].needs.v[n]);
				assert_true(earlier);
			}
			if (retrieval.v[j].needed_by)
				continue;
			if (last != SIZE_MAX)
				assert_true(before(&plain, 4, last, i));
			last = i;
		}
	}
}

static void test_random(void **state)
{
	for (uint64_t seed = 1; seed <= 30; seed++)
		one_library(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
