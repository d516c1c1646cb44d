/* SPDX-License-Identifier: Apache-2.0 */
/* Retrieval against a reader that is slow and plain, over random libraries. */
#include "skill_lib.h"

struct plain {
	const struct lib *l;
	struct kl_target *t;
	int64_t best[KL_AXES][64], axis[KL_AXES][64], score[64];
	bool ok[64]; /* sound, and of a status that counts */
};

static bool lists(const struct kl_strvec *v, const char *s)
{
	return kl_strvec_has(v, s);
}

static bool gives(const struct kl_card *c, const char *s)
{
	return !strcmp(c->id, s) || lists(&c->provides, s) || lists(&c->scope.provides, s);
}

static bool clashes(const struct kl_card *a, const struct kl_card *b)
{
	for (size_t i = 0; i < a->scope.conflicts.n; i++)
		if (lists(&b->provides, a->scope.conflicts.v[i]) ||
		    lists(&b->scope.provides, a->scope.conflicts.v[i]))
			return true;
	return false;
}

/* is there a first one, and then a next? */
static bool can_order(struct plain *p, const size_t *set, size_t n)
{
	unsigned placed = 0;

	for (size_t round = 0; round < n; round++)
		for (size_t k = 0; k < n; k++) {
			const struct kl_card *c = p->l->card[set[k]];
			bool ready = true;

			for (size_t i = 0; i < c->scope.requires.n && ready; i++) {
				ready = kl_target_has(p->t, c->scope.requires.v[i]);
				for (size_t m = 0; m < n && !ready; m++)
					ready = placed >> m & 1 &&
						gives(p->l->card[set[m]], c->scope.requires.v[i]);
			}
			if (ready)
				placed |= 1u << k;
		}
	return placed == (1u << n) - 1;
}

/* do these cards close what each of them and `c` requires? */
static bool closes(struct plain *p, const struct kl_card *c, const size_t *set, size_t n)
{
	for (size_t k = 0; k <= n; k++) {
		const struct kl_card *who = k ? p->l->card[set[k - 1]] : c;

		for (size_t i = 0; i < who->scope.requires.n; i++) {
			bool met = kl_target_has(p->t, who->scope.requires.v[i]);

			for (size_t m = 0; m < n && !met; m++)
				met = gives(p->l->card[set[m]], who->scope.requires.v[i]);
			if (!met)
				return false;
		}
	}
	if (!can_order(p, set, n))
		return false;
	for (size_t a = 0; a < n; a++) {
		if (clashes(c, p->l->card[set[a]]) || clashes(p->l->card[set[a]], c))
			return false;
		for (size_t b = 0; b < n; b++)
			if (a != b && clashes(p->l->card[set[a]], p->l->card[set[b]]))
				return false;
	}
	return true;
}

static bool any_prior(struct plain *p, const struct kl_strvec *v)
{
	for (size_t i = 0; i < v->n; i++)
		if (kl_target_has(p->t, v->v[i]))
			return true;
	return false;
}

/* may it be one of those that close? */
static bool usable(struct plain *p, size_t i)
{
	return p->ok[i] && p->axis[0][i] && p->axis[1][i] && p->axis[2][i] &&
	       !any_prior(p, &p->l->card[i]->scope.conflicts);
}

static int least(struct plain *p, const struct kl_card *c)
{
	size_t set[3], n = p->l->n;

	if (closes(p, c, set, 0))
		return 0;
	for (set[0] = 0; set[0] < n; set[0]++)
		if (usable(p, set[0]) && closes(p, c, set, 1))
			return 1;
	for (set[0] = 0; set[0] < n; set[0]++)
		for (set[1] = set[0] + 1; set[1] < n; set[1]++)
			if (usable(p, set[0]) && usable(p, set[1]) && closes(p, c, set, 2))
				return 2;
	for (set[0] = 0; set[0] < n; set[0]++)
		for (set[1] = set[0] + 1; set[1] < n; set[1]++)
			for (set[2] = set[1] + 1; set[2] < n; set[2]++)
				if (usable(p, set[0]) && usable(p, set[1]) && usable(p, set[2]) &&
				    closes(p, c, set, 3))
					return 3;
	return -1;
}

