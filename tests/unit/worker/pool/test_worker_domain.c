/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/clock.h"
#include "base/error.h"
#include "worker/pool/domain.h"

#define MOST_CONDITIONS 8
#define DRAWS 2000

/* A domain as a contract states it. */
struct domain {
	const char *name[4];
	const char *condition[MOST_CONDITIONS];
	int64_t known[2][4];
	int64_t most;
	double volume;
};

struct parsed {
	struct kl_expr *condition[MOST_CONDITIONS];
	int64_t known[2][KL_MAX_DIMS];
	struct kl_domain_draw draw;
};

static void parsed_release(struct parsed *parsed)
{
	for (size_t i = 0; i < parsed->draw.ncondition; i++)
		kl_expr_free(parsed->condition[i]);
}

static void parse_domain(struct parsed *out, const struct domain *domain)
{
	struct kl_expr_names names = { .name = domain->name };

	*out = (struct parsed){ .draw = { .condition = out->condition } };
	while (names.n < 4 && domain->name[names.n])
		names.n++;
	out->draw.ndim = names.n;
	out->draw.known = (const int64_t(*)[KL_MAX_DIMS])out->known;
	out->draw.nknown = 2;
	out->draw.volume = domain->volume;
	for (size_t i = 0; i < names.n; i++) {
		out->draw.most[i] = domain->most;
		out->known[0][i] = domain->known[0][i];
		out->known[1][i] = domain->known[1][i];
	}
	for (size_t i = 0; i < MOST_CONDITIONS && domain->condition[i]; i++, out->draw.ncondition++)
		assert_ok(kl_expr_parse(&out->condition[i], domain->condition[i], &names,
					KL_EXPR_TRUTH, NULL));
}

static const struct domain domains[] = {
	{ { "M", "N", "K" },
	  { "M >= 1", "N >= 1", "K >= 1" },
	  { { 1024, 1024, 1024 }, { 1, 1, 1 } },
	  4096,
	  1e6 },
	{ { "M", "N", "K" },
	  { "M >= 256", "N >= 256 && N % 256 == 0", "K >= 64", "M % 256 == 0", "K % 64 == 0",
	    "M <= 65536" },
	  { { 4096, 4096, 4096 }, { 256, 256, 64 } },
	  8192,
	  1e8 },
	{ { "rows", "cols", "k" },
	  { "rows >= 1", "k >= 1", "k <= cols", "cols % 4 == 0", "cols <= 4096" },
	  { { 64, 4096, 512 }, { 1, 4, 1 } },
	  8192,
	  1e6 },
	{ { "H", "D" }, { "H == 4 * D", "D >= 2" }, { { 64, 16 }, { 8, 2 } }, 256, 1e6 },
	{ { "H", "Hk" },
	  { "Hk >= 1", "H % Hk == 0", "H >= 1", "H <= 256" },
	  { { 48, 16 }, { 1, 1 } },
	  512,
	  1e6 },
	{ { "N", "P" },
	  { "N == 7 || N % 32 == 0", "cdiv(N, 4) >= 3", "P != N", "min(P, N) >= 2",
	    "2 * P + 3 <= N" },
	  { { 64, 2 }, { 7, 2 } },
	  300,
	  1e5 },
	{ { "A", "B" },
	  { "(A + 3) % 8 == 0", "A % 6 == 5", "B - A >= 10", "B / 5 <= 9", "-B < -12" },
	  { { 5, 20 }, { 29, 40 } },
	  100,
	  1e4 },
	{ { "n" }, { "n > 0 && !(n == 3)" }, { { 1 }, { 8 } }, 9, 9 },
};