static bool false_somewhere(struct plain *p, const struct kl_card *c)
{
	for (size_t i = 0; i < c->sound.n; i++)
		if (c->sound.v[i].test &&
		    kl_target_test(p->t, c->sound.v[i].test, true, NULL) == KL_FALSE)
			return true;
	return false;
}

static void read_plainly(struct plain *p)
{
	for (size_t i = 0; i < p->l->n; i++) {
		const struct kl_card *c = p->l->card[i];
		int64_t most = -1;

		p->ok[i] = (c->status == KL_CARD_ADMITTED || c->status == KL_CARD_PROVISIONAL) &&
			   !false_somewhere(p, c);
		for (size_t k = 0; k < c->rows.n; k++) {
			const struct kl_card_row *r = &c->rows.v[k];
			struct kl_case point;
			int64_t x[3];

			if (!kl_card_row_is_verified(c, r))
				continue;
			kl_case_init(&point, tax, r->case_, r->dtype);
			for (size_t d = 0; d < r->dims.n; d++)
				kl_case_dim(&point, tax, r->dims.v[d].name, r->dims.v[d].v);
			x[0] = kl_similarity_case(tax, &point, &p->t->point);
			x[1] = kl_similarity_language(tax, r->language, p->t->language);
			x[2] = kl_similarity_platform(tax, r->platform, p->t->platform);
			for (size_t n = 0; n < c->scope.needs.n; n++)
				if (!kl_capset_has(&p->t->caps,
						   kl_taxonomy_cap(tax, c->scope.needs.v[n])))
					x[2] = 0;
			for (int a = 0; a < 3; a++)
				p->best[a][i] = p->best[a][i] > x[a] ? p->best[a][i] : x[a];
			if (x[0] * x[1] * x[2] > most) {
				most = x[0] * x[1] * x[2];
				for (int a = 0; a < 3; a++)
					p->axis[a][i] = x[a];
			}
		}
	}
	for (size_t i = 0; i < p->l->n; i++) {
		const struct kl_card *c = p->l->card[i];
		int64_t axis[4] = { p->axis[0][i], p->axis[1][i], p->axis[2][i], 0 };
		bool there = kl_target_has(p->t, c->id) || c->provides.n;
		size_t passed, trials;
		int m;

		for (size_t k = 0; k < c->provides.n; k++)
			there = there && (kl_target_has(p->t, c->id) ||
					  kl_target_has(p->t, c->provides.v[k]));
		m = there || any_prior(p, &c->scope.conflicts) ? -1 : least(p, c);
		axis[3] = p->best[3][i] = p->axis[3][i] = m < 0 ? 0 : KL_ONE / (1 + m);
		kl_status_count(&passed, &trials, c);
		p->score[i] = kl_similarity_score((double)(axis[0] * axis[1] * axis[2]) / 1e18 *
							  (double)axis[3] / KL_ONE,
						  passed, trials);
	}
}

/* is `a` before `b` on an axis (4: by score)? */
static bool before(const struct plain *p, int axis, size_t a, size_t b)
{
	if (axis < 4 && p->best[axis][a] != p->best[axis][b])
		return p->best[axis][a] > p->best[axis][b];
	if (p->score[a] != p->score[b])
		return p->score[a] > p->score[b];
	return strcmp(p->l->card[a]->id, p->l->card[b]->id) < 0;
}

static bool is_top(const struct plain *p, int axis, size_t i, size_t k)
{
	size_t better = 0;

	for (size_t j = 0; j < p->l->n; j++)
		better += p->ok[j] && p->score[j] && j != i && before(p, axis, j, i);
	return p->ok[i] && p->score[i] && better < k;
}