static void draws_inside(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(domains); i++) {
		KL_AUTO(parsed_release) struct parsed parsed = { .draw.ncondition = 0 };
		struct kl_rng rng;
		int64_t dim[KL_MAX_DIMS], begin = kl_clock_ns();
		size_t others = 0;

		parse_domain(&parsed, &domains[i]);
		kl_rng_seed(&rng, i + 1);
		for (int k = 0; k < DRAWS; k++) {
			double volume = 1;
			bool known = false;

			if (kl_domain_draw(dim, &parsed.draw, &rng) < 0)
				fail_msg("domain %zu: nothing drawn", i);
			assert_true(kl_domain_has(parsed.condition, parsed.draw.ncondition, dim));
			for (size_t d = 0; d < parsed.draw.ndim; d++) {
				assert_in_range(dim[d], 1, domains[i].most);
				volume *= (double)dim[d];
			}
			assert_true(volume <= domains[i].volume);
			for (size_t point = 0; point < 2; point++)
				known |= !memcmp(dim, parsed.known[point],
						 parsed.draw.ndim * sizeof(*dim));
			others += !known;
		}
		/* other points than the listed ones, and not by trying all day */
		assert_true(others > DRAWS / 2);
		assert_true(kl_clock_ns() - begin < (int64_t)20000000000);
	}
}

/* Count how often one of `n` values is drawn for dim `d` of the first domain. */
static size_t count_drawn(size_t d, const int64_t *value, size_t n)
{
	KL_AUTO(parsed_release) struct parsed parsed = { .draw.ncondition = 0 };
	int64_t dim[KL_MAX_DIMS];
	struct kl_rng rng;
	size_t count = 0;

	parse_domain(&parsed, &domains[0]);
	kl_rng_seed(&rng, 77);
	for (int k = 0; k < DRAWS; k++) {
		assert_ok(kl_domain_draw(dim, &parsed.draw, &rng));
		for (size_t i = 0; i < n; i++)
			count += dim[d] == value[i];
	}
	return count;
}

static void draws_what_matters(void **state)
{
	static const int64_t one[] = { 1 }, primes[] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31 };
	static const int64_t tiles[] = { 15, 17, 31, 33, 63, 65, 127, 129, 255, 257 };

	for (size_t d = 0; d < 3; d++) {
		assert_true(count_drawn(d, one, 1) > DRAWS / 50);
		assert_true(count_drawn(d, primes, KL_ARRAY_SIZE(primes)) > DRAWS / 10);
		assert_true(count_drawn(d, tiles, KL_ARRAY_SIZE(tiles)) > DRAWS / 50);
	}
}

static void gives_up(void **state)
{
	static const struct domain none[] = {
		{ { "n" }, { "n > 4", "n < 4" }, { { 1 }, { 1 } }, 100, 100 },
		{ { "n" }, { "n % 2 == 0", "n % 4 == 1" }, { { 1 }, { 1 } }, 100, 100 },
		{ { "n" }, { "n / (n - n) == 1" }, { { 1 }, { 1 } }, 100, 100 },
		{ { "n" }, { "n * n == 50" }, { { 1 }, { 1 } }, 100, 100 },
		{ { "n", "m" }, { "n >= 50", "m >= 50" }, { { 1, 1 }, { 1, 1 } }, 100, 100 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(none); i++) {
		KL_AUTO(parsed_release) struct parsed parsed = { .draw.ncondition = 0 };
		int64_t dim[KL_MAX_DIMS];
		struct kl_rng rng;

		parse_domain(&parsed, &none[i]);
		kl_rng_seed(&rng, 5);
		assert_int_equal(kl_domain_draw(dim, &parsed.draw, &rng), KL_ENO);
	}
}

static bool is_odd(const void *ctx, const int64_t *dim)
{
	++*(int *)ctx;
	return dim[0] % 2;
}

static void asks_whether_it_fits(void **state)
{
	KL_AUTO(parsed_release) struct parsed parsed = { .draw.ncondition = 0 };
	int64_t dim[KL_MAX_DIMS];
	struct kl_rng rng;
	int asked = 0;

	parse_domain(&parsed, &domains[0]);
	parsed.draw.fits = is_odd;
	parsed.draw.ctx = &asked;
	kl_rng_seed(&rng, 9);
	for (int i = 0; i < 50; i++) {
		assert_ok(kl_domain_draw(dim, &parsed.draw, &rng));
		assert_int_equal(dim[0] % 2, 1);
	}
	assert_true(asked > 50);
}

static void begins_where_it_is_told(void **state)
{
	KL_AUTO(parsed_release) struct parsed parsed = { .draw.ncondition = 0 };
	int64_t dim[KL_MAX_DIMS];
	struct kl_rng rng;

	parse_domain(&parsed, &domains[2]);
	parsed.draw.least[1] = 1001;
	kl_rng_seed(&rng, 4);
	for (int i = 0; i < 50; i++) {
		assert_ok(kl_domain_draw(dim, &parsed.draw, &rng));
		assert_true(dim[1] >= 1004 && dim[1] % 4 == 0);
	}
	parsed.draw.least[1] = 4097;
	assert_int_equal(kl_domain_draw(dim, &parsed.draw, &rng), KL_ENO);
}

/* The same key draws the same points, so that a replay can. */
static void repeats_itself(void **state)
{
	KL_AUTO(parsed_release) struct parsed parsed = { .draw.ncondition = 0 };
	int64_t first[KL_MAX_DIMS], second[KL_MAX_DIMS];
	struct kl_rng rng, again;

	parse_domain(&parsed, &domains[2]);
	kl_rng_seed(&rng, 3);
	kl_rng_seed(&again, 3);
	for (int i = 0; i < 20; i++) {
		assert_ok(kl_domain_draw(first, &parsed.draw, &rng));
		assert_ok(kl_domain_draw(second, &parsed.draw, &again));
		assert_memory_equal(first, second, 3 * sizeof(*first));
	}
}

static void narrows(void **state)
{
	static const struct {
		const char *condition;
		int64_t lo, hi, step, rest, multiple;
	} rows[] = {
		{ "x >= 3 && x < 9", 3, 8, 1, 0, 0 },
		{ "5 > x", 0, 4, 1, 0, 0 },
		{ "3 * x <= 10", 0, 3, 1, 0, 0 },
		{ "y - x >= 4", 0, 6, 1, 0, 0 },
		{ "x == y", 10, 10, 1, 0, 0 },
		{ "4 * x == 2 * y", 5, 5, 1, 0, 0 },
		{ "x % 8 == 0 && x % 12 == 0", 0, 100, 24, 0, 0 },
		{ "(x + 1) % 4 == 0", 0, 100, 4, 3, 0 },
		{ "y % x == 0", 0, 100, 1, 0, 10 },
		{ "max(x, 7) <= 20 && min(x, 50) >= 12", 12, 20, 1, 0, 0 },
		{ "cdiv(x, 8) == 2", 9, 16, 1, 0, 0 },
		{ "x / 8 == 2", 16, 23, 1, 0, 0 },
		{ "-x >= -30", 0, 30, 1, 0, 0 },
		{ "y == 10 || x == 3", 0, 100, 1, 0, 0 },
		{ "y == 11 || x == 3", 3, 3, 1, 0, 0 },
		{ "z > x", 0, 100, 1, 0, 0 }, /* z has no value yet */
		{ "x != 4", 0, 100, 1, 0, 0 },
	};
	static const char *const name[] = { "x", "y", "z" };
	const struct kl_expr_names names = { .name = name, .n = 3 };
	const int64_t dim[KL_MAX_DIMS] = { 0, 10, 0 };
	const bool known[KL_MAX_DIMS] = { false, true, false };
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_expr_freep) struct kl_expr *expr = NULL;
		struct kl_domain_range range = { .lo = 0, .hi = 100, .step = 1 };

		assert_ok(kl_expr_parse(&expr, rows[i].condition, &names, KL_EXPR_TRUTH, NULL));
		assert_true(kl_domain_narrow(&range, &expr, 1, 0, dim, known, &rng));
		if (range.lo != rows[i].lo || range.hi != rows[i].hi ||
		    range.step != rows[i].step || range.rest != rows[i].rest ||
		    range.multiple != rows[i].multiple)
			fail_msg("%s: [%lld, %lld], %lld k + %lld, divides %lld", rows[i].condition,
				 (long long)range.lo, (long long)range.hi, (long long)range.step,
				 (long long)range.rest, (long long)range.multiple);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(narrows),
		cmocka_unit_test(draws_inside),
		cmocka_unit_test(draws_what_matters),
		cmocka_unit_test(gives_up),
		cmocka_unit_test(asks_whether_it_fits),
		cmocka_unit_test(begins_where_it_is_told),
		cmocka_unit_test(repeats_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