static void random_prior(struct kl_target *t, struct kl_rng *rng, const struct skill_gen *g)
{
	struct kl_strvec v = KL_STRVEC_INIT;

	skill_gen_facts(&v, g, rng, kl_rng_below(rng, 4));
	for (size_t i = 0; i < v.n; i++)
		kl_target_add_prior(t, v.v[i]);
	if (!kl_rng_below(rng, 3))
		kl_target_add_prior(t, "skill-000003");
	kl_strvec_release(&v);
}

static void same_list(const struct kl_retrieval *a, const struct kl_retrieval *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_string_equal(a->v[i].id, b->v[i].id);
		assert_int_equal(a->v[i].score, b->v[i].score);
		assert_int_equal(a->v[i].top, b->v[i].top);
		assert_int_equal(a->v[i].needs.n, b->v[i].needs.n);
	}
}

static void one_library(uint64_t seed)
{
	KL_AUTO(kl_freep) char *name = kl_asprintf("random-%d", (int)seed);
	KL_AUTO(lib_release) struct lib l = lib_new(name);
	static const char *const platform[] = { "cpu/x86-64-v3", "cuda/sm_90", "cuda/sm_80",
						"cpu/x86-64-v1" };
	struct skill_gen g = {
		.seed = seed, .facts = 12, .lineages = 6, .text = 50, .simple = seed % 3 == 0
	};
	struct kl_rng rng;

	kl_rng_seed(&rng, seed);
	fill(&l, &g, 24 + kl_rng_below(&rng, 16));
	for (int round = 0; round < 4; round++) {
		KL_AUTO(kl_target_release) struct kl_target t = target(
			platform[kl_rng_below(&rng, 4)]);
		KL_AUTO(kl_retrieval_release) struct kl_retrieval r = { 0 }, again = { 0 };
		size_t k = 1 + kl_rng_below(&rng, 8), last = SIZE_MAX;
		struct kl_retrieve_opts o = KL_RETRIEVE_OPTS_INIT;
		struct plain p = { .l = &l, .t = &t };

		o.per_axis = k;
		random_prior(&t, &rng, &g);
		read_plainly(&p);
		r = ask_opts(&l, &t, o);
		again = ask_opts(&l, &t, o);
		same_list(&r, &again);
		for (size_t i = 0; i < l.n; i++) {
			const struct kl_retrieved *v = NULL;
			unsigned top = 0;

			for (size_t j = 0; j < r.n; j++)
				if (!strcmp(r.v[j].id, l.card[i]->id))
					v = &r.v[j];
			for (int a = 0; a < 4; a++)
				top |= is_top(&p, a, i, k) ? 1u << a : 0;
			if (top && !v)
				fail_msg("seed %d: %s is not offered", (int)seed, l.card[i]->id);
			if (!v)
				continue;
			/* never one that is unsound, or that nothing verified */
			assert_true(p.ok[i]);
			assert_int_equal(v->top, top);
			assert_int_equal(v->score, p.score[i]);
			for (int a = 0; a < 4; a++) {
				assert_int_equal(v->best[a], p.best[a][i]);
				assert_int_equal(v->axis[a], p.axis[a][i]);
			}
			assert_true(top || v->needed_by);
			if (p.axis[3][i])
				assert_int_equal(KL_ONE / (1 + (int64_t)v->needs.n),
						 v->needed_by && !v->needs.n ? KL_ONE :
									       p.axis[3][i]);
		}
		/* those that were looked for, in order; each after what it needs */
		for (size_t j = 0; j < r.n; j++) {
			size_t i = (size_t)atoi(r.v[j].id + 6);

			for (size_t n = 0; n < r.v[j].needs.n; n++) {
				bool earlier = false;

				for (size_t e = 0; e < j && !earlier; e++)
					earlier = !strcmp(r.v[e].id, r.v[j].needs.v[n]);
				assert_true(earlier);
			}
			if (r.v[j].needed_by)
				continue;
			if (last != SIZE_MAX)
				assert_true(before(&p, 4, last, i));
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
